"""The wire: which status is whose fault, and what a user is told."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.errors import (
    EndpointError,
    RateLimited,
    Rejected,
    Timeout,
    TornReply,
    Unavailable,
)
from toolmark.core.records import Call, Message, Reply, Request, Sampling, Text, Tool
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires import reply_parts

KEY = "sk-very-secret-key"
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))


def wire(url: str, **more: Any) -> EndpointModel:
    settings: dict[str, Any] = {"key": KEY, "timeout_s": 5.0} | more
    return EndpointModel(url, "fake-1", **settings)


async def asked(
    behaviour: fake.Behaviour, request: Request = HELLO, **more: Any
) -> tuple[Reply, list[fake.Asked]]:
    async with fake.serve(behaviour) as server:
        model = wire(server.url, **more)
        try:
            return await model(request), server.asked
        finally:
            await model.close()


def reply(behaviour: fake.Behaviour, request: Request = HELLO) -> Reply:
    return asyncio.run(asked(behaviour, request))[0]


def error(behaviour: fake.Behaviour) -> EndpointError:
    with pytest.raises(EndpointError) as caught:
        reply(behaviour)
    assert KEY not in str(caught.value)
    return caught.value


def test_a_request_carries_the_key_the_headers_and_the_tools() -> None:
    request = Request(
        messages=HELLO.messages,
        tools=(Tool(name="get.weather"),),
        sampling=Sampling(temperature=0.0, extra={"seed": 1}),
    )
    done, seen = asyncio.run(
        asked(
            fake.answer(200, fake.calls(("get_weather", '{"city": "Paris"}'))),
            request,
            headers={"X-Team": "blue", "accept": "*/*"},
        )
    )
    assert done.calls == (Call(name="get.weather", arguments='{"city": "Paris"}', id="call_0"),)
    assert seen[0].target == "/v1/chat/completions"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert seen[0].headers["x-team"] == "blue"
    assert seen[0].headers["accept"] == "*/*"
    assert seen[0].headers["content-type"] == "application/json"
    assert seen[0].json == {
        "model": "fake-1",
        "messages": [{"role": "user", "content": "hello"}],
        "tools": [{"type": "function", "function": {"name": "get_weather"}}],
        "temperature": 0.0,
        "seed": 1,
    }


def test_without_a_key_none_is_sent_and_a_given_authorization_replaces_ours() -> None:
    ok = fake.answer(200, fake.says("x"))
    assert "authorization" not in asyncio.run(asked(ok, key=""))[1][0].headers
    own = asyncio.run(asked(ok, headers={"Authorization": "Basic abc"}))[1][0].headers
    assert own["authorization"] == "Basic abc"


def test_the_key_is_in_no_repr_and_no_identity() -> None:
    model = wire("http://localhost/v1", headers={"api-key": KEY})
    assert KEY not in repr(model) + str(model) + model.identity


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 529])
def test_what_may_pass_is_unavailable(status: int) -> None:
    assert type(error(fake.answer(status, b"busy"))) is Unavailable


def test_429_is_rate_limited_with_the_servers_wait() -> None:
    found = error(fake.answer(429, {"error": {"message": "slow"}}, {"retry-after": "3"}))
    assert isinstance(found, RateLimited)
    assert found.wait_s == 3
    waiting = error(fake.answer(503, b"", {"retry-after": "4"}))
    assert isinstance(waiting, Unavailable)
    assert waiting.wait_s == 4


@pytest.mark.parametrize("status", [301, 400, 401, 402, 403, 404, 405, 413, 422, 451])
def test_what_will_not_pass_is_rejected_with_its_status(status: int) -> None:
    found = error(fake.answer(status, {"error": {"message": "no"}}))
    assert isinstance(found, Rejected)
    assert found.status == status


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, {"error": {"message": f"bad key {KEY}"}}, "401: bad key [key]; check OPENAI_API_KEY"),
        (400, {"error": "plain"}, "400: plain"),
        (400, {"message": "top"}, "400: top"),
        (422, {"detail": [{"msg": "field required"}]}, "field required"),
        (400, b"<html>\n  oops</html>", "400: oops (the answer is a web page)"),
        (400, [{"error": {"message": "listed"}}], "400: listed"),
        (307, b"", "give that address"),
        (413, b"big", "too large"),
    ],
)
def test_a_rejection_says_what_the_server_said_and_the_next_step(
    status: int, body: Any, words: str
) -> None:
    assert words in str(error(fake.answer(status, body, {"location": "http://x/?token=t"})))


def test_a_long_message_is_cut() -> None:
    assert len(str(error(fake.answer(400, {"error": {"message": "x" * 10_000}})))) < 700


def test_a_404_names_the_models_that_the_server_offers() -> None:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        models = {"data": [{"id": "fake-2"}, {"id": "other"}]}
        known = asked.target == "/v1/models"
        body = models if known else {"error": {"message": "no such model"}}
        writer.write(fake.raw(200 if known else 404, json.dumps(body).encode()))

    text = str(error(behave))
    assert "no such model" in text
    assert "did you mean: fake-2" in text


def test_an_account_without_credit_is_not_asked_again() -> None:
    found = error(fake.answer(429, {"error": {"message": "x", "code": "insufficient_quota"}}))
    assert isinstance(found, Rejected)
    assert (found.kind, found.status) == ("rejected.billing", 429)
    assert "credit" in str(found)


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (402, {"message": "Insufficient Balance", "code": "invalid_request_error"}),
        (403, {"message": "no", "type": "insufficient_user_quota"}),
        (429, {"message": "no", "type": "exceeded_current_quota_error"}),
        (400, {"message": "no", "code": "billing_hard_limit_reached"}),
        (200, {"message": "no", "code": 402}),
        (200, {"message": "no", "code": "insufficient_quota"}),
    ],
)
def test_no_credit_is_402_however_it_is_said_and_tells_the_next_step(
    status: int, failure: Any
) -> None:
    found = error(fake.answer(status, {"error": failure}))
    assert isinstance(found, Rejected) and found.is_final
    assert (found.kind, found.status) == ("rejected.billing", 402 if status == 200 else status)
    assert "add some, then give the same command again" in str(found)


ECHO = f"<html>{' ' * 50}You sent: Authorization: Bearer {KEY}"


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, ECHO.encode(), TornReply),
        (200, {"choices": [], "echo": KEY}, TornReply),
        (200, {"error": {"message": ECHO}}, Unavailable),
        (400, ECHO.encode(), Rejected),
        (400, (ECHO + "x" * 9).encode() * 99, Rejected),
        (401, {"error": {"message": ECHO}}, Rejected),
        (404, {"error": {"message": ECHO}}, Rejected),
        (429, {"error": {"message": ECHO}}, RateLimited),
        (502, ECHO.encode(), Unavailable),
    ],
)
@pytest.mark.parametrize("by_header", [True, False])
def test_a_key_that_the_server_echoes_is_in_no_error(
    status: int, body: Any, kind: type, by_header: bool
) -> None:
    more: dict[str, Any] = {}
    if by_header:
        more = {"key": "", "headers": {"Authorization": f"Bearer {KEY}"}}
    with pytest.raises(kind) as caught:
        asyncio.run(asked(fake.answer(status, body), **more))
    assert KEY[:6] not in str(caught.value)


@pytest.mark.parametrize("n", range(60, 125, 3))
def test_no_half_of_a_key_is_left_at_a_cut(n: int) -> None:
    for body in (b"." * n + KEY.encode(), b'"' + b" " * n + KEY.encode()):
        assert "sk-" not in str(error(fake.answer(200, body)))
        assert "sk-" not in str(error(fake.answer(400, b"." * 400 + body)))


@pytest.mark.parametrize("where", ["text", "thinking", "call", "escaped"])
@pytest.mark.parametrize("sent", ["key", "header"])
def test_a_reply_that_holds_the_key_is_refused_and_quoted_nowhere(where: str, sent: str) -> None:
    more: dict[str, Any] = {} if sent == "key" else {"key": "", "headers": {"X-Api-Key": KEY}}
    body = {
        "text": fake.says(f"you sent {KEY}, thank you"),
        "thinking": {"choices": [{"message": {"content": "hi", "reasoning_content": KEY}}]},
        "call": fake.calls(("f", json.dumps({"a": KEY}))),
        "escaped": fake.says("XX"),
    }[where]
    raw = json.dumps(body).replace("XX", "".join(f"\\u{ord(c):04x}" for c in KEY))
    with pytest.raises(Rejected, match="holds the key") as found:
        asyncio.run(asked(fake.answer(200, raw.encode()), **more))
    assert KEY not in str(found.value) and not found.value.is_final


def test_what_stands_for_no_key_may_be_said() -> None:
    said, _ = asyncio.run(asked(fake.answer(200, fake.says("all is EMPTY")), key="EMPTY"))
    assert said.text == "all is EMPTY"


def test_a_redirect_does_not_tell_the_key() -> None:
    found = error(fake.answer(302, b"", {"location": f"http://x/{KEY}/v1"}))
    assert "[key]" in str(found)


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_an_error_text_is_printable(status: int) -> None:
    text = "a\x1b]0;title\x07\x9b2J\u202egnp.exe\u2066 b"
    for body in ({"error": {"message": text}}, text.encode()):
        found = str(error(fake.answer(status, body)))
        assert found.isprintable()
        assert "\\u202e" in found


def test_listing_the_models_tells_no_key_either() -> None:
    async def go() -> None:
        async with fake.serve(fake.answer(401, ECHO.encode() + b"\x1b[2J")) as server:
            await wire(server.url).list_models()

    with pytest.raises(Rejected) as caught:
        asyncio.run(go())
    assert KEY not in str(caught.value)
    assert str(caught.value).isprintable()


def test_a_text_of_a_filter_is_masked_and_printable() -> None:
    body = {"error": {"code": "content_filter", "message": f"\x1b[2J {KEY}"}}
    assert reply(fake.answer(400, body)).text == "\\x1b[2J [key]"


LONG = [
    {"error": {"message": "no", "code": "context_length_exceeded"}},
    {"error": {"message": "This model's maximum context length is 8192 tokens. However, you ..."}},
    {"object": "error", "message": "The decoder prompt (length 9000) is longer than the maximum"
     " model length of 8192", "code": 400},
    {"error": {"code": 400, "message": "the request exceeds the available context size",
               "type": "exceed_context_size_error"}},
    {"error": {"message": "The input (9 tokens) is longer than the model's context length (8)"}},
    {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096"},
    {"error": {"message": "'max_tokens' or 'max_completion_tokens' is too large: 4000. This model's"
     " maximum context length is 8192 tokens and your request has 6000 input tokens"}},
]  # fmt: skip


@pytest.mark.parametrize("body", LONG)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_conversation_too_long_is_the_models_limit(body: Any, status: int) -> None:
    found = reply(fake.answer(status, body))
    assert found.stop == "over_long"
    assert found.latency_s > 0


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
        "'max_tokens' is too large: 100000. This model's maximum context length is 8192 tokens",
    ],
)
def test_a_limit_beyond_the_model_is_a_wrong_setting(message: str) -> None:
    assert isinstance(error(fake.answer(400, {"error": {"message": message}})), Rejected)


def test_a_filter_is_refused_and_an_unparsable_call_is_malformed() -> None:
    filtered = reply(fake.answer(400, {"error": {"code": "content_filter", "message": "no"}}))
    assert (filtered.stop, filtered.text) == ("refused", "no")
    body = {"error": {"code": "tool_use_failed", "failed_generation": "<f>{", "message": "m"}}
    failed = reply(fake.answer(400, body))
    assert (failed.stop, failed.text) == ("malformed", "<f>{")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        ({"code": 429, "message": "slow"}, RateLimited),
        ({"code": "rate_limit_exceeded"}, RateLimited),
        ({"code": 401, "message": "who"}, Rejected),
        ({"code": 503}, Unavailable),
        ({"message": "something"}, Unavailable),
        ("something", Unavailable),
    ],
)
def test_an_error_under_status_200_is_what_it_says(failure: Any, kind: type) -> None:
    assert type(error(fake.answer(200, {"error": failure}))) is kind


def test_a_context_overflow_under_status_200_is_over_long() -> None:
    body = {"error": {"code": 400, "message": "maximum context length is 10 tokens"}}
    assert reply(fake.answer(200, body)).stop == "over_long"


@pytest.mark.parametrize("body", [b"<html>busy</html>", b'{"choices": [{"mess', b"", b"null"])
def test_a_200_that_is_no_completion_is_torn(body: bytes) -> None:
    assert type(error(fake.answer(200, body))) is TornReply


def test_a_stalled_server_is_a_timeout() -> None:
    async def go() -> None:
        await asked(fake.send(b"", then="stall"), timeout_s=0.1)

    with pytest.raises(Timeout):
        asyncio.run(go())


def test_of_a_reply_of_ten_megabytes_the_beginning_stays_with_a_mark() -> None:
    found = reply(fake.answer(200, fake.says("x" * (10 * 2**20))))
    assert found.text == "x" * reply_parts.MAX_TEXT_CHARS + f" [cut: {10 * 2**20} characters]"
    assert found.defects == (
        f"content: {10 * 2**20} characters, cut at {reply_parts.MAX_TEXT_CHARS}",
    )
    assert found.stop == "length"


def test_a_server_that_refuses_odd_arguments_gets_valid_ones() -> None:
    async def strict(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        call = asked.json["messages"][0]["tool_calls"][0]
        try:
            json.loads(call["function"]["arguments"])
            writer.write(fake.raw(200, json.dumps(fake.says("fine")).encode()))
        except ValueError:
            writer.write(fake.raw(400, b'{"error": {"message": "Expecting value"}}'))

    broken = Message(role="assistant", calls=(Call(name="f", arguments="{oops", id="1"),))
    answer = Message(role="tool", call_id="1", parts=(Text("no such tool"),))
    assert reply(strict, Request(messages=(broken, answer))).text == "fine"


def test_a_rejected_request_without_odd_arguments_is_sent_once() -> None:
    async def go() -> int:
        async with fake.serve(fake.answer(400, b"no")) as server:
            with pytest.raises(Rejected):
                await wire(server.url)(HELLO)
            return len(server.asked)

    assert asyncio.run(go()) == 1


def test_a_web_page_is_no_torn_reply_without_a_word_of_the_address() -> None:
    async def go() -> str:
        async with fake.serve(fake.answer(200, b"<!DOCTYPE html><title>hello")) as server:
            model = EndpointModel(server.url, "m")
            with pytest.raises(TornReply) as caught:
                await model(Request(messages=()))
            await model.close()
            return str(caught.value)

    assert "address" in asyncio.run(go())
