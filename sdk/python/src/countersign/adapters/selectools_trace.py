"""What a selectools run does, as spans (protocol, section 6): run, model, policy, tool.

Refuses to guess: a step that selectools does not report has no span, and a policy denial has no tool span because
nothing ran.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import threading
from collections import OrderedDict
from typing import Any

from selectools.exceptions import ToolValidationError  # type: ignore[import-untyped,unused-ignore]

from .. import clock
from ..digest import args_digest, check_canonical
from ..errors import InvalidRequestError
from ..sync import SyncGate
from ..verify import Decision
from ..wire import Span, rfc3339

MAX_TEXT = 64 * 1024
MAX_OPEN = 4096

_STATUS = {
    "approve": "ok",
    "modify": "ok",
    "deny": "denied",
    "terminate": "denied",
    "skip": "cancelled",
    "expired": "timeout",
    "withdrawn": "cancelled",
}


class RunTrace:
    """The spans of any number of runs. Safe to call from several threads."""

    def __init__(self, gate: SyncGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Span] = OrderedDict()
        self._counted = 0

    def run_started(self, run_id: str) -> None:
        """The run's own span, parent of all others."""
        self._begin(f"run:{run_id}", run_id, "selectools run", "agent", root=True)

    def run_ended(self, run_id: str, result: Any) -> None:
        """`result` is selectools' `AgentResult`; its artifacts are listed by what identifies them."""
        listed = [
            {key: value for key, value in dataclasses.asdict(artifact).items() if value is not None}
            for artifact in getattr(result, "artifacts", None) or ()
        ]
        more: dict[str, Any] = {"artifacts": listed} if listed else {}
        self._end(f"run:{run_id}", "ok", **more)

    def run_failed(self, run_id: str, error: Exception) -> None:
        """The run ended with an exception."""
        self._end(f"run:{run_id}", "error", error=_error(error))

    def model_started(self, run_id: str, model: str) -> None:
        """One call of the model; a run has one at a time."""
        self._begin(f"llm:{run_id}", run_id, model, "llm", attributes={"gen_ai.request.model": model})

    def model_ended(self, run_id: str, text: str, usage: Any) -> None:
        """`usage` is selectools' `UsageStats`, or None."""
        more: dict[str, Any] = {"output": _text(text)} if text else {}
        if usage is not None:
            more["usage"] = {
                "input_tokens": usage.prompt_tokens,
                "output_tokens": usage.completion_tokens,
                "cost_usd": usage.cost_usd,
            }
        self._end(f"llm:{run_id}", "ok", **more)

    def policy_decided(self, run_id: str, tool: str, verdict: str, reason: str, args: dict[str, Any]) -> Span:
        """allow, deny or review; a call under review stays `waiting` until `answered`."""
        key = f"policy:{id(args)}"
        attributes = {"selectools.policy.decision": verdict, "selectools.policy.reason": reason}
        status = "waiting" if verdict == "review" else "running"
        span = self._begin(key, run_id, f"policy {tool}", "approval", status, tool, args, attributes=attributes)
        if verdict != "review":
            self._end(key, "ok" if verdict == "allow" else "denied")
        return span

    def answered(self, args: dict[str, Any], decision: Decision | None, error: BaseException | None) -> None:
        """How the wait ended: a decision, or the error that stands for a denial."""
        more: dict[str, Any] = {}
        status = "error" if decision is None else _STATUS.get(decision.verdict, "denied")
        if decision is not None:
            more["request_id"] = decision.request_id
        if error is not None and status == "error":
            more["error"] = _error(error)
        self._end(f"policy:{id(args)}", status, **more)

    def tool_started(self, run_id: str, call_id: str, tool: str, args: dict[str, Any], request_id: str | None) -> str:
        """A tool begins to run; the returned key ends it."""
        with self._lock:
            self._counted += 1
            key = f"tool:{self._counted}"
        more: dict[str, Any] = {"call_id": call_id} if call_id else {}
        if request_id is not None:
            more["request_id"] = request_id
        self._begin(key, run_id, tool, "tool", "running", tool, args, **more)
        return key

    def tool_ended(self, key: str, result: str) -> None:
        """The tool returned."""
        self._end(key, "ok", output=_text(result))

    def tool_failed(self, key: str, error: Exception) -> None:
        """The tool raised."""
        self._end(key, "error", error=_error(error))

    def _begin(
        self,
        key: str,
        run_id: str,
        name: str,
        kind: str,
        status: str = "running",
        tool: str | None = None,
        args: dict[str, Any] | None = None,
        *,
        root: bool = False,
        **more: Any,
    ) -> Span:
        with self._lock:
            self._counted += 1
            number = self._counted
        root_id = _hex(f"span:{run_id}", 16)
        span: dict[str, Any] = {
            "v": 1,
            "type": "span",
            "trace_id": _hex(f"trace:{run_id}", 32),
            "span_id": root_id if root else _hex(f"{run_id}:{id(self)}:{number}", 16),
            "name": name[:200],
            "kind": kind,
            "status": status,
            "started_at": rfc3339(clock.now()),
            "run_id": run_id,
            **more,
        }
        if not root:
            span["parent_span_id"] = root_id
        if tool is not None:
            span["tool_name"] = tool
            span.update(_input(args))
        made: Span = span  # type: ignore[assignment]
        with self._lock:
            self._open[key] = made
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        self._send(made)
        return made

    def _end(self, key: str, status: str, **more: Any) -> None:
        with self._lock:
            span = self._open.pop(key, None)
        if span is not None:
            ended = {**span, **more, "status": status, "ended_at": rfc3339(clock.now())}
            self._send(ended)  # type: ignore[arg-type]

    def _send(self, span: Span) -> None:
        with contextlib.suppress(InvalidRequestError):
            check_canonical(dict(span), what="span", depth=1)
            self._gate.span(span)


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _text(text: str) -> list[dict[str, str]]:
    return [{"m_type": "text", "m_content": text[:MAX_TEXT]}]


def _input(args: dict[str, Any] | None) -> dict[str, Any]:
    """Arguments and digest, or nothing where they have no canonical form."""
    try:
        digest = args_digest(args)
    except InvalidRequestError:
        return {}
    if len(repr(args)) > MAX_TEXT:
        return {"args_digest": digest}
    return {"args_digest": digest, "input": dict(args or {})}


def _error(error: BaseException) -> dict[str, Any]:
    found: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:MAX_TEXT]}
    code = getattr(error, "code", None)
    if isinstance(code, str):
        found["code"] = code
    cause = error if isinstance(error, ToolValidationError) else error.__cause__
    if isinstance(cause, ToolValidationError):
        for name in ("tool_name", "param_name", "issue", "suggestion"):
            found[name] = str(getattr(cause, name))
    return found
