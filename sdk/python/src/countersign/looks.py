"""Looks at the realm log, and at a decision beside it (protocol, section 8).

Believes only what two looks in a row show alike: so all of it was there at one moment.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Sequence

from .bus import Bus
from .enrolment import LogHead
from .errors import BusUnreachableError
from .log import Log, Stored, subject_of
from .realm import Realm

log = logging.getLogger("countersign")

WINDOW = 64
"""Slots that are asked for at once."""


class Looks:
    """The log that one gate knows, and how it is read."""

    def __init__(self, realm: str, head: LogHead | None) -> None:
        self._log = Log(realm, head)
        self._bus: Bus
        self._restarting: asyncio.Task[None] | None = None
        self._said: str | None = None

    def connect(self, bus: Bus, io_timeout: float) -> None:
        """The connection that it reads by; nothing is read yet."""
        self._bus, self._io_timeout = bus, io_timeout

    @property
    def state(self) -> Realm:
        """Who may sign, as it was read last."""
        return self._log.state

    @property
    def fault(self) -> str | None:
        """Why nothing that lets a call run may be believed: the log lacks an entry that is known to be in it."""
        return self._log.fault

    async def refresh(self) -> None:
        """Read what is new. What cannot be read now is read at the next look."""
        try:
            async with asyncio.timeout(self._io_timeout):
                await self.at(None)
        except (TimeoutError, BusUnreachableError) as error:
            log.info("could not read the log of operators: %s", str(error) or "it takes longer")

    async def at(self, subject: str | None) -> Stored | None:
        """What is stored on `subject`; where something is, `state` is as it was at the same moment.

        Raises a bus error, also for an answer that cannot be read.
        """
        try:
            found = await self._both(subject)
        except BusUnreachableError as error:
            self._say(f"nothing is believed while the log of operators cannot be read: {error}")
            raise
        if self.fault is None:
            self._said = None
        return found

    async def _both(self, subject: str | None) -> Stored | None:
        known, places = self._log, [subject] if subject is not None else []
        if self.fault is not None:
            await self._restart()
        before: tuple[object, ...] = ()
        expected = 0
        while self.fault is None and known.last is not None:
            last, first = known.last, known.state.next_slot
            found, new = await self._look([*places, last.subject], first, expected)
            if places and found[0] is None:
                return None
            now, expected = (last, first, found, new), len(new)
            if now != before or known.last is not last or known.state.next_slot != first:
                before = now
            elif known.extend(found[-1], new):
                return found[0]
            else:
                await self._restart()
        return (await self._get(places))[0] if places else None

    async def _restart(self) -> None:
        """Read from the first slot on. All who wait share one reading, and it goes on where they wait no longer."""
        if self._restarting is None or self._restarting.done():
            self._restarting = asyncio.create_task(self._read_whole())
            self._restarting.add_done_callback(lambda task: task.cancelled() or task.exception())
        await asyncio.shield(self._restarting)

    async def _read_whole(self) -> None:
        before: list[Stored] | None = None
        expected = self._log.known[0]
        while (slots := (await self._look([], 1, expected))[1]) != before:
            before, expected = slots, len(slots)
        self._log.restart(slots)
        if self.fault is not None:
            self._say(
                f"{self.fault}: the bus lacks entry {self._log.known[0]} of the log of operators; "
                "nothing that lets a call run is believed until it is there again"
            )

    async def _look(
        self, places: Sequence[str], first: int, expected: int
    ) -> tuple[list[Stored | None], list[Stored]]:
        """What is stored there, and in every slot from `first` on until one is free. So many are expected."""
        window = min(expected + 1, WINDOW)
        found = await self._get([*places, *map(subject_of, range(first, first + window))])
        others, got = found[: len(places)], found[len(places) :]
        slots: list[Stored] = []
        while True:
            taken = [stored for stored in itertools.takewhile(bool, got) if stored is not None]
            slots += taken
            if len(taken) < len(got):
                return others, slots
            window, at = min(2 * window, WINDOW), first + len(slots)
            got = await self._get([*map(subject_of, range(at, at + window))])

    async def _get(self, subjects: Sequence[str]) -> list[Stored | None]:
        return await asyncio.gather(
            *(self._bus.direct_get(subject, timeout=self._io_timeout) for subject in subjects)
        )

    def _say(self, why: str) -> None:
        if why != self._said:
            log.warning("%s", why)
        self._said = why

    def close(self) -> None:
        """Stop reading."""
        if self._restarting is not None:
            self._restarting.cancel()
