"""A selectools agent for tests: an offline model that plays a script, and one tool that notes what it ran."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

from countersign.adapters.selectools import SelectoolsGate
from selectools import Agent, AgentConfig, Message, Role, Tool, ToolPolicy
from selectools.tools import ToolParameter
from selectools.types import ToolCall as ScriptedCall
from selectools.usage import UsageStats

from conftest import SOON
from console import Console

ARGS = {"invoice_id": "INV-42"}


class Script:
    """A provider that answers with the given turns of tool calls, then with "done". Keeps what it was shown."""

    name = "script"
    supports_streaming = False
    supports_async = True

    def __init__(self, *turns: list[tuple[str, dict]]) -> None:
        self.turns = list(turns)
        self.shown: list[Message] = []

    def complete(self, *, messages, **_):
        self.shown = list(messages)
        usage = UsageStats(0, 0, 0, 0.0, "script", "script")
        if not self.turns:
            return Message(role=Role.ASSISTANT, content="done"), usage
        calls = [
            ScriptedCall(tool_name=name, parameters=args, id=f"call_{n}")
            for n, (name, args) in enumerate(self.turns.pop(0))
        ]
        return Message(role=Role.ASSISTANT, content="", tool_calls=calls), usage

    async def acomplete(self, **options):
        return self.complete(**options)

    def tool_texts(self) -> list[str]:
        return [message.content for message in self.shown if message.role == Role.TOOL]


class Office:
    """An agent whose one tool notes what it was run with."""

    def __init__(
        self, bench, script: Script, *, kind: str = "confirm", timeout: float = 20.0, settings=None, **options
    ) -> None:
        self.ran: list[dict] = []
        self.script = script
        self.bench = bench
        self.kind = kind
        self.timeout = timeout
        self.settings = settings or {}
        self.options = options

    def tool(self, **about) -> Tool:
        def delete(invoice_id: str, copies: int = 1) -> str:
            self.ran.append({"invoice_id": invoice_id, "copies": copies})
            return f"deleted {invoice_id}"

        parameters = [
            ToolParameter("invoice_id", str, "which"),
            ToolParameter("copies", int, "how many", required=False),
        ]
        return Tool("delete_invoice", "Deletes an invoice", parameters, delete, **about)

    def work(self, asynchronous: bool) -> None:
        tool = self.tool()
        with SelectoolsGate.open(
            self.bench.enrolment(),
            tools=[tool],
            approval_timeout=self.timeout,
            risks={"delete_invoice": "high"},
            **self.options,
        ) as gate:
            self.run(gate, tool, self.config(gate), asynchronous)

    def config(self, gate: SelectoolsGate, **settings):
        settings = {"policy": ToolPolicy(review=["*"]), **self.settings, **settings}
        if self.kind.startswith("handler"):
            return gate.tool_config(
                asynchronous=self.kind.endswith("async"), approval_handler=gate.handle, **settings
            )
        return gate.tool_config(asynchronous=self.kind == "async", **settings)

    def run(self, gate: SelectoolsGate, tool: Tool, config, asynchronous: bool) -> None:
        settings = AgentConfig(
            tool=config,
            observers=[gate],
            max_iterations=5,
            cancellation_token=self.options.get("cancel_token"),
        )
        agent = Agent(tools=[tool], provider=self.script, config=settings)
        asyncio.run(agent.arun("go")) if asynchronous else agent.run("go")

    def start(self, asynchronous: bool = False) -> asyncio.Future:
        return asyncio.ensure_future(asyncio.to_thread(self.work, asynchronous))


async def arrived(
    console: Console, before: int, count: int = 1, working: asyncio.Future | None = None, seconds: float = SOON
) -> list[dict]:
    async with asyncio.timeout(seconds):
        while len(console.received["request"]) < before + count:
            if working is not None and working.done():
                working.result()
            await asyncio.sleep(0.005)
    return [json.loads(message.data) for message in console.received["request"][before:]]


async def one(console: Console, start: Callable[[], asyncio.Future]) -> tuple[asyncio.Future, dict]:
    before = len(console.received["request"])
    working = start()
    return working, (await arrived(console, before, 1, working))[0]
