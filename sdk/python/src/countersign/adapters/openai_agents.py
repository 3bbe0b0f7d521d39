"""The gate of the OpenAI Agents SDK (integrations, 3.3).

`gated` puts the question into function tools. `settle` answers the framework's own interruptions, and `run` runs an
agent until none is left.
"""

from __future__ import annotations

import asyncio
import copy
import functools
import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

try:
    import agents
except ImportError as error:
    raise ImportError("the OpenAI Agents SDK is missing: pip install 'countersign-sdk[openai-agents]'") from error

from agents import Agent, FunctionTool, HostedMCPTool, ModelBehaviorError, RunResult, RunState, Tool
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext

from ..gate import Gate
from ..refusal import as_text, edit_notice, refusal_text
from ..wire import ToolCall
from ..words import Effects, Risk
from ._gating import GatedCall, Selection, group, last_messages, not_honoured
from ._openai_said import FRAMEWORK, about_tool, own_text, run_id, said
from ._openai_states import Receipts, answer_all

log = logging.getLogger("countersign")


def gated(
    gate: Gate,
    tools: Iterable[Tool],
    *,
    ask: Iterable[str] = ("*",),
    unasked: Iterable[str] = (),
    risks: Mapping[str, Risk] | None = None,
    effects: Mapping[str, Effects] | None = None,
    timeout: float | None = 300.0,
) -> list[Tool]:
    """The tools, with copies of the asking function tools that ask before they run.

    A copy asks in the place of `needs_approval`, and its own `timeout_seconds` begins with the answer. Tools of other
    kinds come back as they are; the log warns of each that could have asked, as `settle` can ask about those.
    """
    selection = Selection.of(ask, unasked, risks, effects)
    return [_gated(gate, tool, selection, timeout) for tool in tools]


async def settle(
    gate: Gate,
    state: RunState[Any, Any],
    *,
    thread_id: str,
    risks: Mapping[str, Risk] | None = None,
    timeout: float | None = None,
) -> None:
    """Ask about every interruption of `state`, all at once, and write the answers into it.

    Resumable from `state.to_string()` on a gate with a journal. Nobody hears here whether the calls then ran.
    """
    await answer_all(gate, state, thread_id, Selection.of(risks=risks), timeout, reported=False)


async def run(
    agent: Agent[Any],
    input: Any,  # noqa: A002 - the name that Runner.run has for it
    *,
    gate: Gate,
    thread_id: str,
    risks: Mapping[str, Risk] | None = None,
    timeout: float | None = 300.0,
    **runner: Any,
) -> RunResult:
    """`Runner.run`, with `runner` as its other arguments, until nothing interrupts. `input` may be a `RunState`."""
    selection = Selection.of(risks=risks)
    hooks = Receipts(runner.pop("hooks", None))
    try:
        while True:
            if isinstance(input, RunState):
                hooks.calls += await answer_all(gate, input, thread_id, selection, timeout, reported=True)
            result: RunResult = await agents.Runner.run(agent, input, hooks=hooks, **runner)
            hooks.close()
            if not result.interruptions:
                return result
            input = result.to_state()  # noqa: A001
    except BaseException as error:
        hooks.close(error)
        raise


def _gated(gate: Gate, tool: Tool, selection: Selection, timeout: float | None) -> Tool:
    if not selection.asks(tool.name):
        return tool
    if not isinstance(tool, FunctionTool):
        asks = getattr(tool, "needs_approval", None)
        if isinstance(tool, HostedMCPTool):
            asks = tool.tool_config.get("require_approval") == "always"
        if asks is False:
            log.warning(
                "%s is not a function tool and does not ask: let it need approval and use settle()", tool.name
            )
        return tool
    return _asking(gate, tool, selection, timeout)


def _asking(gate: Gate, tool: FunctionTool, selection: Selection, timeout: float | None) -> FunctionTool:
    # What cannot be prefixed by a text: a result that has to fit a schema.
    unnoticed = "edit_notice" if tool.output_json_schema is not None else None

    async def invoke(ctx: ToolContext[Any], text: str) -> Any:
        try:
            args = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            return f"{tool.name} was not run: its arguments are not JSON"
        try:
            asked = GatedCall(
                gate,
                _inline_card(tool, ctx, text, args, selection),
                tool.name,
                timeout=timeout,
                degraded=functools.partial(not_honoured, edit=unnoticed),
            )
        except Exception as error:
            log.warning("could not ask about %s: %s", tool.name, type(error).__name__)
            return refusal_text(tool.name, error)
        answer = await asked.ask()
        if not answer.allowed:
            return as_text(answer.content) if answer.responded else answer.words
        edited = edit_notice(answer.decision) if answer.edited and answer.decision is not None else None
        return await _run(asked, tool, ctx, None if unnoticed else edited)

    asking = copy.copy(tool)
    asking.on_invoke_tool = invoke
    asking.needs_approval = False
    asking.timeout_seconds = None
    return asking


async def _run(asked: GatedCall, tool: FunctionTool, ctx: ToolContext[Any], notice: str | None) -> Any:
    """What the tool answers to the approved arguments; the receipt says what became of it."""
    inner, errors = _noting(tool)
    text = json.dumps(asked.started(), ensure_ascii=False)
    try:
        result = await invoke_function_tool(function_tool=inner, context=ctx, arguments=text)
    except asyncio.CancelledError as error:
        asked.failed(error, status="cancelled")
        raise
    except BaseException as error:
        raised = errors[0] if errors else error
        asked.refused("invalid_args") if _unfit(raised) else asked.failed(raised)
        raise
    if not errors:
        asked.ended(result)
    elif not _unfit(errors[0]):
        asked.failed(errors[0])
    else:
        asked.refused("invalid_args")
        return result if notice is None else f"{tool.name} was not run: it does not take the edited arguments"
    return result if notice is None else _after_notice(notice, result)


def _unfit(error: BaseException) -> bool:
    """Whether these are the framework's words for arguments that the function's signature does not take."""
    return isinstance(error, ModelBehaviorError) and str(error).startswith("Invalid JSON input for tool")


def _noting(tool: FunctionTool) -> tuple[FunctionTool, list[BaseException]]:
    """A copy of the tool, and what its function raises: the framework makes a text of that for the model."""
    inner, errors = copy.copy(tool), list[BaseException]()
    work = getattr(inner.on_invoke_tool, "_invoke_tool_impl", None)

    async def noted(ctx: ToolContext[Any], text: str) -> Any:
        try:
            return await work(ctx, text)  # type: ignore[misc]
        except BaseException as error:
            errors.append(error)
            raise

    if work is not None:
        inner.on_invoke_tool._invoke_tool_impl = noted  # type: ignore[attr-defined]
    return inner, errors


def _after_notice(notice: str, result: Any) -> Any:
    """The notice, then the result, as the framework hands them to the model."""
    parts = result if isinstance(result, list) else [result]
    kinds = (agents.ToolOutputText, agents.ToolOutputImage, agents.ToolOutputFileContent)
    if parts and all(isinstance(part, kinds) for part in parts):
        return [agents.ToolOutputText(text=notice), *parts]
    return f"{notice}{result}"


def _inline_card(tool: FunctionTool, ctx: ToolContext[Any], text: str, args: Any, selection: Selection) -> ToolCall:
    # Calls of one turn are noted together, before the first of them runs.
    turn = [call_id for call_id, known in getattr(ctx, "_tool_invocations", {}).items() if not known.completed]
    together = group(turn[0], turn.index(ctx.tool_call_id), len(turn)) if ctx.tool_call_id in turn else None
    trace = agents.get_current_trace()
    return ToolCall(
        name=tool.name,
        **about_tool(tool),
        args=args,
        args_raw=own_text(text, args),
        risk=selection.risk(tool.name),
        effects=selection.effects_of(tool.name),
        allowed_verdicts=("approve", "modify", "deny", "skip", "respond"),
        agent=FRAMEWORK,
        call_id=ctx.tool_call_id,
        thread_id=ctx.run_config.group_id if ctx.run_config is not None else None,
        run_id=run_id(trace.trace_id if trace is not None else None),
        history=last_messages(said(ctx.turn_input)),
        group=together,
    )
