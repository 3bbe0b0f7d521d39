"""Claude Code's questions to its user are one form card (integrations, 4.6)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from countersign.adapters._claude_questions import TOOL as QUESTIONS
from countersign.adapters._claude_questions import form
from countersign.adapters.claude_agent_sdk import ClaudeGate

from asked import Asked
from conftest import SOON
from test_claude_agent_sdk import PRE, Session, decision_of


@pytest.fixture
def asked(console):
    return Asked(console)


@pytest.fixture
def session(tmp_path, gate):
    return lambda *turns, **options: Session(tmp_path, gate, *turns, **options)


def question(text: str, *labels: str, several: bool = False) -> dict:
    options = [{"label": label, "description": f"{label} it is"} for label in labels]
    return {"question": text, "header": text.split()[0], "multiSelect": several, "options": options}


DROP = question("Drop the production database?", "Yes", "No")
REGIONS = question("Which regions?", "eu", "us", "ap", several=True)
WHEN = question("When?", "Now", "Tonight")


def test_the_form_of_questions_has_a_choice_and_own_words_for_each():
    title, schema = form({"questions": [REGIONS, WHEN]})
    assert title == "Claude Code asks: Which, When?"
    assert list(schema["properties"]) == [
        "Which regions?",
        "Which regions? (own words)",
        "When?",
        "When? (own words)",
    ]
    assert schema["properties"]["When?"] == {
        "type": "string",
        "enum": ["Now", "Tonight"],
        "description": "Now: Now it is\nTonight: Tonight it is",
    }
    assert schema["properties"]["Which regions?"]["items"] == {"type": "string", "enum": ["eu", "us", "ap"]}


@pytest.mark.parametrize(
    "args",
    [
        {},
        None,
        [],
        {"questions": []},
        {"questions": "Go?"},
        {"questions": [WHEN, WHEN]},
        {"questions": [question("Go?")]},
        {"questions": [{"question": 7, "options": [{"label": "a"}]}]},
        {"questions": [{"question": "Go?", "options": [{"name": "a"}]}]},
        {"questions": [{"question": "Go?", "options": ["a"]}]},
    ],
)
async def test_questions_that_cannot_be_read_are_denied_without_a_card(gate, asked, args):
    said = await ClaudeGate(gate).pre_tool_use({**PRE, "tool_name": QUESTIONS, "tool_input": args}, "toolu_q", {})
    assert decision_of(said) == "deny"
    await asked.none_came()


@pytest.mark.parametrize(
    ("content", "answers"),
    [
        ({"Which regions?": ["eu", "us"], "When?": "Tonight"}, {"Which regions?": "eu, us", "When?": "Tonight"}),
        ({"Which regions?": ["ap"], "Which regions? (own words)": "and sa"}, {"Which regions?": "ap, and sa"}),
        ({"When? (own words)": "never"}, {"When?": "never"}),
        ({"Which regions?": [], "When? (own words)": " "}, None),
        ({}, None),
        ("yes", None),
    ],
)
async def test_what_was_filled_in_is_what_the_questions_are_answered_with(gate, asked, content, answers):
    args = {"questions": [REGIONS, WHEN]}
    event = {**PRE, "tool_name": QUESTIONS, "tool_input": args}
    working = asyncio.ensure_future(ClaudeGate(gate, risks={"*": "critical"}).pre_tool_use(event, "toolu_q", {}))
    card = await asked.card(working)
    assert (card["kind"], card["allowed_verdicts"], card["risk"]) == ("form", ["respond", "deny"], "low")
    assert (card["response_schema"], card["title"]) == (form(args)[1], "Claude Code asks: Which, When?")
    assert (card["thread_id"], card["call_id"]) == ("s1", "toolu_q")
    await asked.answer(card, "respond", response={"content": content})
    said = (await working)["hookSpecificOutput"]
    if answers is None:
        assert said["permissionDecision"] == "deny"
        assert "AskUserQuestion was not run, answered by Ada instead: " in said["permissionDecisionReason"]
    else:
        assert (said["permissionDecision"], said["permissionDecisionReason"]) == ("allow", "answered by Ada")
        assert said["updatedInput"] == {**args, "answers": answers}


async def test_questions_that_the_hook_leaves_are_asked_by_the_permission_callback(gate, asked):
    claude = ClaudeGate(gate, unasked=(QUESTIONS,))
    event = {**PRE, "tool_name": QUESTIONS, "tool_input": {"questions": [DROP]}}
    assert await claude.pre_tool_use(event, "toolu_q", {}) == {}
    context = SimpleNamespace(tool_use_id="toolu_q")
    working = asyncio.ensure_future(claude.can_use_tool(QUESTIONS, event["tool_input"], context))
    await asked.answer(await asked.card(working), "respond", response={"content": {DROP["question"]: "No"}})
    assert (await working).updated_input == {"questions": [DROP], "answers": {DROP["question"]: "No"}}


async def test_claude_code_takes_answers_and_a_denial_of_its_questions(session, asked):
    run = session([(QUESTIONS, {"questions": [DROP]})], [(QUESTIONS, {"questions": [REGIONS, WHEN]})])
    working = run.start()
    card = await asked.card(working)
    await asked.answer(card, "respond", response={"content": {DROP["question"]: "No"}})
    await asked.answer(await asked.card(working), "deny", message="not now")
    await asyncio.wait_for(working, SOON)
    assert DROP["question"] in run.read[0]
    assert "No" in run.read[0].replace(DROP["question"], "")
    assert "AskUserQuestion was not run, denied by Ada: not now" in run.read[1]
    await asked.receipt(card, "executed")
    await asked.none_came()
