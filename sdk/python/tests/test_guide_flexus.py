"""The example of docs/guides/flexus.md as a program of its own, with the double of Flexus' kit."""

from __future__ import annotations

import asyncio
import inspect
import os

import pytest

import flexus_kit
from asked import Asked
from guide_code import STARTED, printed, start


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict):
    asked = Asked(console)
    package = tmp_path / "kit" / "flexus_client_kit"
    package.mkdir(parents=True)
    (package / "ckit_cloudtool.py").write_text(inspect.getsource(flexus_kit))
    path = os.pathsep.join([str(package.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    working = asyncio.ensure_future(printed(await start("flexus", agent_json, tmp_path, PYTHONPATH=path)))
    card = await asked.card(working, STARTED)
    assert (card["tool"]["name"], card["risk"], card["agent"]["type"]) == ("fire", "high", "hr_bot")
    await asked.answer(card, verdict)
    out = await working
    if verdict == "approve":
        assert out == "ended the contract of Bob\n"
    else:
        assert out == "fire was not run, denied by Ada\nIt asked: This ends the contract of Bob\n"
