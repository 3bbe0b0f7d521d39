"""Claude Code itself, the program inside the claude-agent-sdk wheel, with a home and a project of its own."""

from __future__ import annotations

import json
import subprocess
import uuid
from importlib.util import find_spec
from pathlib import Path

from desk import Desk
from model import Model

PROGRAM = Path(find_spec("claude_agent_sdk").origin).parent / "_bundled/claude"
LIMIT = 120.0


def environment(model: Model) -> dict[str, str]:
    """What makes the program speak to this model, and to nobody else."""
    return {
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-of-a-test",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


class Claude:
    """One installation: `connect` and the program see the same home."""

    def __init__(self, desk: Desk, model: Model, folder: Path, agent: str) -> None:
        self.desk, self.model, self.agent = desk, model, agent
        self.home, self.project = folder / "home", folder / "project"
        for made in (self.home, self.project):
            made.mkdir(parents=True)
        self.name = f"script-{uuid.uuid4().hex[:8]}"
        self.env = desk.env | {
            "HOME": str(self.home),
            "COUNTERSIGN_STATE_DIR": str(folder / "state"),
        }
        self.env |= environment(model)
        self.settings = self.home / ".claude/settings.json"

    def connect(self, *words: str) -> None:
        env, self.desk.env = self.desk.env, self.env
        try:
            self.desk.cli("connect", "claude-code", "--agent", f"default/{self.agent}", *words)
        finally:
            self.desk.env = env

    def bash(self, command: str) -> list:
        return ["Bash", {"command": command, "description": "Make a file"}]

    def start(self, turns: list[list[list]], *words: str, allowed: str = "Bash,Write") -> subprocess.Popen:
        """The program with a script for its model, or none to go on with; its own permissions allow the calls."""
        script = self.home / "script"
        script.write_text("RUN " + json.dumps({"name": self.name, "turns": turns}) if turns else "")
        words = ("--model", "claude-sonnet-4-5", "--output-format", "json", f"--allowedTools={allowed}", *words)
        return subprocess.Popen(
            [PROGRAM, "-p", *words],
            cwd=self.project,
            env=self.env,
            stdin=script.open("rb"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ended(self, process: subprocess.Popen) -> dict:
        """What it prints at its end."""
        out, words = process.communicate(timeout=LIMIT)
        assert out, words
        return json.loads(out)

    def reported(self) -> str:
        """What the model read of its calls."""
        return self.model.reported(self.name)

    def ran(self, name: str = "made") -> bool:
        return (self.project / name).exists()
