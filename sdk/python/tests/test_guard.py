"""`Gate.guard`: the function runs with what was approved, or not at all."""

from __future__ import annotations

import asyncio
import inspect
from dataclasses import fields

import pytest
from countersign import Gate, InvalidRequestError, NotAllowedError, ToolCall, args_digest
from countersign.adapters.selectools import GateOptions, SelectoolsGate
from countersign.gate import ConnectOptions
from countersign.wire import AboutCall


async def test_guard_runs_the_approved_arguments_and_reports(gate, console):
    ran = []

    @gate.guard("send_mail", risk="medium")
    async def send(to: str, body: str = "hi") -> str:
        ran.append((to, body))
        return "sent"

    count = len(console.received["request"])
    sending = asyncio.create_task(send("a@b"))
    async with asyncio.timeout(5):
        while len(console.received["request"]) == count:
            await asyncio.sleep(0.005)
    rid = console.received["request"][-1].subject.rpartition(".")[2]
    edited = {"to": "c@d", "body": "hi"}
    await console.decide(rid, "modify", edited_args=edited, args_digest=args_digest(edited))
    assert await sending == "sent"
    assert ran == [("c@d", "hi")]
    assert (await console.receipt(rid, "executed"))["executed_args_digest"] == args_digest(edited)


async def test_guard_does_not_run_a_denied_call(gate, console):
    ran = []

    @gate.guard("wipe", risk="critical")
    def wipe() -> None:
        ran.append(1)

    count = len(console.received["request"])
    wiping = asyncio.create_task(wipe())
    async with asyncio.timeout(5):
        while len(console.received["request"]) == count:
            await asyncio.sleep(0.005)
    rid = console.received["request"][-1].subject.rpartition(".")[2]
    await console.decide(rid, "deny", message="not today")
    with pytest.raises(NotAllowedError, match="not today"):
        await wiping
    assert ran == []


async def test_guard_wants_a_name_for_every_argument(gate):
    with pytest.raises(TypeError, match="name"):

        @gate.guard("t")
        def spread(*values: int) -> None: ...


@pytest.mark.parametrize(
    ("about", "error"),
    [({"rsik": "low"}, TypeError), ({"request_id": "once"}, TypeError), ({"risk": 3}, InvalidRequestError)],
)
async def test_guard_says_what_is_wrong_before_anything_is_decorated(gate, about, error):
    with pytest.raises(error):
        gate.guard("t", **about)


def test_guard_and_sync_gate_take_what_they_hand_on():
    taken = {item.name for item in fields(ToolCall)} - {"name", "args", "request_id"}
    assert AboutCall.__annotations__.keys() == taken
    connecting = inspect.signature(Gate.connect).parameters.keys() - {"enrolment"}
    assert ConnectOptions.__annotations__.keys() == connecting
    constructing = inspect.signature(SelectoolsGate).parameters.keys() - {"gate"}
    assert GateOptions.__annotations__.keys() == constructing


async def test_guard_reports_a_function_that_raised(gate, console):
    @gate.guard("fail", risk="low")
    def fail(why: str) -> None:
        raise OSError(why)

    count = len(console.received["request"])
    failing = asyncio.create_task(fail("x"))
    async with asyncio.timeout(5):
        while len(console.received["request"]) == count:
            await asyncio.sleep(0.005)
    rid = console.received["request"][-1].subject.rpartition(".")[2]
    await console.decide(rid)
    with pytest.raises(OSError, match="x"):
        await failing
    assert (await console.receipt(rid, "failed"))["message"] == "OSError"
