"""Declares setup keys of both polarities and every type, then asks what it is reported, as `asks.py` does, and stays.

Each argument is a JSON object: the fields of a `ToolCall`. Refuses to run anything.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from countersign import Gate, ToolCall


def key(name: str, kind: str, default: Any, group: str, **more: Any) -> dict[str, Any]:
    return {
        "bs_name": name,
        "bs_type": kind,
        "bs_default": default,
        "bs_group": group,
        **{f"bs_{part}": value for part, value in more.items()},
    }


SCHEMA = [
    key(
        "confirm_hire_or_fire",
        "bool",
        True,
        "Safety",
        order=1,
        description="Ask a person before anybody is hired or dismissed.",
    ),
    key(
        "allow_dangerous",
        "bool",
        False,
        "Safety",
        order=2,
        importance=1,
        description="Let commands run that change production.",
    ),
    key(
        "greeting",
        "string_short",
        "Hello",
        "Words",
        order=3,
        placeholder="How to greet",
        description="The first words of every message.",
    ),
    key("signature", "string_multiline", "Kind regards\nThe office", "Words", order=4),
    key(
        "max_refund",
        "float",
        49.5,
        "Money",
        order=5,
        description="Refunds up to this amount need no second look, in EUR.",
    ),
    key("retries", "int", 3, "Money", order=6),
    key("api_key", "string_short", "", "Access", order=7, description="Key of the payroll system."),
    key(
        "offices",
        "list_dict",
        [{"city": "Vienna", "seats": 12}],
        "Access",
        order=8,
        elements=[
            {"bs_name": "city", "bs_type": "string_short", "bs_default": ""},
            {"bs_name": "seats", "bs_type": "int", "bs_default": 0},
        ],
    ),
]


async def one(gate: Gate, fields: dict[str, Any]) -> None:
    timeout = fields.pop("timeout", 60)
    decision = await gate.ask(ToolCall(**fields), timeout=timeout)
    print(json.dumps({"asked": fields["name"], "verdict": decision.verdict}), flush=True)
    if decision.allowed:
        await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest, message="done")


async def main() -> None:
    async with Gate.connect(framework="flexus", agent_type="office", setup_schema=SCHEMA) as gate:
        await asyncio.gather(*(one(gate, json.loads(text)) for text in sys.argv[1:]))
        await asyncio.sleep(60)


asyncio.run(main())
