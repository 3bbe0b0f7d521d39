"""How much time an adapter adds to a call that a rule allows: `make bench` prints it, beside a plain `gate.ask`.

What is measured is one call in the framework, less the time within `gate.ask`, less the same call without the gate.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from countersign import Gate, ToolCall

RULE = """schema = 1
[[rule]]
id = "lookups"
name = "Lookups may go"
effect = "approve"
expires_at = "2127-01-01T00:00:00Z"
tool = ["lookup"]
risk = ["low"]
"""
ABOUT: dict[str, Any] = {"ask": ("lookup",), "risks": {"lookup": "low"}}
ARGS = {"who": "ada"}
GOAL_MS = 10.0
SDK = Path(__file__).resolve().parents[1] / "sdk/typescript"

Call = Callable[[], Awaitable[object]]


def lookup(who: str) -> str:
    """Looks somebody up."""
    return who


async def alookup(who: str) -> str:
    """Looks somebody up."""
    return who


def pydantic_ai(gate: Gate | None) -> Call:
    from countersign.adapters.pydantic_ai import CountersignApproval
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def answer(messages: list[Any], _: Any) -> ModelResponse:
        done = len(messages) > 1
        return ModelResponse(parts=[TextPart("done") if done else ToolCallPart("lookup", ARGS)])

    capabilities = [CountersignApproval(gate, **ABOUT)] if gate is not None else []
    agent = Agent(FunctionModel(answer), tools=[lookup], capabilities=capabilities)
    return lambda: agent.run("go")


def langgraph(gate: Gate | None) -> Call:
    from countersign.adapters.langgraph import CountersignMiddleware
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    class Script(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            return self

    def turns() -> Any:
        while True:
            yield AIMessage("", tool_calls=[{"name": "lookup", "args": ARGS, "id": "call_1"}])
            yield AIMessage("done")

    middleware: list[Any] = [CountersignMiddleware(gate, **ABOUT)] if gate is not None else []
    agent: Any = create_agent(Script(messages=turns()), [tool("lookup")(alookup)], middleware=middleware)
    return lambda: agent.ainvoke({"messages": [("user", "go")]})


def openai_agents(gate: Gate | None) -> Call:
    import agents
    from agents.testing import ScriptedModel, assistant_message, function_call
    from countersign.adapters.openai_agents import gated

    agents.set_tracing_disabled(True)
    tool = agents.function_tool(alookup, name_override="lookup")
    [used] = gated(gate, [tool], **ABOUT) if gate is not None else [tool]

    def run() -> Awaitable[object]:
        turns: list[Any] = [[function_call("lookup", ARGS, call_id="call_1")], [assistant_message("done")]]
        return agents.Runner.run(agents.Agent(name="clerk", model=ScriptedModel(turns), tools=[used]), "go")

    return run


def claude_agent_sdk(gate: Gate | None) -> Call:
    """The hook before a call and the one after it: the model's side is Claude Code's own process."""
    from countersign.adapters.claude_agent_sdk import ClaudeGate

    event: Any = {"hook_event_name": "PreToolUse", "tool_name": "lookup", "tool_input": ARGS, "session_id": "s"}
    claude = ClaudeGate(gate, **ABOUT) if gate is not None else None
    number = iter(range(10**9))

    async def run() -> None:
        if claude is not None:
            call_id = f"toolu_{next(number)}"
            await claude.pre_tool_use(event, call_id, {"signal": None})
            await claude.post_tool_use({**event, "tool_response": "ada"}, call_id, {"signal": None})

    return run


def kate(gate: Gate | None) -> Call:
    from countersign.adapters.kate import KateGate
    from projectkate import LocalTool  # type: ignore[import-untyped,unused-ignore]

    tool = LocalTool("lookup", "Looks somebody up", {}, alookup)
    used = KateGate(gate, risks={"lookup": "low"}).local(tool) if gate is not None else tool
    return lambda: used.fn(**ARGS)


def inspect_ai(gate: Gate | None) -> Call:
    """The approver alone, with a connection of its own."""
    from countersign.adapters.inspect_ai import console
    from inspect_ai.tool import ToolCall as InspectCall
    from inspect_ai.tool import ToolCallView

    approve = console(risks={"lookup": "low"})

    async def run() -> None:
        if gate is not None:
            await approve("", InspectCall(id="call_1", function="lookup", arguments=ARGS), ToolCallView(), [])

    return run


ADAPTERS = [pydantic_ai, langgraph, openai_agents, claude_agent_sdk, kate, inspect_ai]


def allow_lookups(program: Path, folder: str, environment: dict[str, str]) -> None:
    rules = Path(folder, "rules.toml")
    rules.write_text(RULE)
    subprocess.run([program, "rules", "apply", rules], env=environment, check=True, capture_output=True)  # noqa: S603


@asynccontextmanager
async def desk(program: Path) -> AsyncIterator[str]:
    """A console with the rule; the path of the enrolment."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "COUNTERSIGN_DATA_DIR": folder, "COUNTERSIGN_KEYS": "file"}
        serving = await asyncio.create_subprocess_exec(
            program, "serve", env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
        assert serving.stdout is not None  # noqa: S101 - a pipe was asked for
        try:
            ready = json.loads(await serving.stdout.readline())
            await asyncio.to_thread(allow_lookups, program, folder, environment)
            yield str(ready["agent_json"])
        finally:
            serving.terminate()
            await serving.wait()


def percentile(times: list[float], percent: int) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[percent - 1]


class Asked:
    """`Gate.ask` from now on, with the time that each ask took."""

    def __init__(self) -> None:
        self.seconds = 0.0
        ask = Gate.ask

        async def timed(gate: Gate, *about: Any, **options: Any) -> Any:
            begun = time.perf_counter()
            decision = await ask(gate, *about, **options)
            self.seconds += time.perf_counter() - begun
            if not decision.allowed:
                raise RuntimeError(f"the rule did not allow it: {decision.verdict}")
            return decision

        Gate.ask = timed  # type: ignore[assignment,method-assign]

    async def during(self, call: Call) -> tuple[float, float]:
        """Milliseconds within `ask`, and the rest of the call's."""
        self.seconds, begun = 0.0, time.perf_counter()
        await call()
        whole = time.perf_counter() - begun
        return self.seconds * 1000, (whole - self.seconds) * 1000


async def main(program: Path, count: int) -> None:
    asked = Asked()
    async with desk(program) as agent_json, Gate.connect(agent_json) as gate:
        os.environ["COUNTERSIGN_AGENT_JSON"] = agent_json
        plain = [
            (await asked.during(lambda: gate.ask(ToolCall(name="lookup", args=ARGS, risk="low"))))[0]
            for _ in range(count)
        ]
        print(f"{'milliseconds':<24}{'p50':>8}{'p99':>8}   goal p99 {GOAL_MS:.0f}")
        print(f"{'plain gate.ask':<24}{percentile(plain, 50):>8.2f}{percentile(plain, 99):>8.2f}   the floor")
        for adapter in ADAPTERS:
            bare, gated = adapter(None), adapter(gate)
            # In pairs: what else the machine does disturbs both alike. The first load what they need.
            pairs = [(await asked.during(bare), await asked.during(gated)) for _ in range(count + 20)][20:]
            usual = statistics.median(without for (_, without), _ in pairs)
            added = [took - usual for _, (_, took) in pairs]
            p99 = percentile(added, 99)
            verdict = "met" if p99 <= GOAL_MS else "missed"
            print(f"{adapter.__name__ + ' adds':<24}{percentile(added, 50):>8.2f}{p99:>8.2f}   {verdict}")
        measuring = await asyncio.create_subprocess_exec("node", "bench.mjs", agent_json, str(count), cwd=SDK)
        if await measuring.wait():
            raise RuntimeError("the bench of the TypeScript SDK failed")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--console", type=Path, default=Path("target/release/countersign"))
    parser.add_argument("--count", type=int, default=300)
    wanted = parser.parse_args()
    asyncio.run(main(wanted.console.resolve(), wanted.count))
