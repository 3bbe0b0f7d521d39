"""What goes wrong outside of an adapter: the call does not run, and the model reads why (integrations, section 1)."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys

import pytest
from countersign import Gate

import test_langgraph
from conftest import SOON, Bench, opened
from pydantic_office import Office


async def pydantic_ai(gate: Gate, timeout: float) -> tuple[list, str]:
    """One call of `pay` in a run: what ran, and what the model read."""
    office = Office(gate, timeout=timeout)
    await office.agent.run("pay Ada")
    return office.ran, office.read[0].model_response_str()


async def langgraph(gate: Gate, timeout: float) -> tuple[list, str]:
    office = test_langgraph.gated(gate, timeout=timeout)
    [reported] = await office.run()
    return office.ran, str(reported.content)


ADAPTERS = [pydantic_ai, langgraph]
adapters = pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.__name__)


async def asked(console, before: int) -> str:
    message = await console.until("request", lambda m: m in console.received["request"][before:])
    return message.subject.rpartition(".")[2]


@adapters
async def test_a_console_that_is_gone_lets_the_call_expire(gate, adapter):
    ran, read = await asyncio.wait_for(adapter(gate, 0.3), SOON)
    assert (ran, read) == ([], "pay was not run, expired: nobody answered in time")


@adapters
async def test_an_unknown_verdict_does_not_run(gate, console, adapter):
    before = len(console.received["request"])
    run = asyncio.create_task(adapter(gate, 20))
    await console.decide(await asked(console, before), "nod")
    assert await asyncio.wait_for(run, SOON) == ([], "pay was not run, not allowed (nod)")


@adapters
async def test_a_text_beside_a_yes_is_named_as_not_handed_on(gate, console, adapter):
    before = len(console.received["request"])
    run = asyncio.create_task(adapter(gate, 20))
    request_id = await asked(console, before)
    await console.decide(request_id, message="only this once")
    assert len((await asyncio.wait_for(run, SOON))[0]) == 1
    assert (await console.receipt(request_id, "received"))["degraded"] == ["message"]


@adapters
async def test_a_forged_decision_does_not_run(gate, console, adapter):
    before = len(console.received["request"])
    run = asyncio.create_task(adapter(gate, 20))
    seen = await console.request(await asked(console, before))
    _, headers = console.signed(seen.decision_subject, console.decision(seen, "deny"))
    await console.store(seen.decision_subject, json.dumps(console.decision(seen)).encode(), headers)
    ran, read = await asyncio.wait_for(run, SOON)
    assert ran == []
    assert read.startswith("pay was not run: could not get approval (bad_signature)")


@adapters
async def test_other_arguments_than_were_asked_do_not_run(gate, console, adapter):
    before = len(console.received["request"])
    run = asyncio.create_task(adapter(gate, 20))
    digest = "sha256:" + "0" * 64
    await console.decide(await asked(console, before), "approve", args_digest=digest)
    ran, read = await asyncio.wait_for(run, SOON)
    assert ran == []
    assert read.startswith("pay was not run: could not get approval (")


@pytest.mark.parametrize("when", ["before the call", "while it waits"])
@adapters
async def test_a_bus_that_is_gone_runs_nothing(tmp_path, adapter, when):
    bench = await opened(Bench(tmp_path))
    try:
        async with Gate.connect(bench.enrolment()) as gate:
            if when == "before the call":
                bench.server.stop()
            run = asyncio.create_task(adapter(gate, 1.0))
            if when == "while it waits":
                await asked(bench.console, 0)
                bench.server.stop()
            ran, read = await asyncio.wait_for(run, SOON)
            assert ran == []
            assert read.startswith("pay was not run")
            assert bench.enrolment().nkey_seed not in read
    finally:
        await bench.console.nc.close()
        bench.server.stop()


@adapters
async def test_a_closed_gate_runs_nothing(bench, adapter):
    async with Gate.connect(bench.enrolment()) as gate:
        pass
    ran, read = await asyncio.wait_for(adapter(gate, 1.0), SOON)
    assert ran == []
    assert read.startswith("pay was not run: could not get approval (gate_closed)")


@pytest.mark.parametrize(("module", "framework"), [("pydantic_ai", "pydantic_ai"), ("langgraph", "langchain")])
def test_a_missing_framework_is_named(monkeypatch, module, framework):
    extra = module.replace("_", "-")
    for name in [name for name in sys.modules if name == framework or name.startswith(framework + ".")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"countersign.adapters.{module}", raising=False)
    with pytest.raises(ImportError, match=rf"countersign-sdk\[{extra}\]"):
        importlib.import_module(f"countersign.adapters.{module}")
