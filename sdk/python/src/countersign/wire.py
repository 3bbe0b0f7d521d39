"""What is asked and what comes back, as it is on the wire (protocol, sections 2, 5 and 6).

Refuses ids, lifetimes, sizes and JSON that a console would reject, before anything is sent. Never invents a field the
caller did not give.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import time
from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NotRequired, TypedDict
from uuid import UUID

from .clock import rfc3339
from .digest import MAX_DEPTH, args_digest, check_canonical, payload_digest
from .enrolment import REQUEST_ID, Enrolment
from .errors import InvalidRequestError
from .passkey import is_available
from .words import RISKS, Effects, Risk, Verdict, tool_slug

MAX_REQUEST_BYTES = 512 * 1024
LONGEST_LIFETIME = dt.timedelta(days=30)


class Introduction(TypedDict, total=False):
    """What an agent says about itself on `countersign.v1.hello.…`; None: nothing."""

    tools: list[dict[str, Any]] | None
    """The tools that it can call: `name`, `description`, `args_schema`, `risk`, `strict`, `origin`, `gated`."""
    setup_schema: list[dict[str, Any]] | dict[str, Any] | None
    """Its setup keys: a list or a map of `bs_*` fields."""
    credentials: list[dict[str, Any]] | None
    """Their states and the names of missing values, never a value: `tool_name`, `artifact_id`, `status`,
    `missing_keys`."""
    skills: list[Any] | dict[str, Any] | None
    """Its skills: names or objects with a `name`, or a map by name."""


class ConnectOptions(Introduction, total=False):
    """What `Gate.connect` takes beside the enrolment."""

    insecure: bool
    framework: str | None
    framework_version: str | None
    agent_type: str | None
    parent: str | None
    connect_timeout: float
    journal: str | os.PathLike[str] | None


class Effective(TypedDict, total=False):
    """What the framework changes after the gate; shown under the arguments."""

    fixed: dict[str, Any]
    """Arguments that it sets whatever the model says."""
    defaults: dict[str, Any]
    """Arguments that the model did not give."""
    injected_names: list[str]
    """Names of arguments whose values are added, such as credentials; never the values."""
    dropped_names: list[str]
    """Names of arguments that the tool does not take."""
    coerced: dict[str, Any]
    """Arguments that become another type, as they run."""


class Span(TypedDict):
    """On `countersign.v1.event.…`: one step of a trace. A later one with the same ids replaces it."""

    v: int
    type: str
    trace_id: str
    span_id: str
    name: str
    kind: str
    started_at: str
    parent_span_id: NotRequired[str]
    ended_at: NotRequired[str]
    status: NotRequired[str]
    run_id: NotRequired[str]
    thread_id: NotRequired[str]
    call_id: NotRequired[str]
    request_id: NotRequired[str]
    tool_name: NotRequired[str]
    args_digest: NotRequired[str]
    input: NotRequired[Any]
    output: NotRequired[list[dict[str, Any]]]
    artifacts: NotRequired[list[dict[str, Any]]]
    usage: NotRequired[dict[str, Any]]
    error: NotRequired[dict[str, Any]]
    attributes: NotRequired[dict[str, Any]]


@dataclass(kw_only=True)
class Ask:
    """What every kind of request may carry. Names and meaning are those of protocol, section 2."""

    kind: ClassVar[str]

    risk: Risk = "critical"
    title: str | None = None
    reason: str | None = None
    preview: str | None = None
    request_id: str | None = None
    agent: dict[str, Any] | None = None
    """What differs from the gate's `agent` object for this request, such as `type` or `parent`; never its name."""
    run_id: str | None = None
    thread_id: str | None = None
    call_id: str | None = None
    history: list[dict[str, Any]] | None = None
    skill: dict[str, Any] | None = None
    chain: dict[str, Any] | None = None
    group: dict[str, Any] | None = None
    confirm: dict[str, Any] | None = None
    allowed_verdicts: tuple[Verdict, ...] = ()
    approvals_required: int | None = None
    traceparent: str | None = None
    metadata: dict[str, Any] | None = None
    native: dict[str, Any] | None = None


@dataclass(kw_only=True)
class ToolCall(Ask):
    """A call that waits at the gate. `args` is any JSON value; the decision is bound to its digest.

    A `name` that is not 1 to 64 of `A-Z a-z 0-9 _ . -` is asked as its `tool_slug`, with `tool_name` in `native`.
    """

    kind: ClassVar[str] = "tool_call"

    name: str
    args: Any = field(default_factory=dict)
    description: str | None = None
    namespace: str | None = None
    origin: str | None = None
    effects: Effects | None = None
    args_schema: dict[str, Any] | None = None
    args_raw: str | None = None
    effective: Effective | None = None
    native_digest: dict[str, str] | None = None
    allowed_verdicts: tuple[Verdict, ...] = ("approve", "modify", "deny")


class AboutCall(TypedDict, total=False):
    """What may be said of every call of a tool: the fields of `ToolCall` but its name, arguments and id."""

    risk: Risk
    title: str | None
    reason: str | None
    preview: str | None
    agent: dict[str, Any] | None
    run_id: str | None
    thread_id: str | None
    call_id: str | None
    history: list[dict[str, Any]] | None
    skill: dict[str, Any] | None
    chain: dict[str, Any] | None
    group: dict[str, Any] | None
    confirm: dict[str, Any] | None
    allowed_verdicts: tuple[Verdict, ...]
    approvals_required: int | None
    traceparent: str | None
    metadata: dict[str, Any] | None
    native: dict[str, Any] | None
    description: str | None
    namespace: str | None
    origin: str | None
    effects: Effects | None
    args_schema: dict[str, Any] | None
    args_raw: str | None
    effective: Effective | None
    native_digest: dict[str, str] | None


@dataclass(kw_only=True)
class Question(Ask):
    """A question to a person. The answer is `Decision.response["content"]`."""

    kind: ClassVar[str] = "question"

    text: str
    context: str | None = None
    options: list[dict[str, str]] | None = None
    allow_freeform: bool | None = None
    risk: Risk = "low"
    allowed_verdicts: tuple[Verdict, ...] = ("respond", "deny")


@dataclass(kw_only=True)
class Form(Ask):
    """A form: the answer's `content` is valid against `response_schema`, which the console checks."""

    kind: ClassVar[str] = "form"

    response_schema: dict[str, Any]
    risk: Risk = "low"
    allowed_verdicts: tuple[Verdict, ...] = ("respond", "deny")


_TOOL_FIELDS = ("name", "description", "namespace", "origin", "effects", "args_schema")
_QUESTION_FIELDS = ("text", "context", "options", "allow_freeform")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request exactly as published: what a decision is judged against."""

    workspace: str
    agent: str
    request_id: str
    kind: str
    payload: bytes = field(repr=False)
    digest: str
    args_digest: str | None
    allowed_verdicts: frozenset[str]
    approvals_required: int
    lifetime: dt.timedelta
    risk: Risk = "critical"
    effects: str | None = None
    verifies: tuple[str, ...] = ()
    """What it says that its agent can check beside the signatures of section 5."""

    def subject(self, what: str) -> str:
        """The request's subject of kind `what` (`request`, `decision`, `withdraw`, `receipt`, …)."""
        return f"countersign.v1.{what}.{self.workspace}.{self.agent}.{self.request_id}"


def lifetime_of(seconds: float) -> dt.timedelta:
    """How long an answer is wanted. Raises `InvalidRequestError` for what is not a number of seconds."""
    try:
        return min(dt.timedelta(seconds=seconds), LONGEST_LIFETIME)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidRequestError("the time-out is not a number of seconds", code="bad_lifetime") from error


def build_request(
    ask: Ask, enrolment: Enrolment, agent: dict[str, Any], lifetime: dt.timedelta | None, now: dt.datetime
) -> SentRequest:
    """The request as it will be on the bus. `agent` is the request's agent object without `name`.

    `now` is the agent's clock, `lifetime` how long an answer is wanted (None is the longest, 30 days).
    Raises `InvalidRequestError` for an id, a lifetime, a size or JSON that a console would reject, and for words that
    the protocol does not know. The types of the other optional fields are the type checker's matter: where they are
    wrong the console answers `rejected`.
    """
    check_words(ask)
    request_id = ask.request_id if ask.request_id is not None else uuid7()
    if not isinstance(request_id, str) or not REQUEST_ID.fullmatch(request_id):
        raise InvalidRequestError("the request id is outside the grammar", code="bad_subject")
    # The wire has milliseconds: round down, so that this agent never waits longer than it said.
    requested_at = now.replace(microsecond=now.microsecond // 1000 * 1000)
    kept = LONGEST_LIFETIME
    if lifetime is not None:
        kept = dt.timedelta(milliseconds=min(lifetime, LONGEST_LIFETIME) // dt.timedelta(milliseconds=1))
        if kept <= dt.timedelta(0):
            raise InvalidRequestError("the time-out must be at least a millisecond", code="bad_lifetime")
    body: dict[str, Any] = {
        "v": 1,
        "kind": ask.kind,
        "request_id": request_id,
        "workspace": enrolment.workspace,
        "agent": {**agent, **(ask.agent or {}), "name": enrolment.agent},
    }
    digest: str | None = None
    for item in fields(ask):
        value = getattr(ask, item.name)
        if value is not None and item.name not in {*_TOOL_FIELDS, *_QUESTION_FIELDS, "request_id", "agent"}:
            body[item.name] = value
    if isinstance(ask, ToolCall):
        digest = args_digest(ask.args)
        body["tool"] = _present(ask, _TOOL_FIELDS)
        if isinstance(ask.name, str) and (spelt := tool_slug(ask.name)) != ask.name:
            body["tool"]["name"] = spelt
            body["native"] = {"tool_name": ask.name, **(ask.native or {})}
        body["args"] = ask.args
        body["args_digest"] = digest
    elif isinstance(ask, Question):
        body["question"] = _present(ask, _QUESTION_FIELDS)
    body["allowed_verdicts"] = list(ask.allowed_verdicts)
    verifies = ("webauthn",) if is_available() else ()
    if verifies:
        body["verifies"] = list(verifies)
    body["requested_at"] = rfc3339(requested_at)
    body["expires_at"] = rfc3339(requested_at + kept) if lifetime is not None else None
    approvals = 1 if ask.approvals_required is None else ask.approvals_required
    if not isinstance(approvals, int) or isinstance(approvals, bool) or not 1 <= approvals <= 5:
        raise InvalidRequestError("approvals_required is 1 to 5", code="wrong_type")
    payload = encode(body)
    return SentRequest(
        enrolment.workspace,
        enrolment.agent,
        request_id,
        ask.kind,
        payload,
        payload_digest(payload),
        digest,
        frozenset(ask.allowed_verdicts) | {"deny"},
        approvals,
        kept,
        ask.risk if ask.risk in RISKS else "critical",
        ask.effects if isinstance(ask, ToolCall) else None,
        verifies,
    )


def rebuild_request(payload: bytes, lifetime: dt.timedelta) -> SentRequest | None:
    """The request of stored bytes; None for bytes that `build_request` did not make."""
    try:
        body = json.loads(payload)
        arguments = args_digest(body["args"]) if body["kind"] == ToolCall.kind else None
        return SentRequest(
            body["workspace"],
            body["agent"]["name"],
            body["request_id"],
            body["kind"],
            payload,
            payload_digest(payload),
            arguments,
            frozenset(body["allowed_verdicts"]) | {"deny"},
            body.get("approvals_required", 1),
            lifetime,
            body["risk"] if body["risk"] in RISKS else "critical",
            body.get("tool", {}).get("effects"),
            tuple(body.get("verifies", ())),
        )
    except (ValueError, KeyError, TypeError, RecursionError, InvalidRequestError):
        return None


def check_words(ask: Ask) -> None:
    """Raises `InvalidRequestError` for a risk, effect or verdict that is not a word, and for verdicts that are one.

    Other words than the protocol's are sent as they are: an agent's framework may have its own, which a console reads
    as the safest.
    """
    offered: object = ask.allowed_verdicts
    if isinstance(offered, str) or not isinstance(offered, Collection):
        # A word is a collection too, of letters: nobody could ever answer.
        raise InvalidRequestError(
            f"allowed_verdicts is {offered!r}; it has to be a tuple, such as ('approve',)", code="wrong_type"
        )
    words: list[tuple[str, object]] = [("risk", ask.risk)]
    words += [("a verdict of allowed_verdicts", verdict) for verdict in ask.allowed_verdicts]
    if isinstance(ask, ToolCall) and ask.effects is not None:
        words.append(("effects", ask.effects))
    for what, word in words:
        if not isinstance(word, str):
            raise InvalidRequestError(f"{what} is {word!r}; it has to be a word", code="wrong_type")


def _present(ask: Ask, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(ask, name)) is not None}


def encode(body: dict[str, Any], *, limit: int = MAX_REQUEST_BYTES) -> bytes:
    """UTF-8 JSON of a message. Raises `InvalidRequestError` for what has no canonical form or is too large.

    `metadata` and `native` may hold integers of any size (protocol, section 2), but no cycles and no objects.
    """
    for name, value in body.items():
        if name not in ("metadata", "native"):
            check_canonical(value, what=name)
        elif _depth(value) >= MAX_DEPTH:
            raise InvalidRequestError(f"{name} is nested too deeply", code="too_deep")
    try:
        payload = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise InvalidRequestError(f"the message is not JSON: {error}", code="wrong_type") from error
    if len(payload) > limit:
        raise InvalidRequestError(
            f"the message has {len(payload)} bytes, {limit} are allowed; send large values as artifacts",
            code="too_large",
        )
    return payload


def _depth(value: Any, seen: int = 0) -> int:
    """Levels of arrays and objects; stops counting at the limit, so that a cycle ends too."""
    if seen >= MAX_DEPTH or not isinstance(value, dict | list | tuple):
        return seen
    inner = value.values() if isinstance(value, dict) else value
    return max((_depth(item, seen + 1) for item in inner), default=seen + 1)


def uuid7() -> str:
    """A UUID of version 7: requests of one agent sort by time."""
    random = int.from_bytes(os.urandom(10), "big")
    high = (time.time_ns() // 1_000_000) << 80
    value = high | (7 << 76) | ((random >> 68 & 0xFFF) << 64) | (0b10 << 62) | (random & ((1 << 62) - 1))
    return str(UUID(int=value))
