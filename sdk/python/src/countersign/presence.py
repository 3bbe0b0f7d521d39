"""That the agent is there, and what it is: hellos and heartbeats (protocol, section 6)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from .bus import Bus
from .enrolment import Enrolment
from .errors import CountersignError, TooManyWaitingError
from .letters import hello
from .outbox import Outbox
from .wire import Introduction, encode

HEARTBEAT_SECONDS = 10.0


class Presence:
    """Says hello at the start, on change and after a reconnect, and sends a heartbeat every ten seconds."""

    def __init__(self, enrolment: Enrolment, agent: dict[str, Any], introduction: Introduction) -> None:
        """Raises `TypeError` or `InvalidRequestError` for what no hello can say."""
        self._enrolment = enrolment
        self._agent = agent
        self._hello = hello(enrolment, agent, introduction)
        # What stays is what was said, whatever the caller does with its lists.
        self._introduction = copy.deepcopy(introduction)
        self.said: asyncio.Task[None] | None = None
        """The newest hello on its way."""
        self._bus: Bus
        self.hellos: Outbox
        """Apart from receipts and withdrawals, which have a limit of their own."""
        self._beating: asyncio.Task[None] | None = None

    def connect(self, bus: Bus, io_timeout: float) -> None:
        """The connection that it speaks over; nothing is said yet."""
        self._bus, self._io_timeout = bus, io_timeout
        # An agent that ends needs no introduction.
        self.hellos = Outbox(bus, io_timeout=io_timeout, closing_level=logging.INFO)

    def begin(self, at_each_beat: Callable[[], Awaitable[None]]) -> None:
        """Say hello, and send heartbeats from now on."""
        self._say_hello()
        self._beating = asyncio.create_task(self._beat(at_each_beat))

    def reconnected(self) -> None:
        """Say hello again. One that is still on its way is the newest."""
        if self.said is None or self.said.done():
            self._say_hello()

    async def introduce(self, limit: int, **parts: Unpack[Introduction]) -> None:
        """Say what changed. Ends when the bus has it, or after the time-out of one message."""
        if len(self.hellos) >= limit:
            raise TooManyWaitingError(f"{limit} hellos are already waiting for the bus")
        introduction: Introduction = {**self._introduction, **parts}
        self._hello = hello(self._enrolment, self._agent, introduction)
        self._introduction = copy.deepcopy(introduction)
        said = self._say_hello()
        done, _ = await asyncio.wait({said}, timeout=self._io_timeout)
        if done:
            said.result()

    def stop(self) -> None:
        """No more heartbeats."""
        if self._beating is not None:
            self._beating.cancel()

    def _say_hello(self) -> asyncio.Task[None]:
        self.said = self.hellos.post(self._hello)
        return self.said

    async def _beat(self, at_each_beat: Callable[[], Awaitable[None]]) -> None:
        subject = f"countersign.v1.alive.{self._enrolment.workspace}.{self._enrolment.agent}"
        payload = encode({"v": 1, "instance_id": self._agent["instance_id"]})
        while True:
            with contextlib.suppress(CountersignError):
                if self._bus.connected:
                    await self._bus.publish(subject, payload)
                    await at_each_beat()
            await asyncio.sleep(HEARTBEAT_SECONDS)
