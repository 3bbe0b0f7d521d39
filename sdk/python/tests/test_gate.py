"""The gate against a real server: who may say yes, and when."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from datetime import datetime

import pytest
from countersign import (
    AlreadyAskedError,
    BusUnreachableError,
    CountersignError,
    EnrolmentError,
    Gate,
    InvalidRequestError,
    Question,
    ToolCall,
    args_digest,
)
from countersign.clock import ticks

from conftest import SOON

ARGS = {"invoice_id": "INV-42"}


def call(request_id: str, **about) -> ToolCall:
    return ToolCall(name="delete_invoice", request_id=request_id, **{"args": dict(ARGS), "risk": "high", **about})


async def test_an_approved_call_may_run_with_the_arguments_that_were_shown(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    seen = await console.decide(request_id, message="fine")
    decision = await asking
    assert decision.allowed
    assert decision.verdict == "approve"
    assert (decision.args, decision.args_digest) == (ARGS, args_digest(ARGS))
    assert decision.decided_by == {"name": "Ada", "key": console.human.public}
    assert decision.message == "fine"
    assert decision.origin == "operator"
    assert decision.stored_at is not None
    receipt = await console.receipt(request_id, "received")
    assert receipt["decision_id"] == decision.decision_id
    assert seen.body["args_digest"] == "sha256:30e64fe16d9c35d7dea1689837b3dd7e4c4a95c90b71eefec776582e94f00d95"


async def test_an_approval_meant_for_always_lets_one_call_run_and_the_next_is_asked(gate, console, request_id):
    for number, scope in enumerate(["always", "session"]):
        asking = asyncio.create_task(gate.ask(call(f"{request_id}-{number}")))
        await console.decide(f"{request_id}-{number}", scope=scope)
        assert (await asking).allowed
    asking = asyncio.create_task(gate.ask(call(f"{request_id}-last")))
    await console.decide(f"{request_id}-last", "deny", message="not for ever")
    assert not (await asking).allowed


async def test_what_a_request_looks_like_on_the_bus(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id, reason="because"), timeout=7.5))
    seen = await console.decide(request_id, "deny")
    await asking
    assert seen.subject == f"countersign.v1.request.acme.billing-bot.{request_id}"
    message = console.received["request"][-1]
    assert message.headers["Nats-Expected-Last-Subject-Sequence"] == "0"
    assert "Nats-Msg-Id" not in message.headers
    body = seen.body
    assert body["v"] == 1
    assert body["kind"] == "tool_call"
    assert body["tool"] == {"name": "delete_invoice"}
    assert body["agent"]["name"] == "billing-bot"
    assert body["allowed_verdicts"] == ["approve", "modify", "deny"]
    assert body["reason"] == "because"
    lifetime = datetime.fromisoformat(body["expires_at"]) - datetime.fromisoformat(body["requested_at"])
    assert lifetime.total_seconds() == 7.5


@pytest.mark.parametrize(
    ("name", "word"), [("risk", None), ("risk", ["high"]), ("effects", 1), ("allowed_verdicts", (None,))]
)
async def test_what_is_no_word_is_not_sent(gate, console, request_id, name, word):
    count = len(console.received["request"])
    with pytest.raises(InvalidRequestError, match="has to be a word"):
        await gate.ask(call(request_id, **{name: word}), timeout=1)
    assert len(console.received["request"]) == count


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("allowed_verdicts", "approve", "wrong_type"),
        ("allowed_verdicts", None, "wrong_type"),
        ("approvals_required", "2", "wrong_type"),
        ("request_id", 5, "bad_subject"),
    ],
)
async def test_a_slip_is_told_by_name_and_not_sent(gate, console, request_id, name, value, code):
    count = len(console.received["request"])
    with pytest.raises(InvalidRequestError, match=name.replace("_id", " id")) as refusal:
        await gate.ask(call(**{"request_id": request_id, name: value}), timeout=1)
    assert refusal.value.code == code
    assert len(console.received["request"]) == count


async def test_a_frameworks_own_words_are_sent_as_they_are(gate, console, request_id):
    own = {"risk": "sensitive", "effects": "delete", "allowed_verdicts": ("approve", "later")}
    asking = asyncio.create_task(gate.ask(call(request_id, **own)))
    body = (await console.request(request_id)).body
    assert (body["risk"], body["tool"]["effects"]) == ("sensitive", "delete")
    assert body["allowed_verdicts"] == ["approve", "later"]
    await console.decide(request_id)
    assert (await asking).allowed


async def test_a_receipt_of_an_unknown_stage_or_detail_is_told_before_it_is_sent(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.decide(request_id)
    decision = await asking
    for tell in (gate.receipt_later, gate.receipt):
        with pytest.raises(InvalidRequestError, match="stage"):
            await reported if asyncio.iscoroutine(reported := tell(decision, "excuted")) else None
        with pytest.raises(TypeError, match="mesage"):
            await reported if asyncio.iscoroutine(reported := tell(decision, "executed", mesage="x")) else None
    await gate.receipt(decision, "executed", message="x" * 3000, degraded=["slow"])
    receipt = await console.receipt(request_id, "executed")
    assert (len(receipt["message"]), receipt["degraded"]) == (2000, ["slow"])


@pytest.mark.parametrize("verdict", ["deny", "skip", "escalate", "terminate", "hooray", ""])
async def test_every_verdict_but_approve_and_modify_denies(gate, console, request_id, verdict):
    offered = ("approve", "skip", "escalate", "terminate")
    asking = asyncio.create_task(gate.ask(call(request_id, allowed_verdicts=offered)))
    await console.decide(request_id, verdict, message="no")
    decision = await asking
    assert not decision.allowed
    assert decision.args is None
    assert decision.verdict == (verdict if verdict in offered else "deny")
    assert decision.message == "no"


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_an_answer_is_neither_true_nor_false(gate, console, request_id, verdict):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.decide(request_id, verdict)
    decision = await asking
    with pytest.raises(TypeError, match="allowed"):
        bool(decision)


async def test_a_rejection_is_told_apart(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    by = {"name": "console", "key": console.auto.public}
    await console.decide(request_id, "rejected", origin="system", decided_by=by)
    assert (await asking).verdict == "rejected"


async def test_edited_arguments_replace_the_asked_ones(gate, console, request_id):
    edited = {"invoice_id": "INV-43", "note": "é"}
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.decide(request_id, "modify", edited_args=edited, args_digest=args_digest(edited))
    decision = await asking
    assert (decision.allowed, decision.args, decision.args_digest) == (True, edited, args_digest(edited))


async def test_a_question_gets_its_answer(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(Question(text="Which?", request_id=request_id)))
    await console.decide(request_id, "respond", response={"content": "the blue one"})
    decision = await asking
    assert decision.response == {"content": "the blue one"}
    assert not decision.allowed


async def test_a_hint_that_nobody_stored_is_ignored(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    seen = await console.request(request_id)
    payload, headers = console.signed(seen.decision_subject, console.decision(seen))
    await console.nc.publish(seen.subject.replace(".request.", ".decided."), payload, headers=headers)
    await asyncio.sleep(0.1)
    assert not asking.done()
    await console.decide(request_id, "deny")
    assert (await asking).verdict == "deny"


async def test_a_decision_that_a_lagging_replica_shows_late_is_found_at_once(
    gate, console, request_id, monkeypatch, unprompted, pauses
):
    get, hidden = gate._bus.direct_get, 3

    async def lagging(subject, *, timeout):
        nonlocal hidden
        stored = await get(subject, timeout=timeout)
        if stored is not None and ".decision." in subject and hidden:
            hidden -= 1
            return None
        return stored

    monkeypatch.setattr(gate._bus, "direct_get", lagging)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed
    looks = [until - now for now, until in pauses if until < 1800]
    assert len(looks) == 3
    assert sum(looks) < 0.8


async def test_empty_hints_do_not_keep_the_agent_busy(gate, console, request_id, monkeypatch, unprompted):
    get, looks = gate._bus.direct_get, 0

    async def counted(subject, *, timeout):
        nonlocal looks
        looks += ".decision." in subject
        return await get(subject, timeout=timeout)

    monkeypatch.setattr(gate._bus, "direct_get", counted)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    seen = await console.request(request_id)
    began = ticks()
    for _ in range(200):
        await console.nc.publish(seen.subject.replace(".request.", ".decided."), b"")
        await asyncio.sleep(0.001)
    # Six in a second and a half are what hints bring, and a few come on schedule: not one for each of them.
    assert looks < 10 + 4 * (ticks() - began)
    await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed


@pytest.mark.parametrize("word", ["its own", b"\xff\xfe"])
async def test_another_agents_trick_answer_on_decided_changes_nothing(bench, gate, console, request_id, word):
    import nats

    nc = await nats.connect(bench.server.url, nkeys_seed_str=bench.other_key.seed)
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.request(request_id)
    own = b"$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.acme.other-bot.x"
    theirs = b"countersign.v1.decided.acme.billing-bot." + (request_id.encode() if word == "its own" else word)
    # The library writes only subjects that are text; the server takes any bytes.
    nc._transport.write(b"PUB %s %s 0\r\n\r\n" % (own, theirs))
    await nc.flush()
    await asyncio.sleep(0.05)
    assert not asking.done()
    await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed
    await nc.close()


async def test_silence_expires_and_never_approves(gate, console, request_id, pauses):
    begun = ticks()
    decision = await asyncio.wait_for(gate.ask(call(request_id), timeout=0.3), SOON)
    assert ticks() - begun >= 0.3
    assert max(until for _, until in pauses) == pytest.approx(0.3)
    assert (decision.verdict, decision.origin, decision.allowed) == ("expired", "timeout", False)


async def test_an_approval_seen_after_the_deadline_reads_expired(gate, console, request_id, monkeypatch):
    slept = 0.0
    monkeypatch.setattr("countersign.waiting.ticks", lambda: ticks() + slept)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=60))
    await console.request(request_id)
    slept = 60.0  # the agent's machine was asleep; the server's stamp would still be early
    await console.decide(request_id)
    decision = await asking
    assert (decision.verdict, decision.allowed, decision.args) == ("expired", False, None)
    assert (await console.receipt(request_id, "refused"))["message"] == "late"


async def test_the_consoles_own_expiry_is_received(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    by = {"name": "console", "key": console.auto.public}
    await console.decide(request_id, "expired", origin="timeout", decided_by=by)
    assert (await asking).verdict == "expired"
    await console.receipt(request_id, "received")


async def test_a_decision_before_the_acknowledgement_counts(gate, console, request_id, unprompted):
    store = gate._bus.store
    held = asyncio.Event()

    async def slow(subject, payload, **options):
        await store(subject, payload, **options)
        await held.wait()

    gate._bus.store = slow
    try:
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
        await console.decide(request_id)
        assert (await asyncio.wait_for(asking, SOON)).allowed
    finally:
        held.set()
        gate._bus.store = store


async def test_asking_again_with_the_same_id_is_told_at_once_and_takes_nothing_back(
    bench, console, request_id, unprompted
):
    async with Gate.connect(bench.enrolment()) as first, Gate.connect(bench.enrolment()) as second:
        one = asyncio.create_task(first.ask(call(request_id)))
        await console.request(request_id)
        for gate, code in ((first, "already_waiting"), (second, "already_asked")):
            with pytest.raises(AlreadyAskedError) as reported:
                await asyncio.wait_for(gate.ask(call(request_id), timeout=None), SOON)
            assert reported.value.code == code
        await second._outbox.close(1)
        assert not [m for m in console.received["withdraw"] if m.subject.endswith(request_id)]
        await console.decide(request_id)
        assert (await one).allowed


async def test_a_request_whose_acknowledgement_was_lost_is_its_own(gate, console, monkeypatch, request_id):
    store, lost = gate._bus.store, False

    async def losing(subject, payload, **options):
        nonlocal lost
        sequence = await store(subject, payload, **options)
        if ".request." in subject and not lost:
            lost = True
            raise BusUnreachableError("the acknowledgement was lost")
        return sequence

    monkeypatch.setattr(gate._bus, "store", losing)
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.request(request_id)
    async with asyncio.timeout(5):
        while not gate._asking.waits[request_id].placed:
            await asyncio.sleep(0.005)
    await console.decide(request_id)
    assert (await asking).allowed


async def test_many_asks_at_once_get_their_own_answers(gate, console):
    ids = [f"many-{time.monotonic_ns()}-{n}" for n in range(30)]
    asking = {i: asyncio.create_task(gate.ask(call(i, args={"n": i}))) for i in ids}
    for n, i in reversed(list(enumerate(ids))):
        await console.decide(i, "approve" if n % 2 else "deny")
    for n, i in enumerate(ids):
        decision = await asking[i]
        assert decision.allowed is bool(n % 2)
        assert decision.args == ({"n": i} if n % 2 else None)


BAD = {
    "integer_out_of_range": 2**53,
    "non_finite_number": float("nan"),
    "lone_surrogate": "\ud800",
    "wrong_type": {1: 2},
    "too_large": "x" * 600_000,
    "not_json": {"$serde_json::private::RawValue": "1"},
}


@pytest.mark.parametrize("code", BAD)
async def test_a_request_that_would_be_rejected_is_not_sent(gate, console, request_id, code):
    count = len(console.received["request"])
    with pytest.raises(InvalidRequestError) as refusal:
        await gate.ask(call(request_id, args={"x": BAD[code]}))
    assert refusal.value.code == code
    assert len(console.received["request"]) == count


@pytest.mark.parametrize("timeout", [0, -1, 0.0004, float("nan"), float("inf"), -1e300, "5"])
async def test_a_time_out_that_is_no_time_is_not_sent(gate, console, request_id, timeout):
    count = len(console.received["request"])
    with pytest.raises(InvalidRequestError) as refusal:
        await gate.ask(call(request_id), timeout=timeout)
    assert refusal.value.code == "bad_lifetime"
    assert len(console.received["request"]) == count


async def test_a_gate_without_a_log_does_not_open(bench):
    with pytest.raises(EnrolmentError, match="insecure"):
        async with Gate.connect(replace(bench.enrolment(), log=None)):
            pass


async def test_hello_and_alive_are_sent(bench, console):
    async with Gate.connect(bench.enrolment(), framework="x", tools=[{"name": "t"}]) as gate:
        mine = gate._instance_id
        hello = await console.until("hello", lambda m: json.loads(m.data)["instance_id"] == mine)
        assert json.loads(hello.data)["tools"] == [{"name": "t"}]
        await console.until("alive", lambda m: json.loads(m.data) == {"v": 1, "instance_id": mine})


async def test_closing_ends_the_wait(bench, console, request_id):
    async with Gate.connect(bench.enrolment()) as gate:
        asking = asyncio.create_task(gate.ask(call(request_id)))
        await console.request(request_id)
    with pytest.raises(CountersignError) as ended:
        await asking
    assert ended.value.code == "gate_closed"
