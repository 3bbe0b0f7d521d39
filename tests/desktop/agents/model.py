"""A selectools agent whose model is a script: it calls one tool and prints what it is informed of the outcome.

Refuses to run the tool without the gate's approval.
"""

from __future__ import annotations

import json
from typing import Any

from countersign.adapters.selectools import SelectoolsGate
from selectools import (  # type: ignore[import-untyped,unused-ignore]
    Agent,
    AgentConfig,
    Message,
    Role,
    Tool,
    ToolCall,
    ToolPolicy,
)
from selectools.tools import ToolParameter  # type: ignore[import-untyped,unused-ignore]
from selectools.usage import UsageStats  # type: ignore[import-untyped,unused-ignore]


def report(**line: Any) -> None:
    print(json.dumps(line), flush=True)


def send_mail(to: str, subject: str) -> str:
    report(ran={"to": to, "subject": subject})
    return f"sent to {to}"


class ScriptedModel:
    name = "scripted"
    supports_streaming = False
    supports_async = False

    def __init__(self) -> None:
        self._asked = False

    def complete(self, *, messages: list[Message], **_: Any) -> tuple[Message, UsageStats]:
        usage = UsageStats(0, 0, 0, 0.0, "scripted", "scripted")
        if self._asked:
            report(model_reads=str(messages[-1].content))
            return Message(role=Role.ASSISTANT, content="done"), usage
        self._asked = True
        call = ToolCall(tool_name="send_mail", parameters={"to": "ada@acme.example", "subject": "Hello"}, id="call_1")
        return Message(role=Role.ASSISTANT, content="", tool_calls=[call]), usage


tool = Tool(
    "send_mail",
    "Sends a mail",
    [ToolParameter("to", str, "Address"), ToolParameter("subject", str, "Subject line")],
    send_mail,
)
with SelectoolsGate.open(tools=[tool], risks={"send_mail": "medium"}, effects={"send_mail": "write"}) as gate:
    config = gate.tool_config(policy=ToolPolicy(), approval_timeout=60)
    Agent(tools=[tool], provider=ScriptedModel(), config=AgentConfig(tool=config, observers=[gate])).run(
        "Write to Ada."
    )
