"""selectools 1.3.0: every call that its policy sends to review waits for a person.

Refuses by raising: selectools turns an exception into a denied call and hands its message to the model. Returns
nothing but `True`, and that only while the arguments in the framework's hands are those that were approved.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import copy
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any, TypedDict, Unpack

try:
    import selectools  # type: ignore[import-untyped,unused-ignore]
    from selectools import AgentObserver, Tool  # type: ignore[import-untyped,unused-ignore]
    from selectools.agent.config_groups import ToolConfig  # type: ignore[import-untyped,unused-ignore]
    from selectools.cancellation import CancellationToken  # type: ignore[import-untyped,unused-ignore]
    from selectools.policy import ApprovalRequest, ToolPolicy  # type: ignore[import-untyped,unused-ignore]
except ImportError as missing:
    raise ImportError("the adapter needs selectools: pip install 'countersign-sdk[selectools]'") from missing

from ..digest import args_digest, selectools64
from ..enrolment import Enrolment
from ..errors import ArgumentsChangedError, InvalidRequestError, NotAllowedError
from ..sync import SyncGate
from ..verify import Decision
from ..wire import Introduction, ToolCall
from ..words import Effects, Risk, Verdict
from ._gating import Answer, GatedCall, not_honoured
from ._selectools_calls import Known as _Known
from ._selectools_calls import Question as _Question
from ._spans import CallSpan
from .selectools_receipts import MAX_KNOWN_CALLS, ApprovedCalls
from .selectools_trace import RunTrace, failed
from .selectools_words import effective, flags

MARGIN_SECONDS = 0.5
"""The request ends this much before selectools stops waiting (a quarter of short time-outs), so that no approval
is valid for a call that selectools has already given up."""


class GateOptions(TypedDict, total=False):
    """What the constructor of `SelectoolsGate` takes beside the gate."""

    tools: Iterable[Tool]
    approval_timeout: float
    risks: Mapping[str, Risk] | None
    effects: Mapping[str, Effects] | None
    thread_id: str | None
    cancel_token: CancellationToken | None


class SelectoolsGate(AgentObserver):  # type: ignore[misc,unused-ignore]
    """One gate for any number of agents. Use it as `ToolConfig` (`tool_config`) and as an observer.

    `risks` and `effects` say per tool name what protocol section 2 calls so; a tool without a word is `critical`.
    `cancel_token` lets an operator end the run (verdict `terminate`); it has to be the agent's
    `AgentConfig.cancellation_token` too.
    """

    def __init__(
        self,
        gate: SyncGate,
        *,
        tools: Iterable[Tool] = (),
        approval_timeout: float = 60.0,
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
        thread_id: str | None = None,
        cancel_token: CancellationToken | None = None,
    ) -> None:
        super().__init__()
        self._gate = gate
        self._tools = {tool.name: tool for tool in tools}
        self._approval_timeout = approval_timeout
        self._risks = risks or {}
        self._effects = effects or {}
        self._thread_id = thread_id
        self._cancel_token = cancel_token
        self._trace = RunTrace(gate)
        self._approved = ApprovedCalls(gate)
        self._lock = threading.Lock()
        self._known: OrderedDict[int, _Known] = OrderedDict()
        self._deciding: ContextVar[_Known | None] = ContextVar("countersign_deciding", default=None)

    @classmethod
    @contextlib.contextmanager
    def open(
        cls, enrolment: Enrolment | str | os.PathLike[str] | None = None, **options: Unpack[GateOptions]
    ) -> Iterator[SelectoolsGate]:
        """Connect and make a gate of this framework; `options` go to the constructor."""
        tools = list(options.get("tools", ()))
        listed = [
            {
                "name": tool.name,
                "description": tool.description,
                "args_schema": tool.schema()["parameters"],
                "risk": (options.get("risks") or {}).get(tool.name, "critical"),
            }
            for tool in tools
        ]
        version = selectools.__version__
        with SyncGate(enrolment, framework="selectools", framework_version=version, tools=listed) as gate:
            options["tools"] = tools
            yield cls(gate, **options)

    @property
    def enrolment(self) -> Enrolment:
        """Who this gate speaks as."""
        return self._gate.gate.enrolment

    def introduce(self, **parts: Unpack[Introduction]) -> None:
        """As `Gate.introduce`; `open` has named the tools already."""
        self._gate.introduce(**parts)

    def tool_config(self, *, asynchronous: bool = False, **settings: Any) -> ToolConfig:
        """The `ToolConfig` that asks through this gate; `settings` are its other fields (`policy`, …).

        Without a `policy` every call asks, whatever `require_approval` names: selectools would run the others
        unasked. The policy belongs here: selectools ignores `AgentConfig.tool_policy` beside a `ToolConfig`.

        Its hooks keep to its own `approval_timeout`, whatever other agents of this gate have. `asynchronous` gives
        hooks that need no thread per waiting call and withdraw the request when the call is cancelled. Its
        `confirm_action` works under `arun` only.
        """
        if settings.get("policy") is None:
            settings["policy"] = ToolPolicy()
        within = settings.setdefault("approval_timeout", self._approval_timeout)
        if settings.get("approval_handler") == self.handle:
            settings["approval_handler"] = partial(self.handle_async if asynchronous else self.handle, within=within)
        hook = self.confirm_async if asynchronous else self.confirm
        return ToolConfig(confirm_action=partial(hook, within=within), **settings)

    def confirm(self, tool_name: str, tool_args: dict[str, Any], reason: str, *, within: float | None = None) -> bool:
        """`ToolConfig.confirm_action` for `run` and `arun`: True, or an exception whose text the model reads.

        `within` is how many seconds selectools waits; without it, the gate's `approval_timeout`. selectools calls it
        in a thread, which hears of a cancelled `arun` only when the whole task has ended (`confirm_async` hears it).
        """
        return self._decide(_Question(tool_name, tool_args, reason, self._take(tool_name, tool_args), within))

    async def confirm_async(
        self, tool_name: str, tool_args: dict[str, Any], reason: str, *, within: float | None = None
    ) -> bool:
        """`confirm` for `arun`. Cancelling it withdraws the request."""
        known = self._take(tool_name, tool_args)
        return await self._decide_async(_Question(tool_name, tool_args, reason, known, within))

    def handle(self, request: ApprovalRequest, *, within: float | None = None) -> bool:
        """`ToolConfig.approval_handler`: selectools ignores edits here, so `modify` is not offered."""
        return self._decide(self._requested(request, within))

    async def handle_async(self, request: ApprovalRequest, *, within: float | None = None) -> bool:
        """`handle` for `run` and `arun`. Cancelling it withdraws the request."""
        return await self._decide_async(self._requested(request, within))

    def _requested(self, request: ApprovalRequest, within: float | None) -> _Question:
        known = self._take(request.tool_name, request.tool_args)
        # selectools hands over a copy; what will run is the original, and that is what has to be approved.
        args = known.args if known is not None else request.tool_args
        return _Question(request.tool_name, args, request.reason, known, within, False, request.preview)

    def _decide(self, asked: _Question) -> bool:
        call = self._call(asked)
        return self._settle(asked, call.span, self._ask(call, asked.known))

    async def _decide_async(self, asked: _Question) -> bool:
        call = self._call(asked)
        return self._settle(asked, call.span, await asyncio.wrap_future(self._gate.submit(call.ask())))

    def _ask(self, call: GatedCall, known: _Known | None) -> Answer:
        """Asks in a thread, which nobody can cancel: withdraws the request when the task that waits has ended."""
        asking = self._gate.submit(call.ask())
        if known is None or known.task is None:
            return asking.result()
        task = known.task

        def give_up(_: asyncio.Task[Any]) -> None:
            asking.cancel()

        try:
            task.get_loop().call_soon_threadsafe(task.add_done_callback, give_up)
        except RuntimeError:  # its loop is closed
            asking.cancel()
        try:
            return asking.result()
        except concurrent.futures.CancelledError:
            raise NotAllowedError(f"{call.name} was not run: its run was cancelled", verdict="withdrawn") from None
        finally:
            with contextlib.suppress(RuntimeError):
                task.get_loop().call_soon_threadsafe(task.remove_done_callback, give_up)

    def _take(self, name: str, args: dict[str, Any]) -> _Known | None:
        with self._lock:
            known = self._known.pop(id(args), None)
            if known is not None:
                return known
            # A copy: its call is the one that the policy sent here in this context, and not another equal one.
            for other in (self._deciding.get(), *reversed(self._known.values())):
                if other is not None and other.tool_name == name and other.args == args:
                    taken = self._known.pop(id(other.args), None)
                    if taken is not None:
                        return taken
            return None

    def _call(self, asked: _Question) -> GatedCall:
        name, known = asked.name, asked.known
        span = known.span if known is not None else CallSpan(self._gate, f"policy {name}", kind="approval")
        waited = time.monotonic() - known.seen_at if known is not None else 0.0
        whole = self._approval_timeout if asked.within is None else asked.within
        timeout = whole - min(MARGIN_SECONDS, whole / 4) - waited
        if timeout <= 0:
            late = NotAllowedError(f"{name} was not run: no time was left to ask", verdict="expired")
            span.failed(late, "timeout")
            raise late
        tool = self._tools.get(name)
        verdicts: tuple[Verdict, ...] = ("approve", "deny", "skip")
        if asked.editable:
            verdicts = (*verdicts, "modify")
        if self._cancel_token is not None:
            verdicts = (*verdicts, "terminate")
        call = ToolCall(
            name=name,
            args=asked.args,
            reason=asked.reason or None,
            preview=asked.preview,
            risk=self._risks.get(name, "critical"),
            effects=self._effects.get(name),
            origin="local",
            description=tool.description if tool is not None else None,
            args_schema=tool.schema()["parameters"] if tool is not None else None,
            effective=effective(tool, asked.args) if tool is not None else None,
            native_digest={"alg": "selectools64", "value": selectools64(asked.args)},
            run_id=known.run_id if known is not None else None,
            thread_id=self._thread_id,
            history=self._trace.history(known.run_id) if known is not None else None,
            metadata={"selectools": flagged} if (flagged := flags(tool)) else None,
            allowed_verdicts=verdicts,
        )
        return GatedCall(self._gate.gate, call, name, timeout=timeout, degraded=_degraded, own=span)

    def _settle(self, asked: _Question, span: CallSpan, answer: Answer) -> bool:
        name, args, decision, known = asked.name, asked.args, answer.decision, asked.known
        if answer.verdict == "terminate" and self._cancel_token is not None:
            self._cancel_token.cancel()
        if answer.error is not None:
            raise answer.error
        if not answer.allowed or decision is None:
            raise NotAllowedError(answer.words, verdict=answer.verdict, decision=decision)  # type: ignore[arg-type]
        if known is not None and known.task is not None and known.task.done():
            self._gate.receipt_later(decision, "refused", message="withdrawn")
            span.end("cancelled")
            raise NotAllowedError(
                f"{name} was not run: its run was cancelled", verdict="withdrawn", decision=decision
            )
        try:
            if decision.verdict == "modify":
                if not asked.editable or not isinstance(decision.args, dict):
                    raise ArgumentsChangedError(f"{name} was not run: selectools cannot take these arguments")
                args.clear()
                args.update(copy.deepcopy(decision.args))
            if args_digest(args) != decision.args_digest:
                raise ArgumentsChangedError(f"{name} was not run: its arguments changed while it waited")
        except (ArgumentsChangedError, InvalidRequestError) as error:
            self._gate.receipt_later(decision, "refused", message=error.code)
            span.failed(error)
            raise
        self._approved.add(args, decision, known.run_id if known is not None else None, span)
        span.answered(decision)
        return True

    # Observer hooks. selectools swallows what they raise, so nothing here decides anything.

    def on_run_start(self, run_id: str, messages: list[Any], system_prompt: str) -> None:
        """The run's span begins."""
        self._trace.run_started(run_id)

    def on_run_end(self, run_id: str, result: Any) -> None:
        """The run's span ends; artifacts are listed on it. Approved calls that did not start get their receipt."""
        self._run_over(run_id, getattr(result.trace, "steps", None) or [])
        self._trace.run_ended(run_id, result)

    def on_error(self, run_id: str, error: Exception, context: dict[str, Any]) -> None:
        """The run's span ends with the error. Receipts as in `on_run_end`."""
        self._run_over(run_id, [])
        self._trace.run_failed(run_id, error)

    def _run_over(self, run_id: str, steps: list[Any]) -> None:
        self._approved.run_ended(run_id, steps)
        with self._lock:
            left = [key for key, known in self._known.items() if known.run_id == run_id]
            unasked = [self._known.pop(key) for key in left]
        for known in unasked:
            # selectools remembered the denial of an equal call and asked nobody again.
            known.span.end("denied")

    def on_llm_start(self, run_id: str, messages: list[Any], model: str, system_prompt: str) -> None:
        """A model call's span begins. Messages are not copied into it."""
        self._trace.model_started(run_id, model, messages)

    def on_llm_end(self, run_id: str, response: str, usage: Any) -> None:
        """A model call's span ends."""
        self._trace.model_ended(run_id, response, usage)

    def on_policy_decision(
        self, run_id: str, tool_name: str, decision: str, reason: str, tool_args: dict[str, Any]
    ) -> None:
        """Remembers the run and the moment of a call that is about to ask."""
        attributes = {"selectools.policy.decision": decision, "selectools.policy.reason": reason}
        span = self._trace.begin(
            run_id, f"policy {tool_name}", "approval", tool_args, tool_name=tool_name, attributes=attributes
        )
        if decision != "review":
            span.running()
            span.end("ok" if decision == "allow" else "denied")
            return
        span.waiting()
        with self._lock:
            known = _Known(tool_name, tool_args, run_id, time.monotonic(), span, _current_task())
            self._known[id(tool_args)] = known
            self._deciding.set(known)
            while len(self._known) > MAX_KNOWN_CALLS:
                self._known.popitem(last=False)

    def on_tool_start(self, run_id: str, call_id: str, tool_name: str, tool_args: dict[str, Any]) -> None:
        """Notes which approved call begins, and the digest of what really runs."""
        attributes = {f"selectools.{flag}": True for flag in flags(self._tools.get(tool_name))}
        span = self._trace.begin(
            run_id, tool_name, "tool", tool_args, call_id=call_id or None, attributes=attributes or None
        )
        self._approved.started(tool_args, span)

    def on_tool_chunk(self, run_id: str, call_id: str, tool_name: str, chunk: str) -> None:
        """What the tool said so far goes onto its span."""
        self._approved.chunk(chunk)

    def on_tool_end(self, run_id: str, call_id: str, tool_name: str, result: str, duration_ms: float) -> None:
        """Receipt `executed`."""
        span = self._approved.finished("executed", None)
        if span is not None:
            self._trace.tool_returned(run_id, call_id, tool_name, result, span)

    def on_tool_error(
        self,
        run_id: str,
        call_id: str,
        tool_name: str,
        error: Exception,
        tool_args: dict[str, Any],
        duration_ms: float,
    ) -> None:
        """Receipt `failed`."""
        span = self._approved.finished("failed", type(error).__name__)
        if span is not None:
            failed(span, error)


def _degraded(decision: Decision) -> list[str] | None:
    """selectools gives no call id to its hooks."""
    return not_honoured(decision, "call_id", edit="edit_notice")


def _current_task() -> asyncio.Task[Any] | None:
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs in this thread
        return None
