"""The gate within function tools of the OpenAI Agents SDK (integrations, 3.3)."""

from __future__ import annotations

import asyncio
import json
import logging

import agents
import pytest
from agents import Agent, ModelBehaviorError, Runner, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from countersign import Gate
from countersign.adapters.openai_agents import gated

from asked import Asked
from conftest import SOON
from console import canonical_digest

ARGS = {"to": "ada", "n": 1}
SECRET = "sk-planted-7f3a"

agents.set_trace_processors([])


class Office:
    """An agent with one tool that notes what it ran with."""

    def __init__(self, gate, *turns, **common) -> None:
        self.ran: list[dict] = []
        self.model = ScriptedModel([*turns, [assistant_message("done")]])
        [tool] = gated(gate, [self.tool()], **common)
        self.agent = Agent(name="clerk", model=self.model, tools=[tool])

    def tool(self, **options):
        @function_tool(name_override="pay", **options)
        async def pay(to: str, n: int) -> str:
            """Pays somebody."""
            self.ran.append({"to": to, "n": n})
            if to == "nobody":
                raise LookupError(SECRET)
            return f"paid {to}"

        return pay

    def start(self, **options) -> asyncio.Task:
        return asyncio.ensure_future(Runner.run(self.agent, "pay the invoices", **options))

    @property
    def read(self) -> list[str]:
        """What the model read as results of its calls."""
        last = self.model.calls[-1].input
        return [item["output"] for item in last if item.get("type") == "function_call_output"]


def pay(args=ARGS, call_id="call_1"):
    return function_call("pay", args, call_id=call_id)


@pytest.fixture
def asked(console):
    return Asked(console)


async def answered(office: Office, asked: Asked, verdict="approve", **changes):
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card, verdict, **changes)
    await asyncio.wait_for(working, SOON)
    return card


async def test_an_approved_call_runs_with_what_was_shown_and_its_receipt_says_so(gate, asked):
    office = Office(gate, [assistant_message("I pay ada."), pay()], risks={"pay*": "high"}, effects={"*": "write"})
    card = await answered(office, asked)
    assert office.ran == [ARGS]
    assert office.read == ["paid ada"]
    assert (card["tool"]["name"], card["tool"]["description"], card["args"]) == ("pay", "Pays somebody.", ARGS)
    assert card["tool"]["args_schema"]["required"] == ["to", "n"]
    assert (card["risk"], card["tool"]["effects"], card["call_id"]) == ("high", "write", "call_1")
    assert card["agent"]["framework"] == "openai-agents"
    assert card["agent"]["framework_version"].startswith("0.")
    assert card["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "respond"]
    assert card["history"] == [{"role": "user", "content": "pay the invoices"}]
    assert "group" not in card
    assert "args_raw" not in card
    receipt = await asked.receipt(card, "executed")
    assert receipt["executed_args_digest"] == canonical_digest(ARGS)
    span = await asked.span(card, "ok")
    assert (span["request_id"], span["input"]) == (card["request_id"], ARGS)


async def test_the_thread_is_the_runs_group_and_the_run_its_trace(gate, asked):
    office = Office(gate, [pay()])
    working = office.start(run_config=agents.RunConfig(group_id="chat-7"))
    card = await asked.card(working)
    assert card["thread_id"] == "chat-7"
    assert card["run_id"].startswith("trace_")
    await asked.answer(card, "deny")
    await working


async def test_an_edited_call_runs_as_edited_and_the_model_reads_that(gate, asked):
    office = Office(gate, [pay()])
    working = office.start()
    card = await asked.card(working)
    await asked.edit(card, {"to": "grace", "n": 2})
    await working
    assert office.ran == [{"to": "grace", "n": 2}]
    notice = 'A person changed this call before it ran. It ran with {"to": "grace", "n": 2}.\n'
    assert office.read == [notice + "paid grace"]
    receipt = await asked.receipt(card, "executed")
    assert receipt["executed_args_digest"] == canonical_digest({"to": "grace", "n": 2})
    assert "degraded" not in await asked.receipt(card, "received")


async def test_an_edit_that_the_function_does_not_take_does_not_run(gate, asked):
    office = Office(gate, [pay()])
    working = office.start()
    card = await asked.card(working)
    await asked.edit(card, {"to": "grace", "n": "many"})
    await working
    assert office.ran == []
    assert office.read == ["pay was not run: it does not take the edited arguments"]
    assert (await asked.receipt(card, "refused"))["message"] == "invalid_args"


REFUSALS = [
    ("deny", {"message": "wrong payee"}, "pay was not run, denied by Ada: wrong payee", "denied"),
    ("skip", {}, "pay was not run, skipped by Ada (not a refusal)", "cancelled"),
    ("respond", {"response": {"content": "paid already"}}, "paid already", "ok"),
    ("nod", {}, "pay was not run, not allowed (nod)", "denied"),
]


@pytest.mark.parametrize(("verdict", "fields", "words", "status"), REFUSALS, ids=[row[0] for row in REFUSALS])
async def test_what_does_not_run_is_told_in_words(gate, asked, verdict, fields, words, status):
    office = Office(gate, [pay()])
    card = await answered(office, asked, verdict, **fields)
    assert (office.ran, office.read) == ([], [words])
    await asked.span(card, status)


async def test_nobody_answers_in_time(gate, asked):
    office = Office(gate, [pay()], timeout=0.3)
    await asyncio.wait_for(office.start(), SOON)
    assert (office.ran, office.read) == ([], ["pay was not run, expired: nobody answered in time"])


async def test_a_rule_allows_and_a_rule_denies(gate, asked):
    office = Office(gate, [pay()], [pay(call_id="call_2")])
    working = office.start()
    await asked.by_rule(await asked.card(working))
    await asked.by_rule(await asked.card(working), "deny")
    await working
    assert office.ran == [ARGS]
    assert office.read == ["paid ada", "pay was not run, denied by the rule Lookups may go"]


async def test_a_forged_approval_runs_nothing(gate, asked):
    office = Office(gate, [pay()])
    working = office.start()
    card = await asked.card(working)
    await asked.forge(card)
    await working
    assert office.ran == []
    assert office.read[0].startswith("pay was not run: could not get approval (unknown_key)")


async def test_two_calls_of_one_turn_ask_at_once_as_one_group(gate, asked):
    office = Office(gate, [pay(call_id="a"), pay({"to": "bob", "n": 2}, call_id="b")])
    working = office.start()
    first, second = await asked.cards(2, working)
    assert first["group"] == {"id": first["group"]["id"], "index": 0, "size": 2}
    assert second["group"] == {"id": first["group"]["id"], "index": 1, "size": 2}
    await asked.answer(second)
    await asked.answer(first, "deny")
    await working
    assert office.ran == [{"to": "bob", "n": 2}]
    assert office.read == ["pay was not run, denied by Ada", "paid bob"]


async def test_a_function_that_raises_is_a_failed_call(gate, asked):
    office = Office(gate, [pay({"to": "nobody", "n": 1})])
    card = await answered(office, asked)
    receipt = await asked.receipt(card, "failed")
    assert receipt["message"] == "LookupError"
    assert "An error occurred" in office.read[0]
    await asked.span(card, "error")


async def test_arguments_that_are_no_json_make_no_card(gate, asked):
    office = Office(gate, [function_call("pay", "{to: ada", call_id="x")])
    await asyncio.wait_for(office.start(), SOON)
    assert (office.ran, office.read) == ([], ["pay was not run: its arguments are not JSON"])
    await asked.none_came()


async def test_arguments_without_canonical_form_do_not_run(gate, asked):
    office = Office(gate, [function_call("pay", '{"to": "ada", "n": NaN}', call_id="x")])
    await asyncio.wait_for(office.start(), SOON)
    assert office.ran == []
    assert office.read[0].startswith("pay was not run: could not get approval (")
    await asked.none_came()


async def test_the_models_own_text_is_shown_where_it_differs(gate, asked):
    text = '{"n":0,  "to":"ada", "n":1}'
    office = Office(gate, [function_call("pay", text, call_id="x")])
    card = await answered(office, asked)
    assert (card["args"], card["args_raw"]) == (ARGS, text)
    assert office.ran == [ARGS]


async def test_unasked_tools_come_back_as_they_are(gate, asked):
    office = Office(gate, [pay()], ask=("pay*", "send*"), unasked=("pay",))
    await asyncio.wait_for(office.start(), SOON)
    assert office.ran == [ARGS]
    await asked.none_came()


async def test_the_tool_itself_is_not_changed(gate):
    office = Office(gate)
    tool = office.tool(needs_approval=True, timeout=0.1)
    invoke = tool.on_invoke_tool
    [copied] = gated(gate, [tool])
    assert (tool.on_invoke_tool, tool.needs_approval, tool.timeout_seconds) == (invoke, True, 0.1)
    assert (copied.needs_approval, copied.timeout_seconds) == (False, None)


async def test_a_tools_own_time_out_begins_with_the_answer(gate, asked):
    office = Office(gate, [pay()])

    @function_tool(name_override="pay", timeout=0.05)
    async def slow(to: str, n: int) -> str:
        await asyncio.sleep(60)
        return "never"

    office.agent.tools = gated(gate, [slow])
    working = office.start()
    card = await asked.card(working)
    await asyncio.sleep(0.1)
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert "timed out" in office.read[0]
    await asked.receipt(card, "failed")


async def test_a_structured_result_keeps_its_form_behind_the_notice(gate, asked):
    office = Office(gate, [pay()])

    @function_tool(name_override="pay")
    async def parts(to: str, n: int) -> agents.ToolOutputText:
        return agents.ToolOutputText(text=f"paid {to}")

    office.agent.tools = gated(gate, [parts])
    working = office.start()
    await asked.edit(await asked.card(working), {"to": "grace", "n": 2})
    await working
    assert [part["text"] for part in office.read[0]] == [
        'A person changed this call before it ran. It ran with {"to": "grace", "n": 2}.\n',
        "paid grace",
    ]


async def test_other_tools_come_back_with_a_warning_for_those_that_could_have_asked(gate, caplog):
    kinds = [
        agents.ShellTool(executor=lambda request: "x"),
        agents.ShellTool(executor=lambda request: "x", needs_approval=True),
        agents.WebSearchTool(),
        agents.HostedMCPTool(tool_config={"type": "mcp", "server_label": "s", "require_approval": "never"}),
    ]
    with caplog.at_level(logging.WARNING, "countersign"):
        assert gated(gate, kinds) == kinds
    assert [record.args[0] for record in caplog.records] == ["shell", "hosted_mcp"]
    caplog.clear()
    assert gated(gate, kinds, ask=("pay",)) == kinds
    assert not caplog.records


async def test_a_text_is_no_list_of_globs(gate):
    with pytest.raises(TypeError):
        gated(gate, [], ask="pay_*")


async def test_a_cancelled_run_withdraws_and_runs_nothing(gate, asked, console):
    office = Office(gate, [pay()])
    working = office.start()
    card = await asked.card(working)
    working.cancel()
    await asyncio.wait({working})
    await console.until("withdraw", lambda m: m.subject.endswith(card["request_id"]))
    assert office.ran == []


async def test_a_gate_that_closed_and_a_bus_that_is_gone_run_nothing(tmp_path):
    from conftest import Bench, opened

    bench = await opened(Bench(tmp_path))
    try:
        async with Gate.connect(bench.enrolment()) as gate:
            office = Office(gate, [pay()], [pay(call_id="call_2")], timeout=0.5)
            bench.server.stop()
            await asyncio.wait_for(office.start(), SOON)
        assert office.ran == []
        # The last one: of a closed gate.
        office = Office(gate, [pay()])
        await asyncio.wait_for(office.start(), SOON)
        assert office.ran == []
        assert "(gate_closed)" in office.read[0]
    finally:
        await bench.console.nc.close()


async def test_a_planted_secret_is_nowhere(gate, asked, console, caplog):
    with caplog.at_level(logging.DEBUG, "countersign"):
        office = Office(gate, [pay({"to": "nobody", "n": 1})])
        card = await answered(office, asked)
        await asked.receipt(card, "failed")
    receipts = [m.data for m in console.received["receipt"] if m.subject.endswith(card["request_id"])]
    assert SECRET not in json.dumps(card) + caplog.text + str(receipts)
    assert gate.enrolment.nkey_seed not in json.dumps(card) + "".join(office.read) + caplog.text


async def test_what_the_framework_says_of_unfit_arguments(gate):
    tool = Office(gate).tool(failure_error_function=None)
    context = agents.tool_context.ToolContext(None, tool_name="pay", tool_call_id="c", tool_arguments="{}")
    with pytest.raises(ModelBehaviorError, match=r"^Invalid JSON input for tool"):
        await tool.on_invoke_tool(context, '{"to": 1}')
