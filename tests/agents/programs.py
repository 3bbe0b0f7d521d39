"""The coding agents that run here: the real ones from npm, or a double that reads the same settings.

Real where COUNTERSIGN_AGENT_PROGRAMS names a folder with their packages (`make agents`).
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import desk as desk_module
from desk import ROOT, Desk

from played import Played

PACKAGES = os.environ.get("COUNTERSIGN_AGENT_PROGRAMS")
if PACKAGES:
    desk_module.SOON = 200.0  # OpenCode makes its database first
STAND_IN = Path(__file__).with_name("stand_in.py")
CODEX = """model = "played"
model_provider = "played"

[model_providers.played]
name = "played"
base_url = "MODEL/v1"
wire_api = "responses"
"""
OPENCODE = {
    "model": "played/model",
    "autoupdate": False,
    "provider": {
        "played": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": "MODEL/v1", "apiKey": "none"},
            "models": {"model": {}},
        }
    },
}


@dataclass(frozen=True)
class Program:
    name: str
    command: str
    """The tool of its shell, and the model's argument with the command."""
    tool: str
    argument: str
    """What points it at a model: a file of settings, its text, and variables; MODEL is the model's address."""
    file: str = ""
    settings: str = ""
    variables: tuple[tuple[str, str], ...] = ()


ALL = [
    Program("codex", "codex", "exec_command", "cmd", ".codex/config.toml", CODEX),
    Program(
        "gemini",
        "gemini",
        "run_shell_command",
        "command",
        ".gemini/settings.json",
        '{"security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-pro"}}\n',
        (("GOOGLE_GEMINI_BASE_URL", "MODEL"), ("GEMINI_API_KEY", "none"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")),
    ),
    Program("cursor", "cursor-agent", "Shell", "command"),
    Program(
        "copilot",
        "copilot",
        "bash",
        "command",
        variables=(
            ("COPILOT_PROVIDER_BASE_URL", "MODEL/v1"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", "played"),
            ("COPILOT_OFFLINE", "true"),
        ),
    ),
    Program(
        "opencode",
        "opencode",
        "bash",
        "command",
        ".config/opencode/opencode.json",
        json.dumps(OPENCODE, indent=2),
        (("OPENCODE_DISABLE_MODELS_FETCH", "1"),),
    ),
]
BY_NAME = {program.name: program for program in ALL}


class Project:
    """A home, a project, and a model that wants to write into `marker`."""

    def __init__(self, program: Program, desk: Desk, folder: Path) -> None:
        self.program, self.desk = program, desk
        self._started: list[subprocess.Popen] = []
        self.home, self.folder = folder / "home", folder / "project"
        self.folder.mkdir(parents=True)
        self.marker = self.folder / "marker.txt"
        # Codex refuses to work outside of a repository.
        subprocess.run(["git", "init", "--quiet"], cwd=self.folder, check=True)
        wanted = {program.argument: f"echo ran > {self.marker}"}
        if program.name != "codex":
            wanted["description"] = "Write the marker"
        self.model = Played(program.tool, wanted)
        self.real = PACKAGES is not None and program.name != "cursor"
        variables = {name: value.replace("MODEL", self.model.url) for name, value in program.variables}
        self.env = desk.env | variables | {"HOME": str(self.home), "NO_COLOR": "1"}
        self.env["COUNTERSIGN_STATE_DIR"] = str(folder / "state")
        # Codex puts no programs of its own into a home below the folder for temporary files.
        self.env["TMPDIR"] = str(folder / "temporary")
        (folder / "temporary").mkdir()
        programs = self._package() if self.real else self._stand_in(folder / "bin")
        self.env["PATH"] = f"{programs}:{self.env['PATH']}"
        if program.file:
            file = self.home / program.file
            file.parent.mkdir(parents=True)
            file.write_text(program.settings.replace("MODEL", self.model.url))

    def _package(self) -> Path:
        return Path(PACKAGES or "") / "node_modules/.bin"

    def _stand_in(self, folder: Path) -> Path:
        folder.mkdir()
        file = folder / self.program.command
        call = json.dumps(self.model.args | {"command": self.model.args[self.program.argument]})
        run = f"exec '{sys.executable}' '{STAND_IN}' {self.program.name} '{call}'"
        file.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 1\n{run}\n')
        file.chmod(0o755)
        return folder

    def start(self, line: str) -> subprocess.Popen:
        """One line of a guide, as a shell runs it."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            ["/bin/sh", "-c", line],
            start_new_session=True,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        for process in self._started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        self.model.close()

    def ran(self, process: subprocess.Popen) -> str:
        """What the model read of its call, once the program has ended."""
        out, words = process.communicate(timeout=desk_module.SOON * 2)
        assert process.returncode == 0, (out, words)
        return "\n".join(self.model.read) if self.real else out

    def trust(self) -> None:
        """Does what a person does in `/hooks` of Codex."""
        if not (self.real and self.program.name == "codex"):
            return
        server = subprocess.Popen(
            ["codex", "app-server"], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

        def call(method: str, **params: object) -> dict:
            server.stdin.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")
            server.stdin.flush()
            while (reported := json.loads(server.stdout.readline())).get("id") != method:
                pass
            return reported["result"]

        call("initialize", clientInfo={"name": "test", "version": "1"})
        [listed] = call("hooks/list", cwds=[str(self.folder)])["data"]
        trusted = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed["hooks"]}
        edit = {"keyPath": "hooks.state", "value": trusted, "mergeStrategy": "upsert"}
        call("config/batchWrite", edits=[edit])
        server.kill()
        server.communicate()


def example(name: str) -> list[str]:
    """The lines under `## Complete example` of a guide."""
    page = (ROOT / f"docs/guides/{name}.md").read_text()
    [section] = re.findall(r"^## Complete example$(.*?)(?=^## |\Z)", page, re.M | re.S)
    [code] = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
    return code.splitlines()
