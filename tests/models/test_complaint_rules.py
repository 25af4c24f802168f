"""Complaints are read once, by patterns kept as data."""

from __future__ import annotations

import json
from typing import Any, get_args

import msgspec
import pytest

from toolmark.core import data_files
from toolmark.core.errors import EndpointError, failure_of
from toolmark.core.failure import Kind, Subject
from toolmark.core.records import Audio, Image, Message, Reply, Request, Text, Tool
from toolmark.models import complaint_outcome, complaint_rules
from toolmark.models.http_client import HttpResponse
from toolmark.models.secret_mask import SecretMask

PICTURE = Image(sha256="0" * 64, mime="image/png", size_bytes=1)
SOUND = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1)
PLAIN = Request(messages=(Message(role="user", parts=(Text("hello"),)),))
FULL = Request(
    messages=(Message(role="user", parts=(Text("hello"), PICTURE, SOUND)),),
    tools=(Tool(name="look"),),
)


def outcome(code: int, message: str, request: Request = FULL, **more: Any) -> Reply | EndpointError:
    body = json.dumps({"error": {"message": message, **more}}).encode()
    complaint = complaint_outcome.Complaint(body, SecretMask("", ()))
    return complaint_outcome.reply_or_error(
        HttpResponse(code, body, 0.1),
        complaint,
        "KEY",
        code,
        complaint_outcome.request_subjects(request),
    )


def kind(
    code: int, message: str, request: Request = FULL, **more: Any
) -> tuple[Kind, Subject, int]:
    found = outcome(code, message, request, **more)
    assert isinstance(found, EndpointError)
    failure = failure_of(found, "model")
    return failure.kind, failure.subject, failure.status


def test_the_table_is_of_its_schema_and_every_rule_can_be_met() -> None:
    table = complaint_rules.load_table()
    assert {rule.kind for rule in table.rules} <= {"", *get_args(Kind)}
    for rule in table.rules:
        assert (rule.kind == "") != (rule.stop == ""), rule.description
        low = rule.statuses[0][0] if rule.statuses else 499
        words = [
            *rule.phrases[:1],
            *rule.words[:1],
            *(["not supported"] if rule.says_unsupported else []),
        ]
        if rule.exceeds:
            words = [f"{words[0]}9, {rule.exceeds[1]}8"]
        said = complaint_rules.ComplaintText(" ".join(words).replace(" ... ", " "), rule.codes[:1])
        collected = {rule.subject} if rule.subject else set()
        assert complaint_rules.matching_rule(low, said, collected) is rule, rule.description
    assert not table.rules[-1].statuses and not table.rules[-1].phrases, "the last takes all"


def test_a_table_of_another_form_is_refused() -> None:
    path = data_files.data_path(complaint_rules.__file__, "complaints.toml")
    text = path.read_bytes() + b'\n[[rules]]\ndescription = "x"\nkind = "rejected.else"\n'
    with pytest.raises(msgspec.ValidationError, match=r"rejected\.else"):
        msgspec.toml.decode(text, type=complaint_rules.ComplaintTable)


@pytest.mark.parametrize(
    ("code", "message", "subject"),
    [
        (400, "At most 0 image(s) may be provided in one request.", "pictures"),
        (404, "No endpoints found that support image input", "pictures"),
        (400, "this model does not support multimodal requests", "pictures"),
        (400, "image_url is not supported by this model", "pictures"),
        (400, "audio input is not supported", "sound"),
        (404, "No endpoints found that support tool use", "tools"),
        (400, "registry.example/library/m does not support tools", "tools"),
        (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be '
              "set", "tools"),
        (400, "Unsupported parameter: 'seed' is not supported with this model.", "setting"),
    ],
)  # fmt: skip
def test_what_an_endpoint_does_not_take_is_named(code: int, message: str, subject: Subject) -> None:
    assert kind(code, message) == ("rejected.unsupported", subject, code)
    if subject != "setting":  # what was not sent was not refused
        assert kind(code, message, PLAIN)[1] != subject


@pytest.mark.parametrize(
    ("code", "message", "found"),
    [
        (503, "upstream vision worker: 422: out of memory", ("unavailable", "", 503)),
        (429, "401: images: slow down", ("rate_limited", "", 429)),
        (400, "image 3 is too large: 9000 pixels", ("rejected.other", "", 400)),
        (403, "maximum of your region", ("rejected.auth", "", 403)),
        (413, "Payload Too Large", ("rejected.other", "length", 413)),
        (418, "the endpoint refuses the pictures", ("rejected.other", "", 418)),
        (999, "401: invalid key", ("unavailable", "", 999)),
        (204, "", ("unavailable", "", 204)),
    ],
)
def test_the_status_decides_and_words_within_a_message_do_not_mislead(
    code: int, message: str, found: tuple[Kind, Subject, int]
) -> None:
    assert kind(code, message) == kind(code, message, PLAIN) == found


@pytest.mark.parametrize("padding", [4096, 4 * 4096, 16 * 4096])
def test_what_stands_behind_the_first_4_kb_is_not_read(padding: int) -> None:
    message = "x" * padding + " maximum context length; audio is not supported"
    assert kind(400, message) == ("rejected.other", "", 400)
    said = complaint_rules.ComplaintText(message)
    assert len(said.text) == complaint_rules.MAX_COMPLAINT_CHARS and len(said.word_set) == 1


def test_numbers_and_phrases_are_found_in_order() -> None:
    said = complaint_rules.ComplaintText("Max_Tokens: too large: 12, maximum context length is 9")
    assert said.has_phrase(("max_tokens ... too large",)) and not said.has_phrase(
        ("too large ... max_to",)
    )
    assert (
        said.number_after("too large: "),
        said.number_after("length is "),
        said.number_after("x "),
    ) == (
        12,
        9,
        None,
    )
    assert (
        complaint_rules.ComplaintText("too large: " + "9" * 5000).number_after("too large: ")
        == 10**12 - 1
    )


def test_a_conversation_that_is_too_long_keeps_what_the_endpoint_said() -> None:
    said = "This model's maximum context length is 4096 tokens; you asked for 5000."
    found = outcome(400, said)
    assert isinstance(found, Reply)
    assert (found.stop, found.text, found.complaint) == ("over_long", "", f"400: {said}")


def test_a_stored_complaint_is_one_short_line_without_the_key() -> None:
    key = "sk-1234567890abcdef"
    said = f"prompt is too long\nfor {key}\x1b[2J" + 10_000 * " x"
    body = json.dumps({"error": {"message": said}}).encode()
    complaint = complaint_outcome.Complaint(body, SecretMask(key, ()))
    found = complaint_outcome.reply_or_error(HttpResponse(400, body, 0.1), complaint, "KEY", 400)
    assert isinstance(found, Reply) and found.stop == "over_long"
    assert key not in found.complaint and "\n" not in found.complaint
    assert "\x1b" not in found.complaint and len(found.complaint) < 600
    assert "prompt is too long for [key]" in found.complaint


@pytest.mark.parametrize(
    "message",
    [
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
        "Invalid request: Your request exceeded model token limit: 131072",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "invalid params, context window exceeds limit (2013)",
        "Range of input length should be [1, 129024]",
        "too many tokens: size limit exceeded by 5 tokens",
        "prompt too long; exceeded max context length by 4 tokens",
    ],
)
def test_signs_of_a_conversation_that_is_too_long(message: str) -> None:
    found = outcome(400, message)
    assert isinstance(found, Reply)
    assert found.stop == "over_long"


def test_codes_of_a_conversation_that_is_too_long_and_of_filters() -> None:
    for status, code, stop in (
        (400, "1261", "over_long"),
        (413, "request_too_large", "over_long"),
        (400, "input_too_large", "over_long"),
        (400, "cyber_policy", "refused"),
        (400, "invalid_prompt", "refused"),
        (400, "data_inspection_failed", "refused"),
    ):
        body = json.dumps({"error": {"message": "no", "code": code}}).encode()
        complaint = complaint_outcome.Complaint(body, SecretMask("", ()))
        answer = HttpResponse(status, body, 0.1)
        found = complaint_outcome.reply_or_error(answer, complaint, "KEY", status)
        assert isinstance(found, Reply), code
        assert found.stop == stop, code
    found = outcome(403, "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO")
    assert isinstance(found, Reply)
    assert found.stop == "refused"


def test_too_many_tokens_per_minute_is_no_long_conversation() -> None:
    assert kind(429, "Too many tokens, please wait before trying again.")[0] == "rate_limited"


DAY_S = "Rate limit reached for gpt-5 in organization org-1 on"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, f"{DAY_S} requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again "
              "in 7m12s."),
        (429, f"{DAY_S} tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try "
              "again in 9m38.016s. Need more tokens? Upgrade to Dev Tier today"),
        (429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model "
              "requests per day"),
        (429, "Rate limit exceeded: free-models-per-day-high-balance."),
        (429, "Your account org-1 / proj-1 request reached organization TPD rate limit, current: "
              "1505241, limit: 1500000"),
        (429, "Tokens per day limit exceeded - too many tokens processed."),
        (429, "Rate limit of 50 per 86400s exceeded for UserByModelByDay."),
        (429, "You are using a Trial key, which is limited to 1000 API calls / month."),
        (400, "You have reached your specified API usage limits. You will regain access on "
              "2027-01-01 at 00:00 UTC."),
        (400, "You have reached your specified workspace API usage limits."),
    ],
)  # fmt: skip
def test_a_quota_of_a_day_or_month_is_an_end(status: int, message: str) -> None:
    assert kind(status, message) == ("rejected.billing", "quota", status)


@pytest.mark.parametrize(
    "message",
    [
        f"{DAY_S} requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
        f"{DAY_S} tokens per minute (TPM): Limit 6000, Used 5900, Requested 300. Need more tokens? "
        "Upgrade to Dev Tier today",
        "Rate limit exceeded: free-models-per-min.",
        "request reached organization max RPM: 3, please try again after 1 seconds",
        "request reached project TPM rate limit, current: 1410, limit: 100",
        "Tokens per minute limit exceeded - too many tokens processed.",
        "Rate limit of 10 per 60s exceeded for UserByModelByMinute.",
        "This request would exceed your account's rate limit of 30,000 input tokens per minute",
        "Server is temporarily limiting requests (not your usage limit)",
        "The engine is currently overloaded, please try again later",
    ],
)
def test_a_limit_of_a_minute_is_waited_for(message: str) -> None:
    assert kind(429, message) == ("rate_limited", "", 429)


def test_openrouter_names_its_wait_in_the_body() -> None:
    headers = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "40s"}
    error = {"message": "Rate limit exceeded: free-models-per-min.", "code": 429}
    body = json.dumps({"error": {**error, "metadata": {"headers": headers}}}).encode()
    assert complaint_outcome.Complaint(body, SecretMask("", ())).wait_s == 40.0


@pytest.mark.parametrize(
    "message",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "Missing `reasoning_content` field in the assistant message at message index 2.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message",
        "Function call is missing a thought_signature in functionCall parts.",
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ],
)
def test_thoughts_that_did_not_come_back_are_no_fault_of_the_model(message: str) -> None:
    found = outcome(400, message)
    assert isinstance(found, EndpointError)
    assert found.kind == "rejected.other"
    assert "toolmark's fault" in str(found)


def test_an_effort_of_reasoning_is_a_setting() -> None:
    found = kind(400, "Unsupported parameter: 'reasoning_effort' is not supported.")
    assert found[:2] == ("rejected.unsupported", "setting")
