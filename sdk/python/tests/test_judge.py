"""The judgement of a decision and of its votes as a pure function, by a log that was played."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json

import pytest
from countersign import Enrolment, Question, ToolCall, VoidDecisionError, args_digest
from countersign.clock import now
from countersign.log import Stored
from countersign.realm import Realm
from countersign.verify import judge
from countersign.wire import SentRequest, build_request
from hypothesis import given
from hypothesis import strategies as st

from console import Console, Key, Seen, b64
from played import Played, ended, listed, record

AT = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
IN_TIME = False
CONSOLE = Console("realm")
OTHERS = [Key() for _ in range(3)]
ENROLMENT = Enrolment("nats://x", "acme", "bot", None, "_INBOX", "realm")


def folded(log: Played) -> Realm:
    """As an agent reads it; slot n is at sequence 10 n."""
    state = Realm(log.realm, log.digests[0])
    for slot, message in enumerate(log.messages, 1):
        state.apply(slot, 10 * slot, message)
    return state


def log_of(*keys: Key) -> Played:
    """Ada with her console, and who else is let in."""
    log = Played("realm", CONSOLE.human, CONSOLE.auto)
    log.add(CONSOLE.human, operators=[record("realm", key, "x") for key in keys])
    return log


STATE = folded(log_of(*OTHERS[:2]))


def asked(**about):
    call = ToolCall(name="t", **{"args": {"a": 1}, **about})
    request = build_request(call, ENROLMENT, {}, dt.timedelta(seconds=60), now())
    return request, Seen(request.subject("request"), request.payload, json.loads(request.payload))


def stored(seen, body, *, key=None, sequence=1000):
    payload, headers = CONSOLE.signed(seen.decision_subject, body, key=key)
    return Stored(seen.decision_subject, payload, headers, AT, sequence)


def fault(answer: Stored, request: SentRequest, state: Realm) -> str | None:
    try:
        judge(answer, request, state, IN_TIME)
    except VoidDecisionError as error:
        return error.code
    return None


REQUEST, SEEN = asked()
GOOD = stored(SEEN, CONSOLE.decision(SEEN))


def test_the_good_decision_of_these_tests_is_good():
    assert judge(GOOD, REQUEST, STATE, IN_TIME).allowed


def test_a_decision_stored_elsewhere_is_refused_by_its_place():
    elsewhere = dataclasses.replace(GOOD, subject=GOOD.subject + "x")
    with pytest.raises(VoidDecisionError) as refusal:
        judge(elsewhere, REQUEST, STATE, IN_TIME)
    assert refusal.value.code == "wrong_subject"


@given(st.integers(0, len(GOOD.payload) - 1), st.integers(1, 255))
def test_no_altered_byte_of_the_payload_is_ever_believed(place, mask):
    payload = bytearray(GOOD.payload)
    payload[place] ^= mask
    with pytest.raises(VoidDecisionError):
        judge(dataclasses.replace(GOOD, payload=bytes(payload)), REQUEST, STATE, IN_TIME)


@given(st.integers(0, len(REQUEST.payload) - 1), st.integers(1, 255))
def test_a_decision_never_fits_other_request_bytes(place, mask):
    payload = bytearray(REQUEST.payload)
    payload[place] ^= mask
    from countersign import payload_digest

    other = dataclasses.replace(REQUEST, payload=bytes(payload), digest=payload_digest(bytes(payload)))
    with pytest.raises(VoidDecisionError):
        judge(GOOD, other, STATE, IN_TIME)


FIELDS = ["v", "verdict", "origin", "args_digest", "edited_args", "request_digest", "decision_id", "votes"]
WORDS = ["approve", "modify", "deny", "respond", "skip", "expired", "yes", "rule", "operator", "timeout"]
words = st.sampled_from(WORDS)
anything = st.none() | st.booleans() | st.integers(0, 3) | words | st.lists(words) | st.dictionaries(words, words)


@given(st.dictionaries(st.sampled_from(FIELDS), anything, min_size=1))
def test_only_an_approval_of_exactly_the_asked_arguments_allows(changes):
    body = CONSOLE.decision(SEEN, **changes)
    try:
        decision = judge(stored(SEEN, body), REQUEST, STATE, IN_TIME)
    except VoidDecisionError:
        return
    if decision.allowed:
        assert args_digest(decision.args) == decision.args_digest == body["args_digest"]
        assert body["verdict"] == "approve"
        assert body["origin"] == "operator"
        assert body["request_digest"] == REQUEST.digest
        assert body["v"] == 1


@pytest.mark.parametrize("verdict", ["approve", "modify", "deny", "hooray"])
def test_a_late_answer_reads_expired(verdict):
    edit = {"edited_args": {"a": 2}, "args_digest": args_digest({"a": 2})} if verdict == "modify" else {}
    decision = judge(stored(SEEN, CONSOLE.decision(SEEN, verdict, **edit)), REQUEST, STATE, late=True)
    assert (decision.verdict, decision.allowed, decision.args) == ("expired", False, None)


def test_the_approved_arguments_are_nobody_elses():
    first, second = (judge(GOOD, REQUEST, STATE, IN_TIME).args for _ in range(2))
    first["a"] = 99
    assert second == {"a": 1}


def _ended_by_herself(log: Played, key: Key) -> None:
    log.add(key, operators=ended(key))


def _ended_by_ada(log: Played, key: Key) -> None:
    log.add(CONSOLE.human, operators=ended(key))


def _limited(log: Played, key: Key) -> None:
    log.add(CONSOLE.human, operators=[record("realm", key, "x", limits={"max_risk": "low"})])


def _freed(log: Played, key: Key) -> None:
    _limited(log, key)
    log.add(CONSOLE.human, operators=[record("realm", key, "x")])


@pytest.mark.parametrize(
    ("then", "sequence", "approve", "deny"),
    [
        pytest.param(None, 20, "unknown_key", "unknown_key", id="at the entry itself"),
        pytest.param(None, 21, None, None, id="after it"),
        pytest.param(_ended_by_ada, 25, "unknown_key", None, id="before an end"),
        pytest.param(_ended_by_herself, 30, "unknown_key", None, id="at an end"),
        pytest.param(_ended_by_ada, 31, "unknown_key", "unknown_key", id="after an end"),
        pytest.param(_limited, 25, "beyond_limit", None, id="before limits"),
        pytest.param(_limited, 31, "beyond_limit", None, id="after limits"),
        pytest.param(_freed, 35, "beyond_limit", None, id="under limits that were taken away"),
        pytest.param(_freed, 41, None, None, id="after limits"),
    ],
)
def test_what_is_more_than_no_has_to_count_where_it_is_stored_and_now(then, sequence, approve, deny):
    log, key = log_of(OTHERS[0]), OTHERS[0]
    if then is not None:
        then(log, key)
    by = {"name": "x", "key": key.public}
    for verdict, expected in (("approve", approve), ("deny", deny), ("terminate", deny)):
        request, seen = asked(allowed_verdicts=("approve", "terminate"))
        body = CONSOLE.decision(seen, verdict, decided_by=by)
        assert fault(stored(seen, body, key=key, sequence=sequence), request, folded(log)) == expected


def test_a_key_that_was_never_named_or_is_only_asked_for_counts_for_nothing():
    key = Key()
    by = {"name": "x", "key": key.public}
    assert fault(stored(SEEN, CONSOLE.decision(SEEN, decided_by=by), key=key), REQUEST, STATE) == "unknown_key"


def test_insecure_still_binds_the_decision_to_the_request():
    nobody = Realm("realm", None)
    unsigned = dataclasses.replace(GOOD, headers={})
    assert judge(unsigned, REQUEST, nobody, IN_TIME).allowed
    other, _ = asked(args={"a": 2})
    with pytest.raises(VoidDecisionError):
        judge(unsigned, other, nobody, IN_TIME)
    wrong = dataclasses.replace(GOOD, headers={**GOOD.headers, "CS-Sig": b64(bytes(64))})
    with pytest.raises(VoidDecisionError):
        judge(wrong, REQUEST, nobody, IN_TIME)


@pytest.mark.parametrize("response", [..., None, {}, "yes", {"selected_key": "a"}])
def test_an_answer_without_content_is_none(response):
    request, seen = asked(allowed_verdicts=("respond",))
    with pytest.raises(VoidDecisionError) as refusal:
        judge(stored(seen, CONSOLE.decision(seen, "respond", response=response)), request, STATE, IN_TIME)
    assert refusal.value.code == "malformed"


TWO, SEEN_TWO = asked(approvals_required=2)


def _votes(*votes):
    return stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=list(votes)))


def _vote(key, **changes):
    return CONSOLE.vote(SEEN_TWO, key, **changes)


def test_two_distinct_people_are_enough():
    assert judge(_votes(_vote(CONSOLE.human), _vote(OTHERS[0])), TWO, STATE, IN_TIME).allowed


def test_two_people_can_agree_on_an_edit():
    edit = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    votes = [_vote(key, verdict="modify", **edit) for key in (CONSOLE.human, OTHERS[0])]
    decision = judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, "modify", votes=votes, **edit)), TWO, STATE, IN_TIME)
    assert decision.args == {"a": 5}


MINE = _vote(CONSOLE.human)


def test_people_who_voted_for_one_edit_did_not_vote_for_another():
    edit = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    other = {"edited_args": {"a": 6}, "args_digest": args_digest({"a": 5})}
    votes = [_vote(CONSOLE.human, verdict="modify", **edit), _vote(OTHERS[0], verdict="modify", **other)]
    body = CONSOLE.decision(SEEN_TWO, "modify", votes=votes, **edit)
    with pytest.raises(VoidDecisionError):
        judge(stored(SEEN_TWO, body), TWO, STATE, IN_TIME)


def test_votes_that_are_no_list_are_none():
    with pytest.raises(VoidDecisionError):
        judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=5)), TWO, STATE, IN_TIME)


def test_a_question_can_be_approved_and_has_no_arguments():
    question = Question(text="Go on?", allowed_verdicts=("approve",))
    request = build_request(question, ENROLMENT, {}, dt.timedelta(seconds=60), now())
    seen = Seen(request.subject("request"), request.payload, json.loads(request.payload))
    decision = judge(stored(seen, CONSOLE.decision(seen)), request, STATE, IN_TIME)
    assert (decision.allowed, decision.args) == (True, None)
    edited = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    with pytest.raises(VoidDecisionError):
        judge(stored(seen, CONSOLE.decision(seen, "modify", **edited)), request, STATE, IN_TIME)


NOT_ENOUGH = {
    "none": [],
    "only one": [MINE],
    "the same person twice": [MINE, _vote(CONSOLE.human)],
    "a stranger": [MINE, _vote(OTHERS[2])],
    "a rule": [MINE, _vote(CONSOLE.auto)],
    "another verdict": [MINE, _vote(OTHERS[0], verdict="modify")],
    "other arguments": [MINE, _vote(OTHERS[0], args_digest=args_digest({}))],
    "another request": [MINE, _vote(OTHERS[0], request_digest="sha256:0")],
    "signed for something else": [MINE, {**_vote(OTHERS[0]), "subject": _vote(OTHERS[1])["subject"]}],
    "altered": [MINE, {**_vote(OTHERS[0]), "sig": _vote(OTHERS[1])["sig"]}],
    "in another's name": [MINE, {**_vote(OTHERS[0]), "key": OTHERS[1].public}],
    "naming another voter": [MINE, _vote(OTHERS[0], decided_by={"name": "x", "key": OTHERS[1].public})],
    "another version": [MINE, _vote(OTHERS[0], v=2)],
    "a vote on another request": [MINE, CONSOLE.vote(SEEN, OTHERS[0])],
    "altered bytes": [MINE, {**_vote(OTHERS[0]), "payload": _vote(OTHERS[0])["payload"]}],
    "bytes that are no base64url": [MINE, {**_vote(OTHERS[0]), "payload": "?"}],
    "an edit beside an approval": [MINE, _vote(OTHERS[0], edited_args={"a": 1})],
}


@pytest.mark.parametrize("case", NOT_ENOUGH)
def test_too_few_votes_deny(case):
    with pytest.raises(VoidDecisionError) as refusal:
        judge(_votes(*NOT_ENOUGH[case]), TWO, STATE, IN_TIME)
    assert refusal.value.code == "too_few_votes"


@pytest.mark.parametrize("vote", [1, {**MINE, "key": 5}, {**MINE, "sig": 5}], ids=["no object", "key", "signature"])
def test_what_is_no_vote_at_all_voids_the_decision_beside_enough_votes(vote):
    with pytest.raises(VoidDecisionError) as refusal:
        judge(_votes(MINE, _vote(OTHERS[0]), vote), TWO, STATE, IN_TIME)
    assert refusal.value.code == "malformed"


def test_a_rule_cannot_stand_in_for_several_people():
    by = {"name": "console", "key": CONSOLE.auto.public}
    body = CONSOLE.decision(SEEN_TWO, origin="rule", rule={"id": "r", "version": 1}, decided_by=by)
    with pytest.raises(VoidDecisionError) as refusal:
        judge(stored(SEEN_TWO, body, key=CONSOLE.auto), TWO, STATE, IN_TIME)
    assert refusal.value.code == "too_few_votes"


def test_one_deny_needs_no_votes():
    assert judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, "deny")), TWO, STATE, IN_TIME).verdict == "deny"


@pytest.mark.parametrize(
    ("risk", "limits", "allowed"),
    [
        ("high", {}, True),
        ("high", {"max_risk": "high", "workspaces": ["acme", "other"]}, True),
        ("high", {"max_risk": "medium"}, False),
        ("high", {"workspaces": ["other"]}, False),
        ("high", {"workspaces": []}, False),
        ("critical", {"max_risk": "high"}, False),
        ("critical", {"max_risk": "critical"}, True),
        ("low", {"max_risk": "of tomorrow"}, False),
        ("safe", {"max_risk": "of tomorrow"}, True),
        ("safe", {"of": "tomorrow"}, False),
    ],
)
def test_an_approval_beyond_its_operators_limits_is_void_and_a_denial_is_not(risk, limits, allowed):
    key = OTHERS[2]
    log = log_of()
    log.add(CONSOLE.human, operators=[record("realm", key, "x", limits=limits)])
    request, seen = asked(risk=risk)
    for verdict in ("approve", "deny"):
        answer = stored(seen, CONSOLE.decision(seen, verdict, decided_by={"name": "x", "key": key.public}), key=key)
        expected = None if allowed or verdict == "deny" else "beyond_limit"
        assert fault(answer, request, folded(log)) == expected


@pytest.mark.parametrize(
    ("operator", "console"), [("low", None), (None, "low"), ("medium", "low"), ("low", "medium")]
)
def test_a_console_beyond_its_own_or_its_operators_limits_approves_nothing_by_itself(operator, console):
    key, auto = OTHERS[2], Key()
    limits = None if operator is None else {"max_risk": operator}
    own = None if console is None else {"max_risk": console}
    log = log_of()
    log.add(CONSOLE.human, operators=[record("realm", key, "x", limits=limits)])
    log.add(key, operators=[record("realm", key, "x", listed("realm", auto, "auto", key, limits=own), limits=limits)])
    by = {"name": "desk", "key": auto.public}
    for risk, verdict, expected in (
        ("low", "approve", None),
        ("medium", "deny", None),
        ("high", "approve", "beyond"),
    ):
        request, seen = asked(risk=risk)
        body = CONSOLE.decision(seen, verdict, origin="rule", rule={"id": "r", "version": 1}, decided_by=by)
        found = fault(stored(seen, body, key=auto), request, folded(log))
        assert found == (expected and "beyond_limit")


@pytest.mark.parametrize(
    ("then", "counts"),
    [
        pytest.param(None, True, id="two people"),
        pytest.param(_limited, False, id="one beyond the limits now"),
        pytest.param(_ended_by_ada, False, id="one who is ended now"),
        pytest.param(_freed, True, id="one who was under limits before"),
    ],
)
def test_a_vote_counts_whose_key_counts_at_the_decision_and_now(then, counts):
    log = log_of(OTHERS[0])
    if then is not None:
        then(log, OTHERS[0])
    found = fault(_votes(_vote(CONSOLE.human), _vote(OTHERS[0])), TWO, folded(log))
    assert found == (None if counts else "too_few_votes")


def test_two_desk_keys_of_one_operator_are_one_vote():
    second = Key()
    log = log_of(OTHERS[0])
    log.add(OTHERS[0], operators=[record("realm", OTHERS[0], "x", listed("realm", second, "human", OTHERS[0]))])
    assert fault(_votes(_vote(OTHERS[0]), _vote(second)), TWO, folded(log)) == "too_few_votes"
    assert fault(_votes(_vote(OTHERS[0]), _vote(second), _vote(CONSOLE.human)), TWO, folded(log)) is None
