"""One server and one console for the session; each test speaks as the same agent with its own request ids."""

from __future__ import annotations

import itertools
import json
import os
import uuid
from pathlib import Path

import pytest
import pytest_asyncio
from countersign import Enrolment, Gate, TrustedKey
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

    def enrolment(
        self, *, agent: str = AGENT, trusted: list[tuple[Key, str]] | None = None, realm: str | None = None
    ):
        console = self.console
        login = self.agent_key if agent == AGENT else self.other_key
        keys = trusted if trusted is not None else [(console.human, "human"), (console.auto, "auto")]
        return Enrolment(
            self.server.url,
            WORKSPACE,
            agent,
            login.seed,
            f"_INBOX_{login.public}",
            realm or console.realm,
            tuple(TrustedKey(key.public, "Ada", role) for key, role in keys),
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


@pytest.fixture
def agent_json(bench: Bench, tmp_path: Path) -> Path:
    known = bench.enrolment()
    file = tmp_path / "agent.json"
    fields = ("nats_url", "workspace", "agent", "nkey_seed", "inbox_prefix", "realm")
    keys = [{"key": key.key, "name": key.name, "role": key.role} for key in known.trusted_keys]
    file.write_text(json.dumps({**{name: getattr(known, name) for name in fields}, "trusted_keys": keys}))
    file.chmod(0o600)
    return file
