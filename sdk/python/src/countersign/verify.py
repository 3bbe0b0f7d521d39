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
from .signature import decode_base64url, verify
from .trust import Trust
from .wire import SentRequest

RUNNING = frozenset({"approve", "modify"})
EFFECTIVE = RUNNING | {"respond"}
OPERATOR_VERDICTS = EFFECTIVE | {"deny", "skip", "escalate", "terminate"}
SYSTEM_VERDICTS = frozenset({"expired", "withdrawn", "rejected"})

# Who may say yes, and with which kind of key (protocol, section 5). Silence, time-outs and agents never approve.
ROLE_OF_ORIGIN = {
    "operator": "human",
    "rule": "auto",
    "setup_key": "auto",
    "timeout": "auto",
    "agent": "auto",
    "system": "auto",
}
APPROVING_ORIGINS = frozenset({"operator", "rule", "setup_key"})


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A message of `CS_DECISIONS` as the server returned it. `stored_at` is the server's time stamp."""

    subject: str
    payload: bytes = field(repr=False)
    headers: Mapping[str, str]
    stored_at: dt.datetime
    sequence: int


@dataclass(frozen=True, slots=True)
class Deadline:
    """What is known of the request's deadline.

    `server` is the deadline in server time where it is known. `timer_passed` says that the agent's own timer,
    started before the publish, has run out; a decision seen before that was certainly stored in time.
    """

    timer_passed: bool
    server: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """A verified answer. Only `allowed` says that the call may run, and then only with `args`.

    `args` is a private copy whose digest is the decision's (`args_digest`). `verdict` is one of protocol
    section 5, unknown words read `deny`. `decided_by` is `{name, key}`, None when nobody answered in time.
    """

    verdict: str
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

    @property
    def allowed(self) -> bool:
        """Whether the call may run, with `args` and nothing else."""
        return self.verdict in RUNNING


def judge(stored: StoredDecision, request: SentRequest, trust: Trust, deadline: Deadline) -> Decision:
    """The decision, or `VoidDecisionError` with the code of the first check that failed."""
    body = parse_payload(stored.payload)
    subject = request.subject("decision")
    if stored.subject != subject:
        _void("wrong_subject", "the decision stands on another subject")
    key = _check_signature(stored, body, trust, subject)
    origin, verdict = _text(body, "origin"), _text(body, "verdict")
    _check_role(origin, key, stored, trust)
    if body.get("v") != 1 or isinstance(body.get("v"), bool):
        _void("bad_version", "the decision has an unknown version")
    decision_id = _text(body, "decision_id")
    if body.get("request_id") != request.request_id:
        _void("wrong_request", "the decision names another request")
    if body.get("request_digest") != request.digest:
        _void("request_digest", "the decision answers other bytes than were asked")
    verdict = _reduced(verdict, request)
    late = deadline.timer_passed or (deadline.server is not None and stored.stored_at >= deadline.server)
    if late and verdict not in SYSTEM_VERDICTS:
        verdict = "expired"
    if verdict in EFFECTIVE and origin not in APPROVING_ORIGINS:
        _void("wrong_origin", f"{origin} cannot {verdict}")
    if verdict in EFFECTIVE and verdict not in request.allowed_verdicts:
        _void("verdict_not_allowed", f"this agent cannot honour {verdict}")
    args, digest = _arguments(verdict, body, request)
    if verdict in RUNNING and request.approvals_required > 1:
        _check_votes(verdict, digest, stored, body, request, trust)
    return Decision(
        verdict=verdict,
        request_id=request.request_id,
        decision_id=decision_id,
        origin=origin,
        message=message if isinstance(message := body.get("message"), str) else None,
        args=args,
        args_digest=digest,
        response=_response(verdict, body),
        decided_by=body["decided_by"],
        stored_at=stored.stored_at,
        sequence=stored.sequence,
        payload=body,
    )


def parse_payload(payload: bytes) -> dict[str, Any]:
    """The object of a decision or vote. Duplicate keys and non-finite numbers are refused, not resolved."""
    try:
        value = json.loads(payload.decode("utf-8"), object_pairs_hook=_unique_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        _void("not_json", "the decision is not well-formed JSON")
    if not isinstance(value, dict):
        _void("not_json", "the decision is not an object")
    return value


def _unique_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("duplicate key")
    return value


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(word)


def _check_signature(stored: StoredDecision, body: dict[str, Any], trust: Trust, subject: str) -> str:
    """The key that signed. In insecure mode a missing signature passes, a wrong one never."""
    claimed = body.get("decided_by")
    by = claimed.get("key") if isinstance(claimed, dict) else None
    key, sig = stored.headers.get("CS-Key"), stored.headers.get("CS-Sig")
    if not isinstance(by, str):
        _void("missing_field", "the decision does not say who decided")
    if not key or not sig:
        if trust.insecure:
            return by
        _void("unsigned", "the decision is not signed")
    if key != by:
        _void("wrong_key", "the signing key is not the deciding one")
    if not trust.insecure and not trust.entries(key):
        _void("unknown_key", "nobody this agent trusts signed the decision")
    if not verify(key, sig, "decision", trust.realm, subject, stored.payload):
        _void("bad_signature", "the signature does not fit the decision")
    return key


def _check_role(origin: str, key: str, stored: StoredDecision, trust: Trust) -> None:
    needed = ROLE_OF_ORIGIN.get(origin)
    if needed is None:
        _void("unknown_origin", "the decision has an unknown origin")
    if trust.insecure:
        return
    role = trust.role_at(key, stored.stored_at)
    if role is None:
        _void("key_not_in_force", "the key was not in force when the decision was stored")
    if role != needed:
        _void("wrong_role", f"a key of role {role} cannot decide as {origin}")


def _reduced(verdict: str, request: SentRequest) -> str:
    """Unknown words are `deny`; `terminate` is `deny` where this agent cannot end its run."""
    if verdict not in OPERATOR_VERDICTS | SYSTEM_VERDICTS:
        return "deny"
    if verdict in ("terminate", "skip", "escalate") and verdict not in request.allowed_verdicts:
        return "deny"
    return verdict


def _arguments(verdict: str, body: dict[str, Any], request: SentRequest) -> tuple[Any, str | None]:
    """The arguments that may run and their digest, freshly parsed so that nobody else holds them."""
    if verdict not in RUNNING:
        return None, None
    if verdict == "approve":
        if request.args_digest is None:
            return None, None
        args = json.loads(request.payload)["args"]
        expected = request.args_digest
    else:
        if "edited_args" not in body or request.args_digest is None:
            _void("missing_field", "the decision edits arguments but carries none")
        args = body["edited_args"]
        expected = _digest_or_void(args)
    if body.get("args_digest") != expected or _digest_or_void(args) != expected:
        _void("args_digest", "the decision names other arguments than it approves")
    return args, expected


def _digest_or_void(args: Any) -> str:
    try:
        return args_digest(args)
    except InvalidRequestError as error:
        _void(error.code, "the edited arguments have no canonical form")


def _response(verdict: str, body: dict[str, Any]) -> dict[str, Any] | None:
    if verdict != "respond":
        return None
    response = body.get("response")
    if not isinstance(response, dict) or "content" not in response:
        _void("missing_field", "the decision responds without a response")
    return response


def _check_votes(
    verdict: str,
    digest: str | None,
    stored: StoredDecision,
    body: dict[str, Any],
    request: SentRequest,
    trust: Trust,
) -> None:
    votes = body.get("votes")
    keys = {
        key
        for vote in (votes if isinstance(votes, list) else [])
        if (key := _voter(vote, verdict, digest, stored, request, trust)) is not None
    }
    if len(keys) < request.approvals_required:
        _void("votes", f"{len(keys)} of {request.approvals_required} approvals verify")


def _voter(
    vote: Any,
    verdict: str,
    digest: str | None,
    stored: StoredDecision,
    request: SentRequest,
    trust: Trust,
) -> str | None:
    """The key of a vote that counts for this decision, None for any other."""
    try:
        key, subject, sig = vote["key"], vote["subject"], vote["sig"]
        payload = decode_base64url(vote["payload"])
        body = parse_payload(payload)
        signer = body["decided_by"]["key"]
    except (TypeError, KeyError, ValueError, AttributeError, VoidDecisionError):
        return None
    if not isinstance(key, str) or not isinstance(sig, str) or signer != key:
        return None
    if subject != f"{request.subject('vote')}.{key}" or not verify(key, sig, "vote", trust.realm, subject, payload):
        return None
    if not trust.insecure and trust.role_at(key, stored.stored_at) != "human":
        return None
    same = (
        body.get("v") == 1
        and body.get("verdict") == verdict
        and body.get("request_digest") == request.digest
        and body.get("args_digest") == digest
    )
    if same and verdict == "modify":
        try:
            same = args_digest(body.get("edited_args")) == digest
        except InvalidRequestError:
            return None
    return key if same else None


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        _void("missing_field", f"the decision has no {name}")
    return value


def _void(code: str, message: str) -> NoReturn:
    raise VoidDecisionError(f"refused: {message}", code=code)
