"""Row S10 of seeds.md: the trace of a selectools run, checked against the published schema of a span."""

from __future__ import annotations

import asyncio
import json

from countersign.adapters.selectools import SelectoolsGate
from selectools import Agent, AgentConfig, Tool, ToolPolicy
from selectools.tools import ToolParameter

from console import Console
from contract import valid
from office import ARGS, Office, Script, arrived


def spans(console: Console, run_id: str) -> list[dict]:
    """Every span of a run as it was when it was last heard of, in the order in which they began."""
    latest: dict[str, dict] = {}
    for message in console.received["event"]:
        body = json.loads(message.data)
        if body.get("run_id") == run_id:
            valid("span", message.data)
            latest[body["span_id"]] = body
    return list(latest.values())


def run_ended(span: dict) -> bool:
    return span["kind"] == "agent" and span["status"] != "running"


async def test_s10_policy_start_end_error_and_denied_calls_appear_in_order(bench, console):
    def fail(why: str) -> str:
        raise ValueError(why)

    failing = Tool("fail", "Fails", [ToolParameter("why", str, "why")], fail)
    turns = [
        [("delete_invoice", dict(ARGS))],
        [("delete_invoice", {"invoice": "INV-42", "invoice_id": "1"})],
        [("fail", {"why": "no paper"})],
        [("drop_table", {})],
    ]
    office = Office(bench, Script(*turns))
    drop = Tool("drop_table", "Drops", [], lambda: "dropped")
    policy = ToolPolicy(allow=["fail"], deny=["drop_*"])

    def work() -> None:
        tools = [office.tool(), failing, drop]
        with SelectoolsGate.open(bench.enrolment(), tools=tools, approval_timeout=20) as gate:
            config = AgentConfig(tool=gate.tool_config(policy=policy), observers=[gate], max_iterations=6)
            Agent(tools=tools, provider=office.script, config=config).run("go")

    before = len(console.received["request"])
    working = asyncio.ensure_future(asyncio.to_thread(work))
    [first] = await arrived(console, before, 1, working)
    mine = f'"run_id":"{first["run_id"]}"'.encode()
    message = await console.until("event", lambda m: mine in m.data and b'"waiting"' in m.data)
    waiting = json.loads(message.data)
    assert waiting["tool_name"] == "delete_invoice"
    assert first["traceparent"] == f"00-{waiting['trace_id']}-{waiting['span_id']}-01"
    await console.decide(first["request_id"], "deny", message="no")
    second = (await arrived(console, before, 2, working))[1]
    await console.decide(second["request_id"])
    await working
    # The run's end is the last that arrives.
    await console.until("event", lambda m: mine in m.data and run_ended(json.loads(m.data)))
    seen = [span for span in spans(console, first["run_id"]) if span["kind"] != "llm"]
    assert [(span["kind"], span["name"], span["status"]) for span in seen] == [
        ("agent", "selectools run", "ok"),
        ("approval", "policy delete_invoice", "denied"),
        ("approval", "policy delete_invoice", "ok"),
        ("tool", "delete_invoice", "error"),
        ("approval", "policy fail", "ok"),
        ("tool", "fail", "error"),
        ("approval", "policy drop_table", "denied"),
    ]
    assert {span["trace_id"] for span in seen} == {seen[0]["trace_id"]}
    assert {span.get("parent_span_id") for span in seen[1:]} == {seen[0]["span_id"]}
    assert seen[1]["request_id"] == first["request_id"]
    invalid = seen[3]["error"]
    assert {"tool_name", "param_name", "issue", "suggestion"} <= set(invalid)
    assert invalid["param_name"] == "invoice"
    assert "no paper" in seen[5]["error"]["message"]
    assert (await console.receipt(second["request_id"], "failed"))["executed_args_digest"] == second["args_digest"]


async def test_s10_artifacts_are_listed_by_what_identifies_them(bench, console):
    from selectools.results import emit_artifact

    def report() -> str:
        emit_artifact("file:///r.pdf", sha256="ab" * 32, size=7, mime_type="application/pdf")
        return "made"

    tool = Tool("report", "Makes a report", [], report)
    script = Script([("report", {})])

    def work() -> None:
        with SelectoolsGate.open(bench.enrolment(), tools=[tool]) as gate:
            config = AgentConfig(tool=gate.tool_config(policy=ToolPolicy(allow=["*"])), observers=[gate])
            Agent(tools=[tool], provider=script, config=config).run("go")

    await asyncio.to_thread(work)
    message = await console.until("event", lambda m: b"file:///r.pdf" in m.data)
    [run, *_] = spans(console, json.loads(message.data)["run_id"])
    listed = {"url": "file:///r.pdf", "sha256": "ab" * 32, "size": 7, "mime_type": "application/pdf"}
    assert run["artifacts"] == [listed]
