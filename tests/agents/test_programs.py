"""The example of each guide, run as it is written, and what becomes of the model's call.

With the real programs where they are there (`make agents`), else with a double (programs.py).
"""

from __future__ import annotations

import json
import signal

import programs
import pytest
from programs import Project, example

EDITS = ["codex", "gemini", "cursor", "opencode"]


@pytest.fixture(params=programs.ALL, ids=lambda program: program.name)
def project(request, desk, tmp_path):
    project = Project(request.param, desk, tmp_path)
    yield project
    project.close()


def connected(project: Project, *flags: str) -> str:
    """The example's last line, after the first connected."""
    line, last = example(project.program.name)
    process = project.start(" ".join((line, *flags)))
    assert process.wait(30) == 0, process.stderr.read()
    project.trust()
    return last


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_the_call_of_the_guide_runs_only_when_it_is_approved(project, desk, verdict):
    name = project.program.name
    process = project.start(connected(project))
    message = ("--message", "not today") if verdict == "deny" else ()
    request = desk.decide(name, verdict, *message)
    read = project.ran(process)
    if verdict == "deny":
        assert "was not run, denied by" in read
        assert "not today" in read
        assert not project.marker.exists()
        return
    assert project.marker.exists(), read
    assert project.marker.read_text() == "ran\n"
    if project.real:
        assert [receipt["stage"] for receipt in desk.receipts(name, request, 2)] == ["received", "executed"]
        [agent] = [line for line in desk.cli("agents") if line["agent"] == name]
        assert "never asked" not in str(agent["gate"])


@pytest.mark.parametrize("project", [programs.BY_NAME[name] for name in EDITS], ids=EDITS, indirect=True)
def test_an_edited_call_runs_as_edited(project, desk, tmp_path):
    name = project.program.name
    process = project.start(connected(project))
    request = desk.waiting(name)["request_id"]
    [shown] = desk.cli("show", f"default/{name}/{request}")
    args = shown["request"]["args"]
    edited = tmp_path / "edited.json"
    edited.write_text(json.dumps(args | {"command": args["command"].replace("ran", "edited")}))
    desk.decide(name, "approve", "--args", str(edited))
    project.ran(process)
    assert project.marker.read_text() == "edited\n"


def test_nothing_runs_while_the_console_is_gone(project, desk):
    last = connected(project, "--timeout", "1")
    desk.console.send_signal(signal.SIGSTOP)
    try:
        read = project.ran(project.start(last))
    finally:
        desk.console.send_signal(signal.SIGCONT)
    assert "was not run" in read
    assert not project.marker.exists()
