"""Agents of the Kate SDK for tests: what runs a loop, notes what a tool ran with, and answers the cards."""

from __future__ import annotations

import asyncio
import threading

from countersign.adapters.kate import KateGate
from projectkate import LocalTool

from console import Console
from kate_world import World
from office import arrived

GO = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "go"}]
BERLIN = {"city": "Berlin"}
START = {"n": 0}
"""How many requests there were before the test."""


class Notes:
    """A local tool, as a plain function or an `async def`, that notes what it ran with."""

    def __init__(self, *, plain: bool = False) -> None:
        self.ran: list[dict] = []
        self.threads: set[int] = set()

        async def note(text: str, copies: int = 1) -> dict:
            return run(text, copies)

        def run(text: str, copies: int = 1) -> dict:
            self.ran.append({"text": text, "copies": copies})
            self.threads.add(threading.get_ident())
            return {"noted": text}

        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        self.tool = LocalTool("note", "Keeps a note", schema, run if plain else note)


def start(kate: KateGate, world: World, provider: str, notes: Notes | None = None, **more) -> asyncio.Task:
    tools = [notes.tool] if notes is not None else None
    client = world.client(provider)
    return asyncio.ensure_future(kate.tool_loop(client, model="m", messages=GO, local_tools=tools, **more))


async def card(console: Console, before: int, number: int, working: asyncio.Task) -> dict:
    return (await arrived(console, before, number, working))[-1]


async def only(console: Console, working: asyncio.Task, verdict: str = "approve", **changes) -> dict:
    """The one card of this test, answered."""
    body = await card(console, START["n"], 1, working)
    await console.decide(body["request_id"], verdict, **changes)
    return body
