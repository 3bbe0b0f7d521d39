"""The example of docs/guides/pydantic-ai.md as a program of its own, with a model on the loopback address."""

from __future__ import annotations

import asyncio

import pytest

from chat_server import chat_model
from guide_code import STARTED, output
from office import arrived

TURNS = [[("lookup_invoice", {"invoice_id": "INV-42"})], [("pay_invoice", {"invoice_id": "INV-42", "euros": 120})]]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict):
    before = len(console.received["request"])
    with chat_model(*TURNS) as model:
        example = output("pydantic-ai", agent_json, tmp_path, alone=verdict == "approve", **model.environment)
        working = asyncio.ensure_future(example)
        [body] = await arrived(console, before, 1, working, STARTED)
        assert (body["tool"]["name"], body["risk"]) == ("pay_invoice", "high")
        assert body["args"] == {"invoice_id": "INV-42", "euros": 120}
        await console.decide(body["request_id"], verdict, message="too much" if verdict == "deny" else ...)
        out = await working
    ran = verdict == "approve"
    assert out == ("paying 120 EUR for INV-42\ndone\n" if ran else "done\n")
    read = [message["content"] for message in model.asked[-1] if message["role"] == "tool"]
    assert read == [
        "INV-42: 120 EUR, unpaid",
        "paid INV-42" if ran else "pay_invoice was not run, denied by Ada: too much",
    ]
