"""One `tool_loop` of the Kate SDK: its run span, its model calls, and which call of a turn Kate runs now."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ..errors import NotAllowedError
from ..gate import Gate
from ..strict import unique_object
from ..wire import uuid7
from ._gating import group, last_messages
from ._spans import CallSpan


class EndedError(BaseException):
    """A person ended the run. No `Exception`: Kate would give the model its type and go on."""


@dataclass
class ModelCall:
    """A call as the model asked for it."""

    id: str
    name: str
    is_object: bool = True
    group: dict[str, Any] | None = None
    args_raw: str | None = None
    """The model's text, where it is not JSON of the arguments that Kate runs."""


class Loop:
    """One run of the loop, in the task that made it."""

    def __init__(self, gate: Gate, *, thread_id: str | None, **attributes: Any) -> None:
        self._gate = gate
        self.run_id = uuid7()
        self.ids = {"run_id": self.run_id, "thread_id": thread_id}
        self.span = CallSpan(gate, "kate tool_loop", kind="agent", attributes=attributes, **self.ids)
        self.within = {"trace_id": self.span.trace_id, "parent": self.span.span_id}
        self.reason: str | None = None
        self.history: list[dict[str, Any]] = []
        self.refusal: NotAllowedError | None = None
        self._task = asyncio.current_task()
        self._turn: deque[ModelCall] = deque()
        self._rounds = self._calls = 0
        self.span.running()

    def client(self, client: Any) -> Any:
        """A client of the same provider, of a class in the same module, whose answers are seen here. What is no
        client of a provider that Kate knows comes back as it is."""
        module = type(client).__module__ or ""
        shown: dict[str, Any] = {"__module__": module}
        if "openai" in module:
            create = self._seen(client.chat.completions.create, _openai)
            shown["chat"] = SimpleNamespace(completions=SimpleNamespace(create=create))
        elif "anthropic" in module:
            shown["messages"] = SimpleNamespace(create=self._seen(client.messages.create, _anthropic))
        else:
            return client
        return type(type(client).__name__, (), shown)()

    def take(self, name: str) -> ModelCall | None:
        """The model's call that Kate runs now; None for one that a tool's own code makes."""
        self.check()
        call = self._turn[0] if self._turn else None
        if call is None or call.name != name or asyncio.current_task() is not self._task:
            return None
        return call

    def finished(self) -> None:
        """Kate has the result of the call that it ran."""
        self._calls += 1
        if self._turn:
            self._turn.popleft()

    def terminate(self, refusal: NotAllowedError) -> None:
        """Nothing runs in this loop any more. Raises `EndedError`."""
        self.refusal = refusal
        self.check()

    def check(self) -> None:
        """Raises `EndedError` once a person ended the run."""
        if self.refusal is not None:
            raise EndedError

    def end(self, status: str) -> None:
        """The last word of the run's span."""
        self.span.end(status, attributes={"kate.rounds": self._rounds, "kate.tool_calls_made": self._calls})

    def end_by(self, error: BaseException) -> None:
        """The loop raised."""
        cancelled = isinstance(error, asyncio.CancelledError)
        if isinstance(error, Exception):
            self.span.set(error={"type": type(error).__name__, "message": str(error)})
        self.end("denied" if isinstance(error, EndedError) else "cancelled" if cancelled else "error")

    def _seen(
        self, create: Callable[..., Awaitable[Any]], read: Callable[[Any], tuple[str, list[ModelCall]]]
    ) -> Callable[..., Awaitable[Any]]:
        async def asking(**options: Any) -> Any:
            self.check()
            self._rounds += 1
            model = str(options.get("model"))
            about: dict[str, Any] = {"attributes": {"gen_ai.request.model": model}, **self.ids, **self.within}
            span = CallSpan(self._gate, model, kind="llm", **about)
            span.running()
            try:
                response = await create(**options)
                text, calls = read(response)
            except asyncio.CancelledError:
                span.end("cancelled")
                raise
            except BaseException as error:
                span.failed(error)
                raise
            span.set(usage=_usage(getattr(response, "usage", None)))
            span.succeeded(text)
            for place, call in enumerate(calls):
                call.group = group(f"{self.run_id}/{self._rounds}", place, len(calls))
            self._turn = deque(calls)
            self.reason = text or None
            said = ((str(message.get("role")), _text(message.get("content"))) for message in options["messages"])
            self.history = last_messages(said)
            return response

        return asking


def _openai(response: Any) -> tuple[str, list[ModelCall]]:
    message = response.choices[0].message
    calls = []
    for asked in message.tool_calls or ():
        text = asked.function.arguments
        call = ModelCall(asked.id, asked.function.name)
        calls.append(call)
        try:
            call.is_object = isinstance(json.loads(text), dict)
            json.loads(text, object_pairs_hook=unique_object)
        except (ValueError, TypeError):
            # Kate runs {} where it cannot read the text, and the last of two equal keys.
            call.args_raw = text if isinstance(text, str) else None
    return message.content or "", calls


def _anthropic(response: Any) -> tuple[str, list[ModelCall]]:
    blocks = response.content
    used = [block for block in blocks if getattr(block, "type", None) == "tool_use"]
    calls = [ModelCall(block.id, block.name, isinstance(block.input, dict)) for block in used]
    return "\n".join(block.text for block in blocks if getattr(block, "type", None) == "text"), calls


def _usage(usage: Any) -> dict[str, Any] | None:
    found = {
        "input_tokens": getattr(usage, "input_tokens", getattr(usage, "prompt_tokens", None)),
        "output_tokens": getattr(usage, "output_tokens", getattr(usage, "completion_tokens", None)),
    }
    return {name: count for name, count in found.items() if isinstance(count, int)} or None


def _text(content: Any) -> str:
    """The text of a message of either provider."""
    if isinstance(content, list):
        parts = [part.get("text") or part.get("content") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
