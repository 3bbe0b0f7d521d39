"""Interruptions of the OpenAI Agents SDK: settled, resumed after a kill, and run to their end (integrations, 3.3)."""

from __future__ import annotations

import asyncio
import json
import sys

import agents
import agents.mcp
import pytest
from agents import Agent, Runner, RunState, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from countersign import Gate
from countersign.adapters import openai_agents
from openai.types.responses.response_output_item import McpApprovalRequest

from asked import Asked
from conftest import SOON
from console import canonical_digest
from killed import run_once_for_all_kills, with_openai_agents
from test_openai_agents import ARGS, SECRET, pay


class Clerk:
    """An agent whose tool needs approval and notes what it ran with."""

    def __init__(self, *turns, tools=()) -> None:
        self.ran: list[dict] = []
        self.model = ScriptedModel([*turns, [assistant_message("done")]])

        @function_tool(name_override="pay", needs_approval=True)
        def pay(to: str, n: int) -> str:
            """Pays somebody."""
            self.ran.append({"to": to, "n": n})
            if to == "nobody":
                raise LookupError(SECRET)
            return f"paid {to}"

        self.agent = Agent(name="clerk", model=self.model, tools=[pay, *tools])

    async def interrupted(self) -> RunState:
        return (await Runner.run(self.agent, "pay the invoices")).to_state()

    def run(self, gate, **options) -> asyncio.Task:
        options = {"thread_id": "t", **options}
        return asyncio.ensure_future(openai_agents.run(self.agent, "pay the invoices", gate=gate, **options))

    @property
    def read(self) -> list:
        last = self.model.calls[-1].input
        return [item["output"] for item in last if str(item.get("type", "")).endswith("_output")]


@pytest.fixture
def asked(console):
    return Asked(console)


async def test_settle_writes_an_approval_for_this_call_alone(gate, asked):
    clerk = Clerk([assistant_message("I pay ada."), pay()], [pay(call_id="call_2")])
    state = await clerk.interrupted()
    settling = asyncio.ensure_future(
        openai_agents.settle(gate, state, thread_id="chat-7", risks={"pay": "medium"}, timeout=60)
    )
    card = await asked.card(settling)
    assert card["allowed_verdicts"] == ["approve", "deny", "skip"]
    assert (card["tool"]["name"], card["args"], card["risk"]) == ("pay", ARGS, "medium")
    assert card["tool"]["args_schema"]["required"] == ["to", "n"]
    assert (card["thread_id"], card["call_id"], card["reason"]) == ("chat-7", "call_1", "I pay ada.")
    assert card["history"][0] == {"role": "user", "content": "pay the invoices"}
    await asked.answer(card)
    assert await settling is None
    assert (await asked.receipt(card, "received"))["degraded"] == ["no_execution_report"]
    result = await Runner.run(clerk.agent, state)
    assert clerk.ran == [ARGS]
    # The second call of the same tool interrupts again: nothing was approved for always.
    assert [item.call_id for item in result.interruptions] == ["call_2"]


REFUSALS = [
    ("deny", {"message": "wrong payee"}, "pay was not run, denied by Ada: wrong payee"),
    ("skip", {}, "pay was not run, skipped by Ada (not a refusal)"),
    ("nod", {}, "pay was not run, not allowed (nod)"),
    ("modify", {"edited_args": ARGS}, "pay was not run: could not get approval (not_allowed)"),
]


@pytest.mark.parametrize(("verdict", "fields", "words"), REFUSALS, ids=[row[0] for row in REFUSALS])
async def test_a_refusal_is_the_rejections_message(gate, asked, verdict, fields, words):
    clerk = Clerk([pay()])
    working = clerk.run(gate)
    card = await asked.card(working)
    if verdict == "modify":
        fields = {**fields, "args_digest": canonical_digest(ARGS)}
    await asked.answer(card, verdict, **fields)
    await asyncio.wait_for(working, SOON)
    assert clerk.ran == []
    assert clerk.read[0].startswith(words)


async def test_nobody_answers_a_forgery_and_no_json(gate, asked):
    clerk = Clerk([pay(call_id="a"), pay(call_id="b"), function_call("pay", "{to", call_id="c")])
    working = clerk.run(gate, timeout=1.0)
    first, _ = await asked.cards(2, working)
    await asked.forge(first)
    await asyncio.wait_for(working, SOON)
    assert clerk.ran == []
    forged, expired, unread = clerk.read
    assert forged.startswith("pay was not run: could not get approval (unknown_key)")
    assert expired == "pay was not run, expired: nobody answered in time"
    assert unread == "pay was not run: its arguments are not JSON"


async def test_run_goes_on_until_nothing_interrupts_and_sends_receipts(gate, asked):
    clerk = Clerk([pay(call_id="a"), pay({"to": "bob", "n": 2}, "b")], [pay({"to": "nobody", "n": 1}, "c")])
    heard: list[str] = []

    class Hooks(agents.RunHooks):
        async def on_tool_start(self, context, agent, tool) -> None:
            heard.append(f"start {tool.name}")

        async def on_tool_end(self, context, agent, tool, result) -> None:
            heard.append(f"end {result[:5]}")

        async def on_agent_end(self, context, agent, output) -> None:
            heard.append(f"agent {output}")

    working = clerk.run(gate, hooks=Hooks())
    first, second = await asked.cards(2, working)
    assert first["group"] == {"id": first["group"]["id"], "index": 0, "size": 2}
    assert second["group"] == {"id": first["group"]["id"], "index": 1, "size": 2}
    await asked.by_rule(first)
    await asked.answer(second)
    third = await asked.card(working)
    await asked.answer(third)
    result = await asyncio.wait_for(working, SOON)
    assert (result.final_output, len(clerk.ran)) == ("done", 3)
    assert heard == [*["start pay"] * 2, *["end paid "] * 2, "start pay", "end An er", "agent done"]
    for card in (first, second):
        assert (await asked.receipt(card, "executed"))["executed_args_digest"] == canonical_digest(card["args"])
        assert "degraded" not in await asked.receipt(card, "received")
        await asked.span(card, "ok")
    await asked.receipt(third, "failed")
    await asked.span(third, "error")


async def test_run_takes_a_state_that_waits(gate, asked):
    clerk = Clerk([pay()])
    state = await clerk.interrupted()
    working = asyncio.ensure_future(openai_agents.run(clerk.agent, state, gate=gate, thread_id="t"))
    await asked.answer(await asked.card(working))
    await working
    assert clerk.ran == [ARGS]


async def test_an_approved_call_that_the_run_does_not_start_is_refused(gate, asked):
    clerk = Clerk([pay()])

    @agents.tool_input_guardrail
    async def guardrail(data):
        raise RuntimeError("no more")

    clerk.agent.tools[0].tool_input_guardrails = [guardrail]
    working = clerk.run(gate)
    card = await asked.card(working)
    await asked.answer(card)
    with pytest.raises(Exception, match="no more"):
        await asyncio.wait_for(working, SOON)
    assert clerk.ran == []
    assert (await asked.receipt(card, "refused"))["message"] == "not_started"


async def test_a_shell_and_a_hosted_tool_are_asked_about_too(gate, asked):
    commands: list[list[str]] = []

    def execute(request):
        commands.append(request.data.action.commands)
        return "ok"

    shell = agents.ShellTool(executor=execute, needs_approval=True)
    hosted = agents.HostedMCPTool(
        tool_config={
            "type": "mcp",
            "server_label": "crm",
            "server_url": "http://127.0.0.1:1",
            "require_approval": "always",
        }
    )
    call = {"type": "shell_call", "call_id": "s1", "id": "s1", "status": "completed", "action": {"commands": ["ls"]}}
    request = McpApprovalRequest(
        id="m1", type="mcp_approval_request", name="find", arguments='{"q": 1}', server_label="crm"
    )
    clerk = Clerk([call], [request], tools=[shell, hosted])
    working = clerk.run(gate)
    card = await asked.card(working)
    assert (card["tool"]["name"], card["args"]["commands"]) == ("shell", ["ls"])
    await asked.answer(card)
    await asked.receipt(card, "executed")
    assert commands == [["ls"]]
    card = await asked.card(working)
    assert (card["tool"], card["args"]) == ({"name": "find", "namespace": "crm", "origin": "mcp"}, {"q": 1})
    await asked.answer(card)
    assert (await asked.receipt(card, "received"))["degraded"] == ["no_execution_report"]
    await asyncio.wait_for(working, SOON)
    [answer] = [item for item in clerk.model.calls[-1].input if item.get("type") == "mcp_approval_response"]
    assert answer["approve"] is True


SERVER = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("crm")
@server.tool()
def find(q: str) -> str:
    "Finds a customer."
    return "found " + q
server.run()
"""


async def test_a_tool_of_an_mcp_server_is_asked_about_too(gate, asked):
    server = agents.mcp.MCPServerStdio(
        {"command": sys.executable, "args": ["-c", SERVER]}, name="crm", require_approval="always"
    )
    async with server:
        clerk = Clerk([function_call("find", {"q": "ada"}, call_id="f1")])
        clerk.agent.mcp_servers = [server]
        working = clerk.run(gate)
        card = await asked.card(working)
        about = card["tool"]
        assert (about["name"], about["origin"], about["namespace"]) == ("find", "mcp", "crm")
        assert (about["description"], about["args_schema"]["required"]) == ("Finds a customer.", ["q"])
        await asked.answer(card)
        await asyncio.wait_for(working, SOON)
    assert "found ada" in str(clerk.read[0])
    await asked.receipt(card, "executed")


async def test_an_interruption_within_an_agent_that_is_a_tool(gate, asked):
    inner = Clerk([pay()])
    outer = Clerk(
        [function_call("clerk", {"input": "pay"}, call_id="o1")], tools=[inner.agent.as_tool("clerk", "pays")]
    )
    working = outer.run(gate)
    card = await asked.card(working)
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert inner.ran == [ARGS]
    assert (await asked.receipt(card, "received"))["degraded"] == ["no_execution_report"]
    receipts = [
        json.loads(m.data)["stage"]
        for m in asked.console.received["receipt"]
        if m.subject.endswith(card["request_id"])
    ]
    assert receipts == ["received"]


async def test_killed_while_the_card_waits_a_later_process_takes_the_answer_and_runs_it_once(desk, tmp_path):
    await run_once_for_all_kills(desk, tmp_path, with_openai_agents)


async def test_a_gate_that_is_closed_settles_with_words(bench, asked):
    async with Gate.connect(bench.enrolment()) as gate:
        pass
    clerk = Clerk([pay()])
    await asyncio.wait_for(clerk.run(gate), SOON)
    assert clerk.ran == []
    assert "(gate_closed)" in clerk.read[0]
