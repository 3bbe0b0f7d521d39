"""Stands in for a coding agent: reads its settings, runs the hooks of one call, and does what the answers say.

The events are those that the real programs sent (scripts/agents.sh has the versions), Cursor's those of its
documentation. What is no refusal lets the call run, as there. Which of several hooks decides is what the real
programs did: the one that ends last (Codex), the last of the list (Gemini), one after the other (OpenCode).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

name, args = sys.argv[1], json.loads(sys.argv[2])
command, here, home = args["command"], str(Path.cwd()), Path.home()
CLAUDE = {"session_id": "s-1", "cwd": here, "transcript_path": f"{here}/t.jsonl"}
Ended = tuple[int, dict, str]


def hook(command: str, event: dict) -> Ended:
    done = subprocess.run(["/bin/sh", "-c", command], input=json.dumps(event), capture_output=True, text=True)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except ValueError:
        return done.returncode, {}, done.stderr


def all_of(commands: list[str], event: dict, *, by_end: bool = False) -> list[Ended]:
    """All at once; the one that counts most is the last."""
    with ThreadPoolExecutor(len(commands) or 1) as pool:
        started = [pool.submit(hook, command, event) for command in commands]
        return [one.result() for one in (as_completed(started) if by_end else started)]


def of_groups(settings: dict, event: str) -> list[str]:
    return [one["command"] for group in settings["hooks"].get(event, []) for one in group["hooks"]]


def first(answers: list[Ended], refuses) -> str | None:
    """The words of a refusal."""
    for code, answer, words in answers:
        if code == 2 or refuses(answer):
            return refuses(answer) or words
    return None


def codex() -> str:
    settings = tomllib.loads((home / ".codex/config.toml").read_text())
    event = {"turn_id": "t-1", "hook_event_name": "PreToolUse", "model": "m", "permission_mode": "default"}
    event |= CLAUDE | {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "call_1"}
    answers = all_of(of_groups(settings, "PreToolUse"), event, by_end=True)
    reported = [answer.get("hookSpecificOutput", {}) for _, answer, _ in answers]
    refused = first(answers, lambda answer: refusal(answer.get("hookSpecificOutput", {})))
    if refused:
        return refused
    assert all("updatedInput" in one for one in reported), "an allow without updatedInput is a failed hook there"
    ran = reported[-1]["updatedInput"]
    run(ran["command"])
    after = event | {"hook_event_name": "PostToolUse", "tool_input": ran, "tool_response": ""}
    return added(all_of(of_groups(settings, "PostToolUse"), after))


def refusal(reported: dict) -> str | None:
    denied = reported.get("permissionDecision") == "deny"
    return reported.get("permissionDecisionReason", "denied") if denied else None


def added(answers: list[Ended]) -> str:
    """What an event after the call gives the model to read."""
    return " ".join(answer.get("hookSpecificOutput", {}).get("additionalContext", "") for _, answer, _ in answers)


def gemini() -> str:
    settings = json.loads((home / ".gemini/settings.json").read_text())
    event = CLAUDE | {"hook_event_name": "BeforeTool", "timestamp": "2026-11-26T16:02:24.195Z"}
    event |= {"tool_name": "run_shell_command", "tool_input": args}
    answers = all_of(of_groups(settings, "BeforeTool"), event)
    refused = first(answers, lambda answer: answer.get("decision") == "deny" and answer["reason"])
    if refused:
        return refused
    ran = dict(args)
    for _, answer, _ in answers:
        ran |= answer.get("hookSpecificOutput", {}).get("tool_input", {})
    run(ran["command"])
    after = event | {"hook_event_name": "AfterTool", "tool_input": ran, "tool_response": {"llmContent": "ok"}}
    return added(all_of(of_groups(settings, "AfterTool"), after))


def cursor() -> str:
    hooks = json.loads((home / ".cursor/hooks.json").read_text())["hooks"]
    new = "preToolUse" in hooks
    event = {"conversation_id": "c-1", "generation_id": "g-1", "workspace_roots": [here], "cwd": here}
    if new:
        names = ("preToolUse", "postToolUse")
        event |= {"tool_name": "Shell", "tool_input": args, "tool_use_id": "t-1"}
    else:
        names = ("beforeShellExecution", "afterShellExecution")
        event |= {"command": command}
    before, after = ([entry["command"] for entry in hooks.get(name, [])] for name in names)
    answers = all_of(before, event | {"hook_event_name": names[0]})
    refused = first(
        answers, lambda answer: answer.get("permission") != "allow" and answer.get("agent_message", "denied")
    )
    if refused:
        return refused
    ran = dict(args)
    for _, answer, _ in answers:
        ran |= answer.get("updated_input", {}) if new else {}
    run(ran["command"])
    what = {"tool_input": ran, "tool_output": "ok"} if new else {"command": ran["command"], "output": "ok"}
    ended = all_of(after, event | what | {"hook_event_name": names[1]})
    return " ".join(answer.get("additional_context", "") for _, answer, _ in ended)


def copilot() -> str:
    files = sorted((home / ".copilot/hooks").glob("*.json"))
    hooks = [json.loads(file.read_text())["hooks"] for file in files]
    commands = {
        event: [entry["bash"] for one in hooks for entry in one.get(event, [])]
        for event in ("preToolUse", "postToolUse")
    }
    event = {"sessionId": "s-1", "timestamp": 1795708967526, "cwd": here, "toolName": "bash", "toolArgs": args}
    ran = dict(args)
    for command in commands["preToolUse"]:
        code, answer, words = hook(command, event | {"toolArgs": ran})
        if code == 2 or refusal(answer):
            return refusal(answer) or words
        ran = answer.get("modifiedArgs", ran)
    run(ran["command"])
    result = {"resultType": "success", "textResultForLlm": "ok"}
    ended = all_of(commands["postToolUse"], event | {"toolArgs": ran, "toolResult": result})
    return " ".join(answer.get("additionalContext", "") for _, answer, _ in ended)


PLUGIN = """
const made = []
for (const text of JSON.parse(process.argv[1])) {
  const module = await import("data:text/javascript," + encodeURIComponent(text))
  made.push(await Object.values(module)[0]({ directory: process.cwd() }))
}
const output = { args: JSON.parse(process.argv[2]) }
const call = { tool: "bash", sessionID: "ses_1", callID: "call_1" }
const { execSync } = await import("node:child_process")
try {
  for (const plugin of made) await plugin["tool.execute.before"]?.(call, output)
  execSync(output.args.command)
  const result = { output: "" }
  for (const plugin of made) await plugin["tool.execute.after"]?.({ ...call, args: output.args }, result)
  console.log(JSON.stringify({ words: result.output }))
} catch (error) {
  console.log(JSON.stringify({ words: error.message }))
}
"""


def opencode() -> str:
    plugins = [file.read_text() for file in sorted((home / ".config/opencode/plugin").glob("*.js"))]
    node = ["node", "--input-type=module", "-e", PLUGIN, json.dumps(plugins), json.dumps(args)]
    reported = json.loads(subprocess.run(node, capture_output=True, text=True, check=True).stdout)
    return reported["words"]


def run(command: str) -> None:
    subprocess.run(["/bin/sh", "-c", command], check=True)


print({"codex": codex, "gemini": gemini, "cursor": cursor, "copilot": copilot, "opencode": opencode}[name]())
