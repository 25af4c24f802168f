"""Calls as text: what a flawless model would write, in each form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolmark import codec
from toolmark.dialects.parse.frame import TAG
from toolmark.dialects.parse.reply import Form
from toolmark.types import Call

_MARKUP = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;",
     "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
)  # fmt: skip


def write(calls: Sequence[Call], form: Form, *, tag: bool = False) -> str:
    """Write the calls; arguments that are no JSON object stand as they are, and stay broken."""
    text = _written(calls, form)
    return f"<{TAG}>{text}</{TAG}>" if tag else text


def _written(calls: Sequence[Call], form: Form) -> str:
    match form:
        case "python":
            return f"[{', '.join(map(_python, calls))}]"
        case "json":
            return f"[{', '.join(map(_json, calls))}]"
        case "verbose_xml":
            return f"<functions>{''.join(map(_verbose, calls))}</functions>"
        case "concise_xml":
            return f"<functions>{''.join(map(_concise, calls))}</functions>"


def _arguments(call: Call) -> dict[str, Any] | None:
    """Return the arguments; None if they are no JSON object."""
    try:
        found = codec.loads(codec.restore(call.arguments))
    except codec.BadJson:
        return None
    return found if isinstance(found, dict) else None


def _python(call: Call) -> str:
    name, given = codec.restore(call.name), _arguments(call)
    if given is None:
        return f"{name}({codec.restore(call.arguments)}"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in given.items())})"


def _json(call: Call) -> str:
    name, given = json.dumps(codec.restore(call.name)), _arguments(call)
    raw = codec.restore(call.arguments) if given is None else json.dumps(given)
    return f'{{"function": {name}, "parameters": {raw}}}'


def _verbose(call: Call) -> str:
    given = _arguments(call)
    if given is None:
        return _open(call) + codec.restore(call.arguments)
    inner = "".join(
        f'<param name="{_safe(key)}" value="{_safe(_text(value))}" type="{label(value)}"/>'
        for key, value in given.items()
    )
    return f"{_open(call)}<params>{inner}</params></function>"


def _concise(call: Call) -> str:
    given = _arguments(call)
    if given is None:
        return _open(call) + codec.restore(call.arguments)
    inner = "".join(
        f'<param name="{_safe(key)}" type="{label(value)}">{_safe(_text(value))}</param>'
        for key, value in given.items()
    )
    return f"{_open(call)}{inner}</function>"


def _open(call: Call) -> str:
    return f'<function name="{_safe(codec.restore(call.name))}">'


def _safe(text: str) -> str:
    return text.translate(_MARKUP)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def label(value: Any) -> str:
    """Return the type label under which a JSON value is read back."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "float"
        case None:
            return "null"
        case list():
            return "array"
        case dict():
            return "dict"
        case _:
            return "string"
