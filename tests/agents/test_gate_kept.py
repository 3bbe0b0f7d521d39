"""What the desk keeps of a gate: when it last held, why it is open, and the alarm (integrations, section 4.5)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from desk import BINARY


@pytest.fixture
def place(desk, tmp_path):
    """A home with a project, and its own agent."""
    return Place(desk, tmp_path)


class Place:
    def __init__(self, desk, home: Path) -> None:
        self.desk, self.agent = desk, f"kept-{home.name}"[:40].rstrip("-").replace("_", "-").lower()
        self.project = home / "project"
        self.project.mkdir()
        self.env = desk.env | {"HOME": str(home), "COUNTERSIGN_STATE_DIR": str(home / "state")}
        self.file = home / ".claude/settings.json"

    def run(self, *words: str, given: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [BINARY, *words], env=self.env, cwd=self.project, input=given, capture_output=True, text=True, timeout=60
        )

    def connect(self, *more: str) -> None:
        done = self.run("connect", "claude-code", "--agent", f"default/{self.agent}", *more)
        assert done.returncode == 0, done.stderr

    def kept(self) -> dict | None:
        [agent] = [line for line in self.desk.cli("agents") if line["agent"] == self.agent]
        return agent["gate"]

    def alarms(self) -> list[dict]:
        return self.desk.gate_open(self.agent)

    def ended(self, tool: str) -> None:
        """A call of this tool is over."""
        event = {
            "hook_event_name": "PostToolUse",
            "session_id": "s",
            "tool_name": tool,
            "tool_input": {},
            "tool_use_id": "toolu_9",
        }
        command = json.loads(self.file.read_text())["hooks"]["PostToolUse"][0]["hooks"][0]["command"]
        done = self.run(*command.split()[1:], given=json.dumps(event))
        assert (done.returncode, json.loads(done.stdout)) == (0, {})


def test_a_probe_that_fails_is_an_alarm_until_one_holds(place):
    place.connect()
    held = place.kept()
    assert held["open"] is None
    assert held["held_at"] is not None
    assert place.alarms() == []
    settings = place.file.read_text()
    place.file.write_text(settings.replace("3660", "1"))
    assert place.run("doctor", "--gate", "claude-code").returncode == 1
    assert "shorter than the answer may take" in place.kept()["open"]
    assert place.kept()["held_at"] == held["held_at"]
    [alarm] = place.alarms()
    assert "gate" in alarm["sentence"]
    place.file.write_text(settings)
    assert place.run("doctor", "--gate", "claude-code").returncode == 0
    assert place.kept()["open"] is None
    assert place.kept()["held_at"] > held["held_at"]
    assert place.alarms() == []
    place.run("disconnect", "claude-code")
    place.run("doctor", "--gate", "claude-code")
    assert place.kept()["open"] is None, "another enrolment is the default of this program"


def test_a_call_that_ran_and_was_never_asked_is_an_alarm(place):
    place.connect()
    place.ended("Read")
    assert place.alarms() == []
    place.ended("Write")
    assert len(place.alarms()) == 1
    assert place.kept()["open"] == "a call of Write ran without a request"


def test_where_only_permission_prompts_ask_a_call_may_run_unasked(place):
    place.connect("--mode", "prompt")
    place.ended("Write")
    assert place.alarms() == []
