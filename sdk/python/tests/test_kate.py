"""Rows K1 to K4 and K9: the real projectkate and clients of both providers, a model and a marketplace at hand."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
import threading

import projectkate
import pytest
from countersign import NotAllowedError, args_digest
from countersign.adapters.kate import KateGate
from projectkate import KateClient, LocalTool

from kate_office import BERLIN, GO, START, Notes, card, only, start
from kate_world import AGENT, PROVIDERS, kate_world


@pytest.fixture
def world(console):
    START["n"] = len(console.received["request"])
    with kate_world() as made:
        projectkate.init(api_url=made.url, api_key="key", agent_id=AGENT)
        yield made


@pytest.fixture
async def kate(bench):
    async with KateGate.connect(
        bench.enrolment(), timeout=20, thread_id="thread 1", risks={"weather": "low"}
    ) as gate:
        yield gate


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("provider", PROVIDERS)
async def test_k1_local_marketplace_and_unknown_calls_wait(kate, console, world, provider, plain):
    notes = Notes(plain=plain)
    world.turns = [[("note", {"text": "a", "odd": 1})], [("weather", BERLIN)], [("unheard", {})]]
    working = start(kate, world, provider, notes)
    origins = []
    for number in (1, 2, 3):
        body = await card(console, START["n"], number, working)
        origins.append((body["tool"]["name"], body["tool"]["origin"], body["risk"]))
        assert (len(notes.ran), len(world.executed)) == [(0, 0), (1, 0), (1, 1)][number - 1]
        await console.decide(body["request_id"])
    result = await working
    assert origins == [
        ("note", "local", "critical"),
        ("weather", "marketplace", "low"),
        ("unheard", "marketplace", "critical"),
    ]
    assert notes.ran == [{"text": "a", "copies": 1}]
    assert (threading.get_ident() in notes.threads) is not plain
    assert [call["input"] for call in world.executed] == [BERLIN, {}]
    assert (result.content, result.tool_calls_made, result.rounds) == ("done", 3, 4)


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_k1_the_card_has_what_a_person_needs(kate, console, world, provider):
    notes = Notes()
    world.turns = [[("note", {"text": "a", "odd": 1})]]
    working = start(kate, world, provider, notes)
    body = await only(console, working)
    await working
    assert body["agent"]["framework"] == "projectkate"
    assert body["agent"]["framework_version"] == "0.3.2"
    assert body["args"] == {"text": "a", "odd": 1}
    assert body["effective"] == {"dropped_names": ["odd"]}
    assert body["tool"]["args_schema"] == notes.tool.parameters
    assert (body["reason"], body["thread_id"]) == ("let me see", "thread 1")
    assert body["history"][-1] == {"role": "user", "content": "go"}
    assert body["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "respond", "terminate"]
    assert "args_raw" not in body
    receipt = await console.receipt(body["request_id"], "executed")
    assert receipt["executed_args_digest"] == body["args_digest"] == args_digest(body["args"])


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_k2_the_card_and_the_messages_have_one_call_id(kate, console, world, provider):
    notes = Notes()
    world.turns = [[("note", {"text": "a"}), ("note", {"text": "a"})]]
    working = start(kate, world, provider, notes)
    bodies = []
    for number in (1, 2):
        bodies.append(await card(console, START["n"], number, working))
        await console.decide(bodies[-1]["request_id"], "deny" if number == 1 else "approve")
    result = await working
    assert [body["call_id"] for body in bodies] == ["call_1_0", "call_1_1"]
    assert [ident for ident, _ in world.read()] == ["call_1_0", "call_1_1"]
    assert bodies[0]["run_id"] == bodies[1]["run_id"]
    assert [body["group"]["index"] for body in bodies] == [0, 1]
    assert {body["group"]["size"] for body in bodies} == {2}
    assert "call_1_1" in json.dumps(result.messages)
    assert len(notes.ran) == 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k3_the_model_reads_the_operators_text(kate, console, world, provider, name):
    notes = Notes()
    world.turns = [[(name, {"text": "x"})]]
    working = start(kate, world, provider, notes)
    await only(console, working, "deny", message='ask Grace: "why?"')
    await working
    assert world.read() == [("call_1_0", f'{name} was not run, denied by Ada: ask Grace: "why?"')]
    assert (notes.ran, world.executed) == ([], [])


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k4_edited_arguments_run(kate, console, world, provider, name):
    notes = Notes()
    edited = {"text": "b", "city": "Oslo"}
    world.turns = [[(name, {"text": "a"})]]
    working = start(kate, world, provider, notes)
    body = await only(
        console, working, "modify", edited_args=edited, args_digest=args_digest(edited), message="better so"
    )
    await working
    ran = notes.ran if name == "note" else [call["input"] for call in world.executed]
    assert ran == [{"text": "b", "copies": 1} if name == "note" else edited]
    receipt = await console.receipt(body["request_id"], "executed")
    assert receipt["executed_args_digest"] == args_digest(edited)
    assert (await console.receipt(body["request_id"], "received"))["degraded"] == ["edit_in_history", "message"]


@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k4_an_edit_that_is_no_object_does_not_run(kate, console, world, name):
    notes = Notes()
    world.turns = [[(name, {"text": "a"})]]
    working = start(kate, world, "openai", notes)
    body = await only(console, working, "modify", edited_args=[1], args_digest=args_digest([1]))
    await working
    assert (notes.ran, world.executed) == ([], [])
    assert world.read() == [("call_1_0", f"{name} was not run: its arguments are not an object")]
    assert (await console.receipt(body["request_id"], "refused"))["message"] == "invalid_args"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k9_terminate_ends_the_loop(kate, console, world, provider, name):
    notes = Notes()
    world.turns = [[(name, {"text": "a"}), ("note", {"text": "b"})]]
    working = start(kate, world, provider, notes)
    await only(console, working, "terminate", message="stop")
    with pytest.raises(NotAllowedError) as raised:
        await working
    assert raised.value.verdict == "terminate"
    assert str(raised.value) == f"{name} was not run, denied by Ada, who ended the run: stop"
    assert (notes.ran, world.executed, len(world.asked)) == ([], [], 1)
    assert len(console.received["request"]) == START["n"] + 1


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", ["note", "weather"])
@pytest.mark.parametrize(
    ("verdict", "changes", "text"),
    [
        ("skip", {}, "{} was not run, skipped by Ada (not a refusal)"),
        ("respond", {"response": {"content": "it rains"}}, "it rains"),
        ("respond", {"response": {"content": {"mm": 3}}}, '{{"mm": 3}}'),
    ],
)
async def test_k9_skip_and_respond(kate, console, world, provider, name, verdict, changes, text):
    notes = Notes()
    world.turns = [[(name, {"text": "a"})]]
    working = start(kate, world, provider, notes)
    await only(console, working, verdict, **changes)
    assert (await working).content == "done"
    assert world.read() == [("call_1_0", text.format(name))]
    assert (notes.ran, world.executed) == ([], [])


@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k9_silence_expires(bench, console, world, name):
    notes = Notes()
    world.turns = [[(name, {"text": "a"})]]
    async with KateGate.connect(bench.enrolment(), timeout=0.5) as kate:
        await start(kate, world, "openai", notes)
    assert world.read() == [("call_1_0", f"{name} was not run, expired: nobody answered in time")]
    assert (notes.ran, world.executed) == ([], [])


async def test_k9_a_name_clash_is_kates_error_and_nothing_is_asked(kate, console, world):
    tool = LocalTool("weather", "another", {}, lambda: "x")
    with pytest.raises(ValueError, match="conflicts"):
        await kate.tool_loop(world.client("openai"), model="m", messages=GO, local_tools=[tool])
    assert world.asked == []


@pytest.mark.parametrize(
    ("provider", "arguments"),
    [("openai", "[1]"), ("openai", "null"), ("openai", '"x"'), ("anthropic", [1]), ("anthropic", "x")],
)
@pytest.mark.parametrize("name", ["note", "weather"])
async def test_k9_arguments_that_are_no_object_are_not_asked_about(kate, console, world, provider, arguments, name):
    notes = Notes()
    world.turns = [[(name, arguments), ("weather", BERLIN)]]
    working = start(kate, world, provider, notes)
    body = await only(console, working)
    await working
    assert (body["args"], body["call_id"]) == (BERLIN, "call_1_1")
    assert (notes.ran, len(world.executed)) == ([], 1)
    assert len(console.received["request"]) == START["n"] + 1


@pytest.mark.parametrize("text", ["{", "", '{"text": "a", "text": "b"}'])
async def test_k9_text_that_is_no_json_of_the_arguments_stands_beside_them(kate, console, world, text):
    world.turns = [[("weather", text)]]
    working = start(kate, world, "openai")
    body = await only(console, working)
    await working
    assert body["args_raw"] == text
    assert body["args"] == ({"text": "b"} if text.startswith('{"') else {})
    assert world.executed[0]["input"] == body["args"]


@pytest.mark.parametrize("direct", [False, True])
async def test_outside_a_loop_a_call_returns_kates_result_or_raises(kate, console, world, direct):
    async with KateClient("key", base_url=world.url) as client:

        def call(args):
            asked = kate.execute(client, AGENT, "weather", args) if direct else kate.call_tool("weather", args)
            return asyncio.ensure_future(asked)

        working = call(BERLIN)
        body = await only(console, working)
        assert "terminate" not in body["allowed_verdicts"]
        assert (await working).output == "sunny"
        for verdict, changes in (("deny", {"message": "no"}), ("skip", {})):
            START["n"] = len(console.received["request"])
            working = call(BERLIN)
            await only(console, working, verdict, **changes)
            with pytest.raises(NotAllowedError) as raised:
                await working
            assert raised.value.verdict == verdict
            assert raised.value.decision is not None
        START["n"] = len(console.received["request"])
        working = call(None)
        await only(console, working, "respond", response={"content": {"mm": 3}})
        assert await working == projectkate.ToolResult(success=True, output={"mm": 3})
        assert len(world.executed) == 1


async def test_a_local_copy_asks_in_kates_own_loop_and_calls_elsewhere_are_not_gated(kate, console, world):
    notes = Notes(plain=True)
    world.turns = [[("note", {"text": "a"}), ("weather", BERLIN)], [("note", {"text": "b"})]]
    working = asyncio.ensure_future(
        projectkate.tool_loop(world.client("openai"), model="m", messages=GO, local_tools=[kate.local(notes.tool)])
    )
    body = await only(console, working)
    assert "terminate" not in body["allowed_verdicts"]
    second = await card(console, START["n"], 2, working)
    assert len(world.executed) == 1
    await console.decide(second["request_id"], "deny", message="no")
    await working
    assert world.read()[-1][1] == "note was not run, denied by Ada: no"
    assert [call["text"] for call in notes.ran] == ["a"]


async def test_a_copy_within_a_loop_of_the_gate_asks_once(kate, console, world):
    notes = Notes()
    notes.tool = kate.local(notes.tool)
    world.turns = [[("note", {"text": "a"})]]
    working = start(kate, world, "openai", notes)
    await only(console, working)
    await working
    assert len(notes.ran) == 1


async def test_a_marketplace_call_inside_a_local_tool_asks_too(kate, console, world):
    async def nested() -> str:
        return str((await projectkate.call_tool("weather", BERLIN)).output)

    world.turns = [[("nested", {}), ("weather", {})]]
    tool = LocalTool("nested", "calls", {}, nested)
    working = asyncio.ensure_future(
        kate.tool_loop(world.client("openai"), model="m", messages=GO, local_tools=[tool])
    )
    for number, ident in ((1, "call_1_0"), (2, None), (3, "call_1_1")):
        body = await card(console, START["n"], number, working)
        assert body.get("call_id") == ident
        await console.decide(body["request_id"])
    await working
    assert len(world.executed) == 2


async def test_on_tool_call_is_called_as_kate_calls_it(kate, console, world):
    seen: list[tuple] = []
    world.turns = [[("weather", BERLIN)]]
    working = start(kate, world, "openai", on_tool_call=lambda *call: seen.append(call))
    await only(console, working)
    await working
    assert seen == [("weather", BERLIN, "sunny")]


async def test_cancelling_withdraws(kate, console, world):
    notes = Notes()
    world.turns = [[("note", {"text": "a"})]]
    working = start(kate, world, "openai", notes)
    body = await card(console, START["n"], 1, working)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await console.until("withdraw", lambda m: m.subject.endswith(body["request_id"]))
    assert notes.ran == []


def test_without_the_extra_the_import_names_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "projectkate", None)
    monkeypatch.delitem(sys.modules, "countersign.adapters.kate")
    with pytest.raises(ImportError, match=r"countersign-sdk\[kate\]"):
        importlib.import_module("countersign.adapters.kate")
