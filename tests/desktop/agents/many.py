"""Sends one trace of as many spans as it is reported: a root, chains below it, and tools below each.

Refuses to ask for anything.
"""

from __future__ import annotations

import asyncio
import datetime
import sys

from countersign import Gate

FAN = 100


async def main() -> None:
    count = int(sys.argv[1])
    start = datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)

    def at(ms: int) -> str:
        return (start + datetime.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async with Gate.connect() as gate:
        for number in range(count):
            parent = None if number == 0 else 0 if number % FAN == 1 else number - (number - 1) % FAN
            kind = "agent" if number == 0 else "chain" if number % FAN == 1 else "tool"
            span = {
                "v": 1,
                "type": "span",
                "trace_id": "many",
                "span_id": f"s{number}",
                "name": f"{kind} number {number}",
                "kind": kind,
                "started_at": at(number * 40),
                "ended_at": at(count * 40 if number == 0 else number * 40 + (3_900 if kind == "chain" else 35)),
                "status": "error" if number % 997 == 5 else "ok",
                "usage": {"tokens_charged": number % 7, "execution_time_ms": 35},
            }
            if parent is not None:
                span["parent_span_id"] = f"s{parent}"
            gate.span(span)  # type: ignore[arg-type]
            if number % 500 == 499 or number == count - 1:
                # The queue is bounded and drops what a slow bus cannot take.
                await gate._spans._queue.join()


asyncio.run(main())
