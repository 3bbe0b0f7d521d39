"""`Gate.guard`: the function runs with what was approved, or not at all."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import pytest
from countersign import ArgumentsChangedError, Gate, InvalidRequestError, NotAllowedError, ToolCall, args_digest
from countersign.adapters.selectools import GateOptions, SelectoolsGate
from countersign.wire import AboutCall, ConnectOptions

from conftest import SOON


async def asked(console, calling):
    """The running call and the id under which it asks."""
    count = len(console.received["request"])
    running = asyncio.create_task(calling)
    async with asyncio.timeout(5):
        while len(console.received["request"]) == count:
            await asyncio.sleep(0.005)
    return running, console.received["request"][-1].subject.rpartition(".")[2]


async def test_guard_runs_the_approved_arguments_and_reports(gate, console):
    ran = []

    @gate.guard("send_mail", risk="medium")
    async def send(to: str, body: str = "hi") -> str:
        ran.append((to, body))
        return "sent"

    sending, rid = await asked(console, send("a@b"))
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

    wiping, rid = await asked(console, wipe())
    await console.decide(rid, "deny", message="not today")
    with pytest.raises(NotAllowedError, match="not today"):
        await wiping
    assert ran == []


EDITS = {
    "an argument with a default left out": {"to": "c@d"},
    "an argument without a default left out": {"body": "hi"},
    "an argument that the function does not take": {"to": "c@d", "body": "hi", "cc": "e@f"},
    "no argument": {},
    "a list": ["c@d", "hi"],
    "no object": None,
}


@pytest.mark.parametrize("case", EDITS)
async def test_guard_does_not_run_what_differs_from_the_edit(gate, console, case):
    ran = []

    @gate.guard("send_mail", risk="medium")
    async def send(to: str, body: str = "none") -> None:
        ran.append((to, body))

    sending, rid = await asked(console, send("a@b", "hi"))
    await console.decide(rid, "modify", edited_args=EDITS[case], args_digest=args_digest(EDITS[case]))
    with pytest.raises(ArgumentsChangedError):
        await sending
    assert ran == []
    assert (await console.receipt(rid, "refused"))["message"] == "digest_differs"
    await gate._outbox.close(5)
    reported = [json.loads(m.data)["stage"] for m in console.received["receipt"] if m.subject.endswith(rid)]
    assert reported == ["received", "refused"]


async def test_guard_runs_an_edit_of_a_function_that_takes_any_name(gate, console):
    ran = []

    @gate.guard("tag", risk="medium")
    def tag(invoice_id: str, **labels: str) -> None:
        ran.append((invoice_id, labels))

    tagging, rid = await asked(console, tag("INV-42", labels="x", colour="red"))
    edited = {"invoice_id": "INV-7", "labels": "y", "size": "big"}
    await console.decide(rid, "modify", edited_args=edited, args_digest=args_digest(edited))
    await tagging
    assert ran == [("INV-7", {"labels": "y", "size": "big"})]


async def test_the_answer_to_a_guarded_call_is_in_the_error(gate, console):
    @gate.guard("pay", risk="medium", allowed_verdicts=("approve", "deny", "respond"))
    def pay() -> None: ...

    paying, rid = await asked(console, pay())
    await console.decide(rid, "respond", response={"content": "use a credit note"})
    with pytest.raises(NotAllowedError) as reported:
        await paying
    assert reported.value.decision.response == {"content": "use a credit note"}


def read_later():
    yield


async def read_later_too():
    yield


@pytest.mark.parametrize("function", [read_later, read_later_too])
async def test_a_generator_is_not_guarded(gate, function):
    with pytest.raises(TypeError, match="generator"):
        gate.guard("t")(function)


class Reading:
    def __call__(self):
        yield


async def returns_one():
    return read_later()


@pytest.mark.parametrize(
    "function",
    [lambda: read_later(), lambda: read_later_too(), Reading(), returns_one],
    ids=["returned", "returned, asynchronous", "called object", "returned by a coroutine"],
)
async def test_a_generator_that_a_function_returns_is_reported_as_failed(gate, console, function):
    reading, rid = await asked(console, gate.guard("t")(function)())
    await console.decide(rid)
    with pytest.raises(TypeError, match="generator"):
        await reading
    assert (await console.receipt(rid, "failed"))["message"] == "TypeError"


class Desk:
    drawer = "left"

    def open(self) -> str:
        return self.drawer

    @classmethod
    def made(cls) -> None: ...


async def test_a_method_is_guarded_on_its_object(gate, console):
    for function in (Desk.open, Desk.__dict__["made"].__func__):
        with pytest.raises(TypeError, match="on its object"):
            gate.guard("open")(function)
    opening, rid = await asked(console, gate.guard("open")(Desk().open)())
    await console.decide(rid)
    assert await opening == "left"


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


@pytest.mark.parametrize(("raised", "reported"), [(OSError("x"), OSError), (StopIteration("x"), RuntimeError)])
async def test_guard_reports_a_function_that_raised(gate, console, raised, reported):
    @gate.guard("fail", risk="low")
    def fail() -> None:
        raise raised

    failing, rid = await asked(console, fail())
    await console.decide(rid)
    with pytest.raises(reported):
        await asyncio.wait_for(failing, SOON)
    assert (await console.receipt(rid, "failed"))["message"] == type(raised).__name__


class Slow:
    """A plain function that goes on until it is let go."""

    def __init__(self) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()
        self.ran = 0

    def __call__(self) -> str:
        self.begun.set()
        assert self.let_go.wait(SOON)
        self.ran += 1
        return "done"


@pytest.fixture
def slow():
    made = Slow()
    yield made
    made.let_go.set()


LABEL: contextvars.ContextVar[str] = contextvars.ContextVar("label")


async def test_a_plain_function_holds_up_no_other_call(gate, console, slow):
    first, rid = await asked(console, gate.guard("slow")(slow)())
    await console.decide(rid)
    assert await asyncio.to_thread(slow.begun.wait, SOON)
    LABEL.set("the caller's")
    second, rid = await asked(console, gate.guard("quick")(lambda: LABEL.get())())
    await console.decide(rid)
    assert await second == "the caller's"
    assert not first.done()
    slow.let_go.set()
    assert await first == "done"


@pytest.mark.parametrize("cancels", [1, 2])
async def test_a_cancelled_plain_function_ends_with_the_receipt_of_what_ran(gate, console, slow, cancels):
    running, rid = await asked(console, gate.guard("slow")(slow)())
    await console.decide(rid)
    assert await asyncio.to_thread(slow.begun.wait, SOON)
    for _ in range(cancels):
        running.cancel()
        done, _ = await asyncio.wait({running}, timeout=0.05)
        assert not done
    slow.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert slow.ran == 1
    await console.receipt(rid, "executed")


async def test_a_cancelled_plain_function_that_no_thread_took_yet_never_runs(gate, console, slow, monkeypatch):
    monkeypatch.setattr(gate, "_threads", ThreadPoolExecutor(1))
    first, rid = await asked(console, gate.guard("slow")(slow)())
    await console.decide(rid)
    assert await asyncio.to_thread(slow.begun.wait, SOON)
    late = Slow()
    second, waiting = await asked(console, gate.guard("late")(late)())
    await console.decide(waiting)
    await console.receipt(waiting, "received")
    async with asyncio.timeout(SOON):
        while not gate._threads._work_queue.qsize():
            await asyncio.sleep(0.005)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(second, SOON)
    assert (await console.receipt(waiting, "refused"))["message"] == "not_started"
    slow.let_go.set()
    await first
    assert not late.begun.is_set()


async def test_a_coroutine_of_a_cancelled_plain_function_never_begins(gate, console, slow):
    ran = []

    async def later() -> None:
        ran.append(1)

    def makes():
        slow()
        return later()

    running, rid = await asked(console, gate.guard("makes")(makes)())
    await console.decide(rid)
    assert await asyncio.to_thread(slow.begun.wait, SOON)
    running.cancel()
    await asyncio.wait({running}, timeout=0.05)
    slow.let_go.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert ran == []
    assert (await console.receipt(rid, "failed"))["message"] == "CancelledError"
