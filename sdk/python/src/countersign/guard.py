"""`Gate.guard`: a function that asks before it runs.

Refuses functions whose arguments have no names: a person could neither read nor edit them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from .digest import args_digest
from .errors import NotAllowedError
from .verify import Decision
from .wire import AboutCall, ToolCall, check_words

if TYPE_CHECKING:
    from .gate import Gate

P = ParamSpec("P")
R = TypeVar("R")


class Guard(Protocol):
    """The decorator that `Gate.guard` returns. What it decorates becomes a coroutine function."""

    def __call__(self, function: Callable[P, Awaitable[R] | R], /) -> Callable[P, Coroutine[Any, Any, R]]:
        """Decorate `function`. Raises `TypeError` if an argument has no name."""


def guarded(gate: Gate, tool_name: str, timeout: float | None, about: AboutCall) -> Guard:
    """The decorator for one tool of one gate. Raises for what is wrong in `about` before anything is decorated."""
    unknown = about.keys() - AboutCall.__annotations__.keys()
    if unknown:
        raise TypeError(f"{tool_name}: a guarded call has no {', '.join(sorted(unknown))}")
    check_words(ToolCall(name=tool_name, **about))

    def decorate(function: Callable[P, Awaitable[R] | R], /) -> Callable[P, Coroutine[Any, Any, R]]:
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                raise TypeError(f"{tool_name}: every argument needs a name to be shown and edited")

        @functools.wraps(function)
        async def asking(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            call = ToolCall(name=tool_name, args=_by_name(signature, bound), **about)
            return await _run(gate, function, tool_name, await gate.ask(call, timeout=timeout))

        return asking

    return decorate


async def _run(gate: Gate, function: Callable[..., Awaitable[R] | R], tool_name: str, decision: Decision) -> R:
    if not decision.allowed:
        said = f": {decision.message}" if decision.message else ""
        raise NotAllowedError(f"{tool_name} was not run, {decision.verdict}{said}", verdict=decision.verdict)
    digest = args_digest(decision.args)
    try:
        if not isinstance(decision.args, dict):
            raise TypeError("the approved arguments are not named")
        result = function(**decision.args)
        finished: R = await result if inspect.isawaitable(result) else result
    except BaseException as error:
        gate.receipt_later(decision, "failed", executed_args_digest=digest, message=type(error).__name__)
        raise
    gate.receipt_later(decision, "executed", executed_args_digest=digest)
    return finished


def _by_name(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
    named = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            named.update(named.pop(parameter.name, {}))
    return named
