"""A real console and the bridge as processes, driven by the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARY = os.environ.get("COUNTERSIGN_BIN", str(ROOT / "target/debug/countersign"))
NATS = os.environ.get("COUNTERSIGN_NATS_SERVER", str(ROOT / ".setup/bin/nats-server"))


class Desk:
    """A console with one enrolled agent for each project."""

    def __init__(self, folder: Path, projects: list[str]) -> None:
        self.env = {
            **os.environ,
            "COUNTERSIGN_DATA_DIR": str(folder / "desk"),
            "COUNTERSIGN_NATS_SERVER": NATS,
            "COUNTERSIGN_OPERATOR": "Ana",
            "COUNTERSIGN_KEYS": "file",
        }
        self.log = (folder / "desk.log").open("wb")
        self.process = subprocess.Popen(
            [BINARY, "serve"], env=self.env, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        assert json.loads(self.process.stdout.readline())["event"] == "ready"
        self.agents = {}
        for project in projects:
            self.run("enroll", f"default/{project}", "--out", str(folder / project))
            self.agents[project] = folder / project / "agent.json"

    def run(self, *words: str, code: int | None = 0) -> str:
        """What a command prints that ends with this code; None: any."""
        done = subprocess.run([BINARY, *words], env=self.env, capture_output=True, text=True, timeout=60)
        assert code is None or done.returncode == code, done.stderr
        return done.stdout

    def fails(self, code: int, *words: str) -> str:
        """What a command says that ends with this code."""
        done = subprocess.run([BINARY, *words], env=self.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == code, done.stdout
        return done.stderr

    def lines(self, *words: str) -> list[dict]:
        return [json.loads(line) for line in self.run(*words, "--json").splitlines()]

    async def card(self, call: str, within: float = 15) -> dict:
        """The waiting card of a call."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for line in await asyncio.to_thread(self.lines, "inbox"):
                shown = self.show(line["request_id"])
                if shown["request"]["call_id"] == call:
                    return shown
            await asyncio.sleep(0.1)
        raise AssertionError(f"no card for {call}")

    def show(self, request_id: str) -> dict:
        return json.loads(self.run("show", request_id, "--json"))

    async def receipt(self, request_id: str, stage: str, within: float = 10) -> dict:
        until = time.monotonic() + within
        while time.monotonic() < until:
            found = [one for one in self.show(request_id)["receipts"] if one["stage"] == stage]
            if found:
                return found[0]
            await asyncio.sleep(0.1)
        raise AssertionError(f"no receipt {stage}")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


class Bridge:
    """The bridge, its configuration and its process."""

    def __init__(self, folder: Path, desk: Desk, ground, **settings: object) -> None:
        self.desk = desk
        self.file = folder / "bridge.toml"
        self.folder = folder
        tool = settings.pop("tool", 'suspend_timeout_s = 600\nrisk = "high"\neffects = "write"\n')
        top = {"ack_wait_s": 1, "state_wait_s": 0, "default_suspend_timeout_s": 1, **settings}
        text = 'schema = 1\nname = "desk"\ndata_dir = "bridge"\n' + f'nats_url = "{ground.url}"\n'
        text += "".join(f"{name} = {value}\n" for name, value in top.items())
        for project, agent_json in desk.agents.items():
            text += f'\n[[project]]\nproject_id = "{project}"\nagent_json = "{agent_json}"\n'
            text += f'api_url = "{ground.api.url}"\n\n[[project.tool]]\nname = "send_mail"\n'
            text += f'forward_to = "cg.v1r4.{{project_id}}.{{channel_id}}.cmd.tool.mail.send"\n{tool}'
        self.file.write_text(text)
        self.process: subprocess.Popen | None = None

    def start(self, hold_at: str | None = None) -> None:
        env = {**self.desk.env, **({"COUNTERSIGN_BRIDGE_HOLD_AT": hold_at} if hold_at else {})}
        self.log = (self.folder / "bridge.log").open("ab")
        command = [BINARY, "bridge", "commonground", "run", "--config", str(self.file)]
        self.process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=self.log, text=True)
        if hold_at is None:
            ready = json.loads(self.process.stdout.readline())
            assert ready["event"] == "ready", ready

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.log.close()

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(10) == 0

    def list(self) -> list[dict]:
        return self.desk.lines("bridge", "commonground", "list", "--config", str(self.file))

    async def state(self, call: str, *wanted: str, within: float = 15) -> dict:
        """The line of a call once it is in one of these states."""
        until = time.monotonic() + within
        line: dict | None = None
        while time.monotonic() < until:
            line = next((one for one in await asyncio.to_thread(self.list) if one["tool_call_id"] == call), None)
            if line and line["state"] in wanted:
                return line
            await asyncio.sleep(0.1)
        raise AssertionError(f"{call} is {line}, not {wanted}")
