"""The fields of a decision and of a vote (protocol, section 5). Pure.

Refuses every field of another type or spelling, optional ones too: a console calls such a decision void and raises an
alarm, and an agent that ran it all the same would contradict the console.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .clock import is_rfc3339
from .enrolment import REQUEST_ID
from .passkey import MAX_ASSERTION
from .records import is_device_key, is_public_key
from .signature import decode_base64url

Check = Callable[[Any], bool]
Fields = Mapping[str, Check]

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_ORIGINS = frozenset({"operator", "rule", "setup_key", "timeout", "agent", "system"})
_SCOPES = frozenset({"once", "session", "always"})


def misshapen(value: Mapping[str, Any], required: Fields, optional: Fields) -> str | None:
    """The first field that is missing or not what it must be; None where all are. Null means an absent optional
    field, unknown fields are kept."""
    for name, check in required.items():
        if name not in value or not check(value[name]):
            return name
    for name, check in optional.items():
        if value.get(name) is not None and not check(value[name]):
            return name
    return None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _matches(pattern: re.Pattern[str]) -> Check:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_one(value: Any) -> bool:
    return type(value) is int and value == 1


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_moment(value: Any) -> bool:
    return isinstance(value, str) and is_rfc3339(value)


def _is_key(value: Any) -> bool:
    """Of a person, of a console or of a device."""
    return is_public_key(value) or is_device_key(value)


def _is_signature(value: Any) -> bool:
    """Of 64 bytes, or an assertion's three parts."""
    try:
        parts = [decode_base64url(part) for part in value.split(".")]
    except (ValueError, AttributeError):
        return False
    return len(value) <= MAX_ASSERTION and (len(parts) == 3 or [len(part) for part in parts] == [64])


def _is_anything(_: Any) -> bool:
    return True


def _object(required: Fields, optional: Fields) -> Check:
    return lambda value: isinstance(value, dict) and misshapen(value, required, optional) is None


def _list(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(item) for item in value)


_DECIDED_BY = _object({"name": _is_text, "key": _is_key}, {})
_RULE = _object({"id": _is_text, "version": _is_count}, {"name": _is_text})
_RESPONSE = _object({"content": _is_anything}, {"selected_key": _is_text})
_ATTACHED_VOTE = _object(
    {"key": _is_key, "subject": _is_text, "payload": _is_text, "sig": _is_signature},
    {},
)

DECISION: tuple[Fields, Fields] = (
    {
        "v": _is_one,
        "decision_id": _matches(_UUID),
        "request_id": _matches(REQUEST_ID),
        "request_digest": _matches(_DIGEST),
        "verdict": _is_text,
        "origin": lambda value: _is_text(value) and value in _ORIGINS,
        "decided_by": _DECIDED_BY,
        "decided_at": _is_moment,
    },
    {
        "message": _is_text,
        "args_digest": _matches(_DIGEST),
        "response": _RESPONSE,
        "scope": lambda value: _is_text(value) and value in _SCOPES,
        "rule": _RULE,
        "policy_digest": _matches(_DIGEST),
        "votes": _list(_ATTACHED_VOTE),
    },
)
"""Required and optional fields of a decision."""

VOTE: tuple[Fields, Fields] = (
    {
        "v": _is_one,
        "vote_id": _matches(_UUID),
        "request_digest": _matches(_DIGEST),
        "verdict": _is_text,
        "decided_by": _DECIDED_BY,
        "decided_at": _is_moment,
    },
    {"args_digest": _matches(_DIGEST), "message": _is_text},
)
"""Required and optional fields of a vote."""
