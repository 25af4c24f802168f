"""A server on the SDK of the day: standard input and output, or an address on a port.

mcp_sdk.py [PORT] [--json | --sse]
"""

from __future__ import annotations

import asyncio
import sys

from mcp.server.mcpserver import Context, Image, MCPServer
from pydantic import BaseModel
from tests.servers.mcp_fault import PNG

server = MCPServer("sdk", log_level="ERROR")
collected: dict[str, int] = {}


class Sum(BaseModel):
    total: int


@server.tool()
def add(a: int, b: int) -> Sum:
    """Add two integers."""
    return Sum(total=a + b)


@server.tool()
def picture() -> Image:
    """Return one pixel."""
    return Image(data=PNG, format="png")


@server.tool()
def refuse() -> str:
    """Fail."""
    raise ValueError("this never works")


@server.tool()
def put(key: str, value: int) -> dict[str, int]:
    """Hold a number, in memory."""
    collected[key] = value
    return collected


@server.tool()
def big(size: int) -> str:
    """Return a long text."""
    return "x" * size


@server.tool()
async def grow(context: Context) -> str:
    """Add a tool."""
    server.add_tool(lambda: "grown", name="grown", description="New.")
    await context.session.send_tool_list_changed()
    return "ok"


@server.tool()
async def slow(seconds: float) -> str:
    """Answer late, without holding others up."""
    await asyncio.sleep(seconds)
    return "slow"


@server.tool()
def leave() -> str:
    """Take the whole server down."""
    sys.stdout.flush()
    import os

    os._exit(4)


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    if numbers:
        json = "--json" in sys.argv
        if "--sse" in sys.argv:
            server.run("sse", host="127.0.0.1", port=numbers[0])
        else:
            server.run("streamable-http", host="127.0.0.1", port=numbers[0], json_response=json)
    else:
        server.run("stdio")
