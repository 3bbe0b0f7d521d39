"""The guide's example as a reader runs it, with the real Claude Code; the model is played on the loopback address."""

from __future__ import annotations

import pytest

import guide_code
from asked import Asked
from model_server import model_server


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_makes_the_file_when_allowed(console, agent_json, tmp_path, verdict):
    asked = Asked(console)
    with model_server([("Bash", {"command": "touch paid"})], "It is done.") as model:
        home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"), "DISABLE_AUTOUPDATER": "1"}
        process = await guide_code.start("claude-agent-sdk", agent_json, tmp_path, **model.environment, **home)
        card = await asked.card()
        assert (card["tool"]["name"], card["risk"]) == ("Bash", "critical")
        await asked.answer(card, verdict)
        assert await guide_code.printed(process) == "It is done.\n"
    assert (tmp_path / "paid").exists() == (verdict == "approve")
