"""Asks what it is reported, all at once, runs what may run, and prints one line of JSON for each end.

Each argument is a JSON object: the fields of a `ToolCall`, or of what `kind` says, and `timeout` in seconds.
Refuses to run anything else than the decided arguments. Names of tools go out as they are given, as from an agent
with an SDK of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from countersign import Form, Gate, Question, ToolCall, wire

vars(wire)["tool_slug"] = str


def report(**line: Any) -> None:
    print(json.dumps(line), flush=True)


async def one(gate: Gate, fields: dict[str, Any]) -> None:
    kind, timeout = fields.pop("kind", "tool_call"), fields.pop("timeout", 60)
    if "allowed_verdicts" in fields:
        fields["allowed_verdicts"] = tuple(fields["allowed_verdicts"])
    call = {"question": Question, "form": Form}.get(kind, ToolCall)(**fields)
    decision = await gate.ask(call, timeout=timeout)
    name = fields.get("name", fields.get("text", fields.get("title")))
    if not decision.allowed:
        report(asked=name, verdict=decision.verdict, message=decision.message, response=decision.response)
        return
    report(asked=name, verdict=decision.verdict, ran=decision.args)
    await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest, message="done")


async def main() -> None:
    async with Gate.connect() as gate:
        await asyncio.gather(*(one(gate, json.loads(text)) for text in sys.argv[1:]))


asyncio.run(main())
