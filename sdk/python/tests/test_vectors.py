"""The published vectors (`docs/protocol/vectors`): what every implementation reads the same."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from countersign import VoidDecisionError
from countersign.clock import is_rfc3339, now, parse_rfc3339
from countersign.log import Stored
from countersign.verify import judge

from console import Key
from contract import CONTRACT
from test_contract import AFTERWARDS, ENROLMENT, EXAMPLES, SIGNED, STATE, requests

VECTORS = json.loads((CONTRACT / "vectors/decisions.json").read_text())
ADA = Key(secret=b"\x01" * 32)
EXAMPLE = (EXAMPLES / "decision-approve.json").read_text()
SUBJECT = next(entry["subject"] for entry in SIGNED if entry["file"] == "decision-approve.json")


def fault(text: str) -> str | None:
    """Of the decision of these bytes, signed by the operator of the examples."""
    payload, request = text.encode(), requests()[json.loads(EXAMPLE)["request_digest"]]
    headers = {"CS-Key": ADA.public, "CS-Sig": ADA.sign("decision", ENROLMENT.realm, SUBJECT, payload)}
    stored = Stored(SUBJECT, payload, headers, now(), AFTERWARDS)
    try:
        judge(stored, request, STATE, late=False)
    except VoidDecisionError as error:
        return error.code
    return None


@pytest.mark.parametrize("vector", VECTORS["timestamps"], ids=lambda vector: vector["text"])
def test_a_time_stamp_reads_as_every_implementation_reads_it(vector):
    text, utc = vector["text"], vector["utc"]
    assert is_rfc3339(text) is (utc is not None)
    if utc is not None:
        moment = parse_rfc3339(text)
        assert moment.tzinfo is dt.UTC
        assert moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z" == utc
    decided_at = json.dumps(text)
    assert fault(EXAMPLE.replace('"2026-11-21T12:00:20.000Z"', decided_at)) == (None if utc else "malformed")


@pytest.mark.parametrize("vector", VECTORS["decisions"], ids=lambda vector: vector["what"])
def test_a_decision_is_judged_as_every_implementation_judges_it(vector):
    assert EXAMPLE.count(vector["from"]) == 1
    assert fault(EXAMPLE.replace(vector["from"], vector["to"])) == vector["fault"]
