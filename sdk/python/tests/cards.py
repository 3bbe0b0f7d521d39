"""Cards of a real console, for the tests of adapters: wait for them, answer them, read the receipts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from pathlib import Path
from typing import Any

from countersign import Enrolment, Gate

from test_console import PAUSE, SECONDS, RealConsole

KILLS = int(os.environ.get("COUNTERSIGN_KILLS", "5"))
"""How often the tests of a killed process kill one."""

RULE = """schema = 1
[[rule]]
id = "lookups"
name = "Lookups may go"
effect = "approve"
expires_at = "2127-01-01T00:00:00Z"
tool = ["lookup*"]
risk = ["low"]
"""


class Card(dict[str, Any]):
    """A request as `show --json` prints it."""

    @property
    def id(self) -> str:
        return str(self["request_id"])

    @property
    def request(self) -> dict[str, Any]:
        return dict(self["request"])

    @property
    def args(self) -> Any:
        return self.request["args"]


class Desk:
    """One real console and the person who answers it. Each card is handed out once."""

    def __init__(self, folder: Path) -> None:
        self.console = RealConsole(folder)
        self._seen: set[str] = set()

    async def start(self) -> Desk:
        await self.console.start()
        return self

    @property
    def agent_json(self) -> str:
        return str(self.console.ready["agent_json"])

    def gate(self, **options: Any) -> contextlib.AbstractAsyncContextManager[Gate]:
        return Gate.connect(Enrolment.load(self.agent_json), **options)

    async def allow_lookups(self) -> None:
        """From now on a rule named "Lookups may go" allows every tool `lookup*` whose risk is low."""
        rules = self.console.log.with_name("rules.toml")
        rules.write_text(RULE)
        await self.console.done("rules", "apply", str(rules))

    async def cards(self, count: int, working: asyncio.Future[Any] | None = None) -> list[Card]:
        """The next `count` cards, by their place in the turn, then as they came.

        Fails with what `working` raised if that ends before.
        """
        found: list[str] = []
        async with asyncio.timeout(SECONDS):
            while len(found) < count:
                ended = working is not None and working.done()
                for line in (await self.console.done("inbox", "--json")).splitlines():
                    request_id = json.loads(line)["request_id"]
                    if request_id not in self._seen:
                        self._seen.add(request_id)
                        found.append(request_id)
                if ended and len(found) < count and working is not None:
                    raise AssertionError(f"no card, but an end: {working.result()!r}")
                await asyncio.sleep(PAUSE if len(found) < count else 0)
        shown = [await self.shown(request_id) for request_id in sorted(found)]
        return sorted(shown, key=lambda card: card.request.get("group", {}).get("index", 0))

    async def card(self, working: asyncio.Future[Any] | None = None) -> Card:
        [card] = await self.cards(1, working)
        return card

    async def shown(self, request_id: str) -> Card:
        return Card(json.loads(await self.console.done("show", request_id, "--json")))

    async def approve(self, card: Card, args: Any = None) -> None:
        edit = [] if args is None else ["--args", json.dumps(args)]
        await self.console.done("approve", card.id, *edit)

    async def deny(self, card: Card, message: str = "no", *, terminate: bool = False) -> None:
        await self.console.done("deny", card.id, "--message", message, *(["--terminate"] if terminate else []))

    async def skip(self, card: Card) -> None:
        await self.console.done("skip", card.id)

    async def respond(self, card: Card, content: Any) -> None:
        if isinstance(content, str):
            await self.console.done("respond", card.id, "--content", content)
            return
        file = self.console.log.with_name(f"{card.id}.json")
        file.write_text(json.dumps(content))
        await self.console.done("respond", card.id, "--json-content", str(file))

    async def receipt(self, card: Card, stage: str) -> dict[str, Any]:
        """The receipt of this stage, once it came."""
        async with asyncio.timeout(SECONDS):
            while True:
                for receipt in (await self.shown(card.id))["receipts"]:
                    if receipt["stage"] == stage:
                        return dict(receipt)
                await asyncio.sleep(PAUSE)

    async def span(self, card: Card, status: str) -> dict[str, Any]:
        """The span of the call, once it ended so."""
        trace_id = card.request["traceparent"].split("-")[1]
        async with asyncio.timeout(SECONDS):
            while True:
                code, out, _ = await self.console.run("trace", trace_id, "--json")
                for span in _below(json.loads(out)["roots"]) if code == 0 else []:
                    if span["span_id"] == card.request["traceparent"].split("-")[2] and span["status"] == status:
                        return span
                await asyncio.sleep(PAUSE)


def _below(spans: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [found for span in spans for found in (span, *_below(span["children"]))]
