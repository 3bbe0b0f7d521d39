"""`countersign doctor --gate`: green on a connected program, red with the reason for whatever opens it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from claude import PROGRAM, environment
from desk import BINARY
from gate import FILES, Gate


@pytest.mark.parametrize("gate", FILES, indirect=True)
def test_a_connected_program_is_green(gate):
    reported = gate.prove()
    assert reported == {
        "gate": gate.name,
        "holds": True,
        "verdict": "deny",
        "ran": False,
        "why": None,
        "fix": None,
    } | {"at": reported["at"]}
    assert gate.run("doctor", "--gate", gate.name, "--file", str(gate.file)).stdout.startswith("the gate of")


def test_a_gate_at_the_prompt_alone_is_green(desk, tmp_path):
    gate = Gate(desk, "claude-code", tmp_path / "home")
    assert gate.run("--json", "connect", "claude-code", "--mode", "prompt").returncode == 0
    assert "PreToolUse" not in gate.file.read_text()
    assert (gate.prove()["holds"], gate.prove()["verdict"]) == (True, "deny")


def hook_removed(gate):
    gate.run("disconnect", gate.name)


def missing(gate):
    gate.edit(BINARY, "/nowhere/countersign", 9)


def missing_without_on_failure(gate):
    missing(gate)
    text = json.loads(gate.file.read_text())
    del text["hooks"]["PreToolUse"][0]["hooks"][0]["onFailure"]
    gate.file.write_text(json.dumps(text))


def garbage(gate):
    gate.replace_program("#!/bin/sh\necho all is well\n")


def shell_prints(gate):
    """As a line in `.zshenv` would: Claude Code lets the call run (seen with 2.1.332)."""
    gate.edit(f'"command": "{BINARY}', f'"command": "echo hello; {BINARY}')


def crashes(gate):
    gate.replace_program("#!/bin/sh\nexit 1\n")


def milliseconds_for_seconds(gate):
    gate.edit("3660", "3660000")


def seconds_for_milliseconds(gate):
    gate.edit("3660000", "3660")


def too_short(gate):
    gate.edit("3660", "5")


def switched_off(gate):
    settings = gate.project / ".claude/settings.json"
    settings.parent.mkdir()
    settings.write_text('{"disableAllHooks": true}')


def feature_off(gate):
    gate.file.write_text("features.hooks = false\n" + gate.file.read_text())


def not_trusted(gate):
    gate.file.write_text(gate.file.read_text().split("[hooks.state")[0])


def changed_after_trust(gate):
    gate.edit("--timeout 3600", "--timeout 3600 --ask Bash")


def other_allows(gate):
    gate.replace_program('#!/bin/sh\necho \'{"hookSpecificOutput": {"permissionDecision": "allow"}}\'\n')


def other_tools_only(gate):
    gate.edit('"matcher": "*"', '"matcher": "Write"')


SHORTER = "is shorter than the answer may take"
UNIT = "a thousand times what the answer may take"
OPEN = [
    ("claude-code", hook_removed, "no hook of Claude Code runs before a call"),
    ("claude-code", missing_without_on_failure, "program is missing"),
    ("claude-code", garbage, "printed what is not JSON"),
    ("claude-code", shell_prints, "printed what is not JSON"),
    ("claude-code", too_short, "time-out of 5 s " + SHORTER),
    ("claude-code", milliseconds_for_seconds, UNIT),
    ("claude-code", switched_off, "the settings of this project turn hooks off"),
    ("claude-code", other_allows, "allows the call"),
    ("claude-code", other_tools_only, "no hook of Claude Code runs before a call"),
    ("codex", hook_removed, "no hook of Codex runs before a call"),
    ("codex", not_trusted, "Codex does not trust this hook"),
    ("codex", changed_after_trust, "Codex does not trust this hook"),
    ("codex", feature_off, "turn hooks off"),
    ("gemini", hook_removed, "no hook of Gemini CLI runs before a call"),
    ("gemini", missing, "program is missing"),
    ("gemini", garbage, "printed what is not JSON"),
    ("gemini", crashes, "exit code 1"),
    ("gemini", seconds_for_milliseconds, "time-out of 3.66 s " + SHORTER),
    ("cursor", hook_removed, "no hook of Cursor runs before a call"),
    ("copilot", garbage, "printed what is not JSON"),
    ("copilot", too_short, SHORTER),
    ("opencode", hook_removed, "no hook of OpenCode runs before a call"),
]


@pytest.mark.parametrize(
    ("gate", "change", "why"),
    OPEN,
    indirect=["gate"],
    ids=[f"{name}-{change.__name__}" for name, change, _ in OPEN],
)
def test_what_opens_a_gate_is_red_with_its_reason(gate, change, why):
    change(gate)
    reported = gate.prove()
    assert not reported["holds"]
    assert why in reported["why"]
    assert reported["fix"]


@pytest.mark.parametrize(
    ("gate", "change"),
    [("claude-code", missing), ("claude-code", crashes), ("cursor", missing), ("opencode", missing)],
    indirect=["gate"],
)
def test_a_failure_that_the_program_takes_for_a_refusal_keeps_the_gate_shut(gate, change):
    change(gate)
    reported = gate.prove()
    assert (reported["holds"], reported["verdict"], reported["ran"]) == (True, "block", False)


SERVER = Path(__file__).with_name("server.py")


def test_servers_of_an_mcp_configuration(desk, tmp_path):
    file = tmp_path / "mcp.json"
    entry = {"command": sys.executable, "args": [str(SERVER)], "env": {"SEEN": str(tmp_path / "seen")}}
    file.write_text(json.dumps({"mcpServers": {"bank": entry, "shop": entry}}))
    env = desk.env | {"COUNTERSIGN_STATE_DIR": str(tmp_path / "state"), "PATH": os.environ["PATH"]}

    def run(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run([BINARY, *words], env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60)

    def prove(*words: str) -> dict:
        done = run("--json", "doctor", "--gate", "mcp", "--file", str(file), *words)
        reported = json.loads(done.stdout)
        assert (done.returncode == 0) == reported["holds"], reported
        return reported

    assert run("connect", "mcp", "--file", str(file), "--server", "bank").returncode == 0
    reported = prove("--server", "bank")
    assert (reported["gate"], reported["holds"], reported["verdict"]) == ("mcp", True, "deny")
    assert "countersign_probe" not in (tmp_path / "seen").read_text()
    reported = prove()
    assert not reported["holds"]
    assert "shop does not go through countersign mcp-proxy" in reported["why"]
    assert "countersign connect mcp" in reported["fix"]
    assert run("doctor", "--gate", "mcp", "--file", str(file), "--server", "none").returncode == 6
    assert run("doctor", "--gate", "no-such-program").returncode == 2


def test_doctor_lists_what_is_connected(desk, tmp_path):
    gate = Gate(desk, "claude-code", tmp_path / "home")
    lines = [json.loads(line) for line in gate.run("--json", "doctor").stdout.splitlines()]
    [listed] = [line for line in lines if line["check"] == "gate"]
    assert (listed["verdict"], "claude-code holds" in listed["detail"]) == ("ok", True)


def test_the_program_itself_is_started_once_and_denied(desk, model, tmp_path):
    gate = Gate(desk, "claude-code", tmp_path / "home")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "claude").symlink_to(PROGRAM)
    gate.env |= environment(model) | {"PATH": f"{programs}:{gate.env['PATH']}"}
    reported = gate.prove("--run")
    assert (reported["holds"], reported["verdict"], reported["ran"], reported["why"]) == (True, "deny", False, None)
    assert "denied by" in model.reported("probe")
    hook_removed(gate)
    reported = gate.prove("--run")
    assert (reported["holds"], reported["verdict"], reported["ran"]) == (False, "allow", True)
