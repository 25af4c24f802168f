"""How replies miss the requested format: rules that find the failure mode, and its evidence.

The modes are those of the BFCL V4 article on prompt variation. Most rules are counterfactual: a
text without calls is repaired in one way, and if calls appear, that repair names the mode.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Cause, Label, Reply, Task, Trajectory, Verdict
from toolmark.formats.parse import bfcl_xml_calls, reply_parser
from toolmark.formats.parse.reply_text import CALL_TAG, MAX_CHARS
from toolmark.formats.prompt_format import PromptVariant
from toolmark.official_bfcl import prompt_formats, tool_schemas

MODES = ("type_label", "tag_per_call", "quoting", "unclosed_tag", "other_format", "invented_tag")

_SHOWN_CHARS = 120
# every pattern stops at the next "<": a text of many openings must not take quadratic time
_TYPE_ATTRIBUTE = re.compile(r"<param\b[^<>]*?\btype\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_ELEMENT = re.compile(r"<([A-Za-z_][\w.:-]*)")
_KNOWN_TAGS = {CALL_TAG, "functions", "function", "params", "param"}
_COMMON_CALL_TAGS = re.compile(
    r"(?:tool|function)_?(?:calls?|use)|invoke|parameter|parameters", re.IGNORECASE
)
_BARE_AMPERSAND = re.compile(r"&(?!(?:\w+|#\w+);)")
_ATTRIBUTE_VALUE = re.compile(r"(=\s*\")([^\"]*)(\")")
_PARAM_CONTENT = re.compile(r"(<param\b[^<>]*[^/<>]>)([^<]*(?:<(?!/?param\b)[^<]*)*)(</param>)")
_ESCAPED_QUOTES = re.compile(r"(?<!\\)\\+([\"'])")
_PYTHON_LITERALS = {"true": "True", "false": "False", "null": "None"}


def add_format_labels(
    task: Task, trajectory: Trajectory, verdicts: Mapping[str, Verdict]
) -> dict[str, Verdict]:
    """Return the verdicts on a text reply with labels for its format failures.

    A failure to call gets a label and a part (1) per mode, both named `format:MODE`; where the mode
    explains the failure, the first label's cause is `format`. Structured calls, text in Java or
    JavaScript and entries without calls in their truth are unchanged.
    """
    variant = prompt_formats.variant_of_format(trajectory.tool_format)
    failed = any(verdict.outcome == "incorrect" for verdict in verdicts.values())
    is_foreign = task.category in tool_schemas.LANGUAGES
    if not failed or variant is None or is_foreign or task.data is None or not trajectory.steps:
        return dict(verdicts)
    labels = tuple(find_failure_modes(task, variant, trajectory.steps[0].reply))
    return {name: _add_labels(verdict, labels) for name, verdict in verdicts.items()}


def _add_labels(verdict: Verdict, labels: tuple[Label, ...]) -> Verdict:
    if verdict.outcome == "correct" or not labels:
        return verdict
    parts = {label.suite_cause: 1.0 for label in labels}
    all_labels = (*(_explain_cause(label, labels) for label in verdict.labels), *labels)
    return msgspec.structs.replace(verdict, parts=verdict.parts | parts, labels=all_labels)


_EXPLAINED_CAUSES: dict[str, tuple[Cause, ...]] = {
    "type_label": ("wrong_type",),
    "tag_per_call": ("missing_call", "format"),
}


def _explain_cause(label: Label, modes: Iterable[Label]) -> Label:
    """Return a first label with the cause `format` where one of the modes explains it."""
    if not label.primary:
        return label
    for mode in modes:
        explained = _EXPLAINED_CAUSES.get(
            mode.suite_cause.removeprefix("format:"), ("missing_call", "format")
        )
        if label.cause in explained:
            return msgspec.structs.replace(label, cause="format")
    return label


def find_failure_modes(task: Task, variant: PromptVariant, stored_reply: Reply) -> Iterator[Label]:
    """Yield the modes in which a failed reply misses its format, each with its evidence."""
    text = json_codec.restore_surrogates(stored_reply.text)
    if len(text) > MAX_CHARS:
        return
    if stored_reply.calls and not text.strip():
        yield _make_label("other_format", "tool calls of the endpoint's own, no text")
        return
    rules = [
        ("type_label", _unknown_type_labels(variant, text)),
        ("tag_per_call", _repeated_sections(variant, text)),
    ]
    if not _is_readable(text, variant):
        broken = [
            ("quoting", _quoting_fault(variant, text)),
            ("unclosed_tag", _unclosed_tag(text)),
        ]
        rules += broken
        if not any(evidence for _, evidence in broken):
            rules.append(("other_format", _other_format(variant, text)))
        rules.append(("invented_tag", _invented_tags(task, text)))
    for mode, evidence in rules:
        if evidence:
            yield _make_label(mode, evidence)


def _make_label(mode: str, evidence: str) -> Label:
    return Label(
        cause="format",
        suite_cause=f"format:{mode}",
        evidence=json_codec.escape_surrogates(evidence),
    )


def _is_readable(text: str, variant: PromptVariant) -> bool:
    try:
        return bool(reply_parser.parse_reply(text, variant.call_form, tag=variant.has_tag))
    except reply_parser.UnreadableCalls:
        return False


def _unknown_type_labels(variant: PromptVariant, text: str) -> str:
    """Name the type labels that the form does not have; such values stay text."""
    if variant.call_form not in ("verbose_xml", "concise_xml"):
        return ""
    type_labels = (one or two for one, two in _TYPE_ATTRIBUTE.findall(text))
    unknown = sorted({label for label in type_labels if label not in bfcl_xml_calls.TYPE_LABELS})
    return f"type labels {', '.join(map(repr, unknown))[:_SHOWN_CHARS]}" if unknown else ""


def _repeated_sections(variant: PromptVariant, text: str) -> str:
    """Report calls in sections of their own; only the first section is read."""
    sections = [f"<{CALL_TAG}>"] if variant.has_tag else []
    if variant.call_form in ("verbose_xml", "concise_xml"):
        sections.append("<functions>")
    for section in sections:
        if text.count(section) > 1:
            return f"{text.count(section)} {section} sections, one is due"
    return ""


def _quoting_fault(variant: PromptVariant, text: str) -> str:
    """Report which change of quotes or escapes makes the text readable."""
    for repair, repaired in _candidate_repairs(variant, text):
        if repaired != text and _is_readable(repaired, variant):
            return f"readable with {repair}: {text[:_SHOWN_CHARS]!r}"
    return ""


def _candidate_repairs(variant: PromptVariant, text: str) -> Iterator[tuple[str, str]]:
    yield "plain quotes", text.translate(str.maketrans("“”„‘’", '"""\'\''))
    yield "backslashes before quotes left out", _ESCAPED_QUOTES.sub(r"\1", text)
    yield "entities written as characters", _unescape_entities(text)
    if variant.call_form == "python":
        yield "line breaks written as \\n", text.replace("\n", "\\n")
    elif variant.call_form == "json":
        yield "JSON quotes and words", _python_list_to_json(text)
        yield "backslashes doubled", re.sub(r"\\(?![\"\\/bfnrtu])", r"\\\\", text)
    else:
        yield "& and < escaped", _escape_xml(text)


def _unescape_entities(text: str) -> str:
    """Replace entities by characters; Python cannot read a number of thousands of digits."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def _python_list_to_json(text: str) -> str:
    """Rewrite a list of Python literals as JSON."""
    start, end = text.find("["), text.rfind("]")
    words = re.sub(
        r"\b(true|false|null)\b", lambda m: _PYTHON_LITERALS[m[1]], text[start : end + 1]
    )
    try:
        return text[:start] + _encode_json(ast.literal_eval(words)) + text[end + 1 :]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _encode_json(value: Any) -> str:
    return msgspec.json.encode(json_codec.to_plain_json(value)).decode()


def _escape_xml(text: str) -> str:
    text = _BARE_AMPERSAND.sub("&amp;", text)
    text = _ATTRIBUTE_VALUE.sub(lambda m: f"{m[1]}{m[2].replace('<', '&lt;')}{m[3]}", text)
    return _PARAM_CONTENT.sub(lambda m: f"{m[1]}{m[2].replace('<', '&lt;')}{m[3]}", text)


def _unclosed_tag(text: str) -> str:
    """Name the first tag that is opened more often than it is closed."""
    for name in sorted(_KNOWN_TAGS):
        opened = re.findall(rf"<{name}\b[^<>]*>", text)
        n_opened = sum(not tag.endswith("/>") for tag in opened)
        n_closed = text.count(f"</{name}>")
        if n_opened > n_closed:
            return f"<{name}> opened {n_opened} times, closed {n_closed} times"
    return ""


def _other_format(variant: PromptVariant, text: str) -> str:
    """Name another form in which the text does contain calls."""
    for calls in prompt_formats.CALL_FORMS:
        for tag in (variant.has_tag, not variant.has_tag):
            other_format = replace(variant, call_form=calls, has_tag=tag)
            if other_format != variant and _holds_calls(text, other_format):
                return f"reads as {calls}{' inside a tag' if tag else ' without a tag'}"
    return ""


def _holds_calls(text: str, variant: PromptVariant) -> bool:
    try:
        decoded = reply_parser.parse_reply(text, variant.call_form, tag=variant.has_tag)
    except reply_parser.UnreadableCalls:
        return False
    return bool(decoded) and all(name for name, _ in decoded)


def _invented_tags(task: Task, text: str) -> str:
    """Name elements called after a tool, a parameter or another system's conventions."""
    known_names = {tool.name for tool in task.tools}
    known_names |= {name.replace(".", "_") for name in known_names}
    known_names |= {name for tool in task.tools for name in tool.parameters.get("properties", {})}
    used = dict.fromkeys(_ELEMENT.findall(text))
    invented = [
        name
        for name in used
        if name not in _KNOWN_TAGS and (name in known_names or _COMMON_CALL_TAGS.fullmatch(name))
    ]
    return (
        f"elements {', '.join(f'<{name}>' for name in invented)[:_SHOWN_CHARS]}" if invented else ""
    )
