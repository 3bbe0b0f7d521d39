"""A second hook or plugin of each program that changes the input: other arguments run only with an alarm (4.6).

With the real programs where they are there (`make agents`), else with a double (programs.py).
"""

from __future__ import annotations

import time
from itertools import product

import beside
import programs
import pytest
from programs import Project
from test_programs import connected


@pytest.fixture(params=programs.ALL, ids=lambda program: program.name)
def project(request, desk, tmp_path):
    project = Project(request.param, desk, tmp_path)
    yield project
    project.close()


def differing(desk, about: str) -> list[dict]:
    alarms = desk.cli("alarms")
    return [alarm for alarm in alarms if alarm["code"] == "executed_digest_differs" and about in alarm["subject"]]


@pytest.mark.parametrize(("first", "after", "answer"), list(product((True, False), (0, 2), (0, 3))))
def test_no_other_input_runs_without_an_alarm(project, desk, first, after, answer):
    name = project.program.name
    line = connected(project)
    beside.put(project, first=first, after=after)
    project.trust()
    process = project.start(line)
    request = desk.waiting(name)["request_id"]
    time.sleep(answer)
    desk.decide(name, "approve")
    read = project.ran(process)
    other = (project.folder / "other.txt").exists()
    seen = "other" if other else "approved" if project.marker.exists() else "nothing"
    print(
        name,
        "first" if first else "behind",
        after,
        answer,
        seen,
        "words" if "than were approved." in read + project.model.heard else "",
    )
    receipts = desk.receipts(name, request, 2)
    [shown] = desk.cli("show", f"default/{name}/{request}")
    about = f"{name}/{request}"
    if other and shown["request"]["args"]["command"] != beside.OTHER:
        assert receipts[1]["stage"] == "executed"
        assert receipts[1]["executed_args_digest"] != shown["decision"]["args_digest"]
        assert differing(desk, about)
        assert "ran with other arguments than were approved." in read + project.model.heard
    else:
        # Where hooks run one after the other, ours asked about what the other had made of the input.
        assert receipts[1]["stage"] == "executed"
        assert not differing(desk, about)
