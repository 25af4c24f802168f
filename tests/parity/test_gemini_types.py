"""What the gemini wire sends, and what its test server answers, has the types of Google."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.models import test_gemini_request as requests
from tests.models.test_gemini_thinker import ask_foreign, play
from tests.parity.test_responses_types import find_faults
from tests.servers import fake, gemini_server

from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Request, Sampling, Text, Tool

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]
SCRIPT = "gemini_types.py"


def written_requests(media: MediaStore) -> list[Json]:
    """Return requests with all that the wire can write."""
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    paper = media.add_image(b"%PDF", "application/pdf")
    sound = media.add_audio(b"RIFF", "audio/wav")
    said, first, second = requests.answered(requests.PARTS)
    seen = replace(second, parts=(Text("see"), image, paper), is_error=True)
    user = Message(role="user", parts=(Text("x"), image, paper, sound))
    choice = {"type": "object", "properties": {"a": {"anyOf": [{"const": 1}, {"type": "null"}]}}}
    full = Request(
        messages=(requests.SYSTEM, requests.USER, said, first, seen, user, requests.SYSTEM),
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters=choice)),
        sampling=Sampling(
            temperature=0.5, top_p=0.9, max_tokens=50, reasoning_effort="low",
            extra={"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        ),
    )  # fmt: skip
    off = replace(full, sampling=Sampling(reasoning_effort="none"))
    least = Request(messages=(requests.USER,))
    encoders = (requests.encoder(media=media), requests.encoder(media=media, is_stream=True),
                requests.encoder(media=media, origin="elsewhere"))  # fmt: skip
    return [
        requests.body_of(encoder.encode_request(each))
        for encoder in encoders
        for each in (full, off, least)
    ]


def test_requests_and_the_servers_answers_have_googles_types(
    vendor_python: Path, tmp_path: Path
) -> None:
    thinker = gemini_server.Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path / "runs")
    ask_foreign(thinker, n=2)
    bodies = [*thinker.bodies, *written_requests(MediaStore(tmp_path / "media"))]
    jobs = [("request", body) for body in bodies]
    blocked = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."}
    answers = [
        gemini_server.response(requests.PARTS),
        gemini_server.response([], "MALFORMED_FUNCTION_CALL", finishMessage="f("),
        gemini_server.response(requests.PARTS, "MAX_TOKENS"),
    ]
    for answer in answers:
        jobs.append(("response", answer))
        jobs += [("event", event) for event in gemini_server.events(answer)]
    jobs.append(("response", {"promptFeedback": blocked, "modelVersion": "m"}))
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
        changed("messages", value=[]),
        changed("contents", value="x"),
        changed("system_instruction", value=body["systemInstruction"]),
        changed("systemInstruction", value=5),
        changed("contents", 0, "content", value="x"),
        changed("contents", 1, "parts", 2, "functionCall", "args", value="{}"),
        changed("contents", 1, "parts", 2, "thoughtSignature", value="no base64!"),
        changed("contents", 2, "parts", 0, "functionResponse", "response", value="r0"),
        changed("contents", 2, "parts", 0, "functionResponse", "call_id", value="x"),
        changed("contents", 3, "parts", 1, "inlineData", "mime", value="x"),
        changed("tools", 0, "functionDeclarations", 0, "strict", value=False),
        changed("tools", 0, "function", value={}),
        changed("toolConfig", "functionCallingConfig", "modes", value="ANY"),
        changed("generationConfig", "max_tokens", value=5),
        changed("generationConfig", "temperature", value="hot"),
        changed("generationConfig", "thinkingConfig", "effort", value="low"),
    ]
    faults = find_faults(vendor_python, jobs, SCRIPT)
    assert "" not in faults, [job[0] for job, fault in zip(jobs, faults, strict=True) if not fault]
