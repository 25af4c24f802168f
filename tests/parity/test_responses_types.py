"""What the responses wire sends, and what its test server answers, has the types of OpenAI."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.models import test_responses_request as requests
from tests.models.test_responses_thinker import play
from tests.servers import fake, responses_server

from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Request, Sampling, Text, Tool

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
Json = dict[str, Any]


def find_faults(
    python: Path, jobs: list[tuple[str, Json]], script: str = "openai_types.py"
) -> list[str]:
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


def written_requests(media: MediaStore) -> list[Json]:
    """Return requests with all that the wire can write."""
    image = media.add_image(b"\x89PNG\r\n\x1a\n", "image/png")
    said, result = requests.answered(requests.OUTPUT)
    seen = Message(role="tool", call_id=result.call_id, parts=(Text("see"), image))
    sampling = Sampling(
        temperature=0.5, top_p=0.9, max_tokens=50, reasoning_effort="low",
        extra={"reasoning": {"context": "all_turns"}, "parallel_tool_calls": False},
    )  # fmt: skip
    system = Message(role="system", parts=(Text("x"),))
    request = Request(
        messages=(system, requests.USER, said, seen, Message(role="user", parts=(image,)), system),
        tools=(Tool(name="f"), Tool(name="g.h", description="d", parameters={"type": "object"})),
        sampling=sampling,
    )
    neutral = Request(messages=(requests.USER, requests.with_calls(requests.CALL), result))
    encoders = (requests.encoder(media=media), requests.encoder(media=media, is_stream=True),
                requests.encoder(media=media, origin="elsewhere"))  # fmt: skip
    return [
        requests.body_of(encoder.encode_request(each))
        for encoder in encoders
        for each in (request, neutral)
    ]


def test_requests_and_the_servers_answers_have_openais_types(
    vendor_python: Path, tmp_path: Path
) -> None:
    thinker = responses_server.Thinker()
    with fake.in_thread(thinker) as server:
        play(server, tmp_path / "runs")
    bodies = [*thinker.bodies, *written_requests(MediaStore(tmp_path / "media"))]
    jobs = [("request", body) for body in bodies]
    answer = responses_server.response(requests.OUTPUT)
    jobs.append(("response", answer))
    jobs += [
        ("event", event | {"sequence_number": number})
        for number, event in enumerate(responses_server.events(answer))
    ]
    assert set(find_faults(vendor_python, jobs)) == {""}


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
        changed("store", value="no"),
        changed("include", value=["reasoning"]),
        changed("tools", 0, "strict", value="no"),
        changed("tools", 0, "function", value={}),
        changed("input", 0, "role", value="tool"),
        changed("input", 1, "content", value=5),
        changed("input", 2, "summary", value=None),
        changed("input", 3, "content", 0, "type", value="text"),
        changed("input", 4, "call_id", value=5),
        changed("reasoning", "effort", value="a lot"),
    ]
    assert "" not in find_faults(vendor_python, jobs)
