"""The protocol's page (`docs/protocol/v1.md`): its worked example, and the agent that was written from it alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import Bench, as_json, opened
from console import Key, b64, canonical_digest
from contract import CONTRACT, valid
from nats_server import REPOSITORY
from played import record
from test_contract import EXAMPLES, SIGNED

PAGE = (CONTRACT / "v1.md").read_text()
AGENT = REPOSITORY / "examples/bare-agent/bare_agent.py"
ARGS = {"to": "ada@example.org", "subject": "Hello"}
SECONDS = 20.0


def block(name: str) -> str:
    """The only fenced block of the page with this word behind its fence."""
    (found,) = re.findall(rf"^```{name}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


def signature(file: str) -> dict:
    return next(entry for entry in SIGNED if entry["file"] == file)


def test_the_page_prints_the_published_example():
    request = (EXAMPLES / "request.json").read_bytes()
    assert block("json request").encode() == request
    valid("request", request)
    assert f"`sha256:{hashlib.sha256(request).hexdigest()}`" in PAGE
    signed = signature("decision-approve.json")
    assert block("headers") == f"CS-Key: {signed['key']}\nCS-Sig: {signed['sig']}\n"


def test_the_text_that_the_page_says_is_signed_has_the_published_signature():
    signed, text = signature("decision-approve.json"), block("signed").removesuffix("\n")
    ada = Key(secret=b"\x01" * 32)
    assert ada.public == signed["key"]
    assert b64(ada.private.sign(text.encode())) == signed["sig"]


SECTIONS = {
    "2": ["request"],
    "5": ["decision", "vote", "agent"],
    "6": ["hello", "alive", "span", "receipt", "tighten", "withdraw"],
    "8": ["signed-envelope", "realm-entry", "ask", "anchor"],
}


@pytest.mark.parametrize(("section", "kind"), [(number, kind) for number in SECTIONS for kind in SECTIONS[number]])
def test_the_page_names_every_field_of_a_message_in_its_section(section: str, kind: str):
    (text,) = re.findall(rf"^## {section}\. .*?(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    words = {word for code in re.findall(r"`[^`\n]+`", text.replace("```", "")) for word in re.findall(r"\w+", code)}
    assert json.loads((CONTRACT / f"{kind}.schema.json").read_text())["properties"].keys() - words == set()


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("request.json", "", ""),
        ("decision-approve.json", '"once"', '"always"'),
        ("request.json", "INV-42", "INV-43"),
        ("agent.json", "6f1e2d3c", "6f1e2d3d"),
        ("agent.json", "24096235", "24096236"),
    ],
)
def test_the_python_of_the_page_takes_the_example_and_nothing_else(tmp_path, file: str, old: str, new: str):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    text = (EXAMPLES / file).read_text()
    assert old in text
    (tmp_path / "examples" / file).write_text(text.replace(old, new))
    done = subprocess.run([sys.executable, "-c", block("python")], cwd=tmp_path, capture_output=True, text=True)
    taken = (0, "may run delete_invoice {'invoice_id': 'INV-42'}\n")
    assert ((done.returncode, done.stdout) == taken) is (old == new), done.stderr


@pytest.fixture(scope="module")
async def own(tmp_path_factory: pytest.TempPathFactory):
    """A realm of its own, whose log no other test reads."""
    made = await opened(Bench(tmp_path_factory.mktemp("bare")))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture
def start(own: Bench, tmp_path: Path):
    file = tmp_path / "agent.json"
    file.write_text(as_json(own.enrolment()))

    async def started(*options: str) -> tuple[asyncio.subprocess.Process, str]:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(AGENT), str(file), *options, stdout=pipe, stderr=pipe
        )
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), SECONDS)
        assert line.startswith(b"asked "), (line, await process.communicate())
        return process, line.decode().split()[1]

    return started


async def ended(process: asyncio.subprocess.Process) -> tuple[int | None, str]:
    out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert err == b""
    return process.returncode, out.decode()


@pytest.mark.parametrize(
    ("verdict", "edited"), [("approve", ...), ("modify", {"to": "bea@example.org", "subject": "é"})]
)
async def test_the_bare_agent_runs_what_was_approved_and_nothing_else(own: Bench, start, verdict: str, edited):
    process, request_id = await start()
    valid("request", (await own.console.request(request_id)).payload)
    runs = ARGS if edited is ... else edited
    await own.console.decide(request_id, verdict, edited_args=edited, args_digest=canonical_digest(runs))
    assert await ended(process) == (0, f"sent {json.dumps(runs)}\n")
    for stage in ("received", "executed"):
        receipt = await own.console.receipt(request_id, stage)
        valid("receipt", json.dumps(receipt).encode())
    assert receipt["executed_args_digest"] == canonical_digest(runs)
    for kind in ("hello", "alive"):
        valid(kind, (await own.console.until(kind, lambda m: True)).data)


async def test_the_bare_agent_tells_a_no_from_an_answer_that_does_not_count(own: Bench, start):
    process, request_id = await start()
    await own.console.decide(request_id, "deny", message="keep it")
    assert await ended(process) == (1, "not run, deny: keep it\n")
    await own.console.receipt(request_id, "received")


STRANGER = Key()
FAULTS = {
    "unsigned": lambda seen, console: (json.dumps(console.decision(seen)).encode(), {}),
    "unknown_key": {"decided_by": {"name": "Ada", "key": STRANGER.public}},
    "bad_signature": lambda seen, console: (json.dumps(console.decision(seen)).encode(), console.signed("x", {})[1]),
    "malformed": {"edited_args": {}},
    "wrong_request": {"request_id": "another"},
    "wrong_request_digest": {"request_digest": "sha256:" + "0" * 64},
    "wrong_role": {"origin": "timeout"},
    "not_allowed": {"verdict": "respond", "response": {"content": "x"}},
    "wrong_args_digest": {"args_digest": "sha256:" + "0" * 64},
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_the_bare_agent_refuses_what_does_not_verify_and_says_why(own: Bench, start, fault: str):
    process, request_id = await start()
    console, how = own.console, FAULTS[fault]
    seen = await console.request(request_id)
    if callable(how):
        stored = how(seen, console)
    else:
        key = STRANGER if fault == "unknown_key" else console.human
        stored = console.signed(seen.decision_subject, console.decision(seen, **how), key=key)
    await console.store(seen.decision_subject, *stored)
    assert await ended(process) == (1, f"not run, {fault}\n")
    assert (await console.receipt(request_id, "refused"))["message"] == fault


async def test_the_bare_agent_believes_no_message_that_is_not_stored(own: Bench, start):
    process, request_id = await start()
    seen = await own.console.request(request_id)
    hint = seen.decision_subject.replace(".decision.", ".decided.")
    payload, headers = own.console.signed(seen.decision_subject, own.console.decision(seen))
    await own.console.nc.publish(hint, payload, headers=headers)
    await own.console.decide(request_id, "deny", message="no")
    assert await ended(process) == (1, "not run, deny: no\n")


async def test_the_bare_agent_runs_nothing_after_its_own_time_or_after_sigterm(own: Bench, start):
    process, _ = await start("--seconds", "0.5")
    assert await ended(process) == (1, "not run, expired\n")
    process, request_id = await start()
    process.send_signal(signal.SIGTERM)
    assert await ended(process) == (1, "not run, stopped\n")
    withdraw = await own.console.until("withdraw", lambda m: m.subject.endswith(request_id))
    valid("withdraw", withdraw.data)


async def test_the_bare_agent_reads_the_log_of_operators(own: Bench, start, tmp_path: Path):
    """Last of those that share the realm: what it changes stays."""
    console, newcomer = own.console, Key()

    async def answer(key: Key) -> str:
        process, request_id = await start()
        seen = await console.request(request_id)
        by = {"name": "x", "key": key.public}
        payload, headers = console.signed(seen.decision_subject, console.decision(seen, decided_by=by), key=key)
        await console.store(seen.decision_subject, payload, headers)
        return (await ended(process))[1].split("{")[0].strip()

    slot = len(console.log.messages) + 1
    console.log.junk(b"junk")
    await console.put_log(slot, Status="404", **{"Nats-Sequence": "1"})
    assert await answer(newcomer) == "not run, unknown_key"
    await console.let_in(newcomer)
    assert await answer(newcomer) == "sent"
    await console.write(operators=[record(console.realm, newcomer, "x", limits={"max_risk": "low"})])
    assert await answer(newcomer) == "not run, beyond_limit"
    await console.write(operators=[{"id": newcomer.public, "keys": []}])
    assert await answer(newcomer) == "not run, unknown_key"
    assert await answer(console.human) == "sent"


async def test_the_bare_agent_believes_no_log_without_the_entry_that_it_knows(own: Bench, start, tmp_path: Path):
    file = tmp_path / "agent.json"
    whole = json.loads(file.read_text())
    file.write_text(json.dumps({**whole, "log": {**whole["log"], "digest": "sha256:" + "0" * 64}}))
    process, request_id = await start("--seconds", "1")
    await own.console.decide(request_id)
    assert await ended(process) == (1, "not run, expired\n")
