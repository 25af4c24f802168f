"""Calls as text: what a model that makes no errors would write, in each form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Call
from toolmark.formats.parse.reply_parser import CallForm
from toolmark.formats.parse.reply_text import CALL_TAG

_XML_ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;",
     "\n": "&#10;", "\t": "&#9;", "\r": "&#13;"}
)  # fmt: skip


def render_calls(calls: Sequence[Call], form: CallForm, *, tag: bool = False) -> str:
    """Write the calls; arguments that are not a JSON object are not changed, and stay broken."""
    text = _render_form(calls, form)
    return f"<{CALL_TAG}>{text}</{CALL_TAG}>" if tag else text


def _render_form(calls: Sequence[Call], form: CallForm) -> str:
    match form:
        case "python":
            return f"[{', '.join(map(_python_call, calls))}]"
        case "json":
            return f"[{', '.join(map(_json_call, calls))}]"
        case "verbose_xml":
            return f"<functions>{''.join(map(_verbose_xml_call, calls))}</functions>"
        case "concise_xml":
            return f"<functions>{''.join(map(_concise_xml_call, calls))}</functions>"


def _parse_arguments(call: Call) -> dict[str, Any] | None:
    """Return the arguments; None if they are not a JSON object."""
    try:
        found = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson:
        return None
    return found if isinstance(found, dict) else None


def _python_call(call: Call) -> str:
    name, arguments = json_codec.restore_surrogates(call.name), _parse_arguments(call)
    if arguments is None:
        return f"{name}({json_codec.restore_surrogates(call.arguments)}"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _json_call(call: Call) -> str:
    name, arguments = json.dumps(json_codec.restore_surrogates(call.name)), _parse_arguments(call)
    arguments_text = (
        json_codec.restore_surrogates(call.arguments)
        if arguments is None
        else json.dumps(arguments)
    )
    return f'{{"function": {name}, "parameters": {arguments_text}}}'


def _verbose_xml_call(call: Call) -> str:
    arguments = _parse_arguments(call)
    if arguments is None:
        return _opening_tag(call) + json_codec.restore_surrogates(call.arguments)
    inner = "".join(
        (
            f'<param name="{_escape_xml(key)}" value="{_escape_xml(_value_text(value))}" '
            f'type="{type_label(value)}"/>'
        )
        for key, value in arguments.items()
    )
    return f"{_opening_tag(call)}<params>{inner}</params></function>"


def _concise_xml_call(call: Call) -> str:
    arguments = _parse_arguments(call)
    if arguments is None:
        return _opening_tag(call) + json_codec.restore_surrogates(call.arguments)
    inner = "".join(
        (
            f'<param name="{_escape_xml(key)}" '
            f'type="{type_label(value)}">{_escape_xml(_value_text(value))}</param>'
        )
        for key, value in arguments.items()
    )
    return f"{_opening_tag(call)}{inner}</function>"


def _opening_tag(call: Call) -> str:
    return f'<function name="{_escape_xml(json_codec.restore_surrogates(call.name))}">'


def _escape_xml(text: str) -> str:
    return text.translate(_XML_ESCAPES)


def _value_text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def type_label(value: Any) -> str:
    """Return the type label with which a JSON value is parsed back."""
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
