"""ravi (package agent-substrate 0.1 and 0.2): its approval handler, which asks a person and waits.

Imports nothing of ravi: its types are known by their shape. Refuses in ravi's own words, and raises what went wrong
in asking, which ravi's invoker turns into the status `error`.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hashlib
import inspect
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from ..gate import Gate
from ..verify import Decision
from ..wire import ToolCall
from ..words import Effects, Verdict
from ._gating import GatedCall, Selection
from ._ravi_trace import CHAIN_SPAN, CallsSeen, record_chain
from ._spans import CallSpan

MARGIN_SECONDS = 0.5
"""The card ends this much before ravi stops waiting (a quarter of short time-outs)."""


@dataclasses.dataclass
class _Chain:
    chain_id: str
    max_calls: int | None
    ids: dict[str, str]
    span: CallSpan
    asked: int = 0


_chain: ContextVar[_Chain | None] = ContextVar("countersign_ravi_chain", default=None)
_skill: ContextVar[dict[str, Any] | None] = ContextVar("countersign_ravi_skill", default=None)


def ravi16(args: Any) -> str:
    """ravi's digest of a call's arguments: 16 hex."""
    text = json.dumps(args, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def tools_of(registry: Any) -> list[dict[str, Any]]:
    """What a hello says of the tools of ravi's registry (`Gate.connect(tools=…)`)."""
    return [
        {
            "name": tool.name,
            "description": getattr(tool, "description", "") or "",
            "args_schema": _schema(tool) or {},
            "risk": _risk(getattr(tool, "risk", "critical")),
            "origin": _origin(tool),
            "gated": _origin(tool) != "hosted",
        }
        for tool in registry.all()
    ]


def skills_of(skills: Any) -> list[dict[str, Any]]:
    """What a hello says of skills (`Gate.connect(skills=…)`): never their instructions."""
    each = skills.values() if isinstance(skills, Mapping) else skills
    return [{**_of_skill(skill), "description": getattr(skill, "description", "") or ""} for skill in each]


class RaviApprovalHandler:
    """Give it to ravi's `ToolInvoker(approval_handler=…)`. One for any number of chains.

    `approval_timeout` is ravi's own (`ChainPolicy.approval_timeout_s`), in seconds. `contract` is the module that
    defines `ApprovalDecision`; without it, the one that defines the request. `registry` describes the tools on the
    card. `on_terminate` ends ravi's run; without it nobody is offered to end it.
    """

    suspends_via_signal = False

    def __init__(
        self,
        gate: Gate,
        *,
        approval_timeout: float = 55.0,
        contract: Any = None,
        effects: Mapping[str, Effects] | None = None,
        registry: Any = None,
        on_terminate: Callable[[], object] | None = None,
    ) -> None:
        self._gate = gate
        self._margin = min(MARGIN_SECONDS, approval_timeout / 4)
        self._timeout = approval_timeout - self._margin
        self._contract = contract
        self._selection = Selection.of(effects=effects)
        self._registry = registry
        self._on_terminate = on_terminate
        self._seen = CallsSeen(gate)

    async def request(self, req: Any) -> Any:
        """ravi's answer. Raises `CountersignError` where the person could not be asked; nothing may run then."""
        contract = self._contract or sys.modules[type(req).__module__]
        words = {str(member.value): member for member in contract.ApprovalDecision}
        shape = getattr(contract, "ApprovalResult", None)
        fields = _fields(shape) if shape is not None else set()
        waits = _Waits(time.monotonic() + self._timeout + 4 * self._margin)
        call = self._call(req, "modified" in words and shape is not None, "reason" in fields, waits)
        self._seen.add(req.call.call_id, call)
        try:
            answer = await call.ask()
            if answer.verdict == "expired":
                await waits.over()
        except asyncio.CancelledError:
            waits.cancelled = True
            raise
        if answer.error is not None:
            raise answer.error
        decision = answer.decision
        assert decision is not None  # noqa: S101 - without an error there is one
        word, edited = "skipped" if answer.verdict == "skip" else "denied", None
        if answer.allowed and not isinstance(answer.args, dict):
            call.refused("invalid_args")
        elif answer.edited:
            word, edited = "modified", call.started()
        elif answer.allowed and call.may_run(req.call.arguments):
            word, _ = "approved", call.started()
        elif answer.verdict == "terminate" and self._on_terminate is not None:
            ended = self._on_terminate()
            if inspect.isawaitable(ended):
                await ended
        if shape is None:
            return words[word]
        reported = {
            "modified_args": edited,
            "reason": decision.message,
            "decided_by": (decision.decided_by or {}).get("name"),
            "decided_at": decision.stored_at,
        }
        known = {name: value for name, value in reported.items() if name in fields and value is not None}
        return shape(decision=words[word], **known)

    @contextlib.contextmanager
    def chain(
        self,
        chain_id: str,
        *,
        policy: Any = None,
        skill: Any = None,
        run_id: str | None = None,
        thread_id: str | None = None,
    ) -> Iterator[None]:
        """What is asked inside is numbered and is under one span. `policy` is ravi's `ChainPolicy`."""
        ids = {name: value for name, value in (("run_id", run_id), ("thread_id", thread_id)) if value is not None}
        about: dict[str, Any] = {"attributes": {"ravi.chain_id": chain_id}, **ids}
        span = CallSpan(self._gate, CHAIN_SPAN, kind="chain", **about)
        span.running()
        token = _chain.set(_Chain(chain_id, getattr(policy, "max_tool_calls", None), ids, span))
        try:
            with self.skill(skill) if skill is not None else contextlib.nullcontext():
                yield
        except BaseException as error:
            span.failed(error)
            raise
        finally:
            _chain.reset(token)
        span.end("ok")

    @contextlib.contextmanager
    def skill(self, skill: Any) -> Iterator[None]:
        """ravi's `Skill` that is active inside; of nested ones the inner."""
        token = _skill.set(_of_skill(skill))
        try:
            yield
        finally:
            _skill.reset(token)

    def record_result(self, call: Any, result: Any, *, duration_ms: float | None = None) -> None:
        """What became of a `ToolCallRequest`, as ravi's `InvocationResult`: its span, and its receipt if it ran."""
        self._seen.ended(call, result, duration_ms, _within())

    def record_chain(
        self,
        result: Any,
        *,
        chain_id: str,
        run_id: str | None = None,
        thread_id: str | None = None,
        started_at: datetime | None = None,
    ) -> str:
        """Spans of a chain that ran, from ravi's `ChainRunResult`; a crashed one too. The id of their trace."""
        return record_chain(self._gate, result, chain_id, started_at, run_id=run_id, thread_id=thread_id)

    def invoker(self, invoker: Any) -> Any:
        """ravi's `ToolInvoker` with `record_result` after each `invoke`."""
        return _Recording(self, invoker)

    def _call(self, req: Any, editable: bool, has_reason: bool, waits: _Waits) -> GatedCall:
        asked, chain = req.call, _chain.get()
        verdicts: list[Verdict] = ["approve", "deny", "skip"]
        verdicts += ["modify"] if editable else []
        verdicts += ["terminate"] if self._on_terminate is not None else []
        ids = {"run_id": req.run_id, **(chain.ids if chain is not None else {})}
        about: dict[str, Any] = {}
        if chain is not None:
            chain.asked += 1
            about["chain"] = {"chain_id": chain.chain_id, "seq": chain.asked}
            if chain.max_calls is not None:
                about["chain"]["max_calls"] = chain.max_calls
        tool = self._registry.get(asked.name) if self._registry is not None else None
        references = sorted(
            name for name, value in asked.arguments.items() if isinstance(value, dict) and "$artifact" in value
        )
        call = ToolCall(
            name=asked.name,
            args=asked.arguments,
            description=getattr(tool, "description", None),
            args_schema=_schema(tool),
            effective={"injected_names": references} if references else None,
            native=_native(req),
            native_digest={"alg": "ravi16", "value": ravi16(asked.arguments)},
            risk=_risk(req.risk),
            effects=self._selection.effects_of(asked.name),
            reason=str((req.context or {}).get("summary") or "") or None,
            call_id=asked.call_id,
            skill=_skill.get(),
            allowed_verdicts=tuple(verdicts),
            **ids,
            **about,
        )

        def degraded(decision: Decision) -> Any:
            if decision.verdict == "expired":
                return waits.words()
            words = ["skip_as_deny"] if decision.verdict == "skip" else []
            return [*words, "message"] if decision.message and not (decision.allowed and has_reason) else words

        return GatedCall(self._gate, call, asked.name, timeout=self._timeout, degraded=degraded, **_within())


@dataclasses.dataclass
class _Waits:
    """An expired call is kept, so that ravi's own time-out speaks first: it cancels the handler, and the model reads
    "timed out"."""

    until: float
    cancelled: bool = False

    async def over(self) -> None:
        await asyncio.sleep(self.until - time.monotonic())

    async def words(self) -> list[str]:
        """What of the expiry ravi could not distinguish: known when ravi would have spoken."""
        await self.over()
        return [] if self.cancelled else ["expiry_as_deny"]


class _Recording:
    """An invoker that is watched: everything but `invoke` is the inner one's."""

    def __init__(self, handler: RaviApprovalHandler, inner: Any) -> None:
        self._handler = handler
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def invoke(self, call: Any, *args: Any, **options: Any) -> Any:
        begun = time.monotonic()
        try:
            result = await self._inner.invoke(call, *args, **options)
        except BaseException as error:
            self._handler._seen.left(call, error)
            raise
        self._handler.record_result(call, result, duration_ms=(time.monotonic() - begun) * 1000)
        return result


def _within() -> dict[str, Any]:
    chain = _chain.get()
    return {} if chain is None else {"trace_id": chain.span.trace_id, "parent": chain.span.span_id, **chain.ids}


def _native(req: Any) -> dict[str, Any]:
    call, agent = req.call, req.agent_id
    whole = {
        "call": {name: getattr(call, name) for name in ("kind", "name", "arguments", "call_id")},
        "risk": _word(req.risk),
        "agent_id": {"type": agent.type, "key": agent.key},
        "run_id": req.run_id,
        "context": req.context,
        "requested_at": req.requested_at.isoformat(),
    }
    plain: dict[str, Any] = json.loads(json.dumps(whole, default=str))
    return plain


def _word(risk: Any) -> str:
    return str(getattr(risk, "value", risk))


def _risk(risk: Any) -> Any:
    return {"sensitive": "high", "unknown": "critical"}.get(_word(risk), _word(risk))


def _origin(tool: Any) -> str:
    if hasattr(tool, "handle_call"):
        return "provider_defined"
    return "hosted" if hasattr(tool, "provider_specs") and not hasattr(tool, "execute") else "local"


def _schema(tool: Any) -> dict[str, Any] | None:
    schema = getattr(tool, "input_schema", None)
    return schema if isinstance(schema, dict) else None


def _of_skill(skill: Any) -> dict[str, Any]:
    found = {name: getattr(skill, name, None) for name in ("name", "version", "path")}
    tools = {"allowed_tools": list(getattr(skill, "allowed_tools", None) or ())}
    return {**{name: value for name, value in found.items() if value is not None}, **tools}


def _fields(shape: Any) -> set[str]:
    if dataclasses.is_dataclass(shape):
        return {field.name for field in dataclasses.fields(shape)}
    return set(getattr(shape, "model_fields", None) or inspect.get_annotations(shape))
