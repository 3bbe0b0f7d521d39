"""Rows F1, F2, F5, F7 to F9, F12 and F13 of Flexus with the real console: what a person sees and chooses there."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from countersign import Enrolment
from countersign.adapters.flexus import FlexusGate

import flexus_kit as kit
from cards import Desk
from flexus_office import ARGS, TOOL, Office, a_call
from test_console import SECONDS

LOOSE = kit.CloudTool(
    True, "loose", "Breaks strict mode", {"type": "object", "properties": {"a": {"type": "string"}}}
)
SETUP = [
    {"bs_name": "allow_dangerous", "bs_type": "bool", "bs_default": True, "bs_group": "Safety"},
    {"bs_name": "confirm_fire", "bs_type": "bool", "bs_default": False, "bs_group": "Safety"},
]
GRANT = """schema = 1
[[rule]]
id = "thread"
name = "This thread may"
effect = "approve"
tool = ["fire"]
thread_id = ["ft-granted"]
"""


@pytest.fixture(scope="module")
async def desk(tmp_path_factory):
    made = await Desk(tmp_path_factory.mktemp("console")).start()
    yield made
    await made.console.stop()


@contextlib.asynccontextmanager
async def bot(desk, **options):
    known = Enrolment.load(desk.agent_json)
    about = {
        "tools": [TOOL, LOOSE],
        "setup_schema": SETUP,
        "bot": "hr",
        "version": "0.1.0",
        "risks": {"fire": "high"},
    }
    async with FlexusGate.connect(known, **about, **options) as flexus:
        yield flexus


async def agents(desk) -> list[dict]:
    return [json.loads(line) for line in (await desk.console.done("agents", "--json")).splitlines()]


async def test_f1_f2_f5_f9_a_person_sees_and_approves_it(desk):
    parts = [{"m_type": "text", "m_content": "done"}, {"m_type": "image/png", "m_content": "iVBORw0KGgo="}]
    async with bot(desk) as flexus:
        office = Office(flexus, key="", returns=parts)
        working = office.start()
        card = await desk.card(working)
        assert card.request["confirm"] == {"setup_key": "", "command": "fire(Bob)", "explanation": "Bob leaves"}
        assert card.request["agent"]["framework"] == "flexus"
        code, _, _ = await desk.console.run("approve", card.id, "--args", json.dumps({"name": "Eve"}))
        assert (code, len(office.runs)) == (6, 1)
        await desk.approve(card)
        assert await working is parts
        await desk.receipt(card, "executed")
        assert (await desk.span(card, "ok"))["output"] == parts
    stored = [file for file in desk.console.log.parent.rglob("*") if file.is_file()]
    assert not [file for file in stored if kit.SECRET.encode() in file.read_bytes()]


async def test_f7_a_key_spares_the_question_only_as_an_operator_chose(desk):
    async with bot(desk) as flexus:
        agent = "/".join([flexus.gate.enrolment.workspace, flexus.gate.enrolment.agent])
        async with asyncio.timeout(SECONDS):
            while "allow_dangerous" not in await desk.console.done("setup", "list"):
                pass
        for key in ("allow_dangerous", "confirm_fire", "undeclared"):
            working = Office(flexus, key=key).start()
            # Not denied: what a person denied, no key approves afterwards.
            await desk.approve(await desk.card(working))
            assert await working == "fired"
        for key, value in (("allow_dangerous", "true"), ("confirm_fire", "false")):
            await desk.console.done("setup", "bind", agent, key, "--skips-when", value)
            assert await Office(flexus, key=key).start() == "fired"
            decided: dict = {}
            async with asyncio.timeout(SECONDS):
                while decided.get("rule") != key:
                    out = await desk.console.done("history", "--origin", "setup_key", "--limit", "1", "--json")
                    decided = json.loads(out.splitlines()[0])
            assert decided["verdict"] == "approve"
            await desk.console.done("setup", "unbind", agent, key)
    await desk.console.done("audit", "verify")


async def test_f8_a_tool_that_breaks_strict_mode_is_flagged(desk):
    async with bot(desk):
        faults: dict[str, list] = {}
        async with asyncio.timeout(SECONDS):
            while "loose" not in faults:
                faults = {
                    tool["name"]: tool["strict_faults"] for agent in await agents(desk) for tool in agent["tools"]
                }
    assert faults["fire"] == []
    assert all(fault["path"].startswith("/") or fault["path"] == "" for fault in faults["loose"])
    assert faults["loose"]


async def test_f12_a_thread_is_granted_and_taken_back(desk):
    rules = desk.console.log.with_name("rules.toml")
    rules.write_text(GRANT)
    await desk.console.done("rules", "apply", str(rules))
    async with bot(desk) as flexus:
        office = Office(flexus, key="")
        assert await office.start(a_call(fcall_ft_id="ft-granted")) == "fired"
        working = office.start(a_call(fcall_ft_id="ft-other"))
        await desk.deny(await desk.card(working))
        await working
        await desk.console.done("rules", "disable", "thread")
        working = office.start(a_call(fcall_ft_id="ft-granted"))
        await desk.deny(await desk.card(working))
        assert "denied by Ada" in await working


async def test_f13_a_killed_console_answers_nobody(desk):
    async with bot(desk, timeout=2) as flexus:
        office = Office(flexus)
        desk.console.process.kill()
        await desk.console.process.wait()
        text = await office.start()
        assert "fire was not run" in text
        assert office.runs == [(None, ARGS, office.runs[0][2])]
