"""The NATS connection of one agent. Knows subjects and acknowledgements, judges nothing.

Refuses to send while the connection is down: the library would keep every try and send them all much later. Never
subscribes to `decision.>`, never makes a consumer, never sends a message id (protocol, section 1).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import re
from collections.abc import Callable
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.errors import MaxPayloadError, NoRespondersError

from .enrolment import Enrolment
from .errors import BusLoginError, BusRefusedError, BusTlsError, BusUnreachableError, CountersignError
from .log import STREAM, Stored, answered
from .login import GuardedClient, Login, login_fault

log = logging.getLogger("countersign")

# JetStream: the subject already holds a message.
ALREADY_STORED = 10071

# JetStream says these while it is busy, full or electing.
PASSING = frozenset({10008, 10023, 10047, 10077})

_FORBIDDEN = re.compile(r'permissions violation for publish to "([^"]+)"', re.IGNORECASE)


class NotSentError(BusUnreachableError):
    """Nothing was stored, and nothing will be: there was nobody to take the message."""


class Bus:
    """One connection. Every method has a limit of time; none retries."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._in_flight: dict[str, set[asyncio.Future[Msg]]] = {}
        self._came_back = asyncio.Event()
        self._refusal: BusTlsError | BusLoginError | None = None
        self._ended: CountersignError | None = None

    @classmethod
    async def connect(
        cls,
        enrolment: Enrolment,
        *,
        timeout: float,
        on_reconnect: Callable[[], None],
        on_end: Callable[[], None],
        name: str,
    ) -> Bus:
        """Connect within `timeout` seconds or raise `BusUnreachableError`; later losses reconnect automatically.

        `on_end` is called when the connection is closed for good (`ended`).
        """
        login = Login.of(enrolment)
        client = GuardedClient(login)
        bus = cls(client)
        tries = 0

        async def reconnected() -> None:
            nonlocal tries
            tries = 0
            bus._refusal = None
            bus._came_back.set()
            bus._came_back = asyncio.Event()
            on_reconnect()

        def choose(servers: list[Any], _info: dict[str, Any]) -> tuple[Any, float]:
            nonlocal tries
            tries += 1
            pause = min(0.1 * 2 ** min(tries, 6), 5.0) * random.uniform(0.75, 1.0)  # noqa: S311
            return min(servers, key=lambda server: server.reconnects), pause

        last: list[Exception] = []
        # What a retry does not fix.
        final: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        async def reported(error: Exception) -> None:
            last[:] = [error]
            fault = login_fault(error)
            if fault is not None and not final.done():
                final.set_exception(fault)
            if fault is not None and bus._refusal is None:
                log.warning("%s", fault)
            bus._refusal = fault
            bus._report(error)

        async def closed() -> None:
            # The library reconnects after a loss, but not after most of what a server says before it hangs up.
            error = client.last_error
            bus._ended = (login_fault(error) if error is not None else None) or BusRefusedError(
                f"the bus ended the connection: {error}; open the gate again", code="bus_closed"
            )
            on_end()

        async def first() -> None:
            connecting = asyncio.ensure_future(
                client.connect(
                    login.servers,
                    name=name,
                    error_cb=reported,
                    reconnected_cb=reconnected,
                    closed_cb=closed,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=1,
                    reconnect_to_server_handler=choose,
                    inbox_prefix=login.inbox_prefix,
                    ping_interval=10,
                    max_outstanding_pings=2,
                    **login.options,
                )
            )
            try:
                done, _ = await asyncio.wait({connecting, final}, return_when=asyncio.FIRST_COMPLETED)
                done.pop().result()
            finally:
                connecting.cancel()
                final.cancel()

        try:
            async with asyncio.timeout(timeout):
                await first()
        except (BusTlsError, BusLoginError):
            await _close_quietly(client)
            raise
        except (TimeoutError, NatsError, OSError) as error:
            why = last[0] if last else error
            await _close_quietly(client)
            if client.asked_for_certificate and isinstance(why, BrokenPipeError | ConnectionResetError):
                raise BusTlsError(
                    "the server hung up after it asked for a certificate; check tls_cert and tls_key in agent.json"
                ) from error
            raise BusUnreachableError(f"cannot reach the bus: {why or type(why).__name__}") from error
        return bus

    def _report(self, error: Exception) -> None:
        """A forbidden publish is answered only by an event: hand it to whoever waits for that subject."""
        match = _FORBIDDEN.search(str(error))
        if match is None:
            log.info("bus: %s", error)
            return
        subject = match.group(1).lower()  # nats-py gives the text in lower case
        log.warning("the bus forbids publishing on %s", subject)
        for future in self._in_flight.get(subject, set()):
            if not future.done():
                future.set_exception(
                    BusRefusedError(f"this agent may not publish on {subject}; enrol it again", code="permission")
                )

    @property
    def connected(self) -> bool:
        """Whether it is connected right now."""
        return bool(self._client.is_connected)

    @property
    def ended(self) -> bool:
        """Whether the connection will never come back; `away` then says why."""
        return self._ended is not None

    def away(self) -> CountersignError:
        """Why nothing can be sent now."""
        announced = self._ended or self._refusal
        if announced is None:
            return NotSentError("the connection to the bus is down")
        return type(announced)(str(announced), code=announced.code)

    async def pause(self, seconds: float) -> None:
        """Wait so long, or until the connection comes back."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._came_back.wait()

    async def subscribe(self, subject: str, on_message: Callable[[str], None]) -> None:
        """Call `on_message(subject)` for each message. The content is a hint and is not even read."""

        async def received(message: Msg) -> None:
            on_message(message.subject)

        await self._client.subscribe(subject, cb=received)

    async def publish(self, subject: str, payload: bytes) -> None:
        """Send without waiting for anything; lost while the connection is down."""
        if not self.connected:
            return
        try:
            await self._client.publish(subject, payload)
        except NatsError as error:
            raise BusUnreachableError(f"cannot send: {error}") from error

    async def store(self, subject: str, payload: bytes, *, timeout: float, first: bool = False) -> int | None:
        """Publish and wait for the stream's acknowledgement; its sequence.

        With `first` the message must be the subject's first: None means that one is already there.
        Raises `BusRefusedError` where trying again is in vain, `NotSentError` where the message surely is not stored,
        and `BusUnreachableError` where it may be or where the bus may take it a moment later. While the connection is
        down because the bus refuses the login, `BusLoginError` or `BusTlsError`.
        """
        headers = {"Nats-Expected-Last-Subject-Sequence": "0"} if first else None
        reply = await self._request(subject, payload, timeout, headers)
        try:
            ack = json.loads(reply.data)
            error = ack.get("error")
            if error is None:
                return int(ack["seq"])
            code, text = int(error.get("err_code", 0)), str(error.get("description", ""))
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            # Somebody else than JetStream answered; that proves nothing.
            raise BusUnreachableError("the bus sent an unreadable acknowledgement") from problem
        if first and code == ALREADY_STORED:
            return None
        if code in PASSING:
            raise BusUnreachableError(f"the bus does not take the message now: {text} ({code})")
        raise BusRefusedError(f"the bus refused the message: {text} ({code})", code=f"bus_{code}")

    async def direct_get(self, subject: str, *, timeout: float) -> Stored | None:
        """What `CS_DECISIONS` has on `subject`, None if there is nothing. Raises `BusUnreachableError`."""
        reply = await self._request(f"$JS.API.DIRECT.GET.{STREAM}.{subject}", b"", timeout, None)
        try:
            return answered(subject, reply.headers or {}, reply.data)
        except ValueError as error:
            raise BusUnreachableError(f"the bus sent an unreadable answer: {error}") from error

    async def _request(self, subject: str, payload: bytes, timeout: float, headers: dict[str, str] | None) -> Msg:
        if not self.connected:
            raise self.away()
        waiting: asyncio.Future[Msg] = asyncio.ensure_future(
            self._client.request(subject, payload, timeout=timeout, headers=headers)
        )
        forbidden: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()
        self._in_flight.setdefault(subject.lower(), set()).add(forbidden)
        try:
            done, _ = await asyncio.wait({waiting, forbidden}, return_when=asyncio.FIRST_COMPLETED)
            return done.pop().result()
        except NoRespondersError as error:
            raise NotSentError(f"no stream answers on {subject}; is a console running?") from error
        except MaxPayloadError as error:
            raise BusRefusedError("the message is larger than the bus allows", code="too_large") from error
        except (TimeoutError, NatsError, OSError) as error:
            raise BusUnreachableError(f"no answer from the bus: {error}") from error
        finally:
            waiting.cancel()
            forbidden.cancel()
            others = self._in_flight[subject.lower()]
            others.discard(forbidden)
            if not others:
                del self._in_flight[subject.lower()]

    async def close(self) -> None:
        """Send what is buffered and close. Never raises, never takes longer than two seconds."""
        try:
            async with asyncio.timeout(2):
                if self._client.is_connected:
                    await self._client.flush(timeout=1)
        except (TimeoutError, NatsError, OSError):
            log.info("closed with unsent messages")
        await _close_quietly(self._client)


async def _close_quietly(client: Client) -> None:
    """Whatever goes wrong here must not take the place of why the connection is closed."""
    try:
        async with asyncio.timeout(1):
            await client.close()
    except Exception as error:  # one that never began to connect answers with a failed assertion
        log.info("the connection did not close cleanly: %r", error)
