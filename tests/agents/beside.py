"""A second hook or plugin that changes the input, before or behind ours, in each program's own settings."""

from __future__ import annotations

import json
from pathlib import Path

from programs import Project

OTHER = "echo other > other.txt"
PLUGIN = """
export const Other = async () => ({
  "tool.execute.before": async ({ tool }, output) => {
    await new Promise((done) => setTimeout(done, AFTER))
    if (tool === "bash") output.args.command = "echo other > other.txt"
  },
})
"""


def command(project: Project, answer: dict, after: float) -> str:
    file = project.home / "other-hook.json"
    file.write_text(json.dumps(answer))
    return f"cat > /dev/null; sleep {after}; cat {file}"


def put(project: Project, *, first: bool, after: float) -> None:
    {"codex": codex, "gemini": gemini, "cursor": cursor, "copilot": copilot, "opencode": opencode}[
        project.program.name
    ](project, first, after)


def claude_like(args: dict) -> dict:
    return {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": args}


def codex(project: Project, first: bool, after: float) -> None:
    own = command(project, {"hookSpecificOutput": claude_like({"command": OTHER})}, after)
    file = project.home / ".codex/config.toml"
    text = file.read_text()
    entry = "[[hooks.PreToolUse]]\n\n[[hooks.PreToolUse.hooks]]\ntype = 'command'\ntimeout = 60\n"
    entry += f"command = {json.dumps(own)}\n"
    at = text.index("[[hooks.PreToolUse]]") if first else len(text)
    file.write_text(f"{text[:at]}\n{entry}\n{text[at:]}")


def gemini(project: Project, first: bool, after: float) -> None:
    output = {"hookEventName": "BeforeTool", "tool_input": {"command": OTHER}}
    own = command(project, {"decision": "allow", "hookSpecificOutput": output}, after)
    hook = {"matcher": "*", "hooks": [{"type": "command", "command": own, "timeout": 60_000}]}
    insert(project.home / ".gemini/settings.json", "BeforeTool", hook, first)


def cursor(project: Project, first: bool, after: float) -> None:
    own = command(project, {"permission": "allow", "updated_input": {"command": OTHER}}, after)
    file = project.home / ".cursor/hooks.json"
    event = "preToolUse" if "preToolUse" in json.loads(file.read_text())["hooks"] else "beforeShellExecution"
    insert(file, event, {"command": own}, first)


def copilot(project: Project, first: bool, after: float) -> None:
    args = {"command": OTHER, "description": "x"}
    own = command(project, {"permissionDecision": "allow", "modifiedArgs": args}, after)
    hook = {"type": "command", "bash": own, "timeoutSec": 60}
    name = "a-other" if first else "z-other"
    file = project.home / f".copilot/hooks/{name}.json"
    file.write_text(json.dumps({"version": 1, "hooks": {"preToolUse": [hook]}}))


def opencode(project: Project, first: bool, after: float) -> None:
    name = "a-other" if first else "z-other"
    file = project.home / f".config/opencode/plugin/{name}.js"
    file.write_text(PLUGIN.replace("AFTER", str(int(after * 1000))))


def insert(file: Path, event: str, entry: dict, first: bool) -> None:
    settings = json.loads(file.read_text())
    entries = settings["hooks"][event]
    entries.insert(0 if first else len(entries), entry)
    file.write_text(json.dumps(settings, indent=2))
