"""What ravi's calls became, as spans and receipts: of single calls, and of a whole chain afterwards."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections import OrderedDict
from typing import Any

from .. import clock
from ..clock import rfc3339
from ..gate import Gate
from ._gating import GatedCall
from ._spans import MAX_TEXT, STATUS, CallSpan

CHAIN_SPAN = "tool_chain"
MAX_KNOWN_CALLS = 1024

_STATUS = {"ok": "ok", "error": "error", "denied": "denied", "timeout": "timeout"}


class CallsSeen:
    """The calls that were asked about, until their results are known."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._calls: OrderedDict[str, GatedCall] = OrderedDict()

    def add(self, call_id: str, call: GatedCall) -> None:
        """A person is asked about it."""
        self._calls[call_id] = call
        while len(self._calls) > MAX_KNOWN_CALLS:
            self._calls.popitem(last=False)

    def ended(self, call: Any, result: Any, duration_ms: float | None, within: dict[str, Any]) -> None:
        """ravi has a result of the call, or says why it has none."""
        status = _STATUS.get(str(result.status), "error")
        more: dict[str, Any] = {"output": [{"m_type": "text", "m_content": str(result.text)[:MAX_TEXT]}]}
        if result.artifact_ref:
            more["output"].append({"artifact_ref": result.artifact_ref})
        if result.files:
            more["artifacts"] = [
                {"url": file.artifact_ref, "mime_type": file.media_type, "filename": file.path}
                for file in result.files
            ]
        if result.structured:
            more["attributes"] = {"ravi.structured": json.loads(json.dumps(result.structured, default=str))}
        if duration_ms is not None:
            more["usage"] = {"execution_time_ms": duration_ms}
        if status == "error":
            more["error"] = {"type": "InvocationResult", "message": str(result.text)[:MAX_TEXT]}
        asked = self._calls.pop(call.call_id, None)
        if asked is None:
            begun = clock.now() - dt.timedelta(milliseconds=duration_ms or 0)
            about: dict[str, Any] = {"call_id": call.call_id, "started_at": rfc3339(begun), **within}
            CallSpan(self._gate, call.name, args=call.arguments, **about).end(status, **more)
            return
        answer = asked.answer
        if answer is None or answer.decision is None:
            # ravi stopped waiting, or it could not be asked: the span says so already.
            return
        if not answer.allowed:
            asked.span.end(STATUS.get(answer.verdict, "denied"), **more)
            return
        asked.span.end(status, **more)
        stage, message = ("executed", None) if status == "ok" else ("failed", status)
        digest = answer.decision.args_digest
        self._gate.receipt_later(answer.decision, stage, executed_args_digest=digest, message=message)  # type: ignore[arg-type]

    def left(self, call: Any, error: BaseException) -> None:
        """ravi's invoker was cancelled, or raised."""
        asked = self._calls.pop(call.call_id, None)
        if asked is not None and asked.answer is not None and asked.answer.allowed:
            asked.failed(error, status="cancelled" if isinstance(error, asyncio.CancelledError) else "error")


def record_chain(gate: Gate, result: Any, chain_id: str, started_at: dt.datetime | None, **ids: str | None) -> str:
    """One span, and below it one of each call. ravi records how long calls took, not when they began: they follow one
    another."""
    took = dt.timedelta(milliseconds=result.duration_ms)
    begun = started_at if started_at is not None else clock.now() - took
    # The wire has milliseconds; durations stay exact.
    begun = begun.replace(microsecond=begun.microsecond // 1000 * 1000)
    about: dict[str, Any] = {"started_at": rfc3339(begun), **ids}
    chain = CallSpan(gate, CHAIN_SPAN, kind="chain", **about)
    attributes = {
        "ravi.chain_id": chain_id,
        "ravi.tool_calls": result.tool_calls,
        "ravi.duration_ms": result.duration_ms,
        "ravi.logs": result.logs[:MAX_TEXT],
    }
    more: dict[str, Any] = {"attributes": attributes, "ended_at": rfc3339(begun + took)}
    if result.output_text:
        more["output"] = [{"m_type": "text", "m_content": result.output_text[:MAX_TEXT]}]
    if result.error is not None:
        more["error"] = {"type": "ChainRunResult", "message": result.error[:MAX_TEXT]}
    chain.end(_STATUS.get(str(result.status), "error"), **more)
    for seq, record in enumerate(result.call_trace, 1):
        ended = begun + dt.timedelta(milliseconds=record.duration_ms)
        about = {"started_at": rfc3339(begun), "args_digest": record.args_digest, **ids}
        span = CallSpan(gate, record.tool, trace_id=chain.trace_id, parent=chain.span_id, **about)
        status = _STATUS.get(str(record.status), "error")
        span.end(status, ended_at=rfc3339(ended), attributes={"ravi.seq": seq})
        begun = ended
    return chain.trace_id
