"""`connect` and `disconnect`: our entries and nothing else (integrations, section 4.1)."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest
from desk import BINARY

FILES = {
    "claude-code": ".claude/settings.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/countersign.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/plugin/countersign.js",
}


@pytest.mark.parametrize("name", FILES)
def test_connecting_twice_changes_nothing_and_disconnecting_takes_it_away(desk, name):
    file = Path(desk.env["HOME"]) / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".json":
        file.write_text('{\n  "mine": true\n}\n')
    before = file.read_bytes() if file.exists() else None
    [planned] = [desk.text("connect", name, "--dry-run")]
    assert (file.read_bytes() if file.exists() else None) == before
    [first] = desk.cli("connect", name)
    assert first["file"] == str(file)
    assert first["changed"]
    assert file.read_text() == planned
    assert BINARY in planned
    assert Path(first["agent_json"]).is_file()
    if before is not None:
        backup = Path(first["backup"])
        assert backup.read_bytes() == before
        assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    [again] = desk.cli("connect", name)
    assert (again["changed"], again["backup"]) == (False, None)
    desk.cli("disconnect", name)
    if before is not None:
        left = json.loads(file.read_text())
        left.pop("version", None)
        assert left == json.loads(before)
    assert not file.exists() or " hook " not in file.read_text()


def test_settings_of_claude_code_are_those_of_the_contract(desk):
    settings = json.loads(desk.text("connect", "claude-code", "--dry-run", "--scope", "project", "--timeout", "100"))
    [before] = settings["hooks"]["PreToolUse"]
    assert before == {
        "matcher": "*",
        "hooks": [
            {
                "type": "command",
                "command": "countersign hook claude-code --timeout 100",
                "timeout": 160,
                "onFailure": "block",
            }
        ],
    }
    assert {"PostToolUse", "PostToolUseFailure"} < set(settings["hooks"])
    assert settings["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] == 60


def test_settings_that_cannot_be_read_stay_as_they_are(desk, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": 1, "a": 2}}')
    before = file.read_bytes()
    assert desk.code("connect", "mcp", "--file", str(file)) == 6
    assert file.read_bytes() == before


def test_a_framework_is_told_how_and_no_file_changes(desk):
    [told] = desk.cli("connect", "pydantic-ai")
    assert told["changed"] is False
    assert told["agent_json"] in told["lines"][0]
