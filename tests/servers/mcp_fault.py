"""A server of the protocol of 2024-11-05, in plain Python, that fails as told.

    mcp_fault.py [--refuse] [--hang] [--sleep S] [--junk] [--binary] [--odd-tools] [--pages]
                 [--telling] [--many N] [--heavy N] [--log FILE] [--child FILE] [--stubborn]

Its tools fail as their names say. It answers one request after the other.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

FLAGS = sys.argv[1:]
PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0\x90wS\xde\0\0\0\x0cIDAT"
    b"x\x9cc\xf8\xcf\xc0\0\0\3\1\1\0\xc9\xfe\x92\xef\0\0\0\0IEND\xaeB`\x82"
)
state: dict[str, Any] = {"calls": 0, "tools": "first"}


def option(name: str) -> str | None:
    return FLAGS[FLAGS.index(name) + 1] if name in FLAGS else None


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    if path := option("--log"):
        with open(path, "a") as file:
            file.write(f"{text} {time.monotonic()} {os.getpid()}\n")


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


# --- tools ------------------------------------------------------------------------------


def echo(text: str = "") -> str:
    return text


def die() -> str:
    sys.stderr.write("about to die\n")
    sys.stderr.flush()
    os._exit(9)


def frail(marker: str) -> str:
    """Die the first time, answer the second."""
    if not Path(marker).exists():
        Path(marker).write_text("")
        os._exit(9)
    return "answered after all"


def hang() -> str:
    time.sleep(600)
    return ""


def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "slow"


def big(size: int, tail: bool = False) -> str | dict[str, Any]:
    state["tail"] = tail
    return "x" * size


def wrong() -> dict[str, Any]:
    return {**text("there is no such page"), "isError": True}


def many(parts: int = 0, values: int = 0) -> dict[str, Any]:
    """Answer with that many parts, or values of structured content, that are nothing."""
    return {**({"structuredContent": {"of": [0] * values}} if values else {}),
            "content": [0] * parts}  # fmt: skip


def picture() -> dict[str, Any]:
    data = base64.b64encode(PNG).decode()
    return {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}


def change() -> str:
    state["tools"] = "second"
    send({"method": "notifications/tools/list_changed"})
    return "changed"


def where() -> str:
    return os.getcwd()


def count() -> str:
    state["calls"] += 1
    return str(state["calls"])


def environ(name: str) -> str:
    return os.environ.get(name, "(not set)")


def junk() -> str:
    sys.stdout.write("loading the model, please wait\n{not json}\n\xff half a line ")
    sys.stdout.flush()
    return "after the junk"


def write(path: str, text: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    return f"written: {Path(path).resolve()}"


def half() -> dict[str, Any]:
    return text("half a pair: \ud800")


TOOLS: dict[str, Callable[..., str | dict[str, Any]]] = {
    f.__name__: f
    for f in (
        echo, die, frail, hang, slow, big, many, wrong, picture, change, where, count, environ,
        junk, write, half,
    )
}  # fmt: skip


def later() -> str:
    return "new"


def listed() -> list[Any]:
    names = [*TOOLS, *(["later"] if state["tools"] == "second" else [])]
    tools: list[Any] = [
        {"name": name, "description": f"It does: {name}", "inputSchema": {"type": "object"}}
        for name in names
    ]
    if "--telling" in FLAGS:
        default = {"default": f"{os.getcwd()}/{os.environ['THE_KEY']}"}
        tools[0] |= {"inputSchema": {"type": "object", "properties": {"text": default}}}
        tools[0] |= {"description": f"Works in {os.getcwd()} with {os.environ['THE_KEY']}"}
    if "--odd-tools" in FLAGS:
        tools += [
            {"name": "no_schema"},
            {"name": "text_schema", "inputSchema": "object"},
            {"name": "bad_schema", "inputSchema": {"type": "objekt", "properties": 7}},
            {"name": "list_schema", "inputSchema": {"type": "strange", "properties": [1]}},
            {"name": "five_schema", "inputSchema": {"properties": {"a": 7}, "required": 5}},
            {"inputSchema": {"type": "object"}},
            "not a tool",
            {"name": "echo", "inputSchema": {}},
        ]
    tools += [{"name": f"n{i}", "inputSchema": {}} for i in range(int(option("--many") or 0))]
    return tools


# --- the protocol -----------------------------------------------------------------------


def answer(asked: dict[str, Any]) -> None:
    method, id, params = asked.get("method"), asked.get("id"), asked.get("params") or {}
    if id is None:
        return
    if method == "initialize":
        about = {
            "protocolVersion": "2024-11-05",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "fault", "version": "1"},
        }
        send({"id": id, "result": about})
    elif method == "ping":
        send({"id": id, "result": {}})
    elif method == "tools/list":
        send({"id": id, "result": page(params.get("cursor"))})
    elif method == "tools/call":
        called(id, params)
    else:
        send({"id": id, "error": {"code": -32601, "message": f"no method {method}"}})


def page(cursor: str | None) -> dict[str, Any]:
    start = int(cursor or 0)
    if size := int(option("--heavy") or 0):  # pages without end, of one heavy tool each
        heavy = {"name": f"h{start}", "inputSchema": {"description": "x" * size}}
        return {"tools": [heavy], "nextCursor": str(start + 1)}
    if "--pages" not in FLAGS:
        return {"tools": listed()}
    note("page")
    tools = listed()[start : start + 4]
    following = start + 4 if start + 4 < len(listed()) else 0  # and so it never ends
    return {"tools": tools, "nextCursor": str(following)}


def called(id: Any, params: dict[str, Any]) -> None:
    name, given = params.get("name", ""), params.get("arguments") or {}
    tool = {**TOOLS, "later": later}.get(name)
    if tool is None:
        send({"id": id, "error": {"code": -32602, "message": f"Unknown tool: {name}"}})
        return
    try:
        said = tool(**given)
    except TypeError as error:
        send({"id": id, "error": {"code": -32602, "message": str(error)}})
        return
    result = text(said) if isinstance(said, str) else said
    if state.pop("tail", False):  # the order of the TypeScript SDK
        sys.stdout.write(json.dumps({"result": result, "jsonrpc": "2.0", "id": id}) + "\n")
        sys.stdout.flush()
    else:
        send({"id": id, "result": result})


def main() -> None:
    note("start")
    if "--refuse" in FLAGS:
        sys.exit(f"no licence found for {os.environ.get('THE_KEY', 'nobody')}")
    if "--stubborn" in FLAGS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if path := option("--child"):
        child = subprocess.Popen(["sleep", "600"])
        Path(path).write_text(f"{os.getpid()} {child.pid}")
    if "--hang" in FLAGS:
        time.sleep(600)
    time.sleep(float(option("--sleep") or 0))
    if "--junk" in FLAGS:
        print("Welcome!\n\n{}\n[1, 2]\n" + "z" * 100_000)
    if "--binary" in FLAGS:
        sys.stdout.buffer.write(zlib.compress(b"binary" * 99) + b"\xff\xfe\0\n")
    note("up")
    for line in sys.stdin:
        answer(json.loads(line))
    if "--stubborn" in FLAGS:
        time.sleep(600)


if __name__ == "__main__":
    main()
