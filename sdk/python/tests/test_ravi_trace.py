"""Rows R5, R6, R9 and R10 of ravi: chains, digests, results, and what tools and skills are said to be."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import types

import pytest
from countersign.adapters.ravi import RaviApprovalHandler, ravi16, skills_of, tools_of

from office import arrived
from ravi_kit import VERSIONS, Office, Registry, Store, Tool, ravi


@pytest.fixture(scope="module", params=VERSIONS)
def kit(request):
    with ravi(request.param) as found:
        yield found


async def card(console, working, number: int = 1) -> dict:
    return (await arrived(console, console.before, number, working))[-1]


@pytest.fixture(autouse=True)
def counted(console):
    console.before = len(console.received["request"])


async def last_span(console, match, seconds: float = 10.0) -> dict:
    message = await console.until("event", lambda m: match(json.loads(m.data)), seconds)
    return json.loads(message.data)


RECORDS = [("look", "ok", 12), ("mail", "denied", 40), ("wipe", "timeout", 1000), ("mail", "error", 3)]


async def test_r5_a_crashed_chain_afterwards(kit, gate, console):
    contract = kit.contract
    trace = [
        contract.ChainCallRecord(tool=tool, args_digest=ravi16({"n": n}), status=status, duration_ms=took)
        for n, (tool, status, took) in enumerate(RECORDS)
    ]
    result = contract.ChainRunResult(
        status="error", error="ZeroDivisionError", logs="l", tool_calls=4, duration_ms=1500, call_trace=trace
    )
    start = dt.datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=dt.UTC)
    handler = RaviApprovalHandler(gate)
    trace_id = handler.record_chain(result, chain_id="c1", run_id="r1", started_at=start)
    await last_span(console, lambda s: s["trace_id"] == trace_id and s.get("attributes", {}).get("ravi.seq") == 4)
    sent = [json.loads(message.data) for message in console.received["event"]]
    chain, *tools = [span for span in sent if span["trace_id"] == trace_id]
    assert (chain["kind"], chain["name"], chain["status"]) == ("chain", "tool_chain", "error")
    assert (chain["error"]["message"], chain["run_id"]) == ("ZeroDivisionError", "r1")
    assert chain["attributes"] == {
        "ravi.chain_id": "c1",
        "ravi.tool_calls": 4,
        "ravi.duration_ms": 1500,
        "ravi.logs": "l",
    }
    assert chain["started_at"] == "2026-11-21T12:00:00.123Z"
    begun = chain["started_at"]
    for n, (span, (tool, status, took)) in enumerate(zip(tools, RECORDS, strict=True)):
        assert (span["tool_name"], span["status"], span["args_digest"]) == (tool, status, ravi16({"n": n}))
        assert (span["parent_span_id"], span["started_at"]) == (chain["span_id"], begun)
        assert "input" not in span
        begun = span["ended_at"]
        ends = [dt.datetime.fromisoformat(span[name]) for name in ("ended_at", "started_at")]
        assert ends[0] - ends[1] == dt.timedelta(milliseconds=took)


@pytest.mark.parametrize("crashes", [False, True])
async def test_r5_cards_of_a_chain_are_numbered_and_stand_under_it(kit, gate, console, crashes):
    office = Office(kit, gate)
    skill = types.SimpleNamespace(name="mailing", version="2", path=None, allowed_tools=("mail",))
    inner = types.SimpleNamespace(name="wiping", version="1", path="w/SKILL.md", allowed_tools=())

    async def work() -> None:
        with office.handler.chain("c7", policy=office.policy, skill=skill, run_id="run 7", thread_id="t"):
            await office.start("look")
            await office.start("mail")
            with office.handler.skill(inner):
                await office.start("wipe")
            if crashes:
                raise ZeroDivisionError("oh")

    working = asyncio.ensure_future(work())
    bodies = []
    for number in (1, 2):
        bodies.append(await card(console, working, number))
        await console.decide(bodies[-1]["request_id"])
    await asyncio.wait([working])
    assert isinstance(working.exception(), ZeroDivisionError if crashes else type(None))
    assert [body["chain"] for body in bodies] == [{"chain_id": "c7", "seq": n, "max_calls": 50} for n in (1, 2)]
    assert [body["run_id"] for body in bodies] == ["run 7", "run 7"]
    assert bodies[0]["skill"] == {"name": "mailing", "version": "2", "allowed_tools": ["mail"]}
    assert bodies[1]["skill"] == {"name": "wiping", "version": "1", "path": "w/SKILL.md", "allowed_tools": []}
    trace_id = bodies[0]["traceparent"].split("-")[1]
    ended = "error" if crashes else "ok"
    chain = await last_span(
        console, lambda s: s["trace_id"] == trace_id and s["kind"] == "chain" and s["status"] == ended
    )
    sent = [json.loads(message.data) for message in console.received["event"]]
    tools = {s["span_id"]: s for s in sent if s["trace_id"] == trace_id and s["kind"] == "tool"}
    assert [span["tool_name"] for span in tools.values()] == ["look", "mail", "wipe"]
    assert {(span["parent_span_id"], span["status"]) for span in tools.values()} == {(chain["span_id"], "ok")}


@pytest.mark.parametrize(
    ("text", "digest"),
    [
        ("{}", "44136fa355b3678a"),
        ('{"a":2,"b":1}', "21501dbaf73f5223"),
        ('{"b":1,"a":2}', "21501dbaf73f5223"),
        ('{"n":"é"}', "d20c282a9258bc96"),
    ],
)
def test_r6_ravis_digest(text, digest):
    assert ravi16(json.loads(text)) == digest


async def test_r9_a_large_result_has_its_preview_and_where_the_rest_is(kit, gate, console):
    office = Office(kit, gate, store=Store(), inline=10)
    office.tools["mail"].text = "0123456789abcdef"
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"])
    await working
    span = await last_span(console, lambda s: s.get("call_id") == body["call_id"] and "output" in s)
    assert span["output"] == [{"m_type": "text", "m_content": "0123456789…"}, {"artifact_ref": "ref-0"}]
    assert span["attributes"]["ravi.structured"] == {"n": 1}
    assert span["usage"]["execution_time_ms"] > 0


async def test_r9_files_and_calls_that_nobody_was_asked_about(kit, gate, console):
    contract = kit.contract
    file = contract.ChainFile(path="/workspace/a.png", media_type="image/png", artifact_ref="ref-9")
    call = contract.ToolCallRequest(name="look", arguments={"q": 1})
    handler = RaviApprovalHandler(gate)
    handler.record_result(call, contract.InvocationResult(status="error", text="no", files=[file]), duration_ms=1500)
    span = await last_span(console, lambda s: s.get("call_id") == call.call_id)
    assert (span["status"], span["input"]) == ("error", {"q": 1})
    assert span["artifacts"] == [{"url": "ref-9", "mime_type": "image/png", "filename": "/workspace/a.png"}]


async def test_r10_where_tools_come_from_and_references(kit, gate, console):
    hosted = types.SimpleNamespace(name="search", description="s", provider_specs={})
    patch = types.SimpleNamespace(
        name="apply_patch", description="p", provider_specs={}, call_types=(), handle_call=None, risk="sensitive"
    )
    said = tools_of(Registry(hosted, patch, Tool(kit, "mail", "high")))
    assert [(tool["name"], tool["origin"], tool["gated"], tool["risk"]) for tool in said] == [
        ("search", "hosted", False, "critical"),
        ("apply_patch", "provider_defined", True, "high"),
        ("mail", "local", True, "high"),
    ]
    store = Store()
    store.kept["ref-1"] = b"bytes"
    office = Office(kit, gate, store=store)
    working = office.start("mail", {"to": {"$artifact": "ref-1"}})
    body = await card(console, working)
    assert body["effective"] == {"injected_names": ["to"]}
    await console.decide(body["request_id"])
    await working
    assert office.ran() == [{"to": b"bytes"}]


def test_skills_are_told_without_their_instructions(kit):
    skill = kit.contract.Skill(name="mailing", instructions="SECRET", description="d", allowed_tools=("mail",))
    [reported] = skills_of([skill])
    assert reported == {"name": "mailing", "version": "1", "description": "d", "allowed_tools": ["mail"]}
    assert skills_of({"mailing": skill}) == [reported]
