"""Receipts and withdrawals: none is lost silently, none arrives twice, and their order is kept."""

from __future__ import annotations

import asyncio
import json
import logging
import math

import pytest
from countersign import (
    BusRefusedError,
    BusUnreachableError,
    Gate,
    GateClosedError,
    ToolCall,
    TooManyWaitingError,
)
from countersign.bus import NotSentError
from countersign.outbox import Letter, Outbox
from countersign.spans import SpanQueue

from conftest import SOON, WORKSPACE, Bench, opened


@pytest.fixture
async def own(tmp_path):
    """A server of this test's own, to be stopped and started."""
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    monkeypatch.setattr("countersign.outbox.SHORTEST_PAUSE", 0.01)
    monkeypatch.setattr("countersign.outbox.LONGEST_PAUSE", 0.05)


def call(request_id: str) -> ToolCall:
    return ToolCall(name="t", args={"n": 1}, request_id=request_id)


async def decided(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=30))
    await console.decide(request_id)
    return await asking


def stages(console, request_id: str) -> list[str]:
    mine = [m for m in console.received["receipt"] if m.subject.endswith(request_id)]
    return [json.loads(message.data)["stage"] for message in mine]


def fail(gate, monkeypatch, error: Exception, times: int, kind: str = "receipt"):
    """The next `times` messages of a kind are not taken."""
    store, left = gate._bus.store, times

    async def failing(subject, payload, **options):
        nonlocal left
        if f".{kind}." in subject and left:
            left -= 1
            raise error
        return await store(subject, payload, **options)

    monkeypatch.setattr(gate._bus, "store", failing)


async def restarted(bench) -> None:
    await asyncio.to_thread(bench.server.start)
    async with asyncio.timeout(10):
        while not bench.console.nc.is_connected:
            await asyncio.sleep(0.01)


async def stored(console, stream: str, kind: str) -> list[dict]:
    """What a stream holds of a kind: the console itself may be back later than the agent, and hear nothing of it."""
    state = (await console.js.stream_info(stream)).state
    held = [await console.js.get_msg(stream, number) for number in range(1, state.last_seq + 1)]
    return [json.loads(message.data) for message in held if kind in message.subject]


async def test_what_is_told_while_the_bus_is_away_arrives_once_and_in_order(own, request_id):
    console = own.console
    async with Gate.connect(own.enrolment()) as gate:
        asking = asyncio.create_task(gate.ask(call(f"{request_id}-w"), timeout=30))
        await console.request(f"{request_id}-w")
        decision = await decided(gate, console, request_id)
        await console.receipt(request_id, "received")
        await asyncio.to_thread(own.server.stop)
        async with asyncio.timeout(5):
            while gate._bus.connected or console.nc.is_connected:
                await asyncio.sleep(0.01)
        asking.cancel()
        gate.receipt_later(decision, "failed", message="first")
        with pytest.raises(BusUnreachableError, match="sent again"):
            await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest)
        assert gate._bus._client.pending_data_size == 0
        await restarted(own)
        async with asyncio.timeout(SOON):
            while len(gate._outbox):
                await asyncio.sleep(0.005)
    receipts = await stored(console, "CS_RECEIPTS", ".receipt.")
    assert [receipt["stage"] for receipt in receipts] == ["received", "failed", "executed"]
    assert len(await stored(console, "CS_REQUESTS", ".withdraw.")) == 1


@pytest.mark.parametrize("kind", ["receipt", "withdraw"])
async def test_a_bus_that_does_not_answer_is_tried_again_and_again(gate, console, monkeypatch, request_id, kind):
    fail(gate, monkeypatch, BusUnreachableError("no answer"), 12, kind)
    if kind == "receipt":
        decision = await decided(gate, console, request_id)
        await gate.receipt(decision, "executed")
        await console.receipt(request_id, "executed")
        assert stages(console, request_id) == ["received", "executed"]
    else:
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=30))
        await console.request(request_id)
        asking.cancel()
        await console.until("withdraw", lambda m: m.subject.endswith(request_id))


async def test_a_question_withdrawn_before_the_bus_had_it_is_never_sent(own, request_id):
    async with Gate.connect(own.enrolment()) as gate:
        await asyncio.to_thread(own.server.stop)
        async with asyncio.timeout(5):
            while gate._bus.connected:
                await asyncio.sleep(0.01)
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
        await asyncio.sleep(0)
        await gate.withdraw(request_id)
        assert (await asyncio.wait_for(asking, SOON)).verdict == "withdrawn"
        assert len(gate._outbox) == 0
        await restarted(own)
        asking = asyncio.create_task(gate.ask(call(f"{request_id}-2"), timeout=30))
        await own.console.request(f"{request_id}-2")
        asking.cancel()
    assert [m.subject for m in own.console.received["request"] if m.subject.endswith(request_id)] == []


async def test_a_withdrawn_ask_ends_though_the_bus_does_not_answer(gate, console, monkeypatch, request_id):
    monkeypatch.setattr("countersign.gate.IO_SECONDS", 0.2)
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    await console.request(request_id)
    fail(gate, monkeypatch, BusUnreachableError("no answer"), 1_000, "withdraw")
    await asyncio.wait_for(gate.withdraw(request_id), SOON)
    assert (await asyncio.wait_for(asking, SOON)).verdict == "withdrawn"


async def test_a_receipt_that_the_bus_refuses_is_told(gate, console, monkeypatch, request_id):
    decision = await decided(gate, console, request_id)
    await console.receipt(request_id, "received")
    fail(gate, monkeypatch, BusRefusedError("no", code="bus_10060"), 1)
    with pytest.raises(BusRefusedError):
        await gate.receipt(decision, "executed")
    assert len(gate._outbox) == 0


async def test_after_ten_minutes_it_is_given_up(gate, console, monkeypatch, request_id):
    decision = await decided(gate, console, request_id)
    await console.receipt(request_id, "received")
    monkeypatch.setattr("countersign.outbox.TRIED_FOR", 0.1)
    fail(gate, monkeypatch, BusUnreachableError("no answer"), 1_000)
    with pytest.raises(BusUnreachableError, match="no answer"):
        await gate.receipt(decision, "executed")
    assert len(gate._outbox) == 0


async def test_no_more_wait_than_the_limit(gate, console, monkeypatch, request_id):
    decision = await decided(gate, console, request_id)
    await console.receipt(request_id, "received")
    monkeypatch.setattr("countersign.gate.MAX_WAITING", 2)
    monkeypatch.setattr("countersign.asking.MAX_WAITING", 2)
    fail(gate, monkeypatch, BusUnreachableError("no answer"), 1_000)
    gate.receipt_later(decision, "executed")
    gate.receipt_later(decision, "executed")
    gate.receipt_later(decision, "executed")
    assert len(gate._outbox) == 2
    with pytest.raises(TooManyWaitingError):
        await gate.receipt(decision, "executed")
    with pytest.raises(TooManyWaitingError):
        await gate.ask(call(f"{request_id}-2"))


async def test_nothing_is_tried_after_the_gate_was_closed(bench, console, monkeypatch, request_id):
    async with Gate.connect(bench.enrolment()) as gate:
        decision = await decided(gate, console, request_id)
    with pytest.raises(GateClosedError):
        await gate.receipt(decision, "executed")
    assert len(gate._outbox) == 0


class AwayBus:
    """A bus that takes some messages, is away for so many pauses and then takes all."""

    def __init__(self, takes: int, pauses: float = math.inf) -> None:
        self.takes = takes
        self.pauses = pauses
        self.taken: list[bytes] = []

    @property
    def connected(self) -> bool:
        return len(self.taken) < self.takes or self.pauses <= 0

    async def pause(self, seconds: float) -> None:
        self.pauses -= 1
        await asyncio.sleep(0)

    async def store(self, subject: str, payload: bytes, **options: object) -> None:
        if not self.connected:
            raise NotSentError("away")
        self.taken.append(payload)


@pytest.mark.parametrize("stopped", [False, True], ids=["while it pauses", "before it begins"])
async def test_a_hello_that_closing_cuts_off_is_no_warning_and_a_receipt_is(own, caplog, stopped):
    caplog.set_level("INFO", logger="countersign")
    async with Gate.connect(own.enrolment()) as gate:
        await asyncio.to_thread(own.server.stop)
        async with asyncio.timeout(5):
            while gate._bus.connected:
                await asyncio.sleep(0.01)
        gate._presence._say_hello()
        gate._outbox.post(Letter("countersign.v1.receipt.a.b.c", b"{}"))
        if not stopped:
            await asyncio.sleep(0.1)
    levels = {
        record.getMessage().split(".")[2]: record.levelname
        for record in caplog.records
        if record.getMessage().startswith("not delivered on countersign.v1.")
    }
    assert levels == {"hello": "INFO", "receipt": "WARNING"}


async def test_a_hello_that_the_bus_refuses_is_a_warning(caplog):
    class RefusingBus(AwayBus):
        async def store(self, subject: str, payload: bytes, **options: object) -> None:
            raise BusRefusedError("no")

    hellos = Outbox(RefusingBus(0), io_timeout=1, closing_level=logging.INFO)
    with pytest.raises(BusRefusedError):
        await hellos.post(Letter("countersign.v1.hello.a.b", b"{}"))
    assert [record.levelname for record in caplog.records] == ["WARNING"]


@pytest.mark.parametrize(("takes", "reported"), [(0, ["3 messages"]), (1, ["2 messages"]), (3, [])])
async def test_steps_of_a_trace_that_closing_drops_are_counted_in_the_log(caplog, takes, reported):
    bus = AwayBus(takes)
    queue = SpanQueue(bus, "countersign.v1.event.a.b", io_timeout=1)
    for number in range(3):
        queue.put(bytes([number]))
    await queue.close(0.01)
    assert bus.taken == [bytes([number]) for number in range(takes)]
    assert [record.getMessage().partition(" for ")[0] for record in caplog.records] == reported


async def test_a_step_of_a_trace_after_the_end_is_dropped_and_the_log_says_so(caplog):
    bus = AwayBus(3)
    queue = SpanQueue(bus, "countersign.v1.event.a.b", io_timeout=1)
    await queue.close(SOON)
    queue.put(b"late")
    assert [record.getMessage() for record in caplog.records] == [
        "1 messages for countersign.v1.event.a.b dropped: the gate is closed"
    ]
    assert queue._unsent == 0


@pytest.mark.parametrize(
    ("takes", "seconds", "taken"),
    [(5, 2.0, 5), (2, 2.0, 2), (5, 20.0, 2)],
    ids=["to the last", "until one is not taken in time", "for half a minute"],
)
async def test_closing_goes_on_as_long_as_the_bus_takes_letters(monkeypatch, takes, seconds, taken):
    moment, turns = 1000.0, asyncio.Semaphore(0)

    class SlowBus(AwayBus):
        async def store(self, subject: str, payload: bytes, **options: object) -> None:
            await turns.acquire()
            await super().store(subject, payload, **options)

    bus = SlowBus(takes)

    async def passing(tasks, *, timeout):
        """So many seconds, in which the bus takes one letter while it takes any."""
        nonlocal moment
        moment += timeout
        left = len(outbox)
        if len(bus.taken) < takes:
            turns.release()
            while len(outbox) == left:
                await asyncio.sleep(0)
        return {task for task in tasks if task.done()}, {task for task in tasks if not task.done()}

    monkeypatch.setattr("countersign.outbox.ticks", lambda: moment)
    outbox = Outbox(bus, io_timeout=1)
    for number in range(5):
        outbox.post(Letter(f"countersign.v1.withdraw.a.b.{number}", b"%d" % number))
    with monkeypatch.context() as patch:
        patch.setattr("countersign.outbox.asyncio.wait", passing)
        await outbox.close(seconds)
    assert len(bus.taken) == taken
    while len(outbox):
        await asyncio.sleep(0)


async def test_steps_of_a_trace_wait_for_a_bus_that_is_long_away(caplog):
    bus = AwayBus(1, pauses=50)
    queue = SpanQueue(bus, "countersign.v1.event.a.b", io_timeout=1)
    for number in range(3):
        queue.put(bytes([number]))
    await queue.close(SOON)
    assert bus.taken == [b"\0", b"\1", b"\2"]
    assert not caplog.records


async def test_letters_of_one_subject_keep_their_order_whatever_each_of_them_meets(monkeypatch):
    monkeypatch.setattr("countersign.outbox.random.uniform", lambda *_: 0.0)

    class Fickle(AwayBus):
        """Takes the first letter at the tenth try and each other at once."""

        async def store(self, subject: str, payload: bytes, **options: object) -> None:
            if payload != b"0" or self.pauses <= -10:
                await super().store(subject, payload, **options)
            else:
                raise BusUnreachableError("no answer")

    bus = Fickle(0, pauses=0)
    outbox = Outbox(bus, io_timeout=1)
    for number in range(3):
        outbox.post(Letter("countersign.v1.receipt.a.b.c", b"%d" % number))
    outbox.post(Letter("countersign.v1.receipt.a.b.other", b"other"))
    await outbox.close(SOON)
    assert bus.taken == [b"other", b"0", b"1", b"2"]


async def test_steps_of_a_trace_wait_for_the_bus(own):
    async with Gate.connect(own.enrolment()) as gate:
        await asyncio.to_thread(own.server.stop)
        async with asyncio.timeout(5):
            while gate._bus.connected:
                await asyncio.sleep(0.01)
        ids = {"trace_id": "0" * 32, "span_id": "0" * 16, "name": WORKSPACE, "kind": "tool"}
        gate.span({"v": 1, "type": "span", "started_at": "2026-11-21T12:00:00.000Z", **ids})
        await asyncio.sleep(0)
        await restarted(own)
        async with asyncio.timeout(SOON):
            while gate._spans._unsent:
                await asyncio.sleep(0.005)
    assert [span["span_id"] for span in await stored(own.console, "CS_EVENTS", ".event.")] == ["0" * 16]
