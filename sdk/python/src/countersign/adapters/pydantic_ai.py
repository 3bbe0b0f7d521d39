"""Approval of pydantic-ai tool calls by a person (`pip install countersign-sdk[pydantic-ai]`)."""

from __future__ import annotations

import asyncio
import json
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

try:
    from pydantic_ai import capabilities, exceptions, toolsets
    from pydantic_ai.messages import ModelMessage, ToolCallPart
    from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDefinition, ToolDenied
    from pydantic_ai.tools import RunContext as Context
except ImportError as error:
    raise ImportError("the adapter needs pydantic-ai: pip install 'countersign-sdk[pydantic-ai]'") from error

from ..errors import ArgumentsChangedError
from ..gate import Gate
from ..refusal import _who, as_text, edit_notice, refusal_text
from ..words import Effects, Risk
from ._gating import Answer, GatedCall, Selection, group
from ._pydantic_ai_card import KEY, about_tool, arguments, card, with_notice

__all__ = ["CountersignApproval"]

MAX_APPROVED = 10_000
"""So many approved calls of one gate may wait to run; past it the oldest no longer runs."""


@dataclass
class _Answered:
    """An answered call on its way back through the framework."""

    call: GatedCall
    run_id: str | None = None
    validated: dict[str, Any] | None = None
    """The arguments as they came out of validation, which is what has to run."""

    @property
    def answer(self) -> Answer:
        return cast(Answer, self.call.answer)

    def refused(self, code: str) -> None:
        if self.answer.allowed:
            self.call.refused(code)


_answered: weakref.WeakKeyDictionary[Gate, dict[str, _Answered]] = weakref.WeakKeyDictionary()
"""By decision id. The framework carries only the id, so a result that somebody else made allows nothing."""

_validating: ContextVar[Any] = ContextVar("_validating", default=None)
"""What goes into the validation of the call at hand."""


class CountersignApproval(capabilities.AbstractCapability[Any]):
    """An agent capability: matching tool calls wait for a person (integrations, section 3.1).

    `inline=True`: the run waits. `inline=False`: it ends with `DeferredToolRequests`, for `resolve`.
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
        inline: bool = True,
    ) -> None:
        self._gate = gate
        self._selection = Selection.of(ask, unasked, risks, effects)
        self._timeout = timeout
        self._inline = inline
        self._calls = _answered.setdefault(gate, {})

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """None: a gate cannot be written into a file."""
        return None

    def get_ordering(self) -> capabilities.CapabilityOrdering:
        """Innermost: it sees the arguments last, after what other capabilities made of them."""
        return capabilities.CapabilityOrdering(position="innermost")

    async def resolve(
        self,
        requests: DeferredToolRequests,
        *,
        thread_id: str,
        run_id: str | None = None,
        messages: Sequence[ModelMessage] = (),
    ) -> DeferredToolResults:
        """Ask about every pending call at once; the results are for the next run of an agent with this capability.

        With a journal the same thread and calls wait for the same requests, in this or a later process. `messages`
        are shown beside the calls. External calls are left to others. Never raises for a call that is not allowed.
        """
        results = DeferredToolResults()
        questions = [call for call in requests.calls if requests.kind(call.tool_call_id) == "question"]
        calls = [*requests.approvals, *questions]
        turn = f"{run_id or thread_id}/{calls[0].tool_call_id}" if calls else ""

        async def settle(index: int, call: ToolCallPart) -> None:
            known = requests.metadata.get(call.tool_call_id, {})
            try:
                asked = card(call, call in questions, known.get(KEY, {}), self._selection, messages)
                asked.call_id, asked.run_id, asked.thread_id = call.tool_call_id, run_id, thread_id
                asked.group = group(turn, index, len(calls))
                gated = GatedCall(self._gate, asked, call.tool_name, timeout=self._timeout)
                answer = await gated.ask()
            except Exception as error:
                answer = Answer(False, words=refusal_text(call.tool_name, error), error=error)
            if call in questions:
                content = answer.content if answer.responded else exceptions.ToolFailed(answer.words)
                results.calls[call.tool_call_id] = content
            else:
                results.approvals[call.tool_call_id] = ToolDenied(answer.words)
            decision = answer.decision
            if decision is not None and decision.decision_id is not None:
                results.answered_by[call.tool_call_id] = _who(decision)
                reported = {"request_id": decision.request_id, "decision_id": decision.decision_id}
                results.metadata[call.tool_call_id] = {**known, KEY: reported}
                if call not in questions:
                    results.approvals[call.tool_call_id] = self._result(gated, answer, decision.decision_id, run_id)

        await asyncio.gather(*(settle(index, call) for index, call in enumerate(calls)))
        return results

    async def handle_deferred_tool_calls(
        self, ctx: Context[Any], *, requests: DeferredToolRequests
    ) -> DeferredToolResults | None:
        """Ask while the run waits."""
        if not self._inline:
            return None
        return await self.resolve(
            requests, thread_id=ctx.conversation_id or "", run_id=ctx.run_id, messages=ctx.messages
        )

    async def wrap_run(self, ctx: Context[Any], *, handler: Any) -> Any:
        """An approved call that did not start by the end of its run gets a receipt that says so."""
        try:
            return await handler()
        finally:
            for key in [key for key, one in self._calls.items() if one.run_id == ctx.run_id]:
                self._calls.pop(key).refused("not_started")

    async def before_tool_validate(
        self, ctx: Context[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any
    ) -> Any:
        """What goes into validation is exactly what was approved."""
        _validating.set(args)
        answered = self._of(ctx)
        if answered is None or not answered.answer.allowed:
            return args
        answered.run_id = ctx.run_id
        if not answered.call.may_run(arguments(args)):
            self._drop(ctx)
            raise _changed(call.tool_name)
        # As text, so that it is validated as the model's own text is.
        return json.dumps(answered.answer.args)

    async def after_tool_validate(
        self, ctx: Context[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        """A matching call is deferred here, with what a person has to see."""
        answered = self._of(ctx)
        if answered is not None:
            answered.validated = dict(args)
        elif not ctx.partial_output and self._asks(call.tool_name, tool_def):
            raise exceptions.ApprovalRequired({KEY: about_tool(tool_def, _validating.get(), args)})
        return args

    async def on_tool_validate_error(
        self, ctx: Context[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, error: Exception
    ) -> dict[str, Any]:
        """The tool does not take the approved arguments: the model reads why."""
        answered = self._drop(ctx)
        if answered is not None:
            answered.refused("invalid_args")
        raise error

    def get_wrapper_toolset(self, toolset: toolsets.AbstractToolset[Any]) -> toolsets.AbstractToolset[Any]:
        """Every tool of the agent behind the gate, those of toolsets and MCP servers too."""
        return _GatedToolset(toolset, self)

    def _asks(self, name: str, tool_def: ToolDefinition) -> bool:
        return tool_def.kind == "unapproved" or (tool_def.kind == "function" and self._selection.asks(name))

    def _of(self, ctx: Context[Any]) -> _Answered | None:
        """The answer that the framework brings back with this call."""
        reported = ctx.tool_call_metadata if ctx.tool_call_approved else None
        reported = reported.get(KEY) if isinstance(reported, dict) else None
        found = self._calls.get(str(reported.get("decision_id"))) if isinstance(reported, dict) else None
        return found if found is not None and found.call.call.call_id == ctx.tool_call_id else None

    def _drop(self, ctx: Context[Any]) -> _Answered | None:
        """The same, once."""
        return self._calls.pop(ctx.tool_call_metadata[KEY]["decision_id"]) if self._of(ctx) is not None else None

    def _result(
        self, gated: GatedCall, answer: Answer, decision_id: str, run_id: str | None
    ) -> ToolApproved | ToolDenied:
        if answer.responded and not self._inline:
            # An agent without this capability would run what reads as approved.
            return ToolDenied(as_text(answer.content))
        if not answer.allowed and not answer.responded:
            return ToolDenied(answer.words)
        if answer.edited and not isinstance(answer.args, dict):
            gated.refused("invalid_args")
            return ToolDenied(refusal_text(gated.name, ArgumentsChangedError("the edit is not a JSON object")))
        while len(self._calls) >= MAX_APPROVED:
            self._calls.pop(next(iter(self._calls))).refused("not_started")
        self._calls[decision_id] = _Answered(gated, run_id if self._inline else None)
        return ToolApproved(override_args=answer.args if answer.edited else None)


@dataclass
class _GatedToolset(toolsets.WrapperToolset[Any]):
    """The last step before a tool runs."""

    approval: CountersignApproval

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: Context[Any], tool: toolsets.ToolsetTool[Any]
    ) -> Any:
        run = super().call_tool
        answered = self.approval._drop(ctx)
        if answered is None:
            if self.approval._asks(name, tool.tool_def):
                # Another capability left the validation out, in which it would have been deferred.
                raise exceptions.ApprovalRequired({KEY: about_tool(tool.tool_def)})
            try:
                return await run(name, tool_args, ctx, tool)
            except exceptions.ApprovalRequired as asked:
                asked.metadata = {KEY: about_tool(tool.tool_def), **(asked.metadata or {})}
                raise
        answer = answered.answer
        if answer.responded:
            return as_text(answer.content)
        if not _same(tool_args, answered.validated):
            answered.refused("digest_differs")
            raise _changed(name)
        result = await answered.call.run(lambda _: run(name, tool_args, ctx, tool))
        decision = answer.decision
        return with_notice(edit_notice(decision), result) if answer.edited and decision is not None else result


def _same(args: dict[str, Any], validated: dict[str, Any] | None) -> bool:
    try:
        return validated is not None and bool(args == validated)
    except Exception:
        return False


def _changed(name: str) -> exceptions.ToolFailed:
    return exceptions.ToolFailed(refusal_text(name, ArgumentsChangedError("what would run is not what was approved")))
