"""No secret and no control character gets through, in whatever form a server echoes it."""

from __future__ import annotations

import html
import json
from urllib.parse import quote

import pytest

from toolmark.models.secret_mask import SecretMask, escape_control_chars

KEY = "sk-a/b+c=d&e"


@pytest.mark.parametrize(
    "echo",
    [
        KEY,
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
        json.dumps(KEY),
        KEY.replace("/", "\\/"),
        html.escape(KEY),
    ],
)
def test_a_key_is_hidden_in_every_form_of_it(echo: str) -> None:
    hidden = SecretMask(KEY, ())(f"<p>{echo}</p>")
    assert "[key]" in hidden
    assert "b" not in hidden.replace("[key]", "")


@pytest.mark.parametrize(
    ("value", "echo"),
    [
        ("Bearer sk-12345678", "sk-12345678"),
        ("Bearer sk-12345678", "Bearer  sk-12345678"),
        ("session=abcdefgh; path=/", "abcdefgh"),
        ('Digest nonce="abcdefgh"', "abcdefgh"),
        ("sk-12345678", "SK: sk-12345678."),
    ],
)
def test_each_word_of_a_header_is_hidden(value: str, echo: str) -> None:
    hidden = SecretMask("", (value,))(f"you sent {echo}")
    assert "12345678" not in hidden
    assert "abcdefgh" not in hidden


def test_a_scheme_is_no_secret_and_no_secrets_change_nothing() -> None:
    assert SecretMask("", ("Bearer sk-12345678",))("Bearer") == "Bearer"
    assert SecretMask("", ())("sk-12345678") == "sk-12345678"


@pytest.mark.parametrize("code", [0, 7, 10, 27, 0x7F, 0x85, 0x9B, 0x202A, 0x202E, 0x2066, 0x2069])
def test_what_a_terminal_obeys_is_shown_instead(code: int) -> None:
    shown = escape_control_chars(f"a{chr(code)}b")
    assert shown.isprintable()
    assert shown.isascii()
    assert escape_control_chars(shown) == shown


def test_other_letters_stay() -> None:
    assert escape_control_chars("naïve – 模型 ✓ עברית") == "naïve – 模型 ✓ עברית"
