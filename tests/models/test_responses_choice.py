"""When the responses wire is asked, and what it refuses before anything is paid for."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini
from tests.servers import fake
from tests.servers.responses_server import Thinker

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Message, Part, Sampling, Task, Text, Turn
from toolmark.models import endpoint_probes
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.model_resolver import make_endpoint_model, wire_of_model
from toolmark.models.provider_table import providers
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.responses import RESPONSES_WIRE
from toolmark.runs import run_request
from toolmark.runs.run_settings import Connection, Selection
from toolmark.runs.suite import Provenance, Suite, TaskMaker


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


@pytest.mark.parametrize("address", ["http://h/v1", "http://h/v1/", "http://h/v1/responses?a=b"])
def test_the_path_of_the_wire_is_added_once(address: str) -> None:
    model = make_endpoint_model(f"{address}#m", wire="responses")
    assert model._request_url.partition("?")[0] == "http://h/v1/responses"


@pytest.mark.parametrize(
    ("address", "wire", "other"),
    [
        ("http://h/v1/responses", "chat", "responses"),
        ("http://h/v1/messages", "gemini", "anthropic"),
        ("http://h/v1/chat/completions", "responses", "chat"),
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
    thinker = Thinker()
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


def test_doctor_probes_the_responses_wire(tmp_path: Path) -> None:
    thinker = Thinker()

    async def probe() -> dict[str, str]:
        async with fake.serve(thinker) as server:
            media = MediaStore(tmp_path)
            model = EndpointModel(server.url, "thinker", wire=RESPONSES_WIRE, media=media)
            try:
                checks = await endpoint_probes.probe_model(model, media, random.Random(1))
            finally:
                await model.close()
            return {check.name: f"{check.status}: {check.detail}" for check in checks}

    found = asyncio.run(probe())
    assert found["model"].startswith("ok")
    assert found["audio"].startswith("warn") and "next: --wire chat" in found["audio"]
    assert found["temperature 0"].startswith("warn: refused by the endpoint")
