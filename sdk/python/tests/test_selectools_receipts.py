"""What the console hears of an approved call that selectools then does not start, or starts too late."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign.adapters.selectools import SelectoolsGate
from selectools import Agent, AgentConfig, InMemoryCache, ToolPolicy

from office import ARGS, Office, Script, arrived

CALL = ("delete_invoice", dict(ARGS))


class Incoherent(Script):
    """A model that finds no call coherent."""

    def complete(self, **_):
        answer, usage = super().complete(messages=[])
        answer.content = "INCOHERENT\nThe user did not ask for it"
        return answer, usage


def run(office: Office, *, asynchronous: bool, cacheable: bool = False, **settings) -> asyncio.Future:
    """`settings` go to the agent."""

    def work() -> None:
        tool = office.tool(cacheable=cacheable)
        with SelectoolsGate.open(office.bench.enrolment(), tools=[tool], approval_timeout=20) as gate:
            policy = ToolPolicy(review=["*"])
            config = AgentConfig(tool=gate.tool_config(policy=policy), observers=[gate], **settings)
            agent = Agent(tools=[tool], provider=office.script, config=config)
            asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")

    return asyncio.ensure_future(asyncio.to_thread(work))


def stages(console, body) -> list[str]:
    reported = [json.loads(m.data) for m in console.received["receipt"] if m.subject.endswith(body["request_id"])]
    return [receipt["stage"] for receipt in reported]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_approved_call_that_selectools_finds_incoherent_is_reported(bench, console, asynchronous):
    office = Office(bench, Script([CALL]))
    before = len(console.received["request"])
    working = run(office, asynchronous=asynchronous, coherence_check=True, coherence_provider=Incoherent())
    [body] = await arrived(console, before, 1, working)
    await console.decide(body["request_id"])
    await working
    assert office.ran == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "not_started"
    assert stages(console, body) == ["received", "refused"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_an_approved_call_whose_result_was_cached_is_reported(bench, console, asynchronous):
    office = Office(bench, Script([CALL], [CALL]))
    before = len(console.received["request"])
    working = run(office, asynchronous=asynchronous, cacheable=True, cache=InMemoryCache())
    for number in (1, 2):
        bodies = await arrived(console, before, number, working)
        await console.decide(bodies[-1]["request_id"])
    await working
    assert len(office.ran) == 1
    await console.receipt(bodies[0]["request_id"], "executed")
    assert (await console.receipt(bodies[1]["request_id"], "refused"))["message"] == "not_started"
    assert [stages(console, body) for body in bodies] == [["received", "executed"], ["received", "refused"]]
