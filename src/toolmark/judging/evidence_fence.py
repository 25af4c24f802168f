"""Fences what a judge is shown, so that text in it cannot pass for an instruction or a verdict.

The evidence is one line of JSON between two lines that contain a token. The token is a digest of
the evidence itself: a text cannot contain the digest of a whole that it is part of, so nothing in
the evidence can close the fence, and equal requests are equal, so that a cache can answer them.
Characters that are not seen, or that change the direction of text, are written as escapes.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolmark.core import json_codec

TOKEN_LENGTH = 32  # hex digits, 128 bits
_NON_ASCII = re.compile(r"[^\x20-\x7e]")
_OPENING = "BEGIN EVIDENCE "
_CLOSING = "END EVIDENCE "


class FencedEvidence(NamedTuple):
    """Evidence between its two lines, and the token of these lines."""

    text: str
    token: str


def fence_evidence(evidence: Mapping[str, Any], salt: str = "") -> FencedEvidence:
    """Return plain values as one line of JSON between lines with a token.

    `salt` is what else tells the request from others, such as the task's id and the repeat.
    """
    content = json.dumps(json_codec.to_plain_json(evidence), ensure_ascii=False)
    content = _NON_ASCII.sub(_escape_hidden, content)
    number = 0
    while (token := _content_token(content, salt, number)) in content:
        number += 1
    return FencedEvidence(f"{_OPENING}{token}\n{content}\n{_CLOSING}{token}", token)


def read_fenced(text: str, token: str) -> Any:
    """Return the values between the lines with the token. Raises ValueError without such lines."""
    opening, closing = f"{_OPENING}{token}\n", f"\n{_CLOSING}{token}"
    start, end = text.index(opening) + len(opening), text.index(closing)
    return json.loads(text[start:end])


def _content_token(content: str, salt: str, number: int) -> str:
    text = json.dumps([number, salt, content])
    return hashlib.sha256(text.encode()).hexdigest()[:TOKEN_LENGTH]


def _escape_hidden(found: re.Match[str]) -> str:
    r"""Return a visible character unchanged, any other as \uXXXX, which is JSON for it."""
    character = found[0]
    if unicodedata.category(character)[0] not in "CZ" and not _is_filler(character):
        return character
    return json.dumps(character)[1:-1]


def _is_filler(character: str) -> bool:
    """Return whether a character is a letter or mark by its category, and has no visible form."""
    return character in "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0" or (
        "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    )
