"""One console, one CommonGround and one bridge for the session."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest_asyncio
from commonground import CommonGround
from desk import NATS, Bridge, Desk

# Below a coding agent the program refuses what decides.
for name in ("CLAUDECODE", "GEMINI_CLI", "CODEX_SANDBOX", "CURSOR_AGENT", "OPENCODE"):
    os.environ.pop(name, None)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bridge")
    ground = CommonGround(folder / "cg", NATS)
    await ground.start()
    desk = Desk(folder, ["p1", "p2"])
    bridge = Bridge(folder, desk, ground)
    bridge.start()
    yield SimpleNamespace(folder=folder, ground=ground, desk=desk, bridge=bridge)
    bridge.stop()
    desk.stop()
    await ground.stop()
