"""The interruptions of an OpenAI agent's run: asked about, answered in its state, and followed by hooks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from agents import ItemHelpers, RunHooks, RunState, get_current_span
from agents.items import ToolApprovalItem
from openai.types.responses import ResponseOutputMessage

from ..gate import Gate
from ..refusal import refusal_text
from ..wire import ToolCall
from ..words import Risk
from ._gating import GatedCall, Selection, group, last_messages, not_honoured, unreported
from ._openai_said import FRAMEWORK, about_tool, own_text, run_id, said

log = logging.getLogger("countersign")


async def answer_all(
    gate: Gate,
    state: RunState[Any, Any],
    thread_id: str,
    selection: Selection,
    timeout: float | None,
    *,
    reported: bool,
) -> list[GatedCall]:
    """Asks, and gives the calls that were allowed."""
    items = state.get_interruptions()

    async def answer(index: int, item: ToolApprovalItem) -> GatedCall | None:
        name = item.name or "tool"
        try:
            args, raw = _arguments(item)
        except (ValueError, RecursionError):
            state.reject(item, rejection_message=f"{name} was not run: its arguments are not JSON")
            return None
        try:
            card = _interruption_card(state, item, args, raw, thread_id, selection.risk(name))
            card.group = group(items[0].call_id or thread_id, index, len(items))
            # Hooks hear neither of what runs at the provider nor of what an agent within a tool runs.
            nested = getattr(state, "_find_nested_approval_state", lambda _: None)(item) is not None
            unheard = not reported or nested or _hosted_server(item) is not None
            asked = GatedCall(
                gate,
                card,
                name,
                timeout=timeout,
                degraded=unreported if unheard else not_honoured,
            )
        except Exception as error:
            log.warning("could not ask about %s: %s", name, type(error).__name__)
            state.reject(item, rejection_message=refusal_text(name, error))
            return None
        found = await asked.ask()
        if not found.allowed:
            state.reject(item, rejection_message=found.words)
            return None
        state.approve(item)
        return None if unheard else asked

    asked = await asyncio.gather(*(answer(index, item) for index, item in enumerate(items)))
    return [call for call in asked if call is not None]


def _arguments(item: ToolApprovalItem) -> tuple[Any, str | None]:
    """The arguments of an interrupted call, and the model's own text. Raises `ValueError` for what is not JSON."""
    raw = item.raw_item
    found = raw if isinstance(raw, dict) else raw.model_dump(exclude_none=True)
    for name in ("action", "operation"):  # a shell, a patch
        if isinstance(found.get(name), dict):
            return found[name], None
    if isinstance(found.get("arguments"), str):
        text = found["arguments"]
        args = json.loads(text) if text else {}
        return args, own_text(text, args)
    return {"input": found.get("input")}, None


def _interruption_card(
    state: RunState[Any, Any], item: ToolApprovalItem, args: Any, raw: str | None, thread_id: str, risk: Risk
) -> ToolCall:
    # The state keeps these to itself, also what it read back from a text.
    response = getattr(state, "_last_processed_response", None)
    called = {run.tool_call.call_id: run.function_tool for run in getattr(response, "functions", ())}
    trace = getattr(state, "_trace_state", None)
    talk = list(said(getattr(state, "_original_input", ())))
    reason = None
    for known in getattr(state, "_generated_items", ()):
        with contextlib.suppress(Exception):  # an interruption cannot become input
            talk += said([known.to_input_item()])
    for answer in getattr(state, "_model_responses", [])[-1:]:
        texts = (ItemHelpers.extract_text(part) for part in answer.output if isinstance(part, ResponseOutputMessage))
        reason = "\n".join(text for text in texts if text)
    origin, namespace = None, item.tool_namespace
    if item.tool_origin is not None and item.tool_origin.mcp_server_name:
        origin, namespace = "mcp", item.tool_origin.mcp_server_name
    if (label := _hosted_server(item)) is not None:
        origin, namespace = "mcp", label
    return ToolCall(
        name=item.name or "tool",
        **about_tool(called.get(item.call_id)),
        args=args,
        args_raw=raw,
        risk=risk,
        origin=origin,
        namespace=namespace,
        allowed_verdicts=("approve", "deny", "skip"),
        agent=FRAMEWORK,
        call_id=item.call_id,
        thread_id=thread_id,
        run_id=run_id(getattr(trace, "trace_id", None)),
        reason=reason or None,
        history=last_messages(talk),
    )


def _hosted_server(item: ToolApprovalItem) -> str | None:
    """The MCP server that the provider calls."""
    label = _field(item.raw_item, "server_label")
    if label is None and isinstance(data := _field(item.raw_item, "provider_data"), Mapping):
        label = data.get("server_label")
    return label if isinstance(label, str) else None


def _field(raw: Any, name: str) -> Any:
    return raw.get(name) if isinstance(raw, Mapping) else getattr(raw, name, None)


class Receipts(RunHooks[Any]):
    """The caller's hooks, and what became of the calls that were allowed."""

    def __init__(self, hooks: RunHooks[Any] | None) -> None:
        self.calls: list[GatedCall] = []
        self._started: list[GatedCall] = []
        for name in ("on_llm_start", "on_llm_end", "on_agent_start", "on_agent_end", "on_handoff"):
            if hooks is not None:
                setattr(self, name, getattr(hooks, name))
        self._hooks = hooks or RunHooks[Any]()

    async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
        call = self._found(self.calls, context, tool)
        if call is not None:
            self.calls.remove(call)
            self._started.append(call)
            call.started()
        await self._hooks.on_tool_start(context, agent, tool)

    async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
        call = self._found(self._started, context, tool)
        if call is not None:
            self._started.remove(call)
            # The framework makes a text of what a tool raises; only its trace knows.
            span = get_current_span()
            call.failed(RuntimeError("tool_error")) if span is not None and span.error else call.ended(result)
        await self._hooks.on_tool_end(context, agent, tool, result)

    def close(self, error: BaseException | None = None) -> None:
        """The run ended or interrupts again: what was allowed and did not start will not."""
        for call in self._started:
            call.failed(error or RuntimeError("no end was reported"))
        for call in self.calls:
            call.refused("not_started")
        self._started, self.calls = [], []

    def _found(self, calls: list[GatedCall], context: Any, tool: Any) -> GatedCall | None:
        # Shell and patches come without an id, but one after the other, in order.
        call_id = getattr(context, "tool_call_id", None)
        for call in calls:
            if call.call.call_id == call_id if call_id is not None else call.name == tool.name:
                return call
        return None
