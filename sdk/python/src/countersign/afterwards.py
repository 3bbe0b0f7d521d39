"""Answers that come when their call waits no longer: after the agent's own timer, or after it was taken back.

They run nothing. The console is still informed what became of them: it takes an agent that says nothing of an
approval for one that hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging

from .clock import ticks
from .degraded import Degraded, words_of
from .errors import CountersignError, VoidDecisionError
from .letters import refusal, response_to
from .outbox import Outbox
from .waiting import Wait

log = logging.getLogger("countersign")

PATIENCE = 2.0
"""How long to look on beyond the server's deadline, which is later than the agent's timer by the request's way."""


def pauses() -> itertools.chain[float]:
    """Seconds between two looks."""
    return itertools.chain((0.3, 1.2), itertools.repeat(2.0))


class Afterwards:
    """Looks on for answers. Its owner sees to it that no more than a limit are looked for (`len`)."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._looking: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()

    def __len__(self) -> int:
        """How many requests are looked after; each hands in one letter at most."""
        return len(self._looking)

    def watch(self, wait: Wait, degraded: Degraded | None = None) -> None:
        """Look on for a request that may be on the bus and whose wait ended without an answer."""
        if wait.may_stand and not self._closing.is_set():
            task = asyncio.create_task(self._watch(wait, degraded))
            self._looking.add(task)
            task.add_done_callback(self._looking.discard)

    async def close(self, seconds: float) -> None:
        """Look once more for each, for at most `seconds` in all, then stop."""
        self._closing.set()
        if self._looking:
            await asyncio.wait(set(self._looking), timeout=seconds)
        for task in set(self._looking):
            task.cancel()

    async def _watch(self, wait: Wait, degraded: Degraded | None) -> None:
        until = ticks() + wait.travelled + PATIENCE
        try:
            for pause in pauses():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(pause):
                        await self._closing.wait()
                last = self._closing.is_set() or ticks() >= until
                answer = await wait.look_back()
                if answer is not None:
                    words = await words_of(degraded, answer[0])
                    self._outbox.post(response_to(wait.request, *answer, withdrawn=wait.withdrawn, degraded=words))
                if last or answer is not None:
                    return
        except VoidDecisionError as error:
            log.warning("refused the decision of %s: %s", wait.request.request_id, error.code)
            self._outbox.post(refusal(wait.request, error.stored, error.code))
        except CountersignError as error:
            log.info("does not look on for a decision of %s: %s", wait.request.request_id, error)
