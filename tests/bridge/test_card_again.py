"""A card is read again before its forward, and deadlines that are named later reach the desk (systems, 5.6)."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from test_bridge import stamp

ARGUMENTS = {"to": "ada@hallberg.example", "cc": None}

OTHERS = {
    "other arguments": {"content": {"tool_name": "send_mail", "arguments": {"to": "other@example.org"}}},
    "one more argument": {"content": {"tool_name": "send_mail", "arguments": {**ARGUMENTS, "bcc": "eve"}}},
    "another tool": {"content": {"tool_name": "pay", "arguments": ARGUMENTS}},
    "no tool": {"content": {"arguments": ARGUMENTS}},
    "arguments as a text": {"content": {"tool_name": "send_mail", "arguments": json.dumps(ARGUMENTS)}},
    "another call": {"tool_call_id": "another"},
    "another project": {"project_id": "p9"},
    "a result": {"type": "tool.result"},
    "another target": {"content": {"tool_name": "send_mail", "arguments": ARGUMENTS, "target_subject": "cg.v1r4.x"}},
    "one more secret": {"metadata": {"tool_args_envs": {"token": "ROOT_TOKEN"}}},
    "gone": None,
}


async def test_a_card_that_is_another_one_at_the_forward_is_not_forwarded(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    calls = {name: f"f2-{number}" for number, name in enumerate(OTHERS)}
    for call in calls.values():
        ground.card(call)
        await ground.command(call)
    for name, call in calls.items():
        shown = await desk.card(call)
        changed = OTHERS[name]
        if changed is None:
            del ground.api.cards["p1", f"card-{call}"]
        else:
            ground.card(call, **changed)
        desk.run("approve", shown["request"]["request_id"])
        line = await bridge.state(call, "not_forwarded", "forwarded")
        assert line["state"] == "not_forwarded", name
        receipt = await desk.receipt(shown["request"]["request_id"], "refused")
        assert receipt["message"] == "digest_differs", name
        assert await ground.forwarded(call) == [], name


async def test_the_same_arguments_spelt_otherwise_go_on(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("f2-same")
    await ground.command("f2-same")
    shown = await desk.card("f2-same")
    content = {"status": "running", "arguments": dict(reversed(ARGUMENTS.items())), "tool_name": "send_mail"}
    ground.card("f2-same", content=content, created_at="2026-11-27T10:00:00Z")
    desk.run("approve", shown["request"]["request_id"])
    await bridge.state("f2-same", "forwarded")
    assert len(await ground.forwarded("f2-same")) == 1


@pytest.mark.parametrize("back", [True, False])
async def test_a_card_that_cannot_be_read_again_is_tried_until_the_deadline(world, back):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    call = f"f2-away-{back}"
    ground.card(call)
    await ground.command(call)
    shown = await desk.card(call)
    named = {"waiting_tool_call_ids": [call], "resume_deadline": stamp(60 if back else 6)}
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": named})
    ground.api.cards_away = True
    try:
        desk.run("approve", shown["request"]["request_id"])
        if back:
            await bridge.state(call, "forwarding")
            await asyncio.sleep(1)
            ground.api.cards_away = False
        await bridge.state(call, "forwarded" if back else "not_forwarded")
    finally:
        ground.api.cards_away = False
    assert len(await ground.forwarded(call)) == back
    if not back:
        receipt = await desk.receipt(shown["request"]["request_id"], "refused")
        assert receipt["message"] == "api_unreachable"


def deadline(desk, request_id: str) -> datetime:
    return datetime.fromisoformat(desk.show(request_id)["deadline_at"])


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_deadline_that_is_named_later_reaches_the_card(world, restarted):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    call = f"f3-{restarted}"
    ground.card(call)
    await ground.command(call)
    request_id = (await desk.card(call))["request"]["request_id"]
    await asyncio.sleep(1)
    first = deadline(desk, request_id)
    assert first - datetime.now(UTC) > timedelta(seconds=590)
    if restarted:
        bridge.kill()
        await asyncio.sleep(3)
        bridge.start()
        await asyncio.sleep(2)
        assert deadline(desk, request_id) == first
    until = datetime.now(UTC) + timedelta(seconds=60)
    named = {"waiting_tool_call_ids": [call], "resume_deadline": until.isoformat()}
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": named})
    async with asyncio.timeout(10):
        while deadline(desk, request_id) == first:
            await asyncio.sleep(0.1)
    # Two seconds before CommonGround stops waiting.
    assert abs((until - deadline(desk, request_id)).total_seconds() - 2) < 1
    desk.run("deny", request_id, "--message", "done")
