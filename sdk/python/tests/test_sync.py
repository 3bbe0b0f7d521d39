"""`SyncGate`: whatever happens to its loop, nobody waits for ever."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest
from countersign import GateClosedError, InvalidRequestError, SyncGate, ToolCall, VoidDecisionError

from conftest import SOON


def call(request_id: str) -> ToolCall:
    return ToolCall(name="t", args={"n": 1}, request_id=request_id)


def ends(thread: threading.Thread, seconds: float = 10) -> None:
    thread.join(seconds)
    assert not thread.is_alive()


def outcome(work) -> Exception | None:
    try:
        work()
    except Exception as error:
        return error
    return None


def test_a_loop_that_cannot_be_made_is_told(bench, monkeypatch):
    def none(*_):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("asyncio.events.new_event_loop", none)
    reported: list[Exception | None] = []
    thread = threading.Thread(
        target=lambda: reported.append(outcome(SyncGate(bench.enrolment()).__enter__)), daemon=True
    )
    thread.start()
    ends(thread)
    [error] = reported
    assert isinstance(error, OSError)


FORKED = """
import os, sys
from countersign import GateClosedError, SyncGate, ToolCall

SPAN = {"v": 1, "type": "span", "trace_id": "0" * 32, "span_id": "0" * 16, "name": "n", "kind": "tool",
        "started_at": "2026-11-21T12:00:00.000Z"}
with SyncGate(sys.argv[1]) as gate:
    decision = gate.ask(ToolCall(name="t", request_id=sys.argv[2]))
    works = {
        "ask": lambda: gate.ask(ToolCall(name="t")),
        "withdraw": lambda: gate.withdraw("x"),
        "introduce": lambda: gate.introduce(tools=[]),
        "receipt": lambda: gate.receipt(decision, "executed"),
        "receipt_later": lambda: gate.receipt_later(decision, "executed"),
        "span": lambda: gate.span(SPAN),
    }
    child = os.fork()
    if child == 0:
        for name, work in works.items():
            try:
                work()
                print(name, "did nothing", flush=True)
            except GateClosedError as error:
                print(name, error, flush=True)
    else:
        print("the child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        gate.receipt(decision, "executed")
"""


FORKED_WITH_A_LOOP = """
import asyncio, inspect, os, sys
from countersign import Gate, GateClosedError, ToolCall

SPAN = {"v": 1, "type": "span", "trace_id": "0" * 32, "span_id": "0" * 16, "name": "n", "kind": "tool",
        "started_at": "2026-11-21T12:00:00.000Z"}

async def child(gate, decision):
    works = {
        "ask": lambda: gate.ask(ToolCall(name="t"), timeout=2),
        "withdraw": lambda: gate.withdraw("x"),
        "introduce": lambda: gate.introduce(tools=[]),
        "receipt": lambda: gate.receipt(decision, "executed"),
        "receipt_later": lambda: gate.receipt_later(decision, "executed"),
        "span": lambda: gate.span(SPAN),
    }
    for name, work in works.items():
        try:
            done = work()
            if inspect.isawaitable(done):
                await done
            print(name, "did nothing", flush=True)
        except GateClosedError as error:
            print(name, error, flush=True)

async def main():
    async with Gate.connect(sys.argv[1]) as gate:
        decision = await gate.ask(ToolCall(name="t", request_id=sys.argv[2]))
        pid = os.fork()
        if pid == 0:
            asyncio.run(child(gate, decision))
            os._exit(0)
        print("the child ended with", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        await gate.receipt(decision, "executed")

asyncio.run(main())
"""


@pytest.mark.parametrize("script", [FORKED, FORKED_WITH_A_LOOP], ids=["SyncGate", "Gate"])
async def test_in_a_forked_child_every_call_fails_at_once_and_the_parent_goes_on(
    agent_json, console, request_id, script
):
    pipe = subprocess.PIPE
    # Python 3.12 warns of a fork beside threads, which is what this is about.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-W",
        "ignore::DeprecationWarning",
        "-c",
        script,
        str(agent_json),
        request_id,
        stdout=pipe,
        stderr=pipe,
    )
    try:
        await console.decide(request_id)
        out, err = await asyncio.wait_for(process.communicate(), 30)
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, err.decode()) == (0, "")
    *child, parent = out.decode().splitlines()
    reported = "the gate belongs to the process that opened it; open one after the fork"
    works = ("ask", "withdraw", "introduce", "receipt", "receipt_later", "span")
    assert child == [f"{name} {reported}" for name in works]
    assert parent == "the child ended with 0"
    await console.receipt(request_id, "executed")


async def test_closing_ends_what_other_threads_wait_for(bench, console, request_id):
    reported: dict[str, Exception | None] = {}

    def note(name: str, work) -> None:
        reported[name] = outcome(work)

    gate = SyncGate(bench.enrolment())
    await asyncio.to_thread(gate.__enter__)
    works = {
        "ask": lambda: gate.ask(call(request_id), timeout=60),
        "work": lambda: gate.call(asyncio.sleep(3600)),
    }
    threads = [threading.Thread(target=note, args=item, daemon=True) for item in works.items()]
    for thread in threads:
        thread.start()
    await console.request(request_id)
    await asyncio.to_thread(gate.__exit__, None, None, None)
    for thread in threads:
        await asyncio.to_thread(ends, thread)
    assert [type(reported[name]) for name in works] == [GateClosedError, GateClosedError]
    with pytest.raises(GateClosedError):
        gate.call(asyncio.sleep(0))
    gate.span({})


async def test_the_gates_own_loop_is_not_asked_to_wait_for_itself(bench):
    def work() -> list[Exception | None]:
        with SyncGate(bench.enrolment()) as gate:

            async def on_the_loop() -> list[Exception | None]:
                return [
                    outcome(lambda: gate.ask(call("own-loop"), timeout=1)),
                    outcome(lambda: gate.introduce(tools=[])),
                ]

            return gate.call(on_the_loop())

    reported = await asyncio.wait_for(asyncio.to_thread(work), SOON)
    assert [error.code for error in reported] == ["own_loop", "own_loop"]


async def test_a_gate_that_is_not_open_says_what_to_do(bench):
    gate = SyncGate(bench.enrolment())
    with pytest.raises(GateClosedError, match="with SyncGate"):
        gate.ask(call("x"))

    def work() -> None:
        with gate:
            with pytest.raises(GateClosedError, match="another"):
                gate.__enter__()
            gate.introduce(tools=[])  # it goes on

    await asyncio.to_thread(work)
    for again in (gate.__enter__, lambda: gate.ask(call("x")), lambda: gate.call(asyncio.sleep(0))):
        with pytest.raises(GateClosedError, match="another"):
            again()


async def test_work_handed_over_while_the_gate_closes_ends_too(bench):
    """As close to the end of the loop as can be: when the gate is closed and the loop not yet asked to stop."""
    ended: list[Exception | None] = []
    gate = SyncGate(bench.enrolment())
    stop = gate._stop

    def late() -> None:
        threads = [
            threading.Thread(
                target=lambda: ended.append(outcome(lambda: gate.call(asyncio.sleep(3600)))), daemon=True
            )
            for _ in range(20)
        ]
        for thread in threads:
            thread.start()
        stop()
        for thread in threads:
            ends(thread)

    gate._stop = late

    def work() -> None:
        with gate:
            pass

    await asyncio.to_thread(work)
    assert [type(error) for error in ended] == [GateClosedError] * 20


async def test_what_the_asked_raises_comes_through(bench, console, request_id):
    def work() -> Exception | None:
        with SyncGate(bench.enrolment()) as gate:
            return outcome(lambda: gate.ask(call(request_id)))

    working = asyncio.ensure_future(asyncio.to_thread(work))
    await console.decide(request_id, origin="weather")
    assert isinstance(await working, VoidDecisionError)


async def test_what_cannot_be_sent_is_told_in_the_callers_own_thread(bench, console, request_id):
    def work() -> list[Exception | None]:
        with SyncGate(bench.enrolment()) as gate:
            decision = gate.ask(call(request_id))
            return [
                outcome(lambda: gate.span(dict.fromkeys(["name"], float("nan")))),
                outcome(lambda: gate.span(dict.fromkeys(["name"], "x" * 1_000_000))),
                outcome(lambda: gate.receipt_later(decision, "excuted")),
                outcome(lambda: SyncGate(bench.enrolment(), **dict.fromkeys(["framewrok"], True))),
            ]

    working = asyncio.ensure_future(asyncio.to_thread(work))
    await console.decide(request_id)
    assert [type(error) for error in await working] == [InvalidRequestError] * 3 + [TypeError]
