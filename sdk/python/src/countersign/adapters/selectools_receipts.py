"""What became of the calls that a person approved, and of the tools that run.

Each approval ends with a receipt, also one that selectools never starts.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from ..digest import args_digest
from ..errors import InvalidRequestError
from ..sync import SyncGate
from ..verify import Decision
from ..words import Stage
from ._spans import MAX_TEXT, CallSpan, text_part

MAX_KNOWN_CALLS = 1024
CHUNK_SECONDS = 1.0


@dataclass(frozen=True)
class _Approved:
    args: Mapping[str, Any]
    decision: Decision
    run_id: str | None
    policy: CallSpan | None


@dataclass
class _Started:
    decision: Decision | None
    digest: str | None
    span: CallSpan
    said: str = ""
    sent_at: float = 0.0
    ended: bool = False


class ApprovedCalls:
    """Approved calls from the answer to the receipt. Safe to call from several threads."""

    def __init__(self, gate: SyncGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._approved: OrderedDict[int, _Approved] = OrderedDict()
        self._running: ContextVar[tuple[_Started, ...]] = ContextVar("countersign_running", default=())

    def add(self, args: Mapping[str, Any], decision: Decision, run_id: str | None, policy: CallSpan | None) -> None:
        """The call with these very arguments may start. Keeps them, so that their identity stays theirs."""
        with self._lock:
            self._approved[id(args)] = _Approved(args, decision, run_id, policy)
            while len(self._approved) > MAX_KNOWN_CALLS:
                self._approved.popitem(last=False)

    def started(self, args: Mapping[str, Any], span: CallSpan) -> None:
        """A tool starts in this context with these very arguments. Notes the digest of what really runs."""
        with self._lock:
            approved = self._approved.pop(id(args), None)
        digest = None
        with contextlib.suppress(InvalidRequestError):
            digest = args_digest(args)
        decision = approved.decision if approved is not None else None
        span.set(request_id=decision.request_id if decision is not None else None)
        span.running()
        self._running.set((*self._running.get(), _Started(decision, digest, span)))

    def chunk(self, text: str) -> None:
        """The innermost tool of this context said more. Its span goes out again, at most once a second."""
        running = self._running.get()
        if not running:
            return
        started = running[-1]
        with self._lock:
            started.said = (started.said + text)[:MAX_TEXT]
            if not started.ended and time.monotonic() - started.sent_at >= CHUNK_SECONDS:
                started.sent_at = time.monotonic()
                started.span.set(output=text_part(started.said))
                started.span.running()

    def finished(self, stage: Stage, message: str | None) -> CallSpan | None:
        """The span of the innermost tool that runs in this context; its receipt goes out if a person approved it."""
        running = self._running.get()
        if not running:
            return None
        self._running.set(running[:-1])
        started = running[-1]
        with self._lock:
            started.ended = True
        if started.decision is not None:
            self._gate.receipt_later(started.decision, stage, executed_args_digest=started.digest, message=message)
        return started.span

    def run_ended(self, run_id: str, steps: list[Any]) -> None:
        """Receipt `refused` for what never started.

        selectools finds an incoherent call, and a result that it has from before, only after the approval. `steps`
        are its own account of the run: there a call with a result has one from its cache.
        """
        with self._lock:
            left = [key for key, approved in self._approved.items() if approved.run_id == run_id]
            never = [self._approved.pop(key) for key in left]
        for approved in never:
            self._gate.receipt_later(approved.decision, "refused", message="not_started")
            if approved.policy is not None and any(
                step.tool_args is approved.args and step.tool_result is not None for step in steps
            ):
                approved.policy.end("ok", attributes={"selectools.cache_hit": True})
