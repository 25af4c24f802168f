"""An endpoint with a mind: it plays the planner, or answers with a fixed status and body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.servers import fake

from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.core.records import Call, Message, Request, Text, Tool


@dataclass
class Mind:
    """What the endpoint does, and what it was asked."""

    url: str = ""
    status: int = 200
    body: Any = None
    wait_s: float = 0.0
    refuses: str = ""
    asked: list[fake.Asked] = field(default_factory=list)

    @property
    def model(self) -> str:
        return f"{self.url}#planner"


def _request(body: dict[str, Any]) -> Request:
    """Read a chat completions request back into our words."""
    messages = []
    for each in body["messages"]:
        calls = tuple(
            Call(name=c["function"]["name"], arguments=c["function"]["arguments"], id=c["id"])
            for c in each.get("tool_calls", ())
        )
        parts = (Text(each["content"]),) if each.get("content") else ()
        messages.append(
            Message(role=each["role"], parts=parts, calls=calls,
                    call_id=each.get("tool_call_id", ""))
        )  # fmt: skip
    tools = tuple(
        Tool(name=t["function"]["name"], description=t["function"]["description"],
             parameters=t["function"]["parameters"])
        for t in body.get("tools", ())
    )  # fmt: skip
    return Request(messages=tuple(messages), tools=tools)


async def play(asked: fake.Asked) -> dict[str, Any]:
    reply = await BackwardPlanner()(_request(asked.json))
    if not reply.calls:
        return fake.says(reply.text)
    made = [(call.name, call.arguments) for call in reply.calls]
    return fake.calls(*made)


@dataclass
class Said:
    code: int
    out: str
    err: str


Command = Callable[..., Said]
