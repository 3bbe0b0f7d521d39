"""Operators whose keys were replaced, limited or retired since the agent last read the list."""

from __future__ import annotations

import asyncio
import datetime as dt
import itertools
import json
import uuid
from dataclasses import replace

import pytest
from countersign import Gate, ToolCall, TrustedKey, VoidDecisionError
from countersign.trust import Trust, take_over
from countersign.verify import judge

from console import Key, b64
from test_trust import AT, CONSOLE, IN_TIME, OTHERS, TRUST, TWO, _list, _vote, _votes, asked, stored


def _heir(old, new, *, by=None, realm="realm"):
    said = {"v": 1, "old": old.public, "new": new.public, "at": "2026-11-21T11:00:00Z"}
    payload = json.dumps(said).encode()
    sig = (by or old).sign("policy", realm, f"$KV.CS_POLICY.operators.{new.public}", payload)
    word = {"payload": b64(payload), "key": old.public, "sig": sig}
    return {"key": new.public, "name": "x", "role": "human", "from": "2026-01-01T00:00:00Z", "takes_over": word}


def test_a_list_of_a_key_that_took_over_from_a_known_one_is_taken_over_however_many_lie_between():
    keys = [CONSOLE.human, *(Key() for _ in range(4))]
    chain = [_heir(old, new) for old, new in itertools.pairwise(keys)]
    after = take_over(TRUST, _list(keys[-1], chain), 3, AT)
    assert after.role_at(keys[-1].public, AT) == "human"
    assert after.revision == 3


@pytest.mark.parametrize(
    "entry",
    [
        {**_heir(CONSOLE.human, OTHERS[2]), "takes_over": None},
        _heir(CONSOLE.human, OTHERS[2], by=OTHERS[2]),
        _heir(CONSOLE.human, OTHERS[2], realm="another"),
        _heir(CONSOLE.auto, OTHERS[2]),
        {**_heir(CONSOLE.human, OTHERS[2]), "role": "auto"},
        {**_heir(CONSOLE.human, OTHERS[2]), "until": "2026-01-02T00:00:00Z"},
        {**_heir(CONSOLE.human, Key()), "key": OTHERS[2].public},
        _heir(OTHERS[2], OTHERS[2]),
    ],
)
def test_a_stranger_whom_no_known_key_named_is_not_believed(entry):
    assert take_over(TRUST, _list(OTHERS[2], [entry]), 3, AT) is TRUST


ANN, BEA, CEM = CONSOLE.human, Key(), Key()
FIRST = Trust("realm", (TrustedKey(ANN.public, "Ann", "human"),))


def _word(old, key, *, realm="realm", at="2026-02-10T00:00:00Z", signer=None, payload=None, **other):
    said = {"v": 1, "by": old.public, "key": key.public, "at": at, **other}
    payload = payload or json.dumps(said).encode()
    sig = (signer or old).sign("policy", realm, f"$KV.CS_POLICY.operators.{key.public}", payload)
    return {"payload": b64(payload), "key": old.public, "sig": sig}


def _human(key, **more):
    return {"key": key.public, "name": "x", "role": "human", "from": "2026-01-01T00:00:00Z", **more}


ALL = [_human(ANN), _human(BEA), _human(CEM)]
CHAIN = [_word(ANN, BEA), _word(BEA, CEM)]


def _bea(**more):
    return [_human(ANN), {**_human(BEA), **more}, _human(CEM)]


# The same table as in the Rust SDK: an agent that knows Ann meets a list that Cem has signed.
@pytest.mark.parametrize(
    ("entries", "words", "taken"),
    [
        pytest.param(ALL, [_word(ANN, CEM)], True, id="vouched for"),
        pytest.param(ALL, CHAIN, True, id="over another"),
        pytest.param(_bea(until="2026-02-11T00:00:00Z"), CHAIN, True, id="over one who was retired later"),
        pytest.param(_bea(until="2026-02-09T00:00:00Z"), CHAIN, False, id="over one who was retired before"),
        pytest.param(_bea(**{"from": "2026-02-11T00:00:00Z"}), CHAIN, False, id="over one who came after his word"),
        pytest.param(_bea(max_risk="high"), CHAIN, False, id="over one of some risk"),
        pytest.param(_bea(workspaces=[]), CHAIN, False, id="over one of some workspaces"),
        pytest.param(_bea(role="auto"), CHAIN, False, id="over a console's own key"),
        pytest.param([_human(ANN), _human(CEM)], CHAIN, False, id="over one who is not listed"),
        pytest.param([_human(ANN), _heir(ANN, BEA), _human(CEM)], [_word(BEA, CEM)], True, id="by one who took over"),
        pytest.param([_human(ANN), _human(BEA), _heir(BEA, CEM)], [_word(ANN, BEA)], True, id="took over from one"),
        pytest.param(ALL, [], False, id="nobody's word"),
        pytest.param(ALL, [_word(CEM, ANN)], False, id="the other way round"),
        pytest.param(ALL, [_word(CEM, BEA), _word(BEA, CEM)], False, id="a circle"),
        pytest.param(ALL, [_word(CEM, CEM)], False, id="for oneself"),
        pytest.param(ALL, [_word(ANN, CEM, realm="another")], False, id="of another realm"),
        pytest.param(ALL, [_word(ANN, CEM, signer=BEA)], False, id="another signer"),
        pytest.param(ALL, [{**_word(ANN, CEM), "payload": CHAIN[0]["payload"]}], False, id="other words"),
        pytest.param(ALL, [_word(ANN, CEM, v=2)], False, id="of another version"),
        pytest.param(ALL, [_word(ANN, CEM, at="soon")], False, id="without a time"),
        pytest.param(ALL, [_word(ANN, CEM, payload=b"[]")], False, id="no object"),
        pytest.param(ALL, [_word(ANN, CEM, by=BEA.public)], False, id="in another's name"),
        pytest.param(ALL, [5], False, id="no word at all"),
        pytest.param(ALL, {}, False, id="no list of words"),
    ],
)
def test_a_key_descends_by_words_and_handovers_from_those_who_stood_without_limits_and_from_nobody_else(
    entries, words, taken
):
    after = take_over(FIRST, _list(CEM, entries, vouched=words), 3, AT)
    assert (after is not FIRST) == taken


# The same table as in the Rust SDK. Ann's agent holds a list of hers, or starts; then Cem signs.
@pytest.mark.parametrize(
    ("held", "then", "words", "taken"),
    [
        pytest.param(None, ALL, CHAIN, True, id="starts"),
        pytest.param(None, ALL, [], False, id="starts, no words"),
        pytest.param(None, [*ALL[:2], _human(CEM, max_risk="high")], CHAIN, False, id="starts, a signer with limits"),
        pytest.param(ALL[:1], ALL, CHAIN, True, id="new ones"),
        pytest.param(ALL, ALL, [], True, id="a listed one"),
        pytest.param([ALL[0], _human(CEM, max_risk="high")], ALL, CHAIN, False, id="limits that he took away"),
        pytest.param(
            [ALL[0], _human(CEM, until="2026-03-01T00:00:00Z")], ALL, CHAIN, False, id="an end that he took away"
        ),
        pytest.param(
            [ALL[0], _human(BEA, until="2026-03-01T00:00:00Z")], ALL, CHAIN, False, id="over one who was retired"
        ),
        pytest.param([ALL[0], _human(BEA, max_risk="high")], ALL, CHAIN, False, id="over one with limits"),
    ],
)
def test_a_list_is_taken_over_from_who_descends_from_operators_without_limits_as_they_are_known(
    held, then, words, taken
):
    trust = FIRST if held is None else take_over(FIRST, _list(ANN, held), 1, AT)
    assert held is None or trust is not FIRST
    after = take_over(trust, _list(CEM, then, vouched=words), 2, AT)
    assert (after is not trust) == taken
    # Where it is not taken over, the one of Ann that it was written over is, if it is later.
    if held is not None:
        trust = replace(trust, at=AT - dt.timedelta(minutes=30))
    for minutes, later in [(2, True), (60, held is None)]:
        before = _list(ANN, ALL[:2], at=_rfc3339(AT - dt.timedelta(minutes=minutes)))
        now = _rfc3339(AT - dt.timedelta(minutes=1))
        after = take_over(trust, _list(CEM, then, vouched=words, base=json.loads(before), at=now), 2, AT)
        followed = {key.key for key in after.keys} if after is not trust else set()
        assert (BEA.public in followed) == (taken or later)
        assert (CEM.public in followed) == taken


def _rfc3339(moment):
    return moment.isoformat().replace("+00:00", "Z")


# The same table as of the Rust list.
@pytest.mark.parametrize(
    ("chain", "one"),
    [
        pytest.param("0>1", {"01"}, id="one after another"),
        pytest.param("0>1 1>2", {"01", "02", "12"}, id="one between"),
        pytest.param("0>1 0>2", {"01", "02", "12"}, id="two of one"),
        pytest.param("0>1 1>0", {"01"}, id="a ring"),
        pytest.param("0>1 1>0 1>2", {"01", "02", "12"}, id="a ring and one after it"),
        pytest.param("", set(), id="nobody"),
        pytest.param("0>1 not yet", set(), id="one that has not begun"),
        pytest.param("0>1 unsaid", set(), id="one that was not named"),
    ],
)
def test_keys_that_took_over_from_each_other_vote_as_one_person(chain, one):
    keys = [CONSOLE.human, OTHERS[0], OTHERS[1]]
    entries = [{"key": key.public, "name": "x", "role": "human", "from": "2026-01-01T00:00:00Z"} for key in keys]
    for link in (word for word in chain.split() if ">" in word):
        old, new = (keys[int(place)] for place in link.split(">"))
        by = OTHERS[2] if "unsaid" in chain else old
        later = {"from": "2027-01-01T00:00:00Z"} if "not yet" in chain else {}
        entries.append(_heir(old, new, by=by) | later)
    trust = take_over(TRUST, _list(CONSOLE.human, entries), 3, AT)
    for first, second in itertools.combinations(range(3), 2):
        votes = _votes(_vote(keys[first]), _vote(keys[second]))
        if f"{first}{second}" in one:
            with pytest.raises(VoidDecisionError) as refusal:
                judge(votes, TWO, trust, IN_TIME)
            assert refusal.value.code == "too_few_votes"
        else:
            assert judge(votes, TWO, trust, IN_TIME).allowed


# The same table as in the Rust SDK.
@pytest.mark.parametrize(
    ("held", "then", "taken"),
    [
        pytest.param((-60, 5), (-59, 6), True, id="later"),
        pytest.param((-60, 449), (-59, 4), True, id="later, in a new bucket"),
        pytest.param((-60, 5), (-61, 6), False, id="stored again"),
        pytest.param((-60, 5), (-60, 6), False, id="the same again"),
        pytest.param((-60, 5), (None, 6), False, id="without a time over one with"),
        pytest.param((None, 449), (-60, 4), True, id="with a time over one without"),
        pytest.param((None, 5), (None, 6), True, id="without a time, later"),
        pytest.param((None, 5), (None, 5), False, id="without a time, the same"),
        pytest.param((-60, 5), (60, 6), True, id="a moment ahead"),
        pytest.param((-60, 5), (61, 6), False, id="far ahead"),
    ],
)
def test_the_list_that_was_signed_last_counts_whatever_the_bucket_numbers_it(held, then, taken):
    def listed(seconds, **end):
        signed = {} if seconds is None else {"at": (AT + dt.timedelta(seconds=seconds)).isoformat()}
        both = [{"key": key.public, "name": "x", "role": "human"} for key in (CONSOLE.human, OTHERS[2])]
        return _list(CONSOLE.human, [both[0], {**both[1], **end}], **signed)

    trust = take_over(TRUST, listed(held[0]), held[1], AT)
    assert trust.role_at(OTHERS[2].public, AT) == "human"
    after = take_over(trust, listed(then[0], until="2026-01-02T00:00:00Z"), then[1], AT)
    assert after.role_at(OTHERS[2].public, AT) == (None if taken else "human")


LIMITED = {"key": CONSOLE.human.public, "name": "Ada", "role": "human", "from": "2026-01-01T00:00:00Z"}


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
    ],
)
def test_an_approval_beyond_its_operators_limits_is_void_and_a_denial_is_not(risk, limits, allowed):
    trust = take_over(TRUST, _list(CONSOLE.human, [{**LIMITED, **limits}]), 3, AT)
    request, seen = asked(risk=risk)
    if allowed:
        assert judge(stored(seen, CONSOLE.decision(seen)), request, trust, IN_TIME).allowed
    else:
        with pytest.raises(VoidDecisionError) as refusal:
            judge(stored(seen, CONSOLE.decision(seen)), request, trust, IN_TIME)
        assert refusal.value.code == "beyond_limit"
    assert judge(stored(seen, CONSOLE.decision(seen, "deny")), request, trust, IN_TIME).verdict == "deny"


def test_a_console_beyond_its_operators_limits_approves_nothing_by_itself():
    auto = {**LIMITED, "key": CONSOLE.auto.public, "role": "auto"}
    request, seen = asked(risk="medium")
    by = {"name": "desk", "key": CONSOLE.auto.public}
    for max_risk, allowed in (("low", False), ("medium", True), (None, True)):
        trust = take_over(TRUST, _list(CONSOLE.human, [LIMITED, {**auto, "max_risk": max_risk}]), 3, AT)
        for verdict in ("approve", "deny"):
            body = CONSOLE.decision(seen, verdict, origin="rule", rule={"id": "r", "version": 1}, decided_by=by)
            answer = stored(seen, body, key=CONSOLE.auto)
            if allowed or verdict == "deny":
                assert judge(answer, request, trust, IN_TIME).verdict == verdict
            else:
                with pytest.raises(VoidDecisionError) as refusal:
                    judge(answer, request, trust, IN_TIME)
                assert refusal.value.code == "beyond_limit"


def test_an_operator_beyond_the_limits_has_no_vote():
    entries = [LIMITED, {**LIMITED, "key": OTHERS[0].public, "max_risk": "safe"}]
    trust = take_over(TRUST, _list(CONSOLE.human, entries), 3, AT)
    with pytest.raises(VoidDecisionError) as refusal:
        judge(_votes(_vote(CONSOLE.human), _vote(OTHERS[0])), TWO, trust, IN_TIME)
    assert refusal.value.code == "too_few_votes"


async def test_an_operator_who_was_retired_a_moment_ago_is_void_although_no_key_is_new(bench, console):
    retired, request_id = Key(), str(uuid.uuid4())
    entries = [
        {"key": key.public, "name": "x", "role": role, "from": "2026-01-01T00:00:00Z", "until": until}
        for key, role, until in (
            (console.human, "human", None),
            (console.auto, "auto", None),
            (retired, "human", "2026-01-02T00:00:00Z"),
        )
    ]
    trusted = [(console.human, "human"), (console.auto, "auto"), (retired, "human")]
    async with Gate.connect(bench.enrolment(trusted=trusted)) as gate:
        asking = asyncio.create_task(gate.ask(ToolCall(name="t", request_id=request_id)))
        seen = await console.request(request_id)
        await console.put_operators(entries, console.human)
        body = console.decision(seen, decided_by={"name": "x", "key": retired.public})
        await console.store(seen.decision_subject, *console.signed(seen.decision_subject, body, key=retired))
        with pytest.raises(VoidDecisionError) as refusal:
            await asyncio.wait_for(asking, 5)
        assert refusal.value.code == "unknown_key"


async def test_an_operator_who_was_freed_a_moment_ago_may_allow_although_the_agent_has_the_narrow_list(
    bench, console
):
    request_id = str(uuid.uuid4())
    auto = {**LIMITED, "key": bench.console.auto.public, "role": "auto"}
    free = {**LIMITED, "key": bench.console.human.public}
    boss = Key()
    rest = [auto, {**LIMITED, "key": boss.public}]
    await console.put_operators([{**free, "max_risk": "safe"}, *rest], boss)
    trusted = [(boss, "human"), (console.human, "human"), (console.auto, "auto")]
    async with Gate.connect(bench.enrolment(trusted=trusted)) as gate:
        await gate._refresh_trust()
        asking = asyncio.create_task(gate.ask(ToolCall(name="t", risk="high", request_id=request_id)))
        seen = await console.request(request_id)
        await console.put_operators([free, *rest], boss)
        await console.store(seen.decision_subject, *console.signed(seen.decision_subject, console.decision(seen)))
        assert (await asyncio.wait_for(asking, 5)).allowed
