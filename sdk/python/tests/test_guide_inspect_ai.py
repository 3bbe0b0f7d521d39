"""The guide's example as a reader runs it, by Inspect's command line; the model is played on the loopback address."""

from __future__ import annotations

import asyncio
import os
import sys

import guide_code
from asked import Asked
from guide_code import STARTED
from model_server import model_server


async def test_the_example_deletes_when_allowed(console, agent_json, tmp_path):
    asked = Asked(console)
    (tmp_path / "invoices.py").write_text(guide_code.complete_example("inspect-ai"))
    with model_server([("delete_invoice", {"invoice_id": "INV-42"})], "It is done.") as model:
        command = [sys.executable, "-m", "inspect_ai", "eval", "invoices.py", "--approval", "countersign/console"]
        process = await asyncio.create_subprocess_exec(
            *[*command, "--model", "openai/gpt-5-mini", "--display", "plain"],
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={
                **os.environ,
                **model.environment,
                "COUNTERSIGN_AGENT_JSON": str(agent_json),
                "INSPECT_DISPLAY": "plain",
            },
        )
        ending = asyncio.ensure_future(process.communicate())
        card = await asked.card(ending, STARTED)
        assert card["preview"] == "Deletes the invoice INV-42 for good."
        await asked.answer(card)
        out, _ = await asyncio.wait_for(ending, STARTED)
    assert process.returncode == 0, out.decode()
    assert "deleting INV-42" in out.decode()
    [result] = [item["output"] for item in model.asked[-1]["input"] if item.get("type") == "function_call_output"]
    assert "deleted INV-42" in result
