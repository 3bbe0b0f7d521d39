"""Kate SDK (projectkate 0.3.2): every call of a tool loop, local or of the marketplace, waits for a person.

Refuses by texts inside a loop, where the model reads only the type of an exception, and by exceptions elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import Any

try:
    import projectkate  # type: ignore[import-untyped,unused-ignore]
    from projectkate import LocalTool, ToolLoopResult, ToolResult
    from projectkate.models import ToolCredentialStatus  # type: ignore[import-untyped,unused-ignore]
except ImportError as missing:
    raise ImportError("countersign.adapters.kate needs the extra `kate`: install countersign-sdk[kate]") from missing

from ..enrolment import Enrolment
from ..errors import ArgumentsChangedError, InvalidRequestError, NotAllowedError
from ..gate import Gate
from ..guard import run_function
from ..refusal import as_text
from ..wire import ToolCall
from ..words import Effects, Risk, Verdict
from ._gating import Answer, GatedCall, Selection, not_honoured
from ._kate_loop import EndedError, Loop

log = logging.getLogger("countersign")

KATE_VERSION = "0.3.2"
VERDICTS: tuple[Verdict, ...] = ("approve", "modify", "deny", "skip", "respond")

Run = Callable[[Any], Awaitable[Any]]
Status = Callable[[], Awaitable[Iterable[ToolCredentialStatus]]]

_looping: ContextVar[tuple[KateGate, Loop] | None] = ContextVar("countersign_kate", default=None)


class KateGate:
    """One gate for any number of loops. `timeout` is how many seconds a person has for a call (None: 30 days).

    `risks` and `effects` map names of tools to the protocol's words; a tool without a word is `critical`. `status`
    reads the credentials of the marketplace's tools, such as `lambda: client.tools.status(agent_id)`.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        timeout: float | None = 60.0,
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
        thread_id: str | None = None,
        status: Status | None = None,
    ) -> None:
        self._gate = gate
        self._timeout = timeout
        self._selection = Selection.of(risks=risks, effects=effects)
        self._thread_id = thread_id
        self._status = status
        _gate_marketplace()

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls,
        enrolment: Enrolment | str | os.PathLike[str] | None = None,
        *,
        connect_timeout: float = 5.0,
        **options: Any,
    ) -> AsyncIterator[KateGate]:
        """Connect and make a gate of this framework; `options` go to the constructor. Raises as `Gate.connect`."""
        about = {"framework": "projectkate", "framework_version": KATE_VERSION}
        async with Gate.connect(enrolment, connect_timeout=connect_timeout, **about) as gate:  # type: ignore[arg-type]
            yield cls(gate, **options)

    @property
    def gate(self) -> Gate:
        """The gate inside."""
        return self._gate

    async def tool_loop(
        self,
        client: Any,
        *,
        model: str,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None = None,
        local_tools: list[LocalTool] | None = None,
        max_rounds: int = 10,
        on_tool_call: Callable[..., Any] | None = None,
        **llm_kwargs: Any,
    ) -> ToolLoopResult:
        """`projectkate.tool_loop`, in which every call asks. Raises what that raises, and `NotAllowedError`
        (`terminate`) when a person ended the run."""
        _gate_marketplace()
        listed = tools if tools is not None else await projectkate.get_tools(format="openai")
        own = [getattr(tool.fn, "countersign_tool", tool) for tool in local_tools or ()]
        await self._introduce(tools=_described(listed, own, self._selection))
        counts = {"kate.marketplace_tools": len(listed), "kate.local_tools": len(own), "kate.max_rounds": max_rounds}
        loop = Loop(self._gate, thread_id=self._thread_id, **counts, **{"gen_ai.request.model": model})

        def finished(*call: Any) -> None:
            loop.finished()
            if on_tool_call is not None:
                on_tool_call(*call)

        token = _looping.set((self, loop))
        try:
            result = await projectkate.tool_loop(
                loop.client(client),
                model=model,
                messages=messages,
                tools=listed,
                local_tools=[self._asking(tool, loop) for tool in own],
                max_rounds=max_rounds,
                on_tool_call=finished,
                **llm_kwargs,
            )
            loop.check()
        except BaseException as error:
            loop.end_by(error)
            if loop.refusal is not None and isinstance(error, EndedError):
                raise loop.refusal from None
            raise
        finally:
            _looping.reset(token)
        answered = bool(result.rounds) and result.messages[-1].get("role") == "assistant"
        loop.end("ok" if answered else "incomplete")
        return result

    def local(self, tool: LocalTool) -> LocalTool:
        """A copy that asks, for `projectkate.tool_loop` called directly. The model reads refusals as texts; there is
        no `call_id`, no run and no `terminate`."""
        return self._asking(tool, None)

    async def call_tool(self, tool_name: str, input_data: dict[str, Any] | None = None) -> ToolResult:
        """`projectkate.call_tool`, gated. Raises `NotAllowedError`, an error of the gate, or what Kate raises."""
        original = _gate_marketplace()
        return await self._outside(tool_name, input_data, lambda args: original(tool_name, args))

    async def execute(
        self, client: projectkate.KateClient, agent_id: str, tool_name: str, input_data: dict[str, Any] | None = None
    ) -> ToolResult:
        """`client.tools.execute`, gated. Raises as `call_tool`."""
        return await self._outside(
            tool_name, input_data, lambda args: client.tools.execute(agent_id, tool_name, args)
        )

    async def _outside(self, name: str, args: dict[str, Any] | None, run: Run) -> ToolResult:
        args = {} if args is None else args
        if not isinstance(args, dict):
            raise InvalidRequestError(_no_object(name), code="wrong_type")
        answer, result = await self._gated(self._call(name, args, None, origin="marketplace"), run)
        if answer.allowed:
            return result
        if answer.responded:
            return ToolResult(success=True, output=answer.content)
        if answer.error is not None:
            raise answer.error
        raise NotAllowedError(answer.words, verdict=answer.verdict, decision=answer.decision)  # type: ignore[arg-type]

    def _asking(self, tool: LocalTool, loop: Loop | None) -> LocalTool:
        async def asking(**args: Any) -> Any:
            about = {"origin": "local", "description": tool.description, "args_schema": tool.parameters}
            dropped = sorted(args.keys() - _taken(tool.fn, args).keys())
            if dropped:
                about["effective"] = {"dropped_names": dropped}

            async def run(approved: Any) -> Any:
                return await run_function(self._gate, tool.fn, _taken(tool.fn, approved))

            return await self._inside(loop, tool.name, args, run, **about)

        asking.countersign_tool = tool  # type: ignore[attr-defined]
        return dataclasses.replace(tool, fn=asking)

    async def _inside(self, loop: Loop | None, name: str, args: Any, run: Run, **about: Any) -> Any:
        """The result, or the text that the model reads in its place."""
        asked = loop.take(name) if loop is not None else None
        if not isinstance(args, dict) or (asked is not None and not asked.is_object):
            return _no_object(name)
        if asked is not None:
            about.update(call_id=asked.id, args_raw=asked.args_raw, group=asked.group)
        answer, result = await self._gated(self._call(name, args, loop, **about), run)
        if answer.allowed:
            return result
        if answer.verdict == "terminate" and loop is not None:
            loop.terminate(NotAllowedError(answer.words, verdict="terminate", decision=answer.decision))
        return as_text(answer.content) if answer.responded else answer.words

    def _call(self, name: str, args: dict[str, Any], loop: Loop | None, **about: Any) -> GatedCall:
        local = about["origin"] == "local"
        inside = loop is not None or local
        if loop is not None:
            about.update(loop.ids, reason=loop.reason, history=loop.history or None)
        else:
            about["thread_id"] = self._thread_id
        call = ToolCall(
            name=name,
            args=args,
            risk=self._selection.risk(name),
            effects=self._selection.effects_of(name),
            allowed_verdicts=(*VERDICTS, "terminate") if loop is not None else VERDICTS,
            **about,
        )

        degraded = functools.partial(not_honoured, edit="edit_in_history" if inside else None)
        span: dict[str, Any] = {"attributes": {"kate.local": local}, **(loop.within if loop is not None else {})}
        return GatedCall(self._gate, call, name, timeout=self._timeout, degraded=degraded, **span)

    async def _gated(self, call: GatedCall, run: Run) -> tuple[Answer, Any]:
        """The answer, and where it allows the call, its result. Raises what the call raises."""
        answer = await call.ask()
        if not answer.allowed:
            return answer, None
        if not isinstance(answer.args, dict):
            call.refused("invalid_args")
            words = _no_object(call.name)
            return Answer(False, words=words, error=ArgumentsChangedError(words)), None
        try:
            result = await run(call.started())
        except asyncio.CancelledError as error:
            call.failed(error, status="cancelled")
            raise
        except Exception as error:
            status, more = _read(error)
            if more.get("code") == "428":
                for entry in await self._introduce():
                    if entry["tool_name"] == call.name:
                        more["missing_keys"] = entry["missing_keys"]
            call.failed(error, status=status, **more)
            raise
        if not isinstance(result, ToolResult):
            call.ended(result if isinstance(result, str | dict | list) else str(result))
            return answer, result
        call.span.set(usage={"tokens_charged": result.tokens_charged, "execution_time_ms": result.execution_time_ms})
        if result.success and not result.error:
            call.ended(result.output)
        else:
            said = str(result.error or "not successful")
            call.failed(RuntimeError(said), message=said, type="ToolResult", code="success_false")
        return answer, result

    async def _introduce(self, **parts: Any) -> list[dict[str, Any]]:
        """Say what there is. A hello that nobody takes stops nothing. The credentials as they are now."""
        try:
            if self._status is not None:
                fields = ("tool_name", "artifact_id", "status", "missing_keys")
                parts["credentials"] = [{name: getattr(one, name) for name in fields} for one in await self._status()]
        except Exception as error:
            log.warning("could not read the credentials of Kate's tools: %s", type(error).__name__)
        try:
            if parts:
                await self._gate.introduce(**parts)
        except Exception as error:
            log.warning("could not say which tools there are: %s", error)
        return parts.get("credentials") or []


def _gate_marketplace() -> Callable[..., Awaitable[ToolResult]]:
    """Replace `projectkate.call_tool` by one that asks inside a loop of a `KateGate`. The original."""
    original: Any = projectkate.call_tool
    if hasattr(original, "countersign_original"):
        return original.countersign_original  # type: ignore[no-any-return]

    @functools.wraps(original)
    async def call_tool(tool_name: str, input_data: dict[str, Any] | None = None) -> ToolResult:
        looping = _looping.get()
        if looping is None:
            return await original(tool_name, input_data)
        gate, loop = looping
        args = {} if input_data is None else input_data
        result = await gate._inside(
            loop, tool_name, args, lambda approved: original(tool_name, approved), origin="marketplace"
        )
        return result if isinstance(result, ToolResult) else ToolResult(success=False, output=result)

    call_tool.countersign_original = original  # type: ignore[attr-defined]
    projectkate.call_tool = call_tool
    return original  # type: ignore[no-any-return]


def _no_object(name: str) -> str:
    return f"{name} was not run: its arguments are not an object"


def _taken(function: Callable[..., Any], args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that Kate hands to a function: those whose names it has."""
    parameters = inspect.signature(function).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return args
    return {name: value for name, value in args.items() if name in parameters}


def _described(
    marketplace: list[dict[str, Any]], local: list[LocalTool], selection: Selection
) -> list[dict[str, Any]]:
    found = []
    for tool in marketplace:
        inner = tool.get("function") or {}
        schema = inner.get("parameters", tool.get("input_schema"))
        description = inner.get("description", tool.get("description"))
        found.append((inner.get("name", tool.get("name", "")), description, schema, "marketplace"))
    found += [(tool.name, tool.description, tool.parameters, "local") for tool in local]
    return [
        {
            "name": name,
            "description": description or "",
            "args_schema": schema or {},
            "risk": selection.risk(name),
            "origin": origin,
        }
        for name, description, schema, origin in found
    ]


def _read(error: Exception) -> tuple[str, dict[str, Any]]:
    """The status of the span, and the rest of its `error`."""
    number = re.search(r"(?:status |\()(\d{3})\b", str(error))
    code = number[1] if number is not None and isinstance(error, projectkate.KateRemoteError) else None
    if isinstance(error, projectkate.KateBalanceError):
        code = "402"
    elif isinstance(error, projectkate.KateCredentialError):
        code = "428"
    elif isinstance(error, projectkate.KateToolError):
        code = code or "502"
    late = isinstance(error, projectkate.KateToolError) and code == "504"
    return ("timeout" if late else "error"), ({"code": code} if code is not None else {})
