"""Receipts and withdrawals on their way to the bus.

Refuses to lose one silently: each is tried again, with growing pauses, until a stream has it, the bus refuses it for
good, or ten minutes have passed. Letters of one subject arrive in the order of `post`.
"""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, field

from .bus import Bus
from .clock import ticks
from .errors import BusLoginError, BusTlsError, BusUnreachableError, CountersignError, GateClosedError

log = logging.getLogger("countersign")

TRIED_FOR = 600.0
AT_ONCE = 256
SHORTEST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
LONGEST_CLOSE = 30.0


@dataclass(frozen=True, slots=True)
class Letter:
    """One message to store."""

    subject: str
    payload: bytes = field(repr=False)
    first: bool = False
    """It must be the subject's first message; where another is there already it counts as delivered."""


class Outbox:
    """Where letters are handed in. Its owner sees to it that no more than a limit wait (`len`)."""

    def __init__(self, bus: Bus, *, io_timeout: float, closing_level: int = logging.WARNING) -> None:
        """`closing_level` is that of the log line for each letter that the gate's end cuts off."""
        self._bus = bus
        self._closing_level = closing_level
        self._io_timeout = io_timeout
        self._unsent: set[asyncio.Task[None]] = set()
        self._last: dict[str, asyncio.Task[None]] = {}
        self._sending = asyncio.Semaphore(AT_ONCE)
        self._closed = False

    def __len__(self) -> int:
        """How many letters are neither stored nor given up."""
        return len(self._unsent)

    def post(self, letter: Letter) -> asyncio.Task[None]:
        """Hand in a letter. The task ends when it is stored, with a `CountersignError` when it was given up.

        Do not cancel it: waiting for it may end, the delivery goes on.
        """
        task = asyncio.create_task(self._deliver(letter, self._last.get(letter.subject), ticks() + TRIED_FOR))
        self._unsent.add(task)
        self._last[letter.subject] = task
        task.add_done_callback(lambda done: self._done(letter, done))
        return task

    async def close(self, seconds: float) -> None:
        """Deliver what is handed in. Gives up what is left once `seconds` pass without a delivery, or after half a
        minute in all."""
        until = ticks() + LONGEST_CLOSE
        while self._unsent and ticks() < until:
            ended, _ = await asyncio.wait(set(self._unsent), timeout=seconds)
            if not ended:
                break
        self._closed = True
        for task in set(self._unsent):
            task.cancel()

    def _done(self, letter: Letter, task: asyncio.Task[None]) -> None:
        self._unsent.discard(task)
        if self._last.get(letter.subject) is task:
            del self._last[letter.subject]
        why = GateClosedError("the gate was closed before") if task.cancelled() else task.exception()
        if why is not None:
            level = self._closing_level if isinstance(why, GateClosedError) else logging.WARNING
            log.log(level, "not delivered on %s: %s", letter.subject, why)

    async def _deliver(self, letter: Letter, before: asyncio.Task[None] | None, until: float) -> None:
        if before is not None:
            await asyncio.wait({before})
        pause = SHORTEST_PAUSE
        while True:
            if self._closed:
                raise GateClosedError("the gate is closed")
            try:
                async with self._sending:
                    await self._bus.store(
                        letter.subject, letter.payload, timeout=self._io_timeout, first=letter.first
                    )
                return
            except CountersignError as error:
                passing = isinstance(error, BusUnreachableError | BusLoginError | BusTlsError)
                if not passing or ticks() >= until:
                    raise
            await self._bus.pause(pause)
            # A little apart from the others.
            await asyncio.sleep(pause * random.uniform(0.1, 0.5))  # noqa: S311
            pause = min(pause * 2, LONGEST_PAUSE)
