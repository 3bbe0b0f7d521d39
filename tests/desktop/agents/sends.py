"""Publishes bytes on its own request subjects, as an agent that does not keep to the protocol.

Arguments: pairs of a request id and the payload. Prints how the bus answered each.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys

import nats


async def main() -> None:
    with open(os.environ["COUNTERSIGN_AGENT_JSON"], encoding="utf-8") as file:
        enrolment = json.load(file)
    client = await nats.connect(
        enrolment["nats_url"],
        nkeys_seed_str=enrolment["nkey_seed"],
        inbox_prefix=enrolment["inbox_prefix"].encode(),
    )
    stem = f"countersign.v1.request.{enrolment['workspace']}.{enrolment['agent']}"
    for name, payload in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        answer = await client.request(f"{stem}.{name}", payload.encode(), timeout=5)
        print(answer.data.decode(), flush=True)
    await client.close()


asyncio.run(main())
