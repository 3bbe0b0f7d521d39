"""The guide's example as a reader runs it; the model is played on the loopback address."""

from __future__ import annotations

import asyncio

import pytest

from asked import Asked
from guide_code import STARTED, output
from model_server import model_server

TURNS = [
    [("lookup_invoice", {"invoice_id": "INV-42"})],
    [("delete_invoice", {"invoice_id": "INV-42"})],
    "It is done.",
]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_deletes_when_allowed(console, agent_json, tmp_path, verdict):
    asked = Asked(console)
    with model_server(*TURNS) as model:
        # Both as programs: the framework keeps for its process that tracing is off.
        example = output("openai-agents", agent_json, tmp_path, alone=True, **model.environment)
        working = asyncio.ensure_future(example)
        card = await asked.card(working, STARTED)
        assert (card["tool"]["name"], card["risk"]) == ("delete_invoice", "high")
        await asked.answer(card, verdict)
        printed = await working
    deleted = ["deleting INV-42"] if verdict == "approve" else []
    assert printed.splitlines() == [*deleted, "It is done."]
    [*_, result] = [item["output"] for item in model.asked[-1]["input"] if item.get("type") == "function_call_output"]
    assert result == ("deleted INV-42" if deleted else "delete_invoice was not run, denied by Ada")
