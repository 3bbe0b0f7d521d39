"""LangChain agents while the run waits (integrations, section 3.2): the real package, a scripted model, a console."""

from __future__ import annotations

import asyncio
import datetime as dt
import logging

import pytest
from countersign import Gate, args_digest
from countersign.adapters.langgraph import CountersignMiddleware
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool

from conftest import SOON

SECRET = "ghp_" + "a8Kd02LmXq7ZvB3nTy5RwE1uHs6JcF9gQp4W"


@pytest.fixture(scope="module")
async def gate(desk):
    async with desk.gate() as opened:
        yield opened


class Script(GenericFakeChatModel):
    """Plays the given turns of tool calls, then says "done"."""

    def bind_tools(self, tools, **_):
        return self


def script(*turns: list[tuple[str, dict]]) -> Script:
    messages = []
    for turn, calls in enumerate(turns):
        made = [{"name": name, "args": args, "id": f"call_{turn}_{n}"} for n, (name, args) in enumerate(calls)]
        messages.append(AIMessage("Ada is owed one.", tool_calls=made))
    return Script(messages=iter([*messages, AIMessage("done")]))


PAY = ("pay", {"to": "ada", "n": 1})


class Office:
    """An agent whose tools note what they ran with."""

    def __init__(self, *calls: tuple[str, dict], middleware=(), **how) -> None:
        self.ran: list[tuple] = []
        self.tools = [tool(self.pay), tool(self.lookup), tool(self.book), tool(self.fail)]
        self.agent = create_agent(script(list(calls) or [PAY]), self.tools, middleware=list(middleware), **how)

    def pay(self, to: str, n: int) -> str:
        """Pays somebody."""
        self.ran.append((to, n))
        return f"paid {to} {n}"

    def lookup(self, who: str) -> str:
        """Looks somebody up."""
        self.ran.append((who,))
        return who

    def book(self, day: dt.date) -> str:
        """Books a day."""
        self.ran.append((day,))
        return "booked"

    def fail(self) -> str:
        """Fails."""
        raise ValueError("the bank is closed")

    async def run(self, **config):
        """What the model read of its calls."""
        result = await self.agent.ainvoke({"messages": [("user", "pay Ada")]}, config)
        assert result["messages"][-1].text == "done"
        return read(result)


def read(result) -> list[ToolMessage]:
    return [message for message in result["messages"] if isinstance(message, ToolMessage)]


def gated(gate: Gate, *calls: tuple[str, dict], **how) -> Office:
    return Office(*calls, middleware=[CountersignMiddleware(gate, **how)])


async def ended(run):
    return await asyncio.wait_for(run, SOON)


async def test_approved_it_runs_once_with_what_was_approved(desk, gate):
    office = gated(gate, ask=("pay",), risks={"p*": "high"}, effects={"pay": "irreversible"})
    run = asyncio.create_task(office.run(configurable={"thread_id": "thread-1"}))
    card = await desk.card(run)
    request = card.request
    assert (card["tool"], card.args, card["risk"]) == ("pay", {"to": "ada", "n": 1}, "high")
    assert (request["call_id"], request["thread_id"]) == ("call_0_0", "thread-1")
    assert (request["agent"]["framework"], request["agent"]["framework_version"]) == ("langgraph", "1.2.24")
    assert request["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "respond"]
    assert request["tool"]["description"] == "Pays somebody."
    assert request["tool"]["args_schema"]["properties"]["n"]["type"] == "integer"
    assert request["tool"]["effects"] == "irreversible"
    assert request["reason"] == "Ada is owed one."
    assert [said["role"] for said in request["history"]] == ["user", "assistant", "assistant"]
    assert office.ran == []
    await desk.approve(card)
    [reported] = await ended(run)
    assert (office.ran, reported.content, reported.status) == ([("ada", 1)], "paid ada 1", "success")
    assert (await desk.receipt(card, "executed"))["executed_args_digest"] == args_digest({"to": "ada", "n": 1})
    span = await desk.span(card, "ok")
    assert (span["tool_name"], span["call_id"]) == ("pay", "call_0_0")


async def test_an_edit_is_what_runs_and_the_model_is_told(desk, gate):
    office = gated(gate)
    run = asyncio.create_task(office.run())
    card = await desk.card(run)
    await desk.approve(card, {"to": "eve", "n": 2})
    [reported] = await ended(run)
    assert office.ran == [("eve", 2)]
    notice = 'A person changed this call before it ran. It ran with {"to": "eve", "n": 2}.\n'
    assert reported.content == notice + "paid eve 2"
    assert (await desk.receipt(card, "executed"))["executed_args_digest"] == args_digest({"to": "eve", "n": 2})


async def test_an_edit_that_validation_refuses_does_not_run(desk, gate):
    office = gated(gate, ("book", {"day": "2026-11-26"}))
    run = asyncio.create_task(office.run())
    card = await desk.card(run)
    code, _, _ = await desk.console.run("approve", card.id, "--args", '{"day": 7}')
    assert code == 6
    await desk.approve(card, {"day": "someday"})
    [reported] = await ended(run)
    assert (office.ran, reported.status) == ([], "error")
    assert "valid date" in reported.content
    receipt = await desk.receipt(card, "refused")
    assert (receipt["message"], receipt["executed_args_digest"]) == ("invalid_args", None)


ANSWERS = {
    "deny": (
        lambda desk, card: desk.deny(card, "wrong payee"),
        "pay was not run, denied by Ada: wrong payee",
        "error",
    ),
    "skip": (lambda desk, card: desk.skip(card), "pay was not run, skipped by Ada (not a refusal)", "error"),
    "respond": (lambda desk, card: desk.respond(card, "paid by hand"), "paid by hand", "success"),
}


@pytest.mark.parametrize("verdict", ANSWERS)
async def test_any_other_answer_is_what_the_model_reads(desk, gate, verdict):
    answer, text, status = ANSWERS[verdict]
    office = gated(gate)
    run = asyncio.create_task(office.run())
    card = await desk.card(run)
    await answer(desk, card)
    [reported] = await ended(run)
    assert (office.ran, reported.content, reported.status) == ([], text, status)
    assert [receipt["stage"] for receipt in (await desk.shown(card.id))["receipts"]] == ["received"]


async def test_nobody_answers_in_time(gate):
    [reported] = await ended(gated(gate, timeout=0.3).run())
    assert (reported.content, reported.status) == ("pay was not run, expired: nobody answered in time", "error")


async def test_a_rule_allows_without_asking(desk, gate):
    await desk.allow_lookups()
    office = gated(gate, ("lookup", {"who": "ada"}), risks={"lookup": "low"})
    await ended(office.run())
    assert office.ran == [("ada",)]


async def test_the_calls_of_a_turn_ask_at_once_and_are_answered_in_any_order(desk, gate):
    office = gated(gate, PAY, ("lookup", {"who": "x"}), ("pay", {"to": "eve", "n": 2}), unasked=("lookup",))
    run = asyncio.create_task(office.run())
    first, second = await desk.cards(2, run)
    groups = [card.request["group"] for card in (first, second)]
    assert groups == [{"id": "call_0_0", "index": 0, "size": 2}, {"id": "call_0_0", "index": 1, "size": 2}]
    await desk.approve(second)
    await desk.deny(first, "no")
    reported = await ended(run)
    assert office.ran == [("x",), ("eve", 2)]
    assert [one.content for one in reported] == ["pay was not run, denied by Ada: no", "x", "paid eve 2"]


async def test_only_what_matches_asks(gate):
    for how in ({"ask": ("refund_*",)}, {"unasked": ("p*",)}):
        office = gated(gate, **how)
        await ended(office.run())
        assert office.ran == [("ada", 1)]


async def test_a_synchronous_run_of_an_asking_tool_is_refused(gate):
    office = gated(gate, PAY, ("lookup", {"who": "x"}), unasked=("lookup",))
    result = await asyncio.to_thread(office.agent.invoke, {"messages": [("user", "pay Ada")]})
    refused, ran = read(result)
    assert (office.ran, ran.content) == ([("x",)], "x")
    assert (refused.content, refused.status) == (
        "pay was not run: it waits for approval only in ainvoke and astream",
        "error",
    )


async def test_a_tool_that_raises_is_a_failed_call(desk, gate):
    run = asyncio.create_task(gated(gate, ("fail", {})).run())
    card = await desk.card(run)
    await desk.approve(card)
    with pytest.raises(ValueError, match="closed"):
        await ended(run)
    assert (await desk.receipt(card, "failed"))["message"] == "ValueError"


async def test_arguments_that_the_tool_does_not_take_are_not_run(desk, gate):
    office = gated(gate, ("pay", {"to": "ada", "n": "many"}))
    run = asyncio.create_task(office.run())
    card = await desk.card(run)
    await desk.approve(card)
    [reported] = await ended(run)
    assert office.ran == []
    assert "valid integer" in reported.content
    receipt = await desk.receipt(card, "refused")
    assert (receipt["message"], receipt["executed_args_digest"]) == ("invalid_args", None)


async def test_a_cancelled_run_takes_its_request_back(desk, gate):
    run = asyncio.create_task(gated(gate).run())
    card = await desk.card(run)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await desk.console.show(card.id, "state", "withdrawn")


async def test_a_secret_stands_in_no_text_of_a_card_and_in_no_log(desk, gate, caplog):
    caplog.set_level(logging.DEBUG)
    run = asyncio.create_task(gated(gate, ("pay", {"to": SECRET, "n": 1})).run())
    card = await desk.card(run)
    assert "hidden: 40 characters" in (shown := await desk.console.done("show", card.id))
    assert SECRET not in shown
    await desk.deny(card)
    [reported] = await ended(run)
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("countersign")]
    assert SECRET not in "".join(ours)
    assert SECRET not in reported.content
    assert SECRET not in desk.console.log.read_text()
