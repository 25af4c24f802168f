"""No secret of a known form comes out, equal secrets stay equal, and ordinary text stays."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolmark.core import secrets
from toolmark.studio.traces.row_redaction import MAX_SECRETS, RowRedaction
from toolmark.studio.traces.trace_faults import Unusable

LETTERS = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
PREFIXES = ("sk-", "sk-proj-", "sk-ant-", "gsk_", "hf_", "ghp_", "xoxb-", "AKIA", "AIza", "eyJ",
            "nvapi-", "fw_", "xai-", "tgp_", "r8_", "glpat-", "github_pat_")  # fmt: skip
NAMES = (
    "password",
    "api_key",
    "apiKey",
    "Authorization",
    "access_token",
    "client_secret",
    "cookie",
)
Row = dict[str, Any]

passwords = st.text(LETTERS, min_size=6, max_size=30).map(lambda text: f"Zq7{text}")
prefixed = st.builds(str.__add__, st.sampled_from(PREFIXES), st.text(LETTERS, min_size=20))
digests = st.binary(min_size=16, max_size=16) | st.binary(min_size=32, max_size=32)
by_form = (
    prefixed
    | st.text(LETTERS, min_size=24, max_size=60).filter(secrets.looks_like_key)
    | digests.map(bytes.hex).filter(secrets.looks_like_key)
    | st.binary(min_size=32, max_size=32)
    .map(lambda data: base64.b64encode(data).decode())
    .filter(lambda text: "+" in text and secrets.looks_like_key(text))
)
named = st.tuples(passwords, st.sampled_from(NAMES))


def make_row(*texts: str, arguments: Any = None, schema: Any = None) -> Row:
    """Return a row with texts in the history, in its calls and results, and in a tool."""
    content = " ".join(texts)
    call = {"name": "f", "arguments": json.dumps({"a": [content]})}
    return {
        "messages": [
            {"role": "system", "content": content},
            {
                "role": "assistant",
                "content": content,
                "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
            },
            {"role": "tool", "content": json.dumps({"r": content}), "tool_call_id": "call_1"},
            {"role": "user", "content": content},
        ],
        "tools": [{
            "type": "function",
            "function": {"name": "f", "description": content, "parameters": schema or {}},
        }],
        "expected": [{"name": "f", "arguments": arguments or {"x": content, "y": {content: 1}}}],
        "category": "f",
        "group": f"g {content}",
        "review": "proposed",
        "source": {"file": "x"},
    }  # fmt: skip


def text_of(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False)


@given(secret=by_form, before=st.sampled_from(["", "use ", "(", "key: ", "https://h.example/v1/"]))
def test_secrets_are_found_by_their_form(secret: str, before: str) -> None:
    assert secret not in text_of(RowRedaction().redact_row(make_row(f"{before}{secret} now")))


@given(
    named=named, form=st.sampled_from(["{n}={s}", "{n}: {s}", '"{n}": "{s}"', "{n}: Bearer {s}"])
)
def test_secrets_are_found_by_the_name_before_them(named: tuple[str, str], form: str) -> None:
    secret, name = named
    row = make_row("say", form.format(n=name, s=secret), "and", f"again {secret}.")
    assert secret not in text_of(RowRedaction().redact_row(row))


@given(secret=passwords, form=st.sampled_from(["https://u:{s}@h.example/", "db://{s}@h/x",
                                               "https://h.example/?token={s}&a=1"]))  # fmt: skip
def test_secrets_are_found_in_addresses(secret: str, form: str) -> None:
    row = make_row("see", form.format(s=secret), "or", secret)
    assert secret not in text_of(RowRedaction().redact_row(row))


@given(named=named, is_nested=st.booleans(), is_number=st.booleans())
def test_secrets_are_found_by_the_name_of_their_field(
    named: tuple[str, str], is_nested: bool, is_number: bool
) -> None:
    secret, name = named
    value: Any = 40_000_000 + len(secret) if is_number else secret
    arguments = {name: value}
    row = make_row(f"mine is {value}", arguments={"deep": [arguments]} if is_nested else arguments)
    row["messages"][2]["content"] = json.dumps({"config": arguments})
    assert str(value) not in text_of(RowRedaction().redact_row(row))


@given(secret=by_form | passwords)
def test_a_call_still_agrees_with_the_message_that_it_follows_from(secret: str) -> None:
    row = make_row(f"password={secret}", arguments={"password": secret})
    redacted = RowRedaction().redact_row(row)
    written = redacted["messages"][-1]["content"].removeprefix("password=")
    assert redacted["expected"][0]["arguments"] == {"password": written} != {"password": secret}


ORDINARY = (
    "The weather in Oslo on 2026-03-01 at 10:30 is 7.5 degrees.",
    "Order 4711-22 of customer 123456789 costs 1,299.00 EUR.",
    "def compute_total_price(items): return sum(item.price for item in items)",
    "https://example.com/articles/how-to-cook-rice?page=2&lang=en",
    "file /usr/share/doc/readme.txt, version 12.4.1, BFCL_v4_multi_turn_base",
    "Das Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "one: two, key: value, author: Ada Lovelace, keywords: solar panels",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    row = make_row(text)
    assert RowRedaction(emails=True).redact_row(row) == row


@pytest.mark.parametrize(
    "arguments",
    [{"key": "department"}, {"keywords": ["solar", "panels"]}, {"passenger_name": "Ada Lovelace"},
     {"sort_key": "price"}, {"max_tokens": 256}, {"author": "Ada"}, {"token": "none"}],
)  # fmt: skip
def test_fields_whose_names_only_look_secret_stay(arguments: Any) -> None:
    row = make_row("department of solar panels", arguments=arguments)
    assert RowRedaction().redact_row(row) == row


def test_names_in_schemas_stay_as_the_calls_have_them() -> None:
    schema = {
        "type": "object",
        "properties": {"password": {"type": "string", "description": "password=Zq7abcdef"}},
        "required": ["password"],
    }
    redacted = RowRedaction().redact_row(make_row("x", schema=schema))
    found = redacted["tools"][0]["function"]["parameters"]
    assert found["required"] == ["password"] == list(found["properties"])
    assert found["properties"]["password"]["type"] == "string"
    assert "Zq7abcdef" not in text_of(redacted)


@given(
    local=st.text("abcz0129._+-", min_size=1, max_size=20),
    host=st.sampled_from(["a.de", "x-y.co.uk"]),
)
@example(local="000000000000a0a0", host="a.de")  # it has the form of a key, and is masked as one
def test_mail_addresses_are_replaced_where_asked_for(local: str, host: str) -> None:
    address = f"{local}@{host}"
    row = make_row(f"write to {address}!", arguments={"to": address})
    redacted = RowRedaction(emails=True).redact_row(row)
    assert address not in text_of(redacted)
    assert redacted["expected"][0]["arguments"]["to"] in redacted["messages"][-1]["content"]
    assert secrets.mask_random_text(address) in text_of(RowRedaction().redact_row(row))


@given(local=st.from_regex(r"[a-z]{1,9}([.][a-z]{1,9})?", fullmatch=True))
def test_mail_addresses_of_names_stay_where_not_asked_for(local: str) -> None:
    row = make_row(f"write to {local}@a.de!", arguments={"to": f"{local}@a.de"})
    assert RowRedaction().redact_row(row) == row


def test_own_patterns_are_replaced_everywhere_and_keep_equal_texts_equal() -> None:
    redaction = RowRedaction([r"\bCUST-\d+", "role|name|content"])
    row = make_row("of CUST-17 and CUST-18", arguments={"id": "CUST-17"})
    redacted = redaction.redact_row(row)
    assert "CUST-1" not in text_of(redacted)
    assert redacted["expected"][0]["arguments"]["id"] in redacted["messages"][-1]["content"]
    assert [message["role"] for message in redacted["messages"]] == [
        message["role"] for message in row["messages"]
    ]


def test_a_row_of_secrets_without_end_is_left_out() -> None:
    texts = [f"token=Zq7abc{n:05}" for n in range(MAX_SECRETS + 1)]
    with pytest.raises(Unusable):
        RowRedaction().redact_row(make_row(*texts))
