"""What a card says about an OpenAI agent's run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from agents import FunctionTool

from ..refusal import as_text

FRAMEWORK = {"framework": "openai-agents", "framework_version": version("openai-agents")}


def about_tool(tool: FunctionTool | None) -> dict[str, Any]:
    if tool is None:
        return {}
    return {"description": tool.description or None, "args_schema": tool.params_json_schema}


def own_text(text: str, args: Any) -> str | None:
    """The model's own text, where it is not just the arguments as JSON."""
    plain = {
        json.dumps(args, ensure_ascii=ascii, separators=separators)
        for ascii in (True, False)  # noqa: A001
        for separators in ((",", ":"), (", ", ": "))
    }
    return None if text in plain or not text else text


def run_id(trace_id: str | None) -> str | None:
    return trace_id if trace_id and trace_id != "no-op" else None


def said(items: Any) -> Iterable[tuple[str, str]]:
    """(role, text) of input items; calls of tools and their results as JSON."""
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        found = item if isinstance(item, Mapping) else {}
        content = found.get("content", found.get("output"))
        if isinstance(content, list):
            content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
        if found.get("type") == "function_call":
            content = f"{found.get('name')}({found.get('arguments')})"
        role = found.get("role") or ("tool" if "output" in found else "assistant")
        if content is not None:
            yield str(role), as_text(content)
