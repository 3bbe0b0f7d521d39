"""The gate of the Claude Agent SDK (integrations, 3.5): a hook before each tool call, and the permission callback."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

try:
    from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, PermissionResultAllow, PermissionResultDeny
except ImportError as error:
    raise ImportError("the Claude Agent SDK is missing: pip install 'countersign-sdk[claude-agent-sdk]'") from error

from ..digest import args_digest
from ..errors import CountersignError
from ..gate import Gate
from ..refusal import _who, edit_notice, refusal_text
from ..wire import Ask, Form, ToolCall
from ..words import Effects, Risk, Verdict
from ._claude_questions import TOOL as QUESTIONS
from ._claude_questions import answered, form
from ._gating import Answer, GatedCall, Selection, not_honoured, unreported

log = logging.getLogger("countersign")

READ_ONLY = ("Read", "Glob", "Grep", "LS", "NotebookRead", "TodoWrite", "ToolSearch")
"""Claude Code's tools that only read; they do not ask on their own."""

FRAMEWORK = {"framework": "claude-agent-sdk", "framework_version": version("claude-agent-sdk")}
VERDICTS: tuple[Verdict, ...] = ("approve", "modify", "deny", "skip", "terminate")
HOOK_EXTRA = 30.0
LONGEST = 2_000_000.0
"""Seconds: Claude Code's timers end at once beyond 2^31 ms, and a hook that times out lets the call through."""


class ClaudeGate:
    """Asks about the tool calls of Claude Code sessions: `ClaudeSDKClient(ClaudeGate(gate).options())`.

    Give `options()`, or both `hooks()` and `can_use_tool`; without the hooks nobody hears what became of a call.
    """

    def __init__(
        self,
        gate: Gate,
        *,
        ask: Iterable[str] = ("*",),
        unasked: Iterable[str] = READ_ONLY,
        risks: Mapping[str, Risk] | None = None,
        effects: Mapping[str, Effects] | None = None,
        timeout: float | None = 300.0,
    ) -> None:
        self._gate = gate
        self._selection = Selection.of(ask, unasked, risks, effects)
        self._timeout = LONGEST if timeout is None else min(timeout, LONGEST)
        self._seen: dict[str, dict[str, Any]] = {}
        """Hook inputs of calls that are unasked so far, by tool use."""
        self._allowed: dict[str, tuple[dict[str, Any], GatedCall]] = {}
        """Allowed calls whose end was not reported, by tool use."""

    def options(self, **kw: Any) -> ClaudeAgentOptions:
        """Options with this gate in place; the caller's `hooks` stay.

        Raises `TypeError` for a `can_use_tool` or a permission prompt tool of the caller's: it would answer instead.
        """
        if kw.get("can_use_tool") or kw.get("permission_prompt_tool_name"):
            raise TypeError("can_use_tool and permission_prompt_tool_name are the gate's own")
        hooks: dict[Any, list[HookMatcher]] = self.hooks()
        for event, matchers in (kw.pop("hooks", None) or {}).items():
            hooks[event] = [*hooks.get(event, []), *matchers]
        return ClaudeAgentOptions(**{**kw, "hooks": hooks, "can_use_tool": self.can_use_tool})

    def hooks(self) -> dict[Any, list[HookMatcher]]:
        """The hooks before and after each call, for `ClaudeAgentOptions(hooks=…)`."""
        before = HookMatcher(hooks=[self.pre_tool_use], timeout=self._timeout + HOOK_EXTRA, on_failure="block")
        after = [HookMatcher(hooks=[self.post_tool_use])]
        events = ("PostToolUse", "PostToolUseFailure", "Stop", "SubagentStop")
        return {"PreToolUse": [before], **dict.fromkeys(events, after)}

    async def pre_tool_use(self, input: Any, tool_use_id: str | None, context: Any) -> Any:  # noqa: A002
        """The hook before a call. Never raises: what goes wrong is a denial."""
        try:
            call_id = str(tool_use_id or input["tool_use_id"])
            name = input["tool_name"]
            if not self._selection.asks(name):
                self._seen[call_id] = dict(input)
                return {}
            answer = await self._ask(name, input["tool_input"], dict(input), call_id, prompted=False)
            return _allowed(answer) if answer.allowed else _denied(answer)
        except Exception as error:
            log.warning("a hook failed: %s", type(error).__name__)
            return _denied(Answer(False, words=refusal_text("the tool", error), error=error))

    async def can_use_tool(self, name: str, input: dict[str, Any], context: Any) -> Any:  # noqa: A002
        """The permission callback: what Claude Code would have asked itself. Never raises."""
        try:
            call_id = getattr(context, "tool_use_id", None)
            if call_id in self._allowed:
                # A rule of the settings asks about what the hook allowed.
                asked = self._allowed[call_id][1]
                if asked.may_run(input):
                    return PermissionResultAllow()
                del self._allowed[call_id]
                return PermissionResultDeny(message=f"{name} was not run: it has other arguments than were approved")
            about = self._seen.pop(call_id, None) if call_id else None
            answer = await self._ask(name, input, about, call_id, prompted=True)
            if not answer.allowed:
                return PermissionResultDeny(message=answer.words, interrupt=answer.verdict == "terminate")
            return PermissionResultAllow(updated_input=answer.args)
        except Exception as error:
            log.warning("the permission callback failed: %s", type(error).__name__)
            return PermissionResultDeny(message=refusal_text(str(name), error))

    async def post_tool_use(self, input: Any, tool_use_id: str | None, context: Any) -> Any:  # noqa: A002
        """The hook after a call, and at the end of a session's or a subagent's turn. Never raises."""
        try:
            if input["hook_event_name"] in ("Stop", "SubagentStop"):
                self._stopped(input)
            else:
                self._ended(str(tool_use_id or input["tool_use_id"]), input)
        except Exception as error:
            log.warning("a call's end was not reported: %s", type(error).__name__)
        return {}

    async def _ask(
        self, name: str, args: Any, about: dict[str, Any] | None, call_id: str | None, *, prompted: bool
    ) -> Answer:
        """Asks; an allowed call is kept until its end is reported. `about` is what the hook heard of it."""
        try:
            card = _card(name, args, about or {}, self._selection)
            card.call_id = call_id
            asked = GatedCall(
                self._gate,
                card,
                name,
                timeout=self._timeout,
                unique_ids=True,
                degraded=functools.partial(
                    not_honoured if about else unreported, edit="edit_notice" if prompted else None
                ),
            )
        except Exception as error:
            log.warning("could not ask about %s: %s", name, type(error).__name__)
            return Answer(False, words=refusal_text(name, error), error=error)
        answer = await asked.ask()
        if answer.responded and (filled := answered(args, answer.content)) is not None:
            answer = asked.answer = dataclasses.replace(answer, allowed=True, args=filled)
        elif answer.allowed:
            asked.started()
        if answer.allowed and about and call_id:
            self._allowed[call_id] = (about, asked)
        return answer

    def _ended(self, call_id: str, event: Mapping[str, Any]) -> None:
        self._seen.pop(call_id, None)
        found = self._allowed.pop(call_id, None)
        if found is None:
            return
        asked = found[1]
        try:
            asked.ran_digest = args_digest(event["tool_input"])
        except (CountersignError, KeyError):
            log.warning("%s ran with arguments that have no canonical form", asked.name)
        if event["hook_event_name"] == "PostToolUse":
            asked.ended(event.get("tool_response"))
        else:
            asked.failed(RuntimeError("interrupted" if event.get("is_interrupt") else "tool_error"))

    def _stopped(self, event: Mapping[str, Any]) -> None:
        """What was allowed and did not run by now: a rule of the settings denies it."""
        scope = (event["session_id"], event.get("agent_id"))

        def of_it(about: Mapping[str, Any]) -> bool:
            return (about.get("session_id"), about.get("agent_id")) == scope

        for call_id in [call_id for call_id, (about, _) in self._allowed.items() if of_it(about)]:
            self._allowed.pop(call_id)[1].refused("not_started")
        for call_id in [call_id for call_id, about in self._seen.items() if of_it(about)]:
            del self._seen[call_id]


def _card(name: str, args: Any, about: Mapping[str, Any], selection: Selection) -> Ask:
    known = ("cwd", "permission_mode", "agent_id", "agent_type")
    native = {key: about[key] for key in known if about.get(key)}
    if name == QUESTIONS:
        title, schema = form(args)
        return Form(
            title=title,
            response_schema=schema,
            agent=FRAMEWORK,
            thread_id=about.get("session_id"),
            native=native or None,
        )
    namespace = name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else None
    reason = args.get("description") if isinstance(args, dict) else None
    return ToolCall(
        name=name,
        args=args,
        risk=selection.risk(name),
        effects=selection.effects_of(name),
        origin="mcp" if namespace else None,
        namespace=namespace,
        reason=reason if isinstance(reason, str) and reason else None,
        allowed_verdicts=VERDICTS,
        agent=FRAMEWORK,
        thread_id=about.get("session_id"),
        native=native or None,
    )


def _allowed(answer: Answer) -> dict[str, Any]:
    said: dict[str, Any] = {"hookEventName": "PreToolUse", "permissionDecision": "allow"}
    if answer.decision is not None:
        # Named whatever a person did: a hook beside this one may have named others.
        said["updatedInput"] = answer.args
        said["permissionDecisionReason"] = (
            f"{'answered' if answer.responded else 'approved'} by {_who(answer.decision)}"
        )
        if answer.edited:
            said["additionalContext"] = edit_notice(answer.decision).rstrip()
    return {"hookSpecificOutput": said}


def _denied(answer: Answer) -> dict[str, Any]:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": answer.words}
    ends = {"continue_": False, "stopReason": answer.words} if answer.verdict == "terminate" else {}
    return {"hookSpecificOutput": said, **ends}
