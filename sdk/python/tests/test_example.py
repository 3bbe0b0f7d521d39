"""The example agent as a program of its own: its lines and its exit codes."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from guide_code import STARTED
from nats_server import REPOSITORY

PROGRAM = REPOSITORY / "examples/selectools-agent/agent.py"


async def start(agent_json, *options: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, str(PROGRAM), "--agent-json", str(agent_json), *options]
    return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)


async def cards(console, before: int) -> dict[str, str]:
    """Tool name to request id of the two calls that wait."""
    async with asyncio.timeout(STARTED):
        while len(console.received["request"]) < before + 2:
            await asyncio.sleep(0.01)
    bodies = [json.loads(message.data) for message in console.received["request"][before:]]
    return {body["tool"]["name"]: body["request_id"] for body in bodies}


async def test_the_example_mails_when_allowed_and_keeps_the_invoice_when_not(console, agent_json, tmp_path):
    before = len(console.received["request"])
    data = tmp_path / "invoices.json"
    process = await start(agent_json, "--once", "--data", str(data))
    waiting = await cards(console, before)
    await console.decide(waiting["send_mail"])
    await console.decide(waiting["delete_invoice"], "deny", message="keep it")
    out, err = await asyncio.wait_for(process.communicate(), STARTED)
    assert (process.returncode, err) == (0, b"")
    text = out.decode()
    assert text.startswith("ready   as acme/billing-bot\n")
    assert "allowed lookup_invoice" in text
    assert "ran     send_mail: sent to grace@example.org" in text
    assert "not run delete_invoice" in text
    assert "keep it" in text
    assert "INV-40" in json.loads(data.read_text())


async def test_a_stopped_example_withdraws_what_it_asked(console, agent_json):
    before = len(console.received["request"])
    process = await start(agent_json)
    waiting = await cards(console, before)
    process.send_signal(signal.SIGTERM)
    await asyncio.wait_for(process.communicate(), STARTED)
    assert process.returncode == 143
    for request_id in waiting.values():
        await console.until("withdraw", lambda m, i=request_id: m.subject.endswith(i))


async def test_the_example_says_what_is_wrong_and_exits_1(tmp_path):
    process = await start(tmp_path / "none.json", "--once")
    _, err = await asyncio.wait_for(process.communicate(), STARTED)
    assert process.returncode == 1
    assert err.startswith(b"enrolment: cannot read")
