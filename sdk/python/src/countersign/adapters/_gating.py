"""One gated call of a framework, from the question to the receipt, shared by the adapters.

An adapter says what the call is and what to run; it gets the result, or the words for the model.
"""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import fnmatch
import functools
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..degraded import Degraded
from ..digest import args_digest
from ..errors import AlreadyAskedError, CountersignError
from ..gate import Gate
from ..refusal import refusal_text, response_content
from ..verify import Decision
from ..wire import Ask, ToolCall, uuid7
from ..words import Effects, Risk, Stage
from ._spans import CallSpan

log = logging.getLogger("countersign")

MAX_HISTORY = 10
MAX_SAID = 2000
MAX_EQUAL = 100
"""Equal calls with one id that wait at once."""


@dataclass(frozen=True)
class Selection:
    """Which calls ask, and what is said of them (integrations, section 1). Globs of tool names, case matters."""

    ask: tuple[str, ...] = ("*",)
    unasked: tuple[str, ...] = ()
    risks: Mapping[str, Risk] = field(default_factory=dict)
    effects: Mapping[str, Effects] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ask: Iterable[str] = ("*",),
        unasked: Iterable[str] = (),
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
    ) -> Selection:
        """Raises `TypeError` for a text in the place of a list: its letters would be the globs."""
        if isinstance(ask, str) or isinstance(unasked, str):
            raise TypeError("ask and unasked are lists of globs, such as ('pay_*',)")
        return cls(tuple(ask), tuple(unasked), dict(risks or {}), dict(effects or {}))

    def asks(self, name: str) -> bool:
        """Whether a call of this tool waits for an answer."""
        return _matches(name, self.ask) and not _matches(name, self.unasked)

    def risk(self, name: str) -> Risk:
        """The first match in order; `critical` without one."""
        return next((risk for glob, risk in self.risks.items() if fnmatch.fnmatchcase(name, glob)), "critical")

    def effects_of(self, name: str) -> Effects | None:
        """The first match in order."""
        return next((word for glob, word in self.effects.items() if fnmatch.fnmatchcase(name, glob)), None)


@dataclass(frozen=True)
class Answer:
    """What became of a question. `allowed` with `args`, or `words` that the model reads."""

    allowed: bool
    args: Any = None
    words: str = ""
    content: Any = None
    """What a person answered in the call's place (`respond`)."""
    verdict: str = "error"
    decision: Decision | None = None
    error: BaseException | None = None

    @property
    def responded(self) -> bool:
        """Whether `content` takes the place of the tool's result."""
        return self.verdict == "respond"

    @property
    def edited(self) -> bool:
        """Whether a person changed the arguments."""
        return self.verdict == "modify"


def not_honoured(decision: Decision, *words: str, edit: str | None = None) -> list[str] | None:
    """`degraded` of an answer: `words`, `edit` for an edited call, and `message` for a text beside a yes, which no
    framework hands to its model. None where all is honoured."""
    found = [*words]
    if edit is not None and decision.verdict == "modify":
        found.append(edit)
    if decision.allowed and decision.message:
        found.append("message")
    return found or None


def unreported(decision: Decision, *, edit: str | None = None) -> list[str] | None:
    """The same where nobody reports what became of an allowed call."""
    return not_honoured(decision, *(["no_execution_report"] if decision.allowed else []), edit=edit)


class GatedCall:
    """One call: `ask`, then `run` (or `started`, and `ended` or `failed`, where the framework runs it itself)."""

    def __init__(
        self,
        gate: Gate,
        call: Ask,
        name: str,
        *,
        timeout: float | None,
        key: str | None = None,
        unique_ids: bool = False,
        degraded: Degraded = not_honoured,
        own: CallSpan | None = None,
        **span: Any,
    ) -> None:
        """`key` makes the ask resumable on a gate with a journal; without one it is that of thread, call id and
        arguments. `unique_ids` where the program makes the call ids: an equal call is then the same one. `own` is
        the span that follows the question, else one of the tool is made."""
        self.gate = gate
        self.call = call
        self.name = name
        self.answer: Answer | None = None
        self.ran_digest: str | None = None
        """Of the arguments that the framework says it ran with, where it runs the call itself."""
        self._timeout = timeout
        self._key = key
        self._unique_ids = unique_ids
        self._degraded = degraded
        about = {"call_id": call.call_id, "run_id": call.run_id, "thread_id": call.thread_id}
        args = call.args if isinstance(call, ToolCall) else None
        self.span = own or CallSpan(gate, name, args=args, **{**about, **span})

    async def ask(self) -> Answer:
        """Ask and wait. Never raises but for the cancelling of its task, which withdraws the request."""
        call = self.call
        if call.traceparent is None:
            call.traceparent = self.span.traceparent
        keyed = self._key is not None or (call.thread_id and call.call_id)
        if call.request_id is None and (self.gate._journal is None or not keyed):
            # Known before it is published, so that the waiting span has it. One with a key may be there already.
            call.request_id = uuid7()
        self.span.waiting(call.request_id)
        try:
            decision = await self._decision()
            self.answer = _answer(self.name, decision)
        except asyncio.CancelledError:
            self.span.end("cancelled")
            raise
        except Exception as error:
            if not isinstance(error, CountersignError):
                log.warning("could not ask about %s: %s", self.name, type(error).__name__)
            self.span.failed(error)
            self.answer = Answer(False, words=refusal_text(self.name, error), error=error)
            return self.answer
        if self.answer.responded:
            self.span.set(attributes={"countersign.responded": True}, request_id=decision.request_id)
            self.span.succeeded(self.answer.content)
        elif not self.answer.allowed:
            self.span.answered(decision)
        else:
            self.span.set(request_id=decision.request_id)
        return self.answer

    async def _decision(self) -> Decision:
        key, call = self._key, self.call
        ask = functools.partial(self.gate.ask, call, timeout=self._timeout, degraded=self._degraded)
        if key is not None or self.gate._journal is None or not (call.thread_id and call.call_id):
            return await ask(key=key)
        digest = args_digest(call.args) if isinstance(call, ToolCall) else ""
        keys = [f"{call.thread_id}/{call.call_id}/{digest}"]
        if not self._unique_ids and call.request_id is None:
            # A model's server may give all calls one id: an equal call beside one that waits is another one.
            keys += [f"{keys[0]}/{number}" for number in range(2, MAX_EQUAL + 1)]
        while True:
            try:
                return await ask(key=keys.pop(0))
            except AlreadyAskedError as error:
                if error.code != "already_waiting" or not keys:
                    raise

    async def run(self, run: Callable[[Any], Awaitable[Any]]) -> Any:
        """Run the allowed call with a private copy of the approved arguments; receipts and span follow it.

        What `run` raises goes on to the caller. Raises `RuntimeError` for a call that was not allowed.
        """
        args = self.started()
        try:
            result = await run(args)
        except asyncio.CancelledError as error:
            self.failed(error, status="cancelled")
            raise
        except BaseException as error:
            self.failed(error)
            raise
        self.ended(result)
        return result

    def started(self) -> Any:
        """The call starts now: the arguments with which it runs."""
        if self.answer is None or not self.answer.allowed:
            raise RuntimeError(f"{self.name} was not allowed")
        self.span.running(self.answer.args)
        return copy.deepcopy(self.answer.args)

    def ended(self, result: Any, **more: Any) -> None:
        """The call returned."""
        self.span.succeeded(result, **more)
        self._receipt("executed")

    def failed(self, error: BaseException, *, status: str = "error", message: str | None = None, **more: Any) -> None:
        """The call raised. `more` goes into the span's `error`, `message` in the receipt (else the error's type)."""
        self.span.failed(error, status, **more)
        self._receipt("failed", message or type(error).__name__)

    def refused(self, code: str) -> None:
        """The allowed call does not start after all: `not_started`, `digest_differs` or `invalid_args`."""
        if self.answer is not None:
            self.answer = dataclasses.replace(self.answer, allowed=False)
        self.span.end("error", error={"type": "refused", "code": code})
        self._receipt("refused", code, ran=False)

    def may_run(self, args: Any) -> bool:
        """Whether these are exactly the approved arguments. Where they are not, the receipt says so."""
        answer = self.answer
        try:
            if answer is not None and answer.allowed and args_digest(args) == args_digest(answer.args):
                return True
        except CountersignError:
            pass
        self.refused("digest_differs")
        return False

    def _receipt(self, stage: Stage, message: str | None = None, *, ran: bool = True) -> None:
        decision = self.answer.decision if self.answer is not None else None
        if decision is None:
            return
        digest = (self.ran_digest or decision.args_digest) if ran else None
        try:
            self.gate.receipt_later(decision, stage, executed_args_digest=digest, message=message)
        except CountersignError as error:
            log.warning("the receipt of %s was not sent: %s", self.name, error)


def group(turn: str, index: int, size: int) -> dict[str, Any] | None:
    """`group` of a call of one model turn (`turn` names it), counted from 0; None where it is the only one."""
    return {"id": turn, "index": index, "size": size} if size > 1 else None


def raw_text(text: str, args: Any) -> str | None:
    """`args_raw`: the model's text, where it has other bytes than the arguments' JSON."""
    return None if text == json.dumps(args, ensure_ascii=False, separators=(",", ":")) else text


def last_messages(texts: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """The last messages of a conversation, as (role, text), for the card's `history`."""
    said = [{"role": role, "content": text[:MAX_SAID]} for role, text in texts if text]
    return said[-MAX_HISTORY:]


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs)


def _answer(name: str, decision: Decision) -> Answer:
    if decision.allowed:
        return Answer(True, args=copy.deepcopy(decision.args), verdict=decision.verdict, decision=decision)
    content = response_content(decision) if decision.verdict == "respond" else None
    words = refusal_text(name, decision)
    return Answer(False, words=words, content=content, verdict=decision.verdict, decision=decision)
