"""A generateContent response is read once: plain as neutral records, others with what goes back."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from tests.models.wire_samples import GEMINI
from tests.servers import fake
from tests.servers.gemini_server import Thinker, error, response

from toolmark.core.errors import RateLimited, Rejected, TornReply, Unavailable
from toolmark.core.records import Reply, StopReason
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.gemini_finish import ending_by_reason
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody

Json = dict[str, Any]
THOUGHT: Json = {"text": "Hm.", "thought": True}
SAID: Json = {"text": "It is sunny."}


def called(name: Any = "f", args: Any = None, id: Any = "c", **more: Any) -> Json:
    call = {"name": name, "args": {} if args is None else args, "id": id}
    return {"functionCall": {k: v for k, v in call.items() if v is not None}, **more}


@pytest.mark.parametrize("content", [{}, {"parts": []}, {"parts": None}, None, {"role": "model"}])
@pytest.mark.parametrize(
    ("finish", "stop"),
    [("MAX_TOKENS", "length"), ("SAFETY", "refused"), ("MALFORMED_FUNCTION_CALL", "malformed"),
     ("STOP", None), ("OTHER", None), ("SOMETHING_NEW", None), (None, None), ("", None)],
)  # fmt: skip
def test_a_reply_without_parts_is_asked_again_unless_its_end_says_why(
    content: Any, finish: str | None, stop: str | None
) -> None:
    body = response([], finish, content=content)
    if stop is None:
        with pytest.raises(TornReply):
            GEMINI.decode(body)
    else:
        assert GEMINI.decode(body).stop == stop


def test_the_message_of_an_end_is_the_text_where_there_is_none() -> None:
    message = "Malformed function call: f(a="
    more = {"finish": "MALFORMED_FUNCTION_CALL", "finishMessage": message}
    assert GEMINI.decode(response([], **more)).text == message
    assert GEMINI.decode(response([SAID], **more)).text == "It is sunny."
    assert GEMINI.decode(response([SAID], finishMessage=message)).text == "It is sunny."


def test_a_request_that_is_blocked_is_refused() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."}
    others: list[Json] = [{}, {"candidates": []}, {"candidates": None}]
    for more in others:
        found = GEMINI.decode({"promptFeedback": feedback, "modelVersion": "m", **more})
        assert (found.stop, found.finish) == ("refused", "PROHIBITED_CONTENT")
        assert (found.text, found.model) == ("No.", "m")
    with pytest.raises(TornReply):
        GEMINI.decode({"promptFeedback": {}})


def test_endings_are_those_of_a_reply_or_two_more() -> None:
    assert set(get_args(StopReason)) >= {ending_by_reason("STOP"), ending_by_reason("SAFETY")}
    assert [ending_by_reason(each) for each in ("OTHER", "MISSING_THOUGHT_SIGNATURE", "X")] == [
        "again", "fault", "stop",
    ]  # fmt: skip


# --- errors -----------------------------------------------------------------------------

RETRY: Json = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
BAD_KEY: Json = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


def quota(name: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaMetric": "m", "quotaId": name}]}  # fmt: skip


def ask(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Any:
    return GEMINI.ask(fake.answer(status, body, headers), key="AIzaKey-of-tests-123456")[0]


@pytest.mark.parametrize(
    ("kind", "code", "message", "details", "became"),
    [
        ("RESOURCE_EXHAUSTED", 429, "You exceeded your quota.", [], "rate_limited"),
        ("RESOURCE_EXHAUSTED", 429, "Quota.",
         [quota("GenerateRequestsPerMinutePerProjectPerModel"), RETRY], "rate_limited"),
        ("RESOURCE_EXHAUSTED", 429, "Quota.",
         [quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), RETRY], "rejected.billing"),
        ("INVALID_ARGUMENT", 400, "API key not valid. Please pass a valid API key.", [BAD_KEY],
         "rejected.auth"),
        ("INVALID_ARGUMENT", 400, "API key expired. Please renew the API key.", [],
         "rejected.auth"),
        ("INVALID_ARGUMENT", 400, "Bad key.", [BAD_KEY], "rejected.auth"),
        ("PERMISSION_DENIED", 403, "No.", [], "rejected.auth"),
        ("UNAUTHENTICATED", 401, "No.", [], "rejected.auth"),
        ("NOT_FOUND", 404, "models/x is not found for API version v1beta, or is not supported for "
         "generateContent.", [], "rejected.not_found"),
        ("FAILED_PRECONDITION", 400, "User location is not supported.", [], "rejected.other"),
        ("INVALID_ARGUMENT", 400, "The input token count (1200293) exceeds the maximum number of "
         "tokens allowed (1048576).", [], "reply:over_long"),
        ("INVALID_ARGUMENT", 400, "Function call is missing a thought_signature in functionCall "
         "parts.", [], "rejected.other"),
        ("INTERNAL", 500, "An internal error has occurred.", [], "unavailable"),
        ("UNAVAILABLE", 503, "The model is overloaded.", [RETRY], "unavailable"),
        ("DEADLINE_EXCEEDED", 504, "Too slow.", [], "unavailable"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["object", "list", "under 200", "by its word"])
def test_an_error_is_what_it_says(
    kind: str, code: int, message: str, details: list[Json], became: str, form: str
) -> None:
    body = error(message, kind, code, *details)
    if form == "by its word":
        del body["error"]["code"]
    status = code if form in ("object", "list") else 200
    found = ask([body] if form == "list" else body, status)
    assert (f"reply:{found.stop}" if isinstance(found, Reply) else found.kind) == became
    if RETRY in details and became != "rejected.billing":
        assert isinstance(found, RateLimited | Unavailable) and found.wait_s == 34.5
    if "thought_signature" in message:
        assert "toolmark's fault" in str(found)


def test_the_header_says_how_long_to_wait_before_the_body_does() -> None:
    body = error("Slow down.", "RESOURCE_EXHAUSTED", 429, RETRY)
    assert ask(body, 429, {"retry-after": "7"}).wait_s == 7
    for delay in ("x", "-1s", "1e9s", "9" * 500 + "s", 5, None, "٣s"):
        odd = error("Slow down.", "RESOURCE_EXHAUSTED", 429, RETRY | {"retryDelay": delay})
        assert ask(odd, 429).wait_s is None


def test_a_quota_of_the_day_is_an_end() -> None:
    body = error("Quota.", "RESOURCE_EXHAUSTED", 429, quota("GenerateRequestsPerDay"))
    found = ask(body, 429)
    assert isinstance(found, Rejected)
    assert (found.kind, found.subject) == ("rejected.billing", "quota")


@pytest.mark.parametrize(
    ("finish", "words"),
    [("MISSING_THOUGHT_SIGNATURE", "toolmark's fault"), ("PUP_LIMITED_DISABLED", "check ")],
)
def test_an_end_that_is_a_fault_of_the_request_stops_the_run(finish: str, words: str) -> None:
    with pytest.raises(ErrorInBody):
        GEMINI.read(finish=finish)
    found = ask(response([], finish, finishMessage="why"))
    assert isinstance(found, Rejected) and words in str(found) and "why" in str(found)


def test_names_of_models_are_listed_without_their_folder() -> None:
    listed = [
        {"name": "models/a", "supportedGenerationMethods": ["generateContent", "countTokens"]},
        {"name": "models/e", "supportedGenerationMethods": ["embedContent"]},
        {"name": "tunedModels/t"},
    ]
    body = json.dumps({"models": listed, "nextPageToken": "x"}).encode()
    assert GEMINI_WIRE.decode_model_names(body) == ("a", "tunedModels/t")
    assert GEMINI_WIRE.decode_model_names(b'{"data":[]}') is None

    assert GEMINI.use(Thinker(), EndpointModel.list_models)[0] == ("thinker",)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [(400, "API_KEY_INVALID", "rejected.auth"), (403, "PERMISSION_DENIED", "rejected.auth"),
     (400, "INVALID_ARGUMENT", None), (404, "NOT_FOUND", None)],
)  # fmt: skip
def test_a_key_that_is_refused_is_said_by_the_list_of_models(
    status: int, reason: str, kind: str | None
) -> None:
    """The endpoint says 400 of a wrong key; whatever else it refuses, it lists no models."""
    detail = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    body = {"error": {"code": status, "message": "no", "details": [detail]}}

    def list_models() -> tuple[str, ...] | None:
        refused = fake.answer(status, body)
        return GEMINI.use(refused, EndpointModel.list_models, key_name="GEMINI_API_KEY")[0]

    if kind is None:
        assert list_models() is None
        return
    with pytest.raises(Rejected, match="check GEMINI_API_KEY") as caught:
        list_models()
    assert caught.value.kind == kind


# --- shapes that no documentation has ---------------------------------------------------
