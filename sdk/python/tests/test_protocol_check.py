"""The vectors of the realm log and of devices: what every implementation reads alike."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from countersign import passkey
from countersign.protocol_check import check, main

from contract import CONTRACT

LOGS = CONTRACT / "vectors/realm-log.json"
DEVICES = CONTRACT / "vectors/devices.json"


def vectors(file):
    expected = json.loads(file.read_text())
    return expected, list(check(expected))


def each(rows, *fields):
    return [{field: row[field] for field in fields} for row in rows]


EXPECTED, LINES = vectors(LOGS)


ROWS = list(zip(EXPECTED["logs"], LINES, strict=True))


@pytest.mark.parametrize(("log", "line"), ROWS, ids=lambda row: row["name"])
def test_a_log_reads_as_every_implementation_reads_it(log, line):
    assert line == {
        "name": log["name"],
        "words": [sent.get("word") for sent in log["messages"]],
        **log["expect"],
        "decisions": each(log["decisions"], "console", "agent"),
        "votes": each(log["votes"], "console", "agent"),
        "registers": None,
        "anchors": [anchor["holds"] for anchor in log["anchors"]],
        "orders_agree": True,
    }


def test_devices_sign_decide_and_set_what_every_implementation_lets_them():
    expected, (line,) = vectors(DEVICES)
    named = [(row["name"], row["holds"]) for row in expected["signatures"]]
    assert [(name, got) for (name, _), got in zip(named, line["signatures"], strict=True)] == named
    assert line["decisions"] == [row["expect"] for row in expected["decisions"]]
    assert line["values"] == [row["may"] for row in expected["values"]]


def test_a_record_without_one_of_its_fields_signs_nothing():
    good = json.loads(DEVICES.read_text())["signatures"][0]
    place = (good["context"], EXPECTED["realm"], good["subject"], good["payload"].encode(), good["sig"])
    for name in ("key", "public", "rp_id", "origins", "until", "proof"):
        for wrong in ({}, {name: None}, {name: 1}, {name: []}):
            record = {field: value for field, value in good["record"].items() if field != name} | wrong
            assert not passkey.holds(record, good["operator"], *place), (name, wrong)
    assert passkey.holds(good["record"] | {"credential": 1}, good["operator"], *place)


def test_without_the_extra_no_signature_of_a_device_is_judged(monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    expected, (line,) = vectors(DEVICES)
    assert line["signatures"] is None
    assert line["decisions"] == [row["expect"] for row in expected["decisions"]]
    good = expected["signatures"][0]
    place = (good["context"], expected["realm"], good["subject"], good["payload"].encode(), good["sig"])
    assert not passkey.holds(good["record"], good["operator"], *place)


def test_the_module_prints_a_line_for_each_log():
    ran = subprocess.run(
        [sys.executable, "-m", "countersign.protocol_check", str(LOGS)], capture_output=True, text=True, check=True
    )
    assert [json.loads(line) for line in ran.stdout.splitlines()] == LINES


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"kind":"realm-log"}', '{"kind":"commands","rows":[]}', "3"])
def test_another_file_is_no_file_of_vectors(tmp_path, capsys, text):
    file = tmp_path / "vectors.json"
    file.write_text(text)
    assert main([str(file)]) == 2
    assert main([str(tmp_path / "absent")]) == 2
    assert main([]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "usage" in told.err
