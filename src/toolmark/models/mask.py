"""What must not leave in a text of ours: secrets, and characters that a terminal obeys."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

_HIDDEN = "[key]"
_WHOLE = 4
_WORD = 7  # "Bearer" and "Basic" are no secrets, and no key is shorter
_ENCODED = 8  # characters of a secret from which its base64 and hexadecimal forms are its own
_BETWEEN = re.compile(r"""[\s,;="']+""")
_HEX = re.compile("%[0-9A-F]{2}")
# C0 and C1 controls, line separators, bidirectional overrides and isolates
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Mask:
    """Hides a key and the values of headers, whole and word by word, in any text.

    A secret that the end of a cut text would part is hidden too: half a key is worth stealing.
    """

    def __init__(self, key: str, values: Iterable[str]) -> None:
        secrets: set[str] = set()
        for value in (key, *values):
            words = {*value.split(), *_BETWEEN.split(value)}
            secrets |= {word for word in words if len(word) >= _WORD}
            if len(value) >= _WHOLE:
                secrets.add(value)
        found = {form for secret in secrets for form in _forms(secret)}
        # "Bearer KEY" goes before "KEY"
        self._forms = sorted(found, key=lambda form: (-len(form), form))
        self._longest = len(self._forms[0]) if found else 0
        self._bytes = [form.encode("utf-8", "replace") for form in self._forms]
        self._found = re.compile("|".join(map(re.escape, self._forms))) if found else None

    def __bool__(self) -> bool:
        """Tell whether there is anything to hide."""
        return bool(self._forms)

    def __call__(self, text: str) -> str:
        """Return the text without secrets, with control characters as visible escapes."""
        return printable(self.hidden(text))

    def hidden(self, text: str) -> str:
        """Return the text without secrets, else as it is."""
        return self._found.sub(_HIDDEN, text) if self._found else text

    def cut(self, text: str, limit: int, *, ended: bool = True) -> str:
        """Return what stands in the first `limit` characters of a text, without secrets.

        `ended` tells that the text is whole; of one that was cut, what may be the first part of a
        secret at its end goes. The work is that of `limit` characters, however long the text.
        """
        if self._found is None:
            return text[:limit]
        if not ended:
            text = text[: max(0, len(text) - self._longest + 1)]
        window = text[: limit + self._longest]
        parts: list[str] = []
        at = 0
        for found in self._found.finditer(window):
            if found.start() >= limit:
                break
            parts += (window[at : found.start()], _HIDDEN)
            at = found.end()
        return "".join((*parts, window[at:limit]))

    def finds(self, text: str) -> bool:
        """Tell whether a text holds a secret."""
        return any(form in text for form in self._forms)

    def finds_in(self, body: bytes) -> bool:
        """Tell whether a body holds a secret."""
        return any(form in body for form in self._bytes)


def printable(text: str) -> str:
    r"""Write what a terminal would obey as an escape: \x1b, \n, \u202e."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _forms(secret: str) -> set[str]:
    """Return the secret as servers echo it: as it is, and inside a URL, JSON, HTML or base64."""
    written = json.dumps(secret)[1:-1]
    quoted = quote(secret, safe="", errors="replace")
    return {
        secret,
        quoted,
        _HEX.sub(lambda found: found[0].lower(), quoted),
        written,
        written.replace("/", "\\/"),
        html.escape(secret),
        *_encoded(secret.encode("utf-8", "replace")),
    }


def _encoded(secret: bytes) -> set[str]:
    """Return what the secret alone decides in base64, wherever it stands in what is encoded."""
    if len(secret) < _ENCODED:
        return set()
    found = {secret.hex(), secret.hex().upper()}
    for shift in range(3):
        first, last = -(-shift * 8 // 6), (shift + len(secret)) * 8 // 6
        text = base64.b64encode(bytes(shift) + secret).decode()[first:last]
        found |= {text, text.replace("+", "-").replace("/", "_")}
    return found
