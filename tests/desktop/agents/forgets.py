"""Takes a stream away from a bus, as a server that lost its disk does: URL, seed of the console's login, stream."""

import asyncio
import sys

import nats


async def main(url: str, seed: str, stream: str) -> None:
    client = await nats.connect(url, nkeys_seed=seed)
    await client.jetstream().delete_stream(stream)
    await client.close()


asyncio.run(main(*sys.argv[1:]))
