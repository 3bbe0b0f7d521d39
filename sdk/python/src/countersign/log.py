"""The realm log as an agent keeps it: slot after slot, by direct gets (protocol, section 8). Pure.

Refuses a log without the entry that is known to be in it: until it is there again, nothing that lets a call run is
believed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .clock import parse_rfc3339
from .enrolment import LogHead
from .realm import Realm
from .records import SUBJECT, slot_of

STREAM = "CS_DECISIONS"


@dataclass(frozen=True, slots=True)
class Stored:
    """A message of `CS_DECISIONS` as the server returned it. `stored_at` is the server's time stamp."""

    subject: str
    payload: bytes = field(repr=False)
    headers: Mapping[str, str] = field(compare=False)
    stored_at: dt.datetime
    sequence: int


def subject_of(slot: int) -> str:
    """What a slot is read by."""
    return f"{SUBJECT}.{slot}"


def answered(subject: str, headers: Mapping[str, str], payload: bytes) -> Stored | None:
    """What a direct get returned; None where nothing is stored. Raises `ValueError` for what cannot be read.

    `headers` has the last of several values: the server adds its own behind the publisher's, who may name a status
    and a sequence, too. So a status counts only without a sequence.
    """
    sequence = headers.get("Nats-Sequence")
    if sequence is None and headers.get("Status") == "404":
        return None
    if sequence is None or headers.get("Nats-Subject") != subject or headers.get("Nats-Stream", STREAM) != STREAM:
        raise ValueError(f"not the message on {subject}")
    return Stored(subject, payload, headers, parse_rfc3339(headers.get("Nats-Time-Stamp", "")), int(sequence))


class Log:
    """What an agent knows of the log. Without a `head`, that of `agent.json`, nothing is asked of it."""

    def __init__(self, realm: str, head: LogHead | None) -> None:
        self.state = Realm(realm, None if head is None else head.root)
        self.fault: str | None = None if head is None else "log_short"
        """Why nothing that lets a call run may be believed: `log_short`, `log_differs`, or None."""
        self.last: Stored | None = None
        """The slot with the highest sequence that was read: each look reads it again."""
        self.known = (0, "") if head is None else (head.n, head.digest)
        """Number and digest of the entry that has to be there."""

    def extend(self, last: Stored | None, new: Sequence[Stored]) -> bool:
        """Takes a look at the last slot and at those from `state.next_slot` on. False: look from slot 1 on."""
        if self.fault is not None or self.last is None or last != self.last:
            return False
        if any(stored.sequence <= self.last.sequence for stored in new):
            return False
        self._take(new)
        return True

    def restart(self, slots: Sequence[Stored]) -> None:
        """Takes a look at every slot, from the first one on. Without the known entry the old state stays."""
        fresh, (n, digest) = Log(self.state.realm, None), self.known
        fresh.state.root = self.state.root
        fresh._take(slots)
        if not fresh.state.holds(n, digest):
            self.fault = "log_short" if len(fresh.state.chain) < n else "log_differs"
            return
        self.state, self.last, self.known, self.fault = fresh.state, fresh.last, fresh.known, None

    def _take(self, slots: Sequence[Stored]) -> None:
        for stored in slots:
            self.state.apply(slot_of(stored.subject) or 0, stored.sequence, stored.payload)
            if self.last is None or stored.sequence > self.last.sequence:
                self.last = stored
        if self.state.chain:
            head = self.state.chain[-1]
            self.known = (head.n, head.digest)
