"""What each wire sends, and what its test server answers, has the types of its vendor.

Members of other providers that chat completions lack (reasoning that goes back, for example) are
checked by their strict servers: tests/models/test_strict_chat.py.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from tests.models import test_anthropic_thinker, test_gemini_thinker, thinking_runs
from tests.models.test_anthropic_request import ANTHROPIC
from tests.models.wire_samples import (
    CHAT,
    GEMINI,
    MESSAGES,
    RESPONSES,
    SYSTEM,
    USER,
    WireSample,
    body_of,
)
from tests.servers import (
    anthropic_server,
    fake,
    gemini_server,
    planning_endpoint,
    responses_server,
    streams,
)

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Part, Request, Sampling, Text, Tool
from toolmark.models.endpoint_profile import DEFAULT_PROFILE
from toolmark.models.provider_table import profile_for_url
from toolmark.models.wire_names import WireName
from toolmark.models.wires.wire import RequestEncoder

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]
Jobs = list[tuple[str, Json]]
CLAUDES = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-5", "other")
SETTINGS = Sampling(temperature=0.5, top_p=0.9, max_tokens=50_000, reasoning_effort="low")
CHOICE = {"type": "object", "properties": {"a": {"anyOf": [{"const": 1}, {"type": "null"}]}}}
CHOICE_AT_ROOT = {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}


class TypedWire(NamedTuple):
    """A wire, and the script that has its vendor's types.

    `write` returns requests with all that the wire can write; `observe` returns what was sent to
    the test server by runs, and `answers` what that says. `wrong` changes the first request that
    was written: each change is a path with a value that no vendor takes.
    """

    script: str
    kind: str
    write: Callable[[MediaStore], list[Json]]
    observe: Callable[[Path], list[Json]]
    answers: Callable[[], Jobs]
    wrong: list[tuple[tuple[Any, ...], Any]]


def find_faults(python: Path, jobs: Jobs, script: str = "openai_types.py") -> list[str]:
    """Return the fault of each value, "" for none; `script` has the types."""
    environment = {key: each for key, each in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, Path(__file__).with_name(script)],
        input=json.dumps(jobs), capture_output=True, text=True, env=environment, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[str] = json.loads(done.stdout)
    assert len(found) == len(jobs)
    return found


def write_all(encoders: Iterable[RequestEncoder], *requests: Request) -> list[Json]:
    """Return the requests as each encoder writes them, also after a refusal of their history."""
    return [
        body_of(encoder.encode_request(request, repair_arguments=repairs))
        for encoder in encoders
        for request in requests
        for repairs in (False, True)
    ]


def encoders_of(sample: WireSample, media: MediaStore, **more: Any) -> list[RequestEncoder]:
    """Return encoders for an endpoint, for its streams, and for one that said nothing so far."""
    changes: tuple[Json, ...] = ({}, {"is_stream": True}, {"origin": "elsewhere"})
    return [sample.encoder(media=media, **more, **change) for change in changes]


def picture_of(media: MediaStore) -> Part:
    return media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")


def play(wire: WireName, behaviour: fake.Behaviour, folder: Path, model: str = "thinker") -> None:
    with fake.in_thread(behaviour) as server:
        thinking_runs.play(server, folder, wire, model)


# --- chat completions -------------------------------------------------------------------


def write_chat(media: MediaStore) -> list[Json]:
    """Return requests to two endpoints."""
    picture = picture_of(media)
    sound = media.add_audio(b"RIFF", "audio/wav")
    calls = (Call(name="f", id="a", arguments="{}"), Call(name="g.h", id="b", arguments='{"x": 1}'))
    messages = (
        SYSTEM,
        Message(role="user", parts=(Text("look"), picture, sound)),
        Message(role="assistant", parts=(Text("I look."),), calls=calls),
        Message(role="tool", call_id="a", parts=(Text("see"), picture)),
        Message(role="tool", call_id="b", parts=(Text("no"),), is_error=True),
        Message(role="assistant", calls=calls[:1]),
        Message(role="tool", call_id="a", parts=(Text("1"),)),
        Message(role="assistant", parts=(Text("Done."),)),
        USER,
    )
    extra = {"seed": 1, "stop": ["x"], "tool_choice": "required", "store": False,
             "parallel_tool_calls": False, "response_format": {"type": "json_object"}}  # fmt: skip
    full = Request(
        messages=messages,
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters={"type": "object"})),
        sampling=replace(SETTINGS, extra=extra),
    )
    least = Request(messages=messages[1:2])
    plain = replace(full, sampling=Sampling(), tools=())
    encoders = (
        CHAT.encoder(profile, media, is_stream=is_stream)
        for profile in (DEFAULT_PROFILE, profile_for_url("https://api.openai.com/v1"))
        for is_stream in (False, True)
    )
    return write_all(encoders, full, least, plain)


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


def observe_chat(folder: Path) -> list[Json]:
    bodies: list[Json] = []
    for stream in (False, True):
        with fake.in_thread(plan) as server:
            thinking_runs.play(server, folder / str(stream), "chat", stream=stream)
            bodies += [each.json for each in server.asked if each.body]
    return bodies


def answer_chat() -> Jobs:
    jobs: Jobs = []
    for answer in (
        fake.says("It is sunny."), fake.calls(("f", "{}"), ("g", '{"x": 1}')),
        fake.reply({"role": "assistant", "content": None, "refusal": "no"}, "content_filter"),
    ):  # fmt: skip
        answer |= {"created": 0}
        answer["choices"][0]["logprobs"] = None
        answer["choices"][0]["message"].setdefault("refusal", None)
        jobs.append(("chat_response", answer))
        jobs += [("chat_chunk", chunk) for chunk in streams.chunks(answer)]
    return jobs


# --- responses --------------------------------------------------------------------------


def write_responses(media: MediaStore) -> list[Json]:
    picture = picture_of(media)
    said, result = RESPONSES.answered()
    seen = replace(result, parts=(Text("see"), picture))
    extra = {"reasoning": {"context": "all_turns"}, "parallel_tool_calls": False}
    full = Request(
        messages=(SYSTEM, USER, said, seen, Message(role="user", parts=(picture,)), SYSTEM),
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters={"type": "object"})),
        sampling=replace(SETTINGS, extra=extra),
    )
    least = Request(messages=(USER, said, result))
    return write_all(encoders_of(RESPONSES, media), full, least)


def observe_responses(folder: Path) -> list[Json]:
    thinker = responses_server.Thinker()
    play("responses", thinker, folder)
    return thinker.bodies


def answer_responses() -> Jobs:
    answer = responses_server.response(RESPONSES.said)
    events = enumerate(responses_server.events(answer))
    return [
        ("response", answer),
        *(("event", event | {"sequence_number": number}) for number, event in events),
    ]


# --- anthropic --------------------------------------------------------------------------


def write_messages(media: MediaStore) -> list[Json]:
    """Return requests to models that think in different ways."""
    picture, paper = picture_of(media), media.add_image(b"%PDF", "application/pdf")
    said, result = MESSAGES.answered()
    seen = replace(result, parts=(Text("see"), picture, paper), is_error=True)
    user = Message(role="user", parts=(Text("x"), picture, paper))
    extra = {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}
    full = Request(
        messages=(SYSTEM, USER, said, seen, user, SYSTEM),
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters=CHOICE_AT_ROOT)),
        sampling=replace(SETTINGS, extra=extra),
    )
    off = replace(full, sampling=Sampling(reasoning_effort="none"))
    encoders = [
        encoder
        for model in CLAUDES
        for encoder in encoders_of(MESSAGES, media, profile=ANTHROPIC, model=model)
    ]
    return write_all(encoders, full, off, Request(messages=(USER,)))


def observe_messages(folder: Path) -> list[Json]:
    thinker = anthropic_server.Thinker()
    play("anthropic", thinker, folder, test_anthropic_thinker.MODEL)
    test_anthropic_thinker.ask_with_other_tools(thinker)
    assert any("block_binding" in body["thinking"] for body in thinker.bodies)
    return thinker.bodies


def answer_messages() -> Jobs:
    dropped = {"type": "thinking_dropped", "path": "p", "reason": "prefix_binding_mismatch"}
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    answers = [
        anthropic_server.message(MESSAGES.said, input_transformations=[dropped]),
        anthropic_server.message([], stop_reason="refusal", stop_details=details),
        anthropic_server.message(MESSAGES.said[:2], stop_reason="pause_turn"),
    ]
    events = (event for answer in answers for event in anthropic_server.events(answer))
    return [*(("response", each) for each in answers), *(("event", each) for each in events)]


# --- gemini -----------------------------------------------------------------------------


def write_contents(media: MediaStore) -> list[Json]:
    picture, paper = picture_of(media), media.add_image(b"%PDF", "application/pdf")
    sound = media.add_audio(b"RIFF", "audio/wav")
    said, first, second = GEMINI.answered()
    seen = replace(second, parts=(Text("see"), picture, paper), is_error=True)
    user = Message(role="user", parts=(Text("x"), picture, paper, sound))
    extra = {"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}
    full = Request(
        messages=(SYSTEM, USER, said, first, seen, user, SYSTEM),
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters=CHOICE)),
        sampling=replace(SETTINGS, extra=extra),
    )
    off = replace(full, sampling=Sampling(reasoning_effort="none"))
    return write_all(encoders_of(GEMINI, media), full, off, Request(messages=(USER,)))


def observe_contents(folder: Path) -> list[Json]:
    thinker = gemini_server.Thinker()
    play("gemini", thinker, folder)
    test_gemini_thinker.ask_foreign(thinker, n=2)
    return thinker.bodies


def answer_contents() -> Jobs:
    blocked = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."}
    answers = [
        gemini_server.response(GEMINI.said),
        gemini_server.response([], "MALFORMED_FUNCTION_CALL", finishMessage="f("),
        gemini_server.response(GEMINI.said, "MAX_TOKENS"),
    ]
    events = (event for answer in answers for event in gemini_server.events(answer))
    return [
        *(("response", each) for each in answers), *(("event", each) for each in events),
        ("response", {"promptFeedback": blocked, "modelVersion": "m"}),
    ]  # fmt: skip


# --- laws -------------------------------------------------------------------------------


WIRES: dict[WireName, TypedWire] = {
    "chat": TypedWire(
        "openai_types.py", "chat_request", write_chat, observe_chat, answer_chat, [
            (("input",), []),
            (("temperature",), "hot"),
            (("reasoning_effort",), "a lot"),
            (("messages", 0, "role"), "model"),
            (("messages", 1, "content", 1, "type"), "input_image"),
            (("messages", 2, "tool_calls", 0, "function", "arguments"), {}),
            (("messages", 2, "tool_calls", 0, "call_id"), "a"),
            (("messages", 3, "tool_call_id"), 5),
            (("messages", 3, "name"), "f"),
            (("tools", 0, "name"), "f"),
            (("tools", 0, "function"), {}),
            (("stream_options",), {"usage": True}),
        ]),
    "responses": TypedWire(
        "openai_types.py", "request", write_responses, observe_responses, answer_responses, [
            (("messages",), []),
            (("store",), "no"),
            (("include",), ["reasoning"]),
            (("tools", 0, "strict"), "no"),
            (("tools", 0, "function"), {}),
            (("input", 0, "role"), "tool"),
            (("input", 1, "content"), 5),
            (("input", 2, "summary"), None),
            (("input", 3, "content", 0, "type"), "text"),
            (("input", 4, "call_id"), 5),
            (("reasoning", "effort"), "a lot"),
        ]),
    "anthropic": TypedWire(
        "anthropic_types.py", "request", write_messages, observe_messages, answer_messages, [
            (("input",), []),
            (("max_tokens",), "many"),
            (("thinking", "type"), "sometimes"),
            (("thinking", "budget_tokens"), 5),
            (("output_config", "effort"), "much"),
            (("tools", 0, "parameters"), {}),
            (("tools", 0, "name"), 5),
            (("system", 0, "cache_control"), True),
            (("messages", 0, "role"), "tool"),
            (("messages", 1, "content", 0, "signature"), None),
            (("messages", 1, "content", 2, "input"), "{}"),
            (("messages", 2, "content", 0, "is_error"), "yes"),
            (("messages", 2, "content", 0, "content", 1, "source", "media_type"), "x"),
        ]),
    "gemini": TypedWire(
        "gemini_types.py", "request", write_contents, observe_contents, answer_contents, [
            (("messages",), []),
            (("contents",), "x"),
            (("system_instruction",), {"parts": [{"text": "Be brief."}]}),
            (("systemInstruction",), 5),
            (("contents", 0, "content"), "x"),
            (("contents", 1, "parts", 2, "functionCall", "args"), "{}"),
            (("contents", 1, "parts", 2, "thoughtSignature"), "no base64!"),
            (("contents", 2, "parts", 0, "functionResponse", "response"), "r0"),
            (("contents", 2, "parts", 0, "functionResponse", "call_id"), "x"),
            (("contents", 3, "parts", 1, "inlineData", "mime"), "x"),
            (("tools", 0, "functionDeclarations", 0, "strict"), False),
            (("tools", 0, "function"), {}),
            (("toolConfig", "functionCallingConfig", "modes"), "ANY"),
            (("generationConfig", "max_tokens"), 5),
            (("generationConfig", "temperature"), "hot"),
            (("generationConfig", "thinkingConfig", "effort"), "low"),
        ]),
}  # fmt: skip
every_wire = pytest.mark.parametrize("wire", WIRES.values(), ids=WIRES)


@every_wire
def test_requests_and_the_servers_answers_have_the_vendors_types(
    wire: TypedWire, vendor_python: Path, tmp_path: Path
) -> None:
    bodies = [*wire.observe(tmp_path / "runs"), *wire.write(MediaStore(tmp_path / "media"))]
    jobs = [*((wire.kind, body) for body in bodies), *wire.answers()]
    assert set(find_faults(vendor_python, jobs, wire.script)) == {""}


@every_wire
def test_the_types_refuse_what_is_wrong(
    wire: TypedWire, vendor_python: Path, tmp_path: Path
) -> None:
    body = wire.write(MediaStore(tmp_path))[0]

    def change(path: tuple[Any, ...], value: Any) -> tuple[str, Json]:
        other = copy.deepcopy(body)
        place: Any = other
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return wire.kind, other

    faults = find_faults(
        vendor_python, [(wire.kind, body), *(change(*each) for each in wire.wrong)], wire.script
    )
    accepted = [path for (path, _), fault in zip(wire.wrong, faults[1:], strict=True) if not fault]
    assert (faults[0], accepted) == ("", [])
