"""A real nats-server per test session, configured as protocol section 1 says: accounts CORE and AGENTS."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]

SERVICES = [
    *(
        f"countersign.v1.{what}.>"
        for what in ("request", "withdraw", "tighten", "receipt", "event", "hello", "alive")
    ),
    "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.>",
    "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*",
]


def find_nats_server() -> str:
    """The order that every part of the project uses; a version below 2.10 on PATH does not count."""
    named = os.environ.get("COUNTERSIGN_NATS_SERVER")
    if named:
        return named
    own = REPOSITORY / ".setup/bin/nats-server"
    if own.is_file():
        return str(own)
    found = shutil.which("nats-server")
    if found:
        reported = subprocess.run([found, "-v"], capture_output=True, text=True, check=True).stdout
        version = re.search(r"v(\d+)\.(\d+)", reported)
        if version and (int(version[1]), int(version[2])) >= (2, 10):
            return found
    raise RuntimeError("no nats-server >= 2.10; run `make setup` or set COUNTERSIGN_NATS_SERVER")


def agent_permissions(workspace: str, agent: str, nkey: str) -> dict:
    name = f"{workspace}.{agent}"
    own = ("request", "withdraw", "tighten", "receipt")
    return {
        "publish": [
            *(f"countersign.v1.{what}.{name}.*" for what in own),
            *(f"countersign.v1.{what}.{name}" for what in ("event", "hello", "alive")),
            f"$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{name}.*",
            "$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.realm.*",
        ],
        "subscribe": [f"countersign.v1.decided.{name}.*", f"_INBOX_{nkey}.>"],
    }


class NatsServer:
    """`start`, `stop` and `restart` keep the port and the store."""

    def __init__(self, folder: Path, console_nkey: str, agents: dict[tuple[str, str], str]) -> None:
        self.folder = folder
        self.port = -1
        self.process: subprocess.Popen[bytes] | None = None
        self.console_nkey = console_nkey
        self.agents = agents
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def config(self) -> dict:
        imports = [{"service": {"account": "CORE", "subject": subject}} for subject in SERVICES]
        return {
            "listen": f"127.0.0.1:{self.port}",
            "ports_file_dir": str(self.folder),
            "max_payload": 4 * 1024 * 1024,
            "jetstream": {"store_dir": str(self.folder / "store")},
            "accounts": {
                "CORE": {
                    "jetstream": "enabled",
                    "users": [{"nkey": self.console_nkey}],
                    "exports": [
                        *({"service": subject} for subject in SERVICES),
                        {"stream": "countersign.v1.decided.>"},
                    ],
                },
                "AGENTS": {
                    "users": [
                        {"nkey": nkey, "permissions": agent_permissions(*name, nkey)}
                        for name, nkey in self.agents.items()
                    ],
                    "imports": [*imports, {"stream": {"account": "CORE", "subject": "countersign.v1.decided.>"}}],
                },
            },
        }

    def start(self) -> None:
        file = self.folder / "nats.json"
        file.write_text(json.dumps(self.config(), indent=1))
        log = (self.folder / "nats.log").open("ab")
        self.process = subprocess.Popen([find_nats_server(), "-c", str(file)], stdout=log, stderr=log)
        log.close()
        ports = self.folder / f"nats-server_{self.process.pid}.ports"
        until = time.monotonic() + 10
        while not ports.exists() or not ports.read_text().strip():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((self.folder / "nats.log").read_text())
            time.sleep(0.01)
        self.port = int(json.loads(ports.read_text())["nats"][0].rpartition(":")[2])

    def reload(self) -> None:
        """Take over the agents in `agents` now; needs a fixed port, so a second start."""
        (self.folder / "nats.json").write_text(json.dumps(self.config(), indent=1))
        assert self.process is not None
        self.process.send_signal(signal.SIGHUP)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=10)
            self.process = None
