"""Questions that are taken back: by a cancel, by `withdraw`. Nothing runs afterwards, and the console learns it."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import pytest
from countersign import Gate, ToolCall, VoidDecisionError

from conftest import SOON

ARGS = {"invoice_id": "INV-42"}


def call(request_id: str) -> ToolCall:
    return ToolCall(name="delete_invoice", request_id=request_id, args=dict(ARGS), risk="high")


async def test_a_cancelled_ask_withdraws(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(call(request_id)))
    await console.request(request_id)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await console.until("withdraw", lambda m: m.subject.endswith(request_id))


async def test_a_withdrawn_ask_ends_without_a_console(gate, console, request_id, unprompted):
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    await console.request(request_id)
    await gate.withdraw(request_id, "changed my mind")
    decision = await asyncio.wait_for(asking, SOON)
    assert (decision.verdict, decision.origin, decision.allowed) == ("withdrawn", "agent", False)
    reported = await console.until("withdraw", lambda m: m.subject.endswith(request_id))
    assert json.loads(reported.data) == {"v": 1, "reason": "changed my mind"}


@pytest.mark.parametrize("way", ["withdraw", "cancel"])
async def test_an_approval_of_what_was_taken_back_is_refused(gate, console, request_id, unprompted, way):
    asking = asyncio.create_task(gate.ask(call(request_id), timeout=None))
    await console.request(request_id)
    if way == "withdraw":
        await gate.withdraw(request_id)
        assert (await asking).verdict == "withdrawn"
    else:
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    await console.decide(request_id)
    assert (await console.receipt(request_id, "refused"))["message"] == "withdrawn"


async def unheard(gate, console, monkeypatch, request_id, **decision) -> asyncio.Task:
    """A stored decision that the agent has no hint of."""
    monkeypatch.setattr(gate._asking, "hint", lambda _: None)
    monkeypatch.setattr("countersign.asking.Wait.hint", lambda _: None)
    asking = asyncio.create_task(gate.ask(call(request_id)))
    seen = await console.request(request_id)
    async with asyncio.timeout(5):
        while not gate._asking.waits[request_id].placed:
            await asyncio.sleep(0.005)
    await console.decide(request_id, **decision)
    assert seen.body["request_id"] in gate._asking.waits
    return asking


async def test_nothing_runs_that_was_approved_before_a_withdraw_and_it_is_refused_once(
    gate, console, monkeypatch, request_id, unprompted
):
    asking = await unheard(gate, console, monkeypatch, request_id)
    await gate.withdraw(request_id)
    with pytest.raises(VoidDecisionError) as refusal:
        await asking
    assert refusal.value.code == "withdrawn"
    await gate._outbox.close(SOON)
    await console.receipt(request_id, "refused")
    mine = [json.loads(m.data) for m in console.received["receipt"] if m.subject.endswith(request_id)]
    assert [receipt["message"] for receipt in mine] == ["withdrawn"]
    assert mine[0]["decision_id"] != "unreadable"


async def test_an_approval_before_a_cancel_is_refused_although_the_gate_closes_at_once(
    bench, console, monkeypatch, request_id, unprompted
):
    async with Gate.connect(bench.enrolment()) as gate:
        asking = await unheard(gate, console, monkeypatch, request_id)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert (await console.receipt(request_id, "refused"))["message"] == "withdrawn"


async def test_what_was_decided_before_a_withdraw_is_told_apart(gate, console, monkeypatch, request_id, unprompted):
    asking = await unheard(gate, console, monkeypatch, request_id, verdict="deny", message="no")
    await gate.withdraw(request_id)
    assert (await asking).message == "no"


@pytest.mark.parametrize("turns", range(12))
async def test_a_cancel_just_after_the_decision_never_lets_the_call_run(gate, console, turns, monkeypatch):
    """However many turns of the loop lie between: the call did not run, or the cancel came after its answer."""
    store, get = gate._bus.store, gate._bus.direct_get
    held, read, seen, ran = asyncio.Event(), asyncio.Event(), [], []

    async def slow(subject, payload, **options):
        await store(subject, payload, **options)
        if ".request." in subject:
            await held.wait()

    async def noted(*about, **options):
        stored = await get(*about, **options)
        if stored is not None and ".decision." in stored.subject:
            seen.append(stored)
            if len(seen) == 2:
                read.set()
        return stored

    @gate.guard("wipe", timeout=20)
    async def wipe() -> None:
        ran.append(True)

    monkeypatch.setattr(gate._bus, "store", slow)
    monkeypatch.setattr(gate._bus, "direct_get", noted)
    count = len(console.received["request"])
    wiping = asyncio.create_task(wipe())
    async with asyncio.timeout(5):
        while len(console.received["request"]) == count:
            await asyncio.sleep(0.005)
    await console.decide(console.received["request"][-1].subject.rpartition(".")[2])
    await read.wait()
    for _ in range(turns):
        await asyncio.sleep(0)
    if wiping.cancel():
        with pytest.raises(asyncio.CancelledError):
            await wiping
        assert ran == []
    held.set()


async def test_the_consoles_own_answer_to_a_withdrawal_is_received(
    gate, console, monkeypatch, request_id, unprompted
):
    by = {"name": "console", "key": console.auto.public}
    asking = await unheard(gate, console, monkeypatch, request_id, verdict="withdrawn", origin="agent", decided_by=by)
    await gate.withdraw(request_id)
    assert (await asking).verdict == "withdrawn"
    await console.receipt(request_id, "received")


WITH_A_LOOP = """
import asyncio, signal, sys
from countersign import Gate, ToolCall

async def main():
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
    async with Gate.connect(sys.argv[1]) as gate:
        await gate.ask(ToolCall(name="t", request_id=sys.argv[2]))

asyncio.run(main())
"""

WITHOUT_ONE = """
import signal, sys
from countersign import SyncGate, ToolCall

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
with SyncGate(sys.argv[1]) as gate:
    gate.ask(ToolCall(name="t", request_id=sys.argv[2]))
"""


@pytest.mark.parametrize("script", [WITH_A_LOOP, WITHOUT_ONE], ids=["Gate", "SyncGate"])
async def test_an_agent_that_handles_sigterm_as_the_readme_says_withdraws(agent_json, console, request_id, script):
    command = [sys.executable, "-c", script, str(agent_json), request_id]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.DEVNULL)
    await console.request(request_id)
    process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(process.wait(), SOON) != 0
    await console.until("withdraw", lambda m: m.subject.endswith(request_id))
