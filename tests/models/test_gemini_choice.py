"""When the gemini wire is asked, at which address, and that it takes sound."""

from __future__ import annotations

import asyncio
import base64
import random
from pathlib import Path

import pytest
from tests.models.test_responses_choice import sounding
from tests.servers import fake
from tests.servers.gemini_server import Thinker, response

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.models import endpoint_probes
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.model_resolver import make_endpoint_model, wire_of_model
from toolmark.models.wire_names import WireName
from toolmark.models.wires.gemini import GEMINI_WIRE

GOOGLE = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("spec", "base_url", "wire", "needs_sound", "expected"),
    [
        ("gemini/m", None, None, False, "gemini"),
        ("gemini/m", None, None, True, "gemini"),
        ("gemini/m", "http://h/v1", None, False, "gemini"),
        ("gemini/m", None, "chat", False, "chat"),
        ("http://h/v1#m", None, None, False, "chat"),
        ("http://h/v1#m", None, "gemini", False, "gemini"),
    ],
)
def test_which_wire_is_asked(
    spec: str, base_url: str | None, wire: WireName | None, needs_sound: bool, expected: str
) -> None:
    assert wire_of_model(spec, base_url, wire, needs_sound=needs_sound) == expected


@pytest.mark.parametrize(
    ("spec", "wire", "stream", "expected"),
    [
        ("gemini/m-1.5", None, False, f"{GOOGLE}/models/m-1.5:generateContent"),
        ("gemini/m", None, True, f"{GOOGLE}/models/m:streamGenerateContent?alt=sse"),
        ("gemini/m", "chat", False, f"{GOOGLE}/openai/chat/completions"),
        ("gemini/models/m", None, False, f"{GOOGLE}/models/m:generateContent"),
        ("gemini/tunedModels/m", None, False, f"{GOOGLE}/tunedModels/m:generateContent"),
        ("gemini/a b?c", None, False, f"{GOOGLE}/models/a%20b%3Fc:generateContent"),
        ("http://h/v1?a=b#m", "gemini", False, "http://h/v1/models/m:generateContent?a=b"),
        ("http://h/v1?a=b#m", "gemini", True,
         "http://h/v1/models/m:streamGenerateContent?alt=sse&a=b"),
        ("http://h/v1/models/x:generateContent#m", "gemini", False,
         "http://h/v1/models/m:generateContent"),
        ("http://h/v1/models/x:streamGenerateContent?alt=sse#m", "gemini", False,
         "http://h/v1/models/m:generateContent"),
    ],
)  # fmt: skip
def test_the_address_of_a_request(
    monkeypatch: pytest.MonkeyPatch, spec: str, wire: WireName | None, stream: bool, expected: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "x")
    assert make_endpoint_model(spec, wire=wire, stream=stream)._request_url == expected


@pytest.mark.parametrize(
    ("address", "wire", "other"),
    [
        ("http://h/v1/models/m:generateContent", "chat", "gemini"),
        ("http://h/v1/tunedModels/m:streamGenerateContent", "responses", "gemini"),
        ("http://h/v1/chat/completions", "gemini", "chat"),
    ],
)
def test_an_address_of_another_wire_is_refused_with_the_next_step(
    address: str, wire: WireName | None, other: str
) -> None:
    with pytest.raises(UsageError, match=f"next: --wire {other}"):
        make_endpoint_model(f"{address}#m", wire=wire)


def test_the_key_is_in_the_header_of_the_wire_alone(tmp_path: Path) -> None:
    async def ask() -> fake.Asked:
        async with fake.serve(fake.answer(200, response([{"text": "hi"}]))) as server:
            media = MediaStore(tmp_path)
            model = EndpointModel(server.url, "m", wire=GEMINI_WIRE, key="of-tests", media=media)
            try:
                await endpoint_probes.probe_model(model, media, random.Random(1))
            finally:
                await model.close()
            return server.asked[-1]

    asked = asyncio.run(ask())
    assert asked.headers["x-goog-api-key"] == "of-tests"
    assert "authorization" not in asked.headers and "of-tests" not in asked.target


def test_sound_is_sent_as_it_is(tmp_path: Path) -> None:
    with fake.in_thread(fake.answer(200, response([{"text": "2"}]))) as server:
        run = tm.run(
            sounding(tmp_path / "media", makes_sound=True), f"{server.url}#m", wire="gemini",
            log_dir=tmp_path / "runs",
        )  # fmt: skip
    assert run.summary()["n_not_run"] == 0
    parts = [part for asked in server.asked for part in asked.json["contents"][0]["parts"]]
    sound = {"mimeType": "audio/wav", "data": base64.b64encode(b"RIFF").decode()}
    assert {"inlineData": sound} in parts


def test_doctor_probes_the_gemini_wire(tmp_path: Path) -> None:
    thinker = Thinker()

    async def probe() -> dict[str, str]:
        async with fake.serve(thinker) as server:
            media = MediaStore(tmp_path)
            model = EndpointModel(server.url, "thinker", wire=GEMINI_WIRE, media=media)
            try:
                checks = await endpoint_probes.probe_model(model, media, random.Random(1))
            finally:
                await model.close()
            return {check.name: f"{check.status}: {check.detail}" for check in checks}

    found = asyncio.run(probe())
    assert found["model"].startswith("ok")
    assert not thinker.refusals or all("Unknown name" in each for each in thinker.refusals)
