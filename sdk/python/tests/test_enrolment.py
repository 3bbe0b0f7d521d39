"""The enrolment: read whole or refused, with an error that says what is wrong and never holds the seed."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from countersign import BusUnreachableError, Enrolment, EnrolmentError, Gate, LogHead, SyncGate
from countersign.login import Login

from console import Key

KEY, OTHER = Key(), Key()
HEAD: dict[str, object] = {"root": "sha256:" + "0a" * 32, "n": 3, "digest": "sha256:" + "0b" * 32}
WHOLE: dict[str, Any] = {
    "nats_url": "nats://127.0.0.1:1",
    "workspace": "acme",
    "agent": "bot",
    "nkey_seed": KEY.seed,
    "inbox_prefix": f"_INBOX_{KEY.public}",
    "realm": "01234567-89ab-4def-8123-456789abcdef",
    "log": HEAD,
}


def naming(**about: object) -> dict:
    return {"log": {**HEAD, **about}}


DAMAGED = [
    ({"nats_url": None}, "nats_url"),
    ({"nats_url": ""}, "nats_url"),
    ({"realm": ""}, "realm"),
    ({"realm": "x"}, "`realm` is not a UUID"),
    ({"realm": WHOLE["realm"][:-1]}, "`realm` is not a UUID"),
    ({"realm": 5}, "realm"),
    ({"workspace": "Acme"}, "'Acme' is not a workspace"),
    ({"agent": "a.b"}, "'a.b' is not a workspace or agent name"),
    ({"nkey_seed": 5}, "`nkey_seed` is not text"),
    ({"nkey_seed": "SUAX"}, "`nkey_seed` is not an nkey seed"),
    ({"nkey_seed": KEY.seed[:-3]}, "`nkey_seed` is not an nkey seed"),
    ({"nkey_seed": KEY.public}, "`nkey_seed` is not an nkey seed"),
    ({"nkey_seed": "SUé"}, "`nkey_seed` is not an nkey seed"),
    ({"nkey_seed": "SUAX", "inbox_prefix": None}, "`nkey_seed` is not an nkey seed"),
    ({"nkey_seed": OTHER.seed}, "`inbox_prefix` is not that of `nkey_seed`"),
    ({"inbox_prefix": f"_INBOX_{OTHER.public}"}, "`inbox_prefix` is not that of `nkey_seed`"),
    ({"inbox_prefix": "_INBOX"}, "`inbox_prefix` is not that of `nkey_seed`"),
    ({"inbox_prefix": 5}, "`inbox_prefix` is not text"),
    ({"log": []}, "`log` is not"),
    ({"log": {}}, "`log` is not"),
    ({"log": "sha256:" + "0a" * 32}, "`log` is not"),
    (naming(root=None), "`log` is not"),
    (naming(root="0a" * 32), "`log` is not"),
    (naming(digest="sha256:" + "0A" * 32), "`log` is not"),
    (naming(n="3"), "`log` is not"),
    (naming(n=0), "`log` is not"),
    (naming(n=3.0), "`log` is not"),
    (naming(n=True), "`log` is not"),
    ({"tls_ca": 5}, "`tls_ca` is not a path"),
]

NO_SERVERS = [
    "nats://127.0.0.1:42a",
    "nats://127.0.0.1:99999",
    "nats://127.0.0.1:0",
    "nats://[::1",
    "nats://",
    "nats://bot:hunter2@",
    "nats://127.0.0.1:1,",
    "nats://127.0.0.1:1,ws://127.0.0.1:1",
    "ws://127.0.0.1:1",
    "http://127.0.0.1:1",
]

CONTENTS = {
    "cut": json.dumps(WHOLE).encode()[:-9],
    "UTF-16": json.dumps(WHOLE).encode("utf-16"),
    "Latin-1": json.dumps({**WHOLE, "agent": "é"}, ensure_ascii=False).encode("latin-1"),
    "nested without end": b"[" * 100_000,
    "empty": b"",
    "list": b"[]",
}


def written(path, content: dict | bytes):
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    path.chmod(0o600)
    return path


async def refused(path) -> str:
    """What opening a gate with this file says; a program without an event loop gets the same."""
    with pytest.raises(EnrolmentError) as reported:
        async with Gate.connect(path, connect_timeout=5):
            pass
    with pytest.raises(EnrolmentError) as again, SyncGate(path, connect_timeout=5):
        pass
    assert str(again.value) == str(reported.value)
    assert KEY.seed[:20] not in repr(reported.value)
    assert "hunter2" not in repr(reported.value)
    return str(reported.value)


def test_an_enrolment_is_read_whole(tmp_path, caplog):
    file = written(tmp_path / "agent.json", WHOLE)
    file.chmod(0o644)
    read = Enrolment.load(file)
    assert (read.workspace, read.agent, read.realm) == ("acme", "bot", WHOLE["realm"])
    assert read.log == LogHead(**HEAD)
    assert read.inbox_prefix == f"_INBOX_{KEY.public}"
    assert Enrolment.parse({**WHOLE, "inbox_prefix": None}) == read
    assert Enrolment.parse({**WHOLE, "realm": WHOLE["realm"].upper()}) == read
    assert "chmod 600" in caplog.text
    assert KEY.seed not in repr(read)


@pytest.mark.parametrize(("change", "reported"), DAMAGED)
async def test_a_damaged_field_opens_no_gate_and_is_named(tmp_path, change, reported):
    said = await refused(written(tmp_path / "agent.json", {**WHOLE, **change}))
    assert reported in said
    assert str(tmp_path / "agent.json") in said


@pytest.mark.parametrize("url", NO_SERVERS)
async def test_what_is_no_server_opens_no_gate_and_is_named(tmp_path, url):
    assert "nats://HOST:PORT" in await refused(written(tmp_path / "agent.json", {**WHOLE, "nats_url": url}))


@pytest.mark.parametrize("content", CONTENTS)
async def test_a_file_that_is_no_enrolment_opens_no_gate(tmp_path, content):
    file = written(tmp_path / "agent.json", CONTENTS[content])
    assert str(file) in await refused(file)


@pytest.mark.parametrize("name", ["none.json", ".", "nul\0.json"])
async def test_a_file_that_cannot_be_read_opens_no_gate(tmp_path, name):
    assert "cannot read" in await refused(tmp_path / name)


@pytest.mark.parametrize("url", ["127.0.0.1", "NATS://127.0.0.1:1", "nats://bot:p%40ss@[::1]:4222, tls://b.example"])
def test_a_server_may_be_spelt_shortly_or_loudly_and_stand_beside_others(url):
    login = Login.of(Enrolment.parse({**WHOLE, "nats_url": url}))
    assert [server.partition("://")[0] for server in login.servers] in (["nats"], ["nats", "tls"])


async def test_an_enrolment_made_by_hand_is_held_to_the_same():
    whole = Enrolment.parse(WHOLE)
    for change in ({"nkey_seed": "SUAX"}, {"nkey_seed": OTHER.seed}, {"inbox_prefix": "_INBOX"}):
        with pytest.raises(EnrolmentError):
            replace(whole, **change)


async def test_why_a_connection_never_began_is_told_and_not_how_it_was_closed():
    """The library refuses a host of this name before it connects; closing it then fails too."""
    with pytest.raises(BusUnreachableError, match="hostname"):
        async with Gate.connect(Enrolment.parse({**WHOLE, "nats_url": "nats://none:4222"}), connect_timeout=5):
            pass


def test_the_environment_names_the_enrolment(tmp_path, monkeypatch):
    monkeypatch.delenv("COUNTERSIGN_AGENT_JSON", raising=False)
    with pytest.raises(EnrolmentError, match="COUNTERSIGN_AGENT_JSON"):
        Enrolment.load()
    monkeypatch.setenv("COUNTERSIGN_AGENT_JSON", str(tmp_path / "none.json"))
    with pytest.raises(EnrolmentError, match=r"none\.json"):
        Enrolment.load()
