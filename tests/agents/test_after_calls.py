"""What ran, as the event after a call says it: the approved arguments, others, or what nobody was asked about."""

from __future__ import annotations

import json
import uuid

import pytest
from hook import Hook

WORDS = "{} ran with other arguments than were approved."
OTHER = {"command": "echo other"}


@pytest.fixture
def of(desk, tmp_path):
    return lambda program: Hook(desk, program, tmp_path, f"{program}-{uuid.uuid4().hex[:8]}")


def alarms(hook: Hook, code: str) -> list[dict]:
    about = f"default/{hook.agent}"
    return [alarm for alarm in hook.desk.cli("alarms") if alarm["code"] == code and about in alarm["subject"]]


def claude(name: str, args: dict, **more) -> dict:
    event = {"session_id": "s", "cwd": "/w", "hook_event_name": name, "tool_name": "Bash", "tool_use_id": "u"}
    return event | {"tool_input": args} | more


def gemini(name: str, args: dict, **more) -> dict:
    event = {"session_id": "s", "cwd": "/w", "hook_event_name": name, "tool_name": "run_shell_command"}
    return event | {"tool_input": args} | more


def cursor(name: str, args: dict, **more) -> dict:
    event = {"conversation_id": "c", "hook_event_name": name, "tool_name": "Shell", "tool_use_id": "t"}
    return event | {"tool_input": args} | more


def copilot(args: dict, **more) -> dict:
    return {"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": json.dumps(args)} | more


def vscode(name: str, args: dict, **more) -> dict:
    event = {"sessionId": "s", "hook_event_name": name, "tool_name": "run_in_terminal", "tool_use_id": "u"}
    return event | {"tool_input": args} | more


def opencode(name: str, args: dict) -> dict:
    return {"event": name, "tool": "bash", "sessionID": "s", "callID": "call_1", "args": args}


RESULT = {"toolResult": {"resultType": "success", "textResultForLlm": "ok"}}
BOTH = {
    "claude-code": (claude, "PreToolUse", claude, "PostToolUse", {"tool_response": {}}),
    "codex": (claude, "PreToolUse", claude, "PostToolUse", {"tool_response": ""}),
    "gemini": (gemini, "BeforeTool", gemini, "AfterTool", {"tool_response": {"llmContent": "ok"}}),
    "cursor": (cursor, "preToolUse", cursor, "postToolUse", {"tool_output": "ok"}),
    "copilot": (copilot, None, copilot, None, RESULT),
    "vscode": (vscode, "PreToolUse", vscode, "PostToolUse", {"tool_response": "ok"}),
    "opencode": (opencode, "tool.execute.before", opencode, "tool.execute.after", {}),
}


def events(program: str, asked: dict, ran: dict) -> tuple[dict, dict]:
    before, name, after, end, more = BOTH[program]
    if name is None:
        return before(asked), after(ran, **more)
    return before(name, asked), after(end, ran, **more)


@pytest.mark.parametrize("program", BOTH)
def test_other_arguments_than_the_approved_ones_raise_the_alarm(desk, of, program):
    hook = of("copilot" if program == "vscode" else program)
    before, after = events(program, {"command": "echo approved"}, OTHER)
    process = hook.start(before, "--event", "before")
    request = desk.decide(hook.agent, "approve")
    answer = json.dumps(hook.answered(process))
    assert "echo approved" in answer
    code, out, _ = hook.run(after, "--event", "after")
    tool = {"claude-code": "Bash", "codex": "Bash", "gemini": "run_shell_command", "cursor": "Shell"}.get(
        program, "bash"
    )
    tool = "run_in_terminal" if program == "vscode" else tool
    assert code == 0
    assert WORDS.format(tool) in out
    receipts = desk.receipts(hook.agent, request, 2)
    [shown] = desk.cli("show", f"default/{hook.agent}/{request}")
    assert receipts[1]["stage"] == "executed"
    assert receipts[1]["executed_args_digest"] != shown["decision"]["args_digest"]
    assert alarms(hook, "executed_digest_differs")
    assert alarms(hook, "gate_open") == []


@pytest.mark.parametrize("program", BOTH)
def test_what_nobody_was_asked_about_raises_the_alarm(desk, of, program):
    hook = of("copilot" if program == "vscode" else program)
    _, after = events(program, OTHER, OTHER)
    assert hook.run(after, "--event", "after", "--unasked", "*")[0] == 0
    assert alarms(hook, "gate_open") == []
    code, out, _ = hook.run(after, "--event", "after")
    assert (code, json.loads(out)) == (0, {})
    assert alarms(hook, "gate_open")


@pytest.mark.parametrize(
    ("program", "event", "raised"),
    [
        ("claude-code", claude("PostToolUseFailure", OTHER, error="Exit code 2"), True),
        ("copilot", copilot(OTHER, toolResult={"resultType": "failure"}), True),
        ("copilot", copilot(OTHER, toolResult={"resultType": "denied"}), False),
        ("copilot", vscode("PostToolUse", OTHER, tool_result={"result_type": "denied"}), False),
        ("cursor", cursor("postToolUseFailure", OTHER, failure_type="error"), True),
        ("cursor", cursor("postToolUseFailure", OTHER, failure_type="permission_denied"), False),
        ("claude-code", claude("PostToolUse", {"n": 2**70}), True),
    ],
)
def test_a_failed_call_counts_and_one_that_the_program_refused_does_not(desk, of, program, event, raised):
    hook = of(program)
    hook.run(event, "--event", "after")
    assert bool(alarms(hook, "gate_open")) == raised


def test_a_denial_closes_no_approval(desk, of):
    hook = of("copilot")
    process = hook.start(copilot(OTHER))
    request = desk.decide(hook.agent, "approve")
    hook.answered(process)
    hook.run(copilot(OTHER, toolResult={"resultType": "denied"}))
    hook.run(copilot(OTHER, **RESULT))
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, request, 2)] == ["received", "executed"]


def approved(hook: Hook, event: dict) -> str:
    process = hook.start(event)
    request = hook.desk.decide(hook.agent, "approve")
    hook.answered(process)
    return request


def test_without_ids_the_digest_finds_the_approval_and_of_two_none_is_guessed(desk, of):
    hook = of("gemini")
    one = approved(hook, gemini("BeforeTool", {"command": "one"}))
    two = approved(hook, gemini("BeforeTool", {"command": "two"}))
    hook.run(gemini("AfterTool", OTHER, tool_response={}))
    assert alarms(hook, "gate_open")
    hook.run(gemini("AfterTool", {"command": "two"}, tool_response={}))
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, two, 2)] == ["received", "executed"]
    # Something ran that may have been the other: nobody says that it did not.
    hook.run({"session_id": "s", "hook_event_name": "SessionEnd"})
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, one, 1)] == ["received"]


def test_a_permission_prompt_is_not_found_by_other_arguments(desk, hook):
    process = hook.start(hook.event("PermissionRequest", tool_use_id=None))
    request = desk.decide(hook.agent, "approve")
    hook.answered(process)
    assert json.loads(hook.run(hook.event("PostToolUse", tool_input=OTHER))[1]) == {}
    assert alarms(hook, "executed_digest_differs") == []
    hook.run(hook.event("PostToolUse"))
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, request, 2)] == ["received", "executed"]
