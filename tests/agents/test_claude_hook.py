"""`countersign hook claude-code`, event by event (integrations, section 4.2)."""

from __future__ import annotations

import json

import pytest

NOTE = 'A person changed this Bash call before it ran. It ran with {"command": "make test"}.'


def output(answer: dict) -> dict:
    return answer["hookSpecificOutput"]


@pytest.mark.parametrize(
    ("verdict", "flags", "decision", "text"),
    [
        ("approve", (), "allow", "approved by WHO"),
        ("deny", ("--message", "not today"), "deny", "Bash was not run, denied by WHO: not today"),
        ("skip", (), "deny", "Bash was not run, skipped by WHO (not a refusal)"),
        (
            "deny",
            ("--message", "stop", "--terminate"),
            "deny",
            "Bash was not run, denied by WHO, who ended the run: stop",
        ),
    ],
)
def test_a_call_that_asks_is_answered(hook, desk, verdict, flags, decision, text):
    process = hook.start(hook.event())
    request = desk.decide(hook.agent, verdict, *flags)
    answer = hook.answered(process)
    [shown] = desk.cli("show", f"default/{hook.agent}/{request}")
    text = text.replace("WHO", shown["decided_by"]["name"])
    reported = {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": text}
    if verdict == "approve":
        reported["updatedInput"] = hook.event()["tool_input"]
    ended = {"continue": False, "stopReason": text} if "--terminate" in flags else {}
    assert answer == {"hookSpecificOutput": reported} | ended


def test_the_request_says_what_the_event_says(hook, desk):
    event = hook.event(tool_name="mcp__github__create_issue", agent_id="a1", agent_type="researcher")
    process = hook.start(event)
    request = desk.waiting(hook.agent)["request_id"]
    [shown] = desk.cli("show", f"default/{hook.agent}/{request}")
    seen = shown["request"]
    assert (seen["tool"]["name"], seen["tool"]["origin"], seen["tool"]["namespace"]) == (
        "mcp__github__create_issue",
        "mcp",
        "github",
    )
    assert seen["args"] == event["tool_input"]
    assert (seen["reason"], seen["thread_id"], seen["call_id"]) == ("Deploy it", hook.session, "toolu_1")
    expected = {"cwd": "/tmp", "permission_mode": "default", "agent_id": "a1", "agent_type": "researcher"}
    assert seen["native"] == expected
    assert (seen["risk"], seen["agent"]["framework"]) == ("high", "claude-code")
    desk.decide(hook.agent, "deny", "--message", "no")
    hook.ended(process)


def test_an_edit_runs_as_edited_and_the_model_is_told(hook, desk, tmp_path):
    process = hook.start(hook.event())
    edited = tmp_path / "edited.json"
    edited.write_text('{"command": "make test"}')
    request = desk.decide(hook.agent, "approve", "--args", str(edited))
    reported = output(hook.answered(process))
    assert (reported["permissionDecision"], reported["updatedInput"]) == ("allow", {"command": "make test"})
    assert reported["additionalContext"] == NOTE
    hook.run(hook.event("PostToolUse", tool_input={"command": "make test"}, tool_response={"big": 2**70}))
    receipts = desk.receipts(hook.agent, request, 2)
    assert [receipt["stage"] for receipt in receipts] == ["received", "executed"]
    assert (
        receipts[1]["executed_args_digest"]
        == desk.cli("show", f"default/{hook.agent}/{request}")[0]["decision"]["args_digest"]
    )


def test_a_tool_that_only_reads_is_left_to_the_program(hook, desk):
    assert hook.run(hook.event(tool_name="Read"), "--event", "before")[:2] == (0, "")
    assert hook.run(hook.event(), "--ask", "Write")[:2] == (0, "")
    assert desk.count(hook.agent) == 0


def test_an_entry_takes_the_events_that_it_is_for(hook, desk):
    other = {"hook_event_name": "Notification"}
    for flags in ((), ("--event", "before")):
        code, out, words = hook.run(other, *flags)
        assert (code, out) == (2, "")
        assert words.startswith("nothing was run: ")
    for phase in ("after", "end"):
        code, out, _ = hook.run(other, "--event", phase)
        assert (code, json.loads(out)) == (0, {})
        assert hook.run(hook.event(), "--event", phase)[0] == 2
    assert desk.count(hook.agent) == 0


@pytest.mark.parametrize(("event", "stage"), [("PostToolUse", "executed"), ("PostToolUseFailure", "failed")])
def test_a_permission_prompt_and_its_receipt_found_by_what_ran(hook, desk, event, stage):
    process = hook.start(hook.event("PermissionRequest", tool_use_id=None))
    request = desk.decide(hook.agent, "approve")
    assert output(hook.answered(process)) == {
        "hookEventName": "PermissionRequest",
        "decision": {"behavior": "allow", "updatedInput": hook.event()["tool_input"]},
    }
    code, out, _ = hook.run(hook.event(event))
    assert (code, json.loads(out)) == (0, {})
    assert desk.receipts(hook.agent, request, 2)[1]["stage"] == stage


def test_a_denied_permission_prompt(hook, desk):
    process = hook.start(hook.event("PermissionRequest", tool_use_id=None))
    desk.decide(hook.agent, "deny", "--message", "no")
    decision = output(hook.answered(process))["decision"]
    assert decision["behavior"] == "deny"
    assert decision["message"].endswith(": no")


def test_what_an_approval_did_not_start_is_told_when_the_session_ends(hook, desk):
    process = hook.start(hook.event())
    request = desk.decide(hook.agent, "approve")
    hook.answered(process)
    code, out, _ = hook.run(hook.event("SessionEnd", tool_name=None, tool_input=None, reason="exit"))
    assert (code, json.loads(out)) == (0, {})
    reported = desk.receipts(hook.agent, request, 2)[1]
    assert (reported["stage"], reported["message"]) == ("refused", "not_started")


def test_a_killed_hook_is_resumed_and_its_answer_handed_out_once(hook, desk):
    first = hook.start(hook.event())
    desk.waiting(hook.agent)
    first.kill()
    assert hook.ended(first)[1] == ""
    request = desk.decide(hook.agent, "approve")
    assert output(hook.answered(hook.start(hook.event())))["permissionDecision"] == "allow"
    third = hook.start(hook.event())
    assert desk.decide(hook.agent, "deny", "--message", "asked again") != request
    assert output(hook.answered(third))["permissionDecision"] == "deny"
    assert desk.count(hook.agent) == 2


def test_defer_leaves_the_request_and_the_next_run_takes_its_answer(hook, desk):
    reported = output(hook.answered(hook.start(hook.event(), "--defer")))
    assert reported["permissionDecision"] == "defer"
    assert "one by one" in reported["permissionDecisionReason"]
    desk.decide(hook.agent, "approve")
    assert output(hook.answered(hook.start(hook.event(), "--defer")))["permissionDecision"] == "allow"
    assert desk.count(hook.agent) == 1


def test_all_hooks_of_an_agent_are_one_copy(hook, desk):
    for call in ("toolu_1", "toolu_2"):
        process = hook.start(hook.event(tool_use_id=call))
        desk.decide(hook.agent, "deny", "--message", "no")
        hook.ended(process)
    ids = set()
    for line in desk.cli("history", "--agent", f"default/{hook.agent}"):
        if "request_id" in line:
            [shown] = desk.cli("show", f"default/{hook.agent}/{line['request_id']}")
            ids.add(shown["request"]["agent"]["instance_id"])
    assert len(ids) == 1
    [agent] = [line for line in desk.cli("agents") if line["agent"] == hook.agent]
    assert agent.get("instances", []) == [] or len(agent["instances"]) <= 1
