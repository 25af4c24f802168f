"""Calls and results as text in a call syntax: what a model that makes no errors would write."""

from __future__ import annotations

import html
import json
import keyword
import re
from collections.abc import Sequence
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Call, Result
from toolmark.formats.call_syntaxes import CallSyntax, CallTemplates

_PLACEHOLDER = re.compile(r"\{(call|name|index|arguments|key|value|result)\}")


def fill_template(template: str, **values: str) -> str:
    """Return a template with its placeholders filled; other braces, and values, stay unchanged."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), template)


def render_syntax_calls(syntax: CallSyntax, calls: Sequence[Call]) -> str:
    """Return the text of the calls; arguments that are no JSON object stay as they are.

    Raises ValueError for a syntax that has no templates.
    """
    templates = syntax.render
    if templates is None:
        raise ValueError(f"{syntax.name} has no templates")
    written = [_render_call(syntax, templates, call, at) for at, call in enumerate(calls)]
    return templates.calls_open + templates.separator.join(written) + templates.calls_close


def _render_call(syntax: CallSyntax, templates: CallTemplates, call: Call, index: int) -> str:
    name = json_codec.restore_surrogates(call.name)
    raw = json_codec.restore_surrogates(call.arguments)
    arguments = _parse_arguments(raw)
    body = ""
    match syntax.shape:
        case "json":
            body = f'{{"name": {_dump_arguments(name)}, "{templates.arguments_key}": {raw}}}'
            if arguments is not None:
                body = _dump_arguments({"name": name, templates.arguments_key: arguments})
        case "python":
            body = _python_call(name, raw, arguments)
        case "tagged":
            raw = raw if arguments is None else _tagged_arguments(templates, arguments)
        case _:
            raw = raw if arguments is None else _dump_arguments(arguments)
    return fill_template(templates.call, call=body, name=name, index=str(index), arguments=raw)


def _parse_arguments(text: str) -> dict[str, Any] | None:
    try:
        found = json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return None
    return found if isinstance(found, dict) else None


def _dump_arguments(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _python_call(name: str, raw: str, arguments: dict[str, Any] | None) -> str:
    if arguments is None:
        return f"{name}({raw}"
    if not all(map(_is_keyword, arguments)):
        return f"{name}(**{arguments!r})"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _is_keyword(name: str) -> bool:
    """Return whether a name can stand before `=`; Python changes some letters outside ASCII."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _tagged_arguments(templates: CallTemplates, arguments: dict[str, Any]) -> str:
    return "".join(
        fill_template(templates.argument, key=html.escape(key), value=value_text(value))
        for key, value in arguments.items()
    )


def value_text(value: Any) -> str:
    """Return a value as it stands between tags: plain text as it is, anything else as JSON.

    A text that would be read as something else, or that could end the tag, is quoted.
    """
    if isinstance(value, str):
        if value.strip() == value and value and not _is_ambiguous(value):
            return value
        return _dump_arguments(value).replace("<", "\\u003c").replace(">", "\\u003e")
    return _dump_arguments(value).replace("<", "\\u003c").replace(">", "\\u003e")


def _is_ambiguous(text: str) -> bool:
    if text[0] == '"' or any(char in text for char in "<>"):
        return True
    try:
        json_codec.parse_json(text)
    except json_codec.InvalidJson:
        return False
    return True


def render_syntax_results(
    syntax: CallSyntax, calls: Sequence[Call], results: Sequence[Result]
) -> str:
    """Return the text of the results, in the order of their calls."""
    template = "" if syntax.render is None else syntax.render.result
    pairs = list(zip(calls, results, strict=False))
    if not template:
        rows = [{"tool": call.name, "result": result.text} for call, result in pairs]
        return _dump_arguments({"results": rows})
    return "\n".join(
        fill_template(template, name=call.name, index=str(at), result=result.text)
        for at, (call, result) in enumerate(pairs)
    )
