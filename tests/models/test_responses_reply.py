"""A response is read once: plain ones as neutral records, all others with what must go back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.models.wire_samples import RESPONSES
from tests.servers import fake
from tests.servers.responses_server import response

from toolmark.core.errors import RateLimited, Rejected, Unavailable
from toolmark.core.records import Reply
from toolmark.models.wires.reply_parts import ErrorInBody

Json = dict[str, Any]


def test_a_refusal_is_the_text_of_a_refused_reply() -> None:
    found = RESPONSES.read(
        {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]}
    )
    assert (found.text, found.stop) == ("I cannot.", "refused")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("rate_limit_exceeded", RateLimited),
        ("server_error", Unavailable),
        ("vector_store_timeout", Unavailable),
        ("invalid_image", Rejected),
        ("context_length_exceeded", "over_long"),
        ("invalid_prompt", "refused"),
        ("bio_policy", "refused"),
        ("misalignment_policy_violation", "refused"),
        ("image_content_policy_violation", "refused"),
    ],
)
@pytest.mark.parametrize("form", ["failed", "error"])
def test_a_failed_response_is_what_its_code_says(code: str, kind: Any, form: str) -> None:
    error = {"code": code, "message": "it says why"}
    body = response([], status="failed", error=error) if form == "failed" else {"error": error}

    found, _ = RESPONSES.ask(fake.answer(200, body))
    assert found.stop == kind if isinstance(found, Reply) else type(found) is kind


def test_a_failed_response_without_a_reason_is_an_error() -> None:
    with pytest.raises(ErrorInBody):
        RESPONSES.decode(response([], status="failed"))
