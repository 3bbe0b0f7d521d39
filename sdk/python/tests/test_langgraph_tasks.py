"""Questions of the tools of a LangGraph ToolNode (integrations, section 3.2): there is one interrupt id a task."""

from __future__ import annotations

import asyncio
import time

import pytest
from countersign import NotAllowedError
from countersign.adapters.langgraph import answer_interrupts, run_until_done
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send, interrupt

from test_langgraph import ended
from test_langgraph_interrupts import config


@pytest.fixture(scope="module")
async def gate(desk):
    async with desk.gate() as opened:
        yield opened


class Questions:
    """A graph with a ToolNode whose tools ask. `send` gives the model's calls to it, else an edge does."""

    def __init__(self, *names: str, send=None, node=lambda tools: tools, inner: bool = False) -> None:
        self.given: dict[str, str] = {}
        runs: list[str] = []

        @tool
        def red(x: str) -> str:
            """Asks about red."""
            runs.append("red")
            # The pauses bring about the race in which the answer to one question reaches the other tool.
            time.sleep(0.3 if runs.count("red") > 1 else 0)
            return self.given.setdefault("red", interrupt("red?"))

        @tool
        def blue(x: str) -> str:
            """Asks about blue."""
            runs.append("blue")
            time.sleep(0.3 if runs.count("blue") == 1 else 0)
            return self.given.setdefault("blue", interrupt("blue?"))

        @tool
        def plain(x: str) -> str:
            """Asks nothing."""
            return x

        calls = [{"name": name, "args": {"x": name}, "id": name} for name in names]
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=calls)]})
        graph.add_node("work", node(ToolNode([red, blue, plain])))
        graph.add_edge(START, "model")
        if send is None:
            graph.add_edge("model", "work")
        else:
            graph.add_conditional_edges("model", lambda state: send(state["messages"][-1].tool_calls), ["work"])
        graph.add_edge("work", END)
        if inner:
            outer = StateGraph(MessagesState)
            outer.add_node("team", graph.compile())
            outer.add_edge(START, "team")
            outer.add_edge("team", END)
            graph = outer
        self.graph = graph.compile(checkpointer=InMemorySaver())

    def run(self, gate, thread: str) -> asyncio.Task:
        start = {"messages": [("user", "go")]}
        return asyncio.create_task(run_until_done(self.graph, start, config(thread), gate))


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"send": lambda calls: [Send("work", calls)]},
        {"send": lambda calls: [Send("work", {"messages": [AIMessage("", tool_calls=calls)]})]},
        {"inner": True},
        {"node": lambda tools: tools.with_config(tags=["mine"])},
        {"node": lambda tools: tools.with_retry(stop_after_attempt=1)},
        {"node": lambda tools: RunnableLambda(lambda state: state) | tools},
    ],
)
@pytest.mark.parametrize("names", [("red", "blue"), ("red", "red"), ("red", "plain"), ("plain", "blue", "plain")])
async def test_a_question_of_one_of_several_tools_of_a_task_is_refused(how, names):
    office, nobody_is_asked = Questions(*names, **how), None
    with pytest.raises(NotAllowedError, match=f"the tools {', '.join(names)} run in one task of LangGraph"):
        await ended(office.run(nobody_is_asked, "several"))
    assert office.given == {}
    assert (await office.graph.aget_state(config("several"))).next != ()


async def test_a_question_of_a_task_whose_calls_cannot_be_read_is_refused(monkeypatch):
    office, nobody_is_asked = Questions("red"), None
    await office.graph.ainvoke({"messages": [("user", "go")]}, config("unread"))
    monkeypatch.delattr(ToolNode, "_parse_input")
    with pytest.raises(NotAllowedError, match="several tools may run in one task"):
        await answer_interrupts(office.graph, config("unread"), nobody_is_asked)


@pytest.mark.parametrize(
    "how",
    [
        {"send": lambda calls: [Send("work", [call]) for call in calls]},
        {"send": lambda calls: [Send("work", [call]) for call in calls], "inner": True},
    ],
)
async def test_a_question_of_each_of_several_tasks_gets_its_answer(desk, gate, how):
    office = Questions("red", "blue", **how)
    run = office.run(gate, "tasks")
    for card in await desk.cards(2, run):
        await desk.respond(card, "RED" if "red?" in str(card.request) else "BLUE")
    await ended(run)
    assert office.given == {"red": "RED", "blue": "BLUE"}


@pytest.mark.parametrize("how", [{}, {"inner": True}, {"send": lambda calls: [Send("work", calls)]}])
async def test_the_question_of_a_single_tool_gets_its_answer(desk, gate, how):
    office = Questions("red", **how)
    run = office.run(gate, "single")
    await desk.respond(await desk.card(run), "RED")
    await ended(run)
    assert office.given == {"red": "RED"}


async def test_a_question_of_a_node_with_open_calls_is_no_tools(desk, gate):
    calls = [{"name": "pay", "args": {}, "id": f"c{n}"} for n in (1, 2)]
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda _: {"messages": [AIMessage("", tool_calls=calls)]})
    graph.add_node("review", lambda _: {"messages": [("user", interrupt("Both?"))]})
    graph.add_edge(START, "model")
    graph.add_edge("model", "review")
    graph.add_edge("review", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    run = asyncio.create_task(run_until_done(compiled, {"messages": [("user", "x")]}, config("review"), gate))
    await desk.respond(await desk.card(run), "both")
    assert (await ended(run))["messages"][-1].text == "both"
