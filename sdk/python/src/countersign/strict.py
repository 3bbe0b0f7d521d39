"""JSON as the protocol reads it: what two readers could read differently is refused, not resolved. Pure."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from .digest import check_canonical
from .errors import InvalidRequestError


def read_strict(text: bytes) -> Any:
    """The value of a JSON text in UTF-8. Raises `ValueError` for equal names in one object, numbers that no double
    holds, halves of surrogate pairs, names that begin with a library's mark, and nesting deeper than 64."""
    try:
        value = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=unique_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
        )
        check_canonical(value, what="the message", depth=1)
    except (InvalidRequestError, RecursionError) as error:
        raise ValueError("not JSON that every reader reads alike") from error
    return value


def unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """For `json.loads`: raises `ValueError` where two keys of an object are equal."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _integer(text: str) -> int | float:
    # No integer is written so; other readers make a double of it.
    return -0.0 if text == "-0" else int(text)


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)
