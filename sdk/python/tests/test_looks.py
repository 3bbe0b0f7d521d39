"""How an agent reads the realm log from a bus: what two looks show alike, and nothing else."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign import BusUnreachableError, Gate
from countersign.protocol_check import _bytes, _decision, _shown, _votes

from conftest import SOON, Bench, opened
from contract import CONTRACT
from outcome import asked, decided, ended, let_in, outcome
from played import ended as records_of_the_end
from played import record

VECTORS = json.loads((CONTRACT / "vectors/realm-log.json").read_text())


@pytest.fixture
async def own(tmp_path):
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture
async def gate(own: Bench):
    async with Gate.connect(own.enrolment()) as opened_gate:
        yield opened_gate


@pytest.mark.parametrize("log", VECTORS["logs"], ids=lambda log: log["name"])
async def test_an_agent_reads_a_log_of_the_vectors_from_a_bus_as_it_is_said(tmp_path, log):
    bench = Bench(tmp_path)
    bench.console.log.messages.clear()
    own = await opened(bench)
    for sent in log["messages"]:
        # What is there in the place of a decision has no bytes, and sometimes the subject of another one.
        unique = f".{sent['seq']}" if ".decision." in sent["subject"] else ""
        assert (await own.console.js.publish(sent["subject"] + unique, _bytes(sent))).seq == sent["seq"]
    expected = log["expect"]
    async with Gate.connect(own.enrolment(realm=VECTORS["realm"], root=log["root"], **expected["head"])) as gate:
        state = gate._looks.state
        assert (gate._looks.fault, _shown(state)) == (None, {name: expected[name] for name in _shown(state)})
        for made, about in ((_decision, log["decisions"]), (_votes, log["votes"])):
            assert [made(state, one)["agent"] for one in about] == [one["agent"] for one in about]
    await own.console.nc.close()
    own.server.stop()


async def test_many_decisions_while_the_log_grows(own: Bench, gate):
    waiting = [await asked(own, gate) for _ in range(60)]

    async def grow() -> None:
        for n in range(40):
            grace = await let_in(own, f"N{n}")
            await own.console.write(operators=records_of_the_end(grace))

    async def decide() -> None:
        for _, seen in waiting:
            await decided(own, seen)

    await asyncio.gather(grow(), decide())
    assert {await ended(asking) for asking, _ in waiting} == {"runs"}
    # A look at a log that no longer changes.
    assert await outcome(own, gate) == "runs"
    assert len(gate._looks.state.chain) == own.console.log.n


async def test_an_entry_that_is_stored_between_two_looks_counts(own: Bench, gate, monkeypatch):
    grace = await let_in(own)
    assert await outcome(own, gate, grace) == "runs"
    asking, seen = await asked(own, gate)
    look, looks = gate._looks._look, 0

    async def then_ended(*about):
        nonlocal looks
        found = await look(*about)
        looks += found[0][0] is not None
        if looks == 1:
            looks += 1
            await own.console.write(operators=records_of_the_end(grace))
        return found

    monkeypatch.setattr(gate._looks, "_look", then_ended)
    await decided(own, seen, grace)
    assert await ended(asking) == "unknown_key"


async def test_with_nothing_new_a_decision_takes_two_rounds_of_three_gets(own: Bench, gate, monkeypatch, unprompted):
    asking, seen = await asked(own, gate)
    get, gets = gate._bus.direct_get, []

    async def noted(subject, **options):
        gets.append(subject.split(".")[2])
        return await get(subject, **options)

    monkeypatch.setattr(gate._bus, "direct_get", noted)
    await decided(own, seen)
    assert await ended(asking) == "runs"
    assert gets == ["decision", "realm", "realm"] * 2


@pytest.mark.parametrize("fails", [BusUnreachableError("unreadable"), None])
async def test_what_cannot_be_read_is_waited_for(own: Bench, gate, monkeypatch, caplog, fails):
    asking, seen = await asked(own, gate)
    get, broken = gate._bus.direct_get, True

    async def failing(subject, *, timeout):
        if broken and ".realm." in subject:
            if fails is None:
                await asyncio.sleep(SOON)
            raise fails
        return await get(subject, timeout=timeout)

    monkeypatch.setattr(gate._bus, "direct_get", failing)
    await decided(own, seen)
    done, _ = await asyncio.wait({asking}, timeout=3)
    assert not done
    assert ("cannot be read" in caplog.text) is (fails is not None)
    broken = False
    assert await ended(asking) == "runs"


async def test_somebody_who_was_let_in_or_freed_a_moment_ago_may_decide(own: Bench, gate, monkeypatch):
    """A replica of the stream lags behind the entry."""
    narrow = await let_in(own, limits={"max_risk": "low"})
    assert await outcome(own, gate, narrow, risk="low") == "runs"
    get, behind = gate._bus.direct_get, len(own.console.log.messages)

    async def lagging(subject, **options):
        slot = subject.rpartition(".")[2]
        return None if ".realm." in subject and int(slot) > behind else await get(subject, **options)

    monkeypatch.setattr(gate._bus, "direct_get", lagging)
    new = await let_in(own)
    await own.console.write(operators=[record(own.console.realm, narrow, "Grace")])
    waiting = [await asked(own, gate) for _ in range(2)]
    for (_, seen), key in zip(waiting, (new, narrow), strict=True):
        await decided(own, seen, key)
    await asyncio.sleep(0.5)
    assert not any(asking.done() for asking, _ in waiting)
    monkeypatch.undo()
    assert [await ended(asking) for asking, _ in waiting] == ["runs", "runs"]


async def test_an_agent_that_may_not_read_the_log_opens_no_gate(own: Bench, monkeypatch):
    """Enrolled by hand, and the permission is missing."""
    from countersign import BusRefusedError

    server, whole = own.server, own.server.config

    def narrower() -> dict:
        config = whole()
        for user in config["accounts"]["AGENTS"]["users"]:
            user["permissions"]["publish"] = [
                allowed for allowed in user["permissions"]["publish"] if ".realm." not in allowed
            ]
        return config

    monkeypatch.setattr(server, "config", narrower)
    await asyncio.to_thread(server.stop)
    await asyncio.to_thread(server.start)
    with pytest.raises(BusRefusedError) as refusal:
        async with Gate.connect(own.enrolment()):
            pass
    assert refusal.value.code == "permission"
