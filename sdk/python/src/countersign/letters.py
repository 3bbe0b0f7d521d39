"""What an agent says beside its requests: hellos, receipts, withdrawals, earlier deadlines and spans (protocol,
section 6). Pure but for the time stamp of a receipt.

Refuses to quote more of a decision that does not verify than a short id.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import Any, NotRequired, TypedDict, Unpack

from . import clock
from .clock import rfc3339
from .enrolment import Enrolment
from .errors import VoidDecisionError
from .log import Stored
from .outbox import Letter
from .verify import Decision, parse_payload
from .wire import Introduction, SentRequest, Span, encode
from .words import STAGES, Stage, check_word, tool_slug

LONGEST_ID = 64
LONGEST_MESSAGE = 2000
MAX_EVENT_BYTES = 900 * 1024


class Receipt(TypedDict):
    """On `countersign.v1.receipt.…`: how far the agent got with a decision."""

    v: int
    decision_id: str
    stage: Stage
    at: str
    executed_args_digest: NotRequired[str]
    degraded: NotRequired[list[str]]
    message: NotRequired[str]


class ReceiptDetails(TypedDict, total=False):
    """What a receipt may say beside its stage."""

    executed_args_digest: str | None
    """`args_digest` of what really ran."""
    degraded: list[str] | None
    message: str | None
    """Cut after 2,000 characters."""


def receipt(subject: str, decision_id: str, stage: Stage, **details: Unpack[ReceiptDetails]) -> Letter:
    """How far the agent got with a decision; `subject` is its request's `receipt.` subject.

    Raises `InvalidRequestError` for another stage and `TypeError` for another detail.
    """
    check_word(stage, STAGES, "the stage of a receipt")
    unknown = details.keys() - ReceiptDetails.__annotations__.keys()
    if unknown:
        raise TypeError(f"a receipt has no {', '.join(sorted(unknown))}")
    body: Receipt = {"v": 1, "decision_id": decision_id, "stage": stage, "at": rfc3339(clock.now())}
    if (digest := details.get("executed_args_digest")) is not None:
        body["executed_args_digest"] = digest
    if degraded := details.get("degraded"):
        body["degraded"] = degraded
    if (message := details.get("message")) is not None:
        body["message"] = message[:LONGEST_MESSAGE]
    return Letter(subject, encode(dict(body)))


def refusal(request: SentRequest, stored: Stored | None, code: str) -> Letter:
    """The receipt `refused`. A decision whose id cannot be read, or is longer than any, is named `unreadable`."""
    return receipt(request.subject("receipt"), _claimed_id(stored), "refused", message=code)


def response_to(
    request: SentRequest,
    decision: Decision,
    stored: Stored,
    *,
    withdrawn: bool,
    degraded: list[str] | None = None,
) -> Letter:
    """The first receipt for a verified decision. Raises `VoidDecisionError` for one that would run a call that was
    withdrawn."""
    if withdrawn and decision.allowed:
        raise VoidDecisionError("refused: the request was withdrawn before", code="withdrawn", stored=stored)
    if decision.verdict == "expired" and decision.payload.get("verdict") != "expired":
        return refusal(request, stored, "late")
    return receipt(request.subject("receipt"), decision.decision_id or "", "received", degraded=degraded)


def withdrawal(request: SentRequest, reason: str) -> Letter:
    """The agent no longer wants the answer."""
    return Letter(request.subject("withdraw"), encode({"v": 1, "reason": reason}), first=True)


def earlier_deadline(request: SentRequest, seconds: float) -> Letter:
    """The request lives only so long, counted from when it was made. The first one that is stored counts."""
    requested = dt.datetime.fromisoformat(json.loads(request.payload)["requested_at"])
    body = {"v": 1, "expires_at": rfc3339(requested + dt.timedelta(seconds=max(0.001, seconds)))}
    return Letter(request.subject("tighten"), encode(body), first=True)


def hello(enrolment: Enrolment, agent: dict[str, Any], parts: Introduction) -> Letter:
    """What the agent says about itself; `agent` is its object without `name`.

    Raises `TypeError` for a part that no hello has and `InvalidRequestError` for what is not JSON or too large.
    """
    unknown = parts.keys() - Introduction.__annotations__.keys()
    if unknown:
        raise TypeError(f"a hello has no {', '.join(sorted(unknown))}")
    body = {"v": 1, "agent": {"name": enrolment.agent, **agent}, "instance_id": agent["instance_id"]}
    said: dict[str, Any] = {name: part for name, part in parts.items() if part is not None}
    if isinstance(tools := said.get("tools"), list):
        said["tools"] = [_spelt(tool) for tool in tools]
    return Letter(f"countersign.v1.hello.{enrolment.workspace}.{enrolment.agent}", encode(body | said))


def _spelt(tool: Any) -> Any:
    """As its calls name it."""
    name = tool.get("name") if isinstance(tool, dict) else None
    return {**tool, "name": tool_slug(name)} if isinstance(name, str) else tool


def span_payload(span: Span) -> bytes:
    """One step of a trace. Raises `InvalidRequestError` for what is not JSON or larger than 900 KiB."""
    return encode(dict(span), limit=MAX_EVENT_BYTES)


def _claimed_id(stored: Stored | None) -> str:
    if stored is None:
        return "unreadable"
    try:
        found = parse_payload(stored.payload).get("decision_id")
    except VoidDecisionError:
        return "unreadable"
    return found if isinstance(found, str) and len(found) <= LONGEST_ID else "unreadable"
