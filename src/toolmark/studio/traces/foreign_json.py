"""JSON of strangers as values that can be stored.

Unlike `json_codec.to_plain_json`, text in which lone surrogates are escaped already stays as it is:
a trace may be read that toolmark wrote.
"""

from __future__ import annotations

import re
from typing import Any

from toolmark.core import json_codec

_UNSTORABLE = re.compile(r"\\u[dD][89a-fA-F]|NaN|Infinity|[eE][+]?\d{3}|\d{19}")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_foreign_json(text: str) -> Any:
    """Return the value of a JSON text, such that it can be encoded. Raises InvalidJson."""
    value = json_codec.parse_json(text)
    return _storable_value(value) if _UNSTORABLE.search(text) else value


def _storable_value(value: Any) -> Any:
    match value:
        case str():
            return _LONE_SURROGATE.sub(_escape_surrogate, value)
        case dict():
            return {_storable_value(name): _storable_value(each) for name, each in value.items()}
        case list():
            return [_storable_value(each) for each in value]
        case _:
            return json_codec.to_plain_json(value)


def _escape_surrogate(found: re.Match[str]) -> str:
    return json_codec.escape_surrogates(found[0])
