"""Stands in for a coding agent: reads its settings, runs the hook of one call, and does what the answer says.

The events are those that the real programs sent (scripts/agents.sh has the versions), Cursor's those of its
documentation. What is no refusal lets the call run, as there.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

name, args = sys.argv[1], json.loads(sys.argv[2])
command, here, home = args["command"], str(Path.cwd()), Path.home()
CLAUDE = {"session_id": "s-1", "cwd": here, "transcript_path": f"{here}/t.jsonl"}


def hook(command: str, event: dict) -> tuple[int, dict, str]:
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(event), capture_output=True, text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {}, done.stderr


def codex() -> tuple[str | None, str]:
    [entry] = tomllib.loads((home / ".codex/config.toml").read_text())["hooks"]["PreToolUse"]
    event = {"turn_id": "t-1", "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default"}
    event |= {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call_1"}
    code, answer, words = hook(entry["hooks"][0]["command"], CLAUDE | event)
    reported = answer.get("hookSpecificOutput", {})
    if code == 2 or reported.get("permissionDecision") == "deny":
        return None, reported.get("permissionDecisionReason", words)
    assert "updatedInput" in reported, "Codex reports an allow without updatedInput as a failed hook"
    return reported["updatedInput"]["command"], ""


def gemini() -> tuple[str | None, str]:
    [entry] = json.loads((home / ".gemini/settings.json").read_text())["hooks"]["BeforeTool"]
    event = {"hook_event_name": "BeforeTool", "timestamp": "2026-11-26T16:02:24.195Z"}
    event |= {"tool_name": "run_shell_command", "tool_input": args}
    code, answer, words = hook(entry["hooks"][0]["command"], CLAUDE | event)
    if code == 2 or answer.get("decision") == "deny":
        return None, answer.get("reason", words)
    return (args | answer.get("hookSpecificOutput", {}).get("tool_input", {}))["command"], ""


def cursor() -> tuple[str | None, str]:
    [entry] = json.loads((home / ".cursor/hooks.json").read_text())["hooks"]["preToolUse"]
    event = {"conversation_id": "c-1", "generation_id": "g-1", "workspace_roots": [here], "cwd": here}
    event |= {"hook_event_name": "preToolUse", "tool_name": "Shell", "tool_input": args, "tool_use_id": "t-1"}
    code, answer, words = hook(entry["command"], event)
    if code == 2 or answer.get("permission") != "allow":
        return None, answer.get("agent_message", words)
    return answer.get("updated_input", args)["command"], ""


def copilot() -> tuple[str | None, str]:
    file = home / ".copilot/hooks/countersign.json"
    [entry] = json.loads(file.read_text())["hooks"]["preToolUse"]
    event = {"sessionId": "s-1", "timestamp": 1795708967526, "cwd": here, "toolName": "bash", "toolArgs": args}
    code, answer, words = hook(entry["bash"], event)
    if code == 2 or answer.get("permissionDecision") == "deny":
        return None, answer.get("permissionDecisionReason", words)
    return command, ""


PLUGIN = """
const { Countersign } = await import("data:text/javascript," + encodeURIComponent(process.argv[1]))
const output = { args: JSON.parse(process.argv[2]) }
const call = { tool: "bash", sessionID: "ses_1", callID: "call_1" }
try {
  await (await Countersign({ directory: process.cwd() }))["tool.execute.before"](call, output)
  console.log(JSON.stringify({ run: output.args.command }))
} catch (error) {
  console.log(JSON.stringify({ words: error.message }))
}
"""


def opencode() -> tuple[str | None, str]:
    plugin = (home / ".config/opencode/plugin/countersign.js").read_text()
    node = ["node", "--input-type=module", "-e", PLUGIN, plugin, json.dumps(args)]
    reported = json.loads(subprocess.run(node, capture_output=True, text=True, check=True).stdout)
    return reported.get("run"), reported.get("words", "")


run, words = {"codex": codex, "gemini": gemini, "cursor": cursor, "copilot": copilot, "opencode": opencode}[name]()
if run is None:
    print(words)
else:
    subprocess.run(["/bin/sh", "-c", run], check=True)
