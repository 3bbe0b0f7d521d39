"""A program that `connect` was run for, in a home of its own."""

from __future__ import annotations

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from desk import BINARY, Desk

KEYS = {"gate", "holds", "verdict", "ran", "at", "why", "fix"}
FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/countersign.json",
    "opencode": ".config/opencode/plugin/countersign.js",
}


@dataclass
class Gate:
    """A program that `connect` was run for, in a home of its own."""

    desk: Desk
    name: str
    home: Path

    def __post_init__(self) -> None:
        self.project = self.home / "project"
        self.project.mkdir(parents=True)
        self.env = self.desk.env | {"HOME": str(self.home), "COUNTERSIGN_STATE_DIR": str(self.home / "state")}
        self.file = self.home / FILES[self.name]
        assert self.run("--json", "connect", self.name).returncode == 0
        if self.name == "codex":
            self.trust()

    def run(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [BINARY, *words], env=self.env, cwd=self.project, capture_output=True, text=True, timeout=60
        )

    def prove(self, *words: str) -> dict:
        done = self.run("--json", "doctor", "--gate", self.name, *words)
        assert done.stdout, done.stderr
        self.said = done.stderr
        reported = json.loads(done.stdout)
        assert set(reported) == KEYS
        assert (done.returncode == 0) == reported["holds"], reported
        return reported

    def edit(self, old: str, new: str, times: int = 1) -> None:
        text = self.file.read_text()
        assert old in text, text
        self.file.write_text(text.replace(old, new, times))

    def trust(self) -> None:
        """As Codex writes it when its user trusts the hook."""
        command = self.file.read_text().split('command = "')[1].split('"')[0]
        hook = {"async": False, "command": command, "timeout": 3660, "type": "command"}
        identity = {"event_name": "pre_tool_use", "hooks": [hook]}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        digest = hashlib.sha256(text.encode()).hexdigest()
        with self.file.open("a") as file:
            file.write(f'\n[hooks.state."{self.file}:pre_tool_use:0:0"]\ntrusted_hash = "sha256:{digest}"\n')

    def replace_program(self, text: str) -> None:
        """Another program in the place of ours."""
        program = self.home / "bin/countersign"
        program.parent.mkdir(exist_ok=True)
        program.write_text(text)
        program.chmod(0o755)
        self.edit(BINARY, str(program), 9)
