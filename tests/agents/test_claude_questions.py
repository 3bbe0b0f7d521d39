"""Claude Code's questions are a form; its plan is a call that only a person approves (integrations, 4.6)."""

from __future__ import annotations

import json

import pytest

RULES = """schema = 1

[[rule]]
id = "ask-{agent}"
agent = ["{agent}"]
effect = "approve"
tool = ["AskUserQuestion", "ExitPlanMode"]
expires_at = "2036-01-01T00:00:00Z"
"""


def question(text: str, *labels: str, several: bool = False) -> dict:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    return {"question": text, "header": text.split()[0], "multiSelect": several, "options": options}


def asking(hook, *questions: dict, **more) -> dict:
    return hook.event(tool_name="AskUserQuestion", tool_input={"questions": list(questions)}, **more)


DROP = question("Drop the production database?", "Yes", "No")


@pytest.mark.parametrize(
    ("questions", "content", "answers"),
    [
        ([DROP], {DROP["question"]: "No"}, {DROP["question"]: "No"}),
        (
            [question("Which regions?", "eu", "us", "ap", several=True), question("When?", "Now", "Tonight")],
            {"Which regions?": ["eu", "us"], "When?": "Tonight"},
            {"Which regions?": "eu, us", "When?": "Tonight"},
        ),
        ([DROP], {f"{DROP['question']} (own words)": "ask Ada"}, {DROP["question"]: "ask Ada"}),
    ],
)
@pytest.mark.parametrize("event", ["PreToolUse", "PermissionRequest"])
def test_an_answer_goes_back_to_the_model(hook, desk, tmp_path, questions, content, answers, event):
    process = hook.start(asking(hook, *questions, hook_event_name=event))
    request = desk.waiting(hook.agent)["request_id"]
    name = f"default/{hook.agent}/{request}"
    [shown] = desk.cli("show", name)
    assert (shown["request"]["kind"], shown["request"]["allowed_verdicts"]) == ("form", ["respond", "deny"])
    answer = tmp_path / "answer.json"
    answer.write_text(json.dumps(content))
    assert desk.code("approve", name) != 0
    desk.cli("respond", name, "--json-content", str(answer))
    reported = hook.answered(process)["hookSpecificOutput"]
    given = reported.get("updatedInput") or reported["decision"]["updatedInput"]
    assert given == {"questions": questions, "answers": answers}
    hook.run(asking(hook, *questions, hook_event_name="PostToolUse") | {"tool_input": given})
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, request, 2)] == ["received", "executed"]
    assert desk.gate_open(hook.agent) == []


def test_a_denial_is_a_denial(hook, desk):
    process = hook.start(asking(hook, DROP))
    desk.decide(hook.agent, "deny", "--message", "not today")
    reported = hook.answered(process)["hookSpecificOutput"]
    assert reported["permissionDecision"] == "deny"
    assert reported["permissionDecisionReason"].endswith(": not today")


def test_a_question_is_left_to_the_terminal_and_one_that_cannot_be_read_is_refused(hook, desk):
    assert hook.run(asking(hook, DROP), "--unasked", "AskUserQuestion")[:2] == (0, "")
    code, out, words = hook.run(asking(hook, {"question": "Go?"}))
    assert (code, out) == (2, "")
    assert "questions cannot be read" in words
    assert desk.count(hook.agent) == 0


def test_no_rule_and_no_bypass_answers_for_a_person(hook, desk, tmp_path):
    rules = tmp_path / "rules.toml"
    rules.write_text(RULES.replace("{agent}", hook.agent))
    desk.cli("rules", "apply", str(rules))
    desk.cli("bypass", f"default/{hook.agent}", "--up-to", "high", "--for", "10m")
    plan = hook.event(tool_name="ExitPlanMode", tool_input={"plan": "1. drop it"}, tool_use_id="toolu_2")
    for event in (asking(hook, DROP), plan):
        process = hook.start(event)
        desk.decide(hook.agent, "deny", "--message", "no")
        assert hook.answered(process)["hookSpecificOutput"]["permissionDecision"] == "deny"
