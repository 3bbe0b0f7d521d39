"""Whatever goes wrong before a decision is a refusal: a JSON deny, or exit code 2 with words on standard error."""

from __future__ import annotations

import json
import resource
import signal

import pytest
from hook import refuses

BEFORE = {"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {}}
UNREADABLE = {
    "nothing": "",
    "no JSON": "call Bash",
    "a list": "[]",
    "no event": json.dumps({"tool_name": "Bash"}),
    "no tool": json.dumps(BEFORE | {"tool_name": None}),
    "no arguments": json.dumps(BEFORE | {"tool_input": None}),
    "arguments that are no object": json.dumps(BEFORE | {"tool_input": "ls"}),
    "no session": json.dumps(BEFORE | {"session_id": 7}),
    "two events": json.dumps(BEFORE) * 2,
    "the event twice": json.dumps(BEFORE)[:-1] + ', "hook_event_name": "Notification"}',
    "an argument twice": json.dumps(BEFORE).replace('"tool_input": {}', '"tool_input": {"a": 1, "a": 2}'),
    "a number without canonical form": json.dumps(BEFORE | {"tool_input": {"n": 2**70}}),
    "half a surrogate pair": json.dumps(BEFORE | {"tool_input": {"t": "\ud800"}}),
    "too large": json.dumps(BEFORE | {"tool_input": {"t": "x" * 5_000_000}}),
}


@pytest.mark.parametrize("event", UNREADABLE.values(), ids=UNREADABLE)
def test_an_event_that_cannot_be_read_runs_nothing(hook, desk, event):
    assert refuses(*hook.run(event))
    assert desk.count(hook.agent) == 0


def bus_gone(hook):
    enrolment = json.loads(hook.agent_json.read_text())
    hook.agent_json = hook.state.parent / "agent.json"
    hook.agent_json.write_text(json.dumps(enrolment | {"nats_url": "nats://127.0.0.1:1"}))
    return hook.run(hook.event(), "--timeout", "1")


def no_enrolment(hook):
    hook.agent_json = hook.state.parent / "missing.json"
    return hook.run(hook.event())


def time_out(hook):
    return hook.run(hook.event(), "--timeout", "1")


def wrong_flag(hook):
    return hook.run(hook.event(), "--no-such-flag")


def wrong_glob(hook):
    return hook.run(hook.event(), "--ask", "[a")


def no_state_folder(hook):
    hook.state.parent.joinpath("state").write_text("a file")
    return hook.run(hook.event())


def disk_full(hook):
    def no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    return hook.run(hook.event(), preexec_fn=no_room, restore_signals=False)


def standard_output_closed(hook):
    process = hook.start(hook.event(), "--timeout", "1")
    process.stdout.close()
    process.wait(30)
    words = process.stderr.read()
    return process.returncode, "", words


def terminated(hook):
    process = hook.start(hook.event())
    hook.desk.waiting(hook.agent)
    process.send_signal(signal.SIGTERM)
    return hook.ended(process)


def clock_back(hook):
    first = hook.start(hook.event())
    request = hook.desk.waiting(hook.agent)["request_id"]
    first.kill()
    hook.ended(first)
    [entry] = hook.state.rglob("pending/*.json")
    body = json.loads(entry.read_text())
    entry.write_text(json.dumps(body | {"ticks": body["ticks"] + 1000}))
    hook.desk.cli("approve", f"default/{hook.agent}/{request}")
    return hook.run(hook.event())


def already_waiting(hook):
    first = hook.start(hook.event())
    hook.desk.waiting(hook.agent)
    ended = hook.run(hook.event())
    first.kill()
    hook.ended(first)
    return ended


def console_gone(hook):
    hook.desk.console.send_signal(signal.SIGSTOP)
    try:
        return hook.run(hook.event(), "--timeout", "1")
    finally:
        hook.desk.console.send_signal(signal.SIGCONT)


FAULTS = [
    bus_gone,
    no_enrolment,
    time_out,
    wrong_flag,
    wrong_glob,
    no_state_folder,
    disk_full,
    standard_output_closed,
    terminated,
    clock_back,
    already_waiting,
    console_gone,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_runs_nothing(hook, fault):
    code, out, words = fault(hook)
    assert refuses(code, out, words), (code, out, words)
    assert "seed" not in out + words
    assert str(hook.agent_json) not in out


def test_a_killed_hook_says_nothing(hook, desk):
    process = hook.start(hook.event())
    desk.waiting(hook.agent)
    process.kill()
    code, out, _ = hook.ended(process)
    assert code < 0
    assert out == ""


def test_a_log_on_standard_error_is_not_in_the_answer(hook, desk):
    hook.env = hook.env | {"RUST_LOG": "trace"}
    process = hook.start(hook.event())
    desk.decide(hook.agent, "approve")
    assert hook.answered(process)["hookSpecificOutput"]["permissionDecision"] == "allow"
