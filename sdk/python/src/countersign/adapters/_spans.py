"""The span of one tool call (systems, 0.4), shared by the adapters. A span decides nothing and never raises."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from typing import Any

from .. import clock
from ..clock import rfc3339
from ..digest import args_digest, check_canonical
from ..errors import CountersignError, InvalidRequestError
from ..gate import Gate
from ..sync import SyncGate
from ..verify import Decision
from ..wire import Span

log = logging.getLogger("countersign")

MAX_TEXT = 64 * 1024
MAX_PART = 256 * 1024

STATUS = {
    "approve": "ok",
    "modify": "ok",
    "respond": "ok",
    "skip": "cancelled",
    "withdrawn": "cancelled",
    "expired": "timeout",
    "rejected": "error",
}
"""How a call's span ends by the answer; every other word is `denied`."""


NOTHING = object()
"""Arguments that nobody knows; None is an argument."""


class CallSpan:
    """One step of a trace: sent when it begins, and whole again at each change."""

    def __init__(
        self,
        gate: Gate | SyncGate,
        name: str,
        *,
        kind: str = "tool",
        trace_id: str | None = None,
        span_id: str | None = None,
        parent: str | None = None,
        args: Any = NOTHING,
        **about: Any,
    ) -> None:
        """Without a `trace_id` it joins the active span of OpenTelemetry, where that is installed."""
        self._gate = gate
        if trace_id is None:
            trace_id, parent = _active_span() or (None, parent)
        self.trace_id = trace_id or os.urandom(16).hex()
        self.span_id = span_id or os.urandom(8).hex()
        self._span: dict[str, Any] = {
            "v": 1,
            "type": "span",
            "trace_id": self.trace_id,
            "span_id": self.span_id,
            "name": name[:200],
            "kind": kind,
            "status": "running",
            "started_at": rfc3339(clock.now()),
            **{key: value for key, value in about.items() if value is not None},
        }
        if parent is not None:
            self._span["parent_span_id"] = parent
        if kind == "tool":
            self._span["tool_name"] = name
        if args is not NOTHING:
            self._input(args)

    @property
    def traceparent(self) -> str:
        """W3C trace context that makes this span the parent of the request."""
        return f"00-{self.trace_id}-{self.span_id}-01"

    def waiting(self, request_id: str | None = None) -> None:
        """A person is asked."""
        self._send(status="waiting", request_id=request_id)

    def running(self, args: Any = None) -> None:
        """The call starts, with these arguments (the approved ones after an edit)."""
        if args is not None:
            self._input(args)
        self._send(status="running")

    def answered(self, decision: Decision) -> None:
        """The call does not run: the span ends as the answer says."""
        self.end(STATUS.get(decision.verdict, "denied"), request_id=decision.request_id)

    def succeeded(self, result: Any, **more: Any) -> None:
        """The call returned."""
        self.end("ok", **_output(result), **more)

    def failed(self, error: BaseException, status: str = "error", **more: Any) -> None:
        """The call, or asking about it, raised."""
        found: dict[str, Any] = {"type": type(error).__name__, "message": str(error)[:MAX_TEXT], **more}
        if isinstance(error, CountersignError):
            found["code"] = error.code
        self.end(status, error=found)

    def end(self, status: str, **more: Any) -> None:
        """The last word of this span."""
        self._send(status=status, **{"ended_at": rfc3339(clock.now()), **more})

    def set(self, **more: Any) -> None:
        """Fields for the next send; `attributes` are added to those there are."""
        attributes = more.pop("attributes", None)
        self._span.update({key: value for key, value in more.items() if value is not None})
        if attributes:
            self._span["attributes"] = {**self._span.get("attributes", {}), **attributes}

    def _send(self, **more: Any) -> None:
        self.set(**more)
        span: Span = dict(self._span)  # type: ignore[assignment]
        try:
            check_canonical(dict(span), what="span", depth=1)
            self._gate.span(span)
        except Exception as error:
            # A span may be lost, the call may not.
            log.info("a span was not sent: %s", type(error).__name__)

    def _input(self, args: Any) -> None:
        self._span.pop("input", None)
        with contextlib.suppress(InvalidRequestError):
            self._span["args_digest"] = args_digest(args)
            if len(json.dumps(args)) <= MAX_TEXT:
                self._span["input"] = args


def _active_span() -> tuple[str, str] | None:
    """Trace and span id of OpenTelemetry's active span; None where there is none, or no OpenTelemetry."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    context = trace.get_current_span().get_span_context()
    return (f"{context.trace_id:032x}", f"{context.span_id:016x}") if context.is_valid else None


def text_part(text: str) -> list[dict[str, Any]]:
    """A text as the `output` of a span, cut."""
    return [{"m_type": "text", "m_content": text[:MAX_TEXT]}]


def _output(result: Any) -> dict[str, Any]:
    """A result as parts of a span: a text that is cut, or what identifies a large part."""
    if isinstance(result, bytes):
        return _artifact(result, "application/octet-stream")
    if isinstance(result, str):
        return {"output": text_part(result)}
    try:
        text = json.dumps(result, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return {}
    if len(text) > MAX_PART:
        return _artifact(text.encode(), "application/json")
    return {"output": text_part(text)}


def _artifact(content: bytes, mime_type: str) -> dict[str, Any]:
    digest = hashlib.sha256(content).hexdigest()
    return {"artifacts": [{"mime_type": mime_type, "sha256": digest, "size": len(content)}]}
