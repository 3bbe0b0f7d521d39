"""`Gate.guard`: a function that asks before it runs.

Refuses functions whose arguments have no names, because a person could neither read nor edit them; generators, which
run only when they are read; and an edit with which anything but the approved arguments would run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from .digest import args_digest
from .errors import ArgumentsChangedError, InvalidRequestError, NotAllowedError
from .verify import Decision
from .wire import AboutCall, ToolCall, check_words

if TYPE_CHECKING:
    from .gate import Gate

P = ParamSpec("P")
R = TypeVar("R")


class Guard(Protocol):
    """The decorator that `Gate.guard` returns. What it decorates becomes a coroutine function."""

    @overload
    def __call__(self, function: Callable[P, Awaitable[R]], /) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate `function`. Raises `TypeError` if an argument has no name, and for a generator."""


def guarded(gate: Gate, tool_name: str, timeout: float | None, about: AboutCall) -> Guard:
    """The decorator for one tool of one gate. Raises for what is wrong in `about` before anything is decorated."""
    unknown = about.keys() - AboutCall.__annotations__.keys()
    if unknown:
        raise TypeError(f"{tool_name}: a guarded call has no {', '.join(sorted(unknown))}")
    check_words(ToolCall(name=tool_name, **about))

    def decorate(function: Callable[P, Any], /) -> Callable[P, Coroutine[Any, Any, Any]]:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{tool_name}: a generator runs only when it is read; guard a function that returns")
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                raise TypeError(f"{tool_name}: every argument needs a name to be shown and edited")

        @functools.wraps(function)
        async def asking(*args: P.args, **kwargs: P.kwargs) -> Any:
            call = ToolCall(name=tool_name, args=_by_name(signature, *args, **kwargs), **about)
            decision = await gate.ask(call, timeout=timeout)
            if not decision.allowed:
                said = f": {decision.message}" if decision.message else ""
                why = f"{tool_name} was not run, {decision.verdict}{said}"
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
    digest = decision.args_digest
    try:
        result = function(**decision.args)
        finished = await result if inspect.isawaitable(result) else result
    except BaseException as error:
        gate.receipt_later(decision, "failed", executed_args_digest=digest, message=type(error).__name__)
        raise
    gate.receipt_later(decision, "executed", executed_args_digest=digest)
    return finished


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
