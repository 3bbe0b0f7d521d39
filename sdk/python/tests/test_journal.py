"""Asks that survive their process (integrations, section 2), sentence by sentence."""

from __future__ import annotations

import asyncio
import json
import signal
import stat
import sys
import textwrap

import pytest
from countersign import (
    AlreadyAskedError,
    CountersignError,
    Gate,
    JournalError,
    NotAllowedError,
    ToolCall,
    refusal_text,
)
from countersign import journal as journal_module

from conftest import SOON

KEY = "thread/call-1"


def pay(**changes) -> ToolCall:
    return ToolCall(**{"name": "pay", "args": {"to": "ada", "n": 1}, **changes})


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "pending"


@pytest.fixture
def agent(bench, folder):
    """A gate with the journal, as one process after another opens it."""
    return lambda: Gate.connect(bench.enrolment(), journal=folder)


def entries(folder) -> list[dict]:
    return [json.loads(path.read_bytes()) for path in folder.glob("*.json")]


async def asked_since(console, before: int) -> list[str]:
    """Ids of the requests that were sent, once they can have arrived. One that is sent again is stored once."""
    await console.nc.flush()
    await asyncio.sleep(0.1)
    sent = [message.subject.rpartition(".")[2] for message in console.received["request"][before:]]
    return list(dict.fromkeys(sent))


async def left_standing(agent, console, **how) -> str:
    """Asks, and is cancelled while it waits. The id of the request."""
    before = len(console.received["request"])
    async with agent() as gate:
        asking = asyncio.create_task(gate.ask(pay(), key=KEY, **how))
        await console.until("request", lambda m: m in console.received["request"][before:])
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    [request_id] = await asked_since(console, before)
    return request_id


async def test_the_folder_and_its_files_are_for_their_owner_alone(agent, console, folder):
    await left_standing(agent, console)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


async def test_an_entry_is_on_the_disk_before_its_request_is_published(agent, console, folder, monkeypatch):
    order = []
    write = journal_module._write

    def written(path, content):
        write(path, content)
        order.append("written")

    monkeypatch.setattr(journal_module, "_write", written)
    async with agent() as gate:
        store = gate._bus.store

        async def stored(subject, *args, **kwargs):
            if ".request." in subject:
                order.append("published")
            return await store(subject, *args, **kwargs)

        monkeypatch.setattr(gate._bus, "store", stored)
        asking = asyncio.create_task(gate.ask(pay(), key=KEY))
        async with asyncio.timeout(SOON):
            while "published" not in order:
                await asyncio.sleep(0.005)
        asking.cancel()
        await asyncio.wait({asking})
    assert order == ["written", "published"]


@pytest.mark.parametrize("end", ["cancel", "close"])
async def test_what_ends_the_wait_leaves_the_request_and_the_next_ask_takes_its_answer(agent, console, folder, end):
    before = len(console.received["request"])
    withdrawn = len(console.received["withdraw"])
    if end == "cancel":
        request_id = await left_standing(agent, console)
    else:
        async with agent() as gate:
            asking = asyncio.create_task(gate.ask(pay(), key=KEY))
            await console.until("request", lambda m: m in console.received["request"][before:])
        with pytest.raises(Exception, match="closed"):
            await asking
        [request_id] = await asked_since(console, before)
    await console.decide(request_id)
    async with agent() as gate:
        decision = await asyncio.wait_for(gate.ask(pay(), key=KEY), SOON)
        assert (decision.request_id, decision.allowed) == (request_id, True)
    assert await asked_since(console, before) == [request_id]
    assert console.received["withdraw"][withdrawn:] == []
    assert entries(folder) == []


async def test_an_answer_is_handed_out_once(agent, console, folder):
    before = len(console.received["request"])
    request_id = await left_standing(agent, console)
    await console.decide(request_id)
    async with agent() as gate:
        await gate.ask(pay(), key=KEY)
        again = asyncio.create_task(gate.ask(pay(), key=KEY))
        async with asyncio.timeout(SOON):
            while len(ids := await asked_since(console, before)) < 2:
                pass
        assert ids[1] != request_id
        again.cancel()
        await asyncio.wait({again})


async def test_an_answer_that_cannot_be_marked_is_not_handed_out(agent, console, folder, monkeypatch):
    request_id = await left_standing(agent, console)
    await console.decide(request_id)

    def full(_):
        raise OSError(28, "No space left on device")

    async with agent() as gate:
        monkeypatch.setattr(journal_module, "_flush_folder", full)
        with pytest.raises(JournalError, match="No space left"):
            await gate.ask(pay(), key=KEY)


async def test_an_entry_that_cannot_be_written_asks_nobody(agent, console, monkeypatch):
    before = len(console.received["request"])

    def full(*_):
        raise JournalError("cannot write")

    async with agent() as gate:
        monkeypatch.setattr(journal_module, "_write", full)
        with pytest.raises(JournalError):
            await gate.ask(pay(), key=KEY)
    assert await asked_since(console, before) == []


@pytest.mark.parametrize("other", [{"args": {"to": "eve", "n": 1}}, {"name": "refund"}])
async def test_the_same_key_for_another_call_withdraws_the_former_request(agent, console, other):
    request_id = await left_standing(agent, console)
    before = len(console.received["request"])
    async with agent() as gate:
        asking = asyncio.create_task(gate.ask(pay(**other), key=KEY))
        await console.until("withdraw", lambda m: m.subject.endswith(request_id))
        await console.until("request", lambda m: m in console.received["request"][before:])
        asking.cancel()
        await asyncio.wait({asking})


async def test_a_second_ask_of_a_key_that_waits_is_refused(agent, console):
    before = len(console.received["request"])
    async with agent() as gate, agent() as other:
        asking = asyncio.create_task(gate.ask(pay(), key=KEY))
        await console.until("request", lambda m: m in console.received["request"][before:])
        for second in (gate, other):
            with pytest.raises(AlreadyAskedError) as refused:
                await second.ask(pay(), key=KEY)
            assert refused.value.code == "already_waiting"
        asking.cancel()
        await asyncio.wait({asking})


async def test_withdraw_takes_a_kept_request_back(agent, console, folder):
    before = len(console.received["request"])
    async with agent() as gate:
        asking = asyncio.create_task(gate.ask(pay(), key=KEY))
        await console.until("request", lambda m: m in console.received["request"][before:])
        [request_id] = await asked_since(console, before)
        await gate.withdraw(request_id, "no longer")
        assert (await asking).verdict == "withdrawn"
    assert entries(folder) == []


async def test_withdraw_takes_back_what_nobody_waits_for_at_present(agent, console, folder):
    request_id = await left_standing(agent, console)
    async with agent() as gate:
        await gate.withdraw(request_id, "no longer")
        await console.until("withdraw", lambda m: m.subject.endswith(request_id))
        assert entries(folder) == []
        with pytest.raises(CountersignError) as refused:
            await gate.withdraw(request_id)
        assert refused.value.code == "not_found"


async def test_the_timer_goes_on_and_an_approval_after_it_is_refused(agent, console, folder):
    request_id = await left_standing(agent, console, timeout=1.0)
    await asyncio.sleep(1.1)
    await console.decide(request_id)
    async with agent() as gate:
        decision = await gate.ask(pay(), key=KEY)
        assert (decision.verdict, decision.allowed) == ("expired", False)
    assert (await console.receipt(request_id, "refused"))["message"] == "late"
    assert entries(folder) == []


def altered(folder, **changes) -> None:
    [path] = folder.glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **changes}))


@pytest.mark.parametrize("clock", ["wall", "ticks"])
async def test_a_clock_that_went_back_reads_as_run_out(agent, console, folder, clock):
    await left_standing(agent, console)
    [entry] = entries(folder)
    boot = "another boot" if clock == "wall" else entry["boot"]
    altered(folder, boot=boot, **{clock: entry[clock] + 1000})
    async with agent() as gate:
        assert (await gate.ask(pay(), key=KEY)).verdict == "expired"


async def test_after_another_boot_the_wall_clock_counts(agent, console, folder):
    request_id = await left_standing(agent, console)
    [entry] = entries(folder)
    altered(folder, boot="another boot", ticks=entry["ticks"] + 1e6)
    await console.decide(request_id)
    async with agent() as gate:
        assert (await gate.ask(pay(), key=KEY)).allowed


@pytest.mark.parametrize("changes", [{"realm": "x"}, {"agent": "other"}, {"payload": "{"}, {"v": 2}, {"wall": "now"}])
async def test_an_entry_that_is_not_this_agents_counts_as_none(agent, console, folder, changes):
    request_id = await left_standing(agent, console)
    altered(folder, **changes)
    before = len(console.received["request"])
    async with agent() as gate:
        asking = asyncio.create_task(gate.ask(pay(), key=KEY))
        await console.until("request", lambda m: m in console.received["request"][before:])
        assert request_id not in await asked_since(console, before)
        asking.cancel()
        await asyncio.wait({asking})


async def test_entries_older_than_their_deadline_and_a_day_are_removed_at_connect(agent, console, folder):
    await left_standing(agent, console)
    [entry] = entries(folder)
    altered(folder, wall=entry["wall"] - 86_400)
    async with agent():
        assert len(entries(folder)) == 1
    altered(folder, wall=entry["wall"] - 86_400 - 120)
    async with agent():
        assert entries(folder) == []


@pytest.mark.parametrize("way", [{"key": KEY}, {"journal": True}])
async def test_without_a_journal_or_a_key_a_cancelled_ask_withdraws(bench, console, folder, way):
    before = len(console.received["request"])
    async with Gate.connect(bench.enrolment(), journal=folder if way.get("journal") else None) as gate:
        asking = asyncio.create_task(gate.ask(pay(), key=way.get("key")))
        await console.until("request", lambda m: m in console.received["request"][before:])
        [request_id] = await asked_since(console, before)
        asking.cancel()
        await console.until("withdraw", lambda m: m.subject.endswith(request_id))


PROGRAM = """
import asyncio, sys
from countersign import Gate, ToolCall
async def main():
    async with Gate.connect(sys.argv[1], journal=sys.argv[2]) as gate:
        decision = await gate.ask(ToolCall(name="pay", args={"to": "ada", "n": 1}), key=sys.argv[3])
        print(decision.verdict, decision.request_id, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
async def test_a_killed_process_finds_its_request_again_and_leaves_no_lock(agent_json, console, folder, by):
    async def started():
        program = textwrap.dedent(PROGRAM)
        arguments = [sys.executable, "-c", program, str(agent_json), str(folder), KEY]
        return await asyncio.create_subprocess_exec(*arguments, stdout=asyncio.subprocess.PIPE)

    before = len(console.received["request"])
    first = await started()
    await console.until("request", lambda m: m in console.received["request"][before:], SOON)
    first.send_signal(by)
    await first.wait()
    [request_id] = await asked_since(console, before)
    await console.decide(request_id)
    second = await started()
    out, _ = await asyncio.wait_for(second.communicate(), SOON)
    assert out.decode().split() == ["approve", request_id]
    assert await asked_since(console, before) == [request_id]


WORDS = [
    ("deny", {"message": "wrong payee"}, "pay was not run, denied by Ada: wrong payee"),
    ("terminate", {}, "pay was not run, denied by Ada, who ended the run"),
    ("skip", {}, "pay was not run, skipped by Ada (not a refusal)"),
    ("escalate", {}, "pay was not run, escalated by Ada to the next approver"),
    ("respond", {"response": {"content": "paid already"}}, "pay was not run, answered by Ada instead: paid already"),
    ("nod", {}, "pay was not run, not allowed (nod)"),
]


@pytest.mark.parametrize(("verdict", "fields", "text"), WORDS, ids=[row[0] for row in WORDS])
async def test_the_words_for_the_model(gate, console, request_id, verdict, fields, text):
    offered = ("approve", "deny", "skip", "respond", "escalate", "terminate")
    asking = asyncio.create_task(gate.ask(pay(request_id=request_id, allowed_verdicts=offered)))
    await console.decide(request_id, verdict, **fields)
    decision = await asking
    assert refusal_text("pay", decision) == text
    assert refusal_text("pay", NotAllowedError("x", verdict="deny", decision=decision)) == text


async def test_the_words_name_the_rule(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(pay(request_id=request_id)))
    rule = {"id": "r1", "version": 3, "name": "no-payments"}
    who = {"name": "console", "key": console.auto.public}
    await console.decide(request_id, "deny", origin="rule", rule=rule, decided_by=who)
    assert refusal_text("pay", await asking) == "pay was not run, denied by the rule no-payments"


def test_the_words_of_an_error():
    text = refusal_text("pay", AlreadyAskedError("asked before"))
    assert text == "pay was not run: could not get approval (already_asked): asked before"
    assert refusal_text("pay", ValueError("secret")) == "pay was not run: could not get approval (failed): ValueError"


@pytest.mark.parametrize(
    ("degraded", "words"),
    [(lambda d: [d.verdict], ["approve"]), (lambda d: 1 / 0, None), (lambda d: "words", None), (lambda d: [], None)],
)
async def test_what_cannot_be_honoured_is_in_the_receipt(gate, console, request_id, degraded, words):
    asking = asyncio.create_task(gate.ask(pay(request_id=request_id), degraded=degraded))
    await console.decide(request_id)
    assert (await asking).allowed
    assert (await console.receipt(request_id, "received")).get("degraded") == words


async def test_a_request_may_name_another_type_of_agent(gate, console, request_id):
    asking = asyncio.create_task(gate.ask(pay(request_id=request_id, agent={"type": "researcher", "name": "eve"})))
    seen = await console.request(request_id)
    assert (seen.body["agent"]["type"], seen.body["agent"]["name"]) == ("researcher", "billing-bot")
    asking.cancel()
    await asyncio.wait({asking})
