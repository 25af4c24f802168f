"""What must not leave in a text of ours: secrets, and characters that a terminal obeys."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from urllib.parse import quote

_HIDDEN = "[key]"
_WHOLE = 4
_WORD = 7  # "Bearer" and "Basic" are no secrets, and no key is shorter
_BETWEEN = re.compile(r"""[\s,;="']+""")
_HEX = re.compile("%[0-9A-F]{2}")
# C0 and C1 controls, line separators, bidirectional overrides and isolates
_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class Mask:
    """Hides a key and the values of headers, whole and word by word, in any text.

    Texts are masked before they are cut: half a key is still worth stealing.
    """

    def __init__(self, key: str, values: Iterable[str]) -> None:
        secrets: set[str] = set()
        for value in (key, *values):
            words = {*value.split(), *_BETWEEN.split(value)}
            secrets |= {word for word in words if len(word) >= _WORD}
            if len(value) >= _WHOLE:
                secrets.add(value)
        forms = {form for secret in secrets for form in _forms(secret)}
        longest = sorted(forms, key=len, reverse=True)  # "Bearer KEY" goes before "KEY"
        self._found = re.compile("|".join(map(re.escape, longest))) if forms else None

    def __call__(self, text: str) -> str:
        """Return the text without secrets, with control characters as visible escapes."""
        return printable(self.hidden(text))

    def hidden(self, text: str) -> str:
        """Return the text without secrets, else as it is."""
        return self._found.sub(_HIDDEN, text) if self._found else text


def printable(text: str) -> str:
    r"""Write what a terminal would obey as an escape: \x1b, \n, \u202e."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def _forms(secret: str) -> set[str]:
    """Return the secret as servers echo it: as it is, and inside a URL, JSON or HTML."""
    written = json.dumps(secret)[1:-1]
    quoted = quote(secret, safe="")
    return {
        secret,
        quoted,
        _HEX.sub(lambda found: found[0].lower(), quoted),
        written,
        written.replace("/", "\\/"),
        html.escape(secret),
    }
