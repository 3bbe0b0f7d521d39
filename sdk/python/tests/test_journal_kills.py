"""Agents that ask with a key and are killed at any moment: nothing runs twice, unapproved, or is asked twice.

`COUNTERSIGN_KILLS` says how often (5).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
from pathlib import Path

import pytest
from countersign import Gate, ToolCall

from cards import KILLS
from conftest import SOON

AGENTS = 4
"""So many are killed side by side: each mostly starts."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["countersign", "cryptography", "hypothesis", "pytest"])


def work(agent_json: str, folder: Path) -> None:
    """Asks for one call after the other, as a program does that notes which it has done."""

    async def main() -> None:
        done = folder / "done"
        async with Gate.connect(agent_json, journal=folder / "pending") as gate:
            while True:
                key = f"{folder.name}/{len(done.read_text().splitlines()) if done.exists() else 0}"
                decision = await gate.ask(ToolCall(name="pay", args={"key": key}), key=key)
                if decision.allowed:
                    note(folder / "ran", decision.request_id)
                note(done, key)

    asyncio.run(main())


def note(file: Path, line: str) -> None:
    with file.open("a") as opened:
        opened.write(f"{line}\n")
        opened.flush()
        os.fsync(opened.fileno())


class Person:
    """Answers every request a little later, and sees to it that none is asked while the same call still waits."""

    def __init__(self, console) -> None:
        self.console = console
        self.begun = len(console.received["request"])
        self.answered: dict[str, str] = {}
        self.waiting: dict[str, str] = {}
        self.asked_twice: list[str] = []
        self.tasks: set[asyncio.Task[None]] = set()

    async def look(self) -> None:
        while True:
            for message in self.console.received["request"][self.begun :]:
                body = json.loads(message.data)
                key, request_id = body["args"].get("key"), body["request_id"]
                if request_id not in self.answered and self.waiting.get(key) != request_id:
                    if key in self.waiting:
                        self.asked_twice.append(key)
                    self.waiting[key] = request_id
                    self.tasks.add(asyncio.create_task(self.answer(key, request_id)))
            self.begun = len(self.console.received["request"])
            await asyncio.sleep(0.005)

    async def answer(self, key: str, request_id: str) -> None:
        await asyncio.sleep(random.uniform(0, 0.2))
        verdict = random.choice(["approve", "approve", "deny"])
        self.answered[request_id] = verdict
        await self.console.decide(request_id, verdict)
        del self.waiting[key]


async def killed(agent_json: Path, folder: Path, times: int) -> None:
    for _ in range(times):
        process = processes.Process(target=work, args=(str(agent_json), folder))
        process.start()
        # From before it has a connection to after several calls.
        await asyncio.sleep(random.uniform(0, 1))
        process.kill()
        await asyncio.to_thread(process.join)


@pytest.fixture
def folders(tmp_path):
    made = [tmp_path / f"agent-{number}" for number in range(AGENTS)]
    for folder in made:
        folder.mkdir()
    return made


async def test_kills_at_random_moments(console, agent_json, folders):
    person = Person(console)
    looking = asyncio.create_task(person.look())
    await asyncio.gather(*(killed(agent_json, folder, -(-KILLS // AGENTS)) for folder in folders))
    last = [processes.Process(target=work, args=(str(agent_json), folder)) for folder in folders]
    for process in last:
        process.start()
    async with asyncio.timeout(2 * SOON):
        while not all((folder / "done").exists() for folder in folders):
            await asyncio.sleep(0.02)
    for process in last:
        process.kill()
        await asyncio.to_thread(process.join)
    await asyncio.gather(*person.tasks)
    looking.cancel()
    ran = [line for folder in folders if (folder / "ran").exists() for line in (folder / "ran").read_text().split()]
    print(f"{len(person.answered)} requests, {len(ran)} calls ran")
    assert person.asked_twice == []
    assert len(ran) == len(set(ran))
    assert [person.answered.get(request_id) for request_id in ran] == ["approve"] * len(ran)
    assert person.answered
