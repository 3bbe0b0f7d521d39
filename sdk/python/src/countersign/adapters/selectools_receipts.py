"""What became of the calls that a person approved.

Each ends with a receipt, also one that selectools never starts.
"""

from __future__ import annotations

import contextlib
import threading
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

MAX_KNOWN_CALLS = 1024


@dataclass(frozen=True)
class _Approved:
    args: Mapping[str, Any]
    decision: Decision
    run_id: str | None


@dataclass(frozen=True)
class _Started:
    decision: Decision | None
    digest: str | None
    span: str


class ApprovedCalls:
    """Approved calls from the answer to the receipt. Safe to call from several threads."""

    def __init__(self, gate: SyncGate) -> None:
        self._gate = gate
        self._lock = threading.Lock()
        self._approved: OrderedDict[int, _Approved] = OrderedDict()
        self._running: ContextVar[tuple[_Started, ...]] = ContextVar("countersign_running", default=())

    def add(self, args: Mapping[str, Any], decision: Decision, run_id: str | None) -> None:
        """The call with these very arguments may start. Keeps them, so that their identity stays theirs."""
        with self._lock:
            self._approved[id(args)] = _Approved(args, decision, run_id)
            while len(self._approved) > MAX_KNOWN_CALLS:
                self._approved.popitem(last=False)

    def take(self, args: Mapping[str, Any]) -> Decision | None:
        """The approval of the call that starts with these very arguments."""
        with self._lock:
            approved = self._approved.pop(id(args), None)
        return approved.decision if approved is not None else None

    def started(self, decision: Decision | None, args: Mapping[str, Any], span: str) -> None:
        """A tool starts in this context. Notes the digest of what really runs."""
        digest = None
        with contextlib.suppress(InvalidRequestError):
            digest = args_digest(args)
        self._running.set((*self._running.get(), _Started(decision, digest, span)))

    def finished(self, stage: Stage, message: str | None) -> str | None:
        """The span of the innermost tool that runs in this context; its receipt goes out if a person approved it."""
        running = self._running.get()
        if not running:
            return None
        self._running.set(running[:-1])
        started = running[-1]
        if started.decision is not None:
            self._gate.receipt_later(started.decision, stage, executed_args_digest=started.digest, message=message)
        return started.span

    def run_ended(self, run_id: str) -> None:
        """Receipt `refused` for what never started.

        selectools finds an incoherent call, and a result that it has from before, only after the approval.
        """
        with self._lock:
            left = [key for key, approved in self._approved.items() if approved.run_id == run_id]
            decisions = [self._approved.pop(key).decision for key in left]
        for decision in decisions:
            self._gate.receipt_later(decision, "refused", message="not_started")
