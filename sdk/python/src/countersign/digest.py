"""Digests (protocol, section 4). Refuses any value that has no single canonical form, before it is sent.

Refused: NaN and infinities, integers beyond ±(2^53-1), lone surrogates, keys that are not text, nesting
deeper than 64 and values that JSON does not know. Two programs could read such a value differently.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

import rfc8785

from .errors import InvalidRequestError

MAX_DEPTH = 64
"""Deepest nesting of a whole message, the root being 1 (protocol, section 2)."""

MAX_INTEGER = 2**53 - 1

_NOT_A_KEY = "$serde_json::private::"


def check_canonical(value: Any, *, what: str = "args", depth: int = 2) -> None:
    """Raise `InvalidRequestError` with the protocol's code if `value` has no canonical form.

    `depth` is the level at which `value` itself is; arguments stand at level 2 of a request. Only arrays and
    objects make a level.
    """
    if depth > MAX_DEPTH and isinstance(value, dict | list | tuple):
        raise InvalidRequestError(f"{what} is nested deeper than {MAX_DEPTH} levels; flatten it", code="too_deep")
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, int):
        if not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise InvalidRequestError(
                f"{what} holds an integer beyond 2^53-1; send it as text", code="integer_out_of_range"
            )
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidRequestError(f"{what} holds NaN or an infinity", code="non_finite_number")
    elif isinstance(value, str):
        _check_text(value, what)
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidRequestError(f"{what} has a key that is not text", code="wrong_type")
            _check_text(key, what)
            if key.startswith(_NOT_A_KEY):
                why = f"{what} has a key that consoles take for a mark of their own"
                raise InvalidRequestError(why, code="not_json")
            check_canonical(item, what=what, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            check_canonical(item, what=what, depth=depth + 1)
    else:
        raise InvalidRequestError(
            f"{what} holds a {type(value).__name__}, which JSON does not know; convert it first",
            code="wrong_type",
        )


def _check_text(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidRequestError(f"{what} holds a lone surrogate", code="lone_surrogate") from None


def canonical_json(value: Any) -> bytes:
    """RFC 8785 bytes of `value`. Raises `InvalidRequestError` without a canonical form."""
    check_canonical(value)
    return rfc8785.dumps(value)


def args_digest(args: Any) -> str:
    """`sha256:` and the lowercase hex SHA-256 of the RFC 8785 form of `args`."""
    return payload_digest(canonical_json(args))


def payload_digest(payload: bytes) -> str:
    """`sha256:` and the lowercase hex SHA-256 of exactly these bytes (the `request_digest` of a request)."""
    return "sha256:" + hashlib.sha256(payload).hexdigest()


def selectools64(args: Any) -> str:
    """The digest of `selectools.pending`, 64 hex characters. Shown beside a request, never trusted."""
    text = json.dumps(args or {}, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
