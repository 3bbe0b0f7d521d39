"""LangGraph's own interrupts, answered by a console (integrations, section 3.2), also by a later process."""

from __future__ import annotations

import asyncio
from typing import TypedDict

import pytest
from countersign import NotAllowedError, args_digest
from countersign.adapters.langgraph import CountersignReceipts, answer_interrupts, run_until_done
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, hook_config
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel

from killed import run_once_for_all_kills, with_langgraph
from test_langgraph import PAY, Office, ended, read

MODES = pytest.mark.parametrize("mode", ["batched", "per_call"])


@pytest.fixture(scope="module")
async def gate(desk):
    async with desk.gate() as opened:
        yield opened


def reviewed(mode: str, *calls, allowed=("approve", "edit", "reject", "respond")) -> Office:
    review = HumanInTheLoopMiddleware({"pay": {"allowed_decisions": list(allowed)}}, interrupt_mode=mode)
    return Office(*(calls or [PAY]), middleware=[review], checkpointer=InMemorySaver())


def config(thread: str, **more) -> dict:
    return {"configurable": {"thread_id": thread}, **more}


async def interrupted(office, about) -> None:
    await office.agent.ainvoke({"messages": [("user", "pay Ada")]}, about)
    assert office.ran == []


@MODES
async def test_all_calls_of_all_interrupts_ask_at_once_and_resume_the_graph(desk, gate, mode):
    calls = [("pay", {"to": name, "n": 1}) for name in ("ada", "bob", "cy", "dan")]
    office, about = reviewed(mode, *calls), config(f"all-{mode}")
    await interrupted(office, about)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate, risks={"pay": "high"}))
    ada, bob, cy, dan = await desk.cards(4, answering)
    assert [card.args["to"] for card in (ada, bob, cy, dan)] == ["ada", "bob", "cy", "dan"]
    assert [card.request["call_id"] for card in (ada, dan)] == ["call_0_0", "call_0_3"]
    assert (ada["risk"], ada.request["thread_id"], ada.request["reason"]) == (
        "high",
        f"all-{mode}",
        "Ada is owed one.",
    )
    assert ada.request["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "respond"]
    assert [card.request["group"]["index"] for card in (ada, bob, cy, dan)] == [0, 1, 2, 3]
    if mode == "per_call":
        assert ada.request["tool"]["args_schema"]["properties"]["n"]["type"] == "integer"
    await desk.approve(dan, {"to": "eve", "n": 2})
    await desk.skip(cy)
    await desk.respond(bob, "paid by hand")
    await desk.approve(ada)
    command = await ended(answering)
    reported = read(await office.agent.ainvoke(command, about))
    assert sorted(office.ran) == [("ada", 1), ("eve", 2)]
    content = {message.tool_call_id: message.content for message in reported}
    assert content["call_0_0"] == "paid ada 1"
    assert content["call_0_1"] == "paid by hand"
    assert content["call_0_2"].endswith("pay was not run, skipped by Ada (not a refusal)")
    assert content["call_0_3"].endswith("paid eve 2")
    assert (await desk.receipt(ada, "received"))["degraded"] == ["no_execution_report"]
    assert await answer_interrupts(office.agent, about, gate) is None


@MODES
async def test_exactly_what_the_middleware_allows_is_offered(desk, gate, mode):
    office, about = reviewed(mode, allowed=["approve", "reject"]), config(f"offers-{mode}")
    await interrupted(office, about)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    card = await desk.card(answering)
    assert card.request["allowed_verdicts"] == ["approve", "deny", "skip"]
    await desk.deny(card, "no")
    [reported] = read(await office.agent.ainvoke(await ended(answering), about))
    assert "pay was not run, denied by Ada: no" in reported.content
    assert office.ran == []


@MODES
async def test_a_callback_tells_what_became_of_the_calls(desk, gate, mode):
    office = reviewed(mode, PAY)
    about = config(f"receipts-{mode}", callbacks=[CountersignReceipts(gate)])
    await interrupted(office, about)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    card = await desk.card(answering)
    await desk.approve(card, {"to": "eve", "n": 2})
    await office.agent.ainvoke(await ended(answering), about)
    assert office.ran == [("eve", 2)]
    assert (await desk.receipt(card, "executed"))["executed_args_digest"] == args_digest({"to": "eve", "n": 2})
    assert (await desk.receipt(card, "received"))["degraded"] == []
    await desk.span(card, "ok")


@MODES
async def test_nobody_answers_in_time(gate, mode):
    office, about = reviewed(mode), config(f"silence-{mode}")
    [reported] = read(
        await ended(run_until_done(office.agent, {"messages": [("user", "x")]}, about, gate, timeout=0.3))
    )
    assert "pay was not run, expired: nobody answered in time" in reported.content
    assert office.ran == []


async def test_run_until_done_answers_until_nothing_waits(desk, gate):
    office, about = reviewed("batched"), config("done")
    run = asyncio.create_task(run_until_done(office.agent, {"messages": [("user", "pay")]}, about, gate))
    card = await desk.card(run)
    await desk.approve(card)
    assert read(await ended(run))[0].content == "paid ada 1"
    assert (await desk.receipt(card, "executed"))["executed_args_digest"] == card["args_digest"]


async def test_interrupts_of_calls_that_do_not_ask_are_left_to_others(gate):
    office, about = reviewed("batched"), config("left")
    await interrupted(office, about)
    assert await answer_interrupts(office.agent, about, gate, unasked=("pay",)) is None


async def test_an_edit_that_the_schema_refuses_is_not_sent(desk, gate, monkeypatch):
    """The console refuses it already; here one came through."""
    office, about = reviewed("per_call", PAY, PAY), config("schema")
    await interrupted(office, about)
    monkeypatch.setattr("countersign.adapters._langgraph_interrupts._per_call", without_schema)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    first, second = await desk.cards(2, answering)
    await desk.approve(first, {"to": "eve", "n": "many"})
    await desk.approve(second)
    reported = read(await office.agent.ainvoke(await ended(answering), about))
    assert office.ran == [("ada", 1)]
    assert "'many' is not of type 'integer'" in reported[0].content
    assert (await desk.receipt(first, "refused"))["message"] == "invalid_args"


def without_schema(_):
    return frozenset({"approve", "edit", "reject"}), None


class Answers(TypedDict):
    name: str
    size: str


class Size(BaseModel):
    size: str


def questions() -> object:
    """A graph that asks two questions at once: a free one, and a form."""
    graph = StateGraph(Answers)
    graph.add_node("who", lambda _: {"name": interrupt("Which Ada?")})
    graph.add_node("how", lambda _: {"size": interrupt("What size?", response_schema=Size).size})
    for node in ("who", "how"):
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    return graph.compile(checkpointer=InMemorySaver())


async def test_any_other_interrupt_is_a_question_or_a_form(desk, gate):
    graph, about = questions(), config("questions")
    run = asyncio.create_task(run_until_done(graph, {"name": "", "size": ""}, about, gate))
    cards = {card["kind"]: card for card in await desk.cards(2, run)}
    assert cards["question"].request["question"]["text"] == "Which Ada?"
    assert cards["form"].request["response_schema"]["required"] == ["size"]
    await desk.respond(cards["form"], {"size": "large"})
    await desk.respond(cards["question"], "the one in Oslo")
    assert await ended(run) == {"name": "the one in Oslo", "size": "large"}


async def test_a_denied_question_raises_and_the_thread_stays_interrupted(desk, gate):
    graph, about = questions(), config("denied")
    run = asyncio.create_task(run_until_done(graph, {"name": "", "size": ""}, about, gate))
    cards = {card["kind"]: card for card in await desk.cards(2, run)}
    await desk.respond(cards["form"], {"size": "large"})
    await desk.deny(cards["question"], "not yours")
    with pytest.raises(NotAllowedError, match="denied by Ada: not yours"):
        await ended(run)
    assert len((await graph.aget_state(about)).interrupts) == 2


class Ends(AgentMiddleware):
    """Ends the run after the review: what was approved never runs."""

    @hook_config(can_jump_to=["end"])
    def after_model(self, state, runtime):
        return {"jump_to": "end"}


class InItsPlace(AgentMiddleware):
    """Answers in the place of the tool."""

    async def awrap_tool_call(self, request, handler):
        return ToolMessage("cached", tool_call_id=request.tool_call["id"])


@pytest.mark.parametrize("by", ["run_until_done", "answer_interrupts"])
@pytest.mark.parametrize("other", [Ends, InItsPlace])
async def test_an_approved_call_that_does_not_start_is_reported(desk, gate, by, other):
    review = HumanInTheLoopMiddleware({"pay": True})
    office = Office(PAY, middleware=[other(), review], checkpointer=InMemorySaver())
    about = config(f"never-{by}-{other.__name__}", callbacks=[CountersignReceipts(gate)])
    if by == "run_until_done":
        run = asyncio.create_task(run_until_done(office.agent, {"messages": [("user", "pay")]}, about, gate))
    else:
        await interrupted(office, about)
        run = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    card = await desk.card(run)
    await desk.approve(card)
    command = await ended(run)
    if by == "answer_interrupts":
        await office.agent.ainvoke(command, about)
    assert office.ran == []
    assert (await desk.receipt(card, "refused"))["message"] == "not_started"


async def test_an_approved_call_that_starts_after_another_pause_is_not_refused(desk, gate):
    office = reviewed("batched")
    about = config("pauses", callbacks=[CountersignReceipts(gate)])
    await interrupted(office, about)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    card = await desk.card(answering)
    await desk.approve(card)
    await office.agent.ainvoke(await ended(answering), about, interrupt_before=["tools"])
    assert office.ran == []
    await office.agent.ainvoke(None, about)
    assert office.ran == [("ada", 1)]
    await desk.receipt(card, "executed")
    assert [one["stage"] for one in (await desk.shown(card.id))["receipts"]] == ["received", "executed"]


@MODES
async def test_an_approved_call_beside_one_without_an_answer_is_reported(desk, gate, mode):
    office = reviewed(mode, PAY, PAY, allowed=["approve", "edit"])
    about = config(f"beside-{mode}")
    await interrupted(office, about)
    answering = asyncio.create_task(answer_interrupts(office.agent, about, gate))
    first, second = await desk.cards(2, answering)
    await desk.approve(first)
    await desk.deny(second)
    with pytest.raises(NotAllowedError):
        await ended(answering)
    assert office.ran == []
    assert (await desk.receipt(first, "refused"))["message"] == "not_started"


@pytest.mark.parametrize("mode", ["middleware", "batched", "per_call"])
async def test_killed_while_the_card_waits_a_later_process_takes_the_answer_and_runs_it_once(desk, tmp_path, mode):
    await run_once_for_all_kills(desk, tmp_path, with_langgraph, mode)
