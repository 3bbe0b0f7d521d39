"""Rows R1 to R11 with ravi's own invoker, of each tested version of agent-substrate."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import json
import types
from dataclasses import dataclass, field

import pytest
from countersign import BusUnreachableError, Gate, args_digest
from countersign.adapters.ravi import RaviApprovalHandler, ravi16, skills_of, tools_of

from conftest import Bench, opened
from office import arrived
from ravi_kit import VERSIONS, Registry, Store, Tool, ravi

SAFE = ("look", "safe")
ARGS = {"to": "a@example.org"}


@pytest.fixture(scope="module", params=VERSIONS)
def kit(request):
    with ravi(request.param) as found:
        yield found


class Office:
    """ravi's invoker with three tools and our handler."""

    def __init__(self, kit, gate, *, timeout: float = 20.0, store=None, inline: int = 4096, **options) -> None:
        self.kit = kit
        self.tools = Registry(*(Tool(kit, *about) for about in (SAFE, ("mail", "high"), ("wipe", "critical"))))
        self.policy = kit.contract.ChainPolicy(approval_timeout_s=timeout, max_inline_result_bytes=inline)
        options.setdefault("registry", self.tools)
        self.handler = RaviApprovalHandler(gate, approval_timeout=timeout, **options)
        inner = kit.ToolInvoker(self.tools, self.handler, artifact_store=store, policy=self.policy)
        self.invoker = self.handler.invoker(inner)
        self.session = self.invoker.open_session()

    def call(self, name: str, args: dict | None = None):
        return self.kit.contract.ToolCallRequest(name=name, arguments=ARGS if args is None else args)

    def start(self, name: str = "mail", args: dict | None = None) -> asyncio.Task:
        call = self.call(name, args)
        return asyncio.ensure_future(self.invoker.invoke(call, session=self.session))

    def ran(self, name: str = "mail") -> list[dict]:
        return self.tools[name].ran


async def card(console, working, number: int = 1) -> dict:
    return (await arrived(console, console.before, number, working))[-1]


@pytest.fixture(autouse=True)
def counted(console):
    console.before = len(console.received["request"])


async def last_span(console, match, seconds: float = 10.0) -> dict:
    message = await console.until("event", lambda m: match(json.loads(m.data)), seconds)
    return json.loads(message.data)


async def test_r1_safe_calls_run_and_the_others_ask(kit, gate, console):
    office = Office(kit, gate)
    assert (await office.start("look")).status == "ok"
    assert len(console.received["request"]) == console.before
    for number, (name, risk) in enumerate([("mail", "high"), ("wipe", "critical")], 1):
        working = office.start(name)
        body = await card(console, working, number)
        assert (body["tool"]["name"], body["risk"]) == (name, risk)
        assert office.ran(name) == []
        await console.decide(body["request_id"])
        assert (await working).status == "ok"
        assert office.ran(name) == [ARGS]
        receipt = await console.receipt(body["request_id"], "executed")
        assert receipt["executed_args_digest"] == args_digest(ARGS)


async def test_r1_the_card_has_the_whole_request(kit, gate, console):
    office = Office(kit, gate, effects={"mail": "write"})
    working = office.start("mail", {"to": {"$artifact": "ref-1"}, "n": 1})
    body = await card(console, working)
    await console.decide(body["request_id"], "deny")
    await working
    native = body["native"]
    assert set(native) == {"call", "risk", "agent_id", "run_id", "context", "requested_at"}
    assert native["call"] == {
        "kind": "tool_call",
        "name": "mail",
        "arguments": body["args"],
        "call_id": body["call_id"],
    }
    assert native["agent_id"] == {"type": "chain", "key": body["call_id"]}
    assert dt.datetime.fromisoformat(native["requested_at"]).tzinfo is not None
    assert body["run_id"] == body["call_id"]
    assert body["native_digest"] == {"alg": "ravi16", "value": ravi16(body["args"])}
    assert body["tool"] == {
        "name": "mail",
        "description": "mail!",
        "effects": "write",
        "args_schema": office.tools["mail"].input_schema,
    }
    assert body["effective"] == {"injected_names": ["to"]}
    assert body["allowed_verdicts"] == ["approve", "deny", "skip", "modify"]


ANSWERS = {
    "approve": ("ok", "ok", None),
    "deny": ("denied", "denied", None),
    "skip": ("denied", "cancelled", ["skip_as_deny"]),
    "terminate": ("denied", "denied", None),
}


@pytest.mark.parametrize("verdict", ANSWERS)
async def test_r2_what_each_answer_becomes(kit, gate, console, verdict):
    ended: list[int] = []
    office = Office(kit, gate, on_terminate=lambda: ended.append(1))
    status, state, degraded = ANSWERS[verdict]
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], verdict)
    assert (await working).status == status
    assert len(office.ran()) == (verdict == "approve")
    assert len(ended) == (verdict == "terminate")
    receipt = await console.receipt(body["request_id"], "received")
    assert receipt.get("degraded") == degraded or receipt.get("degraded") == []
    span = await last_span(console, lambda s: s.get("call_id") == body["call_id"] and "output" in s)
    assert (span["status"], span["request_id"]) == (state, body["request_id"])


async def test_r2_edited_arguments_run(kit, gate, console):
    office = Office(kit, gate)
    edited = {"to": "b@example.org"}
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], "modify", edited_args=edited, args_digest=args_digest(edited))
    assert (await working).status == "ok"
    assert office.ran() == [edited]
    receipt = await console.receipt(body["request_id"], "executed")
    assert receipt["executed_args_digest"] == args_digest(edited)


async def test_r2_an_edit_that_is_no_object_is_denied(kit, gate, console):
    office = Office(kit, gate)
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], "modify", edited_args=[1], args_digest=args_digest([1]))
    assert (await working).status == "denied"
    assert office.ran() == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "invalid_args"


@pytest.mark.parametrize(
    ("verdict", "degraded"), [("deny", ["message"]), ("approve", ["message"]), ("skip", ["skip_as_deny", "message"])]
)
async def test_r2_words_that_ravi_does_not_hand_on_are_named(kit, gate, console, verdict, degraded):
    office = Office(kit, gate)
    working = office.start()
    body = await card(console, working)
    await console.decide(body["request_id"], verdict, message="ask Grace")
    await working
    assert (await console.receipt(body["request_id"], "received"))["degraded"] == degraded


async def test_r2_arguments_changed_while_waiting_do_not_run(kit, gate, console):
    office = Office(kit, gate)
    args = dict(ARGS)
    call = office.call("mail", args)
    working = asyncio.ensure_future(office.invoker.invoke(call, session=office.session))
    body = await card(console, working)
    call.arguments["to"] = "everybody"
    await console.decide(body["request_id"])
    assert (await working).status == "denied"
    assert office.ran() == []
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "digest_differs"


class Words(enum.Enum):
    APPROVED = "approved"
    DENIED = "denied"
    SKIPPED = "skipped"


class MoreWords(enum.Enum):
    APPROVED = "approved"
    DENIED = "denied"
    SKIPPED = "skipped"
    MODIFIED = "modified"


@dataclass
class FullResult:
    decision: MoreWords
    modified_args: dict | None = None
    reason: str | None = None
    decided_by: str | None = None
    decided_at: dt.datetime | None = None


@dataclass
class OldRequest:
    call: object
    risk: str = "sensitive"
    agent_id: object = field(default_factory=lambda: types.SimpleNamespace(type="a", key="b"))
    run_id: str = "run"
    context: dict = field(default_factory=lambda: {"summary": "sends a mail"})
    requested_at: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))


def old_call(name: str = "mail"):
    return types.SimpleNamespace(kind="tool_call", name=name, arguments=ARGS, call_id="c1")


THREE_WORDS = types.SimpleNamespace(ApprovalDecision=Words)
ALL_FIELDS = types.SimpleNamespace(ApprovalDecision=MoreWords, ApprovalResult=FullResult)


@pytest.mark.parametrize(("verdict", "word"), [("approve", "approved"), ("deny", "denied"), ("skip", "skipped")])
async def test_r2_the_older_protocol_gets_one_of_its_three_words(gate, console, verdict, word):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    assert body["allowed_verdicts"] == ["approve", "deny", "skip"]
    assert (body["risk"], body["reason"]) == ("high", "sends a mail")
    await console.decide(body["request_id"], verdict)
    assert await working is Words(word)


@pytest.mark.parametrize("verdict", ["approve", "modify", "deny"])
async def test_r2_a_result_has_what_it_has_fields_for(gate, console, verdict):
    handler = RaviApprovalHandler(gate, contract=ALL_FIELDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call(), risk="unknown")))
    body = await card(console, working)
    assert body["risk"] == "critical"
    edit = {"edited_args": {"x": 1}, "args_digest": args_digest({"x": 1})} if verdict == "modify" else {}
    await console.decide(body["request_id"], verdict, message="because", **edit)
    result = await working
    assert (result.reason, result.decided_by) == ("because", "Ada")
    assert result.decided_at.tzinfo is not None
    assert result.modified_args == ({"x": 1} if verdict == "modify" else None)
    received = await console.receipt(body["request_id"], "received")
    assert ("message" in (received.get("degraded") or [])) is (verdict == "deny")


async def test_an_unknown_word_is_denied(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    await console.decide(body["request_id"], "yes please")
    assert await working is Words.DENIED


async def test_r4_the_card_ends_before_ravi_and_ravi_speaks_first(kit, gate, console):
    office = Office(kit, gate, timeout=1.2)
    working = office.start()
    body = await card(console, working)
    stamps = [dt.datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
    assert (stamps[0] - stamps[1]).total_seconds() == pytest.approx(0.9, abs=0.002)
    result = await working
    assert (result.status, office.ran()) == ("denied", [])
    assert "timed out" in result.text
    span = await last_span(console, lambda s: s.get("call_id") == body["call_id"] and s["status"] == "timeout")
    assert span["request_id"] == body["request_id"]


async def test_r4_the_default_is_half_a_second_less_than_ravis(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS)
    working = asyncio.ensure_future(handler.request(OldRequest(old_call())))
    body = await card(console, working)
    stamps = [dt.datetime.fromisoformat(body[name]) for name in ("expires_at", "requested_at")]
    assert (stamps[0] - stamps[1]).total_seconds() == 54.5
    working.cancel()
    await console.until("withdraw", lambda m: m.subject.endswith(body["request_id"]))


async def test_r4_without_a_time_out_of_ravis_own_an_expired_call_is_denied(gate, console):
    handler = RaviApprovalHandler(gate, contract=THREE_WORDS, approval_timeout=0.4)
    assert await handler.request(OldRequest(old_call())) is Words.DENIED


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
    [told] = skills_of([skill])
    assert told == {"name": "mailing", "version": "1", "description": "d", "allowed_tools": ["mail"]}
    assert skills_of({"mailing": skill}) == [told]


async def test_r11_without_a_bus_nothing_runs(kit, tmp_path_factory):
    bench = await opened(Bench(tmp_path_factory.mktemp("nats")))
    async with Gate.connect(bench.enrolment()) as gate:
        office = Office(kit, gate, timeout=3)
        waiting = office.start()
        await bench.console.until("request", lambda _: True)
        bench.server.stop()
        await bench.console.nc.close()
        results = [await waiting, await office.start("wipe")]
        with pytest.raises(BusUnreachableError):
            await RaviApprovalHandler(gate, contract=THREE_WORDS, approval_timeout=1).request(OldRequest(old_call()))
    assert all(result.status in ("denied", "error") for result in results)
    assert (office.ran("mail"), office.ran("wipe")) == ([], [])
