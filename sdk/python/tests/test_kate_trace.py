"""Rows K5 to K8 and K10: spans, receipts of what failed, hellos, and what happens without a bus."""

from __future__ import annotations

import asyncio
import json

import projectkate
import pytest
from countersign import NotAllowedError
from countersign.adapters.kate import KateGate
from projectkate import KateClient, LocalTool

from conftest import Bench, opened
from kate_office import BERLIN, GO, START, Notes, card, only, start
from kate_world import AGENT, PROVIDERS, kate_world

MISSING = [{"tool_name": "weather", "artifact_id": "a1", "status": "pending_credentials", "missing_keys": ["KEY"]}]


@pytest.fixture
def world(console):
    START["n"] = len(console.received["request"])
    with kate_world() as made:
        projectkate.init(api_url=made.url, api_key="key", agent_id=AGENT)
        yield made


@pytest.fixture
async def kate(bench):
    async with KateGate.connect(bench.enrolment(), timeout=20, risks={"weather": "low"}) as gate:
        yield gate


async def trace(console, run_id: str, status: str) -> list[dict]:
    """The spans of a run in the order in which they began, once the run ended so."""

    def spans() -> list[dict]:
        sent = [json.loads(message.data) for message in console.received["event"]]
        latest = {span["span_id"]: span for span in sent if span.get("run_id") == run_id}
        return list(latest.values())

    async with asyncio.timeout(10):
        while not any(span["kind"] == "agent" and span["status"] == status for span in spans()):
            await asyncio.sleep(0.01)
    return spans()


def of(spans: list[dict], kind: str) -> list[dict]:
    return [span for span in spans if span["kind"] == kind]


@pytest.mark.parametrize("charged", [0, 2.5])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_k5_usage_and_the_order_of_a_run(kate, console, world, provider, charged):
    notes = Notes()
    world.result = (200, {"success": True, "output": {"c": 21}, "execution_time_ms": 1.5, "tokens_charged": charged})
    world.turns = [[("weather", BERLIN), ("note", {"text": "a"})]]
    working = start(kate, world, provider, notes)
    for number in (1, 2):
        body = await card(console, START["n"], number, working)
        await console.decide(body["request_id"])
    await working
    spans = await trace(console, body["run_id"], "ok")
    assert [span["kind"] for span in spans] == ["agent", "llm", "tool", "tool", "llm"]
    run, model, weather, note, _ = spans
    assert run["name"] == "kate tool_loop"
    assert run["attributes"] == {
        "kate.marketplace_tools": 1,
        "kate.local_tools": 1,
        "kate.max_rounds": 10,
        "gen_ai.request.model": "m",
        "kate.rounds": 2,
        "kate.tool_calls_made": 2,
    }
    assert {span["parent_span_id"] for span in spans[1:]} == {run["span_id"]}
    assert model["usage"] == {"input_tokens": 7, "output_tokens": 3}
    assert (weather["call_id"], weather["status"], weather["input"]) == ("call_1_0", "ok", BERLIN)
    assert weather["usage"] == {"tokens_charged": charged, "execution_time_ms": 1.5}
    assert json.loads(weather["output"][0]["m_content"]) == {"c": 21}
    assert weather["attributes"]["kate.local"] is False
    assert body["traceparent"] == f"00-{run['trace_id']}-{note['span_id']}-01"


ERRORS = {
    402: ("KateBalanceError", "402", "error"),
    428: ("KateCredentialError", "428", "error"),
    502: ("KateToolError", "502", "error"),
    504: ("KateToolError", "504", "timeout"),
    500: ("KateRemoteError", "500", "error"),
    422: ("KateRemoteError", "422", "error"),
}


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("code", ERRORS)
async def test_k6_errors_have_states_of_their_own(bench, console, world, code, reported):
    kind, word, status = ERRORS[code]
    world.status, world.result, world.turns = MISSING, (code, {"detail": "x"}), [[("weather", BERLIN)]]
    async with KateClient("key", base_url=world.url) as client:
        read = (lambda: client.tools.status(AGENT)) if reported else None
        async with KateGate.connect(bench.enrolment(), timeout=20, status=read) as kate:
            before = len(console.received["hello"])
            working = start(kate, world, "openai")
            body = await only(console, working)
            await working
            spans = await trace(console, body["run_id"], "ok")
            hellos = [json.loads(message.data) for message in console.received["hello"][before:]]
    [tool] = of(spans, "tool")
    assert (tool["status"], tool["error"]["type"], tool["error"]["code"]) == (status, kind, word)
    assert tool["error"].get("missing_keys") == (["KEY"] if code == 428 and reported else None)
    receipt = await console.receipt(body["request_id"], "failed")
    assert (receipt["message"], receipt["executed_args_digest"]) == (kind, body["args_digest"])
    assert world.read()[0][1] == f"Error: tool 'weather' failed with {kind}"
    said = [hello["credentials"] for hello in hellos if "credentials" in hello]
    assert said == ([MISSING] * (2 if code == 428 else 1) if reported else [])


async def test_k6_a_result_without_success_and_an_exception_of_a_local_tool(kate, console, world):
    def broken() -> None:
        raise KeyError("nothing there")

    world.result = (200, {"success": False, "error": "no such city", "tokens_charged": 1})
    world.turns = [[("weather", BERLIN), ("broken", {})]]
    tool = LocalTool("broken", "fails", {}, broken)
    working = asyncio.ensure_future(
        kate.tool_loop(world.client("openai"), model="m", messages=GO, local_tools=[tool])
    )
    bodies = []
    for number in (1, 2):
        bodies.append(await card(console, START["n"], number, working))
        await console.decide(bodies[-1]["request_id"])
    await working
    weather, local = of(await trace(console, bodies[0]["run_id"], "ok"), "tool")
    assert weather["error"] == {"type": "ToolResult", "code": "success_false", "message": "no such city"}
    assert weather["usage"]["tokens_charged"] == 1
    assert (await console.receipt(bodies[0]["request_id"], "failed"))["message"] == "no such city"
    assert (local["status"], local["error"]["type"]) == ("error", "KeyError")
    assert (await console.receipt(bodies[1]["request_id"], "failed"))["message"] == "KeyError"
    assert [text for _, text in world.read()] == [
        "Error: no such city",
        "Error: tool 'broken' failed with KeyError",
    ]


async def test_k7_local_calls_are_in_the_trace_whatever_became_of_them(kate, console, world):
    notes = Notes()
    verdicts = {"approve": "ok", "deny": "denied", "skip": "cancelled", "respond": "ok"}
    world.turns = [[("note", {"text": verdict}) for verdict in verdicts]]
    working = start(kate, world, "anthropic", notes)
    for number, verdict in enumerate(verdicts, 1):
        body = await card(console, START["n"], number, working)
        response = {"response": {"content": "said"}} if verdict == "respond" else {}
        await console.decide(body["request_id"], verdict, **response)
    await working
    tools = of(await trace(console, body["run_id"], "ok"), "tool")
    assert [span["status"] for span in tools] == list(verdicts.values())
    assert all(span["attributes"]["kate.local"] and span["request_id"] for span in tools)
    assert tools[3]["attributes"]["countersign.responded"] is True


@pytest.mark.parametrize("rounds", [0, 1, 2])
async def test_k8_a_loop_that_its_limit_stopped_is_incomplete(kate, console, world, rounds):
    world.turns = [[("weather", {"n": number})] for number in range(rounds)]
    working = start(kate, world, "openai", max_rounds=rounds)
    for number in range(1, rounds + 1):
        body = await card(console, START["n"], number, working)
        await console.decide(body["request_id"])
    assert (await working).rounds == rounds
    if rounds:
        run = of(await trace(console, body["run_id"], "incomplete"), "agent")[0]
        assert run["attributes"]["kate.rounds"] == rounds


async def test_k8_how_else_a_run_ends(kate, console, world):
    world.turns = [[("weather", BERLIN)], [("weather", BERLIN)]]
    working = start(kate, world, "openai")
    body = await card(console, START["n"], 1, working)
    working.cancel()
    await asyncio.wait([working])
    assert of(await trace(console, body["run_id"], "cancelled"), "tool")[0]["status"] == "cancelled"
    working = start(kate, world, "openai")
    body = await card(console, START["n"], 2, working)
    await console.decide(body["request_id"], "terminate")
    with pytest.raises(NotAllowedError):
        await working
    assert of(await trace(console, body["run_id"], "denied"), "tool")[0]["status"] == "denied"


async def test_the_hello_names_the_tools_before_the_model_is_asked(kate, console, world):
    notes = Notes()
    before = len(console.received["hello"])
    await start(kate, world, "openai", notes)
    said = [json.loads(message.data) for message in console.received["hello"][before:]]
    [hello] = [hello for hello in said if "tools" in hello]
    weather, note = hello["tools"]
    assert (weather["name"], weather["risk"], weather["origin"]) == ("weather", "low", "marketplace")
    assert weather["args_schema"]["properties"] == {"city": {"type": "string"}}
    assert (note["name"], note["risk"], note["origin"]) == ("note", "critical", "local")


async def test_a_marketplace_that_is_away_counts_no_tools(kate, console, world):
    projectkate.init(api_url="http://127.0.0.1:9", api_key="key", agent_id=AGENT)
    notes = Notes()
    world.turns = [[("note", {"text": "a"})]]
    working = start(kate, world, "openai", notes)
    body = await only(console, working)
    await working
    run = of(await trace(console, body["run_id"], "ok"), "agent")[0]
    assert run["attributes"]["kate.marketplace_tools"] == 0


async def test_k10_without_a_bus_nothing_runs_and_the_model_reads_why(tmp_path_factory, world):
    bench = await opened(Bench(tmp_path_factory.mktemp("nats")))
    notes = Notes()
    async with KateGate.connect(bench.enrolment(), timeout=1.5) as kate:
        world.turns = [[("note", {"text": "a"})], [("weather", BERLIN), ("note", {"text": "b"})]]
        working = start(kate, world, "openai", notes)
        await bench.console.until("request", lambda _: True)
        bench.server.stop()
        await bench.console.nc.close()
        result = await working
    assert result.content == "done"
    assert (notes.ran, world.executed) == ([], [])
    assert len(world.read()) == 3
    assert all("(bus_unreachable)" in text for _, text in world.read()[1:])


@pytest.mark.parametrize(
    ("status", "missing", "warned"),
    [
        ("not_required", [], False),
        ("active", [], False),
        ("pending_credentials", ["WEATHER_KEY", "REGION"], True),
    ],
)
async def test_k6b_a_credential_is_told_on_the_card_only_where_it_is_incomplete(desk, world, status, missing, warned):
    world.status = [{"tool_name": "weather", "artifact_id": "a1", "status": status, "missing_keys": missing}]
    world.turns = [[("weather", BERLIN)]]
    async with KateClient("key", base_url=world.url) as client:
        read = lambda: client.tools.status(AGENT)  # noqa: E731
        async with KateGate.connect(desk.agent_json, status=read) as kate:
            working = start(kate, world, "openai")
            card = await desk.card(working)
            found = [warning for warning in card["warnings"] if warning["code"] == "credential_incomplete"]
            await desk.deny(card)
            await working
    assert len(found) == warned
    assert all(key in json.dumps(found) for key in missing)
