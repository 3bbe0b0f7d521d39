"""The example of docs/guides/selectools.md as a program of its own, with a model on the loopback address."""

from __future__ import annotations

import asyncio

import pytest

from chat_server import chat_model
from guide_code import STARTED, output
from office import arrived

TURNS = [[("lookup_invoice", {"invoice_id": "INV-42"})], [("delete_invoice", {"invoice_id": "INV-42"})]]


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict):
    before = len(console.received["request"])
    with chat_model(*TURNS) as model:
        example = output("selectools", agent_json, tmp_path, alone=verdict == "approve", **model.environment)
        working = asyncio.ensure_future(example)
        [body] = await arrived(console, before, 1, working, STARTED)
        assert (body["tool"]["name"], body["args"], body["risk"]) == (
            "delete_invoice",
            {"invoice_id": "INV-42"},
            "high",
        )
        await console.decide(body["request_id"], verdict, message="keep it" if verdict == "deny" else ...)
        out = await working
    ran = verdict == "approve"
    assert out == ("deleting INV-42\ndone\n" if ran else "done\n")
    read = [message["content"] for message in model.asked[-1] if message["role"] == "tool"]
    assert read[0] == "INV-42: 120 EUR, unpaid"
    assert ("deleted INV-42" in read[1]) is ran
    assert ("keep it" in read[1]) is not ran
