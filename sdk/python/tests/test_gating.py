"""What the adapters share: one gated call with its span, as an operator sees it."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign import Gate, ToolCall, letters
from countersign.adapters._gating import GatedCall, group
from opentelemetry.sdk.trace import TracerProvider

from conftest import SOON
from console import canonical_digest


def gated(gate: Gate, request_id: str | None, **how) -> GatedCall:
    call = ToolCall(name="pay", args={"n": 1}, call_id="c1", thread_id="t1", request_id=request_id)
    return GatedCall(gate, call, "pay", timeout=20, **how)


async def spans(console, status: str, trace_id: str) -> dict:
    wanted = f'"trace_id":"{trace_id}"'.encode()
    message = await console.until("event", lambda m: wanted in m.data and json.loads(m.data)["status"] == status)
    return json.loads(message.data)


@pytest.mark.parametrize("active", [True, False])
async def test_the_request_and_its_span_join_the_active_trace(gate, console, request_id, active):
    tracer = TracerProvider().get_tracer("tests")
    root = tracer.start_span("run")
    if active:
        from opentelemetry.trace import use_span

        with use_span(root):
            call = gated(gate, request_id)
    else:
        call = gated(gate, request_id)
    asking = asyncio.create_task(call.ask())
    seen = await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed
    call.started()
    call.ended("paid")
    _, trace_id, span_id, _ = seen.body["traceparent"].split("-")
    span = await spans(console, "ok", trace_id)
    assert (span["span_id"], span["request_id"]) == (span_id, request_id)
    outer = root.get_span_context()
    if active:
        assert (trace_id, span["parent_span_id"]) == (f"{outer.trace_id:032x}", f"{outer.span_id:016x}")
    else:
        assert trace_id != f"{outer.trace_id:032x}"
        assert "parent_span_id" not in span


async def test_the_span_of_a_waiting_call_names_its_request(gate, console):
    before = len(console.received["request"])
    call = gated(gate, None)
    asking = asyncio.create_task(call.ask())
    await console.until("request", lambda m: m in console.received["request"][before:])
    span = await spans(console, "waiting", call.span.trace_id)
    seen = await console.decide(span["request_id"])
    assert seen.body["traceparent"] == call.span.traceparent
    assert (await asyncio.wait_for(asking, SOON)).allowed


@pytest.mark.parametrize(("own", "key"), [("mine/1", "mine/1"), (None, f"t1/c1/{canonical_digest({'n': 1})}")])
async def test_a_call_is_asked_under_its_own_key_or_that_of_its_ids_and_arguments(bench, console, tmp_path, own, key):
    async with Gate.connect(bench.enrolment(), journal=tmp_path / "pending") as gate:
        before = len(console.received["request"])
        asking = asyncio.create_task(gated(gate, None, key=own).ask())
        await console.until("request", lambda m: m in console.received["request"][before:])
        with pytest.raises(Exception, match=repr(key)):
            await gate.ask(ToolCall(name="pay"), key=key)
        asking.cancel()
        await asyncio.wait({asking})


async def test_calls_with_one_id_get_a_card_each_and_are_found_again(bench, console, tmp_path):
    """As from a server that gives all calls one id: two that are equal, and another one."""
    about = [{"n": 1}, {"n": 1}, {"n": 2}]
    before = len(console.received["request"])

    async def asked(gate: Gate, count: int) -> list[asyncio.Task]:
        asking = []
        for args in about:
            call = ToolCall(name="pay", args=args, call_id="pay", thread_id="t1")
            asking.append(asyncio.create_task(GatedCall(gate, call, "pay", timeout=20).ask()))
        async with asyncio.timeout(SOON):
            while len(console.received["request"]) < before + count:
                await asyncio.sleep(0.01)
        return asking

    async with Gate.connect(bench.enrolment(), journal=tmp_path / "pending") as gate:
        asking = await asked(gate, 3)
    ended = await asyncio.gather(*asking)
    assert [answer.verdict for answer in ended] == ["error"] * 3
    async with Gate.connect(bench.enrolment(), journal=tmp_path / "pending") as gate:
        asking = await asked(gate, 3)
        await asyncio.sleep(0.3)
        # What is not sure to be there is published again, with the same id.
        found = [json.loads(message.data) for message in console.received["request"][before:]]
        cards = list({card["request_id"]: card for card in found}.values())
        assert sorted(card["args"]["n"] for card in cards) == [1, 1, 2]
        ones = [card for card in cards if card["args"] == {"n": 1}]
        await console.decide(ones[0]["request_id"])
        await console.decide(ones[1]["request_id"], "deny")
        await console.decide(next(card["request_id"] for card in cards if card["args"] == {"n": 2}))
        answers = await asyncio.wait_for(asyncio.gather(*asking), SOON)
    assert sorted(answer.verdict for answer in answers[:2]) == ["approve", "deny"]
    assert (answers[2].verdict, answers[2].args) == ("approve", {"n": 2})


async def test_where_ids_are_the_programs_own_an_equal_call_is_the_same(bench, console, tmp_path):
    before = len(console.received["request"])
    async with Gate.connect(bench.enrolment(), journal=tmp_path / "pending") as gate:
        first = asyncio.create_task(gated(gate, None, unique_ids=True).ask())
        await console.until("request", lambda m: m in console.received["request"][before:])
        second = await gated(gate, None, unique_ids=True).ask()
        assert (second.allowed, "(already_waiting)" in second.words) == (False, True)
        first.cancel()
        await asyncio.wait({first})


def test_a_group_is_said_of_several_calls_only():
    assert group("turn", 1, 2) == {"id": "turn", "index": 1, "size": 2}
    assert group("turn", 0, 1) is None


@pytest.mark.parametrize(
    ("name", "spelt"),
    [
        ("pay", "pay"),
        ("mcp__bank.pay-1", "mcp__bank.pay-1"),
        ("x" * 64, "x" * 64),
        ("..", ".."),
        ("pay invoice", "pay-invoice-674e58b8"),
        (" a- b ", "a--b-e4446d39"),
        ("über/ß", "ber-3edf5a77"),
        ("", "tool-e3b0c442"),
        ("x" * 65, "x" * 55 + "-9537c5fd"),
        ("日本", "tool-cf2abf0c"),
        ("a\nb", "a-b-7e18f737"),
        ("a b" * 40, "a-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-ba-f48370d3"),
    ],
)
async def test_a_name_has_one_form_in_every_sdk(gate, console, request_id, name, spelt):
    """As `countersign_wire::tool_slug` spells them."""
    asking = asyncio.create_task(
        gate.ask(ToolCall(name=name, native={"cwd": "/"}, request_id=request_id), timeout=20)
    )
    seen = await console.decide(request_id)
    assert (await asyncio.wait_for(asking, SOON)).allowed
    assert seen.body["tool"]["name"] == spelt
    assert seen.body["native"] == ({"cwd": "/"} if spelt == name else {"tool_name": name, "cwd": "/"})
    hello = letters.hello(gate.enrolment, {"instance_id": "i"}, {"tools": [{"name": name, "risk": "low"}]})
    assert json.loads(hello.payload)["tools"] == [{"name": spelt, "risk": "low"}]
