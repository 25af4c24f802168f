"""What the chat wire sends, and what its test servers answer, has the types of OpenAI.

Providers' members beyond them (reasoning that goes back, for example) are checked by their strict
servers: tests/models/test_strict_chat.py.
"""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.test_chat_request import said, sent
from tests.models.thinking_runs import play
from tests.parity.test_responses_types import find_faults
from tests.servers import fake, planning_endpoint, streams

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Request, Sampling, Text, Tool
from toolmark.models.endpoint_profile import DEFAULT_PROFILE, EndpointProfile
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wires.chat_request import ChatEncoder
from toolmark.models.wires.wire import EncoderSettings

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]


def written_requests(media: MediaStore) -> list[Json]:
    """Return requests with all that the wire can write, whole and streamed, of two endpoints."""
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    sound = media.add_audio(b"RIFF", "audio/wav")
    calls = (Call(name="f", id="a", arguments="{}"), Call(name="g.h", id="b", arguments='{"x": 1}'))
    messages = (
        said("system", Text("x")),
        said("user", Text("look"), image, sound),
        Message(role="assistant", parts=(Text("I look."),), calls=calls),
        Message(role="tool", call_id="a", parts=(Text("see"), image)),
        Message(role="tool", call_id="b", parts=(Text("no"),), is_error=True),
        Message(role="assistant", calls=calls[:1]),
        Message(role="tool", call_id="a", parts=(Text("1"),)),
        said("assistant", Text("Done.")),
        said("user", Text("Thanks.")),
    )
    full = Request(
        messages=messages,
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters={"type": "object"})),
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=50, reasoning_effort="low",
            extra={"seed": 1, "stop": ["x"], "tool_choice": "required", "store": False,
                   "parallel_tool_calls": False, "response_format": {"type": "json_object"}},
        ),
    )  # fmt: skip
    least = Request(messages=messages[1:2])
    plain = replace(full, sampling=Sampling(), tools=())
    return [
        sent(request, encoder, amended=amended)
        for profile in (DEFAULT_PROFILE, profile_for_url("https://api.openai.com/v1"))
        for encoder in encoders(profile, media)
        for request in (full, least, plain)
        for amended in (False, True)
    ]


def encoders(profile: EndpointProfile, media: MediaStore) -> list[ChatEncoder]:
    return [
        ChatEncoder(EncoderSettings("m", profile, media, is_stream=is_stream))
        for is_stream in (False, True)
    ]


async def plan(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
    """Play the planner, streamed where that is asked for."""
    if asked.target.endswith("/models"):
        writer.write(fake.raw(200, b'{"data":[{"id":"thinker"}]}'))
        return
    body = await planning_endpoint.play(asked)
    if asked.json.get("stream"):
        writer.write(streams.chunked([streams.events(streams.chunks(body))]))
    else:
        writer.write(fake.raw(200, json.dumps(body).encode()))


def test_requests_and_the_servers_answers_have_openais_types(
    vendor_python: Path, tmp_path: Path
) -> None:
    bodies = written_requests(MediaStore(tmp_path / "media"))
    for stream in (False, True):
        with fake.in_thread(plan) as server:
            play(server, tmp_path / str(stream), "chat", stream=stream)
            bodies += [each.json for each in server.asked if each.body]
    jobs = [("chat_request", body) for body in bodies]
    whole = (
        fake.says("It is sunny."), fake.calls(("f", "{}"), ("g", '{"x": 1}')),
        fake.reply({"role": "assistant", "content": None, "refusal": "no"}, "content_filter"),
    )  # fmt: skip
    for answer in whole:
        answer |= {"created": 0}
        answer["choices"][0]["logprobs"] = None
        answer["choices"][0]["message"].setdefault("refusal", None)
        jobs.append(("chat_response", answer))
        jobs += [("chat_chunk", chunk) for chunk in streams.chunks(answer)]
    assert set(find_faults(vendor_python, jobs)) == {""}


def test_the_types_refuse_what_is_wrong(vendor_python: Path, tmp_path: Path) -> None:
    body = written_requests(MediaStore(tmp_path))[0]

    def changed(*path: Any, value: Any) -> tuple[str, Json]:
        other = copy.deepcopy(body)
        place: Any = other
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return "chat_request", other

    jobs = [
        changed("input", value=[]),
        changed("temperature", value="hot"),
        changed("reasoning_effort", value="a lot"),
        changed("messages", 0, "role", value="model"),
        changed("messages", 1, "content", 1, "type", value="input_image"),
        changed("messages", 2, "tool_calls", 0, "function", "arguments", value={}),
        changed("messages", 2, "tool_calls", 0, "call_id", value="a"),
        changed("messages", 3, "tool_call_id", value=5),
        changed("messages", 3, "name", value="f"),
        changed("tools", 0, "name", value="f"),
        changed("tools", 0, "function", value={}),
        changed("stream_options", value={"usage": True}),
    ]
    assert "" not in find_faults(vendor_python, jobs)
