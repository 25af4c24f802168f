"""A model that refuses a forced call decides itself, on every wire, and the reply says so."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.models.test_history_repair import SAID
from tests.servers import fake

from toolmark.core.records import Message, Reply, Request, Sampling, Text, Tool
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
HELLO = (Message(role="user", parts=(Text("hello"),)),)
FORCED: dict[WireName, Json] = {
    "chat": {"tool_choice": "required"},
    "responses": {"tool_choice": {"type": "function", "name": "f"}},
    "anthropic": {"tool_choice": {"type": "any", "disable_parallel_tool_use": True}},
    "gemini": {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
}
AUTO: dict[WireName, Json] = {
    "chat": {},
    "responses": {},
    "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    "gemini": {},
}
COMPLAINTS: dict[WireName, tuple[str, ...]] = {
    "chat": (
        "deepseek-reasoner does not support this tool_choice",
        "tool_choice 'specified' is incompatible with thinking enabled",
    ),
    "responses": ("tool_choice is not supported with this model's reasoning",),
    "anthropic": ("Thinking may not be enabled when tool_choice forces tool use.",),
    "gemini": ("function_calling_config mode ANY is not supported while thinking",),
}
FIELDS = ("tool_choice", "toolConfig")
CASES = [(wire, text) for wire in WIRE_NAMES for text in COMPLAINTS[wire]]


@pytest.mark.parametrize(("wire", "text"), CASES)
def test_a_refused_choice_falls_back_to_auto_and_is_remembered(wire: WireName, text: str) -> None:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        is_forced = asked.json.items() >= FORCED[wire].items()
        body = {"error": {"message": text}} if is_forced else SAID[wire]
        writer.write(fake.raw(400 if is_forced else 200, json.dumps(body).encode()))

    async def ask() -> tuple[list[Reply], list[Json], frozenset[str]]:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m", wire=wire_by_name(wire))
            sampling = Sampling(max_tokens=2_000, reasoning_effort="low", extra=FORCED[wire])
            request = Request(messages=HELLO, tools=(Tool(name="f"),), sampling=sampling)
            replies = [await model(request) for _ in range(3)]
            await model.close()
            return replies, [asked.json for asked in server.asked], model.refused_settings

    replies, bodies, refused = asyncio.run(ask())
    asked = [{name: body[name] for name in FIELDS if name in body} for body in bodies]
    assert asked == [FORCED[wire], AUTO[wire], FORCED[wire], AUTO[wire], AUTO[wire]]
    for reply in replies:
        kinds = [each.kind for each in reply.adaptations]
        assert kinds.count("tool_choice") == 1
    assert refused == {"tool_choice"}
    # what the complaint names as well stays as it was
    others = [{name: body[name] for name in body if name not in FIELDS} for body in bodies]
    assert all(each == others[0] for each in others)
