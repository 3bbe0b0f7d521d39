"""Interrupts whose answer could reach another tool: LangGraph has one interrupt id a task, and a ToolNode runs all
calls of its task at once."""

from __future__ import annotations

from typing import Any

from langgraph.prebuilt import ToolNode
from langgraph.types import StateSnapshot

from ..errors import NotAllowedError


async def refuse_ambiguous(graph: Any, state: StateSnapshot, asking: set[str]) -> None:
    """Raises `NotAllowedError` where one of these interrupts was raised by a tool beside other calls of its task."""
    found = await _ambiguous(graph, state, getattr(graph, "checkpointer", None))
    for names in (names for interrupt_id, names in found.items() if interrupt_id in asking):
        tools = f"the tools {', '.join(names)} run" if names else "several tools may run"
        raise NotAllowedError(
            f"a question was not asked: {tools} in one task of LangGraph, so the answer could reach another of them; "
            "give each call a task of its own (Send)",
            verdict="deny",
        )


async def _ambiguous(graph: Any, state: StateSnapshot, saver: Any) -> dict[str, list[str]]:
    """Such interrupts by id, with the names of the tools of their task."""
    found: dict[str, list[str]] = {}
    waiting = [task for task in state.tasks if task.interrupts]
    for task in waiting:
        if isinstance(task.state, StateSnapshot):
            inner = {name: one async for name, one in graph.aget_subgraphs()}
            found |= await _ambiguous(inner.get(task.name), task.state, saver)
        node = _tool_node(getattr(graph, "nodes", {}).get(task.name))
        if node is not None:
            names = await _names(node, state, task, saver)
            if len(names) != 1:
                found |= dict.fromkeys((one.id for one in task.interrupts), names)
    return found


def _tool_node(step: Any) -> ToolNode | None:
    """The ToolNode of a step, also one with a configuration, behind a retry or in a sequence."""
    if step is None or isinstance(step, ToolNode):
        return step
    inner = [getattr(step, "bound", None), getattr(step, "runnable", None), *getattr(step, "steps", ())]
    return next((node for one in inner if (node := _tool_node(one)) is not None), None)


async def _names(node: ToolNode, state: StateSnapshot, task: Any, saver: Any) -> list[str]:
    """The tools of the calls that the task was given, by the state or by a `Send`; none where that cannot be read."""
    try:
        given = state.values
        if task.path[0] == "__pregel_push":
            saved = await saver.aget_tuple(state.config)
            given = saved.checkpoint["channel_values"]["__pregel_tasks"][task.path[1]].arg
        return [str(call["name"]) for call in node._parse_input(given)[0]]
    except (AttributeError, LookupError, TypeError, ValueError):
        return []
