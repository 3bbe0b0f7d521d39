"""Flexus (`flexus_client_kit`): a handler that asks for a confirmation waits for a person, then runs once more.

Imports nothing of Flexus: what it raises and returns is known by shape.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import EllipsisType
from typing import Any

from ..enrolment import Enrolment
from ..errors import InvalidRequestError
from ..gate import Gate
from ..refusal import refusal_text
from ..wire import ToolCall
from ..words import Effects, Risk
from ._flexus_results import as_output, checked, holds, masked
from ._flexus_setup import SetupSchemaError, merge_setup, setup_entries
from ._gating import GatedCall, Selection, not_honoured
from ._spans import CallSpan

__all__ = ["FlexusGate", "SetupSchemaError", "checked", "merge_setup", "setup_entries"]

SUBCHATS_SECONDS = 600.0
"""How long Flexus waits for the subchats of a call."""
MAX_OPEN = 1000
"""Calls whose result comes later. Of more the oldest is no longer followed in the trace."""

NATIVE = (
    "caller_fuser_id",
    "located_fgroup_id",
    "fcall_id",
    "fcall_ft_id",
    "fcall_ft_btest_name",
    "fcall_fexp_name",
    "fcall_ftm_alt",
    "fcall_called_ftm_num",
    "fcall_call_n",
    "fcall_name",
    "fcall_arguments",
    "fcall_result_ftm_num",
    "fcall_created_ts",
    "connected_persona_id",
    "ws_id",
    "confirmed_by_human",
)
"""Fields of a toolcall that are on the cards: all but the secret `fcall_untrusted_key`."""

Handler = Callable[[Any, Any], Awaitable[Any]]


@dataclass
class _Run:
    """One call, and while its result comes later its subchats."""

    name: str
    call: GatedCall
    secret: str
    children: dict[str, CallSpan] = field(default_factory=dict)
    ended: bool = False

    def failed(self, error: BaseException, status: str = "error") -> None:
        self.call.span.failed(error, status, message=masked(str(error), self.secret))
        self.call._receipt("failed", type(error).__name__)

    def posted(self, content: Any) -> None:
        """The result of this call, which ends it."""
        wrong, said = checked(content)
        shown = {} if content is None else as_output(masked(said if wrong is None else str(content), self.secret))
        self.call.span.end("ok", **shown)
        self.ended = True


class FlexusGate:
    """Wraps the handlers of a Flexus bot. `timeout` is in seconds; `risks` and `effects` map globs of tool names.

    `tools` are the bot's `CloudTool`s: their descriptions and schemas are on the cards.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        tools: Iterable[Any] = (),
        timeout: float | None = 600.0,
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
    ) -> None:
        self.gate = gate
        self.tool_names: set[str] = set()
        """Every name wrapped so far, for Flexus' `turn_tool_calls_into_bg_tasks`."""
        self._tools = {tool.name: tool for tool in tools}
        self._timeout = timeout
        self._selection = Selection.of(risks=risks, effects=effects)
        self._later: dict[str, _Run] = {}

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(
        cls,
        enrolment: Enrolment | str | os.PathLike[str] | None = None,
        *,
        tools: Iterable[Any] = (),
        setup_schema: list[Any] | dict[str, Any] | None = None,
        bot: str | None = None,
        version: str | None = None,
        risks: Mapping[str, Risk] | None = None,
        connect_timeout: float = 5.0,
        **options: Any,
    ) -> AsyncIterator[FlexusGate]:
        """Connect and say what the bot is; `options` go to the constructor. Raises as `Gate.connect` does, and
        `SetupSchemaError`."""
        tools, selection = list(tools), Selection.of(risks=risks)
        introduced = [
            {
                "name": tool.name,
                "description": getattr(tool, "description", None) or "",
                "args_schema": getattr(tool, "parameters", None) or {},
                "strict": bool(getattr(tool, "strict", False)),
                "risk": selection.risk(tool.name),
            }
            for tool in tools
        ]
        async with Gate.connect(
            enrolment,
            framework="flexus",
            framework_version=version,
            agent_type=bot,
            tools=introduced,
            setup_schema=None if setup_schema is None else setup_entries(setup_schema),
            connect_timeout=connect_timeout,
        ) as gate:
            yield cls(gate, tools=tools, risks=risks, **options)

    def handler(
        self,
        name: str,
        *,
        risk: Risk | None = None,
        effects: Effects | None = None,
        timeout: float | EllipsisType | None = ...,
    ) -> Callable[[Handler], Handler]:
        """Decorate `async handler(toolcall, args)` of the tool `name`. `timeout` in seconds; left out, the gate's."""
        self.tool_names.add(name)
        seconds = self._timeout if isinstance(timeout, EllipsisType) else timeout

        def decorate(handler: Handler) -> Handler:
            @functools.wraps(handler)
            async def asking(toolcall: Any, args: Any) -> Any:
                ask = self._card(name, toolcall, args)
                ask.risk = risk or ask.risk
                ask.effects = effects or ask.effects
                return await self._handle(name, handler, ask, seconds, toolcall, args)

            return asking

        return decorate

    def on_tool_call(self, rcx: Any, name: str, **about: Any) -> Callable[[Handler], Any]:
        """`rcx.on_tool_call(name)` for a handler that asks; `about` as for `handler`."""
        return lambda handler: rcx.on_tool_call(name)(self.handler(name, **about)(handler))

    def subchat_ended(self, ft_id: str, *, status: str = "ok", output: str | None = None) -> None:
        """A subchat ended: its span, and with the last one that of the call that waits for it."""
        for run in self._later.values():
            child = run.children.pop(ft_id, None)
            if child is not None:
                child.end(status, **({} if output is None else as_output(masked(output, run.secret))))
                if not run.children:
                    run.posted(None)
                return

    def result_posted(self, fcall_id: str, content: Any = None) -> None:
        """The result of a call was posted: by hand, or by Flexus when its subchats were done."""
        run = self._later.pop(fcall_id, None)
        if run is not None:
            for child in run.children.values():
                child.end("ok")
            run.posted(content)

    def _card(self, name: str, toolcall: Any, args: Any) -> ToolCall:
        tool = self._tools.get(name)
        return ToolCall(
            name=name,
            args=copy.deepcopy(args),
            args_raw=getattr(toolcall, "fcall_arguments", None),
            description=getattr(tool, "description", None),
            args_schema=getattr(tool, "parameters", None),
            risk=self._selection.risk(name),
            effects=self._selection.effects_of(name),
            call_id=getattr(toolcall, "fcall_id", None),
            thread_id=getattr(toolcall, "fcall_ft_id", None),
            native={key: getattr(toolcall, key) for key in NATIVE if hasattr(toolcall, key)},
            allowed_verdicts=("approve", "modify", "deny", "skip"),
        )

    async def _handle(
        self, name: str, handler: Handler, ask: ToolCall, timeout: float | None, toolcall: Any, args: Any
    ) -> Any:
        secret = str(getattr(toolcall, "fcall_untrusted_key", None) or "")
        if holds([ask.args, ask.native], secret):
            return _secret(name, CallSpan(self.gate, name))
        degraded = functools.partial(not_honoured, edit="edit_in_history")
        call = GatedCall(self.gate, ask, name, timeout=timeout, degraded=degraded)
        run = _Run(name, call, secret)
        call.span.running()
        confirm, result = await self._once(run, handler, toolcall, args)
        if confirm is None:
            return result
        if getattr(toolcall, "confirmed_by_human", None) is True:
            return _asked_again(run)
        if holds(list(confirm.values()), secret):
            return _secret(name, call.span)
        ask.confirm = confirm
        answer = await call.ask()
        if not answer.allowed:
            return f"{answer.words}\nIt asked: {confirm['explanation']}"
        wrong = self._unfit(name, answer.args) if answer.edited else None
        if wrong is not None:
            call.refused("digest_differs")
            return f"{name} was not run: {wrong}"
        approved, confirmed = call.started(), copy.copy(toolcall)
        confirmed.confirmed_by_human = True
        if answer.edited:
            confirmed.fcall_arguments = json.dumps(approved, ensure_ascii=False)
        confirm, result = await self._once(run, handler, confirmed, approved)
        return result if confirm is None else _asked_again(run)

    async def _once(self, run: _Run, handler: Handler, toolcall: Any, args: Any) -> tuple[Any, Any]:
        """Run the handler: the confirmation that it asks for, or None and its result. What else it raises goes on."""
        try:
            result = await handler(toolcall, args)
        except asyncio.CancelledError as error:
            run.failed(error, "cancelled")
            raise
        except Exception as error:
            confirm = {key: getattr(error, f"confirm_{key}", None) for key in ("setup_key", "command", "explanation")}
            if all(isinstance(text, str) for text in confirm.values()):
                return confirm, None
            subchats = getattr(error, "subchats", None)
            if isinstance(subchats, list) and all(isinstance(each, str) for each in subchats):
                self._waits(run, subchats)
            else:
                run.failed(error)
            raise
        run.call._receipt("executed")
        if result is None:
            self._follow(run)
            return None, None
        wrong, said = checked(result)
        if wrong is not None:
            run.call.span.end("error", error={"type": "bad_result", "code": "bad_result", "message": wrong})
            return None, f"{run.name} ran, but its result was refused: {wrong}"
        run.call.span.end("ok", **as_output(masked(said, run.secret)))
        return None, result

    def _waits(self, run: _Run, subchats: list[str]) -> None:
        span = run.call.span
        run.call._receipt("executed")
        shown = masked(subchats, run.secret)
        span.set(attributes={"flexus.subchats_started": shown})
        span.waiting()
        for ft_id, name in zip(subchats, shown, strict=True):
            about = {"trace_id": span.trace_id, "parent": span.span_id, "thread_id": name}
            run.children[ft_id] = CallSpan(self.gate, f"subchat {name}", kind="agent", **about)
            run.children[ft_id].running()
        key = self._follow(run)
        asyncio.get_running_loop().call_later(SUBCHATS_SECONDS, self._over, key, run)

    def _follow(self, run: _Run) -> str:
        key = str(run.call.call.call_id)
        self._later[key] = run
        if len(self._later) > MAX_OPEN:
            del self._later[next(iter(self._later))]
        return key

    def _over(self, key: str, run: _Run) -> None:
        """Flexus waits no longer."""
        if self._later.get(key) is run:
            del self._later[key]
            for span in [] if run.ended else [*run.children.values(), run.call.span]:
                span.end("timeout")

    def _unfit(self, name: str, args: Any) -> str | None:
        """Why edited arguments cannot be run."""
        tool = self._tools.get(name)
        if not isinstance(args, dict):
            return "the edited arguments are not an object"
        wanted = set((getattr(tool, "parameters", None) or {}).get("properties", {}))
        if getattr(tool, "strict", False) and set(args) != wanted:
            return "the edited arguments are not exactly the properties of a strict tool"
        return None


def _secret(name: str, span: CallSpan) -> str:
    error = InvalidRequestError("the call holds the secret fcall_untrusted_key", code="secret")
    span.failed(error)
    return refusal_text(name, error)


def _asked_again(run: _Run) -> str:
    text = "it asked for a confirmation again after a person had confirmed it"
    run.call.span.end("error", error={"type": "asked_again", "code": "asked_again", "message": text})
    run.call._receipt("failed", "asked_again")
    return f"{run.name} did not finish: {text}"
