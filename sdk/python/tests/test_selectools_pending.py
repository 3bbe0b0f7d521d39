"""Row S8: selectools' deferred confirmation, answered on the console."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from types import SimpleNamespace

import pytest
from countersign import InvalidRequestError, SyncGate, selectools64
from countersign.adapters.selectools_pending import PendingGate, record_of, request_id_of, request_of
from selectools.pending import InMemoryPendingStore, PendingAction, PendingActionExistsError

from conftest import SOON
from console import Console

ARGS = {"invoice_id": "INV-42"}
SCOPE = {"channel_id": "whatsapp", "conversation_id": "c1"}


class Chat:
    """A store with one stashed action and a note of what ran."""

    def __init__(self, executor=None, ttl: float = 20.0) -> None:
        self.ran = 0
        self.store = InMemoryPendingStore()
        self.record = self.store.stash(
            "u1",
            kind="delete_invoice",
            preview="Delete INV-42",
            executor=executor or self._run,
            args=dict(ARGS),
            ttl_seconds=ttl,
            **SCOPE,
        )

    def _run(self) -> str:
        self.ran += 1
        return "deleted"

    def settle(self, bench) -> asyncio.Future:
        def work():
            with SyncGate(bench.enrolment()) as gate:
                self.gate = PendingGate(gate, self.store)
                return self.gate.settle(self.record)

        return asyncio.ensure_future(asyncio.to_thread(work))

    @property
    def request_id(self) -> str:
        return self.record.pending_action_id


def test_all_thirteen_fields_go_there_and_back():
    digest = selectools64({"a": 1})
    record = PendingAction("id", "u", "k", "p", digest, 1.5, 2.5, "ch", "co", "v", "pending", "o", {"a": 1})
    call = request_of(record)
    assert len(call.native or {}) == 13
    assert record_of(call.native or {}) == record
    assert (call.name, call.args, call.preview, call.thread_id) == ("k", {"a": 1}, "p", "co")
    assert call.native_digest == {"alg": "selectools64", "value": record.args_digest}


def test_a_record_that_changed_after_its_preview_is_not_asked_about():
    with pytest.raises(InvalidRequestError) as refusal:
        request_of(dataclasses.replace(Chat().record, args={"invoice_id": "ALL"}))
    assert refusal.value.code == "digest_mismatch"


def test_foreign_ids_stay_distinct():
    assert request_id_of("a/b") != request_id_of("a:b")
    assert request_id_of("a/b").startswith("a-b-")
    assert request_id_of("019a-x") == "019a-x"


async def test_s8_approved_executes_once(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.decide(chat.request_id)
    outcome = await settling
    assert (outcome.status, outcome.result, chat.ran) == ("executed", "deleted", 1)
    assert chat.store.pop_if_intent("u1", "confirm", **SCOPE) is None
    await console.receipt(chat.request_id, "executed")


async def test_s8_an_action_that_changed_while_it_waited_is_disarmed(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    chat.record.args["invoice_id"] = "ALL"  # the store holds the same dict
    await console.decide(chat.request_id)
    assert ((await settling).status, chat.ran, chat.store.get("u1", **SCOPE)) == ("digest_mismatch", 0, None)
    assert (await console.receipt(chat.request_id, "refused"))["message"] == "digest_mismatch"


@pytest.mark.parametrize("verdict", ["deny", "skip"])
async def test_s8_an_action_that_changed_is_disarmed_whatever_the_answer(bench, console: Console, verdict):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    chat.record.args["invoice_id"] = "ALL"
    await console.decide(chat.request_id, verdict)
    assert ((await settling).status, chat.store.get("u1", **SCOPE)) == ("digest_mismatch", None)


async def test_s8_without_an_executor_nothing_runs(bench, console: Console):
    chat = Chat()
    [(key, (record, _))] = chat.store._pending.items()
    chat.store._pending[key] = (record, None)  # as a store that others share has it
    settling = chat.settle(bench)
    await console.decide(chat.request_id)
    assert ((await settling).status, chat.ran) == ("no_executor", 0)
    assert (await console.receipt(chat.request_id, "refused"))["message"] == "no_executor"


async def test_s8_an_unexpired_record_is_replaced_by_nobody(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    with pytest.raises(PendingActionExistsError):
        chat.store.stash("u1", kind="other", preview="p", executor=chat._run, args={}, **SCOPE)
    await console.decide(chat.request_id)
    assert ((await settling).status, chat.ran) == ("executed", 1)


def test_s8_an_approval_that_finds_the_record_expired():
    chat = Chat(ttl=0.05)
    receipts: list[tuple] = []

    def ask(_, *, timeout):
        time.sleep(timeout + 0.01)
        return SimpleNamespace(verdict="approve", allowed=True, args_digest=chat.record.args_digest)

    gate = SimpleNamespace(ask=ask, receipt_later=lambda _, stage, message: receipts.append((stage, message)))
    assert (PendingGate(gate, chat.store).settle(chat.record).status, chat.ran) == ("expired", 0)
    assert receipts == [("refused", "expired")]


async def test_s8_denied_cancels(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.decide(chat.request_id, "deny")
    assert ((await settling).status, chat.ran, chat.store.get("u1", **SCOPE)) == ("cancelled", 0, None)


async def test_s8_skipped_keeps_it_armed_for_a_short_while_only(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.decide(chat.request_id, "skip")
    assert ((await settling).status, chat.ran) == ("ignored", 0)
    assert chat.store.get("u1", **SCOPE).expires_at <= time.time() + 10


async def test_s8_a_skip_never_lengthens_its_time(bench, console: Console):
    chat = Chat(ttl=5.0)
    settling = chat.settle(bench)
    await console.decide(chat.request_id, "skip")
    assert (await settling).status == "ignored"
    assert chat.store.get("u1", **SCOPE).expires_at == chat.record.expires_at


async def test_s8_ignored_in_the_chat_never_lengthens_the_consoles_deadline(bench, console: Console):
    chat = Chat(ttl=0.6)
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    await asyncio.to_thread(chat.gate.ignored, chat.record, 60)
    assert ((await asyncio.wait_for(settling, SOON)).status, chat.ran) == ("expired", 0)


async def test_s8_nobody_answers_in_its_time(bench, console: Console):
    chat = Chat(ttl=0.4)
    assert ((await chat.settle(bench)).status, chat.ran) == ("expired", 0)


async def test_s8_an_executor_that_raises_is_reported_and_not_tried_again(bench, console: Console):
    def broken() -> str:
        raise OSError("no")

    chat = Chat(broken)
    settling = chat.settle(bench)
    await console.decide(chat.request_id)
    assert (await settling).status == "failed"
    await console.receipt(chat.request_id, "failed")


async def test_s8_a_confirmation_in_the_chat_withdraws_the_request(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    chat.store.pop_if_intent("u1", "confirm", **SCOPE)
    await asyncio.to_thread(chat.gate.answered_in_chat, chat.record)
    await console.until("withdraw", lambda m: m.subject.endswith(chat.request_id))
    outcome = await asyncio.wait_for(settling, SOON)
    assert (outcome.status, outcome.decision.verdict) == ("gone", "withdrawn")
    assert chat.ran == 1


async def test_s8_another_action_of_the_same_scope_is_neither_fired_nor_disarmed(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    chat.store.drop("u1", **SCOPE)
    other = chat.store.stash("u1", kind="other", preview="p", executor=chat._run, args={}, **SCOPE)
    await console.decide(chat.request_id)
    assert ((await settling).status, chat.ran) == ("kind_mismatch", 0)
    assert chat.store.get("u1", **SCOPE) == other
    assert (await console.receipt(chat.request_id, "refused"))["message"] == "kind_mismatch"


async def test_s8_ignored_in_the_chat_shortens_the_consoles_deadline(bench, console: Console):
    chat = Chat()
    settling = chat.settle(bench)
    await console.request(chat.request_id)
    await asyncio.to_thread(chat.gate.ignored, chat.record, 0.2)
    await console.until("tighten", lambda m: m.subject.endswith(chat.request_id))
    assert ((await settling).status, chat.ran) == ("expired", 0)
