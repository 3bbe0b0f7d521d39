"""Rows S1 to S7 and S9 of seeds.md with the real selectools and an offline provider that plays a script."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from datetime import datetime

import pytest
from countersign import SyncGate, ToolCall, args_digest, selectools64
from countersign.adapters.selectools import SelectoolsGate
from selectools import Agent, AgentConfig, ToolPolicy
from selectools.agent.config_groups import ToolConfig
from selectools.cancellation import CancellationToken

from office import ARGS, Office, Script, arrived, one

MODES = [
    ("confirm", False),
    ("confirm", True),
    ("async", True),
    ("handler", False),
    ("handler", True),
    ("handler, async", False),
    ("handler, async", True),
]


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
async def test_s1_an_approved_call_runs_once_and_reports(bench, console, kind, asynchronous):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind)
    working, body = await one(console, lambda: office.start(asynchronous))
    await asyncio.sleep(0.05)
    assert office.ran == []
    await console.decide(body["request_id"])
    await working
    assert office.ran == [{"invoice_id": "INV-42", "copies": 1}]
    receipt = await console.receipt(body["request_id"], "executed")
    assert receipt["executed_args_digest"] == body["args_digest"] == args_digest(ARGS)
    assert body["agent"]["framework"] == "selectools"
    assert body["agent"]["framework_version"] == "1.3.0"
    assert body["risk"] == "high"
    assert body["run_id"]
    assert body["native_digest"] == {"alg": "selectools64", "value": selectools64(ARGS)}
    assert ("modify" in body["allowed_verdicts"]) is not kind.startswith("handler")


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
async def test_s1_s3_a_denied_call_does_not_run_and_the_model_reads_why(bench, console, kind, asynchronous):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind)
    working, body = await one(console, lambda: office.start(asynchronous))
    await console.decide(body["request_id"], "deny", message="ask Grace in accounting first")
    await working
    assert office.ran == []
    [text] = office.script.tool_texts()
    assert "ask Grace in accounting first" in text
    assert "denied" in text


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
async def test_s2_three_calls_of_one_turn_ask_at_once_and_keep_their_answers(bench, console, kind, asynchronous):
    turn = [("delete_invoice", {"invoice_id": name}) for name in ("A", "B", "C")]
    office = Office(bench, Script(turn), kind=kind)
    before = len(console.received["request"])
    working = office.start(asynchronous)
    bodies = {body["args"]["invoice_id"]: body for body in await arrived(console, before, 3)}
    await console.decide(bodies["C"]["request_id"])
    await console.decide(bodies["A"]["request_id"], "deny", message="not A")
    await console.decide(bodies["B"]["request_id"])
    await working
    assert sorted(call["invoice_id"] for call in office.ran) == ["B", "C"]
    first, second, third = office.script.tool_texts()
    assert "not A" in first
    assert (second, third) == ("deleted B", "deleted C")
    for name in "BC":
        receipt = await console.receipt(bodies[name]["request_id"], "executed")
        assert receipt["executed_args_digest"] == bodies[name]["args_digest"]


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
@pytest.mark.parametrize("refused", range(3))
async def test_s2_each_of_three_equal_calls_keeps_its_answer_and_its_receipt(
    bench, console, kind, asynchronous, refused
):
    office = Office(bench, Script([("delete_invoice", dict(ARGS)) for _ in range(3)]), kind=kind)
    before = len(console.received["request"])
    working = office.start(asynchronous)
    bodies = await arrived(console, before, 3)
    for place, body in enumerate(bodies):
        await console.decide(body["request_id"], "deny" if place == refused else "approve")
    await working
    assert len(office.ran) == 2
    for body in bodies[:refused] + bodies[refused + 1 :]:
        receipt = await console.receipt(body["request_id"], "executed")
        assert receipt["executed_args_digest"] == args_digest(ARGS)


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
@pytest.mark.parametrize(
    "settings", [{"policy": None}, {"policy": None, "require_approval": ["another_tool"]}, {"policy": ToolPolicy()}]
)
async def test_a_call_that_no_policy_allows_waits_for_a_person(bench, console, kind, asynchronous, settings):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind, settings=settings)
    working, body = await one(console, lambda: office.start(asynchronous))
    await console.decide(body["request_id"], "deny")
    await working
    assert office.ran == []


async def test_a_call_that_the_policy_allows_runs_unasked(bench, console):
    settings = {"policy": ToolPolicy(allow=["delete_*"])}
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), settings=settings)
    before = len(console.received["request"])
    await office.start()
    assert len(office.ran) == 1
    assert len(console.received["request"]) == before


@pytest.mark.parametrize(("kind", "asynchronous"), MODES[:3])
async def test_s4_edited_arguments_run_and_their_digest_is_reported(bench, console, kind, asynchronous):
    edited = {"invoice_id": "INV-7", "copies": 2}
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind)
    working, body = await one(console, lambda: office.start(asynchronous))
    await console.decide(body["request_id"], "modify", edited_args=edited, args_digest=args_digest(edited))
    await working
    assert office.ran == [edited]
    assert (await console.receipt(body["request_id"], "executed"))["executed_args_digest"] == args_digest(edited)


async def test_an_answer_handed_to_selectools_as_a_yes_runs_nothing(bench, console, request_id):
    """selectools looks only whether a hook's answer is true."""
    script = Script([("delete_invoice", dict(ARGS))])
    office = Office(bench, script)

    def work() -> None:
        tool = office.tool()
        with SyncGate(bench.enrolment()) as gate:

            def confirm(name, args, reason):
                return gate.ask(ToolCall(name=name, args=args, request_id=request_id))

            config = ToolConfig(confirm_action=confirm, policy=ToolPolicy())
            Agent(tools=[tool], provider=script, config=AgentConfig(tool=config)).run("go")

    working = asyncio.ensure_future(asyncio.to_thread(work))
    await console.decide(request_id, "deny")
    await working
    assert office.ran == []


STRICT = {
    "an unknown verdict": {"verdict": "yes please"},
    "a truthy word": {"verdict": "true"},
    "a verdict that is an object": {"verdict": {"approve": True}},
    "arguments that are a list": {"verdict": "modify", "edited_args": [1], "args_digest": args_digest([1])},
    "no digest": {"args_digest": None},
}


@pytest.mark.parametrize("case", STRICT)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_s5_anything_but_a_proper_yes_denies(bench, console, case, asynchronous):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]))
    working, body = await one(console, lambda: office.start(asynchronous))
    await console.decide(body["request_id"], **STRICT[case])
    await working
    assert office.ran == []


async def test_s5_a_reply_that_is_not_json_denies(bench, console):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]))
    working, body = await one(console, office.start)
    seen = await console.request(body["request_id"])
    payload = b"approve"
    sig = console.human.sign("decision", console.realm, seen.decision_subject, payload)
    await console.store(seen.decision_subject, payload, {"CS-Key": console.human.public, "CS-Sig": sig})
    await working
    assert office.ran == []


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
async def test_s6_the_frameworks_time_out_is_the_deadline_and_reads_expired(bench, console, kind, asynchronous):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind, timeout=1.2)
    working, body = await one(console, lambda: office.start(asynchronous))
    stamps = [datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
    assert 0.6 < (stamps[0] - stamps[1]).total_seconds() <= 0.9
    await working
    await console.decide(body["request_id"])
    assert office.ran == []
    [text] = office.script.tool_texts()
    assert "expired" in text
    assert "denied" not in text
    assert not [m for m in console.received["withdraw"] if m.subject.endswith(body["request_id"])]


@pytest.mark.parametrize(("kind", "asynchronous"), MODES)
async def test_each_agent_of_one_gate_keeps_its_own_time_out(bench, console, kind, asynchronous):
    offices = [Office(bench, Script([("delete_invoice", dict(ARGS))]), kind=kind) for _ in range(2)]

    def work() -> None:
        tools = [office.tool() for office in offices]
        with SelectoolsGate.open(bench.enrolment(), tools=tools[:1]) as gate:
            configs = [offices[0].config(gate, approval_timeout=seconds) for seconds in (1.2, 90)]
            for office, tool, config in zip(offices, tools, configs, strict=True):
                office.run(gate, tool, config, asynchronous)

    before = len(console.received["request"])
    working = asyncio.ensure_future(asyncio.to_thread(work))
    lifetimes = []
    for n in (0, 1):
        body = (await arrived(console, before, n + 1, working))[n]
        stamps = [datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
        lifetimes.append((stamps[0] - stamps[1]).total_seconds())
        await console.decide(body["request_id"])
    await working
    assert 0.6 < lifetimes[0] <= 0.9
    assert 85 < lifetimes[1] <= 89.5
    assert [len(office.ran) for office in offices] == [1, 1]


async def test_s7_a_denied_call_asked_again_is_a_new_request_with_the_same_digest(bench, console):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))], [("delete_invoice", dict(ARGS))]))
    before = len(console.received["request"])
    working = office.start()
    [first] = await arrived(console, before)
    await console.decide(first["request_id"], "deny", message="no")
    second = (await arrived(console, before, 2))[1]
    await console.decide(second["request_id"], "deny", message="still no")
    await working
    assert first["request_id"] != second["request_id"]
    assert (first["args_digest"], first["run_id"]) == (second["args_digest"], second["run_id"])
    assert office.ran == []


def test_s9_the_digest_of_selectools_pending():
    from selectools.pending import compute_args_digest

    vectors = {"{}": "44136fa3", '{"a":2,"b":1}': "d3626ac3"}
    for text, start in vectors.items():
        assert selectools64(json.loads(text)).startswith(start)
    for args in (None, {}, {"b": 1, "a": 2}, {"é": "\U0001f600"}, {"when": datetime(2026, 11, 21)}):
        assert selectools64(args) == compute_args_digest(args)


async def test_a_skipped_call_does_not_run_and_is_no_refusal(bench, console):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]))
    working, body = await one(console, office.start)
    await console.decide(body["request_id"], "skip")
    await working
    assert office.ran == []
    assert "skipped" in office.script.tool_texts()[0]


async def test_terminate_ends_the_run(bench, console):
    token = CancellationToken()
    turns = [[("delete_invoice", dict(ARGS))], [("delete_invoice", dict(ARGS))]]
    office = Office(bench, Script(*turns), cancel_token=token)
    working, body = await one(console, office.start)
    assert "terminate" in body["allowed_verdicts"]
    await console.decide(body["request_id"], "terminate", message="stop")
    await working
    assert office.ran == []
    assert len(office.script.turns) == 1


async def test_what_selectools_will_coerce_is_shown_on_the_card(bench, console):
    office = Office(bench, Script([("delete_invoice", {"invoice_id": "A", "copies": "3"})]))
    working, body = await one(console, office.start)
    assert body["effective"] == {"coerced": {"copies": 3}}
    await console.decide(body["request_id"])
    await working
    assert office.ran == [{"invoice_id": "A", "copies": 3}]
    assert (await console.receipt(body["request_id"], "executed"))["executed_args_digest"] == body["args_digest"]


async def test_arguments_changed_while_waiting_do_not_run(bench, console):
    args = dict(ARGS)
    office = Office(bench, Script([("delete_invoice", args)]))
    working, body = await one(console, office.start)
    args["invoice_id"] = "ALL"
    await console.decide(body["request_id"])
    await working
    assert office.ran == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "digest_differs"


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("handler", [False, True])
async def test_cancelling_arun_withdraws(bench, console, handler, asynchronous):
    office = Office(bench, Script([("delete_invoice", dict(ARGS))]))
    loop_ready: dict[str, object] = {}

    def work() -> None:
        tool = office.tool()
        with SelectoolsGate.open(bench.enrolment(), tools=[tool], approval_timeout=20) as gate:
            hooks = {"approval_handler": gate.handle} if handler else {}
            config = gate.tool_config(asynchronous=asynchronous, policy=ToolPolicy(review=["*"]), **hooks)
            agent = Agent(tools=[tool], provider=office.script, config=AgentConfig(tool=config, observers=[gate]))

            async def main() -> None:
                task = asyncio.ensure_future(agent.arun("go"))
                loop_ready.update(loop=asyncio.get_running_loop(), task=task)
                with pytest.raises(asyncio.CancelledError):
                    await task

            asyncio.run(main())

    before = len(console.received["request"])
    thread = threading.Thread(target=work)
    thread.start()
    [body] = await arrived(console, before)
    loop_ready["loop"].call_soon_threadsafe(loop_ready["task"].cancel)
    await console.until("withdraw", lambda m: m.subject.endswith(body["request_id"]))
    begun = time.monotonic()
    while thread.is_alive() and time.monotonic() - begun < 5:
        await asyncio.sleep(0.01)
    assert not thread.is_alive()
    assert office.ran == []
