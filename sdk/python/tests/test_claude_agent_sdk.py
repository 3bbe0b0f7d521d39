"""The gate of the Claude Agent SDK before the real Claude Code; the model is played (integrations, 3.5)."""

from __future__ import annotations

import asyncio
import json
import logging
from types import SimpleNamespace

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultAllow, PermissionResultDeny, ResultMessage, query
from countersign import Gate
from countersign.adapters.claude_agent_sdk import READ_ONLY, ClaudeGate

from asked import Asked
from conftest import SOON
from console import canonical_digest
from model_server import model_server

SECRET = "sk-planted-7f3a"


def bash(command: str, **more) -> tuple[str, dict]:
    return "Bash", {"command": command, "description": "does it", **more}


class Session:
    """One run of Claude Code, with settings and a home of its own."""

    def __init__(self, folder, gate, *turns, common=None, **options) -> None:
        self.folder = folder
        self.turns = turns
        self.options = options
        self.claude = ClaudeGate(gate, **(common or {}))
        self.result: ResultMessage | None = None
        self.read: list[str] = []
        self.last = ""

    def start(self) -> asyncio.Task:
        return asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        home, work = self.folder / "home", self.folder / "work"
        for made in (home, work):
            made.mkdir(exist_ok=True)
        with model_server(*self.turns) as model:
            env = {
                **model.environment,
                "HOME": str(home),
                "CLAUDE_CONFIG_DIR": str(home / ".claude"),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "ANTHROPIC_AUTH_TOKEN": "",
            }
            options = self.claude.options(
                cwd=str(work), env=env, setting_sources=[], model="claude-sonnet-4-5", **self.options
            )
            async for message in query(prompt=prompt(), options=options):
                if isinstance(message, ResultMessage):
                    self.result = message
            self.read = model.results() if model.asked else []
            self.last = json.dumps(model.asked[-1])

    @property
    def made(self) -> set[str]:
        return {path.name for path in (self.folder / "work").iterdir()}


async def prompt():
    yield {"type": "user", "message": {"role": "user", "content": "go"}, "parent_tool_use_id": None}


@pytest.fixture
def asked(console):
    return Asked(console)


@pytest.fixture
def session(tmp_path, gate):
    return lambda *turns, **options: Session(tmp_path, gate, *turns, **options)


async def test_approve_modify_deny_and_a_rule_whose_call_fails(session, asked):
    said: list[str] = []

    async def theirs(event, tool_use_id, context):
        said.append(event["tool_name"])
        return {}

    run = session(
        [bash("touch one")],
        [bash("touch two")],
        [bash("touch three")],
        [bash("ls no-such-file")],
        common={"risks": {"Bash": "high"}, "effects": {"*": "write"}},
        hooks={"PreToolUse": [HookMatcher(hooks=[theirs])]},
    )
    working = run.start()
    one = await asked.card(working)
    assert (one["tool"]["name"], one["args"]["command"], one["reason"]) == ("Bash", "touch one", "does it")
    assert (one["risk"], one["tool"]["effects"]) == ("high", "write")
    assert one["allowed_verdicts"] == ["approve", "modify", "deny", "skip", "terminate"]
    assert one["call_id"].startswith("toolu_")
    assert one["native"]["cwd"] == str(run.folder / "work")
    assert one["agent"]["framework"] == "claude-agent-sdk"
    await asked.answer(one)
    two = await asked.card(working)
    assert (two["thread_id"], two["call_id"] != one["call_id"]) == (one["thread_id"], True)
    edited = {**two["args"], "command": "touch edited"}
    await asked.edit(two, edited)
    three = await asked.card(working)
    await asked.answer(three, "deny", message="not that one")
    four = await asked.card(working)
    await asked.by_rule(four)
    await asyncio.wait_for(working, SOON)
    assert run.made == {"one", "edited"}
    assert said == ["Bash"] * 4
    assert "Bash was not run, denied by Ada: not that one\n" in run.read[2]
    assert (await asked.receipt(one, "executed"))["executed_args_digest"] == canonical_digest(one["args"])
    assert (await asked.receipt(two, "executed"))["executed_args_digest"] == canonical_digest(edited)
    assert (await asked.receipt(four, "failed"))["message"] == "RuntimeError"
    await asked.span(one, "ok")
    await asked.span(three, "denied")
    await asked.span(four, "error")


async def test_the_model_reads_that_a_call_was_edited(session, asked):
    run = session([bash("touch two")])
    working = run.start()
    card = await asked.card(working)
    edited = {**card["args"], "command": "touch edited"}
    await asked.edit(card, edited)
    await asyncio.wait_for(working, SOON)
    note = f"A person changed this call before it ran. It ran with {json.dumps(edited)}."
    assert json.dumps(note)[1:-1] in run.last


async def test_skip_and_terminate(session, asked):
    run = session([bash("touch one")], [bash("touch two")], [bash("touch three")])
    working = run.start()
    await asked.answer(await asked.card(working), "skip")
    await asked.answer(await asked.card(working), "terminate")
    await asyncio.wait_for(working, SOON)
    assert run.made == set()
    await asked.none_came()


async def test_nobody_answers_and_a_forgery(session, asked):
    run = session([bash("touch one")], [bash("touch two")], common={"timeout": 2.0})
    working = run.start()
    await asked.forge(await asked.card(working))
    await asked.card(working)
    await asyncio.wait_for(working, SOON)
    assert run.made == set()
    assert "Bash was not run: could not get approval (unknown_key)" in run.read[0]
    assert "Bash was not run, expired: nobody answered in time\n" in run.read[1]


async def test_two_calls_of_one_turn_one_with_an_unknown_verdict(session, asked):
    run = session([bash("touch one"), bash("touch two")])
    working = run.start()
    first = await asked.card(working)
    await asked.answer(first, "nod")
    second = await asked.card(working)
    await asked.answer(second)
    await asyncio.wait_for(working, SOON)
    assert run.made == {second["args"]["command"].split()[1]}
    assert any("not allowed (nod)" in text for text in run.read)


async def test_the_hook_sees_what_settings_allow_and_unasked_tools_ask_when_claude_code_would(session, asked):
    run = session(
        common={"unasked": (*READ_ONLY, "Write")},
        allowed_tools=["Bash"],
    )
    run.turns = ([bash("touch one")], [("Write", {"file_path": str(run.folder / "work" / "made"), "content": "x"})])
    working = run.start()
    card = await asked.card(working)
    assert card["tool"]["name"] == "Bash"
    await asked.answer(card)
    card = await asked.card(working)
    assert card["tool"]["name"] == "Write"
    assert card["thread_id"]
    await asked.answer(card)
    await asyncio.wait_for(working, SOON)
    assert run.made == {"one", "made"}
    await asked.receipt(card, "executed")
    await asked.none_came()


async def test_a_deny_rule_of_the_settings_wins_and_an_ask_rule_asks_once(session, asked):
    rules = {"permissions": {"deny": ["Bash(touch denied)"], "ask": ["Bash(touch asked)"]}}
    run = session([bash("touch denied")], [bash("touch asked")], settings=json.dumps(rules))
    working = run.start()
    denied = await asked.card(working)
    await asked.answer(denied)
    once = await asked.card(working)
    await asked.answer(once)
    await asyncio.wait_for(working, SOON)
    assert run.made == {"asked"}
    assert (await asked.receipt(denied, "refused"))["message"] == "not_started"
    await asked.receipt(once, "executed")
    await asked.none_came()


PRE = {
    "hook_event_name": "PreToolUse",
    "session_id": "s1",
    "tool_name": "Bash",
    "tool_input": {"command": "ls"},
    "tool_use_id": "toolu_1",
}


def decision_of(said) -> str:
    return said["hookSpecificOutput"]["permissionDecision"]


async def test_a_terminating_answer_ends_the_run_in_both_callbacks(gate, asked):
    claude = ClaudeGate(gate)
    working = asyncio.ensure_future(claude.pre_tool_use(PRE, "toolu_1", {}))
    await asked.answer(await asked.card(working), "terminate", message="stop")
    said = await working
    words = "Bash was not run, denied by Ada, who ended the run: stop"
    assert (said["continue_"], said["stopReason"], decision_of(said)) == (False, words, "deny")
    working = asyncio.ensure_future(claude.can_use_tool("Bash", {}, SimpleNamespace(tool_use_id="toolu_2")))
    await asked.answer(await asked.card(working), "terminate")
    assert await working == PermissionResultDeny(
        message="Bash was not run, denied by Ada, who ended the run", interrupt=True
    )


async def test_the_permission_callback_alone_cannot_tell_what_became_of_a_call(gate, asked):
    claude = ClaudeGate(gate)
    working = asyncio.ensure_future(claude.can_use_tool("Bash", {"a": 1}, SimpleNamespace(tool_use_id="toolu_3")))
    card = await asked.card(working)
    await asked.edit(card, {"a": 2})
    assert await working == PermissionResultAllow(updated_input={"a": 2})
    assert (await asked.receipt(card, "received"))["degraded"] == ["no_execution_report", "edit_notice"]


async def test_an_approval_is_for_these_arguments(gate, asked):
    claude = ClaudeGate(gate)
    working = asyncio.ensure_future(claude.pre_tool_use(PRE, "toolu_4", {}))
    card = await asked.card(working)
    await asked.answer(card)
    assert decision_of(await working) == "allow"
    answer = await claude.can_use_tool("Bash", {"command": "rm"}, SimpleNamespace(tool_use_id="toolu_4"))
    assert isinstance(answer, PermissionResultDeny)
    assert (await asked.receipt(card, "refused"))["message"] == "digest_differs"


async def test_the_names_of_a_servers_tools(gate, asked):
    event = {**PRE, "tool_name": "mcp__crm__find", "agent_id": "a1", "agent_type": "scout", "permission_mode": "plan"}
    working = asyncio.ensure_future(ClaudeGate(gate).pre_tool_use(event, "toolu_5", {}))
    card = await asked.card(working)
    assert (card["tool"]["name"], card["tool"]["origin"], card["tool"]["namespace"]) == (
        "mcp__crm__find",
        "mcp",
        "crm",
    )
    assert card["native"] == {"permission_mode": "plan", "agent_id": "a1", "agent_type": "scout"}
    await asked.answer(card, "deny")
    await working


@pytest.mark.parametrize(("timeout", "hook"), [(300.0, 330.0), (5.0, 35.0), (None, 2_000_030.0)])
def test_the_hooks_own_time_out_is_longer_than_the_answer_may_take(gate, timeout, hook):
    hooks = ClaudeGate(gate, timeout=timeout).hooks()
    [matcher] = hooks["PreToolUse"]
    assert (matcher.timeout, matcher.matcher, matcher.on_failure) == (hook, None, "block")
    # Above this many milliseconds Claude Code's timer would end at once.
    assert hook * 1000 < 2**31


def test_another_permission_callback_is_refused(gate):
    with pytest.raises(TypeError):
        ClaudeGate(gate).options(can_use_tool=lambda *_: None)
    with pytest.raises(TypeError):
        ClaudeGate(gate).options(permission_prompt_tool_name="x")


@pytest.mark.parametrize("event", [None, {}, {**PRE, "tool_input": {"n": float("nan")}}, {**PRE, "tool_name": 7}])
async def test_a_callback_never_raises(gate, asked, event, caplog):
    claude = ClaudeGate(gate)
    with caplog.at_level(logging.DEBUG, "countersign"):
        assert decision_of(await claude.pre_tool_use(event, None, {})) == "deny"
        assert await claude.post_tool_use(event, None, {}) == {}
        name, args = (event or {}).get("tool_name"), (event or {}).get("tool_input", {"n": float("nan")})
        answer = await claude.can_use_tool(name, {"n": float("nan"), **args}, None)
    assert isinstance(answer, PermissionResultDeny)
    await asked.none_came()


async def test_a_gate_that_closed_and_a_bus_that_is_gone_deny(tmp_path):
    from conftest import Bench, opened

    bench = await opened(Bench(tmp_path))
    try:
        async with Gate.connect(bench.enrolment()) as gate:
            bench.server.stop()
            said = await asyncio.wait_for(ClaudeGate(gate, timeout=0.5).pre_tool_use(PRE, "toolu_6", {}), SOON)
            assert decision_of(said) == "deny"
        said = await ClaudeGate(gate).pre_tool_use(PRE, "toolu_6", {})
        assert "(gate_closed)" in said["hookSpecificOutput"]["permissionDecisionReason"]
    finally:
        await bench.console.nc.close()


async def test_a_planted_secret_is_nowhere(gate, asked, console, caplog):
    claude = ClaudeGate(gate)
    with caplog.at_level(logging.DEBUG, "countersign"):
        working = asyncio.ensure_future(claude.pre_tool_use({**PRE, "transcript_path": SECRET}, "toolu_7", {}))
        card = await asked.card(working)
        await asked.answer(card)
        await working
        failed = {**PRE, "hook_event_name": "PostToolUseFailure", "error": SECRET}
        await claude.post_tool_use(failed, "toolu_7", {})
        await asked.receipt(card, "failed")
    sent = [m.data for m in console.received["receipt"] if m.subject.endswith(card["request_id"])]
    assert SECRET not in json.dumps(card) + caplog.text + str(sent)
