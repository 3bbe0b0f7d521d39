"""Agents that get killed while their card waits, each in a process forked from one that has the frameworks.

`COUNTERSIGN_KILLS` says how often (5).
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import random
from collections.abc import Callable
from pathlib import Path

import agents
from agents.testing import ScriptedModel, assistant_message, function_call
from countersign import Gate
from countersign.adapters import openai_agents
from countersign.adapters.langgraph import CountersignMiddleware, run_until_done
from countersign.adapters.pydantic_ai import CountersignApproval
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import TypeAdapter
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.tools import DeferredToolRequests

from cards import KILLS, Card, Desk
from conftest import SOON

processes = multiprocessing.get_context("forkserver")
# Not this module: the server that forks does not find the folder of the tests.
FRAMEWORKS = [f"countersign.adapters.{name}" for name in ("langgraph", "openai_agents", "pydantic_ai")]
MODELS = ["agents.testing", "langgraph.checkpoint.memory", "pydantic_ai.models.function"]
processes.set_forkserver_preload([*FRAMEWORKS, *MODELS, "pytest", "hypothesis", "cryptography"])


async def run_once_for_all_kills(desk: Desk, folder: Path, program: Callable, *arguments: str) -> Card:
    """Kills the program while its card waits, approves, and lets a last process end. It asked and ran once."""

    async def started():
        (folder / "asking").unlink(missing_ok=True)
        process = processes.Process(target=program, args=(desk.agent_json, folder, *arguments))
        process.start()
        async with asyncio.timeout(2 * SOON):
            while not (folder / "asking").exists():
                await asyncio.sleep(0.005)
        return process

    before = await asked(desk)
    for kill in range(KILLS):
        process = await started()
        if kill == 0:
            card = await desk.card()
        else:
            await asyncio.sleep(random.uniform(0, 0.1))
        process.kill()
        await asyncio.to_thread(process.join)
    assert not (folder / "ran").exists()
    await desk.approve(card)
    process = await started()
    await asyncio.to_thread(process.join, 2 * SOON)
    assert process.exitcode == 0
    assert (folder / "ran").read_text() == "1\n"
    assert await asked(desk) == before + 1
    await desk.receipt(card, "executed")
    return card


async def asked(desk: Desk) -> int:
    return len((await desk.console.done("history", "--json", "--limit", "1000")).splitlines())


def with_pydantic_ai(agent_json: str, folder: Path) -> None:
    """Messages and requests go through files, as JSON."""
    stored = TypeAdapter(DeferredToolRequests)

    def answer(messages, _):
        call = ToolCallPart("pay", {"n": 1}, tool_call_id="call_1")
        return ModelResponse(parts=[TextPart("done") if len(messages) > 1 else call])

    def pay(n: int) -> str:
        return note(folder, n)

    async def main() -> None:
        async with Gate.connect(agent_json, journal=folder / "pending") as gate:
            cap = CountersignApproval(gate, inline=False)
            output = [str, DeferredToolRequests]
            agent = Agent(FunctionModel(answer), output_type=output, capabilities=[cap], tools=[pay])
            if not (folder / "requests").exists():
                result = await agent.run("pay")
                (folder / "messages").write_bytes(result.all_messages_json())
                (folder / "requests").write_bytes(stored.dump_json(result.output))
            messages = ModelMessagesTypeAdapter.validate_json((folder / "messages").read_bytes())
            requests = stored.validate_json((folder / "requests").read_bytes())
            (folder / "asking").touch()
            results = await cap.resolve(requests, thread_id=str(folder), messages=messages)
            result = await agent.run(message_history=messages, deferred_tool_results=results)
            assert result.output == "done"

    asyncio.run(main())


def with_langgraph(agent_json: str, folder: Path, mode: str) -> None:
    """The checkpoints of the thread go through a file. `mode`: `middleware`, or one of LangChain's own review."""

    @tool
    def pay(n: int) -> str:
        """Pays."""
        return note(folder, n)

    async def main() -> None:
        async with Gate.connect(agent_json, journal=folder / "pending") as gate:
            saver = Saver(folder)
            begun = saver.file.exists()
            call = AIMessage("", tool_calls=[{"name": "pay", "args": {"n": 1}, "id": "call_1"}])
            model = Model(messages=iter([*([] if begun else [call]), AIMessage("done")]))
            own = CountersignMiddleware(gate) if mode == "middleware" else None
            review = own or HumanInTheLoopMiddleware({"pay": True}, interrupt_mode=mode)
            agent = create_agent(model, [pay], middleware=[review], checkpointer=saver)
            (folder / "asking").touch()
            thread = {"configurable": {"thread_id": str(folder)}}
            result = await run_until_done(agent, None if begun else {"messages": [("user", "pay")]}, thread, gate)
            assert result["messages"][-1].text == "done"

    asyncio.run(main())


def with_openai_agents(agent_json: str, folder: Path) -> None:
    """The state of the run goes through a file, as its text."""
    agents.set_tracing_disabled(True)

    @agents.function_tool(needs_approval=True)
    def pay(n: int) -> str:
        return note(folder, n)

    async def main() -> None:
        kept = folder / "state"
        turns = [] if kept.exists() else [[function_call("pay", {"n": 1}, call_id="call_1")]]
        agent = agents.Agent(name="clerk", model=ScriptedModel([*turns, [assistant_message("done")]]), tools=[pay])
        if not kept.exists():
            new = kept.with_suffix(".new")
            new.write_text((await agents.Runner.run(agent, "pay")).to_state().to_string())
            new.replace(kept)
        state = await agents.RunState.from_string(agent, kept.read_text())
        async with Gate.connect(agent_json, journal=folder / "pending") as gate:
            (folder / "asking").touch()
            result = await openai_agents.run(agent, state, gate=gate, thread_id=str(folder))
            assert result.final_output == "done"

    asyncio.run(main())


def note(folder: Path, n: int) -> str:
    with (folder / "ran").open("a") as ran:
        ran.write(f"{n}\n")
    return "paid"


class Saver(InMemorySaver):
    """Keeps the checkpoints in a file."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.file = folder / "checkpoints"
        if self.file.exists():
            for store, kept in zip(self.stores(), pickle.loads(self.file.read_bytes()), strict=True):
                store.update(kept)

    def stores(self):
        return self.storage, self.writes, self.blobs

    def keep(self, result):
        new = self.file.with_suffix(".new")
        new.write_bytes(pickle.dumps([dict(store) for store in self.stores()]))
        new.replace(self.file)
        return result

    def put(self, *args):
        return self.keep(super().put(*args))

    def put_writes(self, *args):
        return self.keep(super().put_writes(*args))


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self
