"""Cards as the console of `conftest` receives them, and its answers, for the tests of adapters."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from conftest import SOON
from console import Console, Key, canonical_digest

RULE = {"id": "r1", "version": 1, "name": "Lookups may go"}


class Asked:
    """The requests that arrive from now on. Each is handed out once."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._handed = len(console.received["request"])

    async def cards(
        self, count: int = 1, working: asyncio.Future[Any] | None = None, seconds: float = SOON
    ) -> list[dict[str, Any]]:
        """The next `count` cards, by their place in the turn. Fails where `working` ends before."""
        until = self._handed + count
        async with asyncio.timeout(seconds):
            while len(self.console.received["request"]) < until:
                if working is not None and working.done():
                    raise AssertionError(f"no card, but an end: {working.result()!r}")
                await asyncio.sleep(0.005)
        bodies = [json.loads(message.data) for message in self.console.received["request"][self._handed : until]]
        self._handed = until
        return sorted(bodies, key=lambda body: body.get("group", {}).get("index", 0))

    async def card(self, working: asyncio.Future[Any] | None = None, seconds: float = SOON) -> dict[str, Any]:
        [card] = await self.cards(1, working, seconds)
        return card

    async def none_came(self) -> None:
        await self.console.nc.flush()
        assert len(self.console.received["request"]) == self._handed

    async def answer(self, card: dict[str, Any], verdict: str = "approve", **changes: Any) -> None:
        await self.console.decide(card["request_id"], verdict, **changes)

    async def edit(self, card: dict[str, Any], args: Any) -> None:
        await self.answer(card, "modify", edited_args=args, args_digest=canonical_digest(args))

    async def by_rule(self, card: dict[str, Any], verdict: str = "approve") -> None:
        by = {"name": "console", "key": self.console.auto.public}
        await self.answer(card, verdict, origin="rule", rule=RULE, decided_by=by)

    async def forge(self, card: dict[str, Any]) -> None:
        """An approval that a stranger signed."""
        seen, stranger = await self.console.request(card["request_id"]), Key()
        body = self.console.decision(seen, decided_by={"name": "Ada", "key": stranger.public})
        await self.console.store(
            seen.decision_subject, *self.console.signed(seen.decision_subject, body, key=stranger)
        )

    async def receipt(self, card: dict[str, Any], stage: str) -> dict[str, Any]:
        return await self.console.receipt(card["request_id"], stage)

    async def span(self, card: dict[str, Any], status: str) -> dict[str, Any]:
        """The span of the call, once it ended so."""
        ids = card["traceparent"].split("-")[1:3]

        def ended(message: Any) -> bool:
            span = json.loads(message.data)
            return [span.get("trace_id"), span.get("span_id"), span.get("status")] == [*ids, status]

        found = await self.console.until("event", ended)
        return dict(json.loads(found.data))
