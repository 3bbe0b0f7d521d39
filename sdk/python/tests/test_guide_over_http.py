"""The guides of those who ask over HTTP as a reader follows them: own agents, a workflow, Temporal, n8n."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import re
import sys
import types
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml  # type: ignore[import-untyped]
from test_guide_http import gateway, lines

from cards import Card, Desk
from guide_code import GUIDES, STARTED
from nats_server import REPOSITORY

OPENAPI = json.loads((REPOSITORY / "docs/api/gateway.openapi.json").read_text())
# Each beside the file that it is saved as.
HOME_MADE = {
    "go": ("agent.go", ["go", "run", "agent.go"]),
    "java": ("Agent.java", ["java", "Agent.java"]),
    "php": ("agent.php", ["php", "agent.php"]),
}


def block(guide: str, language: str) -> str:
    code: str
    code, *_ = re.findall(rf"^```{language}\n(.*?)^```$", (GUIDES / f"{guide}.md").read_text(), re.M | re.S)
    return code


def step() -> dict[str, Any]:
    [only] = yaml.safe_load(block("github-actions", "yaml"))
    return dict(only)


def saved(folder: Path, language: str) -> list[str]:
    """The words that run this example in `folder`."""
    script = folder / "deploy.sh"
    script.write_text('#!/bin/sh\n[ $# = 1 ] && printf %s "$1" >> ran\n')
    script.chmod(0o755)
    if language == "actions":
        # As GitHub runs a step with `shell: bash`.
        (folder / "step.sh").write_text(step()["run"])
        return ["bash", "--noprofile", "--norc", "-eo", "pipefail", "step.sh"]
    file, words = HOME_MADE[language]
    (folder / file).write_text(block("home-made", language))
    return words


async def start(folder: Path, words: list[str], url: str, token: str, key: str) -> asyncio.subprocess.Process:
    about = {"GATEWAY": url, "TOKEN": token, "KEY": key, "NO_PROXY": "*"}
    own = {"HOME": str(folder), "GOCACHE": str(folder.parent / "go"), "LC_ALL": "C"}
    return await asyncio.create_subprocess_exec(
        *words, cwd=folder, env={**os.environ, **own, **about}, stderr=asyncio.subprocess.PIPE
    )


async def code(process: asyncio.subprocess.Process) -> int:
    await asyncio.wait_for(process.communicate(), 2 * STARTED)
    assert process.returncode is not None
    return process.returncode


@pytest.mark.parametrize("language", [*HOME_MADE, "actions"])
async def test_it_runs_what_was_approved_once_and_nothing_else(desk: Desk, tmp_path: Path, language: str) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    ran = folder / "ran"
    words = saved(folder, language)
    async with gateway(desk.agent_json, tmp_path) as (url, token):
        key = str(uuid.uuid4())
        working = await start(folder, words, url, token, key)
        card = await desk.card()
        assert card.args == {"to": "production"}
        await desk.approve(card)
        assert await code(working) == 0
        assert json.loads(ran.read_text()) == {"to": "production"}
        ran.unlink()
        assert await code(await start(folder, words, url, token, key)) != 0, "the same call again"
        working = await start(folder, words, url, token, str(uuid.uuid4()))
        await desk.deny(await desk.card())
        assert await code(working) != 0
        assert await code(await start(folder, words, url, "cg_" + "x" * 43, key)) != 0
    assert await code(await start(folder, words, url, token, key)) != 0, "the gateway is away"
    assert not ran.exists()


@contextlib.asynccontextmanager
async def answering(answer: Callable[[str], bytes]) -> AsyncIterator[str]:
    """The address of a server that answers each path so, with status 200."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        body = answer(asked.split()[1].decode())
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        [socket] = server.sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"


@pytest.mark.parametrize("language", HOME_MADE)
async def test_it_runs_nothing_where_an_answer_is_empty(tmp_path: Path, language: str) -> None:
    words = saved(tmp_path, language)
    for body in (b"", b"{}", b'{"id":"x","state":"answered","run":false,"args":{"run":true}}', b'"run"', b"[1"):
        async with answering(functools.partial(lambda body, _: body, body)) as url:
            assert await code(await start(tmp_path, words, url, "token", "key")) != 0, body
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("language", HOME_MADE)
async def test_it_runs_with_the_arguments_of_the_claim_whatever_they_hold(tmp_path: Path, language: str) -> None:
    words = saved(tmp_path, language)
    args = {"to": 'ä\u2028😀 " \\ ,}', "args": {"args": [1.5, {}, []], "run": False}, "run": None}
    claim = {
        "run": True,
        "id": "x",
        "verdict": "modify",
        "args": args,
        "args_digest": "sha256:",
        "message": '"args":{}',
    }
    answers = {"/v1/asks": {"id": "x", "state": "waiting"}, "/v1/asks/x/claim": claim}

    def answer(path: str) -> bytes:
        found = answers.get(path, {"id": "x", "state": "answered"})
        return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()

    async with answering(answer) as url:
        assert await code(await start(tmp_path, words, url, "token", "key")) == 0
    assert json.loads((tmp_path / "ran").read_text()) == args


def test_the_examples_are_short_and_the_step_is_that_of_the_shell() -> None:
    for language in HOME_MADE:
        assert len(block("home-made", language).splitlines()) <= 40, language
    only = step()
    assert only["run"] == lines()
    assert set(only["env"]) == {"GATEWAY", "TOKEN", "KEY"}
    assert only["env"]["KEY"] == "${{ github.run_id }}-${{ github.run_attempt }}-deploy"


class RefusedError(Exception):
    def __init__(self, message: str, *, non_retryable: bool = False, **more: str) -> None:
        super().__init__(message)
        self.type, self.non_retryable = more["type"], non_retryable


def activity(beats: list[str]) -> Callable[[str, dict[str, Any]], Any]:
    """The activity of the guide as a plain function, between stand-ins for what it takes of Temporal."""
    about = types.SimpleNamespace(workflow_id=str(uuid.uuid4()), activity_id="1")
    of = types.SimpleNamespace(defn=lambda made: made, info=lambda: about, heartbeat=beats.append)
    stand_ins: dict[str, Any] = {
        "temporalio": types.SimpleNamespace(activity=of),
        "temporalio.exceptions": types.SimpleNamespace(ApplicationError=RefusedError),
    }
    names: dict[str, Any] = {}
    with mock.patch.dict(sys.modules, stand_ins):
        exec(compile(block("temporal", "python"), "temporal.md", "exec"), names)
    made: Callable[[str, dict[str, Any]], Any] = names["approved"]
    return made


async def test_the_activity_returns_what_was_approved(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gateway(desk.agent_json, tmp_path) as (url, token):
        monkeypatch.setenv("GATEWAY", url)
        monkeypatch.setenv("TOKEN", token)
        beats: list[str] = []
        approved = activity(beats)

        async def answered(answer: Callable[[Card], Any]) -> Any:
            working = asyncio.ensure_future(asyncio.to_thread(approved, "deploy", {"to": "production"}))
            card = await desk.card(working)
            await answer(card)
            return await working

        assert await answered(desk.approve) == {"to": "production"}
        assert beats
        # A try after a crash of the worker: no second card.
        assert await asyncio.to_thread(approved, "deploy", {"to": "production"}) == {"to": "production"}
        with pytest.raises(RefusedError) as other:
            await asyncio.to_thread(approved, "deploy", {"to": "staging"})
        assert (other.value.type, other.value.non_retryable) == ("key_conflict", True)
        approved = activity(beats)
        with pytest.raises(RefusedError) as denied:
            await answered(desk.deny)
        assert (denied.value.type, denied.value.non_retryable) == ("not_allowed", True)


def test_the_flow_of_n8n_asks_and_claims_as_the_gateway_wants_it() -> None:
    flow = json.loads((GUIDES / "n8n.json").read_text())
    nodes = {node["name"]: node for node in flow["nodes"]}
    order, name = ["Start"], "Start"
    while name in flow["connections"]:
        [[following]] = flow["connections"][name]["main"]
        name = following["node"]
        order.append(name)
    assert order == list(nodes) == ["Start", "Ask", "Wait", "Claim", "May it run?", "The call"]
    keys = []
    for name, path in (("Ask", "/v1/asks"), ("Claim", "/v1/asks/{id}/claim")):
        asked = nodes[name]["parameters"]
        url = re.sub(r"\{\{.*?\}\}", "{id}", asked["url"].removeprefix("="))
        assert url == "http://127.0.0.1:4788" + path
        assert asked["method"].lower() in OPENAPI["paths"][path]
        assert asked["genericAuthType"] == "httpHeaderAuth"
        [header] = asked["headerParameters"]["parameters"]
        named = {of["name"] for of in OPENAPI["paths"][path]["post"]["parameters"] if of["in"] == "header"}
        assert {header["name"]} == named
        keys.append(header["value"])
        assert "neverError" not in json.dumps(asked), "another status stops the flow"
    assert keys[0] != keys[1], "of a claim with the ask's key no answer is sent again"
    body = re.findall(r"(\w+):", nodes["Ask"]["parameters"]["jsonBody"])
    properties = OPENAPI["components"]["schemas"]["AskBody"]["properties"]
    assert set(body) & set(properties) == {"tool", "args", "callback_url"}
    assert "$execution.resumeUrl" in nodes["Ask"]["parameters"]["jsonBody"]
    wait = nodes["Wait"]["parameters"]
    assert (wait["resume"], wait["httpMethod"], wait["resumeAmount"] > 300) == ("webhook", "POST", True)
    [condition] = nodes["May it run?"]["parameters"]["conditions"]["conditions"]
    assert (condition["leftValue"], condition["operator"]["operation"]) == ("={{ $json.run }}", "true")
    assert "$('Claim').item.json.args" in nodes["The call"]["parameters"]["jsonBody"]
