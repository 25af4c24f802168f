"""A request on the responses wire: its shape, and the outputs that go back in it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace
from tests.models.wire_samples import RESPONSES, USER, body_of, kinds_of

from toolmark.core.records import (
    Message,
    Request,
    Text,
)
from toolmark.models.provider_table import profile_for_url

encoder, encode, answered = RESPONSES.encoder, RESPONSES.encode, RESPONSES.answered
OUTPUT = RESPONSES.said
Json = dict[str, Any]


def test_openai_gets_the_role_of_a_developer() -> None:
    profile = profile_for_url("https://api.openai.com/v1")
    messages = (USER, Message(role="system", parts=(Text("x"),)))
    for sent, role in (
        (encode(*messages), "system"),
        (body_of(encoder(profile).encode_request(Request(messages=messages))), "developer"),
    ):
        assert [item["role"] for item in sent["input"]] == ["user", role]


# --- outputs that go back ---------------------------------------------------------------


def test_thoughts_that_the_endpoint_would_not_know_are_left_out_and_recorded() -> None:
    output = [{"type": "reasoning", "id": "rs_1", "summary": []}, *OUTPUT[1:]]
    sent = encoder().encode_request(Request(messages=(USER, *answered(output))))
    assert body_of(sent)["input"][1:-1] == OUTPUT[1:]
    assert [each.kind for each in sent.adaptations] == ["state_dropped"]


def test_thoughts_in_the_open_go_back_where_there_is_no_ciphertext() -> None:
    text = [{"type": "reasoning_text", "text": "hm"}]
    both = {**OUTPUT[0], "content": text}
    own = {"type": "reasoning", "id": "rs_1", "summary": [], "content": text}
    for thought, sent_back in ((both, OUTPUT[0]), (own, own)):
        sent = encoder().encode_request(Request(messages=(USER, *answered([thought, *OUTPUT[1:]]))))
        assert body_of(sent)["input"][1] == sent_back


def test_members_that_are_null_stay_away() -> None:
    nulls = {"content": None, "status": None}
    sent = encoder().encode_request(
        Request(messages=(USER, *answered([OUTPUT[0] | nulls, *OUTPUT[1:]])))
    )
    assert body_of(sent)["input"][1:-1] == OUTPUT


def test_arguments_that_a_server_cannot_read_are_sent_as_none_next_to_their_thoughts() -> None:
    output = [*OUTPUT[:2], OUTPUT[2] | {"arguments": "{"}]
    request = Request(messages=(USER, *answered(output)))
    assert body_of(encoder().encode_request(request))["input"][3]["arguments"] == "{"
    repaired = encoder().encode_request(request, repair_arguments=True)
    sent = body_of(encoder().encode_request(request))["input"]
    sent[3]["arguments"] = "{}"
    assert body_of(repaired)["input"] == sent
    assert [each.kind for each in repaired.adaptations] == ["state_patched"]


def test_an_output_whose_call_has_another_id_is_left_out_and_recorded() -> None:
    said, _ = answered()
    message = replace(said, calls=(replace(said.calls[0], id="call_0"),))
    sent = encoder().encode_request(Request(messages=(USER, message)))
    assert body_of(sent) == encode(USER, replace(message, provider_state=None))
    assert kinds_of(sent) == ["state_dropped"]
