"""Cursor names the folder before a shell command and not after it."""

from __future__ import annotations

import uuid

from hook import Hook


def test_a_shell_command_that_ran_is_found_without_its_folder(desk, tmp_path):
    hook = Hook(desk, "cursor", tmp_path, f"cursor-{uuid.uuid4().hex[:8]}")
    event = {"conversation_id": "c", "generation_id": "g", "workspace_roots": ["/w"], "command": "make"}
    process = hook.start(event | {"hook_event_name": "beforeShellExecution", "cwd": "/w"})
    request = desk.decide(hook.agent, "approve")
    assert hook.answered(process)["permission"] == "allow"
    hook.run(event | {"hook_event_name": "afterShellExecution", "output": "done", "duration": 1})
    assert [receipt["stage"] for receipt in desk.receipts(hook.agent, request, 2)] == ["received", "executed"]
    [shown] = desk.cli("show", f"default/{hook.agent}/{request}")
    assert (shown["request"]["args"], shown["request"]["native"]["cwd"]) == ({"command": "make"}, "/w")
