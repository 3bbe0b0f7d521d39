"""One hook process: an event in, an answer out."""

from __future__ import annotations

import contextlib
import json
import subprocess
import uuid
from pathlib import Path

from desk import BINARY, SOON, Desk


class Hook:
    def __init__(self, desk: Desk, program: str, folder: Path, agent: str) -> None:
        self.desk, self.program, self.agent = desk, program, agent
        self.agent_json = desk.enroll(agent)
        self.state = folder / "state"
        self.env = desk.env | {"COUNTERSIGN_STATE_DIR": str(self.state)}
        self.session = str(uuid.uuid4())

    def event(self, name: str = "PreToolUse", **changes) -> dict:
        """As Claude Code writes it."""
        base = {
            "session_id": self.session,
            "transcript_path": "/tmp/t.jsonl",
            "cwd": "/tmp",
            "permission_mode": "default",
            "hook_event_name": name,
            "tool_name": "Bash",
            "tool_input": {"command": "make deploy", "description": "Deploy it"},
            "tool_use_id": "toolu_1",
        }
        return {key: value for key, value in (base | changes).items() if value is not None}

    def start(self, event: dict | str, *flags: str, **how) -> subprocess.Popen:
        words = [BINARY, "hook", self.program, "--agent-json", str(self.agent_json), *flags]
        pipe = subprocess.PIPE
        given = event if isinstance(event, str) else json.dumps(event)
        how = {"env": self.env} | how
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, **how)
        with contextlib.suppress(BrokenPipeError):  # it reads no more than the largest event
            process.stdin.write(given)
            process.stdin.close()
        process.stdin = None
        return process

    def ended(self, process: subprocess.Popen) -> tuple[int, str, str]:
        out, words = process.communicate(timeout=SOON + 10)
        return process.returncode, out, words

    def run(self, event: dict | str, *flags: str, **how) -> tuple[int, str, str]:
        return self.ended(self.start(event, *flags, **how))

    def answered(self, process: subprocess.Popen):
        """The JSON of a hook that ends with exit code 0."""
        code, out, words = self.ended(process)
        assert code == 0, words
        return json.loads(out) if out else None


def refuses(code: int, out: str, words: str) -> bool:
    """Whether Claude Code takes the end of a hook for a refusal: a JSON deny, or exit code 2 with words."""
    if code == 2:
        return not out and bool(words.strip())
    if code != 0:
        return False
    reported = json.loads(out).get("hookSpecificOutput", {})
    return reported.get("permissionDecision") == "deny" or reported.get("decision", {}).get("behavior") == "deny"
