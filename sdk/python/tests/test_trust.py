"""Who is believed: votes, operators lists, keys that came or went, and the judgement as a pure function."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import uuid

import pytest
from countersign import Enrolment, Gate, Question, ToolCall, TrustedKey, VoidDecisionError, args_digest
from countersign.clock import now
from countersign.trust import Trust, take_over
from countersign.verify import StoredDecision, judge
from countersign.wire import build_request
from hypothesis import given
from hypothesis import strategies as st

from console import Console, Key, Seen, b64

AT = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)
IN_TIME = False
CONSOLE = Console("realm")
OTHERS = [Key() for _ in range(3)]
ENROLMENT = Enrolment(
    "nats://x",
    "acme",
    "bot",
    None,
    "_INBOX",
    "realm",
    (
        TrustedKey(CONSOLE.human.public, "Ada", "human"),
        TrustedKey(CONSOLE.auto.public, "console", "auto"),
        *(TrustedKey(key.public, "x", "human") for key in OTHERS[:2]),
    ),
)
TRUST = Trust("realm", ENROLMENT.trusted_keys)


def asked(**about):
    call = ToolCall(name="t", **{"args": {"a": 1}, **about})
    request = build_request(call, ENROLMENT, {}, dt.timedelta(seconds=60), now())
    return request, Seen(request.subject("request"), request.payload, json.loads(request.payload))


def stored(seen, body, *, key=None, at=AT):
    payload, headers = CONSOLE.signed(seen.decision_subject, body, key=key)
    return StoredDecision(seen.decision_subject, payload, headers, at, 7)


REQUEST, SEEN = asked()
GOOD = stored(SEEN, CONSOLE.decision(SEEN))


def test_the_good_decision_of_these_tests_is_good():
    assert judge(GOOD, REQUEST, TRUST, IN_TIME).allowed


def test_a_decision_stored_elsewhere_is_refused_by_its_place():
    elsewhere = dataclasses.replace(GOOD, subject=GOOD.subject + "x")
    with pytest.raises(VoidDecisionError) as refusal:
        judge(elsewhere, REQUEST, TRUST, IN_TIME)
    assert refusal.value.code == "wrong_subject"


@given(st.integers(0, len(GOOD.payload) - 1), st.integers(1, 255))
def test_no_altered_byte_of_the_payload_is_ever_believed(place, mask):
    payload = bytearray(GOOD.payload)
    payload[place] ^= mask
    with pytest.raises(VoidDecisionError):
        judge(dataclasses.replace(GOOD, payload=bytes(payload)), REQUEST, TRUST, IN_TIME)


@given(st.integers(0, len(REQUEST.payload) - 1), st.integers(1, 255))
def test_a_decision_never_fits_other_request_bytes(place, mask):
    payload = bytearray(REQUEST.payload)
    payload[place] ^= mask
    from countersign import payload_digest

    other = dataclasses.replace(REQUEST, payload=bytes(payload), digest=payload_digest(bytes(payload)))
    with pytest.raises(VoidDecisionError):
        judge(GOOD, other, TRUST, IN_TIME)


FIELDS = ["v", "verdict", "origin", "args_digest", "edited_args", "request_digest", "decision_id", "votes"]
WORDS = ["approve", "modify", "deny", "respond", "skip", "expired", "yes", "rule", "operator", "timeout"]
words = st.sampled_from(WORDS)
anything = st.none() | st.booleans() | st.integers(0, 3) | words | st.lists(words) | st.dictionaries(words, words)


@given(st.dictionaries(st.sampled_from(FIELDS), anything, min_size=1))
def test_only_an_approval_of_exactly_the_asked_arguments_allows(changes):
    body = CONSOLE.decision(SEEN, **changes)
    try:
        decision = judge(stored(SEEN, body), REQUEST, TRUST, IN_TIME)
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
    decision = judge(stored(SEEN, CONSOLE.decision(SEEN, verdict, **edit)), REQUEST, TRUST, late=True)
    assert (decision.verdict, decision.allowed, decision.args) == ("expired", False, None)


def test_the_approved_arguments_are_nobody_elses():
    first, second = (judge(GOOD, REQUEST, TRUST, IN_TIME).args for _ in range(2))
    first["a"] = 99
    assert second == {"a": 1}


@pytest.mark.parametrize(
    ("since", "until", "allowed"),
    [
        (None, None, True),
        (AT.isoformat(), None, True),
        ((AT + dt.timedelta(seconds=1)).isoformat(), None, False),
        (None, AT.isoformat(), False),
        (None, (AT + dt.timedelta(seconds=1)).isoformat(), True),
    ],
)
def test_a_key_counts_only_while_it_is_in_force(since, until, allowed):
    trust = Trust("realm", (TrustedKey(CONSOLE.human.public, "Ada", "human", since, until),))
    if allowed:
        assert judge(GOOD, REQUEST, trust, IN_TIME).allowed
        return
    with pytest.raises(VoidDecisionError) as refusal:
        judge(GOOD, REQUEST, trust, IN_TIME)
    assert refusal.value.code == "unknown_key"


def test_a_key_in_two_roles_is_believed_in_neither():
    both = tuple(TrustedKey(CONSOLE.human.public, "Ada", role) for role in ("human", "auto"))
    with pytest.raises(VoidDecisionError):
        judge(GOOD, REQUEST, Trust("realm", both), IN_TIME)


def test_insecure_still_binds_the_decision_to_the_request():
    trust = Trust("realm", (), insecure=True)
    unsigned = dataclasses.replace(GOOD, headers={})
    assert judge(unsigned, REQUEST, trust, IN_TIME).allowed
    other, _ = asked(args={"a": 2})
    with pytest.raises(VoidDecisionError):
        judge(unsigned, other, trust, IN_TIME)
    wrong = dataclasses.replace(GOOD, headers={**GOOD.headers, "CS-Sig": b64(bytes(64))})
    with pytest.raises(VoidDecisionError):
        judge(wrong, REQUEST, trust, IN_TIME)


@pytest.mark.parametrize("response", [..., None, {}, "yes", {"selected_key": "a"}])
def test_an_answer_without_content_is_none(response):
    request, seen = asked(allowed_verdicts=("respond",))
    with pytest.raises(VoidDecisionError) as refusal:
        judge(stored(seen, CONSOLE.decision(seen, "respond", response=response)), request, TRUST, IN_TIME)
    assert refusal.value.code == "malformed"


TWO, SEEN_TWO = asked(approvals_required=2)


def _votes(*votes):
    return stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=list(votes)))


def _vote(key, **changes):
    return CONSOLE.vote(SEEN_TWO, key, **changes)


def test_two_distinct_people_are_enough():
    assert judge(_votes(_vote(CONSOLE.human), _vote(OTHERS[0])), TWO, TRUST, IN_TIME).allowed


def test_two_people_can_agree_on_an_edit():
    edit = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    votes = [_vote(key, verdict="modify", **edit) for key in (CONSOLE.human, OTHERS[0])]
    decision = judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, "modify", votes=votes, **edit)), TWO, TRUST, IN_TIME)
    assert decision.args == {"a": 5}


MINE = _vote(CONSOLE.human)


def test_people_who_voted_for_one_edit_did_not_vote_for_another():
    edit = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    other = {"edited_args": {"a": 6}, "args_digest": args_digest({"a": 5})}
    votes = [_vote(CONSOLE.human, verdict="modify", **edit), _vote(OTHERS[0], verdict="modify", **other)]
    body = CONSOLE.decision(SEEN_TWO, "modify", votes=votes, **edit)
    with pytest.raises(VoidDecisionError):
        judge(stored(SEEN_TWO, body), TWO, TRUST, IN_TIME)


def test_votes_that_are_no_list_are_none():
    with pytest.raises(VoidDecisionError):
        judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, votes=5)), TWO, TRUST, IN_TIME)


def test_a_question_can_be_approved_and_has_no_arguments():
    question = Question(text="Go on?", allowed_verdicts=("approve",))
    request = build_request(question, ENROLMENT, {}, dt.timedelta(seconds=60), now())
    seen = Seen(request.subject("request"), request.payload, json.loads(request.payload))
    decision = judge(stored(seen, CONSOLE.decision(seen)), request, TRUST, IN_TIME)
    assert (decision.allowed, decision.args) == (True, None)
    edited = {"edited_args": {"a": 5}, "args_digest": args_digest({"a": 5})}
    with pytest.raises(VoidDecisionError):
        judge(stored(seen, CONSOLE.decision(seen, "modify", **edited)), request, TRUST, IN_TIME)


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
        judge(_votes(*NOT_ENOUGH[case]), TWO, TRUST, IN_TIME)
    assert refusal.value.code == "too_few_votes"


@pytest.mark.parametrize("vote", [1, {**MINE, "key": 5}, {**MINE, "sig": 5}], ids=["no object", "key", "signature"])
def test_what_is_no_vote_at_all_voids_the_decision_beside_enough_votes(vote):
    with pytest.raises(VoidDecisionError) as refusal:
        judge(_votes(MINE, _vote(OTHERS[0]), vote), TWO, TRUST, IN_TIME)
    assert refusal.value.code == "malformed"


def test_a_rule_cannot_stand_in_for_several_people():
    by = {"name": "console", "key": CONSOLE.auto.public}
    body = CONSOLE.decision(SEEN_TWO, origin="rule", rule={"id": "r", "version": 1}, decided_by=by)
    with pytest.raises(VoidDecisionError) as refusal:
        judge(stored(SEEN_TWO, body, key=CONSOLE.auto), TWO, TRUST, IN_TIME)
    assert refusal.value.code == "too_few_votes"


def test_one_deny_needs_no_votes():
    assert judge(stored(SEEN_TWO, CONSOLE.decision(SEEN_TWO, "deny")), TWO, TRUST, IN_TIME).verdict == "deny"


def _list(signer, entries, *, bare=False, realm="realm", **more):
    payload = json.dumps(entries if bare else {"v": 1, "operators": entries, **more}).encode()
    sig = signer.sign("policy", realm, "$KV.CS_POLICY.operators", payload)
    return json.dumps({"payload": b64(payload), "key": signer.public, "sig": sig}).encode()


ENTRIES = [{"key": OTHERS[2].public, "name": "New", "role": "human", "from": None, "until": None}]


@pytest.mark.parametrize("bare", [False, True])
def test_a_list_signed_by_a_trusted_person_is_taken_over(bare):
    after = take_over(TRUST, _list(CONSOLE.human, ENTRIES, bare=bare), 3, AT)
    assert after.role_at(OTHERS[2].public, AT) == "human"
    assert after.revision == 3


def test_an_entry_of_a_role_of_tomorrow_is_left_out():
    entries = [*ENTRIES, {"key": OTHERS[0].public, "name": "x", "role": "auditor"}]
    after = take_over(TRUST, _list(CONSOLE.human, entries), 3, AT)
    assert [key.key for key in after.keys] == [OTHERS[2].public]


@pytest.mark.parametrize(
    ("value", "revision"),
    [
        (_list(CONSOLE.auto, ENTRIES), 3),
        (_list(OTHERS[2], ENTRIES), 3),
        (_list(CONSOLE.human, ENTRIES, realm="another"), 3),
        (_list(CONSOLE.human, ENTRIES), 0),
        (_list(CONSOLE.human, []), 3),
        (_list(CONSOLE.human, [{**ENTRIES[0], "until": "soon"}]), 3),
        (_list(CONSOLE.human, 5), 3),
        (_list(CONSOLE.human, [{"key": "UAAA", "name": "x", "role": "human"}]), 3),
        (_list(CONSOLE.human, ENTRIES, at="soon"), 3),
        (_list(CONSOLE.human, ENTRIES, at=1764), 3),
        (_list(CONSOLE.human, ENTRIES, at="9999-12-31T23:59:59Z"), 3),
        (b"{}", 3),
        (b"[]", 3),
        (b"\xff", 3),
    ],
)
def test_any_other_list_changes_nothing(value, revision):
    assert take_over(TRUST, value, revision, AT) is TRUST


async def test_a_new_operator_is_believed_once_a_trusted_one_listed_them(bench, console):
    newcomer = Key()
    request_id = str(uuid.uuid4())
    async with Gate.connect(bench.enrolment()) as gate:
        asking = asyncio.create_task(gate.ask(ToolCall(name="t", request_id=request_id)))
        seen = await console.request(request_id)
        body = console.decision(seen, decided_by={"name": "New", "key": newcomer.public})
        await console.store(seen.decision_subject, *console.signed(seen.decision_subject, body, key=newcomer))
        entries = [
            {"key": key.public, "name": "x", "role": role, "from": "2026-01-01T00:00:00Z", "until": None}
            for key, role in ((console.human, "human"), (console.auto, "auto"), (newcomer, "human"))
        ]
        await console.put_operators(entries, newcomer)
        await asyncio.sleep(0.1)
        assert not asking.done()
        await console.put_operators(entries, console.human)
        assert (await asyncio.wait_for(asking, 5)).allowed
