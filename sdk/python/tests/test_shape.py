"""What a console calls void for its shape alone, no agent runs: field by field, against the published schemas."""

from __future__ import annotations

import base64
import json
import uuid

import pytest
from countersign import VoidDecisionError
from countersign.verify import judge
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

from console import b64
from contract import CONTRACT
from test_judge import CONSOLE, IN_TIME, OTHERS, REQUEST, SEEN, SEEN_TWO, STATE, TWO, stored

FORMATS = FormatChecker(formats=())
FORMATS.checks("uuid", raises=ValueError)(lambda text: str(uuid.UUID(text)) == text.lower())
# All that the strategies below make of a date-time: the good one, or no date-time at all.
FORMATS.checks("date-time")(lambda text: text == "2026-11-21T12:00:00.000Z")
SCHEMAS = {
    kind: Draft202012Validator(json.loads((CONTRACT / f"{kind}.schema.json").read_text()), format_checker=FORMATS)
    for kind in ("decision", "vote")
}
GOOD = CONSOLE.decision(SEEN)
ATTACHED = CONSOLE.vote(SEEN, CONSOLE.human)

VALUES: list[object] = [
    *(..., None, True, 1, 0, -1, 2, 1.5, "", "1", "once", "forever", "operator", "moon", "approve"),
    *("sha256:" + "0" * 64, "sha256:" + "A" * 64, "2026-11-21", "2026-11-21T12:00:00.000Z", str(uuid.uuid4())),
    *([], [1], [{}], [ATTACHED], [{**ATTACHED, "sig": "x"}], {}, {"content": 1}, {"content": 1, "selected_key": 2}),
    *({"id": "r", "version": version} for version in (1, "1", 1.5, -1)),
    *({"id": 1, "version": 1}, {"name": 1, "key": CONSOLE.human.public}, {"name": "Ada"}),
]
odd = st.sampled_from(VALUES)
DECISION_FIELDS = sorted(SCHEMAS["decision"].schema["properties"])


def is_void(message, request=REQUEST) -> bool:
    try:
        judge(message, request, STATE, IN_TIME)
    except VoidDecisionError:
        return True
    return False


def without_gaps(body: dict) -> dict:
    return {name: value for name, value in body.items() if value is not ...}


@given(st.sampled_from(DECISION_FIELDS), odd)
def test_a_decision_that_its_schema_refuses_is_never_believed(name, value):
    body = without_gaps({**GOOD, name: value})
    if not SCHEMAS["decision"].is_valid(body):
        assert is_void(stored(SEEN, body))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("message", 5),
        ("scope", "forever"),
        ("decided_at", "soon"),
        ("decided_at", "2026-11-21"),
        ("decided_at", "2026-W47-6T12:00:00Z"),
        ("decision_id", "one"),
        ("policy_digest", "sha256:no"),
        ("rule", {"id": "r", "version": "1"}),
        ("response", {}),
        ("votes", [5]),
        ("votes", [{**ATTACHED, "key": CONSOLE.human.damaged}]),
        ("v", 1.0),
    ],
)
def test_a_field_of_another_shape_voids_an_approval(name, value):
    message = stored(SEEN, {**GOOD, name: value})
    with pytest.raises(VoidDecisionError) as refusal:
        judge(message, REQUEST, STATE, IN_TIME)
    assert refusal.value.code == "malformed"


def test_null_stands_for_an_optional_field_that_is_absent_and_unknown_fields_are_kept():
    optional = ("message", "response", "scope", "rule", "policy_digest", "votes")
    body = {**GOOD, **dict.fromkeys(optional), "of_tomorrow": {"scope": 5}}
    assert SCHEMAS["decision"].is_valid(body)
    decision = judge(stored(SEEN, body), REQUEST, STATE, IN_TIME)
    assert decision.allowed
    assert decision.payload["of_tomorrow"] == {"scope": 5}


def test_the_votes_of_this_test_count():
    votes = [CONSOLE.vote(SEEN_TWO, key) for key in (CONSOLE.human, OTHERS[0])]
    assert judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=votes)), TWO, STATE, IN_TIME).allowed


@given(st.sampled_from(sorted(SCHEMAS["vote"].schema["properties"])), odd)
def test_a_vote_that_its_schema_refuses_is_never_counted(name, value):
    vote = CONSOLE.vote(SEEN_TWO, CONSOLE.human)
    body = without_gaps({**json.loads(base64.urlsafe_b64decode(vote["payload"] + "==")), name: value})
    if SCHEMAS["vote"].is_valid(body):
        return
    payload = json.dumps(body).encode()
    signature = CONSOLE.human.sign("vote", CONSOLE.realm, vote["subject"], payload)
    votes = [{**vote, "payload": b64(payload), "sig": signature}, CONSOLE.vote(SEEN_TWO, OTHERS[0])]
    assert is_void(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=votes)), TWO)
