"""Whatever breaks on the way to a decision, Claude Code itself runs nothing.

Each fault is a change to what `connect` wrote, or something done to the hook while it waits; then the program
makes a call that its own permissions allow. Side by side; all with COUNTERSIGN_ALL_FAULTS=1, a few otherwise.
"""

from __future__ import annotations

import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from claude import Claude
from desk import BINARY, Desk

ALL = bool(os.environ.get("COUNTERSIGN_ALL_FAULTS"))
SIDE_BY_SIDE = 4
FAULTS: dict[str, tuple] = {}
IN_CI = {"program_missing", "killed", "own_time_out"}


class Fault:
    """What a fault may change: the command, the time-out, the enrolment, the calls, and what is done meanwhile."""

    def __init__(self, claude: Claude) -> None:
        self.claude, self.folder = claude, claude.home.parent
        self.flags = "--timeout 3"
        self.before, self.after, self.shell = "", "", ""
        self.program = BINARY
        self.agent_json = claude.home.parent / "agent.json"
        self.timeout = 60
        self.calls = [claude.bash("touch made")]

    def enrolment(self, **changes) -> None:
        body = json.loads(self.agent_json.read_text())
        self.agent_json.write_text(json.dumps(body | changes))

    def write(self) -> None:
        ours = f"{self.program} hook claude-code --agent-json {self.agent_json} {self.flags}"
        command = self.shell or f"{self.before}{ours}{self.after}"
        hook = {"type": "command", "command": command, "timeout": self.timeout, "onFailure": "block"}
        settings = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}}
        self.claude.settings.parent.mkdir(exist_ok=True)
        self.claude.settings.write_text(json.dumps(settings))

    def hooks(self) -> list[int]:
        """The processes of our hook for this enrolment."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if str(self.agent_json).encode() in words and words[0] == self.program.encode():
                    found.append(int(folder.name))
        return found

    def when_it_runs(self, number: int) -> None:
        """Sends a signal to the hook while it waits for an answer."""
        end = time.monotonic() + 60
        while not (found := self.hooks()):
            assert time.monotonic() < end, "no hook was started"
            time.sleep(0.02)
        time.sleep(0.5)
        for process in found:
            os.kill(process, number)


def fault(change):
    FAULTS[change.__name__] = change
    return change


def flagged(name: str, **changes) -> None:
    """A fault that only changes words."""

    def change(fault):
        for what, value in changes.items():
            setattr(fault, what, value)

    FAULTS[name] = change


flagged("nobody_answers", flags="--timeout 1")
flagged("own_time_out", flags="", timeout=3)
flagged("wrong_flag", flags="--no-such-flag")
flagged("wrong_glob", flags="--ask [a")
flagged("wrong_time_out", flags="--timeout -1")
flagged("program_missing", program="/nowhere/countersign")
flagged("program_without_a_path", program="countersign-that-is-nowhere")
flagged("disk_full", before="ulimit -f 0; ")
flagged("no_memory", before="ulimit -v 20000; ")
flagged("no_open_files", before="ulimit -n 4; ")
flagged("standard_output_full", after=" > /dev/full")
flagged("standard_input_gone", after=" < /dev/null")
flagged("half_an_event", before="head -c 60 | ")
flagged("two_events", before="sh -c 'E=$(cat); echo \"$E$E\"' | ")
flagged("unreadable_event", before="tr '{' '[' | ")
flagged("no_tool_in_the_event", before='sed \'s/"tool_name"/"tool"/\' | ')
flagged("another_event_twice", before='sed \'s/^{/{"hook_event_name":"Stop",/\' | ')
flagged("no_folder_for_state", before="COUNTERSIGN_STATE_DIR=/proc/none ")
flagged("no_environment", before="env -i ")
flagged("ends_with_one", shell="exit 1")
flagged("ends_by_a_signal", shell="kill -SEGV $$")
flagged("garbage_and_a_failure", shell="echo all is well; exit 3")


@fault
def killed(fault):
    fault.flags = ""
    return lambda: fault.when_it_runs(signal.SIGKILL)


@fault
def terminated(fault):
    fault.flags = ""
    return lambda: fault.when_it_runs(signal.SIGTERM)


@fault
def stopped(fault):
    fault.timeout = 4
    fault.flags = ""
    return lambda: fault.when_it_runs(signal.SIGSTOP)


@fault
def program_that_is_no_program(fault):
    fault.program = str(fault.folder / "countersign")
    Path(fault.program).write_bytes(Path(BINARY).read_bytes()[:4096])
    Path(fault.program).chmod(0o755)


@fault
def program_that_may_not_run(fault):
    fault.program = str(fault.folder / "countersign")
    Path(fault.program).write_text("")


@fault
def no_enrolment(fault):
    fault.agent_json.unlink()


@fault
def enrolment_of_nobody(fault):
    fault.agent_json.write_text("{}")


@fault
def wrong_server(fault):
    fault.enrolment(nats_url="nats://127.0.0.1:1")


@fault
def another_realm(fault):
    fault.enrolment(realm="00000000-0000-4000-8000-000000000000")


@fault
def console_of_another_key(fault):
    root = "sha256:" + "0" * 64
    fault.enrolment(log={"root": root, "n": 1, "digest": root})


@fault
def state_is_a_file(fault):
    (fault.folder / "state").write_text("")


@fault
def argument_that_is_no_text(fault):
    fault.calls = [["Bash", {"command": "touch made; : \ud800"}]]


@fault
def event_too_large(fault):
    fault.calls = [["Write", {"file_path": str(fault.claude.project / "made"), "content": "x" * 5_000_000}]]


@fault
def several_calls_at_once(fault):
    fault.calls = [fault.claude.bash("touch made"), fault.claude.bash("touch made # again")]


def play(claude: Claude, change, agent_json: Path) -> None:
    tried = Fault(claude)
    tried.agent_json.write_bytes(agent_json.read_bytes())
    meanwhile = change(tried)
    tried.write()
    process = claude.start([tried.calls])
    if meanwhile:
        meanwhile()
    claude.ended(process)
    assert not claude.ran(), claude.reported()
    assert '"is_error": true' in claude.reported(), "the model never called"
    assert "seed" not in claude.reported()


@pytest.fixture(scope="module")
def outcomes(desk, model, tmp_path_factory):
    agent_json = desk.enroll("claude-faults")
    broken = Desk(tmp_path_factory.mktemp("broken"))
    of_broken = broken.enroll("claude-faults")

    def one(name: str):
        claude = Claude(desk, model, tmp_path_factory.mktemp(name), "claude-faults")
        if name not in ("console_gone", "bus_gone"):
            return play(claude, FAULTS[name], agent_json)
        return play(claude, lambda fault: None, of_broken)

    names = [name for name in FAULTS if ALL or name in IN_CI]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        found = {name: pool.submit(one, name) for name in names}
        broken.console.send_signal(signal.SIGSTOP)
        gone = pool.submit(one, "console_gone")
        gone.exception()
        broken.console.send_signal(signal.SIGCONT)
        broken.close()
        lost = pool.submit(one, "bus_gone")
        return found | {"console_gone": gone, "bus_gone": lost}


NAMES = [*(name for name in FAULTS if ALL or name in IN_CI), "console_gone", "bus_gone"]


@pytest.mark.parametrize("name", NAMES)
def test_a_fault_runs_nothing(outcomes, name):
    outcomes[name].result()
