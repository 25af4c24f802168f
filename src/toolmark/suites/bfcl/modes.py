"""How replies miss the format they were asked for: rules that find the mode, and its evidence.

The modes are those of the BFCL V4 article on prompt variation. Most rules are counterfactual: a
text that holds no call is repaired in one way, and if calls appear, that was what was wrong.
"""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

import msgspec

from toolmark import codec
from toolmark.dialects.parse import reply, xml
from toolmark.dialects.parse.frame import MAX_CHARS, TAG
from toolmark.dialects.prompt import Format
from toolmark.suites.bfcl import formats, schema
from toolmark.types import Cause, Label, Reply, Task, Trajectory, Verdict

MODES = ("type_label", "tag_per_call", "quoting", "unclosed_tag", "other_format", "invented_tag")

_SHOWN_CHARS = 120
# every pattern stops at the next "<": a text of many openings must not take quadratic time
_TYPE = re.compile(r"<param\b[^<>]*?\btype\s*=\s*(?:\"([^\"<]*)\"|'([^'<]*)')")
_ELEMENT = re.compile(r"<([A-Za-z_][\w.:-]*)")
_KNOWN = {TAG, "functions", "function", "params", "param"}
_HABITS = re.compile(
    r"(?:tool|function)_?(?:calls?|use)|invoke|parameter|parameters", re.IGNORECASE
)
_BARE = re.compile(r"&(?!(?:\w+|#\w+);)")
_VALUE = re.compile(r"(=\s*\")([^\"]*)(\")")
_CONTENT = re.compile(r"(<param\b[^<>]*[^/<>]>)([^<]*(?:<(?!/?param\b)[^<]*)*)(</param>)")
_ESCAPES = re.compile(r"(?<!\\)\\+([\"'])")
_LITERALS = {"true": "True", "false": "False", "null": "None"}


def marked(
    task: Task, trajectory: Trajectory, verdicts: Mapping[str, Verdict]
) -> dict[str, Verdict]:
    """Return the verdicts on a reply in text with what is to be said of its format.

    A failure to call gets a label and a part (1) per mode, both named `format:MODE`; where that is
    what it comes from, the first label's cause is `format`. Structured calls, text in Java or
    JavaScript and entries without calls in their truth are left as they are.
    """
    form = formats.form(trajectory.dialect)
    failed = any(verdict.outcome == "incorrect" for verdict in verdicts.values())
    foreign = task.category in schema.LANGUAGES
    if not failed or form is None or foreign or task.reference is None or not trajectory.steps:
        return dict(verdicts)
    labels = tuple(found(task, form, trajectory.steps[0].reply))
    return {name: _with(verdict, labels) for name, verdict in verdicts.items()}


def _with(verdict: Verdict, labels: tuple[Label, ...]) -> Verdict:
    if verdict.outcome == "correct" or not labels:
        return verdict
    parts = {label.native: 1.0 for label in labels}
    told = (*(_caused(label, labels) for label in verdict.labels), *labels)
    return msgspec.structs.replace(verdict, parts=verdict.parts | parts, labels=told)


_FOLLOWS: dict[str, tuple[Cause, ...]] = {
    "type_label": ("wrong_type",),
    "tag_per_call": ("missing_call", "format"),
}


def _caused(label: Label, modes: Iterable[Label]) -> Label:
    """Return a first label with the cause `format` where one of the modes explains it."""
    if not label.primary:
        return label
    for mode in modes:
        follows = _FOLLOWS.get(mode.native.removeprefix("format:"), ("missing_call", "format"))
        if label.cause in follows:
            return msgspec.structs.replace(label, cause="format")
    return label


def found(task: Task, form: Format, said: Reply) -> Iterator[Label]:
    """Go through the modes in which a failed reply misses its format, each with its evidence."""
    text = codec.restore(said.text)
    if len(text) > MAX_CHARS:
        return
    if said.calls and not text.strip():
        yield _label("other_format", "tool calls of the endpoint's own, no text")
        return
    rules = [("type_label", _labels(form, text)), ("tag_per_call", _repeated(form, text))]
    if not _reads(text, form):
        broken = [("quoting", _quoting(form, text)), ("unclosed_tag", _unclosed(text))]
        rules += broken
        if not any(evidence for _, evidence in broken):
            rules.append(("other_format", _other(form, text)))
        rules.append(("invented_tag", _invented(task, text)))
    for mode, evidence in rules:
        if evidence:
            yield _label(mode, evidence)


def _label(mode: str, evidence: str) -> Label:
    return Label(cause="format", native=f"format:{mode}", evidence=codec.escape(evidence))


def _reads(text: str, form: Format) -> bool:
    try:
        return bool(reply.read(text, form.calls, tag=form.tag))
    except reply.Unreadable:
        return False


def _labels(form: Format, text: str) -> str:
    """Name the type labels that the form does not have; such values stay text."""
    if form.calls not in ("verbose_xml", "concise_xml"):
        return ""
    given = (one or two for one, two in _TYPE.findall(text))
    odd = sorted({label for label in given if label not in xml.LABELS})
    return f"type labels {', '.join(map(repr, odd))[:_SHOWN_CHARS]}" if odd else ""


def _repeated(form: Format, text: str) -> str:
    """Say that calls stand in sections of their own; only the first section is read."""
    sections = [f"<{TAG}>"] if form.tag else []
    if form.calls in ("verbose_xml", "concise_xml"):
        sections.append("<functions>")
    for section in sections:
        if text.count(section) > 1:
            return f"{text.count(section)} {section} sections, one is due"
    return ""


def _quoting(form: Format, text: str) -> str:
    """Say which change of quotes or escapes makes the text readable."""
    for what, repaired in _repairs(form, text):
        if repaired != text and _reads(repaired, form):
            return f"readable with {what}: {text[:_SHOWN_CHARS]!r}"
    return ""


def _repairs(form: Format, text: str) -> Iterator[tuple[str, str]]:
    yield "plain quotes", text.translate(str.maketrans("“”„‘’", '"""\'\''))
    yield "backslashes before quotes left out", _ESCAPES.sub(r"\1", text)
    yield "entities written as characters", _characters(text)
    if form.calls == "python":
        yield "line breaks written as \\n", text.replace("\n", "\\n")
    elif form.calls == "json":
        yield "JSON quotes and words", _as_json(text)
        yield "backslashes doubled", re.sub(r"\\(?![\"\\/bfnrtu])", r"\\\\", text)
    else:
        yield "& and < escaped", _escaped(text)


def _characters(text: str) -> str:
    """Write entities as characters; a number of thousands of digits is beyond Python's reading."""
    try:
        return html.unescape(text)
    except ValueError:
        return text


def _as_json(text: str) -> str:
    """Rewrite a list that is written in Python's literals."""
    start, end = text.find("["), text.rfind("]")
    words = re.sub(r"\b(true|false|null)\b", lambda m: _LITERALS[m[1]], text[start : end + 1])
    try:
        return text[:start] + _json(ast.literal_eval(words)) + text[end + 1 :]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def _json(value: Any) -> str:
    return msgspec.json.encode(codec.plain(value)).decode()


def _escaped(text: str) -> str:
    text = _BARE.sub("&amp;", text)
    text = _VALUE.sub(lambda m: f"{m[1]}{m[2].replace('<', '&lt;')}{m[3]}", text)
    return _CONTENT.sub(lambda m: f"{m[1]}{m[2].replace('<', '&lt;')}{m[3]}", text)


def _unclosed(text: str) -> str:
    """Name the first tag that is opened more often than it is closed."""
    for name in sorted(_KNOWN):
        opened = re.findall(rf"<{name}\b[^<>]*>", text)
        due = sum(not tag.endswith("/>") for tag in opened)
        closed = text.count(f"</{name}>")
        if due > closed:
            return f"<{name}> opened {due} times, closed {closed} times"
    return ""


def _other(form: Format, text: str) -> str:
    """Name another form in which the text does hold calls."""
    for calls in get_args(reply.Form):
        for tag in (form.tag, not form.tag):
            shape = replace(form, calls=calls, tag=tag)
            if shape != form and _holds(text, shape):
                return f"reads as {calls}{' inside a tag' if tag else ' without a tag'}"
    return ""


def _holds(text: str, form: Format) -> bool:
    try:
        made = reply.read(text, form.calls, tag=form.tag)
    except reply.Unreadable:
        return False
    return bool(made) and all(name for name, _ in made)


def _invented(task: Task, text: str) -> str:
    """Name elements called after a tool, a parameter or another system's conventions."""
    own = {tool.name for tool in task.tools}
    own |= {name.replace(".", "_") for name in own}
    own |= {name for tool in task.tools for name in tool.parameters.get("properties", {})}
    used = dict.fromkeys(_ELEMENT.findall(text))
    odd = [name for name in used if name not in _KNOWN and (name in own or _HABITS.fullmatch(name))]
    return f"elements {', '.join(f'<{name}>' for name in odd)[:_SHOWN_CHARS]}" if odd else ""
