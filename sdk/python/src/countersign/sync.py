"""The gate for programs without an event loop: one thread runs the loop, any number of threads may ask.

Refuses to leave a request standing: an interrupt (Ctrl+C) withdraws it before it goes on. Refuses to wait for a loop
that does not run: one that could not start, that stops, that a fork left behind in the parent, or that itself waits.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from .degraded import Degraded
from .enrolment import Enrolment
from .errors import CountersignError, GateClosedError
from .gate import Gate
from .letters import ReceiptDetails, span_payload
from .process import check_process
from .verify import Decision
from .wire import Ask, ConnectOptions, Introduction, Span
from .words import Stage

T = TypeVar("T")


class SyncGate:
    """`with SyncGate(path) as gate: decision = gate.ask(call)`. Takes what `Gate.connect` takes.

    A process that was forked from this one needs a gate of its own: there every method raises `GateClosedError`.
    """

    def __init__(
        self, enrolment: Enrolment | str | os.PathLike[str] | None = None, **options: Unpack[ConnectOptions]
    ) -> None:
        self._context = Gate.connect(enrolment, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._gate: Gate | None = None
        self._process = os.getpid()
        # Held while something is handed to the loop, and while the loop is asked to stop. A signal handler may come
        # between, in the same thread.
        self._handing = threading.RLock()
        self._stopping = False

    @property
    def gate(self) -> Gate:
        """The gate inside. Its coroutines run only on this object's loop (`call`)."""
        if self._gate is None:
            raise self._not_open()
        return self._gate

    def ask(
        self,
        call: Ask,
        *,
        timeout: float | None = 60.0,
        key: str | None = None,
        degraded: Degraded | None = None,
    ) -> Decision:
        """As `Gate.ask`, blocking this thread only."""
        return self.call(self.gate.ask(call, timeout=timeout, key=key, degraded=degraded))

    def withdraw(self, request_id: str, reason: str = "") -> None:
        """As `Gate.withdraw`."""
        self.call(self.gate.withdraw(request_id, reason))

    def introduce(self, **parts: Unpack[Introduction]) -> None:
        """As `Gate.introduce`."""
        self.call(self.gate.introduce(**parts))

    def receipt(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """As `Gate.receipt`."""
        self.call(self.gate.receipt(decision, stage, **details))

    def receipt_later(self, decision: Decision, stage: Stage, **details: Unpack[ReceiptDetails]) -> None:
        """As `Gate.receipt_later`; callable from any thread, never blocks. Does nothing once the gate is closed."""
        check_process(self._process)
        if self._gate is not None:
            letter = self._gate._receipt_letter(decision, stage, **details)
            self._hand_over(lambda gate: gate._post_later(letter))

    def span(self, span: Span) -> None:
        """As `Gate.span`; callable from any thread, never blocks. Does nothing once the gate is closed."""
        check_process(self._process)
        payload = span_payload(span)
        self._hand_over(lambda gate: gate._spans.put(payload))

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start `work` on the gate's loop. Cancelling the future cancels it, which withdraws a waiting ask.

        Raises `GateClosedError`; the future raises it too for work that closing the gate cut off.
        """
        try:
            with self._running() as loop:
                return asyncio.run_coroutine_threadsafe(self._unless_stopped(work), loop)
        except GateClosedError:
            work.close()
            raise

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the gate's loop and wait. Any exception here, Ctrl+C included, cancels it there.

        Not on that loop itself, which cannot wait for itself: `CountersignError` (`own_loop`).
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise CountersignError(
                "this runs on the gate's own loop, which cannot wait for itself; `await gate.gate.ask(...)` here",
                code="own_loop",
            )
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def __enter__(self) -> Self:
        if self._thread is not None or self._stopping:
            raise GateClosedError("a SyncGate opens once; make another one")
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._serve, args=(ready,), name="countersign", daemon=True)
        self._thread.start()
        try:
            ready.result()
            self._gate = self.call(self._context.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if os.getpid() != self._process:
            return  # the gate is the parent's
        try:
            self.call(self._context.__aexit__(None, None, None))
        finally:
            self._gate = None
            self._stop()

    def _not_open(self) -> GateClosedError:
        return GateClosedError(
            "the gate was closed; make another SyncGate"
            if self._stopping
            else "the gate is not open; use it in `with SyncGate(...) as gate`"
        )

    def _hand_over(self, work: Callable[[Gate], None]) -> None:
        gate = self._gate
        if gate is not None:
            with contextlib.suppress(GateClosedError), self._running() as loop:
                loop.call_soon_threadsafe(work, gate)

    @contextlib.contextmanager
    def _running(self) -> Iterator[asyncio.AbstractEventLoop]:
        """The loop, which cannot stop meanwhile."""
        # First: a fork may have copied the lock while another thread held it.
        check_process(self._process)
        with self._handing:
            if self._loop is None or self._stopping:
                raise self._not_open()
            yield self._loop

    async def _unless_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        except asyncio.CancelledError:
            if self._stopping:
                raise GateClosedError("the gate was closed meanwhile") from None
            raise

    def _serve(self, ready: concurrent.futures.Future[None]) -> None:
        try:
            with asyncio.Runner() as runner:
                loop = runner.get_loop()
                self._stop_now = asyncio.Event()
                self._loop = loop
                loop.call_soon(ready.set_result, None)
                runner.run(self._stop_now.wait())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    def _stop(self) -> None:
        with self._handing:
            if self._loop is not None and not self._stopping:
                self._stopping = True
                self._loop.call_soon_threadsafe(self._stop_now.set)
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._thread = None
