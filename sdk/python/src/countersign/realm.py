"""The realm log: who may sign (protocol, section 8). Pure: never reads the bus or a clock.

Entries are folded into one state. A key counts between the entries that began and ended its term, by the sequences of
their messages; nothing else decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .passkey import device_may, holds, is_moment
from .records import (
    SUBJECT,
    Entry,
    Limits,
    are_records,
    canonical,
    is_settings,
    meaning,
    read_entry,
)
from .signature import Context, verify

BOUND = frozenset({"approve", "modify", "skip", "respond", "escalate"})
"""What limits bind, and what an agent asks the head for, too."""

DECIDED = BOUND | {"deny", "terminate"}
"""What an operator may answer."""
SAID = {"expired": "timeout", "withdrawn": "agent", "rejected": "system"}
"""Who says what the system says, and nothing else."""
_DECIDING = frozenset({"operator", "rule", "setup_key"})
"""Everything beyond a plain no needs one of these: silence, agents and the system never approve."""
_NOBODY = ""
"""Whose key the recovery key is."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a decision or a vote says, and of which request.

    `risk` is effective, `effects` the request's word; `at` is the server's stamp as the protocol writes times.
    """

    verdict: str
    origin: str
    workspace: str
    risk: str
    effects: str | None
    verifies: Iterable[str]
    at: str


@dataclass(frozen=True, slots=True)
class Linked:
    """An entry of the chain, and where it is stored."""

    n: int
    digest: str
    slot: int
    sequence: int


@dataclass(slots=True)
class Term:
    """A stretch in which the limits of a key's operator and the fields of the key stay the same. It counts for what
    is stored above `since`, up to `until`."""

    n: int
    since: int
    operator: str
    limits: Limits | None
    key: Mapping[str, Any]
    until: int | None = None

    def signed(self, context: Context, realm: str, subject: str, payload: bytes, sig: str) -> bool:
        """Whether the key signed this message. Never raises."""
        if self.key["role"] == "device":
            return holds(self.key, self.operator, context, realm, subject, payload, sig)
        return verify(self.key["key"], sig, context, realm, subject, payload)

    def is_at(self, sequence: int | None) -> bool:
        """Whether it counts there; None is the head."""
        if sequence is None:
            return self.until is None
        return self.since < sequence and (self.until is None or sequence <= self.until)


@dataclass(slots=True)
class _Draft:
    """What an entry would make of the state."""

    operators: dict[str, Mapping[str, Any]]
    acceptance: bool
    recovery: str | None
    owners: dict[str, str] = field(default_factory=dict)
    touched: list[str] = field(default_factory=list)


class Realm:
    """The state of a log. `root` is the digest of entry 1; None: of no log, so that nobody is known."""

    def __init__(self, realm: str, root: str | None) -> None:
        self.realm = realm
        self.root = root
        self.chain: list[Linked] = []
        self.acceptance = False
        self.recovery: str | None = None
        self.operators: dict[str, Mapping[str, Any]] = {}
        self.owners: dict[str, str] = {}
        """Each key that an entry with effect has named, and whose it is."""
        self.terms: dict[str, list[Term]] = {}
        self.next_slot = 1
        self.sequence = 0
        """The highest that was read."""
        self._early: set[int] = set()

    def holds(self, n: int, digest: str) -> bool:
        """Whether this is entry `n` of the chain."""
        return 0 < n <= len(self.chain) and self.chain[n - 1].digest == digest

    def ended(self) -> set[str]:
        """Keys and ids that were named and count no longer. A recovery key is none of them."""
        return {key for key, owner in self.owners.items() if owner != _NOBODY and not self._counts(key)}

    def _counts(self, key: str) -> bool:
        return any(term.until is None for term in self.terms.get(key, ()))

    def term(self, key: str, sequence: int | None = None) -> Term | None:
        """The term of a key of a known role that counts for what is stored at `sequence`, or at the head."""
        found = next((term for term in self.terms.get(key, ()) if term.is_at(sequence)), None)
        return found if found is not None and found.key["role"] in ("human", "auto", "device") else None

    def fault(self, key: str, facts: Facts, sequence: int | None = None) -> str | None:
        """Why `key` does not count for what is stored at `sequence`, or at the head; None where it does."""
        term = self.term(key, sequence)
        return "unknown_key" if term is None else fault(term, facts)

    def agent_fault(self, key: str, facts: Facts, sequence: int) -> str | None:
        """The same for an agent: what is more than no has to count at the head, too."""
        found = self.fault(key, facts, sequence)
        return found if found is not None or facts.verdict not in BOUND else self.fault(key, facts)

    def voter(self, key: str, facts: Facts, sequence: int | None = None) -> str | None:
        """The operator whose vote it is; None where it is not counted."""
        term = self.term(key, sequence)
        return None if term is None or fault(term, facts) else term.operator

    def apply(self, slot: int, sequence: int, message: bytes) -> str:
        """What becomes of a message: `ok`, `no_change`, or why it does nothing."""
        early = sequence <= self.sequence or slot != self.next_slot
        self.sequence = max(self.sequence, sequence)
        if slot == self.next_slot:
            self.next_slot += 1
            while self.next_slot in self._early:
                self._early.remove(self.next_slot)
                self.next_slot += 1
        elif slot > self.next_slot:
            self._early.add(slot)
        if early:
            return "gap"
        entry = read_entry(message)
        if entry is None:
            return "unreadable"
        if not entry.is_signed(self.realm):
            return "bad_signature"
        return self._link(entry, slot, sequence)

    def _link(self, entry: Entry, slot: int, sequence: int) -> str:
        body, n, digest = entry.body, len(self.chain) + 1, entry.digest
        prev = self.chain[-1].digest if self.chain else None
        if (body["n"], body["prev"]) != (n, prev) or (n == 1 and digest != self.root):
            return "not_next"
        term = self.term(entry.key)
        own = term.operator if term is not None and term.key["role"] == "human" else None
        if n > 1 and own is None and entry.key != self.recovery:
            return "unknown_key"
        draft = _Draft(dict(self.operators), self.acceptance, self.recovery)
        word = self._judge(body, own, draft)
        if word == "ok" or n > 1:
            self.chain.append(Linked(n, digest, slot, sequence))
        if word == "ok":
            self._take(draft, n, sequence)
        return word

    def _judge(self, body: Mapping[str, Any], own: str | None, draft: _Draft) -> str:
        records, settings = body.get("operators", []), body.get("realm", {})
        if not are_records(records) or not is_settings(settings) or not all(map(self._names_itself, records)):
            return "bad_record"
        everything = own is None or self.operators[own].get("admin", False)
        same = True
        for record in records:
            word = self._record(record, body["by"], own, everything, draft)
            if word not in ("ok", "no_change"):
                return word
            same &= word == "no_change"
        acceptance = settings.get("acceptance", self.acceptance)
        if acceptance != self.acceptance:
            if not everything:
                return "not_permitted"
            draft.acceptance, same = acceptance, False
        recovery = settings.get("recovery")
        if recovery is not None and recovery["key"] != self.recovery:
            key = recovery["key"]
            if self._owner(key, draft) is not None:
                return "key_taken"
            if not self._proves(key, recovery["proof"], f"{key}\nrecovery"):
                return "bad_proof"
            if not everything or (self.recovery not in (None, body["by"])):
                return "not_permitted"
            draft.owners[key], draft.recovery, same = _NOBODY, key, False
        if not any(record.get("admin", False) for record in draft.operators.values()):
            return "last_admin"
        return "no_change" if same else "ok"

    def _names_itself(self, record: Mapping[str, Any]) -> bool:
        """A new operator's id is one of the desk keys."""
        desks = (key["key"] for key in record["keys"] if key["role"] == "human")
        return not record["keys"] or record["id"] in self.owners or record["id"] in desks

    def _record(self, record: Mapping[str, Any], by: str, own: str | None, everything: bool, draft: _Draft) -> str:
        who, keys = record["id"], {key["key"]: key for key in record["keys"]}
        before = self.operators.get(who)
        had = {key["key"]: key for key in before["keys"]} if before is not None else {}
        coming = keys.keys() - had.keys()
        owner = self._owner(who, draft)
        if owner not in (None, who) or any(self._owner(name, draft) is not None for name in coming):
            return "key_taken"
        if keys and before is None and owner is not None:
            return "key_taken"
        changed = [name for name in keys if name in coming or canonical(keys[name]) != canonical(had[name])]
        for name in changed:
            role = keys[name]["role"]
            if role in ("human", "auto") and not self._proves(name, keys[name]["proof"], f"{who}\n{role}"):
                return "bad_proof"
        himself = own == who
        if before is None:
            if owner is not None:
                return "no_change"
            founder = not self.chain and by in keys and keys[by]["role"] == "human"
            if not everything or (keys.keys() - {who} and not founder):
                return "not_permitted"
        else:
            ends = had.keys() - keys.keys()
            renamed = keys and canonical(record, "id", "keys") != canonical(before, "id", "keys")
            if not (changed or ends or renamed):
                return "no_change"
            if (changed and not himself) or (ends and not (everything or himself)) or (renamed and not everything):
                return "not_permitted"
        draft.touched.append(who)
        draft.owners[who] = who
        draft.owners |= dict.fromkeys(coming, who)
        if keys:
            draft.operators[who] = record
        else:
            draft.operators.pop(who, None)
        return "ok"

    def _owner(self, key: str, draft: _Draft) -> str | None:
        return draft.owners.get(key, self.owners.get(key))

    def _proves(self, key: str, proof: str, payload: str) -> bool:
        return verify(key, proof, "key", self.realm, SUBJECT, payload.encode())

    def _take(self, draft: _Draft, n: int, sequence: int) -> None:
        for who in draft.touched:
            before, after = self.operators.get(who), draft.operators.get(who)
            keys = {key["key"]: key for key in after["keys"]} if after is not None else {}
            limits = meaning(after.get("limits")) if after is not None else None
            for old in before["keys"] if before is not None else ():
                term = self.terms[old["key"]][-1]
                new = keys.get(old["key"])
                if new is not None and term.limits == limits and canonical(new) == canonical(term.key):
                    del keys[old["key"]]
                else:
                    term.until = sequence
            for name, key in keys.items():
                self.terms.setdefault(name, []).append(Term(n, sequence, who, limits, key))
        self.operators, self.acceptance, self.recovery = draft.operators, draft.acceptance, draft.recovery
        self.owners |= draft.owners


def fault(term: Term, facts: Facts) -> str | None:
    """Why a key with this term does not count for a decision or a vote."""
    absent = absence(term, facts.at, facts.verifies)
    return absent or ("wrong_role" if is_misplaced(term, facts.verdict, facts.origin) else _excess(term, facts))


def absence(term: Term | None, at: str, verifies: Iterable[str]) -> str | None:
    """Section 5, step 3: why a key with this term does not count at all."""
    if term is None:
        return "unknown_key"
    if term.key["role"] == "device":
        until = term.key.get("until")
        if not is_moment(until) or until <= at:
            return "unknown_key"
        if "webauthn" not in verifies:
            return "device_unsupported"
    return None


def is_misplaced(term: Term | None, verdict: str, origin: str) -> bool:
    """Step 10: whether the role does not fit the origin, or the origin the verdict. Without a term any role fits."""
    if term is not None and (term.key["role"] == "auto") is (origin == "operator"):
        return True
    if verdict in SAID:
        return origin != SAID[verdict]
    return verdict in DECIDED - {"deny"} and origin not in _DECIDING


def _excess(term: Term, facts: Facts) -> str | None:
    """Step 16: what does not let the key decide so."""
    role, verdict = term.key["role"], facts.verdict
    own = meaning(term.key.get("limits"))
    if role == "device" and not device_may(own, verdict, facts.workspace, facts.risk, facts.effects):
        return "device_limit"
    binding = (term.limits, own if role == "auto" else None)
    if verdict in BOUND and not all(
        limits is None or limits.allow(facts.workspace, facts.risk) for limits in binding
    ):
        return "beyond_limit"
    return None
