"""Codex itself (`make agents`): what it does with a hook that nobody trusted."""

from __future__ import annotations

from programs import BY_NAME, Project, example


def test_codex_runs_no_hook_that_it_was_not_told_to_trust(desk, tmp_path):
    project = Project(BY_NAME["codex"], desk, tmp_path)
    [line, last] = example("codex")
    assert project.start(line).wait(30) == 0
    asked = desk.count("codex")
    project.ran(project.start(last))
    assert (project.marker.exists(), desk.count("codex")) == (True, asked)
    project.trust()
    trusted = (project.home / ".codex/config.toml").read_bytes()
    assert project.start(line).wait(30) == 0
    assert (project.home / ".codex/config.toml").read_bytes() == trusted
    project.close()
