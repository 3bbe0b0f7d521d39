"""Rows F1 to F13 of Flexus, with a double of its kit; what the real console adds is in `test_flexus_console`."""

from __future__ import annotations

import asyncio
import json

import pytest
from countersign import Gate
from countersign.adapters.flexus import FlexusGate, SetupSchemaError, checked, merge_setup, setup_entries

import flexus_kit as kit
from asked import Asked
from conftest import Bench, opened
from flexus_office import ARGS, SCHEMA, Office, a_call


@pytest.fixture
def asked(console):
    return Asked(console)


async def ended(console, call, status, name="fire"):
    """The span of a call that asked nobody."""

    def match(message):
        span = json.loads(message.data)
        return (span.get("name"), span.get("call_id"), span.get("status")) == (name, call.fcall_id, status)

    return json.loads((await console.until("event", match)).data)


@pytest.mark.parametrize("key", ["confirm_fire", ""])
async def test_f1_the_card(gate, asked, key):
    office, call = Office(gate, key=key), a_call()
    working = office.start(call)
    card = await asked.card(working)
    assert card["confirm"] == {"setup_key": key, "command": "fire(Bob)", "explanation": "Bob leaves"}
    assert (card["args"], card["args_raw"], card["risk"]) == (ARGS, call.fcall_arguments, "high")
    assert (card["call_id"], card["thread_id"]) == (call.fcall_id, "ft1")
    assert card["tool"] == {"name": "fire", "description": "Ends a contract", "args_schema": SCHEMA}
    assert card["allowed_verdicts"] == ["approve", "modify", "deny", "skip"]
    fields = set(vars(call)) - {"fcall_untrusted_key"}
    assert card["native"] == {name: getattr(call, name) for name in fields}
    assert len(fields) == 16
    await asked.answer(card, "deny")
    await working


async def test_f2_approved_it_runs_exactly_twice(gate, asked):
    office, call = Office(gate), a_call()
    working = office.start(call)
    card = await asked.card(working)
    assert len(office.runs) == 1
    await asked.answer(card)
    assert await working == "fired"
    assert office.runs == [(None, ARGS, call.fcall_arguments), (True, ARGS, call.fcall_arguments)]
    assert call.confirmed_by_human is None
    receipt = await asked.receipt(card, "executed")
    assert receipt["executed_args_digest"] == card["args_digest"]
    span = await asked.span(card, "ok")
    assert span["output"] == [{"m_type": "text", "m_content": "fired"}]


async def test_f2_edited_arguments_run_as_edited(gate, asked):
    office = Office(gate)
    working = office.start()
    card = await asked.card(working)
    edited = {"name": "Eve", "days": []}
    await asked.edit(card, edited)
    assert await working == "fired"
    assert office.runs[1] == (True, edited, json.dumps(edited))
    assert (await asked.receipt(card, "received"))["degraded"] == ["edit_in_history"]
    assert (await asked.span(card, "ok"))["input"] == edited


@pytest.mark.parametrize("edited", [{"name": "Eve"}, {**ARGS, "more": 1}, [1]])
async def test_f2_an_edit_that_does_not_fit_does_not_run(gate, asked, edited):
    office = Office(gate)
    working = office.start()
    card = await asked.card(working)
    await asked.edit(card, edited)
    assert (await working).startswith("fire was not run: ")
    assert len(office.runs) == 1
    assert (await asked.receipt(card, "refused"))["message"] == "digest_differs"


async def test_f2_a_second_confirmation_is_not_asked(gate, asked, console):
    office = Office(gate, again=True)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card)
    assert "again" in await working
    assert len(office.runs) == 2
    await asked.receipt(card, "failed")
    assert (await asked.span(card, "error"))["error"]["code"] == "asked_again"
    call = a_call(confirmed_by_human=True)
    assert "again" in await office.start(call)
    assert (await ended(console, call, "error"))["error"]["code"] == "asked_again"
    await asked.none_came()


async def test_f2_what_needs_no_confirmation_runs_once_unasked(gate, asked, console):
    flexus, call = FlexusGate(gate), a_call("look")

    @flexus.handler("look")
    async def look(toolcall, args):
        if args["name"] == "nobody":
            raise LookupError(f"no {toolcall.fcall_untrusted_key}")
        return f"seen {toolcall.fcall_untrusted_key}"

    assert await look(call, ARGS) == f"seen {kit.SECRET}"
    span = await ended(console, call, "ok", "look")
    assert span["output"][0]["m_content"] == "seen [fcall_untrusted_key]"
    with pytest.raises(LookupError, match=kit.SECRET):
        await look(call, {"name": "nobody"})
    span = await ended(console, call, "error", "look")
    assert span["error"]["message"] == "no [fcall_untrusted_key]"
    await asked.none_came()


NOT_RUN = {"deny": ("denied by Ada", "denied"), "skip": ("skipped by Ada (not a refusal)", "cancelled")}


@pytest.mark.parametrize("verdict", NOT_RUN)
async def test_f3_denied_it_never_runs_again(gate, asked, verdict):
    office = Office(gate)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card, verdict, message="not today")
    sentence, status = NOT_RUN[verdict]
    assert await working == f"fire was not run, {sentence}: not today\nIt asked: Bob leaves"
    assert len(office.runs) == 1
    await asked.span(card, status)


async def test_f3_a_forged_approval_runs_nothing(gate, asked):
    office = Office(gate)
    working = office.start()
    await asked.forge(await asked.card(working))
    assert "fire was not run: could not get approval" in await working
    assert len(office.runs) == 1


async def test_f4_a_time_out_is_no_denial(gate, asked):
    office = Office(gate, timeout=0.4)
    working = office.start()
    card = await asked.card(working)
    assert await working == "fire was not run, expired: nobody answered in time\nIt asked: Bob leaves"
    assert len(office.runs) == 1
    await asked.span(card, "timeout")


async def test_f4_a_cancelled_task_withdraws(gate, asked, console):
    office = Office(gate)
    working = office.start()
    card = await asked.card(working)
    working.cancel()
    await console.until("withdraw", lambda m: m.subject.endswith(card["request_id"]))
    await asked.span(card, "cancelled")


async def test_f5_the_secret_stays_in_the_bot(gate, asked, console, caplog):
    office = Office(gate, returns=RuntimeError(f"key {kit.SECRET} is bad"), timeout=10)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card)
    with pytest.raises(RuntimeError, match=kit.SECRET):
        await working
    await asked.receipt(card, "failed")
    assert (await asked.span(card, "error"))["error"]["message"] == "key [fcall_untrusted_key] is bad"
    for args in ({"name": kit.SECRET, "days": []}, {"name": "Bob", kit.SECRET: 1}):
        text = await office.start(a_call(args=args))
        assert text.startswith("fire was not run: could not get approval (secret)")
    assert len(office.runs) == 2
    office.key = kit.SECRET
    text = await office.start()
    assert "(secret)" in text
    await asked.none_came()
    await console.until("event", lambda m: json.loads(m.data).get("error", {}).get("code") == "secret")
    sent = [message for messages in console.received.values() for message in messages]
    assert not [m for m in sent if kit.SECRET.encode() in m.data or kit.SECRET in repr(m.headers)]
    assert kit.SECRET not in caplog.text + text


def entry(**more):
    return {"bs_name": "key", "bs_type": "int", "bs_default": 1, "bs_group": "G", **more}


DEFAULTS = {
    "string_short": "a",
    "string_long": "b",
    "string_multiline": "c\nd",
    "bool": True,
    "int": 3,
    "float": 2,
    "list_dict": [{"x": 1}],
}
FAULTS = [
    (entry(bs_more=1), "/0/bs_more"),
    (entry(bs_name="k"), "/0/bs_name"),
    (entry(bs_name="k" * 41), "/0/bs_name"),
    (entry(bs_name="key\n"), "/0/bs_name"),
    (entry(bs_type="text"), "/0/bs_type"),
    (entry(bs_default=True), "/0/bs_default"),
    (entry(bs_type="float", bs_default=False), "/0/bs_default"),
    (entry(bs_type="list_dict", bs_default={}), "/0/bs_default"),
    (entry(bs_group=1), "/0/bs_group"),
    (entry(bs_order="1"), "/0/bs_order"),
    (entry(bs_elements=[]), "/0/bs_elements"),
    ({"bs_name": "key", "bs_type": "int", "bs_group": "G"}, "/0/bs_default"),
    (
        entry(bs_type="list_dict", bs_default=[], bs_elements=[{"bs_name": "in", "bs_type": "list_dict"}]),
        "/0/bs_elements/0/bs_type",
    ),
]


def test_f6_the_seven_types_and_both_forms():
    schema = [entry(bs_name=f"k_{kind}", bs_type=kind, bs_default=value) for kind, value in DEFAULTS.items()]
    assert setup_entries(schema) == schema
    by_name = {"key": {"bs_type": "bool", "bs_default": False}}
    assert setup_entries(by_name) == [entry(bs_type="bool", bs_default=False, bs_group="General")]
    inner = [{"bs_name": "when", "bs_type": "string_short", "bs_description": "d"}]
    setup_entries([entry(bs_type="list_dict", bs_default=[], bs_elements=inner, bs_importance=1)])


@pytest.mark.parametrize(("fault", "path"), FAULTS)
def test_f6_a_fault_is_named_by_its_path(fault, path):
    with pytest.raises(SetupSchemaError) as raised:
        setup_entries([fault])
    assert (raised.value.code, raised.value.path) == ("setup_schema", path)


def test_f6_a_users_values_are_merged():
    schema = [entry(bs_name=f"k_{kind}", bs_type=kind, bs_default=value) for kind, value in DEFAULTS.items()]
    assert merge_setup(schema, None) == {f"k_{kind}": value for kind, value in DEFAULTS.items()}
    user = {"k_int": "7", "k_string_short": 5, "k_bool": None, "k_list_dict": "x", "unknown": 1, "k_float": 3}
    merged = merge_setup(schema, user)
    assert (merged["k_int"], merged["k_string_short"], merged["k_bool"]) == (7, "5", True)
    assert (merged["k_list_dict"], merged["k_float"], type(merged["k_float"])) == ([], 3.0, float)
    assert "unknown" not in merged


PARTS = [{"m_type": "text", "m_content": "a"}, {"m_type": "image/png", "m_content": "iVBORw0KGgo="}]


@pytest.mark.parametrize("result", ["text", PARTS, kit.ToolResult("text"), kit.ToolResult("", PARTS)])
async def test_f9_results_go_on_as_returned(gate, asked, result):
    office = Office(gate, returns=result)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card)
    assert await working is result
    wrong, said = checked(result)
    shown = [{"m_type": "text", "m_content": said}] if isinstance(said, str) else said
    assert (wrong, (await asked.span(card, "ok"))["output"]) == (None, shown)


async def test_f9_large_parts_become_artifacts(gate, asked):
    parts = [{"m_type": "image/png", "m_content": "A" * 300_000}, {"m_type": "text/plain", "m_content": "b" * 99_000}]
    office = Office(gate, returns=parts)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card)
    await working
    span = await asked.span(card, "ok")
    assert (span["artifacts"][0]["mime_type"], span["artifacts"][0]["size"]) == ("image/png", 300_000)
    assert [len(part["m_content"]) for part in span["output"]] == [64 * 1024]


@pytest.mark.parametrize("result", [{"m_type": "text", "m_content": "a"}, [{"m_type": "text"}], 5, [1]])
async def test_f9_wrong_results_are_refused(gate, asked, result):
    office = Office(gate, returns=result)
    working = office.start()
    card = await asked.card(working)
    await asked.answer(card)
    assert (await working).startswith("fire ran, but its result was refused: ")
    await asked.receipt(card, "executed")
    assert (await asked.span(card, "error"))["error"]["code"] == "bad_result"


async def waiting_call(gate, asked, subchats):
    office, call = Office(gate, returns=kit.WaitForSubchats(subchats)), a_call()
    working = office.start(call)
    card = await asked.card(working)
    await asked.answer(card)
    with pytest.raises(kit.WaitForSubchats):
        await working
    await asked.receipt(card, "executed")
    return office, call, card


def child_of(card, ft_id, status):
    def match(message):
        span = json.loads(message.data)
        parent = card["traceparent"].split("-")[2]
        return [span.get("parent_span_id"), span.get("thread_id"), span.get("status")] == [parent, ft_id, status]

    return match


async def test_f10_a_call_waits_for_its_subchats(gate, asked, console):
    office, call, card = await waiting_call(gate, asked, ["s1", "s2"])
    ids = card["traceparent"].split("-")[1:3]

    def started(message):
        span = json.loads(message.data)
        reported = span.get("attributes", {}).get("flexus.subchats_started")
        return [span.get("trace_id"), span.get("span_id"), span.get("status"), reported] == [
            *ids,
            "waiting",
            ["s1", "s2"],
        ]

    await console.until("event", started)
    for ft_id in ("s1", "s2"):
        child = json.loads((await console.until("event", child_of(card, ft_id, "running"))).data)
        assert (child["kind"], child["name"]) == ("agent", f"subchat {ft_id}")
    office.flexus.subchat_ended("s1", output="one")
    office.flexus.subchat_ended("s2", status="error")
    await console.until("event", child_of(card, "s2", "error"))
    await asked.span(card, "ok")
    office.flexus.result_posted(call.fcall_id, "both")
    await console.until("event", lambda m: b'"both"' in m.data)


async def test_f10_what_is_open_ends_with_the_wait_or_the_result(gate, asked, console, monkeypatch):
    office, call, card = await waiting_call(gate, asked, ["s3"])
    office.flexus.result_posted(call.fcall_id, PARTS)
    await console.until("event", child_of(card, "s3", "ok"))
    assert (await asked.span(card, "ok"))["output"] == PARTS
    monkeypatch.setattr("countersign.adapters.flexus.SUBCHATS_SECONDS", 0.05)
    _, _, card = await waiting_call(gate, asked, ["s4"])
    await console.until("event", child_of(card, "s4", "timeout"))
    await asked.span(card, "timeout")


async def test_f10_a_result_by_hand_ends_a_call_that_returned_none(gate, asked):
    office, call = Office(gate, returns=None), a_call()
    working = office.start(call)
    card = await asked.card(working)
    await asked.answer(card)
    assert await working is None
    await asked.receipt(card, "executed")
    assert "ended_at" not in await asked.span(card, "running")
    office.flexus.result_posted(call.fcall_id, "by hand")
    assert (await asked.span(card, "ok"))["output"][0]["m_content"] == "by hand"


async def test_f11_a_waiting_call_holds_up_no_other(gate, asked):
    bot, flexus = kit.Bot(), FlexusGate(gate)

    @flexus.on_tool_call(bot, "fire")
    async def fire(toolcall, args):
        if not toolcall.confirmed_by_human:
            raise kit.NeedsConfirmation("", "fire", "Somebody leaves")
        return "fired"

    @flexus.on_tool_call(bot, "look")
    async def look(toolcall, args):
        return "seen"

    assert flexus.tool_names == {"fire", "look"}
    first, second = a_call("fire"), a_call("look")
    bot.parked = [first, second]
    await bot.unpark_collected_events(turn_tool_calls_into_bg_tasks=flexus.tool_names)
    card = await asked.card()
    while second.fcall_id not in bot.posted:
        await asyncio.sleep(0)
    assert bot.posted == {second.fcall_id: "seen"}
    await asked.answer(card)
    await asked.receipt(card, "executed")
    assert bot.posted[first.fcall_id] == "fired"


async def test_f13_without_bus_and_console_it_runs_once(tmp_path_factory):
    bench = await opened(Bench(tmp_path_factory.mktemp("nats")))
    async with Gate.connect(bench.enrolment()) as gate:
        bench.server.stop()
        await bench.console.nc.close()
        office = Office(gate, timeout=2)
        assert "bus_unreachable" in await office.start()
        assert len(office.runs) == 1
