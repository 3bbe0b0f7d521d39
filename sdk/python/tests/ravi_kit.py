"""ravi's own code, of each tested version: contracts, the invoker, and tools to run with it.

The packages are in folders of the Python environment without what they depend on: of that the invoker needs nothing
but a logger. Imports happen while a version is in place only, because both have one name.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from countersign.adapters.ravi import RaviApprovalHandler

from nats_server import REPOSITORY

VERSIONS = ["0.1.0", "0.2.0"]
ARGS = {"to": "a@example.org"}


def folder(version: str) -> Path:
    """Where `make setup` puts a version."""
    found = REPOSITORY / ".venv" / f"agent-substrate-{version}"
    if not found.is_dir():
        raise RuntimeError(f"{found} is missing; run `make setup`")
    return found


def light(path: list[str], place: str) -> None:
    """Put ravi on the path, without the package of its agents, which loads models and databases before anything."""
    path.insert(0, place)
    agents = types.ModuleType("substrate.agents")
    agents.__path__ = [place + "/substrate/agents"]
    logger = types.ModuleType("substrate.logger")
    logger.setup_logging = logging.getLogger
    sys.modules.update({module.__name__: module for module in (agents, logger)})


@contextlib.contextmanager
def ravi(version: str) -> Iterator[types.SimpleNamespace]:
    """`contract` (kernel.tools), `ToolInvoker`, `AgentId` of one version of agent-substrate."""
    _forget()
    place = str(folder(version))
    light(sys.path, place)
    try:
        invoker = importlib.import_module("substrate.agents.tools.invoker")
        contract = importlib.import_module("substrate.kernel.tools")
        identity = importlib.import_module("substrate.kernel.core.identity")
        content = importlib.import_module("substrate.kernel.core.content")
        assert str(invoker.__file__).startswith(place)
        yield types.SimpleNamespace(
            contract=contract, ToolInvoker=invoker.ToolInvoker, AgentId=identity.AgentId, TextBlock=content.TextBlock
        )
    finally:
        _forget()
        sys.path.remove(place)


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "substrate"]:
        del sys.modules[name]


class Tool:
    """A tool of ravi's shape that notes what it ran with."""

    def __init__(self, kit: Any, name: str, risk: str, text: str = "") -> None:
        self.kit, self.name, self.text = kit, name, text
        self.risk = kit.contract.ToolRisk(risk)
        self.description = f"{name}!"
        self.input_schema: dict[str, object] = {"type": "object", "properties": {"to": {"type": "string"}}}
        self.ran: list[dict[str, Any]] = []

    async def execute(self, *, ctx: Any = None, **args: Any) -> Any:
        self.ran.append(args)
        text = self.text or f"{self.name} done"
        return self.kit.contract.ToolExecutionResult(
            content=[self.kit.TextBlock(text=text)], structured_content={"n": 1}
        )


class Registry(dict):
    def __init__(self, *tools: Any) -> None:
        super().__init__({tool.name: tool for tool in tools})

    def all(self) -> list[Any]:
        return list(self.values())


class Store:
    """ravi's `BlobStore`, in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def store(self, data: bytes | str, *, content_type: str = "") -> str:
        ref = f"ref-{len(self.kept)}"
        self.kept[ref] = data if isinstance(data, bytes) else data.encode()
        return ref

    async def resolve(self, ref: str) -> bytes:
        return self.kept[ref]

    async def pin(self, ref: str) -> None:
        pass

    async def unpin(self, ref: str) -> None:
        pass


class Office:
    """ravi's invoker with three tools and our handler."""

    def __init__(self, kit, gate, *, timeout: float = 20.0, store=None, inline: int = 4096, **options) -> None:
        self.kit = kit
        self.tools = Registry(
            *(Tool(kit, *about) for about in (("look", "safe"), ("mail", "high"), ("wipe", "critical")))
        )
        self.policy = kit.contract.ChainPolicy(approval_timeout_s=timeout, max_inline_result_bytes=inline)
        options.setdefault("registry", self.tools)
        self.handler = RaviApprovalHandler(gate, approval_timeout=timeout, **options)
        inner = kit.ToolInvoker(self.tools, self.handler, artifact_store=store, policy=self.policy)
        self.invoker = self.handler.invoker(inner)
        self.session = self.invoker.open_session()

    def call(self, name: str, args: dict | None = None):
        return self.kit.contract.ToolCallRequest(name=name, arguments=ARGS if args is None else args)

    def start(self, name: str = "mail", args: dict | None = None) -> asyncio.Task:
        call = self.call(name, args)
        return asyncio.ensure_future(self.invoker.invoke(call, session=self.session))

    def ran(self, name: str = "mail") -> list[dict]:
        return self.tools[name].ran
