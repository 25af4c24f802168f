"""Settings that an endpoint refuses are left out, remembered and told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.records import Call, Message, Request, Sampling, Text
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.request_policies import CachedModel

PAPER = Sampling(temperature=0.0, top_p=1.0, max_tokens=9)
HELLO = (Message(role="user", parts=(Text("hello"),)),)


def openai(name: str, code: str, text: str) -> dict[str, Any]:
    return {
        "error": {
            "message": text,
            "type": "invalid_request_error",
            "param": name,
            "code": code,
        }
    }


COLD = openai(
    "temperature",
    "unsupported_value",
    "Unsupported value: 'temperature' does not support 0 with this model."
    " Only the default (1) value is supported.",
)
TOP = openai(
    "top_p",
    "unsupported_parameter",
    "Unsupported parameter: 'top_p' is not supported with this model.",
)
LIMIT = openai(
    "max_tokens",
    "unsupported_parameter",
    "Unsupported parameter: 'max_tokens' is not supported with this model."
    " Use 'max_completion_tokens' instead.",
)


def strict(refusals: Mapping[str, Any], status: int = 400) -> fake.Behaviour:
    """Refuse the first setting of the table that is in the body, else say fine."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        for name, body in refusals.items():
            if name in asked.json:
                writer.write(fake.raw(status, json.dumps(body).encode()))
                return
        writer.write(fake.raw(200, json.dumps(fake.says("fine")).encode()))

    return behave


async def play(
    behaviour: fake.Behaviour, *requests: Request, at_once: bool = False, **more: Any
) -> tuple[EndpointModel, list[Any], list[fake.Asked]]:
    """Return the wire, what came of each request, and what the server saw."""
    async with fake.serve(behaviour) as server:
        model = EndpointModel(server.url, "fake-1", key="sk-12345678", timeout_s=5.0, **more)
        try:
            if at_once:
                done: list[Any] = await asyncio.gather(*map(model, requests))
            else:
                done = [await _outcome(model, request) for request in requests]
            return model, done, server.asked
        finally:
            await model.close()


async def _outcome(model: EndpointModel, request: Request) -> Any:
    try:
        return await model(request)
    except EndpointError as error:
        return error


def ask(sampling: Sampling = PAPER, **more: Any) -> Request:
    return Request(messages=HELLO, sampling=sampling, **more)


@pytest.mark.parametrize("status", [400, 422])
def test_a_model_that_refuses_temperature_0_is_asked_without_and_it_is_remembered(
    status: int,
) -> None:
    model, done, seen = asyncio.run(play(strict({"temperature": COLD}, status), ask(), ask()))
    assert [reply.text for reply in done] == ["fine", "fine"]
    assert ["temperature" in asked.json for asked in seen] == [True, False, False]
    assert {asked.json["top_p"] for asked in seen} == {1.0}
    assert model.refused_settings == {"temperature"}


def test_all_that_is_refused_is_found_one_after_the_other() -> None:
    table = {"max_tokens": LIMIT, "temperature": COLD, "top_p": TOP}
    model, done, seen = asyncio.run(play(strict(table), ask(), ask()))
    assert [reply.text for reply in done] == ["fine", "fine"]
    assert len(seen) == 5
    assert seen[-1].json["max_completion_tokens"] == 9
    assert model.refused_settings == {"temperature", "top_p"}


def test_requests_in_flight_together_all_come_through() -> None:
    table = {"temperature": COLD, "top_p": TOP}
    model, done, seen = asyncio.run(play(strict(table), *[ask()] * 20, at_once=True))
    assert {reply.text for reply in done} == {"fine"}
    assert model.refused_settings == {"temperature", "top_p"}
    assert len(seen) <= 60


@pytest.mark.parametrize(
    ("body", "dropped"),
    [
        ({"error": {"message": "invalid temperature: only 1 is allowed for this model"}}, "t"),
        ({"error": {"message": "`temperature` is deprecated for this model."}}, "t"),
        ({"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}, "p"),
        ({"error": {"message": "bad", "param": "temperature", "code": None}}, "t"),
        ({"error": {"message": "top_p isn't supported by this model", "param": ""}}, "p"),
        ({"error": {"message": "`temperature` and `top_p` cannot both be specified for this model."
                    " Please use only one."}}, "p"),
        ({"error": {"message": "Provider returned error", "code": 400,
                    "metadata": {"raw": json.dumps(COLD)}}}, "t"),
    ],
)  # fmt: skip
def test_servers_say_it_in_many_words(body: Any, dropped: str) -> None:
    name = {"t": "temperature", "p": "top_p"}[dropped]
    model, done, _ = asyncio.run(play(strict({name: body}), ask(), ask()))
    assert [reply.text for reply in done] == ["fine", "fine"]
    assert model.refused_settings == {name}


@pytest.mark.parametrize(
    "body",
    [
        openai("temperature", "decimal_above_max_value",
               "Invalid 'temperature': decimal above maximum value. Expected a value <= 2."),
        {"error": {"message": "temperature must be non-negative, got -1.0"}},
        {"error": {"message": "top_p must be in (0, 1], got 0.", "param": "top_p"}},
        {"error": {"message": "images are not supported"}},
        openai("messages", "invalid", "tools are not supported at this temperature"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_and_another_fault_are_the_users_to_correct(body: Any) -> None:
    model, done, seen = asyncio.run(play(fake.answer(400, body), ask()))
    assert isinstance(done[0], Rejected)
    assert len(seen) == 1
    assert model.refused_settings == frozenset()


def test_what_was_left_out_in_vain_is_not_remembered() -> None:
    model, done, seen = asyncio.run(play(fake.answer(400, COLD), ask(), ask()))
    assert all(isinstance(error, Rejected) for error in done)
    assert len(seen) == 4
    assert model.refused_settings == frozenset()


def test_a_setting_that_was_not_asked_for_is_not_left_out() -> None:
    _, done, seen = asyncio.run(play(fake.answer(400, COLD), ask(Sampling())))
    assert isinstance(done[0], Rejected)
    assert len(seen) == 1


def test_what_the_user_wrote_into_the_body_stays_there() -> None:
    asked = ask(Sampling(extra={"temperature": 0.0}))
    _, done, seen = asyncio.run(play(strict({"temperature": COLD}), asked))
    assert isinstance(done[0], Rejected)
    assert len(seen) == 1


def test_a_refused_setting_and_odd_arguments_are_both_corrected() -> None:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        if asked.json["messages"][0]["tool_calls"][0]["function"]["arguments"] != "{}":
            writer.write(fake.raw(400, b'{"error": {"message": "Expecting value"}}'))
        else:
            await strict({"temperature": COLD})(asked, writer)

    broken = Message(role="assistant", calls=(Call(name="f", arguments="{oops", id="1"),))
    answer = Message(role="tool", call_id="1", parts=(Text("no such tool"),))
    request = Request(messages=(broken, answer), sampling=PAPER)
    model, done, _ = asyncio.run(play(behave, request))
    assert done[0].text == "fine"
    assert model.refused_settings == {"temperature"}


def test_the_identity_is_the_same_before_and_after() -> None:
    async def go() -> tuple[str, str]:
        async with fake.serve(strict({"temperature": COLD, "max_tokens": LIMIT})) as server:
            model = EndpointModel(server.url, "fake-1")
            before = model.identity
            await model(ask())
            await model.close()
            return before, model.identity

    before, after = asyncio.run(go())
    assert before == after


def test_other_quirks_keep_what_was_learned() -> None:
    async def go() -> int:
        async with fake.serve(strict({"temperature": COLD, "max_tokens": LIMIT})) as server:
            model = EndpointModel(server.url, "fake-1")
            await model(ask())
            n = len(server.asked)
            await model.with_profile(model.profile)(ask())
            await model.close()
            return len(server.asked) - n

    assert asyncio.run(go()) == 1


def test_a_setting_that_the_profile_never_sends_is_reported_where_it_was_asked_for() -> None:
    never = EndpointProfile(unsent_settings=("temperature", "reasoning_effort"))
    found, done, asked = asyncio.run(
        play(strict({}), Request(messages=HELLO, sampling=PAPER), wire_profile=never)
    )
    assert done[0].text == "fine"
    assert "temperature" not in asked[0].json and asked[0].json["top_p"] == 1.0
    assert found.unsent_settings == {"temperature"} and found.refused_settings == frozenset()


def test_what_was_not_asked_for_is_not_reported() -> None:
    never = EndpointProfile(unsent_settings=("temperature",))
    found, _, _ = asyncio.run(
        play(strict({}), Request(messages=HELLO, sampling=Sampling()), wire_profile=never)
    )
    assert found.unsent_settings == frozenset()


def test_what_is_never_sent_and_what_is_refused_are_distinguished() -> None:
    never = EndpointProfile(unsent_settings=("temperature",))
    found, _, asked = asyncio.run(
        play(strict({"top_p": TOP}), Request(messages=HELLO, sampling=PAPER), wire_profile=never)
    )
    assert found.unsent_settings == {"temperature"} and found.refused_settings == {"top_p"}
    assert not {"temperature", "top_p"} & asked[-1].json.keys()


@pytest.mark.parametrize("limit", ["max_tokens", "max_completion_tokens"])
def test_a_limit_that_is_never_sent_is_named_as_the_user_named_it(limit: Any) -> None:
    never = EndpointProfile(unsent_settings=("max_tokens",), token_limit_field=limit)
    found, _, asked = asyncio.run(
        play(strict({}), Request(messages=HELLO, sampling=PAPER), wire_profile=never)
    )
    assert limit not in asked[0].json and found.unsent_settings == {"max_tokens"}


def test_a_reply_from_the_cache_tells_what_its_request_was_never_sent(tmp_path: Path) -> None:
    request = Request(messages=HELLO, sampling=PAPER)

    async def ask(model: EndpointModel, server: bool) -> frozenset[str]:
        cached = CachedModel(model, tmp_path, model.identity)
        reply = await cached(request)
        assert reply.from_cache is not server
        return cached.unsent_settings

    async def twice() -> list[frozenset[str]]:
        async with fake.serve(strict({})) as server:
            made = [
                EndpointModel(
                    server.url, "fake-1", wire_profile=EndpointProfile(unsent_settings=("top_p",))
                )
                for _ in range(2)
            ]
            try:
                return [await ask(made[0], server=True), await ask(made[1], server=False)]
            finally:
                for model in made:
                    await model.close()

    assert asyncio.run(twice()) == [{"top_p"}, {"top_p"}]


def test_a_wire_is_shown_by_its_own_name() -> None:
    assert repr(EndpointModel("http://h/v1", "m")) == (
        "EndpointModel(url='http://h/v1', model='m')"
    )


USAGE_REFUSED = [
    openai("stream_options", "unknown_parameter", "Unknown parameter: 'stream_options'."),
    {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
    {"error": {"message": "stream_options is not supported"}},
]


@pytest.mark.parametrize("refusal", USAGE_REFUSED)
def test_a_stream_goes_without_counts_where_the_endpoint_does_not_know_them(
    refusal: dict[str, Any],
) -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}]}
    events = b"data: " + json.dumps(chunk).encode() + b"\n\ndata: [DONE]\n\n"

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        if "stream_options" in asked.json:
            writer.write(fake.raw(400, json.dumps(refusal).encode()))
        else:
            writer.write(fake.raw(200, events, {"content-type": "text/event-stream"}))

    async def go() -> None:
        async with fake.serve(behave) as server:
            model = EndpointModel(server.url, "m", is_stream=True)
            replies = [await model(Request(messages=HELLO)) for _ in range(3)]
            await model.close()
            assert [each.text for each in replies] == ["fine"] * 3
            notes = [each.detail for each in replies[0].adaptations]
            assert notes == ["stream_usage left out: the endpoint refuses it"]
            assert model.settings_refused_once == {"stream_usage"}

    asyncio.run(go())


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ("Streaming is not supported for this model", "leave out --stream"),
        ("stream: Extra inputs are not permitted", "leave out --stream"),
        ("This model only support stream mode, please enable the stream parameter", "add --stream"),
        ("enable_thinking must be set to false for non-streaming calls", "add --stream"),
    ],
)
def test_an_endpoint_that_refuses_to_stream_or_not_to_says_which_flag(
    message: str, step: str
) -> None:
    async def go() -> None:
        refusal = {"error": {"message": message}}
        async with fake.serve(fake.answer(400, refusal)) as server:
            model = EndpointModel(server.url, "m", is_stream=True)
            with pytest.raises(Rejected) as found:
                await model(Request(messages=HELLO))
            await model.close()
            assert found.value.kind == "rejected.unsupported"
            assert str(found.value).endswith(f"; {step}")

    asyncio.run(go())
