"""One request's wait for its answer, exactly per "How an agent waits" (protocol, section 1).

Believes only what is stored: a message on `decided` merely says when to look. Never returns an answer after the
deadline or after a withdraw.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Iterator

from .bus import Bus, NotSentError
from .clock import ticks
from .errors import (
    AlreadyAskedError,
    BusUnreachableError,
    CountersignError,
    GateClosedError,
    VoidDecisionError,
)
from .log import Stored
from .looks import Looks
from .realm import BOUND
from .verify import Decision, judge
from .wire import SentRequest

log = logging.getLogger("countersign")

# A replica of the stream may lag behind the entry that let somebody in.
UNKNOWN_KEY_PATIENCE = 2.0
# Until a look that the bus did not answer, or whose log lacks what is known, is made again.
UNANSWERED_PAUSE = 1.0


def poll_offsets() -> Iterator[float]:
    """Seconds after publishing at which to look without a hint: 1, 2, 5, then every 15."""
    yield from (1.0, 2.0, 5.0)
    at = 5.0
    while True:
        at += 15.0
        yield at


class Wait:
    """The wait for one request. `run` may be called once."""

    def __init__(
        self,
        request: SentRequest,
        bus: Bus,
        looks: Looks,
        *,
        io_timeout: float,
        seconds_left: float | None = None,
    ) -> None:
        """`seconds_left` is what is left of the timer of a request that an earlier ask may have placed."""
        self.request = request
        self._bus = bus
        self._looks = looks
        self._io_timeout = io_timeout
        self._wake = asyncio.Event()
        self._closed = False
        self._hinted = False
        self._echoes = 0
        self._look_at = math.inf
        self._unknown_since: float | None = None
        self._started = ticks()
        whole = request.lifetime.total_seconds()
        self._deadline = self._started + (whole if seconds_left is None else min(whole, seconds_left))
        self._resumed = seconds_left is not None
        self._passed = 0.0 if seconds_left is None else max(0.0, whole - seconds_left)
        self._told: asyncio.Task[None] | None = None
        self.withdrawn = False
        self.placed = False
        """Whether the bus acknowledged the request."""
        self.may_stand = self._resumed
        """Whether the request may be on the bus, acknowledged or not."""
        self.travelled = 0.0
        """Seconds from the start of the timer to the acknowledgement; by no more is the server's deadline later."""

    def hint(self) -> None:
        """Something arrived on this request's `decided` subject."""
        self._hinted = True
        if not self._echoes:
            self._wake.set()

    def look_again(self) -> None:
        """The connection came back, or ended for good."""
        self._wake.set()

    def take_back(self, reported: asyncio.Task[None] | None) -> None:
        """The request was withdrawn; `told` is the withdrawal on its way, None where the bus never had the request.

        Ends the wait after one last look: of what was decided before, the console still waits to hear.
        """
        self.withdrawn = True
        self._told = reported
        self._wake.set()

    def close(self) -> None:
        """End the wait with `GateClosedError`."""
        self._closed = True
        self._wake.set()

    def tighten(self, seconds_left: float) -> float | None:
        """Shorten the wait; the whole lifetime that remains of it in seconds, None where it would not be shorter."""
        if not seconds_left < self.seconds_left:
            return None
        self._deadline = ticks() + max(0.0, seconds_left)
        self._wake.set()
        return self._passed + self._deadline - self._started

    @property
    def seconds_left(self) -> float:
        """Until the agent's own timer runs out; negative afterwards."""
        return self._deadline - ticks()

    async def run(self) -> tuple[Decision | None, Stored | None]:
        """The verified decision with the message it came from; (None, None) when nobody answered in time, or before
        the request was withdrawn.

        Raises `VoidDecisionError` with the message attached as `stored`, or a bus error if the request could not
        be placed.
        """
        if self._resumed and self.seconds_left <= 0:
            # Its time ran out while nobody waited: nothing is published any more.
            return await self._look(last=True) or (None, None)
        publishing = asyncio.create_task(self._publish())
        publishing.add_done_callback(self._published)
        try:
            return await self._until_answered(publishing)
        finally:
            publishing.cancel()
            # Not `await publishing`: that raises its cancellation, which looks like one of this task.
            await asyncio.wait({publishing})

    def _published(self, publishing: asyncio.Task[None]) -> None:
        if not publishing.cancelled():
            publishing.exception()  # read, so that asyncio does not report it where the answer came first
        self._wake.set()

    async def _until_answered(self, publishing: asyncio.Task[None]) -> tuple[Decision | None, Stored | None]:
        offsets = poll_offsets()
        scheduled = self._started + next(offsets)
        while True:
            await self._sleep_until(min(scheduled, self._look_at, self._deadline))
            if self._closed:
                raise GateClosedError("the gate was closed while the request waited")
            if self.withdrawn:
                publishing.cancel()
                return await self.look_back() or (None, None)
            if self._bus.ended:
                raise self._bus.away()
            if publishing.done() and (failure := publishing.exception()) is not None:
                raise failure
            while scheduled <= ticks():
                scheduled = self._started + next(offsets)
            self._look_at = math.inf
            last = self.seconds_left <= 0
            try:
                answer = await self._look(last)
            except VoidDecisionError as error:
                # An answer to another request of this id: that this one is not the first is said in a moment.
                if error.code != "wrong_request_digest" or publishing.done() or last:
                    raise
                continue
            if answer is not None:
                return answer
            if last:
                if not self.placed and not self._resumed:
                    raise BusUnreachableError("the bus took no request before the deadline")
                return None, None

    async def look_back(self) -> tuple[Decision, Stored] | None:
        """What is stored by now, for a request that was withdrawn or whose time is up. Raises as `run`."""
        if self._told is not None:
            await asyncio.wait({self._told}, timeout=self._io_timeout)
        return await self._look(last=True) if self.may_stand else None

    async def _sleep_until(self, moment: float) -> None:
        try:
            async with asyncio.timeout(max(0.0, moment - ticks())):
                await self._wake.wait()
        except TimeoutError:
            pass
        self._wake.clear()

    async def _look(self, last: bool) -> tuple[Decision, Stored] | None:
        """The message on the decision's subject, if it can be read. One reading per wake."""
        if not self._bus.connected:
            return None  # the reconnect wakes this wait again
        hinted, self._hinted = self._hinted, False
        try:
            # A log that is read from its beginning goes on being read, whoever stops waiting for it.
            async with asyncio.timeout(min(self._io_timeout, 1.0) if last else self._io_timeout):
                stored = await self._looks.at(self.request.subject("decision"))
        except (BusUnreachableError, TimeoutError) as error:
            log.info("could not look for the decision of %s: %s", self.request.request_id, error)
            # What it would have found is still there to be found, and nothing more may be heard of it.
            self._hinted |= hinted
            self._look_at = ticks() + UNANSWERED_PAUSE
            return None
        if stored is None:
            if hinted or self._echoes:
                self._expect_more()
            return None
        try:
            decision = judge(stored, self.request, self._looks.state, self.seconds_left <= 0)
        except VoidDecisionError as error:
            if error.code in ("unknown_key", "too_few_votes", "beyond_limit") and self._may_change(last):
                return None
            error.stored = stored
            raise
        if self._looks.fault is not None and decision.verdict in BOUND:
            self._look_at = ticks() + UNANSWERED_PAUSE
            return None
        return decision, stored

    def _expect_more(self) -> None:
        """A hint without a decision: a replica that lags behind, or nothing. Five looks, ever further apart.

        Until they are done further hints wake nobody, so that empty ones cannot keep the agent busy.
        """
        self._echoes = (self._echoes + 1) % 6
        if self._echoes:
            self._look_at = ticks() + 0.025 * 2**self._echoes
        else:
            log.info("hints for %s have nothing stored behind them", self.request.request_id)

    def _may_change(self, last: bool) -> bool:
        """Whether it is worth looking again: an entry of the log may still be on its way."""
        if last:
            return False
        if self._looks.fault is not None:
            self._look_at = ticks() + UNANSWERED_PAUSE
            return True
        if self._unknown_since is None:
            self._unknown_since = ticks()
        self._look_at = ticks() + 0.25
        return ticks() - self._unknown_since <= UNKNOWN_KEY_PATIENCE

    async def _publish(self) -> None:
        """Place the request, again after a loss, until the deadline. The bytes never change.

        The answer "something is there already" ends it. After a try without an answer that is most likely this
        request; if not, its decision has another `request_digest` and does not verify. Without one it is another's.
        """
        pause = 0.25
        while True:
            before, self.may_stand = self.may_stand, True
            try:
                sequence = await self._bus.store(
                    self.request.subject("request"),
                    self.request.payload,
                    timeout=self._io_timeout,
                    first=True,
                )
            except BusUnreachableError as error:
                if isinstance(error, NotSentError):
                    self.may_stand = before
                log.info("could not place %s yet: %s", self.request.request_id, error)
            except CountersignError:
                self.may_stand = before
                raise
            else:
                if sequence is None and not before:
                    self.may_stand = False
                    raise AlreadyAskedError(
                        f"a request {self.request.request_id} was made before; use a new id for each call"
                    )
                self.placed = True
                self.travelled = ticks() - self._started
                return
            await self._bus.pause(min(pause, max(0.0, self.seconds_left)))
            pause = min(pause * 2, 5.0)
            if self.seconds_left <= 0:
                return
