"""A bot of Flexus for tests: one tool that asks before it does anything, and notes each run."""

from __future__ import annotations

import asyncio
import json
from itertools import count

from countersign.adapters.flexus import FlexusGate

import flexus_kit as kit

ARGS = {"name": "Bob", "days": [1, 2]}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["name", "days"],
    "additionalProperties": False,
}
TOOL = kit.CloudTool(True, "fire", "Ends a contract", SCHEMA)
numbers = count(1)


def a_call(name="fire", args=ARGS, **about):
    return kit.FCloudtoolCall(f"call-{next(numbers)}", name, json.dumps(args, indent=1), **about)


class Office:
    """One tool that asks before it does anything, and notes each run."""

    def __init__(self, gate, *, key="confirm_fire", returns="fired", again=False, **options):
        made = isinstance(gate, FlexusGate)
        self.flexus = gate if made else FlexusGate(gate, tools=[TOOL], risks={"fire": "high"}, **options)
        self.runs: list[tuple] = []
        self.key, self.returns, self.again = key, returns, again
        self.handle = self.flexus.handler("fire")(self.fire)

    async def fire(self, toolcall, args):
        self.runs.append((toolcall.confirmed_by_human, json.loads(json.dumps(args)), toolcall.fcall_arguments))
        args["name"] = "changed by the first run"
        if not toolcall.confirmed_by_human or self.again:
            raise kit.NeedsConfirmation(self.key, "fire(Bob)", "Bob leaves")
        if isinstance(self.returns, BaseException):
            raise self.returns
        return self.returns

    def start(self, call=None):
        call = call or a_call()
        return asyncio.ensure_future(self.handle(call, json.loads(call.fcall_arguments)))
