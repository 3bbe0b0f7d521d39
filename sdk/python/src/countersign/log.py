"""The realm log as an agent reads it: slot after slot, by direct gets (protocol, section 8). Pure.

Refuses a log without the entry that is known to be in it: until it is there again, nothing that lets a call run is
believed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .realm import Realm
from .records import SUBJECT, slot_of

STREAM = "CS_DECISIONS"


@dataclass(frozen=True, slots=True)
class Stored:
    """A message of a slot as the server returned it. `stamp` is the server's, as it wrote it."""

    slot: int
    sequence: int
    stamp: str
    message: bytes


def subject_of(slot: int) -> str:
    """What a slot is read by."""
    return f"{SUBJECT}.{slot}"


def answered(slot: int, headers: Mapping[str, str], payload: bytes) -> Stored | None:
    """What a direct get of a slot returned; None where it is free. Raises `ValueError` for what cannot be read.

    `headers` has the last of several values: the server adds its own behind the publisher's, who may name a status
    and a sequence, too. So a status counts only without a sequence.
    """
    sequence = headers.get("Nats-Sequence")
    if sequence is None and headers.get("Status") == "404":
        return None
    if sequence is None or slot_of(headers.get("Nats-Subject", "")) != slot or headers.get("Nats-Stream") != STREAM:
        raise ValueError("no answer about this slot")
    return Stored(slot, int(sequence), headers.get("Nats-Time-Stamp", ""), payload)


class Log:
    """What an agent knows of the log. `n` and `digest` are the entry that `agent.json` names."""

    def __init__(self, realm: str, root: str, n: int, digest: str) -> None:
        self.state = Realm(realm, root)
        self.fault: str | None = "log_short"
        """Why nothing that lets a call run may be believed: `log_short`, `log_differs`, or None."""
        self.last: Stored | None = None
        """The slot with the highest sequence that was read: each look reads it again."""
        self._known = (n, digest)

    def extend(self, last: Stored | None, new: Sequence[Stored]) -> bool:
        """Takes a look at the last slot and at those from `state.next_slot` on. False: look from slot 1 on."""
        if self.fault is not None or self.last is None or last != self.last:
            return False
        if any(stored.sequence <= self.last.sequence for stored in new):
            return False
        _apply(self.state, new)
        self._know(new)
        return True

    def restart(self, slots: Sequence[Stored]) -> None:
        """Takes a look at every slot, from the first one on. Without the known entry the old state stays."""
        state, (n, digest) = Realm(self.state.realm, self.state.root), self._known
        _apply(state, slots)
        if not state.holds(n, digest):
            self.fault = "log_short" if len(state.chain) < n else "log_differs"
            return
        self.state, self.last, self.fault = state, None, None
        self._know(slots)

    def _know(self, read: Sequence[Stored]) -> None:
        known = [self.last] if self.last is not None else []
        self.last = max([*known, *read], key=lambda stored: stored.sequence, default=None)
        head = self.state.chain[-1]
        self._known = (head.n, head.digest)


def _apply(state: Realm, slots: Sequence[Stored]) -> None:
    for stored in slots:
        state.apply(stored.slot, stored.sequence, stored.message)
