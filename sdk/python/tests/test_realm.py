"""The realm log in Python: forms beyond the vectors, and how an agent keeps it."""

from __future__ import annotations

import json

import pytest
from countersign import LogHead
from countersign.clock import parse_rfc3339
from countersign.log import Log, Stored, answered, subject_of
from countersign.realm import Facts, Realm
from countersign.records import read_entry, slot_of

import played
from console import Key
from contract import CONTRACT

VECTORS = json.loads((CONTRACT / "vectors/realm-log.json").read_text())
REALM = VECTORS["realm"]
SUBJECT = "countersign.v1.realm"
ADA, GRACE, CONSOLE, PAPER = (Key(secret=bytes([byte]) * 32) for byte in (1, 2, 10, 0x50))


def listed(key, role="human", operator=None, **fields):
    return played.listed(REALM, key, role, operator, **fields)


def record(key, name="Ada", *, keys=None, **fields):
    return {**played.record(REALM, key, name, **fields), **({} if keys is None else {"keys": keys})}


class Pen:
    """Writes entries one after the other."""

    def __init__(self):
        self.slot = 0
        self.state = Realm(REALM, "")
        founding = self.message(ADA, operators=[record(ADA, admin=True)])
        self.state.root = read_entry(founding).digest
        assert self.store(founding) == "ok"

    def message(self, by, /, **change):
        head = self.state.chain[-1].digest if self.state.chain else None
        frame = {"v": 1, "n": len(self.state.chain) + 1, "prev": head, "at": "x", "by": by.public, "policy": None}
        return played.sealed(REALM, by, json.dumps({**frame, **change}).encode())

    def store(self, message):
        self.slot += 1
        return self.state.apply(self.slot, self.slot, message)

    def write(self, by, /, **change):
        return self.store(self.message(by, **change))


@pytest.mark.parametrize(
    ("subject", "slot"),
    [
        ("1", 1),
        ("999999999999999", 999_999_999_999_999),
        ("1000000000000000", None),
        ("0", None),
        ("01", None),
        ("+1", None),
        ("1.2", None),
        ("", None),
        ("one", None),
        ("\u0661", None),
        (" 1", None),
        ("1\n", None),
    ],
)
def test_a_slot_is_a_decimal_number_and_no_other_subject_is_one(subject, slot):
    assert slot_of(f"{SUBJECT}.{subject}") == slot


@pytest.mark.parametrize(
    "change",
    [
        {"operators": {}},
        {"operators": [{"id": Key().public, "keys": []} for _ in range(101)]},
        {"operators": [record(GRACE, "x" * 257)]},
        {"operators": [record(GRACE, "")]},
        {"operators": [record(GRACE, keys=[listed(GRACE)] + [listed(Key(), operator=GRACE) for _ in range(16)])]},
        {"operators": [record(GRACE, keys=[listed(GRACE, role="auto")])]},
        {"operators": [record(GRACE, admin=1)]},
        {"operators": [record(GRACE, limits={"workspaces": [1]})]},
        {"operators": [record(GRACE, keys=[listed(GRACE, device="x" * 257)])]},
        {"operators": [record(GRACE, keys=[{**listed(GRACE), "proof": "x" * 4097}])]},
        {"operators": [{"id": GRACE.public}]},
        {"operators": [{"id": GRACE.public, "keys": None}]},
        {"operators": [{"id": "W" + "A" * 52, "keys": []}]},
        {"realm": {"recovery": {"key": PAPER.public}}},
        {"realm": {"recovery": PAPER.public}},
        {"realm": []},
        {"realm": {"acceptance": 0}},
    ],
)
def test_what_has_another_form_is_linked_and_does_nothing(change):
    pen = Pen()
    assert pen.write(ADA, **change) == "bad_record"
    assert (len(pen.state.chain), list(pen.state.operators)) == (2, [ADA.public])


@pytest.mark.parametrize(
    "change",
    [
        {"v": True},
        {"v": 1.0},
        {"n": "2"},
        {"n": 0},
        {"prev": ""},
        {"at": ""},
        {"at": "x" * 65},
        {"at": None},
        {"by": "U"},
        {"policy": {}},
        {"policy": {"epoch": "", "seq": 0}},
        {"policy": {"epoch": "e", "seq": -1}},
        {"policy": {"epoch": "e", "seq": None}},
        {"policy": []},
        {"policy": "x"},
    ],
)
def test_what_is_no_frame_is_unreadable(change):
    pen = Pen()
    assert pen.write(ADA, **change) == "unreadable"
    assert pen.write(ADA, realm={"acceptance": True}) == "ok"


def test_the_same_recovery_key_again_changes_nothing_and_no_name_or_limit_is_null():
    pen = Pen()
    paper = {"key": PAPER.public, "proof": PAPER.sign("key", REALM, SUBJECT, f"{PAPER.public}\nrecovery".encode())}
    assert pen.write(ADA, realm={"recovery": {**paper, "proof": "x"}}) == "bad_proof"
    assert pen.write(ADA, realm={"recovery": paper}) == "ok"
    assert pen.write(ADA, realm={"recovery": paper}) == "no_change"
    assert pen.write(PAPER, operators=[{"id": PAPER.public, "keys": []}]) == "key_taken"
    assert pen.write(PAPER, operators=[record(GRACE, limits=None)]) == "ok"
    assert pen.write(ADA, operators=[record(GRACE, limits={})]) == "ok"
    assert pen.write(GRACE, operators=[record(GRACE)]) == "not_permitted"


def test_who_is_named_twice_in_one_entry_is_taken_whatever_comes_first():
    pen = Pen()
    beside = record(ADA, admin=True, keys=[listed(ADA), listed(GRACE, operator=ADA)])
    away = {"id": GRACE.public, "keys": []}
    assert pen.write(ADA, operators=[beside, away]) == "key_taken"
    assert pen.write(ADA, operators=[away, beside]) == "key_taken"
    assert pen.write(ADA, operators=[beside]) == "ok"
    assert pen.write(GRACE, operators=[away]) == "key_taken"


STAMP = "2026-11-25T12:00:00.123456789Z"
AT = parse_rfc3339(STAMP)


def headers(slot, sequence, **more):
    return {
        "Nats-Subject": subject_of(slot),
        "Nats-Sequence": str(sequence),
        "Nats-Stream": "CS_DECISIONS",
        "Nats-Time-Stamp": STAMP,
        **more,
    }


def test_only_an_answer_without_a_sequence_says_that_a_slot_is_free():
    subject = subject_of(3)
    assert answered(subject, {"Status": "404"}, b"") is None
    assert answered(subject, headers(3, 9, Status="404"), b"x") == Stored(subject, b"x", {}, AT, 9)
    whole = headers(3, 9)
    del whole["Nats-Stream"]
    assert answered(subject, whole, b"x") == Stored(subject, b"x", {}, AT, 9)
    for wrong in (
        {},
        {"Status": "408"},
        headers(4, 9),
        headers(3, 9, **{"Nats-Stream": "MIRROR"}),
        headers(3, "nine"),
        headers(3, 9, **{"Nats-Subject": "countersign.v1.realm.03"}),
        headers(3, 9, **{"Nats-Time-Stamp": "soon"}),
    ):
        with pytest.raises(ValueError, match=r"."):
            answered(subject, wrong, b"x")


def at(slot, sequence, payload):
    return Stored(subject_of(slot), payload, {}, AT, sequence)


def stored(log):
    sent = [
        (slot_of(message["subject"]), message["seq"], message["payload"])
        for message in log["messages"]
        if "payload" in message
    ]
    return [at(slot, sequence, text.encode()) for slot, sequence, text in sorted(sent)]


LOGS = {log["name"]: log for log in VECTORS["logs"]}


def known(log, n):
    return next(entry["digest"] for entry in log["expect"]["chain"] if entry["n"] == n)


def knowing(log, n, digest=None):
    return Log(REALM, LogHead(log["root"], n, digest or known(log, n)))


def test_an_agent_reads_on_and_begins_again_where_the_log_was_put_back():
    log, back = LOGS["rotation"], LOGS["put-back"]
    slots = stored(log)
    mine = knowing(log, 2)
    assert mine.fault == "log_short"
    assert not mine.extend(None, slots)
    mine.restart(slots[:1])
    assert (mine.fault, len(mine.state.chain)) == ("log_short", 0)
    mine.restart(slots[:2])
    assert (mine.fault, mine.last) == (None, slots[1])
    assert mine.extend(slots[1], slots[2:])
    assert len(mine.state.chain) == 4
    # In the new stream the slot that was read last has other bytes.
    again = stored(back)
    assert not mine.extend(again[slot_of(mine.last.subject) - 1], [])
    assert not mine.extend(again[slot_of(mine.last.subject) - 1], again[slot_of(mine.last.subject) :])
    mine.restart(again)
    assert (mine.fault, len(mine.state.chain), mine.state.next_slot) == (None, 4, 10)
    # Rolled back: what is known is not there any more.
    mine.restart(again[:4])
    assert (mine.fault, len(mine.state.chain)) == ("log_short", 4)


def test_an_agent_that_knew_an_end_believes_nothing_of_a_log_that_lost_it():
    log = LOGS["parted"]
    lost = next(anchor["digest"] for anchor in log["anchors"] if not anchor["holds"])
    mine = knowing(log, 3, lost)
    mine.restart(stored(log))
    assert mine.fault == "log_differs"


def test_a_slot_below_the_highest_sequence_is_read_from_the_first_slot_on():
    log = LOGS["letting-in"]
    slots = stored(log)
    mine = knowing(log, 1)
    mine.restart(slots[:4])
    late = at(5, mine.last.sequence, b"junk")
    assert not mine.extend(mine.last, [late])
    facts = Facts("approve", "operator", "acme", "low", None, (), "2026-11-25T12:00:00.000Z")
    assert mine.state.fault(ADA.public, facts) is None
    assert mine.state.fault(ADA.public, facts, 1) == "unknown_key"
