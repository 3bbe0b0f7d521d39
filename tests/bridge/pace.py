"""How fast commands become cards: `python tests/bridge/pace.py --rate 200 --seconds 60` beside nothing else.

Prints the time from a command's publishing to its request in the console's log, and how many commands CommonGround's
bus still holds unacknowledged. Fails where a card is missing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from commonground import CommonGround
from desk import BINARY, NATS, Bridge, Desk

DURABLE = "countersign_desk_cmd_v1r4"


async def commands(ground: CommonGround, rate: float, count: int) -> dict[str, float]:
    """Publishes in time, whatever the bus answers; when each call was published."""
    sent: dict[str, float] = {}
    begun = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            await asyncio.sleep(max(0.0, begun + number / rate - time.monotonic()))
            call = f"pace-{number}"
            ground.card(call)
            sent[call] = time.time()
            group.create_task(ground.command(call, Turn_Id=f"turn-{number // 10}"))
    return sent


def arrived(log: Path) -> dict[str, float]:
    """When the console's log has the first request of each call, by its request id."""
    found: dict[str, float] = {}
    for line in log.read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "request":
            found.setdefault(event["request_id"], datetime.fromisoformat(event["at"]).timestamp())
    return found


async def main(rate: float, seconds: float) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ground = CommonGround(folder / "cg", NATS)
        await ground.start()
        desk = Desk(folder, ["p1"])
        bridge = Bridge(folder, desk, ground)
        bridge.start()
        log = folder / "watch.log"
        with log.open("wb") as out:
            watching = subprocess.Popen([BINARY, "watch", "--json"], env=desk.env, stdout=out, stderr=out)  # noqa: ASYNC220
        await asyncio.sleep(2)
        count = round(rate * seconds)
        sent = await commands(ground, rate, count)
        until = time.monotonic() + 60
        while time.monotonic() < until and len(arrived(log)) < count:
            await asyncio.sleep(1)
        pending = (await ground.js.consumer_info("cg_cmd_v1r4", DURABLE)).num_ack_pending
        calls = {line["request_id"]: line["tool_call_id"] for line in bridge.list()}
        took = [at - sent[calls[request_id]] for request_id, at in arrived(log).items() if request_id in calls]
        watching.terminate()
        watching.wait(10)
        bridge.kill()
        desk.stop()
        await ground.stop()
    cuts = statistics.quantiles(took, n=100, method="inclusive")
    print(
        f"{count} commands in {seconds:.0f} s: {len(took)} cards, p50 {cuts[49]:.2f} s, p99 {cuts[98]:.2f} s, ",
        end="",
    )
    print(f"last {max(took):.2f} s; num_ack_pending {pending}")
    return 0 if len(took) == count else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    wanted = parser.parse_args()
    sys.exit(asyncio.run(main(wanted.rate, wanted.seconds)))
