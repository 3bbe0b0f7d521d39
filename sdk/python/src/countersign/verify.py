"""Judges a stored decision. Pure: no I/O, no clock, no state. Anything it cannot prove, it refuses.

It never looks at a message's own claims about time or sender where the server or a key says it better.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from .clock import rfc3339
from .digest import args_digest
from .errors import InvalidRequestError, VoidDecisionError
from .log import Stored
from .realm import DECIDED, SAID, Facts, Realm, Term, absence, is_misplaced
from .shape import DECISION, VOTE, misshapen
from .signature import Context, decode_base64url, verify
from .strict import read_strict
from .wire import SentRequest
from .words import Answer

MAX_DECISION_BYTES = 900 * 1024

RUNNING = frozenset({"approve", "modify"})
NAMING_ORIGINS = frozenset({"rule", "setup_key"})


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


def judge(stored: Stored, request: SentRequest, state: Realm, late: bool) -> Decision:
    """The decision, or `VoidDecisionError` with the code of the first check that failed.

    Without a log (`state.root` None) signatures are not asked for; a wrong one is refused all the same. `late` says
    that the agent's own timer, started before the publish, has run out; a decision seen before that was certainly
    stored in time. It is looked at last: a late decision that is otherwise sound reads `expired`, it is not void.
    """
    subject, at = request.subject("decision"), rfc3339(stored.stored_at)
    key, sig = stored.headers.get("CS-Key", ""), stored.headers.get("CS-Sig", "")
    unsigned, term = not (key and sig), state.term(key, stored.sequence)
    if unsigned and state.root is not None:
        _void("unsigned")
    if stored.subject != subject:
        _void("wrong_subject")
    if state.root is not None and (absent := absence(term, at, request.verifies)) is not None:
        _void(absent)
    if len(stored.payload) > MAX_DECISION_BYTES:
        _void("malformed", "the decision is too large")
    if not unsigned and not _is_signed(term, key, sig, "decision", state.realm, subject, stored.payload):
        _void("bad_signature")
    body = parse_payload(stored.payload)
    by = _check_fields(body)
    if not unsigned and by != key:
        _void("bad_signature", "the decision names another key than it is signed with")
    if body.get("request_id") != request.request_id:
        _void("wrong_request", "the decision answers another request")
    if body.get("request_digest") != request.digest:
        _void("wrong_request_digest", "the decision answers other bytes than were asked")
    verdict: Answer = body["verdict"] if body["verdict"] in DECIDED | SAID.keys() else "deny"
    facts = Facts(
        body["verdict"], body["origin"], request.workspace, request.risk, request.effects, request.verifies, at
    )
    if is_misplaced(term, verdict, body["origin"]):
        _void("wrong_role", f"the key cannot decide {verdict} as {body['origin']}")
    if body["origin"] in NAMING_ORIGINS and body.get("rule") is None:
        _void("malformed", "the decision does not name the rule that made it")
    args, digest = _arguments(verdict, body, request)
    response = _response(verdict, body)
    if verdict in RUNNING and request.approvals_required > 1:
        _check_votes(replace(facts, origin="operator"), digest, stored, body, request, state)
    if state.root is not None and (fault := state.agent_fault(key, facts, stored.sequence)) is not None:
        _void(fault)
    if late and verdict in DECIDED:
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


def _is_signed(
    term: Term | None, key: str, sig: str, context: Context, realm: str, subject: str, payload: bytes
) -> bool:
    if term is not None:
        return term.signed(context, realm, subject, payload, sig)
    return verify(key, sig, context, realm, subject, payload)


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


def _check_fields(body: dict[str, Any]) -> str:
    """Every field has its type; the key that the decision says decided."""
    wrong = misshapen(body, *DECISION)
    if wrong is not None:
        _void("malformed", f"the decision's {wrong} is not what it must be")
    return str(body["decided_by"]["key"])


def _arguments(verdict: str, body: dict[str, Any], request: SentRequest) -> tuple[Any, str | None]:
    """The arguments that may run and their digest, freshly parsed so that nobody else holds them."""
    if verdict in DECIDED and verdict not in request.allowed_verdicts:
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
    facts: Facts, digest: str | None, stored: Stored, body: dict[str, Any], request: SentRequest, state: Realm
) -> None:
    votes = (_voter(vote, facts, digest, stored.sequence, request, state) for vote in body.get("votes") or [])
    persons = set(votes) - {None}
    if len(persons) < request.approvals_required:
        _void("too_few_votes", f"{len(persons)} of {request.approvals_required} approvals verify")


def _voter(
    vote: dict[str, str], facts: Facts, digest: str | None, sequence: int, request: SentRequest, state: Realm
) -> str | None:
    """Whose vote it is that counts for this decision, None for any other."""
    key, subject, sig = vote["key"], vote["subject"], vote["sig"]
    try:
        payload = decode_base64url(vote["payload"])
        body = parse_payload(payload)
    except (ValueError, VoidDecisionError):
        return None
    if misshapen(body, *VOTE) is not None or body["decided_by"]["key"] != key:
        return None
    if state.root is not None and state.agent_fault(key, facts, sequence) is not None:
        return None
    term = state.term(key, sequence)
    if not _is_signed(term, key, sig, "vote", state.realm, subject, payload):
        return None
    if subject != f"{request.subject('vote')}.{key}" or body["request_digest"] != request.digest:
        return None
    if body["verdict"] != facts.verdict or body.get("args_digest") != digest:
        return None
    if ("edited_args" in body) is not (facts.verdict == "modify"):
        return None
    try:
        same = facts.verdict == "approve" or args_digest(body["edited_args"]) == digest
    except InvalidRequestError:
        return None
    if not same:
        return None
    return key if term is None else term.operator


_REASONS = {
    "unsigned": "the decision is not signed",
    "wrong_subject": "the decision is on another subject",
    "unknown_key": "nobody whom this agent believes signed the decision",
    "device_unsupported": "a device signed the decision, and this agent did not say that it checks devices",
    "wrong_role": "the key may not decide so",
    "bad_signature": "the signature does not belong to this decision",
    "device_limit": "the device that signed the decision may not decide this",
    "beyond_limit": "who signed the decision may not allow this request",
}


def _void(code: str, message: str = "") -> NoReturn:
    raise VoidDecisionError(f"refused: {message or _REASONS[code]}", code=code)
