"""Publishes bytes on its own request subjects, as an agent that does not keep to the protocol.

Arguments: pairs of a request id and the payload. Prints how the bus answered each.
"""

from __future__ import annotations

import asyncio
import sys

import nats
from countersign import Enrolment


async def main() -> None:
    known = Enrolment.load()
    client = await nats.connect(
        known.nats_url, nkeys_seed_str=known.nkey_seed, inbox_prefix=known.inbox_prefix.encode()
    )
    stem = f"countersign.v1.request.{known.workspace}.{known.agent}"
    for name, payload in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        answer = await client.request(f"{stem}.{name}", payload.encode(), timeout=5)
        print(answer.data.decode(), flush=True)
    await client.close()


asyncio.run(main())
