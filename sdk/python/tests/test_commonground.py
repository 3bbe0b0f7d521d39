"""Rows U9, U10 and U13 of the reporter, with a stub of CommonGround's kit and a real nats-server."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import re

import nats
import pytest
from countersign.adapters import commonground
from countersign.adapters.commonground import CommonGroundReporter
from nats.errors import NoRespondersError

from commonground_kit import Ground, NotFoundError, ProtocolViolationError

TRACE = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
METADATA = {"trace_id": "c" * 32, "parent_step_id": "s0", "step_id": "s1", "agent_turn_id": "t1"}


def job(call: str = "call-1", project: str = "p1", **changed) -> dict:
    """A job as the bridge sends it, of a call that was denied."""
    error = {"code": "auth_failed", "message": "Denied by Ana: not today", "source": "countersign", "detail": {}}
    return {
        "v": 1,
        "project_id": project,
        "subject": f"cg.v1r4.{project}.ch1.cmd.tool.approval.send_mail",
        "headers": {
            "CG-Agent-Id": "agent-7",
            "CG-Tool-Call-Id": call,
            "CG-Turn-Id": "t1",
            "CG-Step-Id": "s9",
            "traceparent": TRACE,
        },
        "payload": {"tool_call_card_id": f"card-{call}", "tool_name": "send_mail", "after_execution": "suspend"},
        "tool_call_metadata": METADATA,
        "function_name": "send_mail",
        "status": "failed",
        "after_execution": "suspend",
        "error": error,
        "result": {"error_code": "auth_failed", "error_message": error["message"], "error": error},
        **changed,
    }


@pytest.fixture
def ground() -> Ground:
    return Ground()


def reporter_of(ground: Ground, **changed) -> CommonGroundReporter:
    return CommonGroundReporter(cardbox=ground, kit=ground.kit, **ground.stores, **changed)


@pytest.fixture
def reporter(ground: Ground) -> CommonGroundReporter:
    return reporter_of(ground)


@pytest.mark.parametrize("status", ["failed", "canceled", "timeout", "partial", "success"])
async def test_u9_the_result_is_written_as_the_job_says(ground, reporter, status):
    asked = job(status=status)
    if status == "success":
        asked["error"] = None
    before = copy.deepcopy(asked)
    answer = await reporter.report(asked)
    assert asked == before
    (report,) = ground.reports
    card = report.card
    assert answer == {"status": "reported", "tool_result_card_id": card.card_id}
    assert (card.author_id, card.tool_call_id, card.project_id) == ("tool.countersign", "call-1", "p1")
    assert card.content == {
        "status": status,
        "after_execution": "suspend",
        "result": asked["result"],
        "error": asked["error"],
    }
    assert {name: card.metadata[name] for name in METADATA} == METADATA
    assert card.metadata["function_name"] == "send_mail"
    assert report.payload["tool_result_card_id"] == card.card_id


async def test_u9_the_report_comes_from_the_author_and_goes_to_the_call(ground):
    await reporter_of(ground, author_id="sys.desk").report(job())
    (report,) = ground.reports
    assert (report.card.author_id, report.source.agent_id) == ("sys.desk", "sys.desk")
    assert (report.source.agent_turn_id, report.source.step_id, report.source.tool_call_id) == ("", None, None)
    target = report.target
    assert (target.agent_id, target.agent_turn_id, target.tool_call_id) == ("agent-7", "t1", "call-1")
    assert target.headers["traceparent"] != TRACE
    assert re.fullmatch("00-a{32}-[0-9a-f]{16}-01", target.headers["traceparent"])
    assert target.headers["CG-Step-Id"] == "s9"


async def test_u9_terminate_ends_the_turn(ground, reporter):
    asked = job()
    asked["result"]["__cg_control"] = {"after_execution": "terminate"}
    await reporter.report(asked)
    assert ground.reports[0].payload["after_execution"] == "terminate"


async def test_u10_a_call_that_was_answered_is_not_answered_again(ground, reporter):
    await reporter_of(ground).report(job())
    assert await reporter.report(job()) == {"status": "already_answered"}
    assert (len(ground.cards), len(ground.reports)) == (1, 1)


async def test_u10_a_report_that_commonground_rejects_as_a_second_one(ground, reporter):
    assert (await reporter.report(job()))["status"] == "reported"
    assert await reporter.report(job()) == {"status": "already_answered"}
    assert (ground.saves, len(ground.reports)) == (1, 1)


@pytest.mark.parametrize("at", ["save_faults", "publish_faults"])
@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (RuntimeError('violates "uniq_cards_tool_result_call"'), {"status": "already_answered"}),
        (RuntimeError("duplicate key value violates unique constraint"), {"status": "already_answered"}),
        (RuntimeError("rejected: code=protocol_violation"), {"status": "already_answered"}),
        (ProtocolViolationError("no turn"), {"code": "ProtocolViolationError", "retry": False}),
        (NotFoundError("no agent"), {"code": "NotFoundError", "retry": False}),
        (type("BadRequestError", (Exception,), {})("no"), {"code": "BadRequestError", "retry": False}),
        (OSError("connection reset"), {"code": "OSError", "retry": True}),
    ],
)
async def test_an_error_is_an_answer(ground, reporter, at, error, answer):
    getattr(ground, at).append(error)
    expected = {"status": "failed", "message": str(error), **answer} if "code" in answer else answer
    assert await reporter.report(job()) == expected
    assert ground.reports == []


async def test_a_second_try_publishes_the_card_that_was_saved(ground, reporter):
    ground.publish_faults.append(OSError("no connection"))
    assert (await reporter.report(job()))["retry"] is True
    answer = await reporter.report(job())
    (card_id,) = ground.cards
    assert answer == {"status": "reported", "tool_result_card_id": card_id}
    assert (ground.saves, len(ground.reports)) == (1, 1)


async def test_two_tries_at_a_time_write_once(ground, reporter):
    ground.publish_faults.append(OSError("no connection"))
    answers = await asyncio.gather(reporter.report(job()), reporter.report(job()))
    assert [one["status"] for one in answers] == ["failed", "reported"]
    assert (ground.saves, len(ground.reports)) == (1, 1)


async def test_the_cards_that_are_remembered_are_limited(ground, reporter, monkeypatch):
    monkeypatch.setattr(commonground, "MAX_SAVED", 2)
    for number in range(5):
        await reporter.report(job(f"call-{number}"))
    assert [call for _, call in reporter._saved] == ["call-3", "call-4"]


HEADERS = job()["headers"]
BAD = {
    "success with an error": {"status": "success"},
    "no success without an error": {"error": None},
    "no status": {"status": None},
    "no function": {"function_name": " "},
    "no name of a function": {"function_name": None},
    "control field": {"payload": {**job()["payload"], "agent_id": "other"}},
    "header of another project": {"headers": {**HEADERS, "CG-Project-Id": "p2"}},
    "no agent": {"headers": {"CG-Tool-Call-Id": "call-1"}},
    "no subject of CommonGround": {"subject": "other.v1r4.p1.ch1"},
    "subject of another project": {"subject": "cg.v1r4.p2.ch1.cmd.tool.approval.send_mail"},
    "no headers": {"headers": None},
    "a later version": {"v": 2},
}


@pytest.mark.parametrize("changed", BAD.values(), ids=BAD)
async def test_a_bad_job_writes_nothing(ground, reporter, changed):
    answer = await reporter.report(job(**changed))
    assert (answer["status"], answer["code"], answer["retry"]) == ("failed", "bad_job", False)
    assert (ground.saves, ground.reports) == (0, [])


async def test_a_cancelled_report_is_cancelled(ground, reporter):
    ground.save_faults.append(asyncio.CancelledError())
    with pytest.raises(asyncio.CancelledError):
        await reporter.report(job())


async def test_u13_a_report_names_its_project(ground, reporter):
    for project in ("p1", "p2"):
        await reporter.report(job(f"call-{project}", project))
    assert [one.card.project_id for one in ground.reports] == ["p1", "p2"]
    assert [one.target.project_id for one in ground.reports] == ["p1", "p2"]
    assert [one.source.project_id for one in ground.reports] == ["p1", "p2"]


def test_an_author_that_commonground_refuses_is_refused_at_once(ground):
    with pytest.raises(ValueError, match=r"tool\."):
        reporter_of(ground, author_id="countersign")


def test_without_commonground_the_error_names_the_module(ground):
    with pytest.raises(ImportError, match="infra"):
        CommonGroundReporter(cardbox=ground, **ground.stores)


async def connect(bench):
    """A client on CommonGround's bus."""
    return await nats.connect(bench.server.url, nkeys_seed_str=bench.login.seed, connect_timeout=10)


@contextlib.asynccontextmanager
async def serving(bench, reporter, name="desk"):
    """A client that asks, the client that serves, and the task of the latter."""
    async with await connect(bench) as asks, await connect(bench) as serves:
        task = asyncio.create_task(reporter.serve(serves, name))
        yield asks, serves, task
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await task


async def asked(nc, body: object, name="desk") -> dict:
    """The answer to a job; tried again until somebody listens."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with asyncio.timeout(10):
        while True:
            try:
                return json.loads((await nc.request(f"countersign.bridge.{name}.report", data, timeout=5)).data)
            except NoRespondersError:
                await asyncio.sleep(0.01)


async def test_serve_answers_jobs_until_cancelled(bench, ground, reporter):
    async with serving(bench, reporter) as (nc, served, task):
        for body in (b"no JSON", b"7", json.dumps(job(status="success")).encode()):
            assert (await asked(nc, body))["code"] == "bad_job"
        await nc.publish("countersign.bridge.desk.report", b"nobody waits for an answer")
        answer = await asked(nc, job())
        assert answer == {"status": "reported", "tool_result_card_id": next(iter(ground.cards))}
        assert await asked(nc, job()) == {"status": "already_answered"}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await served.flush()
        with pytest.raises(NoRespondersError):
            await nc.request("countersign.bridge.desk.report", b"{}", timeout=5)


async def test_two_that_serve_one_bridge_write_a_job_once(bench, ground, reporter):
    async with serving(bench, reporter, "two") as (nc, _, _), serving(bench, reporter_of(ground), "two"):
        for number in range(20):
            assert (await asked(nc, job(f"call-{number}"), "two"))["status"] == "reported"
        assert ground.saves == 20


async def test_serve_ends_with_its_connection(bench, reporter):
    async with serving(bench, reporter, "closed") as (nc, served, task):
        await asked(nc, b"{}", "closed")
        await served.close()
        with pytest.raises(ConnectionError, match="closed"):
            await asyncio.wait_for(task, 10)
