"""The published contract (`docs/protocol`), written by another implementation: its examples and its schemas."""

from __future__ import annotations

import asyncio
import datetime as dt
import json

import pytest
from countersign import Decision, Enrolment, Form, Gate, Question, Span, ToolCall, args_digest, payload_digest
from countersign.clock import now, parse_rfc3339
from countersign.log import Stored
from countersign.realm import Realm
from countersign.records import slot_of
from countersign.signature import verify
from countersign.verify import judge
from countersign.wire import SentRequest, build_request

from contract import CONTRACT, valid

EXAMPLES = CONTRACT / "examples"
SIGNED = json.loads((EXAMPLES / "signatures.json").read_text())
DECISIONS = [entry for entry in SIGNED if entry["context"] == "decision"]
ENROLMENT = Enrolment.load(EXAMPLES / "agent.json")
AFTERWARDS = 1_000_000
"""A sequence above those of the log that the example agent was enrolled with."""


def example_log() -> Realm:
    assert ENROLMENT.log is not None
    [log] = [log for log in VECTORS["logs"] if log["name"] == "letting-in"]
    assert log["root"] == ENROLMENT.log.root
    state = Realm(ENROLMENT.realm, log["root"])
    for sent in log["messages"]:
        if (slot := slot_of(sent["subject"])) is not None:
            state.apply(slot, sent["seq"], sent["payload"].encode())
    assert state.holds(ENROLMENT.log.n, ENROLMENT.log.digest)
    return state


VECTORS = json.loads((CONTRACT / "vectors/realm-log.json").read_text())
STATE = example_log()


def requests() -> dict[str, SentRequest]:
    """The example requests by their digest."""
    found = {}
    for file in EXAMPLES.glob("request*.json"):
        payload = file.read_bytes()
        body = json.loads(payload)
        lifetime = dt.timedelta(days=30)
        if body.get("expires_at"):
            lifetime = parse_rfc3339(body["expires_at"]) - parse_rfc3339(body["requested_at"])
        found[payload_digest(payload)] = SentRequest(
            body["workspace"],
            body["agent"]["name"],
            body["request_id"],
            body["kind"],
            payload,
            payload_digest(payload),
            body.get("args_digest"),
            frozenset(body["allowed_verdicts"]) | {"deny"},
            body.get("approvals_required", 1),
            lifetime,
        )
    return found


@pytest.mark.parametrize("entry", SIGNED, ids=lambda entry: entry["file"])
def test_every_published_signature_stands_and_only_for_its_own_message(entry):
    payload = (EXAMPLES / entry["file"]).read_bytes()
    about = (entry["context"], entry["realm"], entry["subject"], payload)
    assert verify(entry["key"], entry["sig"], *about)
    assert not verify(entry["key"], entry["sig"], *about[:3], payload + b" ")


@pytest.mark.parametrize("entry", DECISIONS, ids=lambda entry: entry["file"])
def test_every_published_decision_is_judged_as_it_reads(entry):
    payload = (EXAMPLES / entry["file"]).read_bytes()
    body = json.loads(payload)
    request = requests()[body["request_digest"]]
    stored = Stored(entry["subject"], payload, {"CS-Key": entry["key"], "CS-Sig": entry["sig"]}, now(), AFTERWARDS)
    decision = judge(stored, request, STATE, late=False)
    assert decision.verdict == body["verdict"]
    assert decision.allowed is (body["verdict"] in ("approve", "modify"))
    if decision.allowed:
        assert args_digest(decision.args) == body["args_digest"]


def test_digests_of_the_published_requests():
    for request in requests().values():
        if request.args_digest is not None:
            assert args_digest(json.loads(request.payload)["args"]) == request.args_digest


WHOLE = {
    "title": "t",
    "reason": "r",
    "preview": "p",
    "run_id": "run",
    "thread_id": "th",
    "call_id": "c",
    "history": [{"role": "user", "content": "hi"}],
    "skill": {"name": "s", "version": "1", "path": "p", "allowed_tools": ["a"]},
    "chain": {"chain_id": "c", "seq": 1, "max_calls": 3},
    "group": {"id": "g", "index": 0, "size": 2},
    "confirm": {"setup_key": "", "command": "rm", "explanation": "why"},
    "approvals_required": 2,
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    "metadata": {"n": 2**70},
    "native": {"x": None},
}
ASKS = [
    ToolCall(name="t"),
    ToolCall(
        name="t",
        args=None,
        description="d",
        namespace="n",
        origin="mcp",
        effects="write",
        args_schema={"type": "object"},
        args_raw="{}",
        effective={"fixed": {}, "coerced": {"a": 1}, "injected_names": ["b"]},
        native_digest={"alg": "selectools64", "value": "00"},
        **WHOLE,
    ),
    Question(
        text="?", context="c", options=[{"key": "a", "label": "A", "description": "d"}], allow_freeform=True, **WHOLE
    ),
    Form(response_schema={"type": "object"}, **WHOLE),
]


@pytest.mark.parametrize("ask", ASKS, ids=["small", "whole", "question", "form"])
@pytest.mark.parametrize("lifetime", [None, dt.timedelta(seconds=3)])
def test_requests_are_as_the_schema_says(ask, lifetime):
    agent = {"instance_id": "i", "framework": "f", "framework_version": "1", "type": "t"}
    valid("request", build_request(ask, ENROLMENT, agent, lifetime, now()).payload)


async def test_everything_else_that_is_sent_is_as_the_schemas_say(bench, console, request_id):
    span: Span = {
        "v": 1,
        "type": "span",
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "span_id": "b7ad6b7169203331",
        "name": "n",
        "kind": "tool",
        "started_at": "2026-11-21T12:00:00.000Z",
    }
    tools = [{"name": "t", "description": "d", "args_schema": {}, "risk": "low"}]
    async with Gate.connect(bench.enrolment(), framework="f", tools=tools) as gate:
        gate.span(span)
        asking = asyncio.create_task(gate.ask(ToolCall(name="t", request_id=request_id)))
        await console.request(request_id)
        await gate.tighten(request_id, 5)
        await console.decide(request_id)
        decision: Decision = await asking
        await gate.receipt(decision, "executed", executed_args_digest=decision.args_digest, degraded=["x"])
        taken = asyncio.create_task(gate.ask(ToolCall(name="t", request_id=f"{request_id}b")))
        await console.request(f"{request_id}b")
        await gate.withdraw(f"{request_id}b", "why")
        mine = json.dumps(gate._instance_id).encode()
        valid("hello", (await console.until("hello", lambda m: mine in m.data)).data)
        valid("alive", (await console.until("alive", lambda m: mine in m.data)).data)
        taken.cancel()
    valid("span", (await console.until("event", lambda m: b"b7ad6b7169203331" in m.data)).data)
    valid("tighten", (await console.until("tighten", lambda m: m.subject.endswith(request_id))).data)
    valid("withdraw", (await console.until("withdraw", lambda m: m.subject.endswith(f"{request_id}b"))).data)
    for stage in ("received", "executed"):
        valid("receipt", json.dumps(await console.receipt(request_id, stage)).encode())
