"""Judges a stored decision. Pure: no I/O, no clock, no state. Anything it cannot prove, it refuses.

It never looks at a message's own claims about time or sender where the server or a key says it better.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from .digest import args_digest
from .errors import InvalidRequestError, VoidDecisionError
from .shape import DECISION, VOTE, misshapen
from .signature import decode_base64url, verify
from .strict import read_strict
from .trust import Trust
from .wire import SentRequest
from .words import Answer

MAX_DECISION_BYTES = 900 * 1024

RUNNING = frozenset({"approve", "modify"})
MORE_THAN_NO = RUNNING | {"respond", "skip", "escalate"}
"""What the limits of an operator, and of the operator's console, bind."""
OPERATOR_VERDICTS = MORE_THAN_NO | {"deny", "terminate"}

# Which kind of key speaks for which origin (protocol, section 5).
ROLE_OF_ORIGIN = {
    "operator": "human",
    "rule": "auto",
    "setup_key": "auto",
    "timeout": "auto",
    "agent": "auto",
    "system": "auto",
}

# Who says what the system says, and nothing else. Everything beyond a plain no needs a person, a rule or a setup
# key: silence, agents and the system never approve.
ORIGIN_OF_SYSTEM_VERDICT = {"expired": "timeout", "withdrawn": "agent", "rejected": "system"}
NAMING_ORIGINS = frozenset({"rule", "setup_key"})
DECIDING_ORIGINS = NAMING_ORIGINS | {"operator"}


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A message of `CS_DECISIONS` as the server returned it. `stored_at` is the server's time stamp."""

    subject: str
    payload: bytes = field(repr=False)
    headers: Mapping[str, str]
    stored_at: dt.datetime
    sequence: int


@dataclass(frozen=True, slots=True)
class Decision:
    """A verified answer. Only `allowed` says that the call may run, and then only with `args`. The answer itself is
    neither true nor false: `if decision:` raises `TypeError`.

    `args` is a private copy whose digest is the decision's (`args_digest`). `verdict` is one of protocol
    section 5, unknown words read `deny`. `decided_by` is `{name, key}`, None when nobody answered in time.
    """

    verdict: Answer
    request_id: str
    decision_id: str | None
    origin: str
    message: str | None
    args: Any = field(repr=False)
    args_digest: str | None
    response: dict[str, Any] | None
    decided_by: dict[str, Any] | None
    stored_at: dt.datetime | None
    sequence: int | None
    payload: Mapping[str, Any] = field(repr=False)

    @classmethod
    def unanswered(cls, request_id: str, verdict: Answer, origin: str) -> Decision:
        """Nobody decided: the agent's own `expired` or `withdrawn`."""
        return cls(
            verdict=verdict,
            request_id=request_id,
            decision_id=None,
            origin=origin,
            message=None,
            args=None,
            args_digest=None,
            response=None,
            decided_by=None,
            stored_at=None,
            sequence=None,
            payload={},
        )

    @property
    def allowed(self) -> bool:
        """Whether the call may run, with `args` and nothing else."""
        return self.verdict in RUNNING

    def __bool__(self) -> NoReturn:
        # A denial would count as true, like every object: `if gate.ask(...)` would run what was denied.
        raise TypeError("a decision is neither true nor false; look at its `allowed`")


def judge(stored: StoredDecision, request: SentRequest, trust: Trust, late: bool) -> Decision:
    """The decision, or `VoidDecisionError` with the code of the first check that failed.

    `late` says that the agent's own timer, started before the publish, has run out; a decision seen before that was
    certainly stored in time. It is looked at last: a late decision that is otherwise sound reads `expired`, it is not
    void.
    """
    subject = request.subject("decision")
    if not trust.insecure and not (stored.headers.get("CS-Key") and stored.headers.get("CS-Sig")):
        _void("unsigned", "the decision is not signed")
    if stored.subject != subject:
        _void("wrong_subject", "the decision is on another subject")
    if len(stored.payload) > MAX_DECISION_BYTES:
        _void("malformed", "the decision is too large")
    key, role = _check_signature(stored, trust, subject)
    body = parse_payload(stored.payload)
    by = _check_fields(body)
    if key is not None and by != key:
        _void("bad_signature", "the decision names another key than it is signed with")
    if body.get("request_id") != request.request_id:
        _void("wrong_request", "the decision answers another request")
    if body.get("request_digest") != request.digest:
        _void("wrong_request_digest", "the decision answers other bytes than were asked")
    known = body["verdict"] in OPERATOR_VERDICTS | set(ORIGIN_OF_SYSTEM_VERDICT)
    verdict: Answer = body["verdict"] if known else "deny"
    _check_origin(verdict, body["origin"], role)
    if body["origin"] in NAMING_ORIGINS and body.get("rule") is None:
        _void("malformed", "the decision does not name the rule that made it")
    args, digest = _arguments(verdict, body, request)
    if verdict in RUNNING and request.approvals_required > 1:
        _check_votes(verdict, digest, stored, body, request, trust)
    bound = key if verdict in MORE_THAN_NO else None
    if bound is not None and not trust.may_allow(bound, stored.stored_at, request.workspace, request.risk):
        _void("beyond_limit", "who signed the decision may not allow this request")
    response = _response(verdict, body)
    if late and verdict in OPERATOR_VERDICTS:
        verdict, args, digest, response = "expired", None, None, None
    return Decision(
        verdict=verdict,
        request_id=request.request_id,
        decision_id=body["decision_id"],
        origin=body["origin"],
        message=body.get("message"),
        args=args,
        args_digest=digest,
        response=response,
        decided_by=body["decided_by"],
        stored_at=stored.stored_at,
        sequence=stored.sequence,
        payload=body,
    )


def parse_payload(payload: bytes) -> dict[str, Any]:
    """The object of a decision or vote, read as strictly as a request.

    What two readers could read differently (duplicate keys, numbers that no double holds, lone surrogates) is
    refused, not resolved.
    """
    try:
        value = read_strict(payload)
    except ValueError:
        _void("malformed", "the decision is not well-formed JSON")
    if not isinstance(value, dict):
        _void("malformed", "the decision is not an object")
    return value


def _check_signature(stored: StoredDecision, trust: Trust, subject: str) -> tuple[str | None, str | None]:
    """The key that signed and its role. In insecure mode a missing signature passes, a wrong one never."""
    key, sig = stored.headers.get("CS-Key"), stored.headers.get("CS-Sig")
    if not key or not sig:
        return None, None  # `judge` lets this pass in insecure mode only
    role = None if trust.insecure else trust.role_at(key, stored.stored_at)
    if role is None and not trust.insecure:
        _void("unknown_key", "nobody this agent trusts signed the decision")
    if not verify(key, sig, "decision", trust.realm, subject, stored.payload):
        _void("bad_signature", "the signature does not belong to this decision")
    return key, role


def _check_fields(body: dict[str, Any]) -> str:
    """Every field has its type; the key that the decision says decided."""
    wrong = misshapen(body, *DECISION)
    if wrong is not None:
        _void("malformed", f"the decision's {wrong} is not what it must be")
    return str(body["decided_by"]["key"])


def _check_origin(verdict: str, origin: str, role: str | None) -> None:
    needed = ROLE_OF_ORIGIN[origin]
    if role is not None and role != needed:
        _void("wrong_role", f"a key of role {role} cannot decide as {origin}")
    if verdict in ORIGIN_OF_SYSTEM_VERDICT:
        fits = origin == ORIGIN_OF_SYSTEM_VERDICT[verdict]
    else:
        fits = verdict == "deny" or origin in DECIDING_ORIGINS
    if not fits:
        _void("wrong_role", f"{origin} cannot decide {verdict}")


def _arguments(verdict: str, body: dict[str, Any], request: SentRequest) -> tuple[Any, str | None]:
    """The arguments that may run and their digest, freshly parsed so that nobody else holds them."""
    if verdict in OPERATOR_VERDICTS and verdict not in request.allowed_verdicts:
        _void("not_allowed", f"this agent did not offer {verdict}")
    if verdict not in RUNNING:
        return None, None
    edited = "edited_args" in body
    if edited is not (verdict == "modify"):
        _void("malformed", f"{verdict} and edited arguments do not fit")
    if edited:
        args, expected = body["edited_args"], _digest_or_void(body["edited_args"])
    elif request.args_digest is None:
        args, expected = None, None
    else:
        args, expected = json.loads(request.payload)["args"], request.args_digest
    if body.get("args_digest") != expected or (edited and request.args_digest is None):
        _void("wrong_args_digest", "the decision names other arguments than it approves")
    return args, expected


def _digest_or_void(args: Any) -> str:
    try:
        return args_digest(args)
    except InvalidRequestError:
        _void("malformed", "the edited arguments have no canonical form")


def _response(verdict: str, body: dict[str, Any]) -> dict[str, Any] | None:
    if verdict != "respond":
        return None
    response: dict[str, Any] | None = body.get("response")
    if response is None:
        _void("malformed", "the decision responds without a response")
    return response


def _check_votes(
    verdict: str,
    digest: str | None,
    stored: StoredDecision,
    body: dict[str, Any],
    request: SentRequest,
    trust: Trust,
) -> None:
    persons = {
        trust.voter(key, stored.stored_at)
        for vote in body.get("votes") or []
        if (key := _voter(vote, verdict, digest, stored, request, trust)) is not None
    }
    if len(persons) < request.approvals_required:
        _void("too_few_votes", f"{len(persons)} of {request.approvals_required} approvals verify")


def _voter(
    vote: dict[str, str],
    verdict: str,
    digest: str | None,
    stored: StoredDecision,
    request: SentRequest,
    trust: Trust,
) -> str | None:
    """The key of a vote that counts for this decision, None for any other."""
    key, subject, sig = vote["key"], vote["subject"], vote["sig"]
    try:
        payload = decode_base64url(vote["payload"])
        body = parse_payload(payload)
    except (ValueError, VoidDecisionError):
        return None
    if misshapen(body, *VOTE) is not None or body["decided_by"]["key"] != key:
        return None
    if subject != f"{request.subject('vote')}.{key}" or not verify(key, sig, "vote", trust.realm, subject, payload):
        return None
    if not trust.insecure and trust.role_at(key, stored.stored_at) != "human":
        return None
    if not trust.may_allow(key, stored.stored_at, request.workspace, request.risk):
        return None
    if body["request_digest"] != request.digest:
        return None
    if body["verdict"] != verdict or body.get("args_digest") != digest:
        return None
    if ("edited_args" in body) is not (verdict == "modify"):
        return None
    try:
        same = verdict == "approve" or args_digest(body["edited_args"]) == digest
    except InvalidRequestError:
        return None
    return key if same else None


def _void(code: str, message: str) -> NoReturn:
    raise VoidDecisionError(f"refused: {message}", code=code)
