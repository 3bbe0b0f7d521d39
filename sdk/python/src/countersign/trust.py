"""The keys that may sign (protocol, sections 5 and 8). Pure: never reads the bus or a clock.

Refuses an operators list that no trusted human key without limits signed, nor one that descends from such a key, and
one that is not later than the list it has: by the time that was signed, for whoever may write can store an old list
again.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .clock import parse_rfc3339
from .enrolment import TrustedKey
from .signature import decode_base64url, verify

OPERATORS_SUBJECT = "$KV.CS_POLICY.operators"

# Signers know the server's time by an estimate; a list that was signed further ahead would be the last one.
AHEAD = dt.timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Trust:
    """The keys in force. `revision` is the stream sequence of the list they came from, 0 for `agent.json`; `at` is
    when it was signed, None for `agent.json`.

    `insecure` is set only where the caller asked for it and there is no key at all: signatures are then not asked
    for, every other check stays.
    """

    realm: str
    keys: tuple[TrustedKey, ...]
    revision: int = 0
    insecure: bool = False
    at: dt.datetime | None = None

    def role_at(self, key: str, moment: dt.datetime) -> str | None:
        """The role of `key` at server time `moment`; None if it was not in force then, or in two roles at once."""
        roles = {entry.role for entry in self.keys if entry.key == key and _in_force(entry, moment)}
        return roles.pop() if len(roles) == 1 else None

    def may_edit_at(self, key: str, moment: dt.datetime) -> bool:
        """Whether `key` may change the list at server time `moment`: a person's, without limits."""
        terms = [entry for entry in self.keys if entry.key == key and _in_force(entry, moment)]
        return self.role_at(key, moment) == "human" and not any(entry.is_limited() for entry in terms)

    def may_list(self, key: str, moment: dt.datetime) -> bool | None:
        """Whether `key` may sign a list that is stored at `moment`; None for a key that is not known."""
        if not any(entry.key == key for entry in self.keys):
            return None
        # An operator under limits could write himself out of them.
        return self.may_edit_at(key, moment)

    def may_allow(self, key: str, moment: dt.datetime, workspace: str, risk: str) -> bool:
        """Whether no limit of `key` at server time `moment` keeps it from saying more than no."""
        return all(
            entry.may_allow(workspace, risk) for entry in self.keys if entry.key == key and _in_force(entry, moment)
        )

    def voter(self, key: str, moment: dt.datetime) -> str:
        """The key under which a person's votes count: the first of those that handed over, one to the next, up to
        `key`, by what had begun at server time `moment`. Keys of a ring are one person."""
        chain = [key]
        while (before := self._before(chain[-1], moment)) is not None:
            if before in chain:
                return min(chain[chain.index(before) :])
            chain.append(before)
        return chain[-1]

    def _before(self, key: str, moment: dt.datetime) -> str | None:
        begun = (entry for entry in self.keys if entry.key == key and _begun(entry, moment))
        return next((entry.took_over for entry in begun if entry.took_over is not None), None)


def _begun(entry: TrustedKey, moment: dt.datetime) -> bool:
    return entry.since is None or parse_rfc3339(entry.since) <= moment


def _in_force(entry: TrustedKey, moment: dt.datetime) -> bool:
    if not _begun(entry, moment):
        return False
    return entry.until is None or moment < parse_rfc3339(entry.until)


def take_over(trust: Trust, stored: bytes, revision: int, moment: dt.datetime) -> Trust:
    """The trust that follows from the stored `operators` value; `trust` itself if the list is not acceptable.

    `revision` and `moment` are the stored message's sequence and server time stamp.
    """
    if trust.insecure:
        return trust
    try:
        envelope = json.loads(stored)
        value = json.loads(decode_base64url(envelope["payload"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return trust
    followed = _follow(trust, envelope, revision, moment)
    base = value.get("base") if isinstance(value, dict) else None
    if followed is not trust or base is None:
        return followed
    # Its signer could not write it any other way, and says so: the list that it was written over counts.
    return _follow(trust, base, revision, moment, timed=True)


def _follow(trust: Trust, envelope: Any, revision: int, moment: dt.datetime, timed: bool = False) -> Trust:
    try:
        key, sig = envelope["key"], envelope["sig"]
        payload = decode_base64url(envelope["payload"])
        value = json.loads(payload)
        at = _signed_at(value)
        if timed and at is None:
            return trust
        # The list is read before every answer, and is mostly the one that is held: it is not verified again.
        if not _is_later(trust, at, revision, moment):
            return trust
        if not verify(key, sig, "policy", trust.realm, OPERATORS_SUBJECT, payload):
            return trust
        keys = tuple(_entries(value, trust.realm))
        listed = Trust(trust.realm, keys)
        # A signer that is not known counts only as far as its own list lets it.
        counts = trust.may_list(key, moment) or listed.may_edit_at(key, moment)
        if not counts or not _descends(value, listed, key, trust, moment):
            return trust
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return trust
    return Trust(trust.realm, keys, revision, at=at) if keys else trust


def _signed_at(value: Any) -> dt.datetime | None:
    at = value.get("at") if isinstance(value, dict) else None
    return None if at is None else parse_rfc3339(at)


def _is_later(trust: Trust, at: dt.datetime | None, revision: int, moment: dt.datetime) -> bool:
    """Whether a list takes the place of the one that is held. A bucket that is made anew counts its revisions anew:
    only the signed time counts. Of two lists without a time the later revision counts."""
    if at is None:
        return trust.at is None and revision > trust.revision
    if trust.at is None:
        return at - moment <= AHEAD
    return trust.at < at and at - max(trust.at, moment) <= AHEAD


def _descends(value: Any, listed: Trust, key: str, trust: Trust, moment: dt.datetime) -> bool:
    """Whether `key` may sign a list for `trust`, or took over from a key that may or was vouched for by one, however
    many keys lie between. What is known not to count leads nowhere: a key that was taken away brings no others in."""
    entries = value["operators"] if isinstance(value, dict) else value
    people = {entry.key for entry in listed.keys if entry.role == "human"}
    words = _words(value)
    seen: set[str] = set()
    left = [key]
    while left:
        key = left.pop()
        known = trust.may_list(key, moment)
        if known:
            return True
        if known is False or key in seen or key not in people:
            continue
        seen.add(key)
        before = (_predecessor(entry, key, trust.realm) for entry in entries)
        vouched = (_voucher(word, key, listed) for word in words.get(key, ()))
        left.extend(old for old in (*before, *vouched) if old is not None)
    return False


def _words(value: Any) -> dict[str, list[dict[str, Any]]]:
    """What is said in `vouched`, by the key that it is said for; no signature was looked at."""
    words: dict[str, list[dict[str, Any]]] = {}
    for word in value.get("vouched", []) if isinstance(value, dict) else []:
        said = json.loads(decode_base64url(word["payload"]))
        if isinstance(said, dict) and isinstance(said.get("key"), str):
            words.setdefault(said["key"], []).append(word)
    return words


def _voucher(word: dict[str, Any], key: str, listed: Trust) -> str | None:
    """The key that vouched for `key`, if it said so itself and was then a person's key without limits."""
    by, payload = word["key"], decode_base64url(word["payload"])
    said = json.loads(payload)
    if said.get("v") != 1 or said.get("by") != by or said["key"] != key or by == key:
        return None
    if not listed.may_edit_at(by, parse_rfc3339(said["at"])):
        return None
    signed = verify(by, word["sig"], "policy", listed.realm, f"{OPERATORS_SUBJECT}.{key}", payload)
    return by if signed else None


def _predecessor(entry: Any, key: str, realm: str) -> str | None:
    """The key from which `key` took over by this entry, if that key said so itself."""
    if not isinstance(entry, dict) or entry.get("key") != key or entry.get("role") != "human":
        return None
    word = entry.get("takes_over")
    if not isinstance(word, dict):
        return None
    old, payload = word["key"], decode_base64url(word["payload"])
    if not verify(old, word["sig"], "policy", realm, f"{OPERATORS_SUBJECT}.{key}", payload):
        return None
    said = json.loads(payload)
    return old if said.get("v") == 1 and said.get("old") == old and said.get("new") == key else None


def _entries(value: Any, realm: str) -> Iterable[TrustedKey]:
    """A bare list is accepted beside `{"v": 1, "operators": […]}`; an entry of an unknown role is left out."""
    listed = value["operators"] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise ValueError("operators is a list")
    for entry in listed:
        if isinstance(entry, dict) and entry.get("role") not in ("human", "auto"):
            continue
        known = TrustedKey.parse(entry)
        try:
            yield replace(known, took_over=_predecessor(entry, known.key, realm))
        except (ValueError, KeyError, TypeError, AttributeError):
            yield known
