"""A limit of the reply that toolmark set itself is lowered to what the endpoint has room for."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import anthropic_server, fake

from toolmark.core.errors import EndpointError, Rejected
from toolmark.core.records import Message, Reply, Request, Sampling, Text
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.wires.wire_registry import wire_by_name

HELLO = (Message(role="user", parts=(Text("hello"),)),)
FINE = anthropic_server.message([{"type": "text", "text": "fine"}])
MODEL = "claude-opus-4-6"  # 21333 tokens where the user sets no limit
COMPLAINTS = [
    ("input length and `max_tokens` exceed context limit: 188240 + {asked} > 200000, decrease "
     "input length or `max_tokens` and try again", 11760),
    ("max_tokens: {asked} > 8192, which is the maximum allowed number of output tokens for m",
     8192),
    ("'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum context "
     "length is 4096 tokens and your request has 96 input tokens ({asked} > 4096 - 96).", 4000),
    ("This model's maximum context length is 4096 tokens. However, you requested 21429 tokens (96 "
     "in the messages, {asked} in the completion). Please reduce the length of the messages or "
     "completion.", 4000),
    ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 96 "
     "`inputs` tokens and {asked} `max_new_tokens`", 4000),
]  # fmt: skip


def refuses_above(limit: int, text: str) -> fake.Behaviour:
    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
        n = asked.json["max_tokens"]
        complaint = {"type": "error", "error": {
            "type": "invalid_request_error", "message": text.format(asked=n)}}  # fmt: skip
        found = complaint if n > limit else FINE
        writer.write(fake.raw(400 if n > limit else 200, json.dumps(found).encode()))

    return behave


def ask(
    behaviour: fake.Behaviour,
    sampling: Sampling,
    n: int = 1,
    messages: tuple[Message, ...] = HELLO,
) -> tuple[list[Reply | EndpointError], list[int]]:
    """Return what came of each request, and the limits that were asked for."""

    async def go() -> tuple[list[Reply | EndpointError], list[int]]:
        async with fake.serve(behaviour) as server:
            model = EndpointModel(server.url, MODEL, wire=wire_by_name("anthropic"))
            found: list[Any] = await asyncio.gather(
                *(model(Request(messages=messages, sampling=sampling)) for _ in range(n)),
                return_exceptions=True,
            )
            await model.close()
            return found, [asked.json["max_tokens"] for asked in server.asked]

    return asyncio.run(go())


@pytest.mark.parametrize(("text", "limit"), COMPLAINTS)
def test_toolmarks_own_limit_is_lowered_by_what_the_complaint_says(text: str, limit: int) -> None:
    (reply,), asked = ask(refuses_above(limit, text), Sampling())
    assert isinstance(reply, Reply)
    assert (reply.text, asked) == ("fine", [21_333, limit])
    details = [each.detail for each in reply.adaptations if each.kind == "setting"]
    assert details == [f"max_tokens {limit}: the endpoint has no room for more"]


@pytest.mark.parametrize(("text", "limit"), COMPLAINTS)
def test_a_limit_of_the_user_is_never_lowered_and_fits_no_first_request(
    text: str, limit: int
) -> None:
    (found,), asked = ask(refuses_above(limit, text), Sampling(max_tokens=21_333))
    assert asked == [21_333]
    assert isinstance(found, Rejected)
    assert (found.kind, found.subject) == ("rejected.other", "setting")
    assert str(found).endswith(f"; next: --max-tokens {limit} or fewer")


@pytest.mark.parametrize(
    ("text", "limit"), [(text, n) for text, n in COMPLAINTS if "maximum allowed" not in text]
)
def test_a_conversation_that_grew_into_the_limit_of_the_user_is_over_long(
    text: str, limit: int
) -> None:
    grown = (*HELLO, Message(role="assistant", parts=(Text("hi"),)), *HELLO)
    asked_for = limit + 50
    (found,), asked = ask(
        refuses_above(limit, text), Sampling(max_tokens=asked_for), messages=grown
    )
    assert isinstance(found, Reply)
    assert (found.stop, asked) == ("over_long", [asked_for])


def test_a_limit_of_which_no_number_is_named_is_said_to_be_toolmarks() -> None:
    text = "input length and `max_tokens` exceed context limit"
    (found,), asked = ask(refuses_above(9, text), Sampling())
    assert isinstance(found, Rejected)
    assert (found.kind, found.subject, asked) == ("rejected.other", "setting", [21_333])
    assert str(found).endswith(
        "max_tokens 21333 is toolmark's own, as the wire needs a limit; next: --max-tokens with a "
        "smaller one"
    )


@pytest.mark.parametrize(
    "text",
    [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 210000 + {asked} > 200000, decrease",
    ],
)
def test_a_conversation_that_has_no_room_alone_is_over_long(text: str) -> None:
    (reply,), asked = ask(refuses_above(9, text), Sampling())
    assert isinstance(reply, Reply)
    assert (reply.stop, asked) == ("over_long", [21_333])
