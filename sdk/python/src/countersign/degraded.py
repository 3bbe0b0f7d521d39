"""What of an answer cannot be honoured, as the caller of `ask` reports it (`degraded` of the receipt `received`)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable

from .verify import Decision

log = logging.getLogger("countersign")

Degraded = Callable[[Decision], list[str] | Awaitable[list[str] | None] | None]
"""From a verified decision to the words; an awaitable where they are known later only."""


async def words_of(degraded: Degraded | None, decision: Decision) -> list[str] | None:
    """The words. A fault of the caller's function does not hold the answer back."""
    if degraded is None:
        return None
    try:
        found = degraded(decision)
        words = await found if inspect.isawaitable(found) else found
    except Exception as error:
        log.warning("could not determine what of a decision cannot be honoured: %s", type(error).__name__)
        return None
    if words is None or (isinstance(words, list) and all(isinstance(word, str) for word in words)):
        return words
    log.warning("what of a decision cannot be honoured has to be a list of words")
    return None
