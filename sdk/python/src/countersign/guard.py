"""`Gate.guard`: a function that asks before it runs, in a thread unless it is an `async def`.

Refuses functions whose arguments have no names, because a person could neither read nor edit them; generators, which
run only when they are read; and an edit with which anything but the approved arguments would run.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from .digest import args_digest
from .errors import ArgumentsChangedError, InvalidRequestError, NotAllowedError
from .refusal import refusal_text
from .verify import Decision
from .wire import AboutCall, ToolCall, check_words

if TYPE_CHECKING:
    from .gate import Gate

MAX_THREADS = 64
"""So many plain functions of one gate run at once; more wait in line."""

GENERATOR = "a generator runs only when it is read; guard a function that returns"

P = ParamSpec("P")
R = TypeVar("R")


class Guard(Protocol):
    """The decorator that `Gate.guard` returns. What it decorates becomes a coroutine function."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate `function`. Raises `TypeError` if an argument has no name, for a generator, and for a method that
        has no object yet."""


def guarded(gate: Gate, tool_name: str, timeout: float | None, about: AboutCall) -> Guard:
    """The decorator for one tool of one gate. Raises for what is wrong in `about` before anything is decorated."""
    unknown = about.keys() - AboutCall.__annotations__.keys()
    if unknown:
        raise TypeError(f"{tool_name}: a guarded call has no {', '.join(sorted(unknown))}")
    check_words(ToolCall(name=tool_name, **about))

    def decorate(function: Callable[P, Any], /) -> Callable[P, Coroutine[Any, Any, Any]]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{tool_name}: {GENERATOR}")
        signature = inspect.signature(function)
        if _of_a_class(function, signature):
            raise TypeError(f"{tool_name}: guard a method on its object, such as gate.guard(...)(office.pay)")
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                raise TypeError(f"{tool_name}: every argument needs a name to be shown and edited")

        @functools.wraps(function)
        async def asking(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = ToolCall(name=tool_name, args=_by_name(signature, *args, **kwargs), **about)
            decision = await gate.ask(call, timeout=timeout)
            if not decision.allowed:
                why = refusal_text(tool_name, decision)
                raise NotAllowedError(why, verdict=decision.verdict, decision=decision)
            if not _would_run(signature, decision):
                refused = ArgumentsChangedError(
                    f"{tool_name} was not run: it cannot take exactly the edited arguments"
                )
                gate.receipt_later(decision, "refused", message=refused.code)
                raise refused
            return await _run(gate, function, decision)

        return asking

    return decorate


async def _run(gate: Gate, function: Callable[..., Any], decision: Decision) -> Any:
    call = functools.partial(function, **decision.args)
    stopped: asyncio.CancelledError | None = None
    if not inspect.iscoroutinefunction(function):
        work = gate._threads.submit(contextvars.copy_context().run, call)
        stopped = await _ended(work)
        if stopped is not None and work.cancelled():
            gate.receipt_later(decision, "refused", message="not_started")
            raise stopped
        call = functools.partial(work.result)
    digest = decision.args_digest
    try:
        finished = await _finished(call(), stopped)
    except BaseException as error:
        gate.receipt_later(decision, "failed", executed_args_digest=digest, message=type(error).__name__)
        if stopped is not None:
            raise stopped from error
        raise
    gate.receipt_later(decision, "executed", executed_args_digest=digest)
    if stopped is not None:
        raise stopped
    return finished


async def run_function(gate: Gate, function: Callable[..., Any], args: dict[str, Any]) -> Any:
    """What `function` returns: an `async def` runs in this task, any other in a thread with the caller's context
    variables. Cancelling ends it when the thread has ended."""
    call = functools.partial(function, **args)
    if inspect.iscoroutinefunction(function):
        return await call()
    work = gate._threads.submit(contextvars.copy_context().run, call)
    stopped = await _ended(work)
    if stopped is not None:
        raise stopped
    return await _finished(work.result(), None)


async def _ended(work: Future[Any]) -> asyncio.CancelledError | None:
    """Waits until it has ended, also where the waiting task is cancelled (then that is the answer) once it has begun.

    A thread cannot be stopped, and the receipt has to say what ran.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    work.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
    stopped = None
    while not ended.is_set():
        try:
            await ended.wait()
        except asyncio.CancelledError as error:
            work.cancel()
            stopped = error
    return stopped


async def _finished(result: Any, stopped: asyncio.CancelledError | None) -> Any:
    """What a function returned, awaited where it has to be. Raises `TypeError` for a generator."""
    if inspect.isawaitable(result):
        if stopped is not None:
            if inspect.iscoroutine(result):
                result.close()
            raise stopped
        result = await result
    if inspect.isgenerator(result):
        result.close()
    elif inspect.isasyncgen(result):
        await result.aclose()
    else:
        return result
    raise TypeError(GENERATOR)


def _of_a_class(function: Callable[..., Any], signature: inspect.Signature) -> bool:
    """Whether it is a method that has no object yet: that would be an argument."""
    within = getattr(function, "__qualname__", "").rpartition(".")[0]
    in_a_class = within != "" and not within.endswith("<locals>")
    return in_a_class and next(iter(signature.parameters), "") in ("self", "cls")


def _would_run(signature: inspect.Signature, decision: Decision) -> bool:
    """Whether the function can be called with the approved arguments, and adds none of its own."""
    try:
        return args_digest(_by_name(signature, **decision.args)) == decision.args_digest
    except (TypeError, InvalidRequestError):
        return False


def _by_name(signature: inspect.Signature, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """What a function of this signature runs with, defaults included. Raises `TypeError` where it cannot run."""
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    named = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(named.pop(parameter.name, {}))
    return named
