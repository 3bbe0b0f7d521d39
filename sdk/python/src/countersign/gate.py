"""The gate: asks the console and waits for the one answer that counts.

Refuses to answer "allowed" for anything but a verified decision in time. Never runs a call itself, except in
`guard`, and never after a withdraw.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Unpack

from . import clock
from .asking import IO_SECONDS, MAX_WAITING, Asking
from .bus import Bus
from .degraded import Degraded
from .enrolment import Enrolment
from .errors import (
    BusUnreachableError,
    CountersignError,
    EnrolmentError,
    GateClosedError,
    TooManyWaitingError,
)
from .guard import MAX_THREADS, Guard, guarded
from .journal import Journal, same_call
from .letters import (
    ReceiptDetails,
    earlier_deadline,
    receipt,
    span_payload,
    withdrawal,
)
from .looks import Looks
from .outbox import Letter, Outbox
from .presence import Presence
from .process import check_process
from .spans import SpanQueue
from .verify import Decision
from .wire import (
    AboutCall,
    Ask,
    Introduction,
    SentRequest,
    Span,
    build_request,
    lifetime_of,
    uuid7,
)
from .words import Stage

log = logging.getLogger("countersign")


class Gate:
    """An agent's connection to its console. Make one with `Gate.connect` and share it between tasks.

    A process that was forked from this one needs a gate of its own: there every method raises `GateClosedError`.
    """

    def __init__(self, enrolment: Enrolment, agent: dict[str, Any], introduction: Introduction) -> None:
        self._enrolment = enrolment
        self._looks = Looks(enrolment.realm, enrolment.log)
        self._agent = agent
        self._instance_id: str = agent["instance_id"]
        self._bus: Bus
        self._spans: SpanQueue
        self._outbox: Outbox
        self._asking = Asking(self._looks)
        self._background: set[asyncio.Task[None]] = set()
        self._presence = Presence(enrolment, agent, introduction)
        self._closed = False
        self._process = os.getpid()
        self._journal: Journal | None = None
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
        journal: str | os.PathLike[str] | None = None,
    ) -> AsyncIterator[Gate]:
        """An open gate: `async with Gate.connect(path) as gate`.

        `journal` is a folder in which asks with a `key` survive this process (made if it is missing).

        `enrolment` is an `Enrolment`, the path of an `agent.json`, or None for `COUNTERSIGN_AGENT_JSON`.
        What it is and has (`framework` to `skills`) is shown to operators (protocol, section 6, `hello`); `parent` is
        the agent that started this one. Raises `EnrolmentError`, `InvalidRequestError` or a bus error.
        """
        known = enrolment if isinstance(enrolment, Enrolment) else Enrolment.load(enrolment)
        if known.log is None and not insecure:
            raise EnrolmentError(
                "agent.json names no log of operators; enrol again, or pass insecure=True for a trial"
            )
        if known.log is None:
            log.warning("insecure: signatures of decisions are not checked")
        said = {"framework": framework, "framework_version": framework_version, "type": agent_type, "parent": parent}
        agent = {"instance_id": uuid7(), **{name: value for name, value in said.items() if value is not None}}
        introduction = Introduction(tools=tools, setup_schema=setup_schema, credentials=credentials, skills=skills)
        gate = cls(known, agent, introduction)
        if journal is not None:
            gate._journal = Journal(journal, known)
            gate._journal.remove_old()
        await gate._open(connect_timeout)
        try:
            yield gate
        finally:
            await gate._close()

    @property
    def enrolment(self) -> Enrolment:
        """Who this gate speaks as."""
        return self._enrolment

    async def ask(
        self,
        call: Ask,
        *,
        timeout: float | None = 60.0,
        key: str | None = None,
        degraded: Degraded | None = None,
    ) -> Decision:
        """Ask and wait. `timeout` in seconds sets the deadline; None is the longest, 30 days.

        Returns every verified answer, a denial too: look at its `allowed` (`if decision:` raises `TypeError`). Nobody
        answered in time: verdict `expired`. Raises `InvalidRequestError`, `AlreadyAskedError`, `VoidDecisionError` or
        a bus error; none of them allows the call. If it ends without an answer, by an error or because the waiting
        task is cancelled, the request is withdrawn.

        With a `key`, on a gate with a journal, the request stays until its answer was handed out: the same key with
        the same call waits for the same request, also in a later process, and `timeout` is that of its first ask. A
        key of another call withdraws the former request. `degraded` says what of an answer cannot be honoured.
        """
        if key is None or self._journal is None:
            self._check_open()
            return await self._asking.ask(self._request(call, timeout), degraded)
        self._check_open()
        with self._journal.held(key) as entry:
            request = self._request(call, timeout)
            if entry.waiting is not None and not same_call(entry.waiting, request):
                self._outbox.post(withdrawal(entry.waiting, "the same key asks for another call"))
                entry.end()
            if entry.waiting is None:
                entry.begin(request)
                return await self._asking.ask(request, degraded, entry)
            return await self._asking.ask(entry.waiting, degraded, entry, entry.seconds_left)

    def _request(self, call: Ask, timeout: float | None) -> SentRequest:
        lifetime = None if timeout is None else lifetime_of(timeout)
        return build_request(call, self._enrolment, self._agent, lifetime, clock.now())

    async def withdraw(self, request_id: str, reason: str = "") -> None:
        """Take a waiting request back. Its `ask` ends with what was decided before, or `withdrawn`; it never allows:
        an approval that came first raises `VoidDecisionError` (`withdrawn`).

        Both end when the bus has the withdrawal, or after two seconds; it is then sent again for ten minutes. On a
        gate with a journal it also takes back a request that was kept for a later `ask` with its key. Raises
        `CountersignError` (`not_found`) for any other.
        """
        check_process(self._process)
        if (wait := self._asking.waits.get(request_id)) is not None:
            delivered = self._asking.take_back(wait, reason)
        else:
            delivered = self._take_back_kept(request_id, reason)
        if delivered is not None:
            await asyncio.wait({delivered}, timeout=IO_SECONDS)

    def _take_back_kept(self, request_id: str, reason: str) -> asyncio.Task[None]:
        if self._journal is not None:
            with self._journal.kept(request_id) as entry:
                if entry is not None and entry.waiting is not None:
                    delivered = self._outbox.post(withdrawal(entry.waiting, reason))
                    entry.end()
                    return delivered
        raise CountersignError("no such request is waiting", code="not_found")

    async def tighten(self, request_id: str, seconds_left: float) -> None:
        """Shorten a waiting request's deadline to `seconds_left` from now. What would lengthen it changes nothing.

        Each call shortens the agent's own wait; the console hears of the first only (protocol, section 6), in the
        background.
        """
        check_process(self._process)
        wait = self._asking.waiting(request_id)
        lifetime = wait.tighten(seconds_left)
        if lifetime is not None:
            self._outbox.post(earlier_deadline(wait.request, lifetime))

    async def receipt(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """Report to the console how far the call got.

        Does nothing for an answer that nobody stored. Raises `BusUnreachableError` when the bus does not take it
        within two seconds, but goes on trying for ten minutes: do not call it again. `BusRefusedError` is final.
        """
        letter = self._receipt_letter(decision, stage, **details)
        if letter is None:
            return
        if len(self._outbox) >= MAX_WAITING:
            raise TooManyWaitingError(f"{MAX_WAITING} receipts are already waiting for the bus")
        delivered = self._outbox.post(letter)
        done, _ = await asyncio.wait({delivered}, timeout=IO_SECONDS)
        if not done:
            raise BusUnreachableError("the bus has not taken the receipt yet; it is sent again for ten minutes")
        delivered.result()

    def receipt_later(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """`receipt`, without waiting for it; closing the gate waits for it (up to two seconds).

        Where it cannot be sent, the log says so. Raises `InvalidRequestError` for what is not a receipt.
        """
        self._post_later(self._receipt_letter(decision, stage, **details))

    async def introduce(self, **parts: Unpack[Introduction]) -> None:
        """Say hello again because something changed: `tools`, `setup_schema`, `credentials` or `skills`.

        A part that is named replaces what was said of it before (None takes it back); the others stay. Ends when the
        bus has the hello, or after two seconds; it is then sent again for ten minutes and at each reconnect. Raises
        `InvalidRequestError` for what is not a hello and `BusRefusedError` where the bus does not take it.
        """
        self._check_open()
        await self._presence.introduce(MAX_WAITING, **parts)

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
            on_end=self._asking.look_again,
            name=f"{known.workspace}/{known.agent}",
        )
        self._outbox = Outbox(self._bus, io_timeout=IO_SECONDS)
        self._looks.connect(self._bus, IO_SECONDS)
        self._asking.connect(self._bus, self._outbox)
        self._presence.connect(self._bus, IO_SECONDS)
        try:
            prefix = f"countersign.v1.decided.{known.workspace}.{known.agent}"
            await self._bus.subscribe(f"{prefix}.*", self._asking.hint)
            # The server answers in order: once this is answered the subscription is active (flush proves nothing).
            unused = f"countersign.v1.decision.{known.workspace}.{known.agent}.{uuid7()}"
            await self._bus.direct_get(unused, timeout=timeout)
            await self._looks.refresh()
        except BaseException:
            await self._presence.hellos.close(0)
            await self._bus.close()
            raise
        subject = f"countersign.v1.event.{known.workspace}.{known.agent}"
        self._spans = SpanQueue(self._bus, subject, io_timeout=IO_SECONDS)
        # What an agent has read it asks for from then on: who takes an end out of the log is noticed.
        self._presence.begin(self._looks.refresh)

    def _on_reconnect(self) -> None:
        self._asking.look_again()
        refreshing = asyncio.create_task(self._read_on())
        self._background.add(refreshing)
        refreshing.add_done_callback(self._background.discard)
        self._presence.reconnected()

    async def _read_on(self) -> None:
        # What forbids it is said to whoever asks next.
        with contextlib.suppress(CountersignError):
            await self._looks.refresh()

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
            log.warning("not delivered on %s: %d receipts are already waiting", letter.subject, MAX_WAITING)
            return
        self._outbox.post(letter)

    def _check_open(self) -> None:
        check_process(self._process)
        if self._closed:
            raise GateClosedError("the gate is closed")

    async def _close(self) -> None:
        if os.getpid() != self._process:
            return  # the gate is the parent's
        self._closed = True
        self._presence.stop()
        await self._asking.close()
        await self._spans.close(1.0)
        await self._asking.close_afterwards()
        limit = 2.0 if self._bus.connected else 0.1
        await asyncio.gather(self._outbox.close(limit), self._presence.hellos.close(limit))
        if self._background:
            await asyncio.wait(set(self._background), timeout=limit)
        for task in set(self._background):
            task.cancel()
        self._looks.close()
        await self._bus.close()
