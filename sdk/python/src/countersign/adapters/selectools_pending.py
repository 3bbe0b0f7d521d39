"""selectools' deferred confirmation (`selectools.pending`): the console answers beside the chat channel.

Refuses to run anything itself: it hands the console's answer to the store as a structured intent, pinned to the id
and kind that were shown, and the store's own guards (scope, time, one claim) decide. A record whose arguments no
longer have the digest that was shown is disarmed.
"""

from __future__ import annotations

import hashlib
import re
import time
from dataclasses import dataclass
from typing import Any

try:
    from selectools.pending import (  # type: ignore[import-untyped,unused-ignore]
        DEFAULT_IGNORE_TTL_SECONDS,
        PendingAction,
        PendingActionStore,
        compute_args_digest,
    )
except ImportError as missing:
    raise ImportError("the adapter needs selectools: pip install 'countersign-sdk[selectools]'") from missing

from ..digest import selectools64
from ..errors import CountersignError, InvalidRequestError
from ..sync import SyncGate
from ..verify import Decision
from ..wire import ToolCall
from ..words import Effects, Risk

INTENTS = {"approve": "confirm", "deny": "cancel", "skip": "ignore"}
UNANSWERED = {"expired": "expired", "withdrawn": "gone"}


@dataclass(frozen=True)
class PendingOutcome:
    """How a pending action ended.

    `status` is selectools' word (`executed`, `expired`, `digest_mismatch`, `kind_mismatch`, `no_executor`, `failed`,
    `cancelled`, `ignored`), or `gone` when the chat was faster. `result` is what the executor returned.
    """

    status: str
    decision: Decision
    result: str | None = None


def request_of(record: PendingAction, *, risk: Risk = "critical", effects: Effects | None = None) -> ToolCall:
    """The request of a record: all of its 13 fields are kept in `native`.

    Raises `InvalidRequestError` (`digest_mismatch`) when the record's arguments are not those of its digest.
    """
    if compute_args_digest(record.args) != record.args_digest:
        raise InvalidRequestError("the pending action's arguments changed; ask anew", code="digest_mismatch")
    return ToolCall(
        name=record.kind,
        args=record.args or {},
        preview=record.preview,
        risk=risk,
        effects=effects,
        request_id=request_id_of(record.pending_action_id),
        thread_id=record.conversation_id,
        native_digest={"alg": "selectools64", "value": selectools64(record.args)},
        native=record.to_dict(),
        allowed_verdicts=("approve", "deny", "skip"),
    )


def record_of(native: dict[str, Any]) -> PendingAction:
    """The record back from the `native` of a request. Raises `KeyError` for a missing field."""
    return PendingAction.from_dict(native)


def request_id_of(pending_action_id: str) -> str:
    """A request id of the protocol's grammar; foreign ids become a slug and 8 hex of their SHA-256."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}", pending_action_id):
        return pending_action_id
    slug = re.sub(r"[^A-Za-z0-9_-]+", "-", pending_action_id).strip("-_")[:48] or "pending"
    return f"{slug}-{hashlib.sha256(pending_action_id.encode()).hexdigest()[:8]}"


class PendingGate:
    """Answers pending actions of one store through the console."""

    def __init__(self, gate: SyncGate, store: PendingActionStore) -> None:
        self._gate = gate
        self._store = store

    def settle(
        self, record: PendingAction, *, risk: Risk = "critical", effects: Effects | None = None
    ) -> PendingOutcome:
        """Ask about `record` until it expires, then do what was decided. Blocks this thread.

        Raises as `Gate.ask` does; nothing has run then, and the record stays with the chat until it expires. After a
        restart of the agent that is `AlreadyAskedError`: the answer to the first request would be to another's bytes.
        """
        call = request_of(record, risk=risk, effects=effects)
        decision = self._gate.ask(call, timeout=max(0.001, record.expires_at - time.time()))
        scope = {"channel_id": record.channel_id, "conversation_id": record.conversation_id}
        if decision.verdict in UNANSWERED:
            return PendingOutcome(UNANSWERED[decision.verdict], decision)
        intent = INTENTS.get(decision.verdict, "cancel")
        current = self._store.get(record.user_id, **scope)
        same = current is not None and current.pending_action_id == record.pending_action_id
        if same and compute_args_digest(current.args) != record.args_digest:
            self._store.drop(record.user_id, **scope)
            return self._report(decision, "digest_mismatch", None)
        outcome = self._store.pop_if_intent(
            record.user_id,
            intent,
            expected_kind=record.kind,
            expected_id=record.pending_action_id,
            ignore_ttl_seconds=DEFAULT_IGNORE_TTL_SECONDS,
            **scope,
        )
        if outcome is None:
            # The store forgets a record that it finds expired.
            return self._report(decision, "expired" if record.is_expired() else "gone", None)
        return self._report(decision, outcome.status, outcome.result)

    def ignored(self, record: PendingAction, seconds: float = DEFAULT_IGNORE_TTL_SECONDS) -> None:
        """The chat ignored the prompt: the console's deadline shrinks too, it never grows."""
        self._gate.call(self._gate.gate.tighten(request_id_of(record.pending_action_id), seconds))

    def answered_in_chat(self, record: PendingAction) -> None:
        """The chat was faster: take the request back, so that nobody decides about nothing."""
        try:
            self._gate.withdraw(request_id_of(record.pending_action_id), "answered in the chat")
        except CountersignError as error:
            if error.code != "not_found":
                raise

    def _report(self, decision: Decision, status: str, result: str | None) -> PendingOutcome:
        digest = decision.args_digest
        if status == "executed":
            self._gate.receipt_later(decision, "executed", executed_args_digest=digest)
        elif status == "failed":
            self._gate.receipt_later(decision, "failed", executed_args_digest=digest)
        elif decision.allowed:
            self._gate.receipt_later(decision, "refused", message=status)
        return PendingOutcome(status, decision, result)
