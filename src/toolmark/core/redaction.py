"""Texts that are replaced wherever they occur in plain values, such as secrets and paths."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

REDACTED = "***"
MIN_SECRET_CHARS = 4  # redacting shorter secrets would damage ordinary text


def replace_texts(value: Any, replacements: Mapping[str, str]) -> Any:
    """Return plain values with texts replaced; references to media stay unchanged.

    A number is replaced where it is written like one of the texts.
    """
    match value:
        case str():
            for old, new in replacements.items():
                value = value.replace(old, new)
            return value
        case {"type": "image" | "audio", "sha256": str()}:
            return value
        case dict():
            return {
                replace_texts(name, replacements): replace_texts(item, replacements)
                for name, item in value.items()
            }
        case list() | tuple():
            return [replace_texts(item, replacements) for item in value]
        case int() | float() if not isinstance(value, bool):
            return replacements.get(str(value), value)
        case _:
            return value


def secret_spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return the forms in which secrets may occur in text: unchanged, in JSON and in an address.

    The longest form comes first. Secrets of less than four characters are left out.
    """
    found = {
        form
        for secret in secrets
        if len(secret) >= MIN_SECRET_CHARS
        for form in (secret, json.dumps(secret)[1:-1], quote(secret, "", errors="surrogatepass"))
    }
    return tuple(sorted(found, key=lambda form: (-len(form), form)))
