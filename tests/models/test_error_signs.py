"""How endpoints say that a conversation is too long, that it is filtered, or that they are busy."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from tests.servers import fake

from toolmark.core.errors import EndpointError, TornReply
from toolmark.core.records import Reply
from toolmark.models import complaint_outcome
from toolmark.models.http_client import HttpResponse
from toolmark.models.secret_mask import SecretMask
from toolmark.models.wires.chat_completions import CHAT_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]


class Sign(NamedTuple):
    """A complaint, and what it becomes."""

    sign: str
    status: int
    body: Json
    became: str


def failed(message: str, **more: Any) -> Json:
    return {"error": {"message": message, **more}}


SIGNS = [
    Sign("exceed context limit", 400, failed(
        "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
        type="invalid_request_error"), "over_long"),
    Sign("exceeded model token limit", 400, failed(
        "Invalid request: Your request exceeded model token limit: 262144",
        type="invalid_request_error"), "over_long"),
    Sign("prompt length", 400, {
        "code": "Client specified an invalid argument",
        "error": "This model's maximum prompt length is 131072 but the request contains 171234 "
                 "tokens."}, "over_long"),
    Sign("input_too_large", 400, failed("too large", code="input_too_large"), "over_long"),
    Sign("1261", 400, failed("Prompt exceeds max length", code="1261"), "over_long"),
    Sign("context window exceeds limit", 400, failed(
        "invalid params, context window exceeds limit (2013)", type="bad_request_error"),
        "over_long"),
    Sign("Range of input length", 400, failed(
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        code="invalid_parameter_error"), "over_long"),
    Sign("too many tokens", 400, {
        "message": "too many tokens: total number of tokens in the prompt cannot exceed 128000"},
        "over_long"),
    Sign("max context length", 400, failed(
        "input length of 9000 exceeds max context length of 8192"), "over_long"),
    Sign("request_too_large", 413, failed(
        "Request exceeds the maximum size", type="request_too_large"), "over_long"),
    Sign("context_length_exceeded", 400, failed("", code="context_length_exceeded"), "over_long"),
    Sign("413 without a word", 413, failed("Payload Too Large"), "rejected.other"),
    Sign("cyber_policy", 400, failed("no", code="cyber_policy"), "refused"),
    Sign("bio_policy", 400, failed("no", code="bio_policy"), "refused"),
    Sign("invalid_prompt", 400, failed("no", code="invalid_prompt"), "refused"),
    Sign("safety_check", 403, {
        "code": "The caller does not have permission to execute the specified operation",
        "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"},
        "refused"),
    Sign("403 of a key", 403, failed("The key may not do this"), "rejected.auth"),
    Sign("sensitive", 400, failed("no", code="sensitive"), "refused"),
    Sign("data_inspection_failed", 400, failed("no", code="data_inspection_failed"), "refused"),
    Sign("insufficient_system_resource", 503, failed(
        "no", code="insufficient_system_resource"), "unavailable"),
]  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: sign.sign)
def test_each_sign_of_a_complaint_is_known(sign: Sign) -> None:
    body = json.dumps(sign.body).encode()
    found = complaint_outcome.reply_or_error(
        HttpResponse(sign.status, body, 0.1),
        complaint_outcome.Complaint(body, SecretMask("", ())),
        "KEY",
        sign.status,
    )
    assert (found.stop if isinstance(found, Reply) else found.kind) == sign.became


@pytest.mark.parametrize(
    ("finish", "became"),
    [
        ("model_length", "over_long"),
        ("sensitive", "refused"),
        ("content_filter", "refused"),
        ("length", "length"),
        ("network_error", "again"),
        ("insufficient_system_resource", "again"),
        ("abort", "again"),
    ],
)
def test_each_sign_in_a_finish_reason_is_known(finish: str, became: str) -> None:
    body = fake.reply({"role": "assistant", "content": "x"}, finish=finish)
    try:
        reply = CHAT_WIRE.decode_reply(json.dumps(body).encode(), NO_TOOLS, 0.0, "here")
    except (EndpointError, ErrorInBody) as error:
        assert became == "again", error
        is_asked_again = isinstance(error, TornReply) or status_of(error) >= 500
        assert is_asked_again
    else:
        assert reply.stop == became


def status_of(error: EndpointError | ErrorInBody) -> int:
    """Return the status that an error in a body stands for."""
    if isinstance(error, EndpointError):
        return error.status
    return complaint_outcome.Complaint(error.body, SecretMask("", ())).status()
