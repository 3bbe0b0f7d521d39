"""The guide of HTTP as a reader follows it: its five lines with a real console and a real gateway."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import subprocess
import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cards import Desk
from guide_code import GUIDES, STARTED
from nats_server import REPOSITORY

PROGRAM = os.environ.get("COUNTERSIGN_BIN", str(REPOSITORY / "target/debug/countersign"))


def lines() -> str:
    code: str
    [code] = re.findall(r"^```sh\n(.*?)^```$", (GUIDES / "http.md").read_text(), re.M | re.S)
    assert len(code.splitlines()) == 5
    return code


@contextlib.asynccontextmanager
async def gateway(agent_json: str, folder: Path) -> AsyncIterator[tuple[str, str]]:
    """Its address and a token."""
    words = [PROGRAM, "gateway", "--agent-json", agent_json, "--listen", "127.0.0.1:0", "--dir", str(folder / "dir")]
    process = await asyncio.create_subprocess_exec(*words, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        ready = json.loads(await asyncio.wait_for(process.stdout.readline(), STARTED))
        assert ready["event"] == "ready"
        assert ready["insecure"] == []
        words = [
            "gateway",
            "token",
            "--agent-json",
            agent_json,
            "--name",
            "ci",
            "--dir",
            str(folder / "dir"),
            "--json",
        ]
        making = await asyncio.create_subprocess_exec(PROGRAM, *words, stdout=subprocess.PIPE)
        made, _ = await asyncio.wait_for(making.communicate(), STARTED)
        assert making.returncode == 0
        token = json.loads(made)
        assert token["agent"] in ready["agents"]
        assert re.fullmatch(r"cg_[A-Za-z0-9_-]{43}", token["token"])
        yield ready["url"], token["token"]
        process.terminate()
        assert await asyncio.wait_for(process.wait(), STARTED) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def run(folder: Path, url: str, token: str, key: str | None = None) -> asyncio.subprocess.Process:
    script = folder / "deploy.sh"
    script.write_text('#!/bin/sh\nprintf %s "$1" >> ran\n')
    script.chmod(0o755)
    about = {**os.environ, "GATEWAY": url, "TOKEN": token, "KEY": key or str(uuid.uuid4()), "NO_PROXY": "*"}
    return await asyncio.create_subprocess_exec("bash", "-c", lines(), cwd=folder, env=about, stderr=subprocess.PIPE)


async def ended(process: asyncio.subprocess.Process) -> int:
    await asyncio.wait_for(process.communicate(), STARTED)
    assert process.returncode is not None
    return process.returncode


async def test_the_lines_run_what_was_approved_and_nothing_else(desk: Desk, tmp_path: Path) -> None:
    async with gateway(desk.agent_json, tmp_path) as (url, token):
        key = str(uuid.uuid4())
        working = await run(tmp_path, url, token, key)
        card = await desk.card()
        assert card.args == {"to": "production"}
        assert any(found["code"] == "through_gateway" for found in card["warnings"])
        await desk.approve(card)
        assert await ended(working) == 0
        assert json.loads((tmp_path / "ran").read_text()) == {"to": "production"}
        receipt = await desk.receipt(card, "received")
        assert receipt["degraded"] == ["trusts_gateway", "no_execution_report"]
        (tmp_path / "ran").unlink()
        assert await ended(await run(tmp_path, url, token, key)) != 0, "the same call again"
        assert not (tmp_path / "ran").exists()
        working = await run(tmp_path, url, token)
        await desk.deny(await desk.card())
        assert await ended(working) != 0
        assert await ended(await run(tmp_path, url, "cg_" + "x" * 43)) != 0
    assert await ended(await run(tmp_path, url, token)) != 0, "the gateway is away"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("answer", [b"", b"{}", b'{"id": "x", "state": "answered", "run": false, "args": {}}'])
async def test_the_lines_run_nothing_where_an_answer_is_empty(answer: bytes, tmp_path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(answer)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        [socket] = server.sockets
        url = f"http://127.0.0.1:{socket.getsockname()[1]}"
        assert await ended(await run(tmp_path, url, "token")) != 0
    assert not (tmp_path / "ran").exists()
