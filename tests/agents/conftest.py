from __future__ import annotations

import os
import uuid

import pytest
from desk import Desk
from gate import Gate
from hook import Hook
from model import Model

# Only for the real program.
collect_ignore = [] if os.environ.get("COUNTERSIGN_AGENT_PROGRAMS") else ["test_codex_trust.py"]


@pytest.fixture(scope="session")
def desk(tmp_path_factory):
    desk = Desk(tmp_path_factory.mktemp("desk"))
    yield desk
    desk.close()


@pytest.fixture(scope="session")
def model():
    model = Model()
    yield model
    model.close()


@pytest.fixture
def hook(desk, tmp_path):
    """A hook of Claude Code for an agent of this test alone, so that tests do not see each other's cards."""
    return Hook(desk, "claude-code", tmp_path, f"claude-{uuid.uuid4().hex[:8]}")


@pytest.fixture
def gate(desk, tmp_path, request):
    return Gate(desk, request.param, tmp_path / "home")
