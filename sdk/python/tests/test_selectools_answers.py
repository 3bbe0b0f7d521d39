"""Rows S5 and S10e: what selectools is reported, and what a real console lets a person answer."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest
from countersign import args_digest
from countersign.adapters.selectools import SelectoolsGate
from countersign.errors import CountersignError
from selectools import Agent, AgentConfig, Tool
from selectools.policy import ApprovalRequest
from selectools.tools import ToolParameter

from conftest import SOON
from office import ARGS, Script, one
from test_selectools import STRICT

HOOKS = ["confirm", "confirm_async", "handle", "handle_async"]


def reported(enrolment, hook: str, args: dict) -> asyncio.Future:
    """What a hook of the gate gives selectools."""

    def work() -> object:
        with SelectoolsGate.open(enrolment, approval_timeout=20) as gate:
            asked = (
                (ApprovalRequest("delete_invoice", args, "why", "a preview"),)
                if hook.startswith("handle")
                else ("delete_invoice", args, "why")
            )
            answer = getattr(gate, hook)(*asked)
            return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer

    return asyncio.ensure_future(asyncio.to_thread(work))


@pytest.mark.parametrize("hook", HOOKS)
async def test_s5_a_yes_is_exactly_true(bench, console, hook):
    working, body = await one(console, lambda: reported(bench.enrolment(), hook, dict(ARGS)))
    await console.decide(body["request_id"])
    assert await asyncio.wait_for(working, SOON) is True


NO = {word: {"verdict": word} for word in ("deny", "skip", "terminate", "respond")}
ANSWERS = {
    **STRICT,
    **NO,
    "an edit of other bytes": {"verdict": "modify", "edited_args": {}, "args_digest": "0" * 64},
}


@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.parametrize("hook", HOOKS)
async def test_s5_anything_else_raises(bench, console, hook, case):
    args = dict(ARGS)
    working, body = await one(console, lambda: reported(bench.enrolment(), hook, args))
    await console.decide(body["request_id"], **ANSWERS[case])
    with pytest.raises(CountersignError):
        await asyncio.wait_for(working, SOON)
    assert args == ARGS


@pytest.mark.parametrize("hook", HOOKS)
async def test_s5_no_card_takes_a_response(desk, hook):
    working = reported(desk.agent_json, hook, dict(ARGS))
    card = await desk.card(working)
    assert "respond" not in card.request["allowed_verdicts"]
    code, _, _ = await desk.console.run("respond", card.id, "--content", "done by hand")
    assert code == 6
    await desk.deny(card)
    with pytest.raises(CountersignError):
        await asyncio.wait_for(working, SOON)


def export_tool(ran: list[dict]) -> Tool:
    def export(**args) -> str:
        ran.append(args)
        return "exported"

    parameters = [
        ToolParameter("invoice_id", str, "which"),
        ToolParameter("format", str, "how", required=False, enum=["pdf", "csv"]),
        ToolParameter("copies", int, "how many", required=False),
    ]
    return Tool(
        "export", "Exports an invoice", parameters, lambda invoice_id, **more: export(invoice_id=invoice_id, **more)
    )


@pytest.fixture
async def asked(desk):
    """A card of the tool `export`, the run that waits for it, and what ran."""
    ran: list[dict] = []
    tool = export_tool(ran)

    def work() -> None:
        with SelectoolsGate.open(desk.agent_json, tools=[tool], approval_timeout=20) as gate:
            config = AgentConfig(tool=gate.tool_config(), observers=[gate])
            script = Script([("export", {"invoice_id": "INV-42", "format": "pdf", "copies": 1})])
            Agent(tools=[tool], provider=script, config=config).run("go")

    working = asyncio.ensure_future(asyncio.to_thread(work))
    return SimpleNamespace(card=await desk.card(working), working=working, ran=ran, tool=tool)


async def test_s10e_the_card_has_the_schema_of_the_tool(desk, asked):
    schema = asked.card.request["tool"]["args_schema"]
    assert schema == asked.tool.schema()["parameters"]
    assert schema["properties"]["format"]["enum"] == ["pdf", "csv"]
    edited = {"invoice_id": "INV-7", "format": "csv", "copies": 2}
    await desk.approve(asked.card, edited)
    await asyncio.wait_for(asked.working, SOON)
    assert asked.ran == [edited]
    assert (await desk.receipt(asked.card, "executed"))["executed_args_digest"] == args_digest(edited)


BAD = {
    "a wrong type": {"invoice_id": "INV-42", "copies": "two"},
    "a fraction": {"invoice_id": "INV-42", "copies": 1.5},
    "a missing argument": {"format": "pdf"},
    "not in the enum": {"invoice_id": "INV-42", "format": "docx"},
}


async def test_s10e_an_edit_that_does_not_fit_is_refused_by_the_console(desk, asked):
    for case, args in BAD.items():
        code, _, error = await desk.console.run("approve", asked.card.id, "--args", json.dumps(args))
        assert code == 6, f"{case}: {error}"
    assert (await desk.shown(asked.card.id))["state"] == "pending"
    await desk.deny(asked.card)
    await asyncio.wait_for(asked.working, SOON)
    assert asked.ran == []
