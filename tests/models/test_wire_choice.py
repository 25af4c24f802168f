"""Which wire is asked, at which address, and what it refuses before anything is paid for."""

from __future__ import annotations

import base64
import random
from pathlib import Path
from typing import Any

import pytest
from tests.models.wire_samples import SAMPLES
from tests.runs import mini
from tests.servers import fake, gemini_server, responses_server

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Check, Message, Part, Sampling, Task, Text, Turn
from toolmark.models import endpoint_probes
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.model_resolver import make_endpoint_model, wire_of_model
from toolmark.models.provider_table import providers
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.runs import run_request
from toolmark.runs.run_settings import Connection, Selection
from toolmark.runs.suite import Provenance, Suite, TaskMaker

GOOGLE = "https://generativelanguage.googleapis.com/v1beta"


@pytest.mark.parametrize(
    ("spec", "base_url", "wire", "needs_sound", "expected"),
    [
        ("openai/m", None, None, False, "responses"),
        ("openai/m", None, None, True, "chat"),
        ("openai/m", "http://h/v1", None, False, "chat"),
        ("openai/m", "http://h/v1", "responses", False, "responses"),
        ("openai/m", None, "chat", False, "chat"),
        ("openai/m", None, "responses", True, "responses"),
        ("xai/m", None, None, False, "chat"),
        ("xai/m", None, "responses", False, "responses"),
        ("http://h/v1#m", None, None, False, "chat"),
        ("http://h/v1#m", None, "responses", False, "responses"),
        ("http://h/v1/responses#m", None, "responses", False, "responses"),
        ("http://h/v1/responses#m", None, None, False, "responses"),
        ("http://h/v1/messages#m", None, None, False, "anthropic"),
        ("http://h/v1/models/m:generateContent#m", None, None, False, "gemini"),
        ("http://h/v1/chat/completions#m", None, None, False, "chat"),
        ("openai/m", "http://h/v1/responses", None, False, "responses"),
        ("anthropic/m", "http://h/v1/chat/completions", None, False, "chat"),
        ("gemini/m", "http://h/v1beta/openai", None, False, "chat"),
        ("gemini/m", "http://h/v1beta/openai/", None, False, "chat"),
        ("gemini/m", "http://h/v1beta", None, False, "gemini"),
        ("openrouter/m", None, "anthropic", False, "anthropic"),
        ("gemini/m", None, None, False, "gemini"),
        ("gemini/m", None, None, True, "gemini"),
        ("gemini/m", "http://h/v1", None, False, "gemini"),
        ("gemini/m", None, "chat", False, "chat"),
        ("http://h/v1#m", None, "gemini", False, "gemini"),
        ("baseline/planner", None, None, False, None),
    ],
)
def test_which_wire_is_asked(
    spec: str, base_url: str | None, wire: WireName | None, needs_sound: bool, expected: str | None
) -> None:
    assert wire_of_model(spec, base_url, wire, needs_sound=needs_sound) == expected


@pytest.mark.parametrize("name", providers())
@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_a_provider_is_asked_on_the_wires_that_it_offers_alone(name: str, wire: WireName) -> None:
    """A user's own address may offer any wire."""
    assert wire_of_model(f"{name}/m", "http://h/v1", wire) == wire
    if wire in providers()[name].all_wires:
        assert wire_of_model(f"{name}/m", None, wire) == wire
        return
    step = "next: leave out --wire, or give an address that offers it by --base-url"
    with pytest.raises(UsageError, match=f"^{name} does not offer the {wire} wire .*{step}$"):
        wire_of_model(f"{name}/m", None, wire)


@pytest.mark.parametrize("name", ["bedrock", "vertex", "vertex_ai"])
def test_a_protocol_that_is_not_supported_is_said_to_be_missing(name: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}/ is not supported: .*next: "):
        wire_of_model(f"{name}/m", None, None)


@pytest.mark.parametrize(
    ("model", "connection", "expected"),
    [
        ("http://h/v1#m", Connection(wire="anthropic", stream=True), ()),
        ("http://h/v1/messages#m", Connection(),
         ("asked on the anthropic wire, as the address says; --wire asks on another",)),
        ("gemini/m", Connection(base_url="http://h/v1beta/openai"),
         ("asked on the chat wire, as the address says; --wire asks on another",)),
        ("gemini/m", Connection(base_url="http://h/v1beta/openai", wire="chat"), ()),
        ("control/null", Connection(), ()),
        ("control/null", Connection(wire="chat"),
         ("--wire not used: the model is no endpoint that toolmark asks itself",)),
        ("baseline/lexical", Connection(wire="chat", stream=True),
         ("--wire and --stream not used: the model is no endpoint that toolmark asks itself",)),
        (mini.Adder(), Connection(stream=True),
         ("--stream not used: the model is no endpoint that toolmark asks itself",)),
    ],
)  # fmt: skip
def test_a_setting_that_is_not_used_is_said_and_recorded(
    model: Any, connection: Connection, expected: tuple[str, ...], tmp_path: Path
) -> None:
    suite = mini.load(n=1)
    assert run_request.connection_notes(suite, model, connection) == expected
    if expected and "not used" in expected[0]:
        done = tm.run(suite, model, connection=connection, log_dir=tmp_path)
        assert done.info.notes["connection"] == expected
        assert (done.info.plan.wire, done.info.plan.stream) == ("", False)


def test_openai_base_url_is_asked_by_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://h/v1")
    assert wire_of_model("openai/m", None, None) == "chat"


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
        ("http://h/v1#m", "responses", False, "http://h/v1/responses"),
        ("http://h/v1/#m", "responses", False, "http://h/v1/responses"),
        ("http://h/v1/responses?a=b#m", "responses", False, "http://h/v1/responses?a=b"),
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
        ("http://h/v1/responses", "chat", "responses"),
        ("http://h/v1/messages", "gemini", "anthropic"),
        ("http://h/v1/chat/completions", "responses", "chat"),
        ("http://h/v1/chat/completions", "gemini", "chat"),
        ("http://h/v1/models/m:generateContent", "chat", "gemini"),
        ("http://h/v1/tunedModels/m:streamGenerateContent", "responses", "gemini"),
    ],
)
def test_an_address_of_another_wire_is_refused_with_the_next_step(
    address: str, wire: WireName | None, other: str
) -> None:
    with pytest.raises(UsageError, match=f"next: --wire {other}"):
        make_endpoint_model(f"{address}#m", wire=wire)


def sounding(folder: Path, *, makes_sound: bool) -> Suite:
    """Return a suite whose second task holds sound."""
    media = MediaStore(folder)
    sound = media.add_audio(b"RIFF", "audio/wav")
    parts: tuple[Part, ...] = (Text("1 + 1"), sound)
    tasks = [
        Task(id=f"t{i}", turns=(Turn(messages=(Message(role="user", parts=(part,)),)),))
        for i, part in enumerate(parts)
    ]
    return Suite(
        name="sounding", tasks=tasks, scorer=mini.SCORER, provenance=Provenance(media=media),
        maker=TaskMaker(makes_sound=makes_sound),
    )  # fmt: skip


def test_a_suite_with_sound_plans_chat(tmp_path: Path) -> None:
    for makes_sound, wire in ((True, "chat"), (False, "responses")):
        suite = sounding(tmp_path, makes_sound=makes_sound)
        plan, _ = run_request.make_plan(
            suite, "openai/m", "native", Selection(), Sampling(), Connection()
        )
        assert plan.wire == wire


@pytest.mark.parametrize("makes_sound", [False, True])
def test_sound_is_refused_before_anything_is_asked(tmp_path: Path, makes_sound: bool) -> None:
    thinker = responses_server.Thinker()
    with (
        fake.in_thread(thinker) as server,
        pytest.raises((UsageError, DataError), match="next: --wire chat"),
    ):
        tm.run(
            sounding(tmp_path / "media", makes_sound=makes_sound), f"{server.url}#m",
            wire="responses", log_dir=tmp_path / "runs",
        )  # fmt: skip
    assert not server.asked
    assert not [path for path in (tmp_path / "runs").glob("*") if path.is_dir()]


def test_sound_is_sent_as_it_is(tmp_path: Path) -> None:
    with fake.in_thread(fake.answer(200, gemini_server.response([{"text": "2"}]))) as server:
        run = tm.run(
            sounding(tmp_path / "media", makes_sound=True), f"{server.url}#m", wire="gemini",
            log_dir=tmp_path / "runs",
        )  # fmt: skip
    assert run.summary()["n_not_run"] == 0
    parts = [part for asked in server.asked for part in asked.json["contents"][0]["parts"]]
    sound = {"mimeType": "audio/wav", "data": base64.b64encode(b"RIFF").decode()}
    assert {"inlineData": sound} in parts


# --- doctor -----------------------------------------------------------------------------


def probe(
    wire: WireName, behaviour: fake.Behaviour, folder: Path
) -> tuple[dict[str, str], list[fake.Asked]]:
    """Return what doctor says of an endpoint, and what it asked."""
    media = MediaStore(folder)

    async def examine(model: EndpointModel) -> list[Check]:
        return await endpoint_probes.probe_model(model, media, random.Random(1))

    checks, asked = SAMPLES[wire].use(
        behaviour, examine, model="thinker", key="of-tests", media=media
    )
    return {each.name: f"{each.status}: {each.detail}" for each in checks}, asked


def test_doctor_probes_the_responses_wire(tmp_path: Path) -> None:
    found, _ = probe("responses", responses_server.Thinker(), tmp_path)
    assert found["model"].startswith("ok")
    assert found["audio"].startswith("warn") and "next: --wire chat" in found["audio"]
    assert found["temperature 0"].startswith("warn: refused by the endpoint")


def test_doctor_probes_the_gemini_wire(tmp_path: Path) -> None:
    thinker = gemini_server.Thinker()
    found, asked = probe("gemini", thinker, tmp_path)
    assert found["model"].startswith("ok")
    assert not thinker.refusals or all("Unknown name" in each for each in thinker.refusals)
    # the key is in the header of the wire alone
    assert {each.headers["x-goog-api-key"] for each in asked} == {"of-tests"}
    assert not any("authorization" in each.headers for each in asked)
    assert not any("of-tests" in each.target for each in asked)
