"""What chat completions send to Mistral, Groq and OpenRouter has the types of their packages."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models.test_strict_chat import play, served
from tests.models.wire_samples import CHAT, SYSTEM, USER
from tests.parity.test_wire_types import SETTINGS, Json, find_faults, picture_of, write_all
from tests.servers.strict_chat import RULE_BY_NAME

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Request, Sampling, Text, Tool
from toolmark.models.provider_table import profile_for_url

__all__ = ["served"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
SCRIPT = "provider_types.py"
PROVIDERS = ("mistral", "groq", "openrouter")
# Groq's type of a chunk says that the usage comes if this is asked for; that of a request lacks it
UNLISTED = {"groq": ("stream_options",)}
every_provider = pytest.mark.parametrize("provider", PROVIDERS)


def write(provider: str, media: MediaStore) -> list[Json]:
    """Return requests with all that these providers take, whole and streamed."""
    calls = (Call(name="f", id="a", arguments="{}"), Call(name="g.h", id="b", arguments='{"x": 1}'))
    picture = picture_of(media)
    messages = (
        SYSTEM,
        Message(role="user", parts=(Text("look"), picture)),
        Message(role="assistant", parts=(Text("I look."),), calls=calls),
        Message(role="tool", call_id="a", parts=(Text("see"), picture)),
        Message(role="tool", call_id="b", parts=(Text("no"),), is_error=True),
        Message(role="assistant", calls=calls[:1]),
        Message(role="tool", call_id="a", parts=(Text("1"),)),
        Message(role="assistant", parts=(Text("Done."),)),
        USER,
    )
    tools = (Tool(name="f"), Tool(name="g.h", description="d", parameters={"type": "object"}))
    extra = {"tool_choice": "auto", "parallel_tool_calls": False}
    full = Request(messages=messages, tools=tools, sampling=replace(SETTINGS, extra=extra))
    plain = replace(full, sampling=Sampling(), tools=())
    profile = profile_for_url(f"https://{RULE_BY_NAME[provider].host}/v1")
    encoders = [CHAT.encoder(profile, media, is_stream=streams) for streams in (False, True)]
    return write_all(encoders, full, plain, Request(messages=(USER,)))


def without_unlisted(provider: str, body: Json) -> Json:
    return {name: each for name, each in body.items() if name not in UNLISTED.get(provider, ())}


@every_provider
def test_requests_have_the_types_of_the_providers_package(
    provider: str, vendor_python: Path, tmp_path: Path
) -> None:
    bodies = write(provider, MediaStore(tmp_path / "media"))
    jobs = [(provider, without_unlisted(provider, body)) for body in bodies]
    assert set(find_faults(vendor_python, jobs, SCRIPT)) == {""}


@every_provider
@pytest.mark.parametrize("is_stream", [False, True], ids=["plain", "stream"])
def test_thoughts_that_go_back_have_the_types_of_the_providers_package(
    served: Any, provider: str, is_stream: bool, vendor_python: Path, tmp_path: Path
) -> None:
    bodies: list[Json] = []
    with served(RULE_BY_NAME[provider]) as endpoint:
        endpoint.damage = lambda body: bodies.append(copy.deepcopy(body))
        play(endpoint, tmp_path, stream=is_stream)
        assert endpoint.refused == [] and endpoint.n_carried > 4
    jobs = [(provider, without_unlisted(provider, body)) for body in bodies]
    assert set(find_faults(vendor_python, jobs, SCRIPT)) == {""}


@every_provider
def test_the_types_refuse_what_is_wrong(provider: str, vendor_python: Path, tmp_path: Path) -> None:
    body = without_unlisted(provider, write(provider, MediaStore(tmp_path))[0])

    def change(*path: Any, value: Any) -> tuple[str, Json]:
        other = copy.deepcopy(body)
        place: Any = other
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return provider, other

    jobs = [
        (provider, body),
        change("input", value=[]),
        change("temperature", value="hot"),
        change("messages", 0, "role", value="model"),
        change("messages", 1, "content", 1, "type", value="input_image"),
        change("messages", 2, "tool_calls", 0, "function", "name", value=5),
        change("messages", 3, "tool_call_id", value=5),
        change("messages", 3, "shown", value="f"),
        change("tools", 0, "name", value="f"),
        change("tools", 0, "function", value={}),
        change("tool_choice", value=5),
    ]
    faults = find_faults(vendor_python, jobs, SCRIPT)
    accepted = [job for job, fault in zip(jobs[1:], faults[1:], strict=True) if not fault]
    assert (faults[0], accepted) == ("", [])
