"""The part of CommonGround v1r4 that writes tool results, as far as its rules matter.

A call has one result card and one report, and only the author of the card reports it. Knows nothing of Countersign.
"""

from __future__ import annotations

import dataclasses
import itertools
from types import SimpleNamespace
from typing import Any

CONTROL_FIELDS = {"agent_id", "agent_turn_id", "tool_call_id", "project_id", "traceparent"}
LINEAGE = ("trace_id", "parent_step_id", "step_id")


class ProtocolViolationError(Exception):
    pass


class NotFoundError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Context:
    project_id: str
    channel_id: str
    agent_id: str
    agent_turn_id: str
    tool_call_id: str | None
    step_id: str | None
    trace_id: str | None
    parent_step_id: str | None
    headers: dict[str, str]

    def evolve(self, **changed: Any) -> Context:
        return dataclasses.replace(self, **changed)


def parse_subject(subject: str) -> SimpleNamespace | None:
    parts = subject.split(".")
    if len(parts) < 8 or parts[0] != "cg":
        return None
    return SimpleNamespace(project_id=parts[2], channel_id=parts[3], category=parts[4])


def build_nats_ingress_context(headers: dict, raw_payload: dict, parts: Any) -> tuple[Context, dict]:
    if CONTROL_FIELDS & set(raw_payload):
        raise ProtocolViolationError("cmd ingress: control fields")
    if headers.get("CG-Project-Id", parts.project_id) != parts.project_id:
        raise ProtocolViolationError("CG-Project-Id mismatch")
    if "CG-Agent-Id" not in headers:
        raise ProtocolViolationError("missing required CG-Agent-Id")
    traceparent = headers.get("traceparent", "00-" + "7" * 32 + "-" + "1" * 16 + "-01")
    context = Context(
        parts.project_id,
        parts.channel_id,
        headers["CG-Agent-Id"],
        headers.get("CG-Turn-Id", ""),
        headers.get("CG-Tool-Call-Id"),
        headers.get("CG-Step-Id"),
        traceparent.split("-")[1],
        headers.get("CG-Parent-Step-Id"),
        {**headers, "traceparent": traceparent},
    )
    return context, dict(raw_payload)


class ToolResultContext:
    def __init__(self, ctx: Context, cmd_data: dict) -> None:
        self.ctx, self.cmd_data = ctx, cmd_data

    @classmethod
    def from_cmd_data(cls, *, ctx: Context, cmd_data: dict, tool_call_meta: dict) -> ToolResultContext:
        if not ctx.tool_call_id:
            raise ProtocolViolationError("missing required tool_call_id")
        known = {name: tool_call_meta[name] for name in LINEAGE if tool_call_meta.get(name)}
        return cls(ctx.evolve(**known), cmd_data)


class ToolResultBuilder:
    ids = itertools.count(1)

    def __init__(self, ctx: ToolResultContext, *, author_id: str, function_name: str, error_source: str) -> None:
        self.of, self.author_id, self.function_name, self.error_source = ctx, author_id, function_name, error_source

    def build(self, *, status, result=None, error=None, after_execution=None) -> tuple[dict, SimpleNamespace]:
        ctx = self.of.ctx
        control = (result or {}).get("__cg_control", {})
        after = after_execution or control.get("after_execution") or self.of.cmd_data["after_execution"]
        card = SimpleNamespace(
            card_id=f"result-{next(self.ids)}",
            project_id=ctx.project_id,
            type="tool.result",
            tool_call_id=ctx.tool_call_id,
            author_id=self.author_id,
            content={"status": status, "after_execution": after, "result": result, "error": error},
            metadata={
                "agent_turn_id": ctx.agent_turn_id,
                "tool_call_id": ctx.tool_call_id,
                "function_name": self.function_name,
                **{name: getattr(ctx, name) for name in LINEAGE if getattr(ctx, name)},
            },
        )
        return {"after_execution": after, "status": status, "tool_result_card_id": card.card_id}, card


class Ground:
    """One installation: its cards and its reports. `faults` are raised by what comes next, one each."""

    def __init__(self) -> None:
        self.cards: dict[str, SimpleNamespace] = {}
        self.reports: list[SimpleNamespace] = []
        self.saves = 0
        self.save_faults: list[Exception] = []
        self.publish_faults: list[Exception] = []
        self.stores = {name: object() for name in ("nats", "execution_store", "resource_store", "state_store")}
        self.kit = SimpleNamespace(
            parse_subject=parse_subject,
            build_nats_ingress_context=build_nats_ingress_context,
            ToolResultContext=ToolResultContext,
            ToolResultBuilder=ToolResultBuilder,
            publish_tool_result_report=self.publish,
        )

    async def save_card(self, card: SimpleNamespace) -> None:
        self.saves += 1
        if self.save_faults:
            raise self.save_faults.pop(0)
        if any(one.tool_call_id == card.tool_call_id for one in self.cards.values()):
            name = '"uniq_cards_tool_result_call"'
            raise RuntimeError(f"duplicate key value violates unique constraint {name}")
        self.cards[card.card_id] = card

    async def publish(self, *, cardbox, source_ctx, target_ctx, payload, l0_engine=None, **stores) -> None:
        assert (cardbox, stores) == (self, self.stores)
        if self.publish_faults:
            raise self.publish_faults.pop(0)
        card = self.cards[payload["tool_result_card_id"]]
        mine = source_ctx.agent_id == card.author_id and source_ctx.agent_id.startswith(("tool.", "sys."))
        nobody = not (source_ctx.agent_turn_id or source_ctx.step_id or source_ctx.tool_call_id)
        first = all(one.target.tool_call_id != target_ctx.tool_call_id for one in self.reports)
        if not (mine and nobody and first and card.metadata["function_name"]):
            raise RuntimeError("publish_tool_result_report rejected: status=rejected code=protocol_violation")
        self.reports.append(SimpleNamespace(card=card, payload=payload, source=source_ctx, target=target_ctx))
