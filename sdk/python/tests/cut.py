"""A way to the bus that ends a process at a chosen message: `kill -9` between two steps, and not after some time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

GRACE = 0.3
"""Seconds that an answer has to arrive before the end, where the message was let through."""


class Cut:
    """Passes everything on until the message number `at` that `counts`; then `kill` is called."""

    def __init__(self, server: int, counts: Callable[[bytes], bool]) -> None:
        self.server = server
        self.counts = counts
        self.open: set[asyncio.Task[None]] = set()
        self.arm(0, False, lambda: None)

    def arm(self, at: int, through: bool, kill: Callable[[], None]) -> None:
        """`at` counts from 1, 0 never; `through`: the message gets to the bus, its answer does not come back."""
        self.seen: list[bytes] = []
        self.at, self.through, self.kill = at, through, kill
        self.closed = False

    async def start(self) -> Cut:
        self.listener = await asyncio.start_server(self._accepted, "127.0.0.1", 0)
        self.port = self.listener.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        self.listener.close()
        for task in self.open:
            task.cancel()
        await asyncio.gather(*self.open, return_exceptions=True)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connection(reader, writer))
        self.open.add(task)
        task.add_done_callback(self.open.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs, ours = await asyncio.open_connection("127.0.0.1", self.server)
        back = asyncio.create_task(self._back(theirs, writer))
        try:
            await self._forth(reader, ours)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            back.cancel()
            for end in (writer, ours):
                end.close()

    async def _back(self, theirs: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await theirs.read(65536):
            if not self.closed:
                writer.write(data)

    async def _forth(self, reader: asyncio.StreamReader, ours: asyncio.StreamWriter) -> None:
        while line := await reader.readuntil(b"\r\n"):
            if line.startswith((b"PUB ", b"HPUB ")):
                line += await reader.readexactly(int(line.split()[-1]) + 2)
                if self.counts(line):
                    self.seen.append(line)
                    if len(self.seen) == self.at:
                        await self._end(ours, line)
            if not self.closed:
                ours.write(line)

    async def _end(self, ours: asyncio.StreamWriter, line: bytes) -> None:
        self.closed, kill = True, self.kill
        if self.through:
            ours.write(line)
            await ours.drain()
            await asyncio.sleep(GRACE)
        kill()
