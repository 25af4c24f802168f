"""What the Messages wire sends, and what its test server answers, has the types of Anthropic."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models import test_anthropic_request as requests
from tests.models.test_anthropic_thinker import ask_with_other_tools, play
from tests.parity.test_responses_types import find_faults
from tests.servers import anthropic_server, fake

from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Request, Sampling, Text, Tool

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]
SCRIPT = "anthropic_types.py"
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-sonnet-4-5", "other")


def written_requests(media: MediaStore) -> list[Json]:
    """Return requests with all that the wire can write."""
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    paper = media.add_image(b"%PDF", "application/pdf")
    said, result = requests.answered(requests.CONTENT)
    seen = replace(result, parts=(Text("see"), image, paper), is_error=True)
    user = Message(role="user", parts=(Text("x"), image, paper))
    choice = {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}]}
    tools = (Tool(name="f"), Tool(name="g.h", description="d", parameters=choice))
    full = Request(
        messages=(requests.SYSTEM, requests.USER, said, seen, user, requests.SYSTEM), tools=tools,
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=50_000, reasoning_effort="low",
            extra={"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        ),
    )  # fmt: skip
    off = replace(full, sampling=Sampling(reasoning_effort="none"))
    least = Request(messages=(requests.USER,))
    bodies = []
    for model in MODELS:
        for more in ({}, {"is_stream": True}, {"origin": "elsewhere"}):
            made = requests.encoder(requests.ANTHROPIC, media, model=model, **more)
            bodies += [requests.body_of(made.encode_request(each)) for each in (full, off, least)]
    return bodies


def test_requests_and_the_servers_answers_have_anthropics_types(
    vendor_python: Path, tmp_path: Path
) -> None:
    thinker = anthropic_server.Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path / "runs")
    ask_with_other_tools(thinker)
    assert any("block_binding" in body["thinking"] for body in thinker.bodies)
    bodies = [*thinker.bodies, *written_requests(MediaStore(tmp_path / "media"))]
    jobs = [("request", body) for body in bodies]
    dropped = {"type": "thinking_dropped", "path": "p", "reason": "prefix_binding_mismatch"}
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    answers = [
        anthropic_server.message(requests.CONTENT, input_transformations=[dropped]),
        anthropic_server.message([], stop_reason="refusal", stop_details=details),
        anthropic_server.message(requests.CONTENT[:2], stop_reason="pause_turn"),
    ]
    for answer in answers:
        jobs.append(("response", answer))
        jobs += [("event", event) for event in anthropic_server.events(answer)]
    assert set(find_faults(vendor_python, jobs, SCRIPT)) == {""}


def test_the_types_refuse_what_is_wrong(vendor_python: Path, tmp_path: Path) -> None:
    body = written_requests(MediaStore(tmp_path))[0]

    def changed(*path: Any, value: Any) -> tuple[str, Json]:
        other = copy.deepcopy(body)
        place: Any = other
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value
        return "request", other

    jobs = [
        changed("input", value=[]),
        changed("max_tokens", value="many"),
        changed("thinking", "type", value="sometimes"),
        changed("thinking", "budget_tokens", value=5),
        changed("output_config", "effort", value="much"),
        changed("tools", 0, "parameters", value={}),
        changed("tools", 0, "name", value=5),
        changed("system", 0, "cache_control", value=True),
        changed("messages", 0, "role", value="tool"),
        changed("messages", 1, "content", 0, "signature", value=None),
        changed("messages", 1, "content", 2, "input", value="{}"),
        changed("messages", 2, "content", 0, "is_error", value="yes"),
        changed("messages", 2, "content", 0, "content", 1, "source", "media_type", value="x"),
    ]
    faults = find_faults(vendor_python, jobs, SCRIPT)
    assert "" not in faults, [job[0] for job, fault in zip(jobs, faults, strict=True) if not fault]
