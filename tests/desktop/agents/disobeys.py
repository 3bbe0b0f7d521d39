"""Asks once, and says that the call ran whatever the answer was: an agent that nobody should trust.

Runs nothing. The argument is a JSON object: the fields of a `ToolCall`.
"""

from __future__ import annotations

import asyncio
import json
import sys

from countersign import Gate, ToolCall


async def main() -> None:
    async with Gate.connect() as gate:
        decision = await gate.ask(ToolCall(**json.loads(sys.argv[1])), timeout=60)
        await gate.receipt(
            decision, "executed", executed_args_digest=decision.args_digest, message="done all the same"
        )
    print(json.dumps({"verdict": decision.verdict}), flush=True)


asyncio.run(main())
