"""Spans on their way to the bus: in order, one at a time, never more than a thousand waiting.

Refuses to hold up the agent: what does not fit, or is not taken after a second try, is dropped and the log says so.
Nothing that decides anything travels here.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging

from .bus import Bus
from .errors import BusUnreachableError, CountersignError

log = logging.getLogger("countersign")

MAX_QUEUED = 1000


class SpanQueue:
    """A queue and the task that empties it. Spans arrive in the order of `put`."""

    def __init__(self, bus: Bus, subject: str, *, io_timeout: float) -> None:
        self._bus = bus
        self._subject = subject
        self._io_timeout = io_timeout
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(MAX_QUEUED)
        self._task = asyncio.create_task(self._send_all())
        self._unsent = 0
        self._dropped = 0
        self._closed = False

    def put(self, payload: bytes) -> None:
        """Queue one message; drops it when the queue is full or closed, and the log says so."""
        if self._closed:
            self._dropped += 1
            log.warning("%d messages for %s dropped: the gate is closed", self._dropped, self._subject)
            return
        try:
            self._queue.put_nowait(payload)
            self._unsent += 1
        except asyncio.QueueFull:
            self._dropped += 1
            log.warning("%d messages for %s dropped: the bus is too slow", self._dropped, self._subject)

    async def close(self, seconds: float) -> None:
        """Send what is queued for at most `seconds`, then stop and drop the rest."""
        self._closed = True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._queue.join()
        if self._unsent:
            log.warning("%d messages for %s dropped: the gate was closed before", self._unsent, self._subject)
        self._task.cancel()

    async def _send_all(self) -> None:
        while True:
            payload = await self._queue.get()
            try:
                await self._send(payload)
            except CountersignError as error:
                self._dropped += 1
                log.warning("a message for %s was not taken: %s", self._subject, error)
            finally:
                self._unsent -= 1
                self._queue.task_done()

    async def _send(self, payload: bytes) -> None:
        while not self._bus.connected:
            await self._bus.pause(5.0)
        try:
            await self._bus.store(self._subject, payload, timeout=self._io_timeout)
        except BusUnreachableError:
            await self._bus.pause(0.5)
            await self._bus.store(self._subject, payload, timeout=self._io_timeout)
