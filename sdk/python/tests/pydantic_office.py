"""An agent of pydantic-ai with a scripted model, for the tests of its adapter."""

from __future__ import annotations

import asyncio
import datetime as dt

from countersign import Gate
from countersign.adapters.pydantic_ai import CountersignApproval
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


def call(name: str, args, call_id: str = "call_1") -> ToolCallPart:
    return ToolCallPart(name, args, tool_call_id=call_id)


PAY = call("pay", {"to": "ada", "n": 1})


class Office:
    """An agent whose model makes the given calls in one turn, then says "done"; its tools note what they ran with."""

    def __init__(self, gate: Gate, *calls: ToolCallPart, capabilities=(), deps=None, output=str, **how) -> None:
        self.ran: list[tuple] = []
        self.read: list[ToolReturnPart] = []
        self.calls = calls or (PAY,)
        self.approval = CountersignApproval(gate, **how)
        self.agent = Agent(
            FunctionModel(self.answer),
            output_type=output,
            capabilities=[self.approval, *capabilities],
            tools=[self.pay, self.lookup, self.book],
        )

    def answer(self, messages, _) -> ModelResponse:
        self.read = [part for part in messages[-1].parts if isinstance(part, ToolReturnPart)]
        if len(messages) > 1:
            return ModelResponse(parts=[TextPart("done")])
        return ModelResponse(parts=[TextPart("Ada is owed one."), *self.calls])

    def pay(self, to: str, n: int) -> str:
        """Pays somebody."""
        self.ran.append((to, n))
        return f"paid {to} {n}"

    def lookup(self, who: str) -> dict:
        self.ran.append((who,))
        return {"who": who}

    def book(self, day: dt.date) -> str:
        self.ran.append((day,))
        return "booked"

    def start(self, prompt: str = "pay Ada", **how) -> asyncio.Task:
        return asyncio.create_task(self.agent.run(prompt, **how))
