"""The example of docs/guides/langgraph.md as a program of its own."""

from __future__ import annotations

import asyncio

import pytest

from guide_code import STARTED, output
from office import arrived


@pytest.mark.parametrize("verdict", ["approve", "deny"])
async def test_the_example_of_the_guide_runs_as_written(console, agent_json, tmp_path, verdict):
    before = len(console.received["request"])
    working = asyncio.ensure_future(output("langgraph", agent_json, tmp_path, alone=verdict == "approve"))
    [body] = await arrived(console, before, 1, working, STARTED)
    assert (body["tool"]["name"], body["risk"]) == ("pay_invoice", "high")
    assert body["args"] == {"invoice_id": "INV-42", "euros": 120}
    await console.decide(body["request_id"], verdict, message="too much" if verdict == "deny" else ...)
    out = await working
    assert "tool: INV-42: 120 EUR, unpaid\n" in out
    if verdict == "approve":
        assert "paying 120 EUR for INV-42\n" in out
        assert "tool: paid INV-42\n" in out
    else:
        assert "paying" not in out
        assert "tool: pay_invoice was not run, denied by Ada: too much\n" in out
    assert out.endswith("ai: done\n")
