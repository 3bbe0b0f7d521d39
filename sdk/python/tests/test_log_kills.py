"""`kill -9` between the steps of a change of the operators: afterwards it is made or not begun, and said again it is
made once (protocol, section 8).

`COUNTERSIGN_KILLS` above 5: at every message that has to do with the log, and not only around the entries.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import nats
import pytest
from countersign.realm import Realm as Fold

from cards import KILLS
from conftest import SOON
from console import Key
from cut import Cut
from played import b64, listed
from test_console import PAUSE, RealConsole


def touches_the_log(message: bytes) -> bool:
    """Whether it writes or reads a slot, or an ask."""
    if KILLS > 5:
        return b"realm." in message or b"ask." in message or b"CS_POLICY" in message
    subject = message.split(b" ")[1]
    return subject.startswith((b"countersign.v1.realm.", b"$KV.CS_POLICY.ask."))


class Log(Fold):
    """The log as an agent folds it, and the word of each slot."""

    words: list[str]

    def of(self, console_id: str) -> list[tuple[str, str]]:
        """Role and key of each key in force that a console has."""
        keys = [key for record in self.operators.values() for key in record["keys"]]
        return sorted((key["role"], key["key"]) for key in keys if key.get("device") == console_id)


class Realm:
    """A console with a bus of its own, whose person founded the realm, and a way to that bus that can be cut."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ada = RealConsole(folder / "ada")

    async def open(self) -> Realm:
        (self.folder / "ada").mkdir()
        await self.ada.start()
        url = self.ada.ready["nats_url"]
        self.cut = await Cut(int(url.rsplit(":", 1)[1]), touches_the_log).start()
        login = (self.folder / "ada/keys/login.nk").read_text().strip()
        self.nc = await nats.connect(url, nkeys_seed_str=login)
        return self

    async def close(self) -> None:
        await self.nc.close()
        await self.cut.stop()
        await self.ada.stop()

    def beside(self, name: str) -> RealConsole:
        """Another console of this realm, on the way that can be cut."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        console = RealConsole(folder)
        console.environment |= {
            "COUNTERSIGN_OPERATOR": name,
            "COUNTERSIGN_NATS_URL": f"nats://127.0.0.1:{self.cut.port}",
            "COUNTERSIGN_NATS_NKEY": str(self.folder / "ada/keys/login.nk"),
        }
        return console

    async def log(self) -> Log:
        log = Log(self.ada.ready["realm"], self.ada.ready["log"]["root"])
        log.words = []
        js = self.nc.jetstream(timeout=SOON)
        while True:
            slot = len(log.words) + 1
            try:
                message = await js.get_last_msg("CS_DECISIONS", f"countersign.v1.realm.{slot}")
            except nats.js.errors.NotFoundError:
                return log
            assert message.seq is not None
            log.words.append(log.apply(slot, message.seq, message.data or b""))

    async def ask(self) -> str:
        """Somebody asks; the key."""
        key, realm = Key(), self.ada.ready["realm"]
        about = {"v": 1, "at": "x", "name": str(uuid.uuid4()), "operator": key.public, "key": listed(realm, key)}
        payload = json.dumps(about).encode()
        subject = f"$KV.CS_POLICY.ask.{key.public}"
        value = {"payload": b64(payload), "key": key.public, "sig": key.sign("policy", realm, subject, payload)}
        await self.nc.request(subject, json.dumps(value).encode(), timeout=SOON)
        return key.public

    async def killed(self, console: RealConsole, at: int, through: bool, *arguments: str) -> bool:
        """Ends the command at this message; false where it was through before."""
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            console.binary, *arguments, stdout=pipe, stderr=pipe, env=console.environment
        )
        self.cut.arm(at, through, process.kill)
        _, err = await asyncio.wait_for(process.communicate(), SOON)
        self.cut.arm(0, False, lambda: None)
        assert process.returncode in (0, -9), err.decode()
        return process.returncode != 0


@pytest.fixture(scope="module")
async def realm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Realm]:
    made = await Realm(tmp_path_factory.mktemp("realm")).open()
    yield made
    await made.close()


@pytest.fixture(scope="module")
async def grace(realm: Realm) -> RealConsole:
    """An administrator whose console does not run: a command in its folder joins the bus for itself."""
    console = realm.beside("Grace")
    await console.start()
    await realm.ada.done("operators", "admin", console.ready["operator_key"], "on")
    await realm.ada.done("operators", "acceptance", "on")
    await console.stop()
    return console


Command = Callable[[], Awaitable[tuple[str, ...]]]

POINTS = [(at, through) for at in range(1, 60) for through in (False, True)]


async def one_kill_each(realm: Realm, console: RealConsole, arguments: Command) -> None:
    """Kills the command at each point, looks, and says it again, until it is through before the point comes."""
    for at, through in POINTS:
        command = await arguments()
        before = await realm.log()
        killed = await realm.killed(console, at, through, *command)
        some = await realm.log()
        assert some.words[: len(before.words)] == before.words
        assert len(some.words) - len(before.words) <= 1
        if killed:
            await console.done(*command)
        after = await realm.log()
        assert len(after.words) - len(before.words) == 1, f"{command}: killed at {at}, {through}"
        assert set(after.words) == {"ok"}
        if not killed:
            assert at > 1
            return
    pytest.fail("it never ended")


async def accepted(realm: Realm) -> str:
    key = await realm.ask()
    await realm.ada.done("operators", "accept", key)
    return key


async def test_accepting(realm: Realm, grace: RealConsole) -> None:
    async def command() -> tuple[str, ...]:
        return "operators", "accept", await realm.ask()

    await one_kill_each(realm, grace, command)


async def test_limiting_and_retiring(realm: Realm, grace: RealConsole) -> None:
    async def limit() -> tuple[str, ...]:
        return "operators", "limit", await accepted(realm), "--max-risk", "low"

    async def retire() -> tuple[str, ...]:
        return "operators", "retire", await accepted(realm), await accepted(realm)

    for command in (limit, retire):
        await one_kill_each(realm, grace, command)


async def test_joining(realm: Realm) -> None:
    await realm.ada.done("operators", "acceptance", "off")
    for at, through in POINTS:
        console = realm.beside(f"Newcomer {at} {through}")
        before = await realm.log()
        pipe = asyncio.subprocess.PIPE
        with console.log.open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                console.binary, "serve", stdout=pipe, stderr=log, env=console.environment
            )
        realm.cut.arm(at, through, process.kill)
        ended = asyncio.create_task(process.wait())
        console_id = console.log.with_name("keys") / "console-id"
        async with asyncio.timeout(SOON):
            while not ended.done():
                if console_id.exists() and len((await realm.log()).of(console_id.read_text().strip())) == 2:
                    break
                await asyncio.sleep(PAUSE)
        joined = len(realm.cut.seen) < at
        if joined:
            process.terminate()
        await asyncio.wait_for(ended, SOON)
        realm.cut.arm(0, False, lambda: None)
        await console.start()
        if at > 8:
            # Twenty in an hour are let in without a person.
            await realm.ada.done("operators", "accept", console.ready["operator_key"])
        async with asyncio.timeout(SOON):
            while len((await realm.log()).of(console_id.read_text().strip())) != 2:
                await asyncio.sleep(PAUSE)
        await console.stop()
        after = await realm.log()
        assert set(after.words) == {"ok"}
        # Let in once, and its own key added once.
        assert len(after.words) - len(before.words) == 2, f"killed at {at}, {through}"
        assert len(after.operators) - len(before.operators) == 1
        if joined:
            assert at > 2
            return
    pytest.fail("it never ended")
