"""A history that a server refuses goes again without what no server has to take, on every wire."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.servers import fake

from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Message, Request, Sampling, Text, Tool
from toolmark.models.complaint_outcome import Complaint, refused_settings
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.endpoint_profile import EndpointProfile
from toolmark.models.secret_mask import SecretMask
from toolmark.models.wire_names import WIRE_NAMES, WireName
from toolmark.models.wires.wire import EncoderSettings
from toolmark.models.wires.wire_registry import wire_by_name

USER = Message(role="user", parts=(Text("go"),))
UNANSWERED = Message(role="assistant", calls=(Call(name="lost", arguments='{"a":1', id="c1"),))
ANSWERED = Message(role="assistant", calls=(Call(name="done", arguments="{}", id="c2"),))
RESULT = Message(role="tool", parts=(Text("ok"),), call_id="c2")
HISTORY = Request(messages=(USER, UNANSWERED, USER, ANSWERED, RESULT), tools=(Tool(name="done"),))


def encode(wire: WireName, *, repair: bool) -> tuple[str, set[str]]:
    """Return a body, and the kinds of what was changed."""
    settings = EncoderSettings("m", EndpointProfile(), None, "here")
    encoder = wire_by_name(wire).make_encoder(settings)
    sent = encoder.encode_request(HISTORY, repair_arguments=repair)
    return sent.body.decode(), {each.kind for each in sent.adaptations}


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_calls_that_nobody_answered_are_left_out_after_a_refusal_and_noted(wire: WireName) -> None:
    assert "lost" in encode(wire, repair=False)[0]
    body, kinds = encode(wire, repair=True)
    assert "lost" not in body and "done" in body
    assert "content" in kinds


def test_values_that_a_server_repeats_name_no_setting() -> None:
    fault: dict[str, Any] = {
        "type": "extra_forbidden",
        "loc": ["body", "messages", 1, "reasoning_content"],
        "msg": "Extra inputs are not permitted",
        "input": "the user wants the temperature in Oslo",
    }
    complaint = Complaint(json.dumps({"detail": [fault]}).encode(), SecretMask("", ()))
    assert refused_settings(complaint) == {"reasoning_history"}
    assert "Oslo" not in complaint.text


@pytest.mark.parametrize("wire", WIRE_NAMES)
def test_more_tools_than_an_endpoint_takes_are_not_sent(wire: WireName) -> None:
    async def ask(n_tools: int) -> int:
        async with fake.serve(fake.answer(500, b"busy")) as server:
            model = EndpointModel(
                server.url, "m", wire=wire_by_name(wire), wire_profile=EndpointProfile(max_tools=2)
            )
            tools = tuple(Tool(name=f"t{i}") for i in range(n_tools))
            with pytest.raises(UsageError, match="at most 2"):
                await model(Request(messages=(USER,), tools=tools, sampling=Sampling()))
            await model.close()
            return len(server.asked)

    assert asyncio.run(ask(3)) == 0
