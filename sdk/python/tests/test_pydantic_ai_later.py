"""pydantic-ai, answered after the run ended (`inline=False`, `resolve`), also by a later process."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.tools import DeferredToolRequests, ToolApproved, ToolDenied

from conftest import SOON
from killed import run_once_for_all_kills, with_pydantic_ai
from pydantic_office import Office, call


@pytest.fixture(scope="module")
async def gate(desk):
    async with desk.gate() as opened:
        yield opened


async def deferred(gate, *calls):
    office = Office(gate, *calls, output=[str, DeferredToolRequests], inline=False)
    result = await office.agent.run("pay Ada")
    assert isinstance(result.output, DeferredToolRequests)
    assert office.ran == []
    return office, result


async def test_the_run_ends_and_the_answers_go_into_the_next_one(desk, gate):
    calls = [call("pay", {"to": name, "n": "1"}, name) for name in ("ada", "bob", "cy", "dan")]
    office, result = await deferred(gate, *calls)
    messages = result.all_messages()
    resolving = asyncio.create_task(
        office.approval.resolve(result.output, thread_id="t-1", run_id="r-1", messages=messages)
    )
    ada, bob, cy, dan = await desk.cards(4, resolving)
    assert [card.request["group"]["index"] for card in (ada, bob, cy, dan)] == [0, 1, 2, 3]
    assert (ada.request["thread_id"], ada.request["run_id"], ada.request["call_id"]) == ("t-1", "r-1", "ada")
    assert (ada.request["reason"], ada.request["tool"]["description"]) == ("Ada is owed one.", "Pays somebody.")
    assert ada.request["effective"] == {"coerced": {"n": 1}}
    await desk.approve(dan, {"to": "eve", "n": 2})
    await desk.deny(cy, "not Cy")
    await desk.respond(bob, "paid by hand")
    await desk.approve(ada)
    results = await asyncio.wait_for(resolving, SOON)
    assert results.answered_by == dict.fromkeys(["ada", "bob", "cy", "dan"], "Ada")
    assert results.approvals["ada"] == ToolApproved()
    assert results.approvals["bob"] == ToolDenied("paid by hand")
    assert results.approvals["dan"] == ToolApproved(override_args={"to": "eve", "n": 2})
    after = await office.agent.run(message_history=messages, deferred_tool_results=results)
    assert after.output == "done"
    assert sorted(office.ran) == [("ada", 1), ("eve", 2)]
    read = [part.content for part in office.read if isinstance(part, ToolReturnPart)]
    assert read[:3] == ["paid ada 1", "paid by hand", "pay was not run, denied by Ada: not Cy"]
    assert read[3].endswith("\npaid eve 2")
    assert (await desk.receipt(ada, "executed"))["executed_args_digest"] == ada["args_digest"]
    await desk.receipt(dan, "executed")


async def test_a_result_runs_its_call_once(desk, gate):
    office, result = await deferred(gate)
    resolving = asyncio.create_task(office.approval.resolve(result.output, thread_id="t-2"))
    await desk.approve(await desk.card(resolving))
    results = await asyncio.wait_for(resolving, SOON)
    messages = result.all_messages()
    await office.agent.run(message_history=messages, deferred_tool_results=results)
    again = await office.agent.run(message_history=messages, deferred_tool_results=results)
    assert isinstance(again.output, DeferredToolRequests)
    assert office.ran == [("ada", 1)]


async def test_killed_while_the_card_waits_a_later_process_takes_the_answer_and_runs_it_once(desk, tmp_path):
    card = await run_once_for_all_kills(desk, tmp_path, with_pydantic_ai)
    assert card.request["tool"]["args_schema"]["properties"]["n"]["type"] == "integer"
