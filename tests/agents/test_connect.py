"""`connect` and `disconnect`: our entries and nothing else (integrations, section 4.1)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from desk import BINARY
from hook import Hook

FILES = {
    "claude-code": ".claude/settings.json",
    "gemini": ".gemini/settings.json",
    "cursor": ".cursor/hooks.json",
    "copilot": ".copilot/hooks/countersign.json",
    "codex": ".codex/config.toml",
    "opencode": ".config/opencode/plugin/countersign.js",
}

SERVER = Path(__file__).with_name("server.py")


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
                "command": "countersign hook claude-code --event before --entry project --timeout 100",
                "timeout": 160,
                "onFailure": "block",
            }
        ],
    }
    phases = {"PreToolUse": "before", "PostToolUse": "after", "PostToolUseFailure": "after", "SessionEnd": "end"}
    assert set(settings["hooks"]) == set(phases)
    for event, phase in phases.items():
        [entry] = settings["hooks"][event]
        assert f"--event {phase} --entry project" in entry["hooks"][0]["command"]
    assert settings["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"] == 60


def test_the_last_line_offers_the_permissions_and_an_older_claude_code_is_warned_of(desk, home):
    project, programs = home / "project", home / "bin"
    for folder in (project, programs):
        folder.mkdir()
    claude = programs / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.294 (Claude Code)'\n")
    claude.chmod(0o755)
    env = desk.env | {"PATH": f"{programs}:{desk.env['PATH']}"}

    def run(*words: str) -> subprocess.CompletedProcess:
        done = subprocess.run([BINARY, *words], env=env, cwd=project, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done

    file = project / ".claude/settings.json"
    for _ in range(2):
        done = run("--json", "connect", "claude-code", "--scope", "project")
        assert json.loads(done.stdout)["file"] == str(file)
        [warned] = done.stderr.splitlines()
        assert "2.1.295" in warned
        assert warned.replace("onFailure", "").isupper()
    done = run("connect", "claude-code", "--scope", "project")
    assert done.stdout.splitlines()[-1].endswith(f"countersign rules import --from claude-code {file}")


def test_settings_that_cannot_be_read_stay_as_they_are(desk, tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"a": 1, "a": 2}}')
    before = file.read_bytes()
    assert desk.code("connect", "mcp", "--file", str(file)) == 6
    assert file.read_bytes() == before


def test_entries_that_the_proxy_cannot_relay_are_named_and_the_rest_is_probed(desk, tmp_path):
    file = tmp_path / "mcp.json"
    bank = {"command": sys.executable, "args": [str(SERVER)], "env": {"SEEN": str(tmp_path / "seen")}}
    old = {"type": "sse", "url": "https://mcp.example.org/sse"}
    before = {"--x y": bank, "odd": {"transport": "pipe"}, "old": old}
    file.write_text(json.dumps({"mcpServers": before}, indent=2))
    words = [BINARY, "connect", "mcp", "--file", str(file)]
    env = desk.env | {"PATH": os.environ["PATH"]}
    done = subprocess.run(words, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stderr
    after = json.loads(file.read_text())["mcpServers"]
    assert (after["odd"], after["old"]) == (before["odd"], before["old"])
    assert after["--x y"]["args"][:2] == ["mcp-proxy", "--name=--x y"]
    assert "server odd stays without the proxy: it has neither a command nor an address" in done.stderr
    assert "server old stays without the proxy: the proxy does not relay SSE" in done.stderr
    assert "the gate of mcp holds" in done.stderr
    assert "countersign_probe" not in (tmp_path / "seen").read_text()


def test_a_framework_is_told_how_and_no_file_changes(desk):
    version = desk.text("-V").split()[1]
    of_typescript = {"ai", "mastra", "langgraph-js", "openai-agents-js", "claude-agent-sdk-ts"}
    for name in ("pydantic-ai", *sorted(of_typescript)):
        [reported] = desk.cli("connect", name)
        assert reported["changed"] is False
        assert reported["agent_json"] in reported["lines"][0]
        wheel = f"pip install './countersign_sdk-{version}-py3-none-any.whl[{name}]'"
        npm = f"npm install ./countersign-sdk-{version}.tgz"
        assert reported["install"] == (npm if name in of_typescript else wheel)


@pytest.fixture
def home(desk, tmp_path):
    """A home of its own for whatever `connect` writes."""
    before, desk.env = desk.env, desk.env | {"HOME": str(tmp_path)}
    yield tmp_path
    desk.env = before


def test_a_link_is_followed_and_stays_a_link(desk, home):
    real = home / "dotfiles/claude.json"
    real.parent.mkdir()
    real.write_text('{"mine": 1}\n')
    link = home / ".claude/settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    [reported] = desk.cli("connect", "claude-code")
    assert (reported["file"], Path(reported["backup"]).parent) == (str(real), real.parent)
    assert link.is_symlink()
    assert "hook claude-code" in real.read_text()
    desk.cli("disconnect", "claude-code")
    assert real.read_text() == '{"mine": 1}\n'
    real.unlink()
    assert desk.code("connect", "claude-code") == 6
    assert link.is_symlink()


@pytest.mark.parametrize("name", FILES)
def test_a_read_only_file_is_refused_with_words(desk, home, name):
    file = home / FILES[name]
    file.parent.mkdir(parents=True)
    file.write_text("{}" if file.suffix == ".json" else "")
    file.chmod(0o444)
    done = subprocess.run([BINARY, "connect", name], env=desk.env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 6
    assert f"{file}: it is read-only; nothing was changed" in done.stderr
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_no_secret_is_on_a_command_line_in_a_settings_file_or_in_a_log(desk, home, tmp_path):
    hook = Hook(desk, "claude-code", tmp_path / "state", "secrets")
    seeds = [json.loads(path.read_text())["nkey_seed"] for path in desk.data.glob("agents/*/*/agent.json")]
    secrets = [*seeds, "t0p-s3cret-t0ken"]
    project = home / "project"
    project.mkdir()
    servers = project / ".mcp.json"
    entry = {"command": "sleep", "args": ["5"], "env": {"TOKEN": "t0p-s3cret-t0ken"}}
    servers.write_text(json.dumps({"mcpServers": {"bank": entry}}))

    def run(*words: str) -> None:
        subprocess.run([BINARY, "--json", *words], env=desk.env, cwd=project, check=True, capture_output=True)

    for name in FILES:
        run("connect", name, "--scope", "project")
    run("connect", "mcp", "--scope", "project", "--file", str(servers))
    bank = json.loads(servers.read_text())["mcpServers"]["bank"]
    assert bank["env"] == entry["env"]
    written = [path.read_text() for path in project.rglob("*") if path.is_file() and "bak" not in path.name]
    written = [text.replace(json.dumps(entry["env"]), "") for text in written]
    assert len(written) == len(FILES) + 1
    assert not any(str(desk.data) in text for text in written)
    hook.env = hook.env | {"RUST_LOG": "trace"}
    waiting = hook.start(hook.event())
    proxy = subprocess.Popen([BINARY, *bank["args"]], env=desk.env | entry["env"], stdin=subprocess.PIPE)
    desk.waiting(hook.agent)
    lines = [Path(f"/proc/{process.pid}/cmdline").read_text() for process in (waiting, proxy)]
    proxy.kill()
    waiting.terminate()
    _, out, words = hook.ended(waiting)
    log = (desk.folder / "console.log").read_text()
    for secret in secrets:
        for text in [*written, *lines, out, words, log]:
            assert secret not in text


class Here:
    """`connect` in a home and a project of a test's own, with programs of the test's own on the path."""

    def __init__(self, desk, home: Path) -> None:
        self.home, self.project = home, home / "project"
        self.programs = home / "bin"
        for folder in (self.project, self.programs):
            folder.mkdir()
        self.env = desk.env | {"PATH": f"{self.programs}:{desk.env['PATH']}"}

    def run(self, *words: str, code: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run(
            [BINARY, *words], env=self.env, cwd=self.project, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code, done.stderr
        return done

    def says_version(self, name: str, version: str) -> None:
        program = self.programs / name
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)


@pytest.fixture
def here(desk, home):
    return Here(desk, home)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_second_scope_is_named_and_the_first_can_be_removed(here, name):
    here.run("connect", name)
    done = here.run("--json", "connect", name, "--scope", "project")
    assert f"{name} is also connected in {here.home / FILES[name]}" in done.stderr
    assert f"countersign disconnect {name} --scope user" in done.stderr
    assert "hook" in (here.project / FILES[name]).read_text()
    assert "is also connected" in here.run("connect", name, "--timeout", "60").stderr
    here.run("disconnect", name, "--scope", "user")
    assert "also connected" not in here.run("connect", name, "--scope", "project").stderr


@pytest.mark.parametrize("name", ["gemini", "cursor", "opencode", "copilot"])
@pytest.mark.parametrize("scopes", [("user", "project"), ("project", "user")])
def test_a_second_scope_is_refused_where_calls_have_no_certain_ids(here, name, scopes):
    first, second = scopes
    here.run("connect", name, "--scope", first)
    before = {path: path.read_bytes() for path in here.home.rglob("*") if path.is_file()}
    for more in ([], ["--dry-run"], ["--timeout", "60"]):
        done = here.run("--json", "connect", name, "--scope", second, *more, code=6)
        assert json.loads(done.stderr)["error"]["code"] == "invalid_args"
        assert f"countersign disconnect {name} --scope {first}" in done.stderr
    assert {path: path.read_bytes() for path in here.home.rglob("*") if path.is_file()} == before
    here.run("connect", name, "--scope", first, "--timeout", "60")


def test_a_home_that_is_the_project_is_one_scope(here):
    here.project = here.home
    here.run("connect", "gemini")
    here.run("connect", "gemini", "--scope", "project")


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_scope_of_a_project_says_what_it_leaves_out(here, scope):
    done = here.run("connect", "claude-code", "--scope", scope)
    [said] = [line for line in done.stderr.splitlines() if "folders below" in line]
    assert "worktrees" in said
    assert said.endswith("countersign connect claude-code")
    assert "folders below" not in here.run("connect", "gemini").stderr


@pytest.mark.parametrize(
    ("name", "version", "old"),
    [
        ("cursor", "2.4.21\nabc\nx64", False),
        ("cursor", "2.3.41\nabc\nx64", True),
        ("cursor-agent", "2026.02.27-abc", False),
        ("cursor-agent", "2025.11.06-abc", True),
        ("cursor", "no number", False),
    ],
)
def test_cursor_has_the_entries_that_its_version_knows(here, name, version, old):
    here.says_version(name, version)
    done = here.run("connect", "cursor")
    hooks = json.loads((here.home / FILES["cursor"]).read_text())["hooks"]
    before = {"beforeShellExecution", "beforeMCPExecution"} if old else {"preToolUse"}
    assert {event for event in hooks if not event.startswith(("after", "post"))} == before
    for event in before:
        [entry] = hooks[event]
        assert entry["failClosed"] is True
        assert "--event before" in entry["command"]
    assert ("runs no hook before it edits files" in done.stderr) == old
    assert ("could not be read" in done.stderr) == (version == "no number")


def test_entries_of_cursors_older_events_are_replaced_and_named(here):
    here.says_version("cursor", "2.3.0")
    here.run("connect", "cursor")
    here.says_version("cursor", "2.4.0")
    file = here.home / FILES["cursor"]
    file.write_text(file.read_text().replace(" --event before", ""))
    done = here.run("connect", "cursor")
    assert "would be asked about twice" in done.stderr
    assert "did not say for which event" in done.stderr
    assert "beforeShellExecution" not in file.read_text()
    assert "preToolUse" in file.read_text()
    assert "for which event" not in here.run("connect", "cursor", "--timeout", "60").stderr


def test_an_agent_that_was_enrolled_elsewhere_keeps_its_file_without_force(desk, here):
    name = f"elsewhere-{here.home.parent.name[-6:]}".replace("_", "-").lower()
    out = here.home / "out"
    here.run("enroll", f"default/{name}", "--out", str(out))

    def asks() -> bool:
        words = ("ask", "--tool", "countersign_probe", "--agent-json", str(out / "agent.json"))
        done = subprocess.run([BINARY, "--json", *words], env=here.env, capture_output=True, text=True, timeout=60)
        return "probe" in done.stdout + done.stderr and "refused" not in done.stderr

    assert asks()
    for program in ("claude-code", "pydantic-ai"):
        done = here.run("--json", "connect", program, "--agent", f"default/{name}", code=6)
        assert json.loads(done.stderr)["error"]["code"] == "invalid_args"
        assert "--force" in done.stderr
    assert not (here.home / FILES["claude-code"]).exists()
    assert asks()
    done = here.run("--json", "connect", "claude-code", "--agent", f"default/{name}", "--force")
    reported = json.loads(done.stdout)
    assert Path(reported["agent_json"]).is_file()
    assert not asks()
    # What the desk itself holds is its own to use.
    here.run("connect", "gemini", "--agent", f"default/{name}")


def test_everything_that_was_connected_is_taken_out_at_once(here):
    here.run("disconnect", "--all")
    before = {path: path.read_bytes() for path in here.home.rglob("*") if path.is_file()}
    mcp = here.home / "elsewhere" / "mcp.json"
    mcp.parent.mkdir()
    mcp.write_text(json.dumps({"mcpServers": {"files": {"command": "/bin/files"}}}))
    before[mcp] = mcp.read_bytes()
    here.run("connect", "claude-code")
    here.run("connect", "opencode")
    here.run("connect", "gemini", "--scope", "project")
    here.run("connect", "mcp", "--file", str(mcp))
    # Another folder, from which only the record leads to the project.
    elsewhere = {"env": here.env, "cwd": mcp.parent, "capture_output": True, "text": True, "timeout": 60}
    planned = subprocess.run([BINARY, "disconnect", "--all", "--dry-run"], **elsewhere)
    assert (planned.returncode, len(planned.stdout.splitlines())) == (0, 4), planned
    done = subprocess.run([BINARY, "disconnect", "--all"], **elsewhere)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4), done
    for name in ("claude-code", "opencode", "gemini"):
        for folder in (here.home, here.project):
            file = folder / FILES[name]
            assert not file.exists() or BINARY not in file.read_text()
    assert " hook " not in (here.project / FILES["gemini"]).read_text()
    assert json.loads(mcp.read_text()) == json.loads(before[mcp])
    for more in ([], ["--dry-run"]):
        assert here.run("disconnect", "--all", *more).stdout == ""


def test_settings_that_cannot_be_changed_keep_no_other_back(here):
    here.run("connect", "claude-code")
    here.run("connect", "gemini")
    held = here.home / FILES["claude-code"]
    held.chmod(0o444)
    done = here.run("disconnect", "--all", code=6)
    assert str(held) in done.stderr
    assert str(here.home / FILES["gemini"]) in done.stdout
    held.chmod(0o644)
    here.run("disconnect", "--all")


def test_nothing_is_connected_from_a_cache(here):
    before = {path: path.read_bytes() for path in here.home.rglob("*") if path.is_file()}
    env = here.env | {"XDG_CACHE_HOME": str(Path(BINARY).parent)}
    run = {"env": env, "cwd": here.project, "capture_output": True, "text": True, "timeout": 60}
    done = subprocess.run([BINARY, "--json", "connect", "claude-code"], **run)
    assert done.returncode == 2
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "environment"
    for words in ("uv tool install", "pipx install", "npm install -g"):
        assert words in error["message"]
    assert {path: path.read_bytes() for path in here.home.rglob("*") if path.is_file()} == before
