"""What a selectools run does, as spans (protocol, section 6): run, model, policy, tool.

Refuses to guess: a step that selectools does not report has no span, and a policy denial has no tool span because
nothing ran.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import threading
from collections import OrderedDict
from typing import Any

from selectools.exceptions import ToolValidationError  # type: ignore[import-untyped,unused-ignore]

from ..sync import SyncGate
from ._gating import last_messages
from ._spans import NOTHING, CallSpan, text_part

MAX_OPEN = 4096

_MARK = re.compile(r"\[(?:(compressed) from|truncated from) (\d+) chars(?(1)|; compression failed)\] ")


@dataclasses.dataclass(frozen=True)
class _Returned:
    call_id: str
    tool: str
    result: str
    span: CallSpan


class RunTrace:
    """The spans of any number of runs. Safe to call from several threads."""

    def __init__(self, gate: SyncGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._open: OrderedDict[str, CallSpan] = OrderedDict()
        self._returned: OrderedDict[str, list[_Returned]] = OrderedDict()
        self._history: OrderedDict[str, list[dict[str, Any]]] = OrderedDict()

    def begin(self, run_id: str, name: str, kind: str, args: Any = NOTHING, **about: Any) -> CallSpan:
        """A step of a run, not sent yet."""
        trace_id, root = _hex(f"trace:{run_id}", 32), _hex(f"span:{run_id}", 16)
        place: dict[str, Any] = {"span_id": root} if kind == "agent" else {"parent": root}
        return CallSpan(self._gate, name, kind=kind, trace_id=trace_id, args=args, run_id=run_id, **place, **about)

    def run_started(self, run_id: str) -> None:
        """The run's own span, parent of all others."""
        self._keep(f"run:{run_id}", self.begin(run_id, "selectools run", "agent"))

    def run_ended(self, run_id: str, result: Any) -> None:
        """`result` is selectools' `AgentResult`; its artifacts are listed by what identifies them."""
        listed = [
            {key: value for key, value in dataclasses.asdict(artifact).items() if value is not None}
            for artifact in getattr(result, "artifacts", None) or ()
        ]
        self._end(run_id, "run", "ok", artifacts=listed or None)

    def run_failed(self, run_id: str, error: Exception) -> None:
        """The run ended with an exception."""
        self._end(run_id, "llm", "error")
        span = self._take("run", run_id)
        if span is not None:
            span.failed(error)

    def model_started(self, run_id: str, model: str, messages: list[Any]) -> None:
        """One call of the model; a run has one at a time. `messages` show what the model reads of tool results."""
        self._shown(run_id, messages)
        said = last_messages((str(getattr(m.role, "value", m.role)), str(m.content or "")) for m in messages)
        with self._lock:
            self._history[run_id] = said
            while len(self._history) > MAX_OPEN:
                self._history.popitem(last=False)
        span = self.begin(run_id, model, "llm", attributes={"gen_ai.request.model": model})
        self._keep(f"llm:{run_id}", span)

    def history(self, run_id: str) -> list[dict[str, Any]] | None:
        """The messages that the model read last."""
        return self._history.get(run_id) or None

    def model_ended(self, run_id: str, text: str, usage: Any) -> None:
        """`usage` is selectools' `UsageStats`, or None."""
        used = None
        if usage is not None:
            used = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
            used["cost_usd"] = usage.cost_usd
        self._end(run_id, "llm", "ok", output=text_part(text) if text else None, usage=used)

    def tool_returned(self, run_id: str, call_id: str, tool: str, result: str, span: CallSpan) -> None:
        """The tool returned."""
        span.succeeded(result)
        with self._lock:
            self._returned.setdefault(run_id, []).append(_Returned(call_id, tool, result, span))
            while len(self._returned) > MAX_OPEN:
                self._returned.popitem(last=False)

    def _shown(self, run_id: str, messages: list[Any]) -> None:
        """selectools compresses a result after it has reported it: only the next turn shows what the model reads."""
        with self._lock:
            returned = self._returned.pop(run_id, [])
        roles = [str(getattr(message.role, "value", message.role)) for message in messages]
        turn = len(roles) - roles[::-1].index("assistant") if "assistant" in roles else 0
        for message in messages[turn:]:
            mark = _MARK.match(str(getattr(message, "content", None) or ""))
            if mark is None or getattr(message, "tool_name", None) is None:
                continue
            size, call_id = int(mark[2]), message.tool_call_id
            fits = [
                call
                for call in returned
                if call.tool == message.tool_name and len(call.result) == size and call_id in (call.call_id, None, "")
            ]
            if fits:
                returned.remove(fits[0])
                how = "compressed" if mark[1] else "failed"
                fits[0].span.set(attributes={"selectools.raw_chars": size, "selectools.compression": how})
                fits[0].span.succeeded(message.content)

    def _keep(self, key: str, span: CallSpan) -> None:
        span.running()
        with self._lock:
            self._open[key] = span
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)

    def _take(self, what: str, run_id: str) -> CallSpan | None:
        with self._lock:
            return self._open.pop(f"{what}:{run_id}", None)

    def _end(self, run_id: str, what: str, status: str, **more: Any) -> None:
        span = self._take(what, run_id)
        if span is not None:
            span.end(status, **more)
        if what == "run":
            self._returned.pop(run_id, None)
            self._history.pop(run_id, None)


def failed(span: CallSpan, error: BaseException, status: str = "error") -> None:
    """The step raised. selectools' validation errors keep their four fields."""
    cause = error if isinstance(error, ToolValidationError) else error.__cause__
    fields: dict[str, str] = {}
    if isinstance(cause, ToolValidationError):
        for name in ("tool_name", "param_name", "issue", "suggestion"):
            fields[name] = str(getattr(cause, name))
    span.failed(error, status, **fields)


def _hex(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
