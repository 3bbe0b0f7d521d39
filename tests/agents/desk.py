"""A real console without a window, and the command line beside it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
# The program knows itself by its real path; `target` may be a link.
BINARY = str(Path(os.environ.get("COUNTERSIGN_BIN") or ROOT / "target/debug/countersign").resolve())
NATS = ROOT / ".setup/bin/nats-server"
SOON = 60.0


class Desk:
    """One console for the session; each program asks as an agent of its own."""

    def __init__(self, folder: Path, **more: str) -> None:
        self.folder = folder
        self.data = folder / "data"
        home = folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        self.env = kept | {"HOME": str(home), "COUNTERSIGN_DATA_DIR": str(self.data)}
        self.env["PATH"] = f"{Path(BINARY).parent}:{self.env['PATH']}"
        server = os.environ.get("COUNTERSIGN_NATS_SERVER") or (str(NATS) if NATS.exists() else None)
        if server:
            self.env["COUNTERSIGN_NATS_SERVER"] = server
        self.env |= more
        self._log = (folder / "console.log").open("wb")
        self.console = subprocess.Popen(
            [BINARY, "--keys", "file", "serve"], stdout=subprocess.PIPE, stderr=self._log, env=self.env
        )
        line = self.console.stdout.readline()
        assert line, (folder / "console.log").read_text()
        self.ready = json.loads(line)

    def close(self) -> None:
        self.console.terminate()
        self.console.wait(SOON)
        self._log.close()

    def cli(self, *words: str, check: bool = True, given: str | None = None) -> list[dict]:
        """The lines of JSON that a command prints."""
        done = subprocess.run(
            [BINARY, "--json", *words], env=self.env, input=given, capture_output=True, text=True, timeout=60
        )
        assert not check or done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    def text(self, *words: str) -> str:
        """What a command prints for a person."""
        done = subprocess.run(
            [BINARY, *words], env=self.env, capture_output=True, text=True, timeout=60, cwd=self.folder
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def code(self, *words: str) -> int:
        return subprocess.run([BINARY, *words], env=self.env, capture_output=True, timeout=60).returncode

    def enroll(self, agent: str) -> Path:
        [line] = self.cli("enroll", f"default/{agent}")
        return Path(line["agent_json"])

    def waiting(self, agent: str) -> dict:
        """The one request of this agent that waits, once it does."""
        for line in self._until(lambda: self.cli("inbox", "--agent", f"default/{agent}")):
            return line
        raise AssertionError("nothing waits")

    def decide(self, agent: str, verdict: str, *more: str) -> str:
        """Answers what waits; its id."""
        request = self.waiting(agent)["request_id"]
        name = f"default/{agent}/{request}"
        self.cli(verdict, name, *more)
        return request

    def count(self, agent: str) -> int:
        """How many requests the agent has ever sent."""
        return sum("request_id" in line for line in self.cli("history", "--agent", f"default/{agent}"))

    def gate_open(self, agent: str) -> list[dict]:
        """The alarms about this agent's gate."""
        wanted = ("gate_open", f"default/{agent}")
        return [alarm for alarm in self.cli("alarms") if (alarm["code"], alarm["subject"]) == wanted]

    def receipts(self, agent: str, request: str, wanted: int) -> list[dict]:
        """Those of a request, once there are so many."""

        def look() -> list[dict]:
            [shown] = self.cli("show", f"default/{agent}/{request}")
            return shown["receipts"] if len(shown["receipts"]) >= wanted else []

        return self._until(look)

    def _until(self, look):
        end = time.monotonic() + SOON
        while not (found := look()):
            assert time.monotonic() < end, "it does not come"
            time.sleep(0.05)
        return found
