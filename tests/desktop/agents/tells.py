"""Connects with tools of every kind that the Agents screen tells apart, says hello again with credentials, and stays.

Refuses to ask for anything.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from countersign import Gate

LOOSE = {"type": "object", "properties": {"q": {"type": "string"}, "limit": {"type": "integer"}}, "required": ["q"]}
PAY = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "number"}},
    "required": ["to", "amount"],
    "additionalProperties": False,
}
TOOLS: list[dict[str, Any]] = [
    {
        "name": "pay_invoice",
        "description": "Pays an invoice from the company's account.",
        "risk": "high",
        "strict": True,
        "origin": "local",
        "args_schema": PAY,
    },
    {
        "name": "crm.lookup",
        "description": "Looks a customer up.",
        "risk": "low",
        "origin": "local",
        "args_schema": LOOSE,
    },
    {
        "name": "search_docs",
        "description": "Searches our documents.",
        "risk": "safe",
        "strict": True,
        "origin": "mcp",
        "args_schema": LOOSE,
    },
    {
        "name": "web_search",
        "description": "Searches the web at the model's provider.",
        "risk": "medium",
        "origin": "hosted",
    },
]
CREDENTIALS = [
    {"tool_name": "pay_invoice", "artifact_id": "stripe", "status": "missing", "missing_keys": ["STRIPE_SECRET_KEY"]},
    {"tool_name": "crm.lookup", "artifact_id": "crm", "status": "ready", "missing_keys": []},
]


async def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    async with Gate.connect(
        framework="selectools", framework_version="1.3.0", agent_type="billing", tools=TOOLS
    ) as gate:
        await gate.introduce(credentials=CREDENTIALS)
        print(json.dumps({"said": "hello"}), flush=True)
        await asyncio.sleep(seconds)


asyncio.run(main())
