"""The gate for programs without an event loop: one thread runs the loop, any number of threads may ask.

Refuses to leave a request standing: an interrupt (Ctrl+C) withdraws it before it goes on.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self, TypeVar

from .enrolment import Enrolment
from .errors import GateClosedError
from .gate import Gate
from .verify import Decision
from .wire import Ask, Span

T = TypeVar("T")


class SyncGate:
    """`with SyncGate(path) as gate: decision = gate.ask(call)`. Takes what `Gate.connect` takes."""

    def __init__(self, enrolment: Enrolment | str | os.PathLike[str] | None = None, **options: Any) -> None:
        self._context = Gate.connect(enrolment, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._gate: Gate | None = None

    @property
    def gate(self) -> Gate:
        """The gate inside. Its coroutines run only on this object's loop (`call`)."""
        if self._gate is None:
            raise GateClosedError("the gate is not open")
        return self._gate

    def ask(self, call: Ask, *, timeout: float | None = 60.0) -> Decision:
        """As `Gate.ask`, blocking this thread only."""
        return self.call(self.gate.ask(call, timeout=timeout))

    def withdraw(self, request_id: str, reason: str = "") -> None:
        """As `Gate.withdraw`."""
        self.call(self.gate.withdraw(request_id, reason))

    def receipt(self, decision: Decision, stage: str, **details: Any) -> None:
        """As `Gate.receipt`."""
        self.call(self.gate.receipt(decision, stage, **details))

    def receipt_later(self, decision: Decision, stage: str, **details: Any) -> None:
        """As `Gate.receipt_later`; callable from any thread, never blocks."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._receipt_now, decision, stage, details)

    def span(self, span: Span) -> None:
        """As `Gate.span`; callable from any thread, never blocks."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._span_now, span)

    def _receipt_now(self, decision: Decision, stage: str, details: dict[str, Any]) -> None:
        if self._gate is not None:
            self._gate.receipt_later(decision, stage, **details)

    def _span_now(self, span: Span) -> None:
        if self._gate is not None:
            self._gate.span(span)

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Start `work` on the gate's loop. Cancelling the future cancels it, which withdraws a waiting ask."""
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise GateClosedError("the gate is not open")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the gate's loop and wait. Any exception here, Ctrl+C included, cancels it there."""
        future = self.submit(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def __enter__(self) -> Self:
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
        try:
            self.call(self._context.__aexit__(None, None, None))
        finally:
            self._gate = None
            self._stop()

    def _serve(self, ready: concurrent.futures.Future[None]) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._stopping = asyncio.Event()
            self._loop.call_soon(ready.set_result, None)
            runner.run(self._stopping.wait())

    def _stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(timeout=5)
        self._thread = None
