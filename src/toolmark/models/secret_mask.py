"""Removes secrets, and characters that control a terminal, from text."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from toolmark.core import secrets
from toolmark.core.records import Reply

KEY_HEADERS = ("authorization", "api-key", "x-api-key", "x-goog-api-key")
"""Headers that contain keys."""
_REPLACEMENT = "[key]"
_MIN_VALUE_CHARS = 4
_MIN_WORD_CHARS = 7  # "Bearer" and "Basic" are no secrets, and no key is shorter
_MIN_ENCODED_CHARS = 8  # characters of a secret that make its base64 and hexadecimal forms unique
_SEPARATORS = re.compile(r"""[\s,;="']+""")
_PERCENT_ESCAPE = re.compile("%[0-9A-F]{2}")
# C0 and C1 controls, line separators, bidirectional overrides and isolates
_CONTROL_CHARS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class SecretMask:
    """Hides a key and the values of headers, complete and word by word, in any text.

    A secret that is cut by the end of a text is hidden too, because half a key is worth stealing.
    """

    def __init__(self, key: str, values: Iterable[str]) -> None:
        found_secrets: set[str] = set()
        for value in (key, *values):
            words = {*value.split(), *_SEPARATORS.split(value)}
            found_secrets |= {word for word in words if len(word) >= _MIN_WORD_CHARS}
            if len(value) >= _MIN_VALUE_CHARS:
                found_secrets.add(value)
        found = {form for secret in found_secrets for form in _secret_forms(secret)}
        # "Bearer KEY" goes before "KEY"
        self._forms = sorted(found, key=lambda form: (-len(form), form))
        self._longest = len(self._forms[0]) if found else 0
        self._bytes = [form.encode("utf-8", "replace") for form in self._forms]
        self._pattern = re.compile("|".join(map(re.escape, self._forms))) if found else None

    def __bool__(self) -> bool:
        """Return whether there is anything to hide."""
        return bool(self._forms)

    def __call__(self, text: str) -> str:
        """Return the text without secrets, with control characters as visible escapes."""
        return escape_control_chars(self.hide_secrets(text))

    def hide_secrets(self, text: str) -> str:
        """Return the text without secrets, otherwise unchanged."""
        return self._pattern.sub(_REPLACEMENT, text) if self._pattern else text

    def cut_text(self, text: str, limit: int, *, is_complete: bool = True) -> str:
        """Return the first `limit` characters of a text, without secrets.

        `is_complete` says that the text was not cut before. At the end of a cut text, what may be
        the first part of a secret is removed. The time depends on `limit`, not on the length of the
        text.
        """
        if self._pattern is None:
            return text[:limit]
        if not is_complete:
            text = text[: max(0, len(text) - self._longest + 1)]
        window = text[: limit + self._longest]
        parts: list[str] = []
        position = 0
        for found in self._pattern.finditer(window):
            if found.start() >= limit:
                break
            parts += (window[position : found.start()], _REPLACEMENT)
            position = found.end()
        return "".join((*parts, window[position:limit]))

    def contains_secret(self, text: str) -> bool:
        """Return whether a text contains a secret."""
        return any(form in text for form in self._forms)

    def body_contains_secret(self, body: bytes) -> bool:
        """Return whether a body contains a secret."""
        return any(form in body for form in self._bytes)


def escape_control_chars(text: str) -> str:
    r"""Replace characters that control a terminal by escapes: \x1b, \n, \u202e."""
    return _CONTROL_CHARS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _secret_forms(secret: str) -> set[str]:
    """Return the secret as servers repeat it: unchanged, or inside a URL, JSON, HTML or base64."""
    json_form = json.dumps(secret)[1:-1]
    url_form = quote(secret, safe="", errors="replace")
    return {
        secret,
        url_form,
        _PERCENT_ESCAPE.sub(lambda found: found[0].lower(), url_form),
        json_form,
        json_form.replace("/", "\\/"),
        html.escape(secret),
        *_binary_forms(secret.encode("utf-8", "replace")),
    }


def _binary_forms(secret: bytes) -> set[str]:
    """Return the hex forms of a secret, and the base64 characters that depend on it alone."""
    if len(secret) < _MIN_ENCODED_CHARS:
        return set()
    found = {secret.hex(), secret.hex().upper()}
    for shift in range(3):
        first, last = -(-shift * 8 // 6), (shift + len(secret)) * 8 // 6
        text = base64.b64encode(bytes(shift) + secret).decode()[first:last]
        found |= {text, text.replace("+", "-").replace("/", "_")}
    return found


def keys_in_headers(headers: Mapping[str, str]) -> Iterator[str]:
    """Yield the keys in headers: values of known key headers, and values that look like keys."""
    for name, value in headers.items():
        if (
            name.lower() in KEY_HEADERS
            or secrets.is_secret_name(name)
            or secrets.looks_like_key(value)
        ):
            yield from secrets.secrets_in_header(name, value)


def reply_texts(reply: Reply) -> Iterator[str]:
    """Yield the texts of a reply."""
    yield from (reply.text, reply.reasoning, reply.model, reply.finish)
    yield from (reply.request_id, reply.fingerprint, reply.upstream)
    if reply.provider_state is not None:
        yield reply.provider_state.data
    for call in reply.calls:
        yield from (call.name, call.arguments, call.id)
