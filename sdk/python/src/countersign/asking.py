"""The requests of one gate that wait for their answers.

Refuses to answer "allowed" for anything but a verified decision in time, and never after a withdraw.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math

from .afterwards import Afterwards
from .bus import Bus
from .degraded import Degraded, words_of
from .errors import AlreadyAskedError, CountersignError, TooManyWaitingError, VoidDecisionError
from .journal import Entry
from .letters import refusal, response_to, withdrawal
from .looks import Looks
from .outbox import Outbox
from .verify import Decision
from .waiting import Wait
from .wire import SentRequest

log = logging.getLogger("countersign")

MAX_WAITING = 10_000
IO_SECONDS = 2.0


class Asking:
    """Asks, waits, and hands in the first receipt of each answer."""

    def __init__(self, looks: Looks) -> None:
        self._bus: Bus
        self._outbox: Outbox
        self._looks = looks
        self.waits: dict[str, Wait] = {}
        """By request id."""
        self._afterwards: Afterwards
        self._idle = asyncio.Event()
        self._idle.set()

    def connect(self, bus: Bus, outbox: Outbox) -> None:
        """The connection that it asks over."""
        self._bus, self._outbox = bus, outbox
        self._afterwards = Afterwards(outbox)

    async def ask(
        self,
        request: SentRequest,
        degraded: Degraded | None,
        entry: Entry | None = None,
        seconds_left: float | None = None,
    ) -> Decision:
        """Wait for a request's answer. One with an entry of the journal stays where the wait ends without an answer;
        any other is withdrawn. `seconds_left` is the timer of one that was begun before."""
        # Each request that ends hands in one letter, which always has to find room.
        if len(self.waits) + len(self._afterwards) + len(self._outbox) >= MAX_WAITING:
            raise TooManyWaitingError(f"{MAX_WAITING} requests and receipts are already waiting")
        if request.request_id in self.waits:
            raise AlreadyAskedError(
                f"request {request.request_id} is already waiting; use a new id for each call", code="already_waiting"
            )
        wait = Wait(
            request,
            self._bus,
            self._looks,
            io_timeout=IO_SECONDS,
            seconds_left=seconds_left,
        )
        self.waits[request.request_id] = wait
        self._idle.clear()
        try:
            return await self._answer(wait, degraded, entry)
        except VoidDecisionError as error:
            if entry is not None:
                entry.end()
            log.warning("refused the decision of %s: %s", request.request_id, error.code)
            self._outbox.post(refusal(wait.request, error.stored, error.code))
            raise
        except BaseException as error:
            if not isinstance(error, Exception | asyncio.CancelledError) or (
                entry is not None and not wait.withdrawn
            ):
                raise
            self._gave_up(wait, degraded, cancelled=isinstance(error, asyncio.CancelledError))
            raise
        finally:
            del self.waits[request.request_id]
            if not self.waits:
                self._idle.set()

    def take_back(self, wait: Wait, reason: str) -> asyncio.Task[None] | None:
        """The withdrawal on its way; None where there is nothing to withdraw, or it was withdrawn already."""
        if wait.withdrawn:
            return None
        reported = self._outbox.post(withdrawal(wait.request, reason)) if wait.may_stand else None
        wait.take_back(reported)
        return reported

    def waiting(self, request_id: str) -> Wait:
        """Raises `CountersignError` (`not_found`)."""
        wait = self.waits.get(request_id)
        if wait is None:
            raise CountersignError("no such request is waiting", code="not_found")
        return wait

    def hint(self, subject: str) -> None:
        """A message arrived on a `decided` subject."""
        wait = self.waits.get(subject.rpartition(".")[2])
        if wait is not None:
            wait.hint()

    def look_again(self) -> None:
        """The connection came back, or ended for good."""
        for wait in self.waits.values():
            wait.look_again()

    async def close(self) -> None:
        """End every wait, and let those who asked take their errors."""
        for wait in list(self.waits.values()):
            wait.close()
        ending = math.inf
        while len(self.waits) < ending:
            ending = len(self.waits)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._idle.wait()

    async def close_afterwards(self) -> None:
        """Look once more for the answers that nobody waits for."""
        await self._afterwards.close(1.0)

    def _gave_up(self, wait: Wait, degraded: Degraded | None, *, cancelled: bool) -> None:
        if not cancelled:
            self.take_back(wait, "the agent gave up")
            return
        # At the very end the deadline has answered already; a withdraw would only hide that.
        if wait.seconds_left > 0 or not wait.placed:
            self.take_back(wait, "the agent stopped waiting")
        self._afterwards.watch(wait, degraded)

    async def _answer(self, wait: Wait, degraded: Degraded | None, entry: Entry | None) -> Decision:
        decision, stored = await wait.run()
        if entry is not None:
            # Before anything else: an answer is handed out once, whatever happens to this process from here on.
            entry.end()
        if decision is None or stored is None:
            self._afterwards.watch(wait, degraded)
            if wait.withdrawn:
                return Decision.unanswered(wait.request.request_id, "withdrawn", "agent")
            return Decision.unanswered(wait.request.request_id, "expired", "timeout")
        words = await words_of(degraded, decision)
        self._outbox.post(response_to(wait.request, decision, stored, withdrawn=wait.withdrawn, degraded=words))
        return decision
