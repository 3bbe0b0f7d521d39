"""What a person sees of a LangChain tool call, and what the model reads of an edit."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import BaseModel

from ..wire import ToolCall
from ._gating import Selection, group, last_messages

AGENT = {"framework": "langgraph", "framework_version": version("langgraph")}
ROLES = {"human": "user", "ai": "assistant"}


def call_card(request: ToolCallRequest, selection: Selection) -> ToolCall:
    """The card of a tool call that an agent is about to run."""
    call, tool, config = request.tool_call, request.tool, request.runtime.config
    messages = conversation(request.state)
    asking = [one["id"] for one in calls_of_turn(messages) if selection.asks(one["name"])]
    place = asking.index(call["id"]) if call["id"] in asking else 0
    run_id = config.get("run_id")
    hints = (tool.metadata or {}) if tool is not None else {}
    return ToolCall(
        name=call["name"],
        args=call["args"],
        args_schema=_schema(tool) if tool is not None else None,
        description=tool.description if tool is not None else None,
        effects=selection.effects_of(call["name"]) or ("read" if hints.get("readOnlyHint") is True else None),
        risk=selection.risk(call["name"]),
        allowed_verdicts=("approve", "modify", "deny", "skip", "respond"),
        call_id=call["id"],
        run_id=str(run_id) if run_id else None,
        thread_id=_text(config.get("configurable", {}).get("thread_id")),
        group=group(str(asking[0]), place, len(asking)) if asking else None,
        **said_before(messages),
    )


def conversation(state: Any) -> Sequence[BaseMessage]:
    """The messages of an agent's state; none where it keeps them elsewhere."""
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
    return [one for one in found or () if isinstance(one, BaseMessage)]


def calls_of_turn(messages: Sequence[BaseMessage]) -> list[Any]:
    """The tool calls of the model's last message."""
    last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
    return list(last.tool_calls) if last is not None else []


def said_before(messages: Sequence[BaseMessage]) -> dict[str, Any]:
    """The fields of a card that say where the call comes from."""
    last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
    words = str(last.text) if last is not None else ""
    return {"agent": AGENT, "reason": words or None, "history": last_messages(_said(messages)) or None}


def with_notice(notice: str, result: Any, call_id: str | None) -> Any:
    """A tool's result that the model reads after `notice`."""
    if isinstance(result, ToolMessage) and result.tool_call_id == call_id:
        content = result.content
        reported = notice + content if isinstance(content, str) else [{"type": "text", "text": notice}, *content]
        return result.model_copy(update={"content": reported})
    if isinstance(result, Command) and isinstance(result.update, dict):
        messages = result.update.get("messages")
        if isinstance(messages, list):
            reported = [with_notice(notice, one, call_id) for one in messages]
            return dataclasses.replace(result, update={**result.update, "messages": reported})
    return result


def _said(messages: Sequence[BaseMessage]) -> Iterator[tuple[str, str]]:
    for message in messages:
        yield ROLES.get(message.type, message.type), str(message.text)
        for call in message.tool_calls if isinstance(message, AIMessage) else ():
            yield "assistant", f"{call['name']} {json.dumps(call['args'], ensure_ascii=False, default=str)}"


def _schema(tool: BaseTool) -> dict[str, Any] | None:
    schema: Any = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return schema.model_json_schema()
    return schema if isinstance(schema, dict) else None


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
