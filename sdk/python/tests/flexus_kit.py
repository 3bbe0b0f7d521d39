"""A double of `flexus_client_kit`: the shapes that its bots see. It knows nothing of Countersign."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

SECRET = "untrusted-9f8e7d6c5b4a"


class NeedsConfirmation(Exception):  # noqa: N818 - as Flexus names it
    def __init__(self, confirm_setup_key: str, confirm_command: str, confirm_explanation: str) -> None:
        self.confirm_setup_key = confirm_setup_key
        self.confirm_command = confirm_command
        self.confirm_explanation = confirm_explanation
        super().__init__(f"Confirmation needed: {confirm_explanation}")


class WaitForSubchats(Exception):  # noqa: N818 - as Flexus names it
    def __init__(self, subchats: list[str]) -> None:
        self.subchats = subchats
        super().__init__("WAIT_SUBCHATS")


@dataclass
class ToolResult:
    content: str
    multimodal: list[dict[str, str]] | None = None


@dataclass
class CloudTool:
    strict: bool
    name: str
    description: str
    parameters: dict[str, Any]


@dataclass
class FCloudtoolCall:
    fcall_id: str
    fcall_name: str
    fcall_arguments: str
    caller_fuser_id: str = "ada"
    located_fgroup_id: str = "g1"
    fcall_ft_id: str = "ft1"
    fcall_ft_btest_name: str = ""
    fcall_fexp_name: str = "hr_1"
    fcall_ftm_alt: int = 100
    fcall_called_ftm_num: int = 3
    fcall_call_n: int = 0
    fcall_result_ftm_num: int = 4
    fcall_created_ts: float = 1.5
    fcall_untrusted_key: str = SECRET
    connected_persona_id: str | None = "p1"
    ws_id: str = "ws1"
    confirmed_by_human: bool | None = None


class Bot:
    """Flexus' `rcx`: one loop that hands calls to handlers, and posts what they return."""

    def __init__(self) -> None:
        self.handlers: dict[str, Any] = {}
        self.posted: dict[str, Any] = {}
        self.parked: list[FCloudtoolCall] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def on_tool_call(self, name: str) -> Any:
        def register(handler: Any) -> Any:
            self.handlers[name] = handler
            return handler

        return register

    async def unpark_collected_events(self, *, turn_tool_calls_into_bg_tasks: set[str] | None = None) -> None:
        parked, self.parked = self.parked, []
        for call in parked:
            if call.fcall_name in (turn_tool_calls_into_bg_tasks or ()):
                task = asyncio.create_task(self._run(call))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            else:
                await self._run(call)

    async def _run(self, call: FCloudtoolCall) -> None:
        self.posted[call.fcall_id] = await self.handlers[call.fcall_name](call, json.loads(call.fcall_arguments))
