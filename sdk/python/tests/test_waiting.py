"""What may fail around a request: the server goes away, the bus refuses, nobody listens."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime
from types import SimpleNamespace

import pytest
from countersign import BusRefusedError, BusUnreachableError, Enrolment, Gate, SyncGate, ToolCall, clock
from countersign.waiting import poll_offsets
from nats.errors import NoRespondersError

from conftest import AGENT, OTHER, SOON, WORKSPACE, Bench, opened


@pytest.fixture
async def own(tmp_path):
    """A server of this test's own, to be stopped and started."""
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


def call(request_id: str) -> ToolCall:
    return ToolCall(name="t", args={"n": 1}, request_id=request_id)


def test_when_it_looks_without_being_told():
    offsets = poll_offsets()
    assert [next(offsets) for _ in range(6)] == [1, 2, 5, 20, 35, 50]


async def test_a_restart_of_the_server_loses_neither_question_nor_answer(own, request_id):
    async with Gate.connect(own.enrolment()) as gate:
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=30))
        seen = await own.console.request(request_id)
        await asyncio.to_thread(own.server.stop)
        await asyncio.to_thread(own.server.start)
        while not own.console.nc.is_connected:
            await asyncio.sleep(0.02)
        await own.console.store(
            seen.decision_subject, *own.console.signed(seen.decision_subject, own.console.decision(seen))
        )
        assert (await asyncio.wait_for(asking, 15)).allowed


async def test_an_answer_given_while_the_agent_was_away_is_found_on_return(own, request_id, unprompted):
    async with Gate.connect(own.enrolment()) as gate:
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
        seen = await own.console.request(request_id)
        gate._bus._client._transport.close()
        await own.console.store(
            seen.decision_subject, *own.console.signed(seen.decision_subject, own.console.decision(seen))
        )
        assert (await asyncio.wait_for(asking, SOON)).allowed


@pytest.mark.parametrize("looks", [["unanswered"], ["unanswered", "unanswered"], ["unanswered", "nothing yet"]])
async def test_a_hint_whose_look_is_not_answered_is_looked_after_again(
    gate, console, request_id, unprompted, monkeypatch, looks
):
    direct_get, left = gate._bus.direct_get, list(looks)

    async def failing(subject, **options):
        stored = await direct_get(subject, **options)
        if stored is None or ".decision." not in subject or not left:
            return stored
        if left.pop(0) == "unanswered":
            raise BusUnreachableError("no answer from the bus")
        return None

    monkeypatch.setattr(gate._bus, "direct_get", failing)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed
    assert not left


async def test_a_request_made_while_the_bus_is_away_is_placed_on_return(own, request_id):
    async with Gate.connect(own.enrolment()) as gate:
        await asyncio.to_thread(own.server.stop)
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=30))
        await asyncio.sleep(0.2)
        assert not asking.done()
        await asyncio.to_thread(own.server.start)
        async with asyncio.timeout(10):
            while not await own.console.js.stream_info("CS_REQUESTS", subjects_filter=">"):
                await asyncio.sleep(0.05)
            while True:
                try:
                    stored = await own.console.js.get_last_msg(
                        "CS_REQUESTS", f"countersign.v1.request.{WORKSPACE}.{AGENT}.{request_id}"
                    )
                    break
                except Exception:
                    await asyncio.sleep(0.05)
        assert json.loads(stored.data)["request_id"] == request_id
        asking.cancel()


async def test_a_bus_that_stays_away_denies_at_the_deadline(own, request_id, pauses):
    async with Gate.connect(own.enrolment()) as gate:
        await asyncio.to_thread(own.server.stop)
        with pytest.raises(BusUnreachableError):
            await asyncio.wait_for(gate.ask(call(request_id), timeout=0.5), SOON)
        assert max(until for _, until in pauses) == pytest.approx(0.5)


async def test_no_bus_at_all_is_told_in_time():
    nobody = Enrolment("nats://127.0.0.1:1", WORKSPACE, AGENT, None, "_INBOX", "r")
    with pytest.raises(BusUnreachableError) as problem:
        async with asyncio.timeout(SOON), Gate.connect(nobody, insecure=True, connect_timeout=0.5):
            pass
    assert problem.value.code == "bus_unreachable"


async def test_speaking_as_another_agent_is_refused_at_once(bench):
    known = bench.enrolment()
    impostor = Enrolment(
        known.nats_url, WORKSPACE, OTHER, known.nkey_seed, known.inbox_prefix, known.realm, known.log
    )
    with pytest.raises(BusRefusedError) as refusal:
        async with asyncio.timeout(SOON), Gate.connect(impostor, connect_timeout=3600):
            pass
    assert refusal.value.code == "permission"


async def test_a_full_stream_is_waited_for_and_denies_at_the_deadline(own, request_id):
    info = await own.console.js.stream_info("CS_REQUESTS")
    info.config.max_bytes = 10
    await own.console.js.update_stream(info.config)
    async with Gate.connect(own.enrolment()) as gate:
        with pytest.raises(BusUnreachableError):
            await gate.ask(call(request_id), timeout=0.6)


def tightened(console, request_id: str) -> list[dict]:
    return [json.loads(m.data) for m in console.received["tighten"] if m.subject.endswith(request_id)]


async def test_tighten_shortens_again_and_again_and_never_lengthens(
    gate, console, request_id, monkeypatch, unprompted
):
    moment = 1000.0
    monkeypatch.setattr("countersign.waiting.ticks", lambda: moment)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=60))
    seen = await console.request(request_id)
    wait = gate._asking.waits[request_id]
    for longer in (120, 61, float("inf"), float("nan")):
        await gate.tighten(request_id, longer)
        assert wait.seconds_left == 60
    for seconds, left in ((30, 30), (5, 5), (20, 5), (0.25, 0.25)):
        await gate.tighten(request_id, seconds)
        assert wait.seconds_left == left
    moment += 0.25
    assert (await asyncio.wait_for(asking, SOON)).verdict == "expired"
    await console.until("tighten", lambda m: m.subject.endswith(request_id))
    # The first that is stored counts: it is the first that shortened, and no earlier word took its place.
    [asked, *_] = tightened(console, request_id)
    stored = await console.js.get_last_msg("CS_REQUESTS", seen.subject.replace(".request.", ".tighten."))
    assert json.loads(stored.data) == asked
    lifetime = datetime.fromisoformat(asked["expires_at"]) - datetime.fromisoformat(seen.body["requested_at"])
    assert lifetime.total_seconds() == 30


async def test_a_deadline_that_is_near_already_is_not_tightened_on_the_bus(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=5))
    await console.request(request_id)
    await gate.tighten(request_id, 10)
    await gate.tighten(request_id, 0.2)
    assert (await asking).verdict == "expired"
    await console.until("tighten", lambda m: m.subject.endswith(request_id))
    assert len(tightened(console, request_id)) == 1


async def test_several_threads_ask_through_one_sync_gate(bench, console):
    answers: dict[str, bool] = {}
    ids = [f"thread-{time.monotonic_ns()}-{n}" for n in range(5)]

    def work() -> None:
        with SyncGate(bench.enrolment()) as gate:

            def one(request_id: str) -> None:
                answers[request_id] = gate.ask(call(request_id), timeout=10).allowed

            threads = [threading.Thread(target=one, args=(request_id,)) for request_id in ids]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    working = asyncio.create_task(asyncio.to_thread(work))
    for n, request_id in enumerate(ids):
        await console.decide(request_id, "approve" if n % 2 else "deny")
    await working
    assert [answers[request_id] for request_id in ids] == [False, True, False, True, False]


# A shell starts its background jobs with SIGINT ignored, and Python then leaves it so: the test must not depend on
# how it was started.
INTERRUPTED = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from countersign import SyncGate, ToolCall
with SyncGate(sys.argv[1]) as gate:
    print("ready", flush=True)
    gate.ask(ToolCall(name="t", request_id=sys.argv[2]), timeout=20)
    print("ran", flush=True)
"""


async def test_ctrl_c_withdraws(agent_json, console, request_id):
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", INTERRUPTED, str(agent_json), request_id, stdout=pipe, stderr=pipe
    )
    await console.request(request_id)
    process.send_signal(signal.SIGINT)
    out, _ = await asyncio.wait_for(process.communicate(), 10)
    assert out == b"ready\n"
    assert process.returncode not in (0, None)
    await console.until("withdraw", lambda m: m.subject.endswith(request_id))


async def test_a_request_that_the_bus_refuses_for_good_is_told_at_once(gate, monkeypatch, request_id, unprompted):
    async def refused(*_, **__):
        raise BusRefusedError("no", code="permission")

    monkeypatch.setattr(gate._bus, "store", refused)
    with pytest.raises(BusRefusedError) as refusal:
        await asyncio.wait_for(gate.ask(call(request_id), timeout=None), SOON)
    assert refusal.value.code == "permission"


async def withdrawn(console, request_id: str) -> None:
    await console.until("withdraw", lambda m: m.subject.endswith(request_id))


async def test_a_question_that_stands_is_withdrawn_when_the_next_try_is_refused(
    gate, console, monkeypatch, request_id
):
    store, tries = gate._bus.store, 0

    async def refused_later(subject, payload, **options):
        nonlocal tries
        if ".request." not in subject:
            return await store(subject, payload, **options)
        tries += 1
        if tries == 2:
            raise BusRefusedError("no", code="bus_10060")
        await store(subject, payload, **options)
        raise BusUnreachableError("the acknowledgement was lost")

    monkeypatch.setattr(gate._bus, "store", refused_later)
    with pytest.raises(BusRefusedError):
        await gate.ask(call(request_id), timeout=20)
    await withdrawn(console, request_id)


async def test_a_question_is_withdrawn_whatever_ended_the_wait(gate, console, monkeypatch, request_id):
    def broken(*_):
        raise ValueError("not foreseen")

    monkeypatch.setattr("countersign.waiting.judge", broken)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=20))
    await console.decide(request_id)
    with pytest.raises(ValueError, match="not foreseen"):
        await asking
    await withdrawn(console, request_id)


@pytest.mark.parametrize("code", [10008, 10023, 10047, 10077])
async def test_a_bus_that_is_busy_for_a_moment_is_asked_again(gate, console, monkeypatch, request_id, code):
    """A server that says so is hard to have; its words come in place of the first acknowledgement."""
    request, reported = gate._bus._client.request, False

    async def busy(subject, payload, **options):
        nonlocal reported
        if ".request." in subject and not reported:
            reported = True
            return SimpleNamespace(data=json.dumps({"error": {"code": 503, "err_code": code}}).encode())
        return await request(subject, payload, **options)

    monkeypatch.setattr(gate._bus._client, "request", busy)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=20))
    await console.decide(request_id)
    assert (await asking).allowed
    assert reported


async def test_a_question_that_nobody_could_take_is_not_withdrawn(gate, console, monkeypatch, request_id):
    async def nobody(*_, **__):
        raise NoRespondersError

    monkeypatch.setattr(gate._bus._client, "request", nobody)
    with pytest.raises(BusUnreachableError):
        await gate.ask(call(request_id), timeout=0.3)
    monkeypatch.undo()
    other = asyncio.create_task(gate.ask(call(request_id + "-2"), timeout=20))
    await console.request(request_id + "-2")
    other.cancel()
    await withdrawn(console, request_id + "-2")
    assert not [m for m in console.received["withdraw"] if m.subject.endswith(request_id)]


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_wall_clock_an_hour_off_changes_no_outcome(gate, console, request_id, monkeypatch, pauses, hours):
    true = clock.now
    monkeypatch.setattr(clock, "now", lambda: true() + dt.timedelta(hours=hours))
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=20))
    await console.decide(request_id)
    assert (await asking).allowed
    pauses.clear()
    silent = await asyncio.wait_for(gate.ask(call(request_id + "-2"), timeout=0.3), SOON)
    assert (silent.verdict, silent.allowed) == ("expired", False)
    assert max(until for _, until in pauses) == pytest.approx(0.3)
