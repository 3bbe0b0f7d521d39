"""The guide's example as a reader runs it, with the real Claude Code; the model is played on the loopback address."""

from __future__ import annotations

import asyncio

import pytest

from asked import Asked
from guide_code import STARTED, output
from model_server import model_server


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_makes_the_file_when_allowed(console, agent_json, tmp_path, verdict):
    asked = Asked(console)
    with model_server([("Bash", {"command": "touch paid"})], "It is done.") as model:
        home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"), "DISABLE_AUTOUPDATER": "1"}
        environment = {**model.environment, **home}
        example = output("claude-agent-sdk", agent_json, tmp_path, alone=verdict == "approve", **environment)
        working = asyncio.ensure_future(example)
        card = await asked.card(working, STARTED)
        assert (card["tool"]["name"], card["risk"]) == ("Bash", "critical")
        await asked.answer(card, verdict)
        assert await working == "It is done.\n"
    assert (tmp_path / "paid").exists() == (verdict == "approve")
