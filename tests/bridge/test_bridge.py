"""Rows U1 to U12 of the bridge to CommonGround, with its real process, a real console and two real buses."""

from __future__ import annotations

import asyncio
import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest


def stamp(seconds: float) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


async def test_u1_the_card_has_the_call_as_it_is(world):
    ground, desk = world.ground, world.desk
    metadata = {
        "agent_turn_id": "t1",
        "tool_call_id": "u1",
        "step_id": "s1",
        "tool_args_defaults_applied": ["format", "cc"],
        "tool_args_fixed_applied": ["from"],
        "tool_args_envs": {"api_key": "MAIL_KEY"},
    }
    args = {"to": "ada@hallberg.example", "cc": None, "format": "text", "from": "desk@hallberg.example"}
    ground.card("u1", metadata=metadata, content={"tool_name": "send_mail", "arguments": args})
    await ground.command("u1", traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01", Recursion_Depth="2")
    shown = await desk.card("u1")
    request = shown["request"]
    assert request["request_id"].startswith("cg-")
    assert len(request["request_id"]) == 35
    assert request["args"] == args
    assert request["tool"]["name"] == "send_mail"
    assert request["tool"]["namespace"] == "p1"
    assert request["agent"]["type"] == "agent-7"
    assert (request["run_id"], request["thread_id"]) == ("t1", "ch1")
    assert set(request["allowed_verdicts"]) == {"approve", "deny", "skip", "terminate"}
    assert request["effective"] == {
        "fixed": {"from": "desk@hallberg.example"},
        "defaults": {"format": "text"},
        "injected_names": ["api_key"],
    }
    known = request["metadata"]["commonground"]
    assert known["trace_id"] == "a" * 32
    assert known["recursion_depth"] == 2
    assert request["native"]["subject"].endswith(".cmd.tool.approval.send_mail")
    assert request["native"]["card"]["author_id"] == "agent-7"
    desk.run("deny", request["request_id"], "--message", "done")


async def test_u2_nothing_waits_unacknowledged_for_a_person(world):
    ground, desk = world.ground, world.desk
    ground.card("u2")
    await ground.command("u2")
    shown = await desk.card("u2")
    await asyncio.sleep(3.2)
    about = await ground.js.consumer_info("cg_cmd_v1r4", "countersign_desk_cmd_v1r4")
    assert about.num_ack_pending == 0
    same = [line for line in desk.lines("inbox") if line["request_id"] == shown["request"]["request_id"]]
    assert len(same) == 1
    desk.run("deny", shown["request"]["request_id"], "--message", "done")


@pytest.mark.parametrize("held", ["waiting_for_card", "asked", "forwarding", "forwarded"])
async def test_u3_a_kill_at_any_step_loses_nothing_and_forwards_once(world, held):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    call = f"u3-{held}"
    ground.card(call)
    bridge.stop()
    if held in ("waiting_for_card", "asked"):
        ground.api.away = held == "waiting_for_card"
        bridge.start(hold_at=held)
        await ground.command(call)
    else:
        bridge.start()
        await ground.command(call)
        shown = await desk.card(call)
        bridge.kill()
        bridge.start(hold_at=held)
        desk.run("approve", shown["request"]["request_id"])
    await bridge.state(call, held)
    bridge.kill()
    ground.api.away = False
    bridge.start()
    if held in ("waiting_for_card", "asked"):
        shown = await desk.card(call)
        desk.run("approve", shown["request"]["request_id"])
    for _ in range(2):
        await ground.command(call)
    await bridge.state(call, "forwarded")
    assert len(await ground.forwarded(call)) == 1
    asked = [line for line in desk.lines("history") if line.get("request_id") == shown["request"]["request_id"]]
    assert len(asked) == 1
    receipt = await desk.receipt(shown["request"]["request_id"], "executed")
    assert receipt["degraded"] == ["forwarded"]


CARDS = {
    "card_not_found": None,
    "card_malformed": {"content": {"tool_name": "send_mail", "arguments": "to: ada"}},
    "card_wrong_type": {"type": "tool.result"},
    "card_other_project": {"project_id": "p9"},
    "card_other_call": {"tool_call_id": "another"},
    "card_other_tool": {"content": {"tool_name": "pay", "arguments": {}}},
    "card_other_target": {
        "content": {"tool_name": "send_mail", "arguments": {}, "target_subject": "cg.v1r4.p1.ch1.cmd.tool.mail.send"}
    },
}


async def test_u4_a_card_that_does_not_check_out_can_only_be_denied(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    for code, changed in CARDS.items():
        if changed is not None:
            ground.card(f"u4-{code}", **changed)
        await ground.command(f"u4-{code}")
    for code in CARDS:
        shown = await desk.card(f"u4-{code}")
        request = shown["request"]
        assert request["title"] == f"Unverifiable: {code}"
        assert request["metadata"]["commonground"]["unverifiable"] == code
        assert (request["args"], request["risk"], request["allowed_verdicts"]) == (None, "critical", ["deny"])
        desk.run("approve", request["request_id"], code=6)
        assert (await bridge.state(f"u4-{code}", "unverifiable"))["state"] == "unverifiable"
        desk.run("deny", request["request_id"], "--message", "done")


def payload(**changed) -> dict:
    whole = {"tool_call_card_id": "card-x", "tool_name": "send_mail", "after_execution": "suspend", **changed}
    return {key: value for key, value in whole.items() if value is not ...}


REFUSED = [
    ("payload_not_json", {"payload": b"to: ada"}),
    ("payload_control_field", {"payload": payload(trace_id="x", args={})}),
    ("payload_extra_key", {"payload": payload(args={})}),
    ("payload_missing_key", {"payload": payload(tool_name=...)}),
    ("payload_missing_key", {"payload": payload(tool_name=" ")}),
    ("payload_wrong_type", {"payload": payload(tool_name=7)}),
    ("bad_after_execution", {"payload": payload(after_execution="resume")}),
    ("missing_header", {"Agent_Id": None}),
    ("header_mismatch", {"Project_Id": "p9"}),
    ("header_mismatch", {"Channel_Id": "ch9"}),
    ("bad_turn_epoch", {"Turn_Epoch": "-1"}),
    ("bad_recursion_depth", {"Recursion_Depth": "two"}),
    ("recursion_depth_exceeded", {"Recursion_Depth": "20"}),
    ("bad_traceparent", {"traceparent": "00-" + "0" * 32 + "-" + "b" * 16 + "-01"}),
    ("unknown_tool", {"gate": "pay"}),
    ("tool_mismatch", {"payload": payload(tool_name="pay")}),
]


def codes_of(tree: object) -> list[str]:
    """The codes of the errors of a trace's spans, in alphabetical order."""
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else []
    own = [tree["error"]["code"]] if isinstance(tree, dict) and isinstance(tree.get("error"), dict) else []
    return sorted([*own, *(code for part in parts for code in codes_of(part))])


async def test_u5_a_bad_command_is_refused_and_nobody_is_asked(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    for number, (_, how) in enumerate(REFUSED):
        await ground.command(f"u5-{number}", Turn_Id="t5", **how)
    await ground.command("u5-nameless", Turn_Id="t5", Tool_Call_Id=None)
    unreported = {"missing_header", "header_mismatch"}
    for number, (reason, _) in enumerate(REFUSED):
        line = await bridge.state(f"u5-{number}", "rejected")
        assert line["reason"] == reason
    async with asyncio.timeout(15):
        while any(line["report"] is None for line in bridge.list() if line["state"] == "rejected"):
            await asyncio.sleep(0.1)
    jobs = {job["headers"]["CG-Tool-Call-Id"]: job for job in ground.jobs}
    for number, (reason, _) in enumerate(REFUSED):
        job = jobs.get(f"u5-{number}")
        assert (job is None) == (reason in unreported), reason
        if job is not None:
            assert (job["status"], job["error"]["code"]) == ("failed", "bad_request")
            assert job["error"]["detail"]["reason"] == reason
            assert (job["tool_call_metadata"], job["after_execution"]) == ({}, "suspend")
            assert set(job["payload"]) <= {"tool_call_card_id", "tool_name", "after_execution"}
            assert job["function_name"]
    assert not [line for line in desk.lines("inbox") if line["agent"] == "p1"]
    # The trace of a turn whose commands name none; the bad trace context of one of them counts for nothing.
    trace = hashlib.sha256(b"commonground\np1\nt5").hexdigest()[:32]
    wanted = sorted([*(reason for reason, _ in REFUSED), "missing_header"])
    async with asyncio.timeout(15):
        while codes_of(json.loads(desk.run("trace", trace, "--json"))) != wanted:
            await asyncio.sleep(0.2)


async def test_u6_an_approved_command_goes_on_byte_for_byte(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("u6")
    data = b'{ "tool_call_card_id":"card-u6", "tool_name":"send_mail",  "after_execution":"terminate"}'
    await ground.command("u6", payload=data, traceparent="00-" + "c" * 32 + "-" + "d" * 16 + "-00", tracestate="a=1")
    shown = await desk.card("u6")
    desk.run("approve", shown["request"]["request_id"])
    line = await bridge.state("u6", "forwarded")
    (message,) = await ground.forwarded("u6")
    assert message.seq == line["forwarded_seq"]
    assert message.data == data
    headers = message.headers
    assert headers["CG-Agent-Id"] == "agent-7"
    assert headers["tracestate"] == "a=1"
    assert headers["CS-Decision-Id"]
    version, trace, span, flags = headers["traceparent"].split("-")
    assert (version, trace, flags) == ("00", "c" * 32, "00")
    assert span != "d" * 16
    assert headers["Nats-Msg-Id"] == f"countersign-{shown['request']['request_id']}"
    receipt = await desk.receipt(shown["request"]["request_id"], "executed")
    assert receipt["executed_args_digest"] == shown["args_digest"]


async def test_u7_nothing_goes_on_that_was_answered_or_that_cannot_be_looked_up(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("u7")
    await ground.command("u7")
    shown = await desk.card("u7")
    ground.api.answered.add("u7")
    desk.run("approve", shown["request"]["request_id"])
    await bridge.state("u7", "answered")
    receipt = await desk.receipt(shown["request"]["request_id"], "refused")
    assert receipt["message"] == "already_answered"
    ground.card("u7b")
    await ground.command("u7b")
    shown = await desk.card("u7b")
    suspended = {"waiting_tool_call_ids": ["u7b"], "resume_deadline": stamp(6)}
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": suspended})
    ground.api.away = True
    try:
        desk.run("approve", shown["request"]["request_id"])
        await bridge.state("u7b", "not_forwarded")
    finally:
        ground.api.away = False
    receipt = await desk.receipt(shown["request"]["request_id"], "refused")
    assert receipt["message"] == "api_unreachable"
    assert await ground.forwarded("u7") + await ground.forwarded("u7b") == []


async def test_u8_a_state_event_shortens_the_deadline_and_nothing_else_does(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("u8")
    await ground.command("u8")
    shown = await desk.card("u8")
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": {}})
    other = {"waiting_tool_call_ids": ["another"], "resume_deadline": stamp(4)}
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": other})
    until = stamp(5)
    named = {"waiting_tool_call_ids": ["u8"], "resume_deadline": until}
    await ground.event("state", {"agent_turn_id": "t1", "status": "suspended", "metadata": named})
    line = await bridge.state("u8", "expired")
    assert line["resume_deadline"][:19] == until[:19]
    async with asyncio.timeout(10):
        while not [job for job in ground.jobs if job["headers"]["CG-Tool-Call-Id"] == "u8"]:
            await asyncio.sleep(0.1)
    (job,) = [job for job in ground.jobs if job["headers"]["CG-Tool-Call-Id"] == "u8"]
    assert (job["status"], job["error"]["code"]) == ("timeout", "tool_timeout")
    assert shown["state"] == "pending"


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (["deny", "--message", "not today"], "failed", "auth_failed"),
        (["deny", "--message", "not today", "--terminate"], "failed", "auth_failed"),
        (["skip"], "canceled", "skipped"),
    ],
)
async def test_u9_an_answer_that_is_no_approval_is_reported(world, words, status, code):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    call = "u9-" + "-".join(words[:1] + words[3:])
    card = ground.card(call)
    await ground.command(call)
    shown = await desk.card(call)
    desk.run(words[0], shown["request"]["request_id"], *words[1:])
    await bridge.state(call, "reported")
    (job,) = [job for job in ground.jobs if job["headers"]["CG-Tool-Call-Id"] == call]
    assert (job["status"], job["error"]["code"]) == (status, code)
    assert job["tool_call_metadata"] == ground.api.cards["p1", card]["metadata"]
    assert job["function_name"] == "send_mail"
    if words[0] == "deny":
        assert job["error"]["message"] == "Denied by Ana: not today"
        assert job["error"]["detail"]["operator"] == "Ana"
        assert ("__cg_control" in job["result"]) == ("--terminate" in words)


async def test_u10_an_answer_that_came_first_is_not_reported_again(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("u10")
    await ground.command("u10")
    shown = await desk.card("u10")
    ground.answers = [
        {"status": "failed", "code": "busy", "message": "", "retry": True},
        {"status": "already_answered"},
    ]
    desk.run("skip", shown["request"]["request_id"])
    line = await bridge.state("u10", "answered")
    assert line["report"] == "already answered"
    assert len([job for job in ground.jobs if job["headers"]["CG-Tool-Call-Id"] == "u10"]) == 2


async def test_u11_the_turn_its_step_and_the_call_are_one_tree(world):
    ground, desk, bridge = world.ground, world.desk, world.bridge
    ground.card("u11")
    trace = "00-" + "e" * 32 + "-" + "1" * 16 + "-01"
    step = {"agent_turn_id": "t11", "step_id": "s11", "phase": "started", "new_card_ids": []}
    await ground.event("step", step, traceparent=trace)
    await ground.event("state", {"agent_turn_id": "t11", "status": "running"}, traceparent=trace)
    await ground.command("u11", Turn_Id="t11", Step_Id="s11", traceparent=trace)
    shown = await desk.card("u11")
    desk.run("approve", shown["request"]["request_id"])
    await bridge.state("u11", "forwarded")
    result = {
        "card_id": "r11",
        "project_id": "p1",
        "type": "tool.result",
        "tool_call_id": "u11",
        "content": {"status": "success", "after_execution": "suspend", "result": {"sent": 1}, "error": None},
    }
    ground.api.cards["p1", "r11"] = result
    await ground.event("step", {**step, "phase": "completed", "new_card_ids": ["r11"]}, traceparent=trace)
    await ground.event("task", {"agent_turn_id": "t11", "status": "success"}, traceparent=trace)
    await ground.event("inbox_progress", {"x": 1})
    await ground.js.publish("cg.v1r4.p1.ch1.evt.agent.agent-7.step", b"no JSON")

    async with asyncio.timeout(10):
        while True:
            tree = json.loads(desk.run("trace", "e" * 32, "--json"))
            flat = json.dumps(tree)
            if '"turn of agent-7"' in flat and flat.count('"status": "ok"') >= 3:
                break
            await asyncio.sleep(0.2)


async def test_u11_a_trace_that_the_turn_has_is_that_of_its_calls_and_events(world):
    ground, desk = world.ground, world.desk
    for number, (of_event, of_command) in enumerate([("c" * 32, None), (None, "d" * 32)]):
        call, turn = f"u11-{number}", f"t11-{number}"
        ground.card(call)
        step = {"agent_turn_id": turn, "step_id": f"s11-{number}", "phase": "started", "new_card_ids": []}
        context = {True: {"traceparent": f"00-{of_event or of_command}-{'1' * 16}-01"}, False: {}}
        if of_event:
            await ground.event("step", step, **context[True])
            async with asyncio.timeout(10):
                while of_event not in desk.run("trace", of_event, "--json", code=None):
                    await asyncio.sleep(0.1)
        await ground.command(call, Turn_Id=turn, Step_Id=f"s11-{number}", **context[of_command is not None])
        shown = await desk.card(call)
        assert shown["request"]["traceparent"].split("-")[1] == (of_event or of_command)
        if of_command:
            await ground.event("step", step)
            async with asyncio.timeout(10):
                while '"turn of agent-7"' not in desk.run("trace", of_command, "--json"):
                    await asyncio.sleep(0.1)


async def test_u12_a_tool_is_registered_behind_its_gate(world):
    desk, bridge, ground = world.desk, world.bridge, world.ground
    tool = world.folder / "tool.yaml"
    base = {
        "tool_name": "send_mail",
        "target_subject": "cg.v1r4.{project_id}.{channel_id}.cmd.tool.mail.send",
        "after_execution": "suspend",
        "parameters": {"type": "object", "properties": {"to": {"type": "array", "items": {"type": "string"}}}},
        "options": {"suspend_timeout_seconds": 30, "args": {"defaults": {"format": "text"}}, "envs": {"key": "KEY"}},
    }
    words = ["bridge", "commonground", "register", str(tool), "--config", str(bridge.file), "--project", "p1"]
    tool.write_text(json.dumps(base))
    printed = desk.run(*words, "--suspend-timeout", "900", "--push")
    assert "cg.v1r4.{project_id}.{channel_id}.cmd.tool.approval.send_mail" in printed
    assert "suspend_timeout_seconds: 900" in printed
    assert "format: text" in printed
    assert b"approval.send_mail" in ground.api.tools[-1]
    bad = [
        {"tool_name": "fork_join"},
        {"target_subject": "cg.v1r4.{project_id}.{channel_id}.cmd.sys.mail.send"},
        {"target_subject": "cg.v1r4.{project_id}.{channel_id}.cmd.tool.approval.send_mail"},
        {"target_subject": "cg.v1r4.{project_id}.{channel_id}.cmd.tool.mail.other"},
        {"after_execution": "resume"},
        {"parameters": {"type": "object", "properties": {"to": {"type": "array"}}}},
        {"parameters": ["to"]},
        {"options": {"envs": {"key": 7}}},
    ]
    for changed in bad:
        tool.write_text(json.dumps({**base, **changed}))
        desk.run(*words, code=6)
    tool.write_text(json.dumps({**base, "tool_name": "pay"}))
    desk.run(*words, code=3)
