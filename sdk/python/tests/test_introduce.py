"""What an agent shows operators about itself: at the start, when it changes, and after the bus was away."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign import BusRefusedError, Gate, GateClosedError, InvalidRequestError, SyncGate, TooManyWaitingError
from countersign.adapters.selectools import SelectoolsGate
from countersign.bus import Bus

from conftest import AGENT, WORKSPACE, Bench, opened
from contract import valid

SUBJECT = f"countersign.v1.hello.{WORKSPACE}.{AGENT}"
KEY = {"bs_name": "confirm_hire", "bs_type": "bool", "bs_default": True}
STRIPE = {"tool_name": "pay", "artifact_id": "stripe", "status": "missing", "missing_keys": ["STRIPE_KEY"]}
PARTS = {"tools": [{"name": "pay"}], "setup_schema": [KEY], "credentials": [STRIPE], "skills": [{"name": "refunds"}]}


@pytest.fixture
async def own(tmp_path):
    """A server of this test's own, to be stopped and started."""
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


def hellos(console, gate: Gate) -> list[dict]:
    """What this gate said about itself, checked against the contract, without what is in every hello."""
    said = [json.loads(message.data) for message in console.received["hello"]]
    mine = [body for body in said if body.get("instance_id") == gate._instance_id]
    for body in mine:
        valid("hello", json.dumps(body).encode())
    return [{name: part for name, part in body.items() if name in PARTS} for body in mine]


async def heard(console, gate: Gate, parts: dict) -> None:
    async with asyncio.timeout(10):
        while hellos(console, gate)[-1:] != [parts]:
            await asyncio.sleep(0.005)


async def test_an_agent_says_at_the_start_all_that_a_hello_holds(bench, console):
    about = {"framework": "f", "framework_version": "1", "agent_type": "office", "parent": "boss"}
    async with Gate.connect(bench.enrolment(), **about, **PARTS) as gate:
        await heard(console, gate, PARTS)
        body = json.loads(console.received["hello"][-1].data)
    assert body["agent"] == {
        "name": AGENT,
        "instance_id": gate._instance_id,
        "framework": "f",
        "framework_version": "1",
        "type": "office",
        "parent": "boss",
    }


async def test_what_changed_is_said_again_and_the_rest_stays(bench, console):
    tools = [{"name": "pay"}]
    async with Gate.connect(bench.enrolment(), **PARTS | {"tools": tools}) as gate:
        await heard(console, gate, PARTS)
        tools.append({"name": "not said"})
        ready = [{**STRIPE, "status": "ready", "missing_keys": []}]
        for change in ({"credentials": ready}, {"setup_schema": {"greeting": KEY}}, {"tools": []}):
            before = hellos(console, gate)[-1]
            await gate.introduce(**change)
            await heard(console, gate, before | change)
        await gate.introduce(skills=None)
        await heard(console, gate, {"credentials": ready, "setup_schema": {"greeting": KEY}, "tools": []})
    with pytest.raises(GateClosedError):
        await gate.introduce(tools=[])


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"setup_shema": [KEY]}, TypeError),
        ({"agent": {"name": "other-bot"}}, TypeError),
        ({"setup_schema": [{**KEY, "bs_default": float("nan")}]}, InvalidRequestError),
        ({"skills": [object()]}, InvalidRequestError),
        ({"tools": [{"name": "x", "description": "x" * 600_000}]}, InvalidRequestError),
    ],
)
async def test_what_is_no_hello_is_told_and_what_was_said_stands(bench, console, parts, error):
    with pytest.raises(error):
        async with Gate.connect(bench.enrolment(), **parts):
            pass
    async with Gate.connect(bench.enrolment(), **PARTS) as gate:
        with pytest.raises(error):
            await gate.introduce(**parts)
        await gate.introduce(skills=[])
        await heard(console, gate, PARTS | {"skills": []})


async def test_a_reconnect_while_the_gate_opens_says_the_whole_hello(bench, console, monkeypatch):
    connect, direct_get, lost = Bus.connect, Bus.direct_get, []

    async def watched(*enrolment, on_reconnect, **options):
        lost.append(on_reconnect)
        return await connect(*enrolment, on_reconnect=on_reconnect, **options)

    async def interrupted(bus, *about, **options):
        if lost:
            lost.pop()()
        return await direct_get(bus, *about, **options)

    monkeypatch.setattr(Bus, "connect", watched)
    monkeypatch.setattr(Bus, "direct_get", interrupted)
    before = len(console.received["hello"])
    async with Gate.connect(bench.enrolment(), **PARTS) as gate:
        async with asyncio.timeout(10):
            while len(hellos(console, gate)) < 2:
                await asyncio.sleep(0.005)
    assert not lost
    assert hellos(console, gate) == [PARTS, PARTS]
    assert len(console.received["hello"]) == before + 2


async def test_what_changes_while_the_bus_is_away_is_said_on_return_and_nothing_older_after_it(own):
    async with Gate.connect(own.enrolment(), **PARTS) as gate:
        await heard(own.console, gate, PARTS)
        await asyncio.to_thread(own.server.stop)
        async with asyncio.timeout(10):
            while gate._bus.connected:
                await asyncio.sleep(0.005)
        await asyncio.gather(*(gate.introduce(tools=[{"name": f"tool-{n}"}]) for n in range(3)))
        unsent = len(gate._presence.hellos)
        for _ in range(5):
            gate._on_reconnect()
        assert len(gate._presence.hellos) == unsent
        await asyncio.to_thread(own.server.start)
        async with asyncio.timeout(20):
            while gate._presence.said is None or not gate._presence.said.done():
                await asyncio.sleep(0.005)
        stored = await own.console.js.get_last_msg("CS_AGENTS", SUBJECT)
        assert json.loads(stored.data)["tools"] == [{"name": "tool-2"}]


async def test_a_hello_that_the_bus_refuses_is_told(gate, monkeypatch):
    async def refused(*_, **__):
        raise BusRefusedError("no", code="permission")

    monkeypatch.setattr(gate._bus, "store", refused)
    with pytest.raises(BusRefusedError):
        await gate.introduce(**PARTS)
    monkeypatch.setattr("countersign.gate.MAX_WAITING", 0)
    with pytest.raises(TooManyWaitingError):
        await gate.introduce(**PARTS)


async def test_programs_without_an_event_loop_say_hello_again_too(bench, console):
    def work() -> tuple[Gate, Gate]:
        with SyncGate(bench.enrolment(), setup_schema=[KEY]) as gate:
            gate.introduce(credentials=[STRIPE])
            sync = gate.gate
        with SelectoolsGate.open(bench.enrolment()) as gate:
            gate.introduce(setup_schema=[KEY], skills={"refunds": {}})
            return sync, gate._gate.gate

    sync, framework = await asyncio.to_thread(work)
    await heard(console, sync, {"setup_schema": [KEY], "credentials": [STRIPE]})
    await heard(console, framework, {"tools": [], "setup_schema": [KEY], "skills": {"refunds": {}}})
