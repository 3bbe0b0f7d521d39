"""One console, one CommonGround and one bridge for the session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest_asyncio
from commonground import CommonGround
from desk import NATS, Bridge, Desk


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
