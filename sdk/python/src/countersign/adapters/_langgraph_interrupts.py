"""What a LangGraph interrupt asks, and the value that resumes it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jsonschema  # type: ignore[import-untyped]
from langgraph.types import Interrupt

from ..errors import NotAllowedError
from ..refusal import as_text
from ..wire import Ask, Form, Question, ToolCall
from ..words import Verdict
from ._gating import Answer, GatedCall, Selection, group
from ._langgraph_messages import calls_of_turn, conversation, said_before

VERDICTS: dict[str, tuple[Verdict, ...]] = {
    "approve": ("approve",),
    "edit": ("modify",),
    "reject": ("deny", "skip"),
    "respond": ("respond",),
}
"""What the framework's decisions are to a person."""


@dataclass(frozen=True)
class Asked:
    """The cards of one interrupt, with a name and a key each."""

    interrupt_id: str
    schema: Any
    cards: list[tuple[Ask, str, str]]
    mode: str
    """`batched` or `per_call` of `HumanInTheLoopMiddleware`, else `value`."""
    allowed: list[frozenset[str]]


def asked_of(interrupt: Interrupt[Any], state: Any, thread_id: str, selection: Selection) -> Asked | None:
    """What a person is asked for this interrupt; None where it is about calls that do not ask."""
    value, schema = interrupt.value, interrupt.response_schema
    messages = conversation(state.values)
    common = {"thread_id": thread_id, **said_before(messages)}
    prefix = f"{thread_id}/{interrupt.id}"
    mode = _mode(value)
    if mode == "value":
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        card: Ask = (
            Form(response_schema=schema, preview=text, **common)
            if isinstance(schema, dict)
            else Question(text=text, **common)
        )
        return Asked(interrupt.id, schema, [(card, "question", f"{prefix}/0")], mode, [frozenset()])
    actions = value["action_requests"] if mode == "batched" else [value]
    if not any(selection.asks(action["name"]) for action in actions):
        return None
    turn = calls_of_turn(messages)
    cards: list[tuple[Ask, str, str]] = []
    allowed = []
    for index, action in enumerate(actions):
        if mode == "batched":
            decisions, args_schema = frozenset(value["review_configs"][index]["allowed_decisions"]), None
            same = [one for one in turn if (one["name"], one["args"]) == (action["name"], action["args"])]
            call_id = same[0]["id"] if same else None
            turn = [one for one in turn if one is not (same[0] if same else None)]
            of_turn = group(interrupt.id, index, len(actions))
        else:
            decisions, args_schema = _per_call(schema)
            call_id = action["tool_call_id"]
            ids = [one["id"] for one in turn]
            of_turn = group(str(ids[0]), ids.index(call_id), len(ids)) if call_id in ids else None
        asked = ToolCall(
            name=action["name"],
            args=action["args"],
            args_schema=args_schema,
            description=action.get("description"),
            effects=selection.effects_of(action["name"]),
            risk=selection.risk(action["name"]),
            allowed_verdicts=tuple(word for one in VERDICTS if one in decisions for word in VERDICTS[one]),
            call_id=call_id,
            group=of_turn,
            **common,
        )
        cards.append((asked, action["name"], f"{prefix}/{index}"))
        allowed.append(decisions)
    return Asked(interrupt.id, schema, cards, mode, allowed)


def checked(asked: Asked, answers: Sequence[Answer], gated: Sequence[GatedCall]) -> Any:
    """The value that resumes the interrupt, valid against its schema; `NotAllowedError` where there is none."""
    if asked.mode == "value":
        [answer] = answers
        if not answer.responded:
            raise _refused(answer, answer.words)
        _check(answer.content, asked.schema, answer)
        return answer.content
    decisions = []
    for answer, one, allowed in zip(answers, gated, asked.allowed, strict=True):
        try:
            decision = _decision(answer, one, allowed)
            if asked.mode == "per_call":
                _check(decision, asked.schema, answer)
        except NotAllowedError as error:
            if answer.allowed:
                one.refused("invalid_args")
            if "reject" not in allowed or not answer.allowed:
                raise
            decision = {"type": "reject", "message": str(error)}
        decisions.append(decision)
    return {"decisions": decisions} if asked.mode == "batched" else decisions[0]


def _decision(answer: Answer, gated: GatedCall, allowed: frozenset[str]) -> dict[str, Any]:
    if answer.responded:
        return {"type": "respond", "message": as_text(answer.content)}
    if answer.edited:
        return {"type": "edit", "edited_action": {"name": gated.name, "args": answer.args}}
    if answer.allowed:
        return {"type": "approve"}
    if "reject" in allowed:
        return {"type": "reject", "message": answer.words}
    raise _refused(answer, answer.words)


def _check(value: Any, schema: Any, answer: Answer) -> None:
    if not isinstance(schema, dict):
        return
    try:
        jsonschema.validate(value, schema)
    except jsonschema.ValidationError as error:
        raise _refused(answer, f"the answer does not fit the interrupt's schema: {error.message}") from error
    except jsonschema.SchemaError as error:
        raise _refused(answer, f"the interrupt's schema cannot be read: {error.message}") from error


def _refused(answer: Answer, words: str) -> NotAllowedError:
    return NotAllowedError(
        words, verdict=answer.decision.verdict if answer.decision is not None else "deny", decision=answer.decision
    )


def _mode(value: Any) -> str:
    if isinstance(value, dict) and {"action_requests", "review_configs"} <= value.keys():
        return "batched"
    return "per_call" if isinstance(value, dict) and value.get("type") == "tool_approval" else "value"


def _per_call(schema: Any) -> tuple[frozenset[str], dict[str, Any] | None]:
    """The decisions that a schema allows, and that of an edit's arguments."""
    schema = schema if isinstance(schema, dict) else {}
    defs = schema.get("$defs", {})
    shapes = {one.get("properties", {}).get("type", {}).get("const"): one for one in (schema, *defs.values())}
    args: Any = shapes.get("edit")
    for step in ("edited_action", "args"):
        args = (args or {}).get("properties", {}).get(step)
        if isinstance(args, dict) and "$ref" in args:
            args = defs.get(args["$ref"].rpartition("/")[2])
    found = {**args, "$defs": defs} if isinstance(args, dict) and defs else args
    return frozenset(word for word in shapes if word in VERDICTS), found
