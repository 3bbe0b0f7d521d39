"""The gate: asks the console and waits for the one answer that counts.

Refuses to answer "allowed" for anything but a verified decision in time. Never runs a call itself, except in
`guard`, and never after a withdraw.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import logging
import math
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

from . import clock
from .afterwards import Afterwards
from .bus import Bus
from .enrolment import Enrolment
from .errors import (
    AlreadyAskedError,
    BusUnreachableError,
    CountersignError,
    EnrolmentError,
    GateClosedError,
    TooManyWaitingError,
    VoidDecisionError,
)
from .guard import MAX_THREADS, Guard, guarded
from .letters import (
    ReceiptDetails,
    earlier_deadline,
    hello,
    receipt,
    refusal,
    response_to,
    span_payload,
    withdrawal,
)
from .outbox import Letter, Outbox
from .process import check_process
from .spans import SpanQueue
from .trust import Trust, take_over
from .verify import Decision
from .waiting import Wait
from .wire import AboutCall, Ask, Introduction, Span, build_request, encode, lifetime_of, uuid7
from .words import Stage

log = logging.getLogger("countersign")

MAX_WAITING = 10_000
ALIVE_SECONDS = 10.0
IO_SECONDS = 2.0


class Gate:
    """An agent's connection to its console. Make one with `Gate.connect` and share it between tasks.

    A process that was forked from this one needs a gate of its own: there every method raises `GateClosedError`.
    """

    def __init__(self, enrolment: Enrolment, trust: Trust, agent: dict[str, Any], introduction: Introduction) -> None:
        self._enrolment = enrolment
        self._trust = trust
        self._agent = agent
        self._instance_id: str = agent["instance_id"]
        self._bus: Bus
        self._spans: SpanQueue
        self._outbox: Outbox
        self._hellos: Outbox
        self._afterwards: Afterwards
        self._waits: dict[str, Wait] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._alive: asyncio.Task[None] | None = None
        self._hello = hello(enrolment, agent, introduction)
        self._introduction = copy.deepcopy(introduction)
        self._said: asyncio.Task[None] | None = None
        self._closed = False
        self._process = os.getpid()
        self._idle = asyncio.Event()
        self._idle.set()
        # Of its own: the loop's few threads also look up the names of servers. They end with this object.
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="countersign-guard")

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls,
        enrolment: Enrolment | str | os.PathLike[str] | None = None,
        *,
        insecure: bool = False,
        framework: str | None = None,
        framework_version: str | None = None,
        agent_type: str | None = None,
        parent: str | None = None,
        tools: list[dict[str, Any]] | None = None,
        setup_schema: list[dict[str, Any]] | dict[str, Any] | None = None,
        credentials: list[dict[str, Any]] | None = None,
        skills: list[Any] | dict[str, Any] | None = None,
        connect_timeout: float = 5.0,
    ) -> AsyncIterator[Gate]:
        """An open gate: `async with Gate.connect(path) as gate`.

        `enrolment` is an `Enrolment`, the path of an `agent.json`, or None for `COUNTERSIGN_AGENT_JSON`.
        What it is and has (`framework` to `skills`) is shown to operators (protocol, section 6, `hello`); `parent` is
        the agent that started this one. Raises `EnrolmentError`, `InvalidRequestError` or a bus error.
        """
        known = enrolment if isinstance(enrolment, Enrolment) else Enrolment.load(enrolment)
        if not known.trusted_keys and not insecure:
            raise EnrolmentError("agent.json trusts no key; enrol again, or say insecure=True for a trial")
        trust = Trust(known.realm, known.trusted_keys, insecure=insecure and not known.trusted_keys)
        if trust.insecure:
            log.warning("insecure: signatures of decisions are not checked")
        said = {"framework": framework, "framework_version": framework_version, "type": agent_type, "parent": parent}
        agent = {"instance_id": uuid7(), **{name: value for name, value in said.items() if value is not None}}
        introduction = Introduction(tools=tools, setup_schema=setup_schema, credentials=credentials, skills=skills)
        gate = cls(known, trust, agent, introduction)
        await gate._open(connect_timeout)
        try:
            yield gate
        finally:
            await gate._close()

    @property
    def enrolment(self) -> Enrolment:
        """Who this gate speaks as."""
        return self._enrolment

    async def ask(self, call: Ask, *, timeout: float | None = 60.0) -> Decision:
        """Ask and wait. `timeout` in seconds sets the deadline; None is the longest, 30 days.

        Returns every verified answer, a denial too: look at its `allowed` (`if decision:` raises `TypeError`). Nobody
        answered in time: verdict `expired`. Raises `InvalidRequestError`, `AlreadyAskedError`, `VoidDecisionError` or
        a bus error; none of them allows the call. If it ends without an answer, by an error or because the waiting
        task is cancelled, the request is withdrawn.
        """
        self._check_open()
        # Each request that ends hands in one letter, which always has to find room.
        if len(self._waits) + len(self._afterwards) + len(self._outbox) >= MAX_WAITING:
            raise TooManyWaitingError(f"{MAX_WAITING} requests and receipts wait already")
        lifetime = None if timeout is None else lifetime_of(timeout)
        request = build_request(call, self._enrolment, self._agent, lifetime, clock.now())
        if request.request_id in self._waits:
            raise AlreadyAskedError(
                f"request {request.request_id} waits already; use a new id for each call", code="already_waiting"
            )
        wait = Wait(request, self._bus, lambda: self._trust, self._refresh_trust, io_timeout=IO_SECONDS)
        self._waits[request.request_id] = wait
        self._idle.clear()
        try:
            return await self._answer(wait)
        except VoidDecisionError as error:
            log.warning("refused the decision of %s: %s", request.request_id, error.code)
            self._outbox.post(refusal(wait.request, error.stored, error.code))
            raise
        except asyncio.CancelledError:
            # At the very end the deadline has answered already; a withdraw would only hide that.
            if wait.seconds_left > 0 or not wait.placed:
                self._take_back(wait, "the agent stopped waiting")
            self._afterwards.watch(wait)
            raise
        except Exception:
            self._take_back(wait, "the agent gave up")
            raise
        finally:
            del self._waits[request.request_id]
            if not self._waits:
                self._idle.set()

    async def _answer(self, wait: Wait) -> Decision:
        decision, stored = await wait.run()
        if decision is None or stored is None:
            self._afterwards.watch(wait)
            if wait.withdrawn:
                return Decision.unanswered(wait.request.request_id, "withdrawn", "agent")
            return Decision.unanswered(wait.request.request_id, "expired", "timeout")
        self._outbox.post(response_to(wait.request, decision, stored, withdrawn=wait.withdrawn))
        return decision

    async def withdraw(self, request_id: str, reason: str = "") -> None:
        """Take a waiting request back. Its `ask` ends with what was decided before, or `withdrawn`; it never allows:
        an approval that came first raises `VoidDecisionError` (`withdrawn`).

        Both end when the bus has the withdrawal, or after two seconds; it is then sent again for ten minutes.
        """
        wait = self._waiting(request_id)
        delivered = self._take_back(wait, reason)
        if delivered is not None:
            await asyncio.wait({delivered}, timeout=IO_SECONDS)

    async def tighten(self, request_id: str, seconds_left: float) -> None:
        """Shorten a waiting request's deadline to `seconds_left` from now. What would lengthen it changes nothing.

        Each call shortens the agent's own wait; the console hears of the first only (protocol, section 6), in the
        background.
        """
        wait = self._waiting(request_id)
        lifetime = wait.tighten(seconds_left)
        if lifetime is not None:
            self._outbox.post(earlier_deadline(wait.request, lifetime))

    async def receipt(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """Tell the console how far the call got.

        Does nothing for an answer that nobody stored. Raises `BusUnreachableError` when the bus does not take it
        within two seconds, but goes on trying for ten minutes: do not call it again. `BusRefusedError` is final.
        """
        letter = self._receipt_letter(decision, stage, **details)
        if letter is None:
            return
        if len(self._outbox) >= MAX_WAITING:
            raise TooManyWaitingError(f"{MAX_WAITING} receipts wait for the bus already")
        delivered = self._outbox.post(letter)
        done, _ = await asyncio.wait({delivered}, timeout=IO_SECONDS)
        if not done:
            raise BusUnreachableError("the bus has not taken the receipt yet; it is sent again for ten minutes")
        delivered.result()

    def receipt_later(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """`receipt`, without waiting for it; closing the gate waits for it (up to two seconds).

        Where it cannot be sent, the log says so. Raises `InvalidRequestError` for what is no receipt.
        """
        self._post_later(self._receipt_letter(decision, stage, **details))

    async def introduce(self, **parts: Unpack[Introduction]) -> None:
        """Say hello again because something changed: `tools`, `setup_schema`, `credentials` or `skills`.

        A part that is named replaces what was said of it before (None takes it back); the others stay. Ends when the
        bus has the hello, or after two seconds; it is then sent again for ten minutes and at each reconnect. Raises
        `InvalidRequestError` for what is no hello and `BusRefusedError` where the bus does not take it.
        """
        self._check_open()
        if len(self._hellos) >= MAX_WAITING:
            raise TooManyWaitingError(f"{MAX_WAITING} hellos wait for the bus already")
        introduction: Introduction = {**self._introduction, **parts}
        self._hello = hello(self._enrolment, self._agent, introduction)
        # What stays is what was said, whatever the caller does with its lists.
        self._introduction = copy.deepcopy(introduction)
        said = self._say_hello()
        done, _ = await asyncio.wait({said}, timeout=IO_SECONDS)
        if done:
            said.result()

    def span(self, span: Span) -> None:
        """Queue one step of a trace; a later one with the same ids replaces it. Never waits, never blocks a call.

        Raises `InvalidRequestError` for a span that is no JSON or larger than 900 KiB.
        """
        check_process(self._process)
        self._spans.put(span_payload(span))

    def guard(self, tool_name: str, *, timeout: float | None = 60.0, **about: Unpack[AboutCall]) -> Guard:
        """Decorate a function: each call asks first and runs with the approved arguments.

        Arguments travel by name, so positional-only and `*args` functions are refused at decoration, as are
        generators and what `ToolCall` does not know in `about` (`risk`, `effects`, `description`, …). A method is
        guarded on its object: `gate.guard(...)(office.pay)`. A call raises as `ask` does, `NotAllowedError` unless it
        may run, and `ArgumentsChangedError` for an edit that the function cannot take as it is.

        An `async def` runs in the calling task. Any other function runs in a thread, several of them at once, with
        the caller's context variables; cancelling its call ends it when the function has ended, or at once where no
        thread was free yet, and then nothing ran.
        """
        return guarded(self, tool_name, timeout, about)

    async def _open(self, timeout: float) -> None:
        known = self._enrolment
        self._bus = await Bus.connect(
            known,
            timeout=timeout,
            on_reconnect=self._on_reconnect,
            on_end=self._look_again,
            name=f"{known.workspace}/{known.agent}",
        )
        self._outbox = Outbox(self._bus, io_timeout=IO_SECONDS)
        self._afterwards = Afterwards(self._outbox)
        # Apart, because they are no requests and no receipts. An agent that ends needs no introduction.
        self._hellos = Outbox(self._bus, io_timeout=IO_SECONDS, closing_level=logging.INFO)
        try:
            prefix = f"countersign.v1.decided.{known.workspace}.{known.agent}"
            await self._bus.subscribe(f"{prefix}.*", self._on_hint)
            # The server answers in order: once this is answered the subscription stands (flush is no proof).
            unused = f"countersign.v1.decision.{known.workspace}.{known.agent}.{uuid7()}"
            await self._bus.direct_get("CS_DECISIONS", unused, timeout=timeout)
            await self._refresh_trust()
        except BaseException:
            await self._hellos.close(0)
            await self._bus.close()
            raise
        subject = f"countersign.v1.event.{known.workspace}.{known.agent}"
        self._spans = SpanQueue(self._bus, subject, io_timeout=IO_SECONDS)
        self._say_hello()
        self._alive = asyncio.create_task(self._stay_alive())

    def _on_hint(self, subject: str) -> None:
        wait = self._waits.get(subject.rpartition(".")[2])
        if wait is not None:
            wait.hint()

    def _look_again(self) -> None:
        for wait in self._waits.values():
            wait.look_again()

    def _on_reconnect(self) -> None:
        self._look_again()
        refreshing = asyncio.create_task(self._refresh_trust())
        self._background.add(refreshing)
        refreshing.add_done_callback(self._background.discard)
        # One that is still on its way is the newest.
        if self._said is None or self._said.done():
            self._say_hello()

    async def _refresh_trust(self) -> None:
        """Take over a newer operators list that a trusted human key signed. No list, or no answer: no change."""
        try:
            stored = await self._bus.direct_get("KV_CS_POLICY", "$KV.CS_POLICY.operators", timeout=IO_SECONDS)
        except CountersignError as error:
            log.info("could not read the operators list: %s", error)
            return
        if stored is not None:
            self._trust = take_over(self._trust, stored.payload, stored.sequence, stored.stored_at)

    def _say_hello(self) -> asyncio.Task[None]:
        self._said = self._hellos.post(self._hello)
        return self._said

    async def _stay_alive(self) -> None:
        subject = f"countersign.v1.alive.{self._enrolment.workspace}.{self._enrolment.agent}"
        payload = encode({"v": 1, "instance_id": self._instance_id})
        while True:
            with contextlib.suppress(CountersignError):
                if self._bus.connected:
                    await self._bus.publish(subject, payload)
                    # A key that was retired meanwhile stops counting here, not only at the next unknown one.
                    await self._refresh_trust()
            await asyncio.sleep(ALIVE_SECONDS)

    def _receipt_letter(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> Letter | None:
        """Safe to call from any thread."""
        check_process(self._process)
        known = self._enrolment
        subject = f"countersign.v1.receipt.{known.workspace}.{known.agent}.{decision.request_id}"
        letter = receipt(subject, decision.decision_id or "", stage, **details)
        return letter if decision.decision_id is not None else None

    def _post_later(self, letter: Letter | None) -> None:
        if letter is None:
            return
        if len(self._outbox) >= MAX_WAITING:
            log.warning("not delivered on %s: %d receipts wait already", letter.subject, MAX_WAITING)
            return
        self._outbox.post(letter)

    def _take_back(self, wait: Wait, reason: str) -> asyncio.Task[None] | None:
        """The withdrawal on its way; None where there is nothing to withdraw, or it was withdrawn already."""
        if wait.withdrawn:
            return None
        told = self._outbox.post(withdrawal(wait.request, reason)) if wait.may_stand else None
        wait.take_back(told)
        return told

    def _check_open(self) -> None:
        check_process(self._process)
        if self._closed:
            raise GateClosedError("the gate is closed")

    def _waiting(self, request_id: str) -> Wait:
        check_process(self._process)
        wait = self._waits.get(request_id)
        if wait is None:
            raise CountersignError("no such request waits", code="not_found")
        return wait

    async def _close(self) -> None:
        if os.getpid() != self._process:
            return  # the gate is the parent's
        self._closed = True
        for wait in list(self._waits.values()):
            wait.close()
        if self._alive is not None:
            self._alive.cancel()
        ending = math.inf
        while len(self._waits) < ending:
            ending = len(self._waits)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._idle.wait()
        await self._spans.close(1.0)
        await self._afterwards.close(1.0)
        limit = 2.0 if self._bus.connected else 0.1
        await asyncio.gather(self._outbox.close(limit), self._hellos.close(limit))
        if self._background:
            await asyncio.wait(set(self._background), timeout=limit)
        for task in set(self._background):
            task.cancel()
        await self._bus.close()
