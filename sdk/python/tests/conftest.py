"""One server and one console for the session; each test speaks as the same agent with its own request ids."""

from __future__ import annotations

import itertools
import json
import os
import uuid
from dataclasses import asdict
from pathlib import Path

import pytest
import pytest_asyncio
from countersign import Enrolment, Gate, LogHead
from countersign.clock import ticks
from countersign.waiting import Wait
from hypothesis import settings

from cards import Desk
from console import Console, Key
from nats_server import NatsServer

# A busy machine is not a failure, and a failure found once is kept by the test table, not by a file.
settings.register_profile("countersign", deadline=None, database=None, max_examples=80)
settings.load_profile("countersign")

# Below a coding agent the program refuses what decides.
for name in ("CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "OPENCODE"):
    os.environ.pop(name, None)

WORKSPACE, AGENT = "acme", "billing-bot"
OTHER = "other-bot"


class Bench:
    """What a test needs to be agent and console at once."""

    def __init__(self, folder: Path) -> None:
        self.login = Key()
        self.agent_key = Key()
        self.other_key = Key()
        self.console = Console(str(uuid.uuid4()))
        agents = {(WORKSPACE, AGENT): self.agent_key.public, (WORKSPACE, OTHER): self.other_key.public}
        self.server = NatsServer(folder, self.login.public, agents)

    def enrolment(self, *, agent: str = AGENT, realm: str | None = None, **log):
        """As the console would write it now; `log` changes what it says of the log."""
        login = self.agent_key if agent == AGENT else self.other_key
        return Enrolment(
            self.server.url,
            WORKSPACE,
            agent,
            login.seed,
            f"_INBOX_{login.public}",
            realm or self.console.realm,
            LogHead(**{**self.console.log.head(), **log}),
        )


async def opened(bench: Bench) -> Bench:
    await bench.console.connect(bench.server.url, bench.login)
    await bench.console.create_streams()
    return bench


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def bench(tmp_path_factory: pytest.TempPathFactory):
    made = await opened(Bench(tmp_path_factory.mktemp("nats")))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture
def console(bench: Bench) -> Console:
    return bench.console


@pytest_asyncio.fixture(loop_scope="session")
async def gate(bench: Bench):
    async with Gate.connect(bench.enrolment()) as opened_gate:
        yield opened_gate


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def desk(tmp_path_factory: pytest.TempPathFactory):
    """The one real console of the tests that leave it running. They answer or take back every card that they get."""
    made = await Desk(tmp_path_factory.mktemp("desk")).start()
    yield made
    await made.console.stop()


SOON = 30.0
"""Where something has to end on its own: so many seconds are left to a busy machine."""


async def refused(enrolment, error: type[Exception]) -> str:
    with pytest.raises(error) as raised:
        async with Gate.connect(enrolment, connect_timeout=20):
            pass
    return str(raised.value)


@pytest.fixture
def unprompted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No wait looks at the bus without a hint: what then ends in time had one, and was not found a second later."""
    monkeypatch.setattr("countersign.waiting.poll_offsets", lambda: itertools.count(3600.0, 3600.0))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, float]]:
    """From when until when each wait meant to sleep, in seconds after its start, however busy the machine is."""
    planned: list[tuple[float, float]] = []
    sleep = Wait._sleep_until

    async def noted(wait: Wait, moment: float) -> None:
        planned.append((ticks() - wait._started, moment - wait._started))
        await sleep(wait, moment)

    monkeypatch.setattr(Wait, "_sleep_until", noted)
    return planned


@pytest.fixture
def request_id() -> str:
    return str(uuid.uuid4())


def as_json(known: Enrolment) -> str:
    fields = ("nats_url", "workspace", "agent", "nkey_seed", "inbox_prefix", "realm")
    value = {name: getattr(known, name) for name in fields}
    return json.dumps(value | {"log": None if known.log is None else asdict(known.log)})


@pytest.fixture
def agent_json(bench: Bench, tmp_path: Path) -> Path:
    file = tmp_path / "agent.json"
    file.write_text(as_json(bench.enrolment()))
    file.chmod(0o600)
    return file
