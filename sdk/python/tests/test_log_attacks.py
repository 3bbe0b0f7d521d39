"""What somebody tries at the realm log (protocol, section 8): none of it counts, and none stops an honest agent.

Each test has a realm of its own, whose consoles are played.
"""

from __future__ import annotations

import json

import pytest
from countersign import Gate
from nats.errors import TimeoutError as NatsTimeoutError

from conftest import AGENT, WORKSPACE, Bench, opened
from console import Key
from outcome import asked, decided, ended, honest, let_in, outcome, raw
from played import Phone, listed, record, sealed
from played import ended as records_of_the_end

SLOT = "countersign.v1.realm"


@pytest.fixture
async def own(tmp_path):
    made = await opened(Bench(tmp_path))
    yield made
    await made.console.nc.close()
    made.server.stop()


@pytest.fixture
async def gate(own: Bench, monkeypatch):
    monkeypatch.setattr("countersign.waiting.UNKNOWN_KEY_PATIENCE", 0.3)
    async with Gate.connect(own.enrolment()) as opened_gate:
        yield opened_gate


async def end(own: Bench, key: Key) -> None:
    await own.console.write(operators=records_of_the_end(key))


async def fill(own: Bench, message: bytes, **headers: str) -> None:
    """The next slot, with anything at all."""
    own.console.log.junk(message)
    await own.console.put_log(len(own.console.log.messages), **headers)


JUNK = [b"", b"\xff\x00", b"{}", b"[]", b"null", b"[" * 5000, b"x" * 900_000, b'{"payload":"","key":"U","sig":""}']


async def test_bytes_of_any_kind_in_slot_after_slot(own: Bench, gate):
    grace = await let_in(own)
    for message in [*JUNK, *(str(n).encode() for n in range(150))]:
        await fill(own, message)
    assert await outcome(own, gate, grace) == "runs"
    await end(own, grace)
    assert await outcome(own, gate, grace) == "unknown_key"
    await honest(own, gate)


LIES = {
    "Status": "404",
    "Description": "Message Not Found",
    "Nats-Sequence": "1",
    "Nats-Subject": f"{SLOT}.1",
    "Nats-Stream": "ELSEWHERE",
    "Nats-Time-Stamp": "2020-01-01T00:00:00Z",
}


@pytest.mark.parametrize("lies", [LIES, *({name: LIES[name]} for name in LIES)], ids=["all", *LIES])
async def test_a_slot_whose_headers_speak_as_the_server_does(own: Bench, gate, lies):
    grace = await let_in(own)
    await fill(own, b"junk", **lies)
    own.console.log.add(own.console.human, operators=records_of_the_end(grace))
    await own.console.put_log(len(own.console.log.messages), **lies)
    assert await outcome(own, gate, grace) == "unknown_key"
    await honest(own, gate)


HEADERS = {
    "a status of its own": b"NATS/1.0 404 Message Not Found\r\n\r\n",
    "no responders": b"NATS/1.0 503\r\n\r\n",
    "a status that is no text": b"NATS/1.0 404 \xff\xfe\r\n\r\n",
    "no line": b"NATS/1.0\r\n\r\n",
    "no header": b"NATS/1.0\r\nno header at all\r\n:\r\n: x\r\n\r\n",
    "no text": b"NATS/1.0\r\n\xff\xfe: \xfd\r\nA B: c\r\n\r\n",
    "an end in between": b"NATS/1.0\r\nA: b\r\n\r\nNats-Sequence: 9\r\n\r\n",
    "no NATS": b"HTTP/9.9 nothing\r\n\r\n",
    "no end": b"NATS/1.0\r\nA: bc",
}


@pytest.mark.parametrize("name", HEADERS)
async def test_a_slot_whose_header_lines_nobody_can_parse(own: Bench, gate, name):
    grace = await let_in(own)
    own.console.log.junk(b"junk")
    await raw(own, f"{SLOT}.{len(own.console.log.messages)}", HEADERS[name], b"junk")
    await end(own, grace)
    assert await outcome(own, gate, grace) == "unknown_key"
    await honest(own, gate)


async def test_a_decision_of_an_ended_key_that_its_headers_place_before_the_end(own: Bench, gate):
    grace = await let_in(own)
    await end(own, grace)
    asking, seen = await asked(own, gate)
    await decided(own, seen, grace, headers={"Nats-Sequence": "3", "Nats-Time-Stamp": "2020-01-01T00:00:00Z"})
    assert await ended(asking) == "unknown_key"
    await honest(own, gate)


async def test_a_signed_entry_in_a_slot_before_which_others_are_free(own: Bench, gate, monkeypatch):
    grace = await let_in(own)
    log = own.console.log
    at = len(log.messages) + 3
    early = log.entry(own.console.human, operators=records_of_the_end(grace))
    await own.console.store(f"{SLOT}.{at}", early, None)
    assert await outcome(own, gate, grace) == "runs"
    await fill(own, b"junk")
    await fill(own, b"junk")
    log.junk(early)
    whole = 0
    read = gate._looks._read_whole

    async def counted() -> None:
        nonlocal whole
        whole += 1
        await read()

    monkeypatch.setattr(gate._looks, "_read_whole", counted)
    for _ in range(5):
        assert await outcome(own, gate, grace) == "runs"
    assert whole <= 1
    await end(own, grace)
    assert await outcome(own, gate, grace) == "unknown_key"
    await honest(own, gate)


async def test_entries_of_strangers_and_entries_stored_again(own: Bench, gate):
    console, log = own.console, own.console.log
    stranger, grace = Key(), await let_in(own)
    mine = [record(log.realm, stranger, admin=True)]
    founding = log.messages[0]
    await fill(own, log.entry(stranger, operators=mine))
    await fill(own, sealed(log.realm, stranger, log.payload(console.human, operators=mine)))
    forged = json.loads(log.entry(console.human, operators=mine))
    await fill(own, json.dumps({**forged, "sig": json.loads(founding)["sig"]}).encode())
    first = {"n": 1, "prev": None, "operators": mine, "realm": {"acceptance": False}}
    await fill(own, log.entry(stranger, **first))
    await fill(own, log.entry(console.human, **first))
    for message in [*log.messages]:
        await fill(own, message)
    assert await outcome(own, gate, stranger) == "unknown_key"
    assert await outcome(own, gate, grace) == "runs"
    await honest(own, gate)


async def test_an_agents_login_writes_no_slot_and_no_ask_and_reads_no_policy(own: Bench, gate):
    agent, js = gate._bus._client, own.console.js
    before = (await js.stream_info("CS_DECISIONS")).state.messages
    policy = (await js.stream_info("KV_CS_POLICY")).state.messages
    slot = f"{SLOT}.{len(own.console.log.messages) + 1}"
    await agent.publish(slot, b"{}")
    await agent.publish(f"$KV.CS_POLICY.ask.{Key().public}", b"{}")
    unused = f"$JS.API.DIRECT.GET.CS_DECISIONS.countersign.v1.decision.{WORKSPACE}.{AGENT}.unused"
    await agent.publish(unused, b"", reply=slot)
    await agent.publish(f"$JS.API.DIRECT.GET.CS_DECISIONS.{SLOT}.1", b"", reply=slot)
    await agent.publish(f"countersign.v1.hello.{WORKSPACE}.{AGENT}", b"{}", reply=slot)
    for subject in (
        "$JS.API.DIRECT.GET.KV_CS_POLICY.$KV.CS_POLICY.panic",
        "$JS.API.DIRECT.GET.CS_DECISIONS",
        "$JS.API.STREAM.MSG.GET.CS_DECISIONS",
    ):
        with pytest.raises(NatsTimeoutError):
            await agent.request(subject, b'{"last_by_subj":"x"}', timeout=0.3)
    assert (await js.stream_info("CS_DECISIONS")).state.messages == before
    assert (await js.stream_info("KV_CS_POLICY")).state.messages == policy
    await honest(own, gate)


async def test_an_entry_stored_late_that_was_signed_before_another_one(own: Bench, gate):
    kay, grace = await let_in(own, "Kay"), await let_in(own)
    late = own.console.log.entry(own.console.human, operators=records_of_the_end(kay))
    await end(own, grace)
    await fill(own, late)
    assert await outcome(own, gate, kay) == "runs"
    await honest(own, gate)


async def test_a_key_that_has_ended_decides_and_signs_entries(own: Bench, gate):
    grace = await let_in(own, admin=True)
    await end(own, grace)
    await fill(own, own.console.log.entry(grace, operators=[record(own.console.realm, grace)]))
    assert await outcome(own, gate, grace) == "unknown_key"
    await honest(own, gate)


async def test_somebody_leaves_and_an_agent_finds_an_approval_afterwards(own: Bench, gate, unprompted):
    grace = await let_in(own)
    asking, seen = await asked(own, gate)
    gate._bus._client._transport.close()
    await decided(own, seen, grace)
    await own.console.write(grace, operators=records_of_the_end(grace))
    assert await ended(asking) == "unknown_key"
    await honest(own, gate)


async def test_an_ended_key_comes_in_again_under_its_id_or_beside_another_key(own: Bench, gate):
    console, grace = own.console, await let_in(own)
    await end(own, grace)
    await console.write(operators=[record(console.realm, grace)])
    mine = console.founder()
    mine["keys"].append(listed(console.realm, grace, "human", console.human))
    await console.write(operators=[mine])
    newcomer = Key()
    await console.write(
        operators=[record(console.realm, newcomer, "x", listed(console.realm, grace, "human", newcomer))]
    )
    assert await outcome(own, gate, grace) == "unknown_key"
    assert await outcome(own, gate, newcomer) == "unknown_key"
    await honest(own, gate)


async def test_limits_that_somebody_takes_away_himself(own: Bench, gate):
    grace = await let_in(own, limits={"max_risk": "low"})
    await own.console.write(grace, operators=[record(own.console.realm, grace, "Grace")])
    await own.console.write(grace, realm={"acceptance": True})
    assert await outcome(own, gate, grace) == "beyond_limit"
    assert await outcome(own, gate, grace, risk="low") == "runs"
    assert await outcome(own, gate, grace, "deny") == "deny"
    assert gate._looks.state.acceptance is False
    await honest(own, gate)


async def test_a_newcomers_key_taken_for_a_role_that_nobody_knows(own: Bench, gate):
    console, newcomer = own.console, Key()
    mine = console.founder()
    mine["keys"].append(listed(console.realm, newcomer, "module", console.human))
    await console.write(operators=[mine])
    await console.let_in(newcomer)
    assert await outcome(own, gate, newcomer) == "runs"
    await honest(own, gate)


async def test_a_key_that_somebody_adds_to_another_person(own: Bench, gate):
    console, grace = own.console, await let_in(own)
    second, third = Key(), Key()
    of_grace = record(console.realm, grace, "Grace", listed(console.realm, second, "human", grace))
    await console.write(operators=[of_grace])
    with_two = record(console.realm, third, "Kay", listed(console.realm, second, "human", third))
    await console.write(operators=[with_two])
    for key in (second, third):
        assert await outcome(own, gate, key) == "unknown_key"
    await honest(own, gate)


async def with_phone(own: Bench, **about) -> tuple[Key, Phone]:
    """Grace, and a phone of hers."""
    grace = Key()
    phone = Phone(own.console.realm, grace, **about)
    await own.console.let_in(grace, "Grace", phone.listed)
    return grace, phone


async def test_one_person_votes_by_two_desks_or_by_a_desk_and_a_phone(own: Bench, gate):
    console = own.console
    grace, phone = await with_phone(own)
    second = Key()
    whole = record(console.realm, grace, "Grace", phone.listed, listed(console.realm, second, "human", grace))
    await console.write(grace, operators=[whole])

    async def voted(*keys) -> str:
        asking, seen = await asked(own, gate, approvals_required=2)
        await decided(own, seen, votes=[console.vote(seen, key) for key in keys])
        return await ended(asking)

    assert await voted(grace, second) == "too_few_votes"
    assert await voted(grace, phone) == "too_few_votes"
    assert await voted(console.human, second) == "runs"
    assert await voted(console.human, phone) == "runs"
    await console.write(grace, operators=[record(console.realm, grace, "Grace")])
    assert await voted(console.human, phone) == "too_few_votes"
    await honest(own, gate)


async def test_a_phone_decides_within_its_limits_and_nothing_else(own: Bench, gate):
    grace, phone = await with_phone(own)
    assert await outcome(own, gate, phone) == "runs"
    assert await outcome(own, gate, phone, "deny", risk="critical") == "deny"
    for about in ({"risk": "high"}, {"effects": "irreversible"}, {"risk": "critical"}):
        assert await outcome(own, gate, phone, **about) == "device_limit"
    await end(own, grace)
    assert await outcome(own, gate, phone) == "unknown_key"
    await honest(own, gate)


async def test_a_phone_after_its_end_or_of_somebody_who_names_it_for_himself(own: Bench, gate):
    console = own.console
    _, old = await with_phone(own, until="2026-01-01T00:00:00.000Z")
    assert await outcome(own, gate, old) == "unknown_key"
    kay = await let_in(own, "Kay")
    stolen = {**old.listed, "until": "2127-01-01T00:00:00.000Z"}
    await console.write(kay, operators=[record(console.realm, kay, "Kay", stolen)])
    assert await outcome(own, gate, old) == "unknown_key"
    # A passkey that never agreed to be this operator's key.
    stranger = Phone(console.realm, Key())
    await console.write(kay, operators=[record(console.realm, kay, "Kay", stranger.listed)])
    assert await outcome(own, gate, stranger) == "bad_signature"
    await honest(own, gate)


async def test_a_phone_where_the_agent_does_not_check_it(own: Bench, gate, monkeypatch):
    _, phone = await with_phone(own)
    monkeypatch.setattr("countersign.wire.is_available", lambda: False)
    asking, seen = await asked(own, gate)
    assert "verifies" not in seen.body
    await decided(own, seen, phone, "deny")
    assert await ended(asking) == "device_unsupported"
    monkeypatch.undo()
    asking, seen = await asked(own, gate)
    assert seen.body["verifies"] == ["webauthn"]
    await decided(own, seen, phone, "deny")
    assert await ended(asking) == "deny"
