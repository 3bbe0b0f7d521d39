"""The ways in which an agent logs in, on real servers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from countersign import (
    BusLoginError,
    BusRefusedError,
    BusUnreachableError,
    Enrolment,
    EnrolmentError,
    Gate,
    ToolCall,
)
from countersign.login import GuardedClient, Login

from conftest import AGENT, SOON, WORKSPACE, Bench, opened, refused
from console import Key, b64
from nats_server import NatsServer


class Signer:
    """A server's operator or one of its accounts."""

    def __init__(self, kind: str) -> None:
        self.key = Key({"operator": 14, "account": 0}[kind])

    def token(self, subject: str, nats: dict) -> str:
        claims = {
            "jti": subject,
            "iat": 1,
            "iss": self.key.public,
            "sub": subject,
            "name": "n",
            "nats": {"version": 2, **nats},
        }
        header = {"typ": "JWT", "alg": "ed25519-nkey"}
        signed = ".".join(b64(json.dumps(part).encode()) for part in (header, claims))
        return f"{signed}.{b64(self.key.private.sign(signed.encode()))}"


UNLIMITED = dict.fromkeys(("subs", "data", "payload", "imports", "exports", "conn", "leaf"), -1)
STORAGE = {"mem_storage": -1, "disk_storage": -1, "wildcards": True}


class JwtServer(NatsServer):
    def __init__(self, folder: Path, operator: Signer, account: Signer) -> None:
        system = Signer("account")
        known = ((system, UNLIMITED), (account, {**UNLIMITED, **STORAGE}))
        self.jwts = {
            "operator": operator.token(
                operator.key.public, {"type": "operator", "system_account": system.key.public}
            ),
            "system_account": system.key.public,
            "resolver": "MEMORY",
            "resolver_preload": {
                at.key.public: operator.token(at.key.public, {"type": "account", "limits": limits})
                for at, limits in known
            },
        }
        super().__init__(folder, "", {})

    def config(self) -> dict:
        return {**{name: value for name, value in super().config().items() if name != "accounts"}, **self.jwts}


async def test_a_creds_file_logs_in_with_its_own_seed_or_the_enrolled_one(bench, tmp_path):
    account, agent = Signer("account"), Key()
    server = JwtServer(tmp_path, Signer("operator"), account)
    jwt = account.token(agent.public, {"type": "user", **UNLIMITED})
    text = f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n"
    seed = f"-----BEGIN USER NKEY SEED-----\n{agent.seed}\n------END USER NKEY SEED------\n"
    alone, whole = tmp_path / "alone.creds", tmp_path / "whole.creds"
    alone.write_text(text)
    whole.write_text(text + seed)
    console = replace(bench.console)
    try:
        await console.connect(server.url, agent, user_credentials=str(whole))
        await console.create_streams()
        enrolment = replace(bench.enrolment(), nats_url=server.url)
        for file, nkey_seed in ((whole, Key().seed), (alone, agent.seed)):
            async with Gate.connect(replace(enrolment, nats_creds=str(file), nkey_seed=nkey_seed)) as gate:
                call = ToolCall(name="t", args={}, risk="low", request_id=file.stem)
                asking = asyncio.ensure_future(gate.ask(call, timeout=20))
                await console.decide(file.stem)
                assert (await asking).allowed
        await refused(replace(enrolment, nats_creds=str(alone), nkey_seed=Key().seed), BusLoginError)
        await refused(replace(enrolment, nats_creds=str(tmp_path / "none")), EnrolmentError)
    finally:
        await console.nc.close()
        server.stop()


@pytest.fixture
async def own(tmp_path):
    """A server of this test's own, with a port that stays."""
    made = Bench(tmp_path)
    made.server.stop()
    made.server.start()
    await opened(made)
    yield made
    await made.console.nc.close()
    made.server.stop()


def asked(request_id: str) -> ToolCall:
    return ToolCall(name="t", args={}, request_id=request_id)


async def test_a_login_taken_away_is_told_at_once(own, request_id):
    async with Gate.connect(own.enrolment()) as gate:
        waiting = asyncio.create_task(gate.ask(asked(request_id), timeout=None))
        await own.console.request(request_id)
        del own.server.agents[(WORKSPACE, AGENT)]
        own.server.reload()
        async with asyncio.timeout(10):
            while gate._bus.connected:
                await asyncio.sleep(0.01)
        with pytest.raises(BusLoginError, match="enrol"):
            await asyncio.wait_for(gate.ask(asked(f"{request_id}-2"), timeout=None), SOON)
        # What the bus has already may still be answered, unless the library hung up for good.
        waiting.cancel()
        with pytest.raises((asyncio.CancelledError, BusLoginError)):
            await waiting


@pytest.mark.parametrize(
    ("said", "error"), [("Authorization Violation", BusLoginError), ("Invalid Something", BusRefusedError)]
)
async def test_a_connection_that_the_library_closed_for_good_ends_what_waits(
    bench, console, request_id, unprompted, said, error
):
    async with Gate.connect(bench.enrolment()) as gate:
        waiting = asyncio.create_task(gate.ask(asked(request_id), timeout=None))
        await console.request(request_id)
        await gate._bus._client._process_err(f"'{said}'")
        with pytest.raises(error):
            await asyncio.wait_for(waiting, SOON)
        with pytest.raises(error):
            await asyncio.wait_for(gate.ask(asked(f"{request_id}-2"), timeout=None), SOON)


async def test_a_login_refused_after_a_restart_is_told_and_may_come_back(own, request_id):
    async with Gate.connect(own.enrolment()) as gate:
        key = own.server.agents.pop((WORKSPACE, AGENT))
        await asyncio.to_thread(own.server.stop)
        await asyncio.to_thread(own.server.start)
        with pytest.raises(BusLoginError, match="enrol"):
            await asyncio.wait_for(gate.ask(asked(request_id), timeout=None), SOON)
        own.server.agents[(WORKSPACE, AGENT)] = key
        own.server.reload()
        async with asyncio.timeout(15):
            while not gate._bus.connected:
                await asyncio.sleep(0.01)
        asking = asyncio.create_task(gate.ask(asked(f"{request_id}-2"), timeout=20))
        await own.console.decide(f"{request_id}-2")
        assert (await asking).allowed


async def test_user_and_password_of_the_url_are_decoded(bench, tmp_path):
    class PasswordServer(NatsServer):
        def config(self) -> dict:
            users = [{"user": "bot", "password": "p@ss"}]
            return {**super().config(), "accounts": {"CORE": {"jetstream": "enabled", "users": users}}}

    server = PasswordServer(tmp_path, "", {})
    console = replace(bench.console)
    try:
        await console.connect(server.url, Key(), user="bot", password="p@ss")
        await console.create_streams()
        for login, error in (("bot:p%40ss", None), ("bot:other", BusLoginError)):
            enrolment = replace(bench.enrolment(), nats_url=f"nats://{login}@127.0.0.1:{server.port}")
            if error is None:
                async with Gate.connect(enrolment):
                    pass
            else:
                await refused(enrolment, error)
    finally:
        await console.nc.close()
        server.stop()


async def test_no_password_or_seed_is_written_anywhere(bench, caplog):
    caplog.set_level("DEBUG")
    enrolment = replace(bench.enrolment(), nats_url="nats://ada:hunter2@127.0.0.1:1")
    with pytest.raises(BusUnreachableError) as problem:
        async with Gate.connect(enrolment, connect_timeout=0.3):
            pass
    written = f"{enrolment!r} {enrolment} {Login.of(enrolment)!r} {problem.value!r} {caplog.text}"
    assert enrolment.agent in written
    assert "hunter2" not in written
    assert enrolment.nkey_seed not in written


async def headers_of(block: str) -> dict[str, str] | None:
    login = Login(["nats://127.0.0.1"], "_INBOX", tls=False, certificate=False, options={})
    return await GuardedClient(login)._process_headers(block.replace("\n", "\r\n").encode())


@pytest.mark.parametrize(
    ("block", "read"),
    [
        ("NATS/1.0\nCS-Key: a\nCS-Sig: b\n\n", {"CS-Key": "a", "CS-Sig": "b"}),
        # Of two values one reader takes the first and another the last.
        ("NATS/1.0\nCS-Key: a\nCS-Sig: b\nCS-Key: c\n\n", {"CS-Sig": "b"}),
        ("NATS/1.0\nCS-Key: a\nCS-Key: a\n\n", {}),
        ("NATS/1.0\nCS-Key: a\nCS-Key:c\n\n", {}),
        ("NATS/1.0\ncs-key: a\nCS-Key: c\n\n", {"cs-key": "a", "CS-Key": "c"}),
        # Only the server's own line says that nothing is stored.
        ("NATS/1.0\nStatus: 404\nCS-Key: a\n\n", {"CS-Key": "a"}),
        ("NATS/1.0 404 Message Not Found\n\n", {"Status": "404", "Description": "Message Not Found"}),
        ("NATS/1.0 503\n\n", {"Status": "503"}),
    ],
)
async def test_a_header_that_stands_twice_is_none_and_a_stored_one_is_not_the_servers_word(block, read):
    assert await headers_of(block) == read


async def test_a_library_that_does_not_show_how_it_reads_headers_opens_no_gate(monkeypatch):
    monkeypatch.delattr("nats.aio.client.Client._process_headers")
    with pytest.raises(BusRefusedError) as refusal:
        await headers_of("NATS/1.0\n\n")
    assert refusal.value.code == "unknown_library"


def test_files_of_agent_json_are_beside_it(agent_json):
    value = json.loads(agent_json.read_text())
    agent_json.write_text(json.dumps({**value, "tls_ca": "ca.pem", "nats_creds": "/abs.creds"}))
    loaded = Enrolment.load(agent_json)
    assert (loaded.tls_ca, loaded.tls_cert, loaded.nats_creds) == (
        str(agent_json.parent / "ca.pem"),
        None,
        "/abs.creds",
    )
