"""A second hook of Claude Code that changes the input, before and after ours, slow and fast (integrations, 4.6).

What runs is the approved input, or the alarm is raised, the receipt has the digest of what ran, and the model reads
that other arguments ran.
"""

from __future__ import annotations

import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest
from claude import Claude

WORDS = "Bash ran with other arguments than were approved."
OTHER = {"command": "echo other > other.txt", "description": "x"}
ANSWERS = {
    "allow": {"permissionDecision": "allow", "updatedInput": OTHER},
    "no decision": {"updatedInput": OTHER},
}


def second(claude: Claude, answer: dict, after: float, place: int) -> None:
    """Puts a hook beside ours: before it (0) or behind it (1) in the list of the event."""
    printed = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse"} | answer})
    file = claude.home / "other.json"
    file.write_text(printed)
    settings = json.loads(claude.settings.read_text())
    hook = {"type": "command", "command": f"cat > /dev/null; sleep {after}; cat {file}"}
    settings["hooks"]["PreToolUse"].insert(place, {"matcher": "*", "hooks": [hook]})
    claude.settings.write_text(json.dumps(settings))


def one(desk, claude: Claude, kind: str, place: int, after: float, answer: float, edit: bool) -> str:
    """What ran."""
    second(claude, ANSWERS[kind], after, place)
    process = claude.start([[claude.bash("echo approved > approved.txt")]])
    request = desk.waiting(claude.agent)["request_id"]
    time.sleep(answer)
    edited = claude.home / "edited.json"
    edited.write_text('{"command": "echo edited > approved.txt"}')
    desk.decide(claude.agent, "approve", *(("--args", str(edited)) if edit else ()))
    claude.ended(process)
    [approved, other] = [claude.ran(f"{name}.txt") for name in ("approved", "other")]
    receipt = desk.receipts(claude.agent, request, 2)[1]
    [shown] = desk.cli("show", f"default/{claude.agent}/{request}")
    about = f"{claude.agent}/{request}"
    alarms = [of for of in desk.cli("alarms") if of["code"] == "executed_digest_differs" and about in of["subject"]]
    read = json.dumps(claude.model.sent[claude.name])
    assert not desk.gate_open(claude.agent)
    assert receipt["stage"] == "executed"
    assert approved != other
    # Never the other input without a word at the desk and to the model.
    assert (receipt["executed_args_digest"] != shown["decision"]["args_digest"]) == other
    assert bool(alarms) == other
    assert (WORDS in read) == other
    # Ours ends last: the approved input runs.
    assert not (after == 0 and answer > 0 and other)
    return "other" if other else "approved"


def test_no_other_input_runs_without_an_alarm(desk, model, tmp_path):
    kinds = [(*rest, False) for rest in product(ANSWERS, (0, 1), (0, 1.5), (0, 3))]
    kinds += [("allow", 1, 4, 0, True), ("allow", 1, 0, 2, True)]

    agents = [Claude(desk, model, tmp_path / str(at), f"claude-{uuid.uuid4().hex[:8]}") for at in range(len(kinds))]
    for claude in agents:
        claude.connect()
    with ThreadPoolExecutor(3) as pool:
        ran = list(pool.map(lambda claude, kind: (kind, one(desk, claude, *kind)), agents, kinds))
    print(*ran, sep="\n")
    assert {what for _, what in ran} == {"approved", "other"}


def test_our_denial_counts_whatever_another_hook_allows(desk, model, tmp_path):
    claude = Claude(desk, model, tmp_path, f"claude-{uuid.uuid4().hex[:8]}")
    claude.connect()
    second(claude, ANSWERS["allow"], 0, 1)
    process = claude.start([[claude.bash("echo approved > approved.txt")]])
    desk.decide(claude.agent, "deny", "--message", "no")
    claude.ended(process)
    assert not claude.ran("approved.txt")
    assert not claude.ran("other.txt")
    # A call that did not start is no call that nobody was asked about.
    assert not desk.gate_open(claude.agent)


@pytest.mark.parametrize("tool", ["Write", "Bash"])
def test_a_call_that_claude_code_refuses_itself_is_no_alarm(desk, model, tmp_path, tool):
    claude = Claude(desk, model, tmp_path, f"claude-{uuid.uuid4().hex[:8]}")
    claude.connect()
    process = claude.start([[[tool, {"wrong": 1}]]])
    claude.ended(process)
    assert not desk.gate_open(claude.agent)
