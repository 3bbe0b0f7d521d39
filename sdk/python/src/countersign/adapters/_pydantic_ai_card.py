"""What a person sees of a pydantic-ai call, and what the model reads of an edit."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from pydantic_ai import messages as m
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_jsonable_python

from ..digest import args_digest
from ..errors import InvalidRequestError
from ..wire import Ask, Question, ToolCall
from ._gating import Selection, last_messages, raw_text

KEY = "countersign"
"""Of the framework's metadata of a deferred call."""

AGENT = {"framework": "pydantic-ai", "framework_version": version("pydantic-ai-slim")}


def arguments(raw: Any) -> Any:
    """The JSON value of arguments as the framework carries them. Raises `ValueError` for text that is no JSON."""
    return json.loads(raw or "{}") if isinstance(raw, str) else raw or {}


def about_tool(tool_def: ToolDefinition, raw: Any = None, validated: dict[str, Any] | None = None) -> dict[str, Any]:
    """What to show of a call beside its name; JSON, as it may be stored with the requests."""
    about = tool_def.metadata or {}
    known: dict[str, Any] = {
        "description": tool_def.description,
        "args_schema": tool_def.parameters_json_schema,
        "origin": "mcp" if {"meta", "annotations"} <= about.keys() else None,
        "effects": "read" if (about.get("annotations") or {}).get("readOnlyHint") is True else None,
    }
    if validated is not None:
        known["args"] = arguments(raw)
        known["coerced"] = _coerced(known["args"], validated) or None
    return {name: value for name, value in known.items() if value is not None}


def card(
    call: m.ToolCallPart,
    question: bool,
    known: dict[str, Any],
    selection: Selection,
    messages: Sequence[m.ModelMessage],
) -> Ask:
    """What is asked about one deferred call."""
    last = messages[-1] if messages else None
    words = [part.content for part in last.parts if isinstance(part, m.TextPart)] if last else []
    about: dict[str, Any] = {"agent": AGENT, "reason": "".join(words) or None}
    about["history"] = last_messages(_said(messages)) or None
    args = known["args"] if "args" in known else arguments(call.args)
    if question:
        text = args.get("question") if isinstance(args, dict) else None
        text = text if isinstance(text, str) and text else json.dumps(args, ensure_ascii=False)
        return Question(text=text, **about)
    return ToolCall(
        name=call.tool_name,
        args=args,
        args_raw=raw_text(call.args, args) if isinstance(call.args, str) else None,
        args_schema=known.get("args_schema"),
        description=known.get("description"),
        origin=known.get("origin"),
        effective={"coerced": known["coerced"]} if "coerced" in known else None,
        effects=selection.effects_of(call.tool_name) or known.get("effects"),
        risk=selection.risk(call.tool_name),
        allowed_verdicts=("approve", "modify", "deny", "skip", "respond"),
        **about,
    )


def with_notice(notice: str, result: Any) -> Any:
    """A tool's result that the model reads after `notice`."""
    if isinstance(result, m.ToolReturn):
        return dataclasses.replace(result, return_value=with_notice(notice, result.return_value))
    parts = result if isinstance(result, list) else [result]
    if any(m.is_multi_modal_content(part) for part in parts):
        return [notice, *parts]
    return notice + m.ToolReturnPart("", result).model_response_str()


def _coerced(args: dict[str, Any], validated: dict[str, Any]) -> dict[str, Any]:
    """The arguments that validation turned into another JSON value, as they run."""
    found: dict[str, Any] = {}
    for name in args.keys() & validated.keys():
        runs = to_jsonable_python(validated[name], fallback=str, bytes_mode="base64", serialize_unknown=True)
        try:
            if args_digest(runs) != args_digest(args[name]):
                found[name] = runs
        except InvalidRequestError:
            continue
    return found


def _said(messages: Sequence[m.ModelMessage]) -> Iterator[tuple[str, str]]:
    for message in messages:
        for part in message.parts:
            if isinstance(part, m.TextPart):
                yield "assistant", part.content
            elif isinstance(part, m.ToolCallPart):
                yield "assistant", f"{part.tool_name} {part.args_as_json_str()}"
            elif isinstance(part, m.ToolReturnPart):
                yield "tool", part.model_response_str()
            elif isinstance(part, m.SystemPromptPart):
                yield "system", part.content
            elif isinstance(part, m.UserPromptPart):
                content = [part.content] if isinstance(part.content, str) else part.content
                yield "user", "\n".join(item for item in content if isinstance(item, str))
