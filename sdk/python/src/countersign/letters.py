"""What an agent says about its own requests: receipts, withdrawals and earlier deadlines (protocol, section 6). Pure
but for the time stamp of a receipt.

Refuses to quote more of a decision that does not verify than a short id.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence

from . import clock
from .errors import VoidDecisionError
from .outbox import Letter
from .verify import StoredDecision, parse_payload
from .wire import Receipt, SentRequest, encode, rfc3339

LONGEST_ID = 64
LONGEST_MESSAGE = 2000


def receipt(
    subject: str,
    decision_id: str,
    stage: str,
    *,
    executed_args_digest: str | None = None,
    degraded: Sequence[str] | None = None,
    message: str | None = None,
) -> Letter:
    """How far the agent got with a decision; `subject` is its request's `receipt.` subject."""
    body: Receipt = {"v": 1, "decision_id": decision_id, "stage": stage, "at": rfc3339(clock.now())}
    if executed_args_digest is not None:
        body["executed_args_digest"] = executed_args_digest
    if degraded:
        body["degraded"] = list(degraded)
    if message is not None:
        body["message"] = message[:LONGEST_MESSAGE]
    return Letter(subject, encode(dict(body)))


def refusal(request: SentRequest, stored: StoredDecision | None, code: str) -> Letter:
    """The receipt `refused`. A decision whose id cannot be read, or is longer than any, is named `unreadable`."""
    return receipt(request.subject("receipt"), _claimed_id(stored), "refused", message=code)


def withdrawal(request: SentRequest, reason: str) -> Letter:
    """The agent no longer wants the answer."""
    return Letter(request.subject("withdraw"), encode({"v": 1, "reason": reason}), first=True)


def earlier_deadline(request: SentRequest, seconds: float) -> Letter:
    """The request lives only so long, counted from when it was made. The first one that is stored counts."""
    requested = dt.datetime.fromisoformat(json.loads(request.payload)["requested_at"])
    body = {"v": 1, "expires_at": rfc3339(requested + dt.timedelta(seconds=max(0.001, seconds)))}
    return Letter(request.subject("tighten"), encode(body), first=True)


def _claimed_id(stored: StoredDecision | None) -> str:
    if stored is None:
        return "unreadable"
    try:
        found = parse_payload(stored.payload).get("decision_id")
    except VoidDecisionError:
        return "unreadable"
    return found if isinstance(found, str) and len(found) <= LONGEST_ID else "unreadable"
