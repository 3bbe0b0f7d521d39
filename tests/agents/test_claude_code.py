"""Claude Code itself in front of a server that plays its model: what a person decides is what runs (section 4.2).

The programs run side by side: each waits for its answer, so they cost little more than one.
"""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from claude import Claude

SIDE_BY_SIDE = 4


def approve(desk, claude):
    process = claude.start([[claude.bash("touch made")]])
    request = desk.decide(claude.agent, "approve")
    assert claude.ended(process)["result"] == "done"
    assert claude.ran()
    reported = desk.receipts(claude.agent, request, 2)
    assert [receipt["stage"] for receipt in reported] == ["received", "executed"]
    [shown] = desk.cli("show", f"default/{claude.agent}/{request}")
    assert reported[1]["executed_args_digest"] == shown["request"]["args_digest"]
    seen = shown["request"]
    assert seen["native"]["cwd"] == str(claude.project)
    [said] = seen["history"]
    assert (said["role"], said["content"][:5]) == ("user", "RUN {")
    assert not desk.gate_open(claude.agent)


def deny(desk, claude):
    process = claude.start([[claude.bash("touch made")]])
    desk.decide(claude.agent, "deny", "--message", "not on a Friday")
    ended = claude.ended(process)
    assert not claude.ran()
    assert "Bash was not run, denied by" in claude.reported()
    assert "not on a Friday" in claude.reported()
    assert len(ended["permission_denials"]) == 1


def terminate(desk, claude):
    turns = [[claude.bash("touch made")], [claude.bash("touch more")]]
    process = claude.start(turns)
    desk.decide(claude.agent, "deny", "--message", "stop", "--terminate")
    claude.ended(process)
    assert not claude.ran()
    assert not claude.ran("more")
    assert desk.count(claude.agent) == 1


def edit(desk, claude):
    process = claude.start([[claude.bash("touch made")]])
    edited = claude.home / "edited.json"
    edited.write_text('{"command": "echo as edited > made"}')
    request = desk.decide(claude.agent, "approve", "--args", str(edited))
    claude.ended(process)
    assert (claude.project / "made").read_text() == "as edited\n"
    assert "A person changed this Bash call before it ran." in json.dumps(claude.model.sent[claude.name])
    [shown] = desk.cli("show", f"default/{claude.agent}/{request}")
    reported = desk.receipts(claude.agent, request, 2)
    assert reported[1]["executed_args_digest"] == shown["decision"]["args_digest"]


def failing(desk, claude):
    process = claude.start([[claude.bash("exit 3")]])
    request = desk.decide(claude.agent, "approve")
    claude.ended(process)
    assert desk.receipts(claude.agent, request, 2)[1]["stage"] == "failed"


def own_deny_rule(desk, claude):
    """An approval does not pass Claude Code's own rules, and the card says that nothing started."""
    settings = json.loads(claude.settings.read_text())
    settings["permissions"] = {"deny": ["Bash(touch *)"]}
    claude.settings.write_text(json.dumps(settings))
    process = claude.start([[claude.bash("touch made")]])
    request = desk.decide(claude.agent, "approve")
    claude.ended(process)
    assert not claude.ran()
    reported = desk.receipts(claude.agent, request, 2)[1]
    assert (reported["stage"], reported["message"]) == ("refused", "not_started")


def two_calls_of_one_turn(desk, claude):
    process = claude.start(
        [[claude.bash("touch one"), ["Write", {"file_path": f"{claude.project}/two", "content": "2"}]]]
    )
    desk.decide(claude.agent, "approve")
    desk.decide(claude.agent, "approve")
    claude.ended(process)
    assert claude.ran("one")
    assert claude.ran("two")


def defer_and_resume(desk, claude):
    ended = claude.ended(claude.start([[claude.bash("touch made")]]))
    assert ended["stop_reason"] == "tool_deferred"
    desk.decide(claude.agent, "approve")
    claude.ended(claude.start([], "--resume", ended["session_id"]))
    assert claude.ran()
    assert desk.count(claude.agent) == 1
    assert not desk.gate_open(claude.agent)


def prompt_mode(desk, claude):
    """Only what Claude Code would have asked: its receipt is found by what ran."""
    process = claude.start([[["Read", {"file_path": "/etc/hostname"}], claude.bash("touch made")]], allowed="Read")
    request = desk.decide(claude.agent, "approve")
    claude.ended(process)
    assert claude.ran()
    assert desk.receipts(claude.agent, request, 2)[1]["stage"] == "executed"
    assert desk.count(claude.agent) == 1
    assert not desk.gate_open(claude.agent)


CASES = [
    (approve, ()),
    (deny, ()),
    (terminate, ()),
    (edit, ()),
    (failing, ()),
    (own_deny_rule, ()),
    (two_calls_of_one_turn, ()),
    (defer_and_resume, ("--defer",)),
    (prompt_mode, ("--mode", "prompt")),
]


@pytest.fixture(scope="module")
def outcomes(desk, model, tmp_path_factory):
    """Every case at once, a few programs at a time."""

    def play(at: int):
        case, words = CASES[at]
        claude = Claude(desk, model, tmp_path_factory.mktemp(case.__name__), f"claude-code-{at}")
        claude.connect(*words)
        case(desk, claude)

    for at in range(len(CASES)):
        desk.enroll(f"claude-code-{at}")
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        return [pool.submit(play, at) for at in range(len(CASES))]


@pytest.mark.parametrize("at", range(len(CASES)), ids=[case.__name__ for case, _ in CASES])
def test_what_a_person_decides_is_what_claude_code_does(outcomes, at):
    outcomes[at].result()
