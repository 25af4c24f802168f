"""A generateContent response is read once: plain as neutral records, others with what goes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

import pytest
from tests.servers import fake
from tests.servers.gemini_server import Thinker, error, response

from toolmark.core.errors import EndpointError, RateLimited, Rejected, TornReply, Unavailable
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.records import Call, Message, Reply, Request, StopReason, Text, Usage
from toolmark.models.endpoint_model import EndpointModel
from toolmark.models.gemini_finish import ending_by_reason
from toolmark.models.wires import reply_parts
from toolmark.models.wires.gemini import GEMINI_WIRE
from toolmark.models.wires.reply_parts import ErrorInBody
from toolmark.models.wires.tool_names import NO_TOOLS

Json = dict[str, Any]
HELLO = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
THOUGHT: Json = {"text": "Hm.", "thought": True}
SAID: Json = {"text": "It is sunny."}


def called(name: Any = "f", args: Any = None, id: Any = "c", **more: Any) -> Json:
    call = {"name": name, "args": {} if args is None else args, "id": id}
    return {"functionCall": {k: v for k, v in call.items() if v is not None}, **more}


def decode(body: Any) -> Reply:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return GEMINI_WIRE.decode_reply(data, NO_TOOLS, 0.5, "here")


def read(*parts: Any, **more: Any) -> Reply:
    return decode(response(list(parts), **more))


def test_a_plain_reply_needs_no_state() -> None:
    found = read(SAID, called("f", {"a": 1}, "x"), called("g", {}, "y"))
    assert found.text == "It is sunny."
    assert found.calls == (
        Call(name="f", arguments='{"a": 1}', id="x"), Call(name="g", arguments="{}", id="y"),
    )  # fmt: skip
    assert found.provider_state is None
    assert (found.stop, found.finish, found.model) == ("stop", "", "thinker-1")
    assert found.request_id.startswith("r") and found.latency_s == 0.5


@pytest.mark.parametrize(
    "parts",
    [
        [THOUGHT, SAID],
        [SAID | {"thoughtSignature": "c2ln"}],
        [called(thoughtSignature="c2ln")],
        [called(id=None)],
        [called(id="x"), called(id="x")],
        [SAID, SAID],
        [called(), SAID],
        [{"functionCall": {"name": "f", "id": "c"}}],
        [{"functionCall": {"name": "f", "id": "c", "args": {}, "unknown": 1}}],
        [{"executableCode": {"code": "1"}}, SAID],
    ],
)
def test_what_the_records_lack_is_state_in_its_own_bytes(parts: list[Json]) -> None:
    content = {"parts": parts, "role": "model"}
    text = json.dumps(content, indent=3, ensure_ascii=False)
    whole = json.dumps(response("HERE"))
    body = whole.replace(json.dumps({"role": "model", "parts": "HERE"}), text)
    state = decode(body.encode()).provider_state
    assert state is not None
    assert (state.wire, state.origin, state.data) == ("gemini", "here", text)


def test_arguments_are_the_source_text() -> None:
    args = '{ "a":  1.0, "b": 1e400, "ü": "\\u00fc" }'
    body = json.dumps(response([called(args="HERE")])).replace('"HERE"', args).encode()
    assert decode(body).calls[0].arguments == args


def test_thoughts_are_read_apart_from_what_was_said() -> None:
    found = read(THOUGHT, SAID, {"text": " Ha.", "thought": True}, {"text": " Yes."})
    assert (found.reasoning, found.text) == ("Hm. Ha.", "It is sunny. Yes.")


@pytest.mark.parametrize(
    ("finish", "stop", "word"),
    [
        ("STOP", "stop", ""),
        ("MAX_TOKENS", "length", ""),
        ("SAFETY", "refused", "SAFETY"),
        ("RECITATION", "refused", "RECITATION"),
        ("SPII", "refused", "SPII"),
        ("IMAGE_SAFETY", "refused", "IMAGE_SAFETY"),
        ("MALFORMED_FUNCTION_CALL", "malformed", "MALFORMED_FUNCTION_CALL"),
        ("UNEXPECTED_TOOL_CALL", "malformed", "UNEXPECTED_TOOL_CALL"),
        ("TOO_MANY_TOOL_CALLS", "malformed", "TOO_MANY_TOOL_CALLS"),
        ("MALFORMED_RESPONSE", "malformed", "MALFORMED_RESPONSE"),
        ("SOMETHING_NEW", "stop", "SOMETHING_NEW"),
    ],
)
def test_how_a_reply_ended(finish: str, stop: str, word: str) -> None:
    found = read(SAID, finish=finish)
    assert (found.stop, found.finish, found.text) == (stop, word, "It is sunny.")


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
            decode(body)
    else:
        assert decode(body).stop == stop


@pytest.mark.parametrize("finish", ["OTHER", "FINISH_REASON_UNSPECIFIED", None, "", 5])
def test_an_end_without_a_reason_is_asked_again(finish: Any) -> None:
    with pytest.raises(TornReply):
        read(SAID, finish=finish)


def test_the_message_of_an_end_is_the_text_where_there_is_none() -> None:
    message = "Malformed function call: f(a="
    more = {"finish": "MALFORMED_FUNCTION_CALL", "finishMessage": message}
    assert read(**more).text == message
    assert read(SAID, **more).text == "It is sunny."
    assert read(SAID, finishMessage=message).text == "It is sunny."


def test_a_request_that_is_blocked_is_refused() -> None:
    feedback = {"blockReason": "PROHIBITED_CONTENT", "blockReasonMessage": "No."}
    others: list[Json] = [{}, {"candidates": []}, {"candidates": None}]
    for more in others:
        found = decode({"promptFeedback": feedback, "modelVersion": "m", **more})
        assert (found.stop, found.finish) == ("refused", "PROHIBITED_CONTENT")
        assert (found.text, found.model) == ("No.", "m")
    with pytest.raises(TornReply):
        decode({"promptFeedback": {}})


def test_endings_are_those_of_a_reply_or_two_more() -> None:
    assert set(get_args(StopReason)) >= {ending_by_reason("STOP"), ending_by_reason("SAFETY")}
    assert [ending_by_reason(each) for each in ("OTHER", "MISSING_THOUGHT_SIGNATURE", "X")] == [
        "again", "fault", "stop",
    ]  # fmt: skip


def test_usage_is_counted_with_thoughts_and_what_was_cached() -> None:
    assert read(THOUGHT, SAID).usage == Usage(input=30, output=25, reasoning=5, cached=8)
    counts = {"promptTokenCount": 3, "toolUsePromptTokenCount": 4, "candidatesTokenCount": 5}
    assert decode(response([SAID]) | {"usageMetadata": counts}).usage == Usage(input=7, output=5)
    assert decode(response([SAID]) | {"usageMetadata": None}).usage == Usage()
    odd = {"promptTokenCount": 3, "toolUsePromptTokenCount": -4, "thoughtsTokenCount": "x"}
    found = decode(response([SAID]) | {"usageMetadata": odd})
    assert found.usage == Usage() and found.defects


# --- errors -----------------------------------------------------------------------------

RETRY: Json = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
BAD_KEY: Json = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


def quota(name: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaMetric": "m", "quotaId": name}]}  # fmt: skip


def ask(body: Any, status: int = 200, headers: dict[str, str] | None = None) -> Any:
    async def go() -> Reply | EndpointError:
        async with fake.serve(fake.answer(status, body, headers)) as server:
            model = EndpointModel(server.url, "m", wire=GEMINI_WIRE, key="AIzaKey-of-tests-123456")
            try:
                return await model(HELLO)
            except EndpointError as found:
                return found
            finally:
                await model.close()

    return asyncio.run(go())


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
        read(finish=finish)
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

    async def go() -> tuple[str, ...] | None:
        async with fake.serve(Thinker()) as server:
            model = EndpointModel(server.url, "x", wire=GEMINI_WIRE)
            try:
                return await model.list_models()
            finally:
                await model.close()

    assert asyncio.run(go()) == ("thinker",)


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

    async def go() -> tuple[str, ...] | None:
        async with fake.serve(fake.answer(status, body)) as server:
            model = EndpointModel(server.url, "x", wire=GEMINI_WIRE, key_name="GEMINI_API_KEY")
            try:
                return await model.list_models()
            finally:
                await model.close()

    if kind is None:
        assert asyncio.run(go()) is None
        return
    with pytest.raises(Rejected, match="check GEMINI_API_KEY") as caught:
        asyncio.run(go())
    assert caught.value.kind == kind


# --- shapes that no documentation has ---------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "text", "arguments"),
    [
        ([called(args={"a": [1, "\ud800"]})], "", ['{"a": [1, "\\ud800"]}']),
        ([called(args=5)], "", ["5"]),
        ([{"functionCall": {"name": "f", "args": None}}], "", ["{}"]),
        ([called(id=5)], "", ["{}"]),
        ([{"no": "kind"}, {"inlineData": 5}, SAID], "It is sunny.", []),
        ([{"text": None}, {"functionCall": None}], "", []),
        ([SAID | {"thought": None}, {"text": "x", "thought": "yes"}], "It is sunny.", []),
    ],
)
def test_other_shapes_are_read_as_far_as_they_can_be(
    parts: list[Any], text: str, arguments: list[str]
) -> None:
    found = read(*parts)
    assert (found.text, found.stop) == (text, "stop")
    assert [call.arguments for call in found.calls] == arguments


@pytest.mark.parametrize(
    "part",
    [None, "x", 5, {"text": 5}, {"functionCall": 5}, {"functionCall": {}},
     {"functionCall": {"name": 5}}],
)  # fmt: skip
def test_parts_of_the_wrong_shape_are_malformed(part: Any) -> None:
    assert read(part).stop == "malformed"


def test_lone_surrogates_are_stored_and_go_back() -> None:
    found = read(THOUGHT, {"text": "x\ud800"})
    assert decode_record(encode_record(found), Reply) == found
    assert found.provider_state is not None
    assert json.loads(found.provider_state.data)["parts"] == [THOUGHT, {"text": "x\ud800"}]
    assert read({"text": "x\ud800"}, called()).provider_state is None


def test_what_is_too_long_is_cut_but_what_goes_back_is_not() -> None:
    text = "x" * (reply_parts.MAX_TEXT_CHARS + 1000)
    found = read(THOUGHT, {"text": text}, *[called()] * 3)
    assert found.stop == "length" and len(found.text) < len(text) and found.defects
    assert found.provider_state is not None and text in found.provider_state.data
    many = read(*[called()] * (reply_parts.MAX_CALLS + 5))
    assert len(many.calls) == reply_parts.MAX_CALLS and many.stop == "length"


def test_a_key_in_what_goes_back_is_refused() -> None:
    body = response([THOUGHT, SAID | {"thoughtSignature": "AIzaKey-of-tests-123456"}])
    found = ask(body)
    assert isinstance(found, Rejected) and "the reply holds the key" in str(found)
