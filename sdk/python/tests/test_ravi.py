"""Rows R1, R2, R4 and R11 with ravi's own invoker, of each tested version of agent-substrate."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
import types
from dataclasses import dataclass, field

import pytest
from countersign import BusUnreachableError, Gate, args_digest
from countersign.adapters.ravi import RaviApprovalHandler, ravi16

from conftest import Bench, opened
from office import arrived
from ravi_kit import ARGS, VERSIONS, Office, ravi


@pytest.fixture(scope="module", params=VERSIONS)
def kit(request):
    with ravi(request.param) as found:
        yield found


async def card(console, working, number: int = 1) -> dict:
    return (await arrived(console, console.before, number, working))[-1]


@pytest.fixture(autouse=True)
def counted(console):
    console.before = len(console.received["request"])


async def last_span(console, match, seconds: float = 10.0) -> dict:
    message = await console.until("event", lambda m: match(json.loads(m.data)), seconds)
    return json.loads(message.data)


async def test_r1_safe_calls_run_and_the_others_ask(kit, gate, console):
    office = Office(kit, gate)
    assert (await office.start("look")).status == "ok"
    assert len(console.received["request"]) == console.before
    for number, (name, risk) in enumerate([("mail", "high"), ("wipe", "critical")], 1):
        working = office.start(name)
        body = await card(console, working, number)
        assert (body["tool"]["name"], body["risk"]) == (name, risk)
        assert office.ran(name) == []
        await console.decide(body["request_id"])
        assert (await working).status == "ok"
        assert office.ran(name) == [ARGS]
        receipt = await console.receipt(body["request_id"], "executed")
        assert receipt["executed_args_digest"] == args_digest(ARGS)


async def test_r1_the_card_has_the_whole_request(kit, gate, console):
    office = Office(kit, gate, effects={"mail": "write"})
    working = office.start("mail", {"to": {"$artifact": "ref-1"}, "n": 1})
    body = await card(console, working)
    await console.decide(body["request_id"], "deny")
    await working
    native = body["native"]
    assert set(native) == {"call", "risk", "agent_id", "run_id", "context", "requested_at"}
    assert native["call"] == {
        "kind": "tool_call",
        "name": "mail",
        "arguments": body["args"],
        "call_id": body["call_id"],
    }
    assert native["agent_id"] == {"type": "chain", "key": body["call_id"]}
    assert dt.datetime.fromisoformat(native["requested_at"]).tzinfo is not None
    assert body["run_id"] == body["call_id"]
    assert body["native_digest"] == {"alg": "ravi16", "value": ravi16(body["args"])}
    assert body["tool"] == {
        "name": "mail",
        "description": "mail!",
        "effects": "write",
        "args_schema": office.tools["mail"].input_schema,
    }
    assert body["effective"] == {"injected_names": ["to"]}
    assert body["allowed_verdicts"] == ["approve", "deny", "skip", "modify"]


ANSWERS = {
    "approve": ("ok", "ok", None),
    "deny": ("denied", "denied", None),
    "skip": ("denied", "cancelled", ["skip_as_deny"]),
    "terminate": ("denied", "denied", None),
}


@pytest.mark.parametrize("verdict", ANSWERS)
async def test_r2_what_each_answer_becomes(kit, gate, console, verdict):
    ended: list[int] = []
    office = Office(kit, gate, on_terminate=lambda: ended.append(1))
    status, state, degraded = ANSWERS[verdict]
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], verdict)
    assert (await working).status == status
    assert len(office.ran()) == (verdict == "approve")
    assert len(ended) == (verdict == "terminate")
    receipt = await console.receipt(body["request_id"], "received")
    assert receipt.get("degraded") == degraded or receipt.get("degraded") == []
    span = await last_span(console, lambda s: s.get("call_id") == body["call_id"] and "output" in s)
    assert (span["status"], span["request_id"]) == (state, body["request_id"])


async def test_r2_edited_arguments_run(kit, gate, console):
    office = Office(kit, gate)
    edited = {"to": "b@example.org"}
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], "modify", edited_args=edited, args_digest=args_digest(edited))
    assert (await working).status == "ok"
    assert office.ran() == [edited]
    receipt = await console.receipt(body["request_id"], "executed")
    assert receipt["executed_args_digest"] == args_digest(edited)


async def test_r2_an_edit_that_is_no_object_is_denied(kit, gate, console):
    office = Office(kit, gate)
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], "modify", edited_args=[1], args_digest=args_digest([1]))
    assert (await working).status == "denied"
    assert office.ran() == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "invalid_args"


@pytest.mark.parametrize(
    ("verdict", "degraded"), [("deny", ["message"]), ("approve", ["message"]), ("skip", ["skip_as_deny", "message"])]
)
async def test_r2_words_that_ravi_does_not_hand_on_are_named(kit, gate, console, verdict, degraded):
    office = Office(kit, gate)
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], verdict, message="ask Grace")
    await working
    assert (await console.receipt(body["request_id"], "received"))["degraded"] == degraded


async def test_r2_arguments_changed_while_waiting_do_not_run(kit, gate, console):
    office = Office(kit, gate)
    args = dict(ARGS)
    call = office.call("mail", args)
    working = asyncio.ensure_future(office.invoker.invoke(call, session=office.session))
    body = await card(console, working)
    call.arguments["to"] = "everybody"
    await console.decide(body["request_id"])
    assert (await working).status == "denied"
    assert office.ran() == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "digest_differs"


class Words(enum.Enum):
    APPROVED = "approved"
    DENIED = "denied"
    SKIPPED = "skipped"


class MoreWords(enum.Enum):
    APPROVED = "approved"
    DENIED = "denied"
    SKIPPED = "skipped"
    MODIFIED = "modified"


@dataclass
class FullResult:
    decision: MoreWords
    modified_args: dict | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: dt.datetime | None = None


@dataclass
class OldRequest:
    call: object
    risk: str = "sensitive"
    agent_id: object = field(default_factory=lambda: types.SimpleNamespace(type="a", key="b"))
    run_id: str = "run"
    context: dict = field(default_factory=lambda: {"summary": "sends a mail"})
    requested_at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


def old_call(name: str = "mail"):
    return types.SimpleNamespace(kind="tool_call", name=name, arguments=ARGS, call_id="c1")


THREE_WORDS = types.SimpleNamespace(ApprovalDecision=Words)
ALL_FIELDS = types.SimpleNamespace(ApprovalDecision=MoreWords, ApprovalResult=FullResult)


@pytest.mark.parametrize(("verdict", "word"), [("approve", "approved"), ("deny", "denied"), ("skip", "skipped")])
async def test_r2_the_older_protocol_gets_one_of_its_three_words(gate, console, verdict, word):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    assert body["allowed_verdicts"] == ["approve", "deny", "skip"]
    assert (body["risk"], body["reason"]) == ("high", "sends a mail")
    await console.decide(body["request_id"], verdict)
    assert await working is Words(word)


@pytest.mark.parametrize("verdict", ["approve", "modify", "deny"])
async def test_r2_a_result_has_what_it_has_fields_for(gate, console, verdict):
    handler = RaviApprovalHandler(gate, contract=ALL_FIELDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call(), risk="unknown")))
    body = await card(console, working)
    assert body["risk"] == "critical"
    edit = {"edited_args": {"x": 1}, "args_digest": args_digest({"x": 1})} if verdict == "modify" else {}
    await console.decide(body["request_id"], verdict, message="because", **edit)
    result = await working
    assert (result.reason, result.decided_by) == ("because", "Ada")
    assert result.decided_at.tzinfo is not None
    assert result.modified_args == ({"x": 1} if verdict == "modify" else None)
    received = await console.receipt(body["request_id"], "received")
    assert ("message" in (received.get("degraded") or [])) is (verdict == "deny")


async def test_an_unknown_word_is_denied(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    await console.decide(body["request_id"], "yes please")
    assert await working is Words.DENIED


async def test_r4_the_card_ends_before_ravi_and_ravi_speaks_first(kit, gate, console):
    office = Office(kit, gate, timeout=1.2)
    working = office.start()
    body = await card(console, working)
    stamps = [dt.datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
    assert (stamps[0] - stamps[1]).total_seconds() == pytest.approx(0.9, abs=0.002)
    result = await working
    assert (result.status, office.ran()) == ("denied", [])
    assert "timed out" in result.text
    span = await last_span(console, lambda s: s.get("call_id") == body["call_id"] and s["status"] == "timeout")
    assert span["request_id"] == body["request_id"]


async def test_r4_the_default_is_half_a_second_less_than_ravis(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    stamps = [dt.datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
    assert (stamps[0] - stamps[1]).total_seconds() == 54.5
    working.cancel()
    await console.until("withdraw", lambda m: m.subject.endswith(body["request_id"]))


async def test_r4_without_a_time_out_of_ravis_own_an_expired_call_is_denied(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS, approval_timeout=0.4)
    assert await handler.request(OldRequest(old_call())) is Words.DENIED


async def test_r11_without_a_bus_nothing_runs(kit, tmp_path_factory):
    bench = await opened(Bench(tmp_path_factory.mktemp("nats")))
    async with Gate.connect(bench.enrolment()) as gate:
        office = Office(kit, gate, timeout=3)
        waiting = office.start()
        await bench.console.until("request", lambda _: True)
        bench.server.stop()
        await bench.console.nc.close()
        results = [await waiting, await office.start("wipe")]
        with pytest.raises(BusUnreachableError):
            await RaviApprovalHandler(gate, contract=THREE_WORDS, approval_timeout=1).request(OldRequest(old_call()))
    assert all(result.status in ("denied", "error") for result in results)
    assert (office.ran("mail"), office.ran("wipe")) == ([], [])
