"""Entries of the realm log and the records in them, by their form (protocol, section 8). Pure.

Refuses what another reader could take for something else: null where a value is due, numbers that are not whole,
names of no grammar.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import rfc8785

from .enrolment import NAME
from .signature import decode_base64url, decode_public_key, is_digest, verify
from .strict import read_strict
from .words import RISKS

MAX_ENTRY_BYTES = 32_768
SUBJECT = "countersign.v1.realm"
"""What every entry is signed for, whatever slot it is in."""

_SLOT = re.compile(re.escape(SUBJECT) + r"\.([1-9][0-9]{0,14})")
_DEVICE_KEY = re.compile(r"W[A-Z2-7]{52}")
_LIMITS = frozenset({"workspaces", "max_risk"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What limits mean. `workspaces` None: all of them; `max_risk` None: any."""

    workspaces: frozenset[str] | None
    max_risk: str | None

    def allow(self, workspace: str, risk: str) -> bool:
        """Whether what is more than no may be said to a request of this workspace and effective risk."""
        if self.workspaces is not None and workspace not in self.workspaces:
            return False
        return self.max_risk is None or RISKS.index(risk) <= RISKS.index(self.max_risk)


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of a slot in the form of an entry. No signature was looked at."""

    key: str
    sig: str
    payload: bytes
    body: Mapping[str, Any]

    @property
    def digest(self) -> str:
        return "sha256:" + hashlib.sha256(self.payload).hexdigest()

    def is_signed(self, realm: str) -> bool:
        by_itself = self.body["by"] == self.key
        return by_itself and verify(self.key, self.sig, "realm", realm, SUBJECT, self.payload)


def slot_of(subject: str) -> int | None:
    """The slot that a subject names; None for every other subject."""
    found = _SLOT.fullmatch(subject)
    return int(found[1]) if found else None


def read_entry(message: bytes) -> Entry | None:
    """None where the message has another form; `operators` and `realm` are not looked at."""
    try:
        if len(message) > MAX_ENTRY_BYTES:
            return None
        envelope = read_strict(message)
        key, sig = envelope["key"], envelope["sig"]
        if not is_public_key(key) or len(decode_base64url(sig)) != 64:
            return None
        payload = decode_base64url(envelope["payload"])
        body = read_strict(payload)
        policy = body["policy"]
        fits = (
            _is_count(body["v"], 1)
            and body["v"] == 1
            and _is_count(body["n"], 1)
            and (body["prev"] is None or is_digest(body["prev"]))
            and is_text(body["at"], 64)
            and is_public_key(body["by"])
            and (policy is None or (is_text(policy["epoch"], 64) and _is_count(policy["seq"], 0)))
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return Entry(key, sig, payload, body) if fits else None


def are_records(operators: Any) -> bool:
    """Whether `operators` has its form, and names no operator and no key twice."""
    if not isinstance(operators, list) or len(operators) > 100 or not all(map(_is_record, operators)):
        return False
    keys = [key["key"] for record in operators for key in record["keys"]]
    return len({record["id"] for record in operators}) == len(operators) and len(set(keys)) == len(keys)


def is_settings(realm: Any) -> bool:
    """Whether `realm` has its form."""
    if not isinstance(realm, dict) or not isinstance(realm.get("acceptance", False), bool):
        return False
    if "recovery" not in realm:
        return True
    recovery = realm["recovery"]
    if not isinstance(recovery, dict):
        return False
    return is_public_key(recovery.get("key")) and is_text(recovery.get("proof"), 4096, least=0)


def meaning(limits: Any) -> Limits | None:
    """Of limits in their form; None where they name nothing."""
    if limits is None:
        return None
    if not limits.keys() <= _LIMITS:
        return Limits(frozenset(), RISKS[0])
    workspaces, risk = limits.get("workspaces"), limits.get("max_risk")
    if workspaces is None and risk is None:
        return None
    known = risk if risk is None or risk in RISKS else RISKS[0]
    return Limits(None if workspaces is None else frozenset(workspaces), known)


def canonical(value: Mapping[str, Any], *without: str) -> bytes:
    """What two records, or two keys, are compared by."""
    return rfc8785.dumps({name: field for name, field in value.items() if name not in without})


def is_text(value: Any, most: int, *, least: int = 1) -> TypeGuard[str]:
    """Whether it is a text of so many bytes."""
    return isinstance(value, str) and least <= len(value.encode()) <= most


def is_public_key(value: Any) -> bool:
    """Whether it is a public nkey of a user with the right checksum."""
    try:
        return isinstance(value, str) and bool(decode_public_key(value))
    except ValueError:
        return False


def is_device_key(value: Any) -> bool:
    """Whether it has the form of a device's key."""
    return isinstance(value, str) and _DEVICE_KEY.fullmatch(value) is not None


def _is_count(value: Any, least: int) -> bool:
    return type(value) is int and value >= least


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict) or not is_public_key(record.get("id")):
        return False
    keys, limits, admin = record.get("keys"), record.get("limits"), record.get("admin", False)
    if not isinstance(keys, list) or len(keys) > 16:
        return False
    if not keys:
        return True
    if not all(map(_is_key, keys)) or not any(key["role"] == "human" for key in keys):
        return False
    if not is_text(record.get("name"), 256) or not isinstance(admin, bool) or not _are_limits(limits):
        return False
    return not (admin and meaning(limits))


def _is_key(key: Any) -> bool:
    if not isinstance(key, dict) or not isinstance(key.get("role"), str):
        return False
    name, role, limits = key.get("key"), key["role"], key.get("limits")
    if not is_text(key.get("proof"), 4096, least=0) or not is_text(key.get("device", "-"), 256):
        return False
    if not _are_limits(limits):
        return False
    if role == "device":
        bounded = isinstance(limits, dict) and isinstance(limits.get("max_risk"), str)
        return bounded and is_device_key(name)
    if role in ("human", "auto"):
        return is_public_key(name) and (role == "auto" or meaning(limits) is None)
    return is_text(name, 256) and not name.startswith(("U", "W"))


def _are_limits(limits: Any) -> bool:
    if limits is None:
        return True
    if not isinstance(limits, dict) or not isinstance(limits.get("max_risk"), str | None):
        return False
    workspaces = limits.get("workspaces")
    if workspaces is None:
        return True
    if not isinstance(workspaces, list):
        return False
    return all(isinstance(name, str) and NAME.fullmatch(name) for name in workspaces)
