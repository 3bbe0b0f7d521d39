"""What a model reads of a call that did not run: the published texts, the same in every SDK."""

from __future__ import annotations

import json

import pytest
from countersign import Decision, errors, refusal_text
from countersign.refusal import edit_notice

from contract import CONTRACT

VECTORS = json.loads((CONTRACT / "vectors/refusals.json").read_text())


def decision(text: str, verdict: str) -> Decision:
    body = json.loads(text)
    return Decision(
        verdict=verdict,
        request_id="r",
        decision_id="d",
        origin=body["origin"],
        message=body.get("message"),
        args=body.get("edited_args"),
        args_digest=None,
        response=body.get("response"),
        decided_by=body["decided_by"],
        stored_at=None,
        sequence=1,
        payload=body,
    )


@pytest.mark.parametrize("row", VECTORS["decisions"], ids=lambda row: row["text"][:60])
def test_a_decision_reads_as_every_sdk_says_it(row):
    assert refusal_text("pay", decision(row["decision"], row["verdict"])) == row["text"]


@pytest.mark.parametrize("row", VECTORS["notices"], ids=lambda row: row["text"][:60])
def test_an_edit_is_told_as_every_sdk_tells_it(row):
    assert edit_notice(decision(row["decision"], "modify")) == row["text"]


@pytest.mark.parametrize("row", VECTORS["errors"], ids=lambda row: row["name"])
def test_an_error_reads_as_every_sdk_says_it(row):
    raised = getattr(errors, row["name"])(row["message"], code=row["code"])
    assert refusal_text("pay", raised) == row["text"]
