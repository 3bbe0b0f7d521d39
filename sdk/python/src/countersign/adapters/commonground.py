"""CommonGround v1r4: writes the tool results of calls that a person did not approve.

The bridge (`countersign bridge commonground run`) sends the jobs. Only CommonGround's own Python writes such results,
so this runs beside it. Run one reporter for each bridge: which card was saved for a call, only that process knows.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

log = logging.getLogger("countersign")

MAX_SAVED = 4096
MAX_MESSAGE = 500

_KIT = {
    "publish_tool_result_report": "infra.l0.tool_reports",
    "ToolResultBuilder": "infra.tool_executor",
    "ToolResultContext": "infra.tool_executor",
    "build_nats_ingress_context": "infra.messaging.ingress",
    "parse_subject": "core.subject",
}
# Of the one result that a call may have: it is there, whoever wrote it.
_ANSWERED = (
    "uniq_cards_tool_result_call",
    "duplicate key value violates unique constraint",
    "protocol_violation",
)
_FINAL = frozenset({"ProtocolViolationError", "BadRequestError", "NotFoundError"})


class _BadJobError(Exception):
    """The job cannot be reported, now or later."""


class CommonGroundReporter:
    """Writes tool results for the jobs of the bridge.

    `nats`, `cardbox` and the stores are CommonGround's own; one of `resource_store` and `l0_engine` is needed by it.
    `author_id` begins with `tool.` or `sys.`, else `ValueError`. `kit` holds CommonGround's
    `publish_tool_result_report`, `ToolResultBuilder`, `ToolResultContext`, `build_nats_ingress_context` and
    `parse_subject`; without it they are imported, and `ImportError` names the module that is missing.
    """

    def __init__(
        self,
        *,
        nats: Any,
        cardbox: Any,
        execution_store: Any,
        resource_store: Any = None,
        state_store: Any = None,
        l0_engine: Any = None,
        author_id: str = "tool.countersign",
        kit: Any = None,
    ) -> None:
        if not author_id.startswith(("tool.", "sys.")):
            raise ValueError(f"author_id {author_id!r} must begin with 'tool.' or 'sys.'")
        self._cardbox = cardbox
        self._stores = {
            "nats": nats,
            "cardbox": cardbox,
            "execution_store": execution_store,
            "resource_store": resource_store,
            "state_store": state_store,
            "l0_engine": l0_engine,
        }
        self._author_id = author_id
        self._kit = kit if kit is not None else _commonground()
        # Two tries of one call at a time would take each other's card for somebody else's answer.
        self._one_at_a_time = asyncio.Lock()
        self._saved: OrderedDict[tuple[str, str], Any] = OrderedDict()

    async def report(self, job: Mapping[str, Any]) -> dict[str, Any]:
        """Write the result that the job asks for, and give the answer for the bridge.

        `{"status": "reported", "tool_result_card_id"}`, `{"status": "already_answered"}`, or
        `{"status": "failed", "code", "message", "retry"}`. Raises nothing but `asyncio.CancelledError`.
        """
        try:
            async with self._one_at_a_time:
                return {"status": "reported", "tool_result_card_id": await self._write(job)}
        except _BadJobError as error:
            return _failed("bad_job", error, retry=False)
        except Exception as error:
            if any(text in str(error) for text in _ANSWERED):
                return {"status": "already_answered"}
            code = type(error).__name__
            return _failed(code, error, retry=code not in _FINAL)

    async def serve(self, nc: Client, name: str) -> None:
        """Answer the jobs of the bridge `name` on CommonGround's bus until cancelled.

        Raises `ConnectionError` when the connection was closed.
        """
        subject = f"countersign.bridge.{name}.report"
        jobs = await nc.subscribe(subject, queue=subject)
        try:
            async for message in jobs.messages:
                await self._answer(message)
        finally:
            with contextlib.suppress(NatsError):
                await jobs.unsubscribe()
        raise ConnectionError("the connection to CommonGround's bus was closed")

    async def _answer(self, message: Msg) -> None:
        try:
            job = json.loads(message.data)
        except ValueError:
            job = None
        answer = await self.report(job)
        if answer["status"] == "failed":
            log.warning("CommonGround: a result was not written: %s", answer["code"])
        try:
            await message.respond(json.dumps(answer).encode())
        except NatsError as error:
            # The bridge asks again; the card that was saved is used then.
            log.warning("CommonGround: the answer could not be sent: %s", error)

    async def _write(self, job: Mapping[str, Any]) -> str:
        _check(job)
        context, payload = self._ingress(job)
        call = (job["project_id"], job["headers"].get("CG-Tool-Call-Id", ""))
        report = self._saved.get(call)
        if report is None:
            result_of = self._kit.ToolResultContext.from_cmd_data(
                ctx=context, cmd_data=payload, tool_call_meta=job.get("tool_call_metadata") or {}
            )
            builder = self._kit.ToolResultBuilder(
                result_of, author_id=self._author_id, function_name=job["function_name"], error_source="countersign"
            )
            # Given `after_execution`, the builder ignores the `__cg_control` of the result.
            report, card = builder.build(status=job["status"], result=job.get("result"), error=job.get("error"))
            await self._cardbox.save_card(card)
            self._saved[call] = report
            if len(self._saved) > MAX_SAVED:
                self._saved.popitem(last=False)
        source = context.evolve(agent_id=self._author_id, agent_turn_id="", step_id=None, tool_call_id=None)
        await self._kit.publish_tool_result_report(
            **self._stores, payload=report, source_ctx=source, target_ctx=_child(context)
        )
        return str(report["tool_result_card_id"])

    def _ingress(self, job: Mapping[str, Any]) -> tuple[Any, Any]:
        try:
            parts = self._kit.parse_subject(job["subject"])
            if parts is None:
                raise _BadJobError("the subject is none of CommonGround's")
            context, payload = self._kit.build_nats_ingress_context(dict(job["headers"]), dict(job["payload"]), parts)
        except Exception as error:
            raise _BadJobError(str(error)) from error
        return context, payload


def _check(job: Any) -> None:
    if not isinstance(job, Mapping) or job.get("v", 1) != 1:
        raise _BadJobError("not a job of version 1")
    for name, kind in (("subject", str), ("headers", Mapping), ("payload", Mapping)):
        if not isinstance(job.get(name), kind):
            raise _BadJobError(f"{name} is missing")
    if not isinstance(job.get("function_name"), str) or not job["function_name"].strip():
        raise _BadJobError("function_name is empty")
    if not isinstance(job.get("status"), str) or (job["status"] == "success") != (job.get("error") is None):
        raise _BadJobError("an error goes with every status but success")
    if job["subject"].split(".")[2:3] != [job.get("project_id")]:
        raise _BadJobError("the subject is of another project")


def _child(context: Any) -> Any:
    """The context under a span of its own: the same trace, a new span id."""
    inbound = context.headers.get("traceparent")
    if inbound is None:
        return context
    version, trace, _, flags = inbound.split("-")
    traceparent = f"{version}-{trace}-{secrets.token_hex(8)}-{flags}"
    return context.evolve(headers={**context.headers, "traceparent": traceparent})


def _failed(code: str, error: Exception, *, retry: bool) -> dict[str, Any]:
    return {"status": "failed", "code": code, "message": str(error)[:MAX_MESSAGE], "retry": retry}


def _commonground() -> SimpleNamespace:
    return SimpleNamespace(**{name: getattr(importlib.import_module(of), name) for name, of in _KIT.items()})
