"""The gate of Inspect AI (integrations, 3.4): the approver `countersign/console`, and a hook that sends receipts."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import Any

try:
    from inspect_ai.approval import Approval, Approver, approver
except ImportError as error:
    raise ImportError("Inspect AI is missing: pip install 'countersign-sdk[inspect-ai]'") from error

from inspect_ai._util.registry import registry_add, registry_info
from inspect_ai.event import ToolEvent
from inspect_ai.hooks import Hooks, SampleEnd, SampleEvent, hooks
from inspect_ai.log._samples import sample_active
from inspect_ai.model import ChatMessage, ChatMessageAssistant
from inspect_ai.solver._task_state import sample_state
from inspect_ai.tool import ToolCall as InspectCall
from inspect_ai.tool import ToolCallView, ToolDef

from ..digest import args_digest
from ..errors import CountersignError
from ..refusal import _who, refusal_text
from ..sync import SyncGate
from ..verify import Decision
from ..wire import ToolCall
from ..words import Risk, Verdict
from ._gating import Answer, GatedCall, Selection, group, last_messages, not_honoured

log = logging.getLogger("countersign")

FRAMEWORK = {"framework": "inspect-ai", "framework_version": version("inspect-ai")}
VERDICTS: tuple[Verdict, ...] = ("approve", "modify", "deny", "skip", "terminate", "escalate")
REFUSALS: dict[str, Any] = {"terminate": "terminate", "escalate": "escalate"}
"""Inspect's word for a verdict that does not run the call; every other is `reject`."""

_gates: dict[str, SyncGate] = {}
_opening = threading.Lock()
_allowed: dict[tuple[str, str], tuple[SyncGate, GatedCall]] = {}
"""Allowed calls whose end was not reported, by sample and call."""


@approver(name="console")
def console(
    agent_json: str | None = None,
    timeout: float | None = 300.0,
    risk: Risk = "critical",
    risks: Mapping[str, Risk] | None = None,
) -> Approver:
    """A person at a console approves each call.

    `agent_json` is the path of the enrolment (else `COUNTERSIGN_AGENT_JSON`), `timeout` the seconds for an answer
    (None: 30 days), `risks` maps globs of tool names to risks, and `risk` is that of every other tool.
    """
    known = dict(risks or {})
    selection = Selection.of(risks={**known, "*": known.get("*", risk)})

    async def approve(message: str, call: InspectCall, view: ToolCallView, history: list[ChatMessage]) -> Approval:
        try:
            gate = await asyncio.to_thread(_gate, agent_json)
            asked = GatedCall(
                gate.gate,
                _card(message, call, view, history, selection),
                call.function,
                timeout=timeout,
                degraded=partial(not_honoured, edit="edit_notice"),
            )
            answer = await asyncio.wrap_future(gate.submit(asked.ask()))
            return _approval(call, answer) if not answer.allowed else _allow(gate, asked, call, answer)
        except Exception as error:
            log.warning("could not ask about %s: %s", call.function, type(error).__name__)
            return Approval(decision="reject", explanation=refusal_text(call.function, error))

    return approve


# Inspect looks for a project with the package's name, and finds none where `countersign-sdk` is installed editable.
registry_add(console, registry_info(console).model_copy(update={"name": "countersign/console"}))


@hooks(name="countersign_receipts", description="Informs the console what became of the calls that it allowed")
class CountersignReceipts(Hooks):
    """Receipts of the calls that `countersign/console` allowed."""

    def enabled(self) -> bool:
        """Not before the approver is used: Inspect names every enabled hook in each evaluation."""
        return bool(_gates)

    async def on_sample_event(self, data: SampleEvent) -> None:
        """A tool's call ended."""
        event = data.event
        if not isinstance(event, ToolEvent):
            return
        found = _allowed.pop((data.sample_id, event.id), None)
        if found is not None:
            gate, asked = found
            _on_loop(gate, lambda: _report(asked, event))

    async def on_sample_end(self, data: SampleEnd) -> None:
        """What was allowed and did not run by now will not."""
        for key in [key for key in _allowed if key[0] == data.sample_id]:
            gate, asked = _allowed.pop(key)
            _on_loop(gate, lambda asked=asked: asked.refused("not_started"))


def _report(asked: GatedCall, event: ToolEvent) -> None:
    kind = event.error.type if event.error is not None else None
    if kind == "parsing":
        asked.refused("invalid_args")
    elif kind == "approval":
        asked.refused("not_started")
    else:
        with contextlib.suppress(CountersignError):
            asked.ran_digest = args_digest(event.arguments)
        if kind is None and not event.failed:
            asked.ended(event.result if isinstance(event.result, str) else None)
        else:
            asked.failed(RuntimeError(kind or "tool_error"))


def _gate(agent_json: str | None) -> SyncGate:
    """The process's connection of this enrolment. Blocks while it opens; raises what `Gate.connect` raises."""
    path = agent_json or os.environ.get("COUNTERSIGN_AGENT_JSON")
    key = os.path.realpath(path) if path else ""
    with _opening:
        if key not in _gates:
            gate = SyncGate(path, framework="inspect-ai", framework_version=FRAMEWORK["framework_version"])
            gate.__enter__()
            atexit.register(_close, gate)
            _gates[key] = gate
        return _gates[key]


def _close(gate: SyncGate) -> None:
    with contextlib.suppress(Exception):
        gate.__exit__(None, None, None)


def _on_loop(gate: SyncGate, report: Any) -> None:
    async def reported() -> None:
        report()

    with contextlib.suppress(CountersignError):
        gate.submit(reported())


def _allow(gate: SyncGate, asked: GatedCall, call: InspectCall, answer: Answer) -> Approval:
    if not isinstance(answer.args, dict):
        _on_loop(gate, lambda: asked.refused("invalid_args"))
        words = f"{call.function} was not run: it does not take the edited arguments"
        return Approval(decision="reject", explanation=words, metadata=_metadata(answer.decision))
    _on_loop(gate, asked.started)
    _allowed[_sample() or "", call.id] = (gate, asked)
    return _approval(call, answer)


def _approval(call: InspectCall, answer: Answer) -> Approval:
    decision = answer.decision
    if answer.edited:
        return Approval(
            decision="modify",
            modified=replace(call, arguments=answer.args),
            explanation=f"edited by {_who(decision)}" if decision is not None else None,
            metadata=_metadata(decision),
        )
    if answer.allowed and decision is not None:
        return Approval(decision="approve", explanation=f"approved by {_who(decision)}", metadata=_metadata(decision))
    word = REFUSALS.get(answer.verdict, "reject")
    return Approval(decision=word, explanation=answer.words, metadata=_metadata(decision))


def _metadata(decision: Decision | None) -> dict[str, Any] | None:
    if decision is None:
        return None
    names = ("request_id", "decision_id", "decided_by")
    return {"countersign": {name: getattr(decision, name) for name in names}}


def _sample() -> str | None:
    sample = sample_active()
    return sample.sample_uuid if sample is not None else None


def _card(
    message: str, call: InspectCall, view: ToolCallView, history: Sequence[ChatMessage], selection: Selection
) -> ToolCall:
    sample = sample_active()
    shown = [part.content for part in (view.context, view.call) if part is not None and part.content]
    turn = next((said for said in reversed(history) if isinstance(said, ChatMessageAssistant)), None)
    ids = [other.id for other in turn.tool_calls or ()] if turn is not None else []
    together = group(ids[0], ids.index(call.id), len(ids)) if call.id in ids else None
    return ToolCall(
        name=call.function,
        **_about_tool(call.function),
        args=call.arguments,
        risk=selection.risk(call.function),
        preview="\n\n".join(shown) or None,
        reason=message or None,
        allowed_verdicts=VERDICTS,
        agent=FRAMEWORK,
        call_id=call.id,
        thread_id=_sample(),
        run_id=sample.run_id if sample is not None else None,
        group=together,
        history=last_messages((said.role, said.text) for said in history),
    )


def _about_tool(name: str) -> dict[str, Any]:
    """Description and schema, where the sample's own list of tools has it."""
    with contextlib.suppress(Exception):
        state = sample_state()
        for tool in state.tools if state is not None else ():
            about = ToolDef(tool)
            if about.name == name:
                return {
                    "description": about.description,
                    "args_schema": about.parameters.model_dump(exclude_none=True),
                }
    return {}
