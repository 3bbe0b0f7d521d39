"""The server and the client of the official package.

`official.py server`, `official.py http PORT`, `official.py client MODE COMMAND ARG…`, `official.py client MODE URL`.
"""

import asyncio
import json
import os
import sys
from typing import Annotated

from mcp import Client, StdioServerParameters
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("bank")


class Paid(BaseModel):
    amount: int


class Colour(BaseModel):
    colour: str


@server.tool()
async def pay(amount: int, ctx: Context) -> Paid:
    """Pays somebody."""
    await ctx.report_progress(1, 2, "half")
    return Paid(amount=amount)


async def which() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool(structured_output=False)
async def ask(colour: Annotated[Colour, Resolve(which)]) -> str:
    """Asks for a colour."""
    return colour.colour


async def elicited(*_: object) -> None:
    raise AssertionError("the form was relayed")


async def client(mode: str, command: list[str]) -> None:
    heard = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    if command[0].startswith("http://"):
        behind = command[0]
    else:
        behind = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    async with Client(behind, mode=mode, elicitation_callback=elicited) as session:
        tools = await session.list_tools()
        print(json.dumps([tool.name for tool in tools.tools]), flush=True)
        calls = [("pay", {"amount": 1}), ("pay", {"amount": 2}), ("pay", {"amount": 3}), ("ask", {})]
        for name, arguments in calls:
            result = await session.call_tool(name, arguments, progress_callback=progress)
            print(result.model_dump_json(by_alias=True), flush=True)
        print(json.dumps(heard), flush=True)


if sys.argv[1] == "server":
    server.run("stdio")
elif sys.argv[1] == "http":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    asyncio.run(client(sys.argv[2], sys.argv[3:]))
