"""The protocol's words that an agent says (sections 2, 5 and 6).

Refuses a stage that is none: a console sets such a receipt aside, and the agent would never hear of it. Of the other
words the types are for a checker to find a slip; a framework may have its own, and a console reads an unknown risk as
critical and leaves out an unknown verdict.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, get_args

from .errors import InvalidRequestError

Risk = Literal["safe", "low", "medium", "high", "critical"]
"""From the lowest to the highest."""

Effects = Literal["read", "write", "irreversible", "unknown"]
"""What a tool does to the world."""

Verdict = Literal["approve", "modify", "deny", "skip", "respond", "escalate", "terminate"]
"""What an operator may answer."""

Answer = Literal[
    "approve", "modify", "deny", "skip", "respond", "escalate", "terminate", "expired", "withdrawn", "rejected"
]
"""What an agent may hear: a verdict, or a word of the system."""

Stage = Literal["received", "executed", "failed", "refused"]
"""How far an agent got with a decision."""

RISKS: tuple[Risk, ...] = get_args(Risk)
STAGES: tuple[Stage, ...] = get_args(Stage)


def tool_slug(name: str) -> str:
    """A tool's name as requests and hellos spell it, the same in every SDK: itself where it is 1 to 64 of
    `A-Z a-z 0-9 _ . -`, else what of it is, and 8 hexadecimal digits of its SHA-256."""
    if re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name):
        return name
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-")[:55]
    return f"{plain or 'tool'}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def check_word(word: object, words: tuple[str, ...], what: str) -> None:
    """Raises `InvalidRequestError` (`wrong_type`) unless it is one of them."""
    if word not in words:
        raise InvalidRequestError(f"{what} is {word!r}; it has to be one of {', '.join(words)}", code="wrong_type")
