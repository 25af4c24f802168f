"""A baseline without a model: it matches the words of the question to the words of the tools.

It sees a Request and nothing else. Arguments come from numbers, quotations, capitalised names,
dates and enumerated words of the question; what cannot be filled makes it abstain.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from toolmark.models.baselines.spans import Span, Spans, stems
from toolmark.types import Call, Reply, Request, Tool

NOTHING = "None of the tools fits this request."
DONE = "Done."

Arguments: TypeAlias = dict[str, Any]

# chosen on a sample of the published questions: below it a tool shares too little with the words
_FLOOR = 0.16
_MARGIN = 0.75  # a clause needs this share of the whole text's best match to be asked alone
_NEAR_CHARS = 30
_CALLS = 6
_CLAUSE = re.compile(
    r"[.?!;]\s+|(?:,|(?<!\s))\s++(?:and then|then|and also|also|as well as|after that)\s+|\n+"
)


class Lexical:
    """Calls the tool that shares most words with the question, if all it requires is found."""

    name = "baseline/lexical"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Reply with calls, with a refusal, or, once results are there, with a closing word."""
        last = next((m for m in reversed(request.messages) if m.role in ("user", "tool")), None)
        if last is None or not request.tools:
            return Reply(text=NOTHING)
        if last.role == "tool":
            return Reply(text=DONE)
        found = decide(last.text, request.tools)
        if not found:
            return Reply(text=NOTHING)
        calls = [
            Call(name=name, arguments=json.dumps(given, ensure_ascii=False), id=f"call_{index}")
            for index, (name, given) in enumerate(found)
        ]
        return Reply(calls=tuple(calls))


def decide(text: str, tools: Sequence[Tool]) -> list[tuple[str, Arguments]]:
    """Return the calls for a question, none to abstain."""
    rarity = _rarity(tools)
    ranked = _ranked(text, tools, rarity)
    if not ranked:
        return []
    best = ranked[0][0]
    parts = [part for part in _CLAUSE.split(text) if len(part) > 15]
    apart: list[tuple[str, Arguments]] = []
    for part in parts if len(parts) > 1 else []:
        near = _ranked(part, tools, rarity)
        if near and near[0][0] >= _MARGIN * best:
            given = fill(near[0][1], Spans(part))
            if given is not None and (near[0][1].name, given) not in apart:
                apart.append((near[0][1].name, given))
    if len(apart) > 1:
        return apart
    tool = ranked[0][1]
    spans = Spans(text)
    given = fill(tool, spans)
    if given is None:
        return []
    spread = list(_spread(tool, text, given))
    return [
        (tool.name, each) for each in (spread if len(spread) > 1 else _again(tool, spans, given))
    ]


# --- which tool -------------------------------------------------------------------------


def _ranked(
    text: str, tools: Sequence[Tool], rarity: Mapping[str, float]
) -> list[tuple[float, Tool]]:
    asked = stems(text)
    scored = [(_likeness(asked, tool, rarity), tool) for tool in tools]
    kept = [pair for pair in scored if pair[0] >= _FLOOR]
    return sorted(kept, key=lambda pair: -pair[0])


def _likeness(asked: set[str], tool: Tool, rarity: Mapping[str, float]) -> float:
    """Weigh how much of the tool's words is asked for, and how much of the question it knows."""
    name, purpose, details = _words(tool)
    known = name | purpose | details
    return (
        0.4 * _share(name, asked, rarity)
        + 0.2 * _share(purpose - name or purpose, asked, rarity)
        + 0.1 * _share(details - name, asked, rarity)
        + 0.3 * (len(asked & known) / len(asked) if asked else 0.0)
    )


@lru_cache(maxsize=4096)
def _read(name: str, description: str, properties: str) -> tuple[set[str], set[str], set[str]]:
    return stems(name), stems(description), stems(properties)


def _words(tool: Tool) -> tuple[set[str], set[str], set[str]]:
    """Return the stems of name, description, and parameters with their descriptions and options."""
    details = " ".join(
        f"{key} {spec.get('description', '')} {spec.get('enum', '')}"
        for key, spec in _properties(tool).items()
    )
    return _read(tool.name, tool.description.partition(". ")[0], details)


def _share(words: set[str], asked: set[str], rarity: Mapping[str, float]) -> float:
    total = sum(rarity.get(word, 1.0) for word in words)
    hit = sum(rarity.get(word, 1.0) for word in words if word in asked)
    return hit / total if total else 0.0


def _rarity(tools: Sequence[Tool]) -> dict[str, float]:
    """Weigh words by how few of the tools have them."""
    sets = [stems(f"{tool.name} {tool.description.partition('. ')[0]}") for tool in tools]
    every = set().union(*sets)
    n = len(sets)
    return {word: 0.3 + math.log((n + 1) / sum(word in one for one in sets)) for word in every}


def _properties(tool: Tool) -> dict[str, Any]:
    found = tool.parameters.get("properties")
    if not isinstance(found, dict):
        return {}
    return {key: spec if isinstance(spec, dict) else {} for key, spec in found.items()}


# --- with what --------------------------------------------------------------------------


def fill(tool: Tool, spans: Spans) -> Arguments | None:
    """Return the arguments the text supports, None if something required is not in it."""
    required = tool.parameters.get("required") or []
    given: Arguments = {}
    properties = _properties(tool)
    # what the text names is filled first, so that it gets the pieces nearest to its name
    for key in sorted(properties, key=lambda key: (key not in required, not _said(key, spans))):
        value = _argument(key, properties[key], spans, needed=key in required)
        if value is not None:
            given[key] = value
        elif key in required:
            return None
    return {key: given[key] for key in properties if key in given}


def _argument(key: str, spec: Mapping[str, Any], spans: Spans, *, needed: bool) -> Any:
    """Return a value for one parameter or None; each piece of the text is used once."""
    if enum := spec.get("enum"):
        return _listed(enum, spec, spans, needed=needed)
    match spec.get("type"):
        case "integer" | "number" as kind:
            span = spans.number(
                stems(key), near=None if needed else _NEAR_CHARS, whole=kind == "integer"
            )
            return None if span is None else _number(span.text, kind)
        case "boolean":
            return _flag(key, spec, spans, needed=needed)
        case "array":
            return _array(key, spec, spans, needed=needed)
        case "string":
            return _string(key, spec, spans, needed=needed)
        case _:
            return None


def _said(key: str, spans: Spans) -> bool:
    return bool(stems(key) & spans.stems)


def _number(text: str, kind: str) -> int | float:
    value = float(text)
    return int(value) if kind == "integer" or value.is_integer() else value


def _listed(enum: Sequence[Any], spec: Mapping[str, Any], spans: Spans, *, needed: bool) -> Any:
    """Return the option that the text names, the longest first."""
    for option in sorted(enum, key=lambda option: -len(str(option))):
        if isinstance(option, str) and spans.says(option):
            return option
    if needed:
        return spec.get("default", enum[0])
    return None


def _flag(key: str, spec: Mapping[str, Any], spans: Spans, *, needed: bool) -> bool | None:
    """Return True where the text has the parameter's own word; a required one falls to False."""
    words = stems(key) - {"is", "has", "include", "with", "show"}
    if words and words <= spans.stems:
        return True
    return bool(spec.get("default", False)) if needed else None


def _array(key: str, spec: Mapping[str, Any], spans: Spans, *, needed: bool) -> list[Any] | None:
    items = spec.get("items") or {}
    if enum := items.get("enum"):
        named = [option for option in enum if isinstance(option, str) and spans.says(option)]
        return named or None
    if not needed and not _said(key, spans):
        return None
    match items.get("type"):
        case "integer" | "number" as kind:
            return [_number(span.text, kind) for span in spans.numbers()] or None
        case "string":
            return [span.text for span in spans.names()] or None
        case _:
            return None


def _string(key: str, spec: Mapping[str, Any], spans: Spans, *, needed: bool) -> str | None:
    """Return dates, times, quotations, names in this order of trust, then the nearest words."""
    about = f"{key} {spec.get('description', '')}"
    words = stems(key)
    if "date" in words or "day" in words:
        found = spans.date(iso="YYYY-MM-DD" in about)
        return found if found or not needed else None
    if "time" in words and (clock := spans.clock()):
        return clock
    if not needed and not _said(key, spans):
        return None
    span: Span | None = spans.quoted() or spans.named(words)
    if span is None and needed:
        span = spans.phrase(words)
    return None if span is None else span.text


# --- how often --------------------------------------------------------------------------


def _again(tool: Tool, spans: Spans, given: Arguments) -> list[Arguments]:
    """Return the arguments, and such as the text's remaining numbers give for the same tool.

    Numbers only: names that are left over are too often part of the first call.
    """
    found = [given]
    required = tool.parameters.get("required") or []
    kinds = [_properties(tool).get(key, {}).get("type") for key in required]
    if not {"integer", "number"} & set(kinds) or "and" not in spans.text.split():
        return found
    while len(found) < _CALLS:
        before = spans.used
        more = fill(tool, spans)
        if more is None or spans.used - before < len(required):
            break
        found.append(more)
    return found


def _spread(tool: Tool, text: str, given: Arguments) -> Iterable[Arguments]:
    """Return one set of arguments per member of a list of names like "A, B and C"."""
    required = tool.parameters.get("required") or []
    for key, value in given.items():
        if key not in required or not isinstance(value, str):
            continue
        members = Spans(text).members(value)
        if len(members) > 1:
            return [{**given, key: member} for member in members]
    return [given]
