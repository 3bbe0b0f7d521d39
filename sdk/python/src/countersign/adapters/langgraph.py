"""Approval of LangChain and LangGraph tool calls by a person (`pip install countersign-sdk[langgraph]`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ToolCallRequest
    from langchain_core.callbacks import AsyncCallbackHandler
    from langchain_core.messages import ToolMessage
    from langchain_core.tools import ToolException
    from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent
    from langgraph.types import Command
    from pydantic import BaseModel, ValidationError
except ImportError as error:
    raise ImportError("the adapter needs LangGraph: pip install 'countersign-sdk[langgraph]'") from error

from ..gate import Gate
from ..refusal import as_text, edit_notice, refusal_text
from ..words import Effects, Risk
from ._gating import Answer, GatedCall, Selection, not_honoured, unreported
from ._langgraph_interrupts import Asked, asked_of, checked
from ._langgraph_messages import call_card, with_notice
from ._langgraph_tasks import refuse_ambiguous

__all__ = ["CountersignMiddleware", "CountersignReceipts", "answer_interrupts", "run_until_done"]


class CountersignMiddleware(AgentMiddleware[Any, Any, Any]):
    """Matching tool calls of an agent wait for a person, while the run waits (integrations, section 3.2).

    List it last: what a middleware behind it does to a call, nobody saw.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        ask: Iterable[str] = ("*",),
        unasked: Iterable[str] = (),
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
        timeout: float | None = 300.0,
    ) -> None:
        super().__init__()
        self._gate = gate
        self._selection = Selection.of(ask, unasked, risks, effects)
        self._timeout = timeout

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """A call that asks needs an asynchronous run: here it is refused."""
        name = request.tool_call["name"]
        if not self._selection.asks(name):
            return handler(request)
        return _message(request, f"{name} was not run: it waits for approval only in ainvoke and astream", "error")

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Ask, then run exactly what was approved."""
        name = request.tool_call["name"]
        if not self._selection.asks(name):
            return await handler(request)
        try:
            card = call_card(request, self._selection)
            gated = GatedCall(self._gate, card, name, timeout=self._timeout)
            answer = await gated.ask()
        except Exception as error:
            answer = Answer(False, words=refusal_text(name, error), error=error)
        if answer.responded:
            return _message(request, as_text(answer.content), "success")
        if not answer.allowed:
            return _message(request, answer.words, "error")
        if (invalid := _invalid(request, answer.args)) is not None:
            gated.refused("invalid_args")
            return _message(request, f"{name} was not run: {invalid}", "error")
        args = gated.started()
        try:
            result = await handler(request.override(tool_call={**request.tool_call, "args": args}))
        except BaseException as error:
            gated.failed(error, status="cancelled" if isinstance(error, asyncio.CancelledError) else "error")
            raise
        _ended(gated, result)
        if answer.edited and answer.decision is not None:
            return with_notice(edit_notice(answer.decision), result, request.tool_call["id"])
        return result


class CountersignReceipts(AsyncCallbackHandler, GraphCallbackHandler):
    """A callback that reports to the console what became of the calls that `answer_interrupts` got approved.

    One that has not started when the graph's run ends, other than by an error or another interrupt, is `not_started`.
    """

    def __init__(self, gate: Gate) -> None:
        self.gate = gate
        self._approved: dict[tuple[str, str], list[GatedCall]] = {}
        """By thread and call id, which is not sure to name one call."""
        self._running: dict[Any, GatedCall] = {}
        self._runs: dict[Any, str] = {}
        """Threads of the graphs that run, by the run's id."""

    def expect(self, gated: GatedCall) -> None:
        """This call was approved and will run."""
        self._approved.setdefault((str(gated.call.thread_id), str(gated.call.call_id)), []).append(gated)

    async def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: Any, **about: Any) -> None:
        """The graph itself starts: what runs inside of it has the name of a node."""
        metadata = about.get("metadata") or {}
        if "thread_id" in metadata and "langgraph_node" not in metadata:
            self._runs[run_id] = str(metadata["thread_id"])

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        """It pauses: what was approved can still start."""
        paused = self._runs.get(event.run_id)
        self._runs = {run: thread for run, thread in self._runs.items() if thread != paused}

    async def on_chain_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        """It failed: its thread can go on later."""
        self._runs.pop(run_id, None)

    async def on_chain_end(self, outputs: Any, *, run_id: Any, **_: Any) -> None:
        """It ended: what was approved and has not started never runs."""
        if (thread := self._runs.pop(run_id, None)) is not None:
            for key in [key for key in self._approved if key[0] == thread]:
                for gated in self._approved.pop(key):
                    gated.refused("not_started")

    async def on_tool_start(self, serialized: dict[str, Any], input_str: str, *, run_id: Any, **about: Any) -> None:
        """The approved call with this id starts."""
        key = (str((about.get("metadata") or {}).get("thread_id")), str(about.get("tool_call_id")))
        if approved := self._approved.get(key):
            same = (one for one in approved if one.answer is not None and one.answer.args == about.get("inputs"))
            gated = next(same, approved[0])
            approved.remove(gated)
            gated.started()
            self._running[run_id] = gated

    async def on_tool_end(self, output: Any, *, run_id: Any, **_: Any) -> None:
        """It returned."""
        if (gated := self._running.pop(run_id, None)) is not None:
            _ended(gated, output)

    async def on_tool_error(self, error: BaseException, *, run_id: Any, **_: Any) -> None:
        """It raised."""
        if (gated := self._running.pop(run_id, None)) is not None:
            gated.failed(error)


async def answer_interrupts(
    graph: Any,
    config: Mapping[str, Any],
    gate: Gate,
    *,
    ask: Iterable[str] = ("*",),
    unasked: Iterable[str] = (),
    risks: Mapping[str, Risk] | None = None,
    effects: Mapping[str, Effects] | None = None,
    timeout: float | None = 300.0,
) -> Command[Any] | None:
    """Ask about every interrupt of the thread at once. The command that resumes the graph; None where nothing waits.

    Resumable on a gate with a journal. Raises `NotAllowedError` for a question that got no answer, for an answer that
    LangGraph would not take, and, before anybody is asked, for a question of a tool that runs beside others in one
    task: nothing is sent then, and the thread stays interrupted.
    """
    selection = Selection.of(ask, unasked, risks, effects)
    state = await graph.aget_state(config, subgraphs=True)
    thread_id = str(config["configurable"]["thread_id"])
    waiting = [one for found in state.interrupts if (one := asked_of(found, state, thread_id, selection)) is not None]
    await refuse_ambiguous(graph, state, {asked.interrupt_id for asked in waiting})
    receipts = _receipts(graph, config, gate)
    calls: list[GatedCall] = []

    async def answered(asked: Asked) -> Any:
        gated = [
            GatedCall(gate, card, name, timeout=timeout, key=key, degraded=not_honoured if receipts else unreported)
            for card, name, key in asked.cards
        ]
        calls.extend(gated)
        return checked(asked, await asyncio.gather(*(one.ask() for one in gated)), gated)

    resumes = await asyncio.gather(*(answered(asked) for asked in waiting), return_exceptions=True)
    approved = [call for call in calls if call.answer is not None and call.answer.allowed]
    for resume in resumes:
        if isinstance(resume, BaseException):
            for call in approved:
                call.refused("not_started")
            raise resume
    if receipts is not None:
        for call in approved:
            receipts.expect(call)
    by_id = {asked.interrupt_id: resume for asked, resume in zip(waiting, resumes, strict=True)}
    return Command(resume=by_id) if by_id else None


async def run_until_done(graph: Any, input: Any, config: Mapping[str, Any], gate: Gate, **common: Any) -> Any:  # noqa: A002
    """`ainvoke`, answer, resume, until nothing waits. `common` as in `answer_interrupts`, which raises the same."""
    if _receipts(graph, config, gate) is None and isinstance(config.get("callbacks") or [], list):
        config = {**config, "callbacks": [*(config.get("callbacks") or []), CountersignReceipts(gate)]}
    result = await graph.ainvoke(input, config)
    while (command := await answer_interrupts(graph, config, gate, **common)) is not None:
        result = await graph.ainvoke(command, config)
    return result


def _receipts(graph: Any, config: Mapping[str, Any], gate: Gate) -> CountersignReceipts | None:
    for place in (config, getattr(graph, "config", None) or {}):
        found = place.get("callbacks") or []
        for one in found if isinstance(found, list) else found.handlers:
            if isinstance(one, CountersignReceipts) and one.gate is gate:
                return one
    return None


def _ended(gated: GatedCall, result: Any) -> None:
    """A tool's error that the framework turned into a message is a failed call."""
    if isinstance(result, ToolMessage) and result.status == "error":
        gated.failed(ToolException(str(result.text)))
    else:
        gated.ended(str(result.text) if isinstance(result, ToolMessage) else result)


def _invalid(request: ToolCallRequest, args: Any) -> str | None:
    """Why the tool does not take these arguments."""
    schema: Any = request.tool.tool_call_schema if request.tool is not None else None
    try:
        if isinstance(schema, type) and issubclass(schema, BaseModel):
            schema.model_validate(args)
        return None if isinstance(args, dict) else "its arguments are not a JSON object"
    except ValidationError as error:
        return str(error)


def _message(request: ToolCallRequest, text: str, status: Any) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, name=call["name"], tool_call_id=str(call["id"]), status=status)
