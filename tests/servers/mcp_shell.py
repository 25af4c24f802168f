"""An MCP server that runs any Python it is given: what a model has that broke out of a tool.

It speaks the protocol without the SDK, so that it starts in no time.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import traceback
from typing import Any

TOOL = {
    "name": "run",
    "description": "Run Python code; returns what it prints.",
    "inputSchema": {"type": "object", "properties": {"code": {"type": "string"}}},
}


def run(code: str) -> dict[str, Any]:
    heard = io.StringIO()
    failed = False
    with contextlib.redirect_stdout(heard):
        try:
            exec(code, {"__name__": "attack"})  # noqa: S102 - that is what it is for
        except BaseException:
            failed = True
            traceback.print_exc(limit=-1, file=heard)
    return {"content": [{"type": "text", "text": heard.getvalue()}], "isError": failed}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        about = {"name": "shell", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    return run(params["arguments"]["code"]) if method == "tools/call" else {}


for line in sys.stdin:
    said = json.loads(line)
    if "id" in said:
        result = answer(said["method"], said.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": said["id"], "result": result}) + "\n")
        sys.stdout.flush()
