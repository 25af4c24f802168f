"""A reply with thoughts on each wire, and the messages and requests that it leads to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

import pytest
from tests.servers import fake
from tests.servers.wire_bodies import BODIES, WireBodies

from toolmark.agents.tool_loop import render_reply
from toolmark.core.errors import EndpointError
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Reply, Request, Result, Text
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.wire_names import WireName
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.models.wires.wire import EncodedRequest, EncoderSettings, RequestEncoder, Wire
from toolmark.models.wires.wire_registry import wire_by_name

Json = dict[str, Any]
T = TypeVar("T")
HERE = "here"
USER = Message(role="user", parts=(Text("hello"),))
SYSTEM = Message(role="system", parts=(Text("Be brief."),))


def body_of(sent: EncodedRequest) -> Json:
    found: Json = json.loads(sent.body)
    return found


def kinds_of(sent: EncodedRequest) -> list[str]:
    """Return the kinds of what had to be changed of a request."""
    return [each.kind for each in sent.adaptations]


class WireSample(NamedTuple):
    """A wire, and what a model says on it: a thought, a text and a call.

    `conversation` is the member of a request with all messages.
    """

    name: WireName
    conversation: str
    said: list[Json]

    @property
    def wire(self) -> Wire:
        return wire_by_name(self.name)

    @property
    def bodies(self) -> WireBodies:
        return BODIES[self.name]

    def encoder(
        self,
        profile: EndpointProfile = DEFAULT_PROFILE,
        media: MediaStore | None = None,
        origin: str = HERE,
        model: str = "m",
        **more: Any,
    ) -> RequestEncoder:
        return self.wire.make_encoder(EncoderSettings(model, profile, media, origin, **more))

    def send(self, *messages: Message, **more: Any) -> EncodedRequest:
        return self.encoder().encode_request(Request(messages=messages, **more))

    def encode(self, *messages: Message, **more: Any) -> Json:
        return body_of(self.send(*messages, **more))

    def decode(self, body: Any, latency_s: float = 0.5) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.wire.decode_reply(data, NO_TOOLS, latency_s, HERE)

    def decode_both_ways(self, body: Json) -> tuple[Reply, Reply]:
        """Return a reply as it is read usually, and as one is whose body is not as documented.

        The name of the model is no text in the second.
        """
        return self.decode(body), self.decode(body | {self.bodies.model: 5})

    def read(self, *said: Any, **more: Any) -> Reply:
        """Return the reply that says these."""
        return self.decode(self.bodies.body(*said, **more))

    def use(
        self,
        behaviour: fake.Behaviour,
        work: Callable[[EndpointModel], Awaitable[T]],
        **settings: Any,
    ) -> tuple[T, list[fake.Asked]]:
        """Do something with an endpoint that behaves so; also return what it was asked."""

        async def go() -> tuple[T, list[fake.Asked]]:
            async with fake.serve(behaviour) as server:
                settings["url"] = server.url + settings.pop("query", "")
                model = EndpointModel(**{"model": "m", "wire": self.wire, **settings})
                try:
                    return await work(model), server.asked
                finally:
                    await model.close()

        return asyncio.run(go())

    def ask(
        self, *steps: fake.Behaviour, **settings: Any
    ) -> tuple[Reply | EndpointError, list[fake.Asked]]:
        """Ask once an endpoint that answers so, one step for each request; the last one stays."""

        async def exchange(model: EndpointModel) -> Reply | EndpointError:
            try:
                return await model(Request(messages=(USER,)))
            except EndpointError as error:
                return error

        return self.use(fake.script(*steps), exchange, **settings)

    def answered(self, said: list[Json] | None = None) -> tuple[Message, ...]:
        """Return the messages that follow a reply: what it said, and a result for each call."""
        reply = self.read(*(self.said if said is None else said))
        results = tuple(Result(parts=(Text(f"r{i}"),)) for i, _ in enumerate(reply.calls))
        return render_reply(NATIVE_FORMAT, reply, reply.calls, results)

    def spoken(self, body: Json) -> list[Json]:
        """Return all that the model said of the conversation in a request."""
        messages: list[Json] = body[self.conversation]
        match self.name:
            case "chat":
                return [each for each in messages if each["role"] == "assistant"]
            case "responses":
                own = [each for each in messages if each.get("role", "assistant") == "assistant"]
                return [each for each in own if each.get("type") != "function_call_output"]
            case "anthropic":
                return [b for m in messages if m["role"] == "assistant" for b in m["content"]]
            case "gemini":
                return [p for m in messages if m["role"] == "model" for p in m["parts"]]


CHAT = WireSample("chat", "messages", [{
    "role": "assistant", "content": "I look.", "reasoning_content": "Hm.",
    "tool_calls": [{"id": "call_1", "type": "function", "function": {
        "name": "get_weather", "arguments": '{"city":  "Paris"}'}}],
}])  # fmt: skip
RESPONSES = WireSample("responses", "input", [
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
    {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
     "phase": "commentary",
     "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "get_weather",
     "arguments": '{"city":  "Paris"}', "status": "completed"},
])  # fmt: skip
MESSAGES = WireSample("anthropic", "messages", [
    {"type": "thinking", "thinking": "I look.", "signature": "c2ln"},
    {"type": "text", "text": "I look that up."},
    {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"},
     "caller": {"type": "direct"}},
])  # fmt: skip
GEMINI = WireSample("gemini", "contents", [
    {"text": "Hm.", "thought": True},
    {"text": "I look."},
    {"functionCall": {"name": "get_weather", "args": {"city":  "Paris"}},
     "thoughtSignature": "c2lnbmVk"},
    {"functionCall": {"name": "get_weather", "args": {"city": "Rome"}, "id": "own"}},
])  # fmt: skip
SAMPLES: dict[WireName, WireSample] = {
    each.name: each for each in (CHAT, RESPONSES, MESSAGES, GEMINI)
}


def by_wire(names: str, table: dict[WireName, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Run a law on each row of each wire's table."""
    columns = names.split()
    rows = [
        (name, *row) if len(columns) > 1 else (name, row)
        for name, found in table.items()
        for row in found
    ]
    return pytest.mark.parametrize(("name", *columns), rows)
