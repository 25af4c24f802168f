"""A message is read once: plain ones as neutral records, all others with what must go back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.models.wire_samples import MESSAGES
from tests.servers import fake
from tests.servers.anthropic_server import Json, error, events, message, write_events

from toolmark.core.errors import TornReply, Unavailable
from toolmark.core.records import Reply, Usage
from toolmark.models.endpoint_model import EndpointModel

THOUGHT: Json = {"type": "thinking", "thinking": "I look.", "signature": "c2ln"}


def said(text: str, **more: Any) -> Json:
    return {"type": "text", "text": text, **more}


def called(name: str = "f", input: Any = None, **more: Any) -> Json:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": input or {}, **more}


def test_thoughts_that_the_endpoint_left_out_are_counted() -> None:
    changes = [{"type": "thinking_dropped", "path": "p", "reason": "r"}] * 2
    other = {"type": "thinking_mismatch_allowed", "path": "p", "reason": "r"}
    for content in ([said("x")], [said("\ud800")]):
        found = MESSAGES.decode(message(content, input_transformations=[*changes, other]))
        assert [each.kind for each in found.adaptations] == ["state_dropped"]
        assert "left out 2 thoughts" in found.adaptations[0].detail
    found = MESSAGES.read(said("x"), input_transformations=[])
    assert found.adaptations == ()


# --- over the transport -----------------------------------------------------------------


def whole(body: Json, *, stream: bool) -> fake.Behaviour:
    """Answer with a message, whole or as a stream."""
    if not stream:
        return fake.answer(200, body)
    return fake.answer(200, write_events(events(body)), {"content-type": "text/event-stream"})


def test_the_key_is_sent_in_its_own_header() -> None:
    found, (asked,) = MESSAGES.ask(fake.answer(200, message([said("x")])), key="k" * 20)
    assert isinstance(found, Reply)
    assert asked.target == "/v1/messages"
    assert asked.headers["x-api-key"] == "k" * 20 and "authorization" not in asked.headers
    assert asked.headers["anthropic-version"] == "2023-06-01"
    assert "anthropic-beta" not in asked.headers


SEARCH: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_paused_message_goes_on_and_is_one_reply(stream: bool) -> None:
    first = message([THOUGHT, SEARCH], stop_reason="pause_turn")
    second = message([THOUGHT, said("a")], stop_reason="pause_turn")
    third = message([called()])
    steps = [whole(each, stream=stream) for each in (first, second, third)]
    found, asked = MESSAGES.ask(*steps, is_stream=stream)
    assert isinstance(found, Reply)
    assert (found.stop, found.text, len(found.calls)) == ("stop", "a", 1)
    assert found.usage == Usage(input=90, output=70, reasoning=10, cached=24, cache_written=6)
    assert found.provider_state is not None
    content = json.loads(found.provider_state.data)["content"]
    assert content == [THOUGHT, SEARCH, THOUGHT, said("a"), called()]
    sent = [each.json["messages"] for each in asked]
    assert sent[0] == [{"role": "user", "content": "hello"}]
    assert sent[1] == [*sent[0], {"role": "assistant", "content": [THOUGHT, SEARCH]}]
    assert sent[2] == [*sent[0], {"role": "assistant", "content": content[:4]}]


def test_a_message_that_always_pauses_ends() -> None:
    found, asked = MESSAGES.ask(fake.answer(200, message([said("x")], stop_reason="pause_turn")))
    assert isinstance(found, Reply) and (found.stop, found.finish) == ("length", "pause_turn")
    assert len(asked) == 9


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        (fake.answer(529, error("overloaded_error", "no")), Unavailable),
        (fake.answer(200, error("overloaded_error", "no")), Unavailable),
        (fake.answer(200, {"content": 5}), TornReply),
        (fake.answer(200, b"{"), TornReply),
    ],
)
def test_a_pause_that_ends_badly_is_that_failure(rest: fake.Behaviour, kind: type) -> None:
    paused = fake.answer(200, message([said("x")], stop_reason="pause_turn"))
    found, _ = MESSAGES.ask(paused, rest)
    assert isinstance(found, kind)


def test_models_are_listed_with_the_same_key() -> None:
    listed = {"data": [{"id": "claude-a", "type": "model"}], "has_more": False}
    names, (asked,) = MESSAGES.use(
        fake.answer(200, listed), EndpointModel.list_models, query="?a=b", key="k" * 20
    )
    assert names == ("claude-a",)
    assert asked.target == "/v1/models?limit=1000&a=b"
    assert asked.headers["x-api-key"] == "k" * 20
