"""The doctor finds what works and what does not, and says what to do."""

from __future__ import annotations

import asyncio
import io
import json
import wave
from typing import Any

import pytest
from tests.servers import fake, streams
from tests.servers.patient import listened, looked

from toolmark.core.errors import UsageError
from toolmark.core.records import Check
from toolmark.formats.missing_parser import explain_text_call
from toolmark.models.endpoint_probes import probe_endpoint
from toolmark.models.probes import media_probes

MODELS = {"data": [{"id": "good"}, {"id": "other"}]}


def clinic(**faults: Any) -> fake.Behaviour:
    """Behave like a good endpoint, except for the faults named."""

    def body(asked: fake.Asked) -> Any:
        if asked.target.endswith("/models"):
            return faults.get("models", (200, MODELS))
        if not asked.target.endswith("/chat/completions"):
            return 404, {"detail": "Not Found"}
        said = asked.json["messages"][0]["content"]
        kinds = {part["type"] for part in said} if isinstance(said, list) else set()
        names = [tool["function"]["name"] for tool in asked.json.get("tools", [])]
        results = [each["content"] for each in asked.json["messages"] if each["role"] == "tool"]
        if "temperature" in asked.json:
            return faults.get("temperature", (200, fake.says("yes")))
        if "image_url" in kinds:
            return faults.get("image", (200, fake.says(looked(said))))
        if "input_audio" in kinds:
            return faults.get("audio", (200, fake.says(listened(said))))
        if results:
            return faults.get("results", (200, fake.says("; ".join(results))))
        if not names:
            return faults.get("word", (200, fake.says("ok")))
        if names == ["weather.get"]:
            return faults.get("dots", (200, fake.calls(("weather.get", "{}"))))
        if "Rome" in said:
            return faults.get("parallel", (200, fake.calls((names[0], "{}"), (names[0], "{}"))))
        return faults.get("tools", (200, fake.calls((names[0], '{"city": "Paris"}'))))

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        status, data = body(asked)
        if status == 200 and asked.body and asked.json.get("stream"):
            writer.write(streams.chunked([streams.events(streams.chunks(data))]))
        else:
            writer.write(fake.raw(status, json.dumps(data).encode()))

    return behave


def checks(name: str = "good", **faults: Any) -> dict[str, Check]:
    async def go() -> list[Check]:
        async with fake.serve(clinic(**faults)) as server:
            return await probe_endpoint(f"{server.url}#{name}", timeout_s=5)

    return {check.name: check for check in asyncio.run(go())}


NAMES = [
    "wire",
    "reachable",
    "key",
    "model",
    "tool calls",
    "two steps",
    "reasoning",
    "parallel calls",
    "parallel results",
    "streaming",
    "dots in names",
    "temperature 0",
    "image",
    "audio",
    "usage",
]
GET = "get_weather"
NO = (400, {"error": {"message": "not supported"}})
COLD = (400, {"error": {"message": "Only the default is supported", "param": "temperature"}})


def test_a_good_endpoint_is_well_in_every_respect() -> None:
    found = checks()
    assert list(found) == NAMES
    assert {check.status for check in found.values()} == {"ok"}


@pytest.mark.parametrize(
    ("fault", "name", "answer", "status", "words"),
    [
        ("models", "model", (404, {}), "warn", "does not list"),
        ("tools", "tool calls", (200, fake.says("It is sunny.")), "fail", "sunny"),
        ("tools", "tool calls", NO, "fail", "not supported"),
        (
            "parallel",
            "parallel calls",
            (200, fake.calls(("get_weather", "{}"))),
            "warn",
            "1 call in",
        ),
        ("parallel", "parallel calls", (200, fake.says("no")), "warn", "0 calls in"),
        ("dots", "dots in names", NO, "ok", "weather_get"),
        ("temperature", "temperature 0", COLD, "warn", "without temperature"),
        ("temperature", "temperature 0", NO, "fail", "not supported"),
        ("image", "image", NO, "warn", "not supported"),
        ("audio", "audio", NO, "warn", "not supported"),
        ("image", "image", (200, fake.says("A photo of a dog.")), "warn", "not seen"),
        ("image", "image", (200, fake.says("red red red")), "warn", "not seen"),
        ("image", "image", (200, fake.says("")), "warn", "not seen"),
        ("audio", "audio", (200, fake.says("I hear 12 beeps.")), "warn", "not heard"),
        ("audio", "audio", (500, {}), "warn", "500"),
    ],
)
def test_each_fault_is_found(fault: str, name: str, answer: Any, status: str, words: str) -> None:
    found = checks(**{fault: answer})[name]
    assert found.status == status
    assert words in found.detail


def test_an_endpoint_without_tools_is_examined_for_all_else() -> None:
    found = checks(tools=NO, temperature=COLD, audio=NO)
    unwell = {name: check.status for name, check in found.items() if check.status != "ok"}
    assert unwell == {"tool calls": "fail", "temperature 0": "warn", "audio": "warn"}
    assert {"streaming", "image", "usage"} <= found.keys()


def test_an_endpoint_that_refuses_every_request_is_one_failure() -> None:
    found = checks(tools=NO, word=(500, {}))
    assert list(found) == ["wire", "reachable", "key", "model", "tool calls"]


def test_a_call_as_text_is_explained_by_its_reader() -> None:
    async def go() -> list[Check]:
        written = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}'
        async with fake.serve(clinic(tools=(200, fake.says(written)))) as server:
            return await probe_endpoint(
                f"{server.url}#good", timeout_s=5, explain_text=explain_text_call
            )

    found = {check.name: check for check in asyncio.run(go())}["tool calls"]
    assert found.status == "fail" and "as hermes writes it" in found.detail
    assert "--tool-call-parser hermes" in found.next_step
    assert "--tool-format hermes" in found.next_step


def test_refused_tools_have_the_format_that_sends_none_as_next_step() -> None:
    refusal = (400, {"error": {"message": "m does not support tools"}})
    assert checks(tools=refusal)["tool calls"].next_step == (
        "run with --tool-format prompt, which sends no tools"
    )


def test_every_failure_has_a_next_step() -> None:
    found = checks(tools=(200, fake.says("text")))["tool calls"]
    assert "tool parser" in found.next_step


def test_what_the_endpoint_says_is_shown_without_the_key_and_control_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOOLMARK_API_KEY", "sk-very-secret")
    echo = "\x1b[2Jyour key is sk-very-secret"
    said = checks(
        image=(200, fake.says(echo)),
        models=(200, {"data": [{"id": "goo" + echo}]}),
        audio=(400, {"error": {"message": echo}}),
    )
    called = checks(tools=(200, fake.calls(("get_weather", json.dumps({"city": echo})))))
    for check in (*said.values(), *called.values()):
        assert "sk-very-secret" not in check.detail + check.next_step
        assert (check.detail + check.next_step).isprintable()
    assert "[key]" in said["audio"].detail
    assert "holds the key" in said["image"].detail
    assert called["tool calls"].status == "fail" and "holds the key" in called["tool calls"].detail


def test_missing_usage_is_found() -> None:
    silent = fake.calls(("get_weather", "{}"))
    del silent["usage"]
    assert checks(tools=(200, silent))["usage"].status == "warn"


def test_a_refused_key_ends_the_examination() -> None:
    found = checks(models=(401, {"error": {"message": "bad key"}}))
    assert list(found) == ["wire", "reachable", "key"]
    assert found["key"].status == "fail"
    assert "TOOLMARK_API_KEY" in found["key"].next_step


def test_an_unknown_model_is_named_with_the_nearest() -> None:
    assert "did you mean: good" in checks("goood")["model"].detail


def test_an_unreachable_endpoint_is_one_failure() -> None:
    found = asyncio.run(probe_endpoint(f"http://127.0.0.1:{fake.unused()}/v1#m", timeout_s=1))
    assert [(check.name, check.status) for check in found] == [("reachable", "fail")]
    assert found[0].next_step


def test_what_is_no_endpoint_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="nothing to probe"):
        asyncio.run(probe_endpoint("baseline/planner"))
    with pytest.raises(UsageError, match=r"toolmark run SUITE -m mine:Policy --limit 1"):
        asyncio.run(probe_endpoint("mine:Policy"))


def test_a_blind_endpoint_is_not_well() -> None:
    blind = (200, fake.says("red, green, blue, yellow, blue, yellow, blue"))
    found = checks(image=blind)["image"]
    assert "suites with image input" in found.next_step


def test_the_recording_is_what_it_claims() -> None:
    with wave.open(io.BytesIO(media_probes.synthesize_beeps(3))) as sound:
        assert (sound.getframerate(), sound.getnframes()) == (16_000, 24_000)
