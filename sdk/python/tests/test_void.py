"""Stored decisions that must not be believed: each denies, says which check failed and is refused by receipt."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign import ToolCall, VoidDecisionError, args_digest, payload_digest

from console import Console, Key


def call(request_id: str) -> ToolCall:
    return ToolCall(name="delete_invoice", request_id=request_id, args={"invoice_id": "INV-42"}, risk="high")


def _stranger(console: Console):
    key = Key()
    return lambda seen: console.signed(
        seen.decision_subject,
        console.decision(seen, decided_by={"name": "Ada", "key": key.public}),
        key=key,
    )


def _body(**changes):
    return lambda console: lambda seen: console.signed(seen.decision_subject, console.decision(seen, **changes))


def _auto(**changes):
    def made(console):
        by = {"name": "console", "key": console.auto.public}
        return lambda seen: console.signed(
            seen.decision_subject, console.decision(seen, **{"decided_by": by, **changes}), key=console.auto
        )

    return made


def _unsigned(console):
    return lambda seen: (json.dumps(console.decision(seen)).encode(), {})


def _altered(console):
    def made(seen):
        payload, headers = console.signed(seen.decision_subject, console.decision(seen, message="a"))
        return payload.replace(b'"a"', b'"b"'), headers

    return made


def _other_subject(console):
    return lambda seen: console.signed(seen.decision_subject + "x", console.decision(seen))


def _other_realm(console):
    return lambda seen: console.signed(seen.decision_subject, console.decision(seen), realm="another")


def _wrong_signer(console):
    return lambda seen: console.signed(seen.decision_subject, console.decision(seen), key=console.auto)


def _raw(payload: bytes):
    def made(console):
        def signed(seen):
            sig = console.human.sign("decision", console.realm, seen.decision_subject, payload)
            return payload, {"CS-Key": console.human.public, "CS-Sig": sig}

        return signed

    return made


def _duplicate(console):
    def made(seen):
        body = json.dumps(console.decision(seen, "deny"))
        payload = (body[:-1] + ', "verdict": "approve"}').encode()
        sig = console.human.sign("decision", console.realm, seen.decision_subject, payload)
        return payload, {"CS-Key": console.human.public, "CS-Sig": sig}

    return made


EDIT = {"invoice_id": "INV-1"}
VOID = {
    "unsigned": (_unsigned, "unsigned"),
    "signed by a stranger": (_stranger, "unknown_key"),
    "altered after signing": (_altered, "bad_signature"),
    "signed for another subject": (_other_subject, "bad_signature"),
    "signed for another realm": (_other_realm, "bad_signature"),
    "signed with another key than it names": (_wrong_signer, "bad_signature"),
    "not JSON": (_raw(b"{"), "malformed"),
    "not UTF-8": (_raw(b'"\xff"'), "malformed"),
    "not an object": (_raw(b'["approve"]'), "malformed"),
    "nested without end": (_raw(b"[" * 100_000), "malformed"),
    "with a number that is none": (_raw(b'{"v": NaN}'), "malformed"),
    "two verdicts in one object": (_duplicate, "malformed"),
    "for another request": (_body(request_id="another"), "wrong_request"),
    "for other request bytes": (_body(request_digest=payload_digest(b"{}")), "wrong_request_digest"),
    "approving other arguments": (_body(args_digest=args_digest(EDIT)), "wrong_args_digest"),
    "approving no arguments": (_body(args_digest=...), "wrong_args_digest"),
    "approving and editing at once": (_body(edited_args=EDIT), "malformed"),
    "edited but with the old digest": (_body(verdict="modify", edited_args=EDIT), "wrong_args_digest"),
    "edited without arguments": (_body(verdict="modify", args_digest=args_digest(EDIT)), "malformed"),
    "edited beyond what JSON can say twice": (_body(verdict="modify", edited_args=2**60), "malformed"),
    "with an integer that no double holds": (_body(extra=[2**53]), "malformed"),
    "with half a character": (_body(message="\ud800"), "malformed"),
    "an unknown origin": (_body(origin="weather"), "malformed"),
    "a person through an automatic key": (_auto(origin="operator"), "wrong_role"),
    "a rule through a person's key": (_body(origin="rule"), "wrong_role"),
    "a time-out that approves": (_auto(origin="timeout"), "wrong_role"),
    "a system that approves": (_auto(origin="system"), "wrong_role"),
    "an agent that approves": (_auto(origin="agent"), "wrong_role"),
    "a rule that nobody names": (_auto(origin="rule"), "malformed"),
    "a setup key that nobody names": (_auto(origin="setup_key", rule=None), "malformed"),
    "a rule that says expired": (_auto(origin="rule", verdict="expired"), "wrong_role"),
    "a verdict the agent did not offer": (_body(verdict="respond", response={"content": 1}), "not_allowed"),
    "a skip the agent did not offer": (_body(verdict="skip"), "not_allowed"),
    "another version": (_body(v=2), "malformed"),
    "a version that is no number": (_body(v=True), "malformed"),
    "no decision id": (_body(decision_id=...), "malformed"),
    "no time": (_body(decided_at=...), "malformed"),
    "nobody who decided": (_body(decided_by=...), "malformed"),
    "too large": (_body(message="x" * 950_000), "malformed"),
}


@pytest.mark.parametrize(("length", "named"), [(64, True), (65, False), (100_000, False)])
async def test_an_id_longer_than_any_is_not_repeated(gate, console, request_id, length, named):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.decide(request_id, decision_id="d" * length)
    with pytest.raises(VoidDecisionError):
        await asking
    receipt = await console.receipt(request_id, "refused")
    assert receipt["decision_id"] == ("d" * length if named else "unreadable")


@pytest.mark.parametrize("case", VOID)
async def test_a_decision_that_does_not_verify_denies_and_is_refused(gate, console, request_id, case, monkeypatch):
    monkeypatch.setattr("countersign.waiting.UNKNOWN_KEY_PATIENCE", 0.2)
    make, code = VOID[case]
    asking = asyncio.create_task(gate.ask(call(request_id)))
    seen = await console.request(request_id)
    await console.store(seen.decision_subject, *make(console)(seen))
    with pytest.raises(VoidDecisionError) as refusal:
        await asking
    assert refusal.value.code == code
    assert (await console.receipt(request_id, "refused"))["message"] == code
