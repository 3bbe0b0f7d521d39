"""Calls with one id, and entries that ask about one call: one approval runs at most one call."""

from __future__ import annotations

import uuid

import pytest
from hook import Hook


@pytest.fixture
def opencode(desk, tmp_path):
    return Hook(desk, "opencode", tmp_path, f"opencode-{uuid.uuid4().hex[:8]}")


def call(command: str) -> dict:
    return {
        "event": "tool.execute.before",
        "tool": "bash",
        "sessionID": "s",
        "callID": "bash",
        "args": {"command": command},
    }


def cards(hook: Hook, wanted: int) -> list[dict]:
    desk = hook.desk
    look = lambda: [line for line in desk.cli("inbox", "--agent", f"default/{hook.agent}") if "request_id" in line]  # noqa: E731
    return desk._until(lambda: found if len(found := look()) == wanted else [])


@pytest.mark.parametrize("second", ["echo b", "echo a"])
def test_two_calls_of_one_id_are_two_cards(desk, opencode, second):
    processes = [opencode.start(call("echo a")), opencode.start(call(second))]
    approved, denied = (f"default/{opencode.agent}/{card['request_id']}" for card in cards(opencode, 2))
    desk.cli("approve", approved)
    desk.cli("deny", denied, "--message", "no")
    answers = [opencode.answered(process)["decision"] for process in processes]
    assert sorted(answers) == ["allow", "deny"]


def test_a_call_whose_hook_was_killed_is_asked_about_again_under_its_request(desk, opencode):
    first = opencode.start(call("echo a"))
    cards(opencode, 1)
    first.kill()
    opencode.ended(first)
    second = opencode.start(call("echo a"))
    desk.decide(opencode.agent, "approve")
    assert opencode.answered(second)["decision"] == "allow"
    assert desk.count(opencode.agent) == 1


def decision(hook: Hook, process) -> str:
    return hook.answered(process)["hookSpecificOutput"]["permissionDecision"]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_two_entries_get_one_answer_and_the_same_entry_a_card_of_its_own(desk, hook, verdict):
    message = ("--message", "no") if verdict == "deny" else ()
    processes = [hook.start(hook.event(), "--entry", entry) for entry in ("user", "project")]
    desk.decide(hook.agent, verdict, *message)
    wanted = "allow" if verdict == "approve" else "deny"
    assert [decision(hook, process) for process in processes] == [wanted, wanted]
    assert decision(hook, hook.start(hook.event(), "--entry", "local")) == wanted
    assert desk.count(hook.agent) == 1
    again = hook.start(hook.event(), "--entry", "user")
    desk.decide(hook.agent, "deny", "--message", "asked again")
    assert decision(hook, again) == "deny"
    assert desk.count(hook.agent) == 2


def test_a_second_entry_takes_over_from_one_that_was_killed(desk, hook):
    first = hook.start(hook.event(), "--entry", "user")
    desk.waiting(hook.agent)
    second = hook.start(hook.event(), "--entry", "project")
    first.kill()
    hook.ended(first)
    desk.decide(hook.agent, "approve")
    assert decision(hook, second) == "allow"
    assert desk.count(hook.agent) == 1


def test_both_entries_report_the_call(desk, hook):
    processes = [hook.start(hook.event(), "--entry", entry) for entry in ("user", "project")]
    request = desk.decide(hook.agent, "approve")
    [hook.answered(process) for process in processes]
    for entry in ("user", "project"):
        hook.run(hook.event("PostToolUse"), "--entry", entry, "--event", "after")
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, request, 2)] == ["received", "executed"]
    assert desk.gate_open(hook.agent) == []
