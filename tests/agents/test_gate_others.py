"""What stands beside our hook: other hooks, a second entry, another version (integrations, section 4.6)."""

from __future__ import annotations

import json
import subprocess

import pytest
from gate import FILES

REWRITES = {"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": "rtk git status"}}}


def beside(gate, hook: dict, matcher: str = "Bash") -> None:
    """Another hook of the user, before ours."""
    settings = json.loads(gate.file.read_text())
    settings["hooks"]["PreToolUse"].insert(0, {"matcher": matcher, "hooks": [hook]})
    gate.file.write_text(json.dumps(settings))


@pytest.mark.parametrize("gate", ["claude-code"], indirect=True)
def test_another_hook_that_sets_an_input_is_named(gate):
    script = gate.home / "rtk.sh"
    script.write_text(f"grep -q '\"git status\"' && echo '{json.dumps(REWRITES)}'\nexit 0\n")
    beside(gate, {"type": "command", "command": f"sh {script}"})
    reported = gate.prove()
    assert (reported["holds"], reported["verdict"], reported["ran"]) == (False, "deny", False)
    assert f"sh {script}" in reported["why"]
    assert str(gate.file) in reported["fix"]
    assert str(script) in gate.said
    assert gate.said.index("which will act") < gate.said.index(str(script))
    assert "sets the input of calls" in gate.run("connect", "claude-code").stderr


@pytest.mark.parametrize("gate", ["claude-code"], indirect=True)
def test_other_hooks_run_only_where_they_may(gate):
    assert gate.prove("--no-others")["holds"], "there are none"
    ran = gate.home / "ran.txt"
    beside(gate, {"type": "command", "command": f"touch {ran}"})
    reported = gate.prove("--no-others")
    assert (reported["holds"], reported["why"]) == (False, "other hooks were not tried")
    gate.run("connect", "claude-code", "--no-others")
    lines = [json.loads(line) for line in gate.run("--json", "doctor").stdout.splitlines()]
    [listed] = [line for line in lines if line["check"] == "gate"]
    assert listed["verdict"] == "warning"
    assert not ran.exists()
    assert gate.desk.gate_open(gate.name) == [], "nothing was found open"
    assert gate.prove()["holds"]
    assert ran.exists()


@pytest.mark.parametrize("gate", ["claude-code"], indirect=True)
@pytest.mark.parametrize(("kind", "holds"), [("http", False), ("mcp_tool", False), ("prompt", True)])
def test_hooks_that_cannot_be_tried_are_named(gate, kind, holds):
    beside(gate, {"type": kind, "url": "http://127.0.0.1:9/", "server": "x", "tool": "y", "prompt": "ok?"})
    reported = gate.prove()
    assert reported["holds"] == holds
    assert "cannot be tried" in reported["why"]
    assert kind in reported["why"]


@pytest.mark.parametrize("gate", ["opencode"], indirect=True)
def test_another_plugin_of_opencode_is_named(gate):
    other = gate.file.with_name("other.js")
    other.write_text("export const Other = async () => ({})\n")
    reported = gate.prove()
    assert not reported["holds"]
    assert str(other) in reported["why"]


@pytest.mark.parametrize("gate", FILES, indirect=True)
def test_two_entries_of_ours(gate):
    text = gate.file.read_text()
    second = gate.project / FILES[gate.name]
    if gate.name == "opencode":
        second = gate.project / ".opencode/plugin/countersign.js"
    if gate.name == "copilot":
        second = gate.project / ".github/hooks/countersign.json"
    second.parent.mkdir(parents=True)
    # As `connect` refuses to write it where calls have no certain ids.
    second.write_text(text.replace("--entry user", "--entry project").replace('"user"', '"project"'))
    if gate.name == "codex":
        gate.file.write_text("bypass_hook_trust = true\n" + text)
    reported = gate.prove()
    certain = gate.name in ("claude-code", "codex")
    assert reported["holds"] == certain, reported
    assert certain or "is asked about twice" in reported["why"]
    second.write_text(second.read_text().replace("--timeout 3600", "--timeout 60").replace('"3600"', '"60"'))
    reported = gate.prove()
    assert not reported["holds"]
    assert "Countersign is connected in" in reported["why"]


@pytest.mark.parametrize("gate", ["claude-code"], indirect=True)
def test_two_scopes_of_claude_code_are_one_card_and_one_answer(gate):
    gate.run("connect", "claude-code", "--scope", "project")
    assert gate.prove()["holds"]
    files = [gate.file, gate.project / ".claude/settings.json"]
    settings = [json.loads(file.read_text()) for file in files]
    commands = [of["hooks"]["PreToolUse"][0]["hooks"][0]["command"] for of in settings]
    event = {"session_id": str(gate.home), "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/tmp"}
    event |= {"tool_input": {"command": "make"}, "tool_use_id": "toolu_1", "transcript_path": ""}
    before = gate.desk.count("claude-code")
    running = [
        subprocess.Popen(
            ["/bin/sh", "-c", command], env=gate.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    for process in running:
        process.stdin.write(json.dumps(event))
        process.stdin.close()
        process.stdin = None
    gate.desk.decide("claude-code", "approve")
    answers = [json.loads(process.communicate(timeout=60)[0]) for process in running]
    assert [of["hookSpecificOutput"]["permissionDecision"] for of in answers] == ["allow", "allow"]
    assert gate.desk.count("claude-code") == before + 1


def old_entry(gate):
    gate.edit(" --event before", "")


@pytest.mark.parametrize("gate", ["claude-code", "codex", "gemini", "cursor", "copilot"], indirect=True)
def test_an_entry_without_its_event_is_named(gate):
    old_entry(gate)
    if gate.name == "codex":
        gate.file.write_text("bypass_hook_trust = true\n" + gate.file.read_text())
    reported = gate.prove()
    assert not reported["holds"]
    assert "has no --event before" in reported["why"]
    assert reported["fix"] == f"countersign connect {gate.name}"


VERSIONS = [
    ("claude-code", "claude", "9.0.1 (Claude Code)"),
    ("codex", "codex", "codex-cli 0.999.0"),
    ("gemini", "gemini", "0.62.0"),
    ("copilot", "copilot", "1.1.0"),
    ("opencode", "opencode", "1.19.0"),
]


@pytest.mark.parametrize(("gate", "program", "version"), VERSIONS, indirect=["gate"])
def test_a_version_that_nobody_tried_is_named_and_is_no_alarm(gate, program, version):
    assert gate.prove()["holds"]
    programs = gate.home / "bin"
    programs.mkdir(exist_ok=True)
    (programs / program).write_text(f"#!/bin/sh\necho '{version}'\n")
    (programs / program).chmod(0o755)
    gate.env["PATH"] = f"{programs}:{gate.env['PATH']}"
    reported = gate.prove()
    assert not reported["holds"]
    assert "nobody has tried its events" in reported["why"]
    assert gate.desk.gate_open(gate.name) == []


@pytest.mark.parametrize("gate", ["claude-code"], indirect=True)
def test_the_switches_of_a_session_without_hooks_are_named(gate):
    said = gate.run("doctor", "--gate", "claude-code").stdout
    for switch in ("--bare", "--safe-mode", "--setting-sources", "--settings"):
        assert switch in said
