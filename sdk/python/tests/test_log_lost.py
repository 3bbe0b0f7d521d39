"""A stream of decisions that was deleted, cut or made anew: an agent that knew more believes nothing that lets a call
run, until what it knew is back (protocol, section 8).
"""

from __future__ import annotations

import asyncio

import pytest
from countersign import Gate

from conftest import Bench, opened
from console import Key
from outcome import asked, decided, ended, honest, let_in, outcome
from played import ended as records_of_the_end
from played import record

SLOT = "countersign.v1.realm"


@pytest.fixture
async def own(tmp_path):
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture
async def gate(own: Bench, monkeypatch):
    monkeypatch.setattr("countersign.waiting.UNKNOWN_KEY_PATIENCE", 0.3)
    async with Gate.connect(own.enrolment()) as opened_gate:
        yield opened_gate


async def end(own: Bench, key: Key) -> None:
    await own.console.write(operators=records_of_the_end(key))


async def again(own: Bench, *, slots: int, found: bool = True) -> None:
    """The stream is deleted and made again with so many slots of the log."""
    js = own.console.js
    info = await js.stream_info("CS_DECISIONS")
    await js.delete_stream("CS_DECISIONS")
    await js.add_stream(info.config)
    if found:
        await own.console.put_log(1, slots)


@pytest.mark.parametrize("padded", [False, True])
async def test_a_stream_refilled_without_the_end_of_a_stolen_key(own: Bench, gate, caplog, padded):
    grace = await let_in(own)
    await end(own, grace)
    await honest(own, gate)
    known = len(own.console.log.messages)
    await again(own, slots=known - 1)
    if padded:
        await own.console.store(f"{SLOT}.{known}", b"junk", None)
    asking, seen = await asked(own, gate)
    denying, denied = await asked(own, gate)
    await decided(own, seen, grace)
    await decided(own, denied, own.console.human, "deny")
    # A no needs no more than the key that signed it.
    assert await ended(denying) in ("deny", "unknown_key")
    async with asyncio.timeout(20):
        while gate._looks.fault != "log_short":
            await asyncio.sleep(0.05)
    assert "log_short" in caplog.text
    assert not asking.done()
    mine, mine_seen = await asked(own, gate)
    await decided(own, mine_seen)
    await asyncio.sleep(0.5)
    assert not mine.done()
    # A console puts it back, on the next free slot.
    end_of_it = own.console.log.messages[-1]
    if padded:
        own.console.log.messages[-1:] = [b"junk", end_of_it]
    await own.console.put_log(len(own.console.log.messages))
    assert await ended(mine) == "runs"
    assert await ended(asking) == "unknown_key"
    await honest(own, gate)


async def test_an_agent_that_never_knew_of_an_end_believes_the_key_until_it_is_put_back(own: Bench):
    """What the design leaves out: nobody can know what was never read."""
    grace = await let_in(own)
    before = own.enrolment()
    await end(own, grace)
    await again(own, slots=len(own.console.log.messages) - 1)
    async with Gate.connect(before) as gate:
        assert await outcome(own, gate, grace) == "runs"
        await own.console.put_log(len(own.console.log.messages))
        assert await outcome(own, gate, grace) == "unknown_key"
        await honest(own, gate)


async def test_a_stream_made_anew_with_a_founding_of_somebodys_own(own: Bench, gate):
    thief = Key()
    kept = own.console.log.messages
    await again(own, slots=0)
    theirs = record(own.console.realm, thief, admin=True)
    first = own.console.log.entry(thief, n=1, prev=None, operators=[theirs], realm={"acceptance": True})
    await own.console.store(f"{SLOT}.1", first, None)
    asking, seen = await asked(own, gate, risk="low")
    await decided(own, seen, thief)
    mine, mine_seen = await asked(own, gate)
    await decided(own, mine_seen)
    async with asyncio.timeout(20):
        while gate._looks.fault is None:
            await asyncio.sleep(0.05)
    assert not mine.done()
    own.console.log.messages = [first, *kept]
    await own.console.put_log(2)
    assert await ended(asking) == "unknown_key"
    await honest(own, gate)


@pytest.mark.parametrize("log", [{"n": 2}, {"digest": "sha256:" + "0" * 64}, {"root": "sha256:" + "0" * 64}])
async def test_an_agent_json_whose_entry_the_bus_does_not_have(own: Bench, caplog, log):
    async with Gate.connect(own.enrolment(**log)) as gate:
        assert ("log_differs" if "digest" in log else "log_short") in caplog.text
        asking, seen = await asked(own, gate)
        await decided(own, seen)
        done, _ = await asyncio.wait({asking}, timeout=3)
        assert not done
        await gate.tighten(seen.body["request_id"], 0.1)
        assert await ended(asking) in ("expired", "unknown_key")
