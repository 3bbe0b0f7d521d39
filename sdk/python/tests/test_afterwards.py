"""Answers that come after the agent's own timer: nothing runs, and the console learns it."""

from __future__ import annotations

import asyncio
import itertools
import json

import pytest
from countersign import ToolCall, TooManyWaitingError
from countersign.afterwards import PATIENCE, pauses

from conftest import SOON


def call(request_id: str) -> ToolCall:
    return ToolCall(name="delete_invoice", request_id=request_id, args={"invoice_id": "INV-42"}, risk="high")


class Clock:
    """The agent's timer, in the hands of the test."""

    moment = 1000.0

    def __call__(self) -> float:
        return self.moment


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """It is stored, and whoever looks on does so every few milliseconds."""
    made = Clock()
    monkeypatch.setattr("countersign.waiting.ticks", made)
    monkeypatch.setattr("countersign.afterwards.ticks", made)
    monkeypatch.setattr("countersign.afterwards.pauses", lambda: itertools.repeat(0.005))
    return made


async def expired(gate, console, clock, request_id, *, timeout: float, acknowledged_after: float = 0.0) -> None:
    """A question that nobody answered while the agent's timer ran."""
    store, stored, acknowledged = gate._bus.store, asyncio.Event(), asyncio.Event()

    async def slow(subject, payload, **options):
        sequence = await store(subject, payload, **options)
        if ".request." in subject:
            stored.set()
            await acknowledged.wait()
        return sequence

    gate._bus.store = slow
    try:
        asking = asyncio.create_task(gate.ask(call(request_id), timeout=timeout))
        await stored.wait()
        wait = gate._asking.waits[request_id]
        clock.moment += acknowledged_after
        acknowledged.set()
        async with asyncio.timeout(SOON):
            while not wait.placed:
                await asyncio.sleep(0)
        clock.moment += timeout - acknowledged_after
        gate._asking.look_again()
        assert (await asyncio.wait_for(asking, SOON)).verdict == "expired"
    finally:
        gate._bus.store = store


async def looks(gate, count: int) -> None:
    """So many looks at the bus have begun."""
    get, begun = gate._bus.direct_get, 0

    async def counted(subject, **options):
        nonlocal begun
        begun += ".decision." in subject
        return await get(subject, **options)

    gate._bus.direct_get = counted
    try:
        async with asyncio.timeout(SOON):
            while begun < count:
                await asyncio.sleep(0.001)
    finally:
        gate._bus.direct_get = get


def test_when_it_looks_on():
    assert list(itertools.islice(pauses(), 5)) == [0.3, 1.2, 2.0, 2.0, 2.0]


@pytest.mark.parametrize("acknowledged_after", [0.0, 6.0])
async def test_an_approval_after_the_timer_and_before_the_servers_deadline_is_refused_as_late(
    gate, console, clock, request_id, acknowledged_after
):
    await expired(gate, console, clock, request_id, timeout=9.0, acknowledged_after=acknowledged_after)
    clock.moment += acknowledged_after + PATIENCE - 0.1
    await looks(gate, 3)
    await console.decide(request_id)
    assert (await console.receipt(request_id, "refused"))["message"] == "late"


async def test_the_consoles_own_expiry_after_the_timer_is_received(gate, console, clock, request_id):
    await expired(gate, console, clock, request_id, timeout=9.0)
    by = {"name": "console", "key": console.auto.public}
    await console.decide(request_id, "expired", origin="timeout", decided_by=by)
    await console.receipt(request_id, "received")


async def test_a_decision_after_the_timer_that_does_not_verify_is_refused_by_its_fault(
    gate, console, clock, request_id
):
    await expired(gate, console, clock, request_id, timeout=9.0)
    await console.decide(request_id, request_digest="sha256:" + "0" * 64)
    assert (await console.receipt(request_id, "refused"))["message"] == "wrong_request_digest"


async def test_nobody_looks_on_for_ever(gate, console, clock, request_id):
    await expired(gate, console, clock, request_id, timeout=9.0)
    clock.moment += PATIENCE
    async with asyncio.timeout(SOON):
        while len(gate._asking._afterwards):
            await asyncio.sleep(0.001)
    await console.decide(request_id)
    await gate._outbox.close(SOON)
    mine = [json.loads(m.data) for m in console.received["receipt"] if m.subject.endswith(request_id)]
    assert mine == []


async def test_what_is_looked_for_counts_as_waiting(gate, console, clock, monkeypatch, request_id):
    monkeypatch.setattr("countersign.asking.MAX_WAITING", 1)
    await expired(gate, console, clock, request_id, timeout=9.0)
    with pytest.raises(TooManyWaitingError):
        await gate.ask(call(request_id + "-2"))
