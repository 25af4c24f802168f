"""A baseline without a model: it matches the words of the question to the words of the tools.

It sees only a Request. Arguments come from numbers, quotations, capitalised names, dates and
enumerated words of the question. If a required argument cannot be filled, it abstains.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from toolmark.baselines.text_spans import Span, TextSpans, word_stems
from toolmark.core.records import Call, Reply, Request, Tool

NO_TOOL_TEXT = "None of the tools fits this request."
DONE_TEXT = "Done."

Arguments: TypeAlias = dict[str, Any]

# chosen on a sample of the published questions: below it a tool shares too few words
_MIN_SCORE = 0.16
_MIN_CLAUSE_SHARE = (
    0.75  # a clause is used alone if its best score has this share of the full text's best
)
_MAX_DISTANCE_CHARS = 30
_MAX_CALLS = 6
_CLAUSE = re.compile(
    r"[.?!;]\s+|(?:,|(?<!\s))\s++(?:and then|then|and also|also|as well as|after that)\s+|\n+"
)


class LexicalMatcher:
    """Calls the tool that shares most words with the question, if all required values are found."""

    name = "baseline/lexical"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Reply with calls, with a refusal, or, after results, with a closing text."""
        last = next((m for m in reversed(request.messages) if m.role in ("user", "tool")), None)
        if last is None or not request.tools:
            return Reply(text=NO_TOOL_TEXT)
        if last.role == "tool":
            return Reply(text=DONE_TEXT)
        found = choose_calls(last.text, request.tools)
        if not found:
            return Reply(text=NO_TOOL_TEXT)
        calls = [
            Call(name=name, arguments=json.dumps(given, ensure_ascii=False), id=f"call_{index}")
            for index, (name, given) in enumerate(found)
        ]
        return Reply(calls=tuple(calls))


def choose_calls(text: str, tools: Sequence[Tool]) -> list[tuple[str, Arguments]]:
    """Return the calls for a question, [] to abstain."""
    rarity = _rarity_by_word(tools)
    ranked = _rank_tools(text, tools, rarity)
    if not ranked:
        return []
    best = ranked[0][0]
    parts = [part for part in _CLAUSE.split(text) if len(part) > 15]
    clause_calls: list[tuple[str, Arguments]] = []
    for part in parts if len(parts) > 1 else []:
        ranked_clause = _rank_tools(part, tools, rarity)
        if ranked_clause and ranked_clause[0][0] >= _MIN_CLAUSE_SHARE * best:
            arguments = fill_arguments(ranked_clause[0][1], TextSpans(part))
            if arguments is not None and (ranked_clause[0][1].name, arguments) not in clause_calls:
                clause_calls.append((ranked_clause[0][1].name, arguments))
    if len(clause_calls) > 1:
        return clause_calls
    tool = ranked[0][1]
    spans = TextSpans(text)
    arguments = fill_arguments(tool, spans)
    if arguments is None:
        return []
    per_member = list(_arguments_per_member(tool, text, arguments))
    return [
        (tool.name, each)
        for each in (
            per_member if len(per_member) > 1 else _repeated_arguments(tool, spans, arguments)
        )
    ]


# --- which tool -------------------------------------------------------------------------


def _rank_tools(
    text: str, tools: Sequence[Tool], rarity: Mapping[str, float]
) -> list[tuple[float, Tool]]:
    question_stems = word_stems(text)
    scored = [(_tool_score(question_stems, tool, rarity), tool) for tool in tools]
    accepted = [pair for pair in scored if pair[0] >= _MIN_SCORE]
    return sorted(accepted, key=lambda pair: -pair[0])


def _tool_score(question_stems: set[str], tool: Tool, rarity: Mapping[str, float]) -> float:
    """Return a score from the share of the tool's words in the question, and the reverse."""
    name, purpose, details = _words_of_tool(tool)
    known = name | purpose | details
    return (
        0.4 * _weighted_share(name, question_stems, rarity)
        + 0.2 * _weighted_share(purpose - name or purpose, question_stems, rarity)
        + 0.1 * _weighted_share(details - name, question_stems, rarity)
        + 0.3 * (len(question_stems & known) / len(question_stems) if question_stems else 0.0)
    )


@lru_cache(maxsize=4096)
def _tool_stems(
    name: str, description: str, properties: str
) -> tuple[set[str], set[str], set[str]]:
    return word_stems(name), word_stems(description), word_stems(properties)


def _words_of_tool(tool: Tool) -> tuple[set[str], set[str], set[str]]:
    """Return the stems of name, description, and parameters with their descriptions and options."""
    details = " ".join(
        f"{key} {spec.get('description', '')} {spec.get('enum', '')}"
        for key, spec in _properties(tool).items()
    )
    return _tool_stems(tool.name, tool.description.partition(". ")[0], details)


def _weighted_share(
    words: set[str], question_stems: set[str], rarity: Mapping[str, float]
) -> float:
    total = sum(rarity.get(word, 1.0) for word in words)
    matched = sum(rarity.get(word, 1.0) for word in words if word in question_stems)
    return matched / total if total else 0.0


def _rarity_by_word(tools: Sequence[Tool]) -> dict[str, float]:
    """Return a weight per word: the fewer tools have it, the greater."""
    sets = [word_stems(f"{tool.name} {tool.description.partition('. ')[0]}") for tool in tools]
    all_words = set().union(*sets)
    n = len(sets)
    return {word: 0.3 + math.log((n + 1) / sum(word in one for one in sets)) for word in all_words}


def _properties(tool: Tool) -> dict[str, Any]:
    found = tool.parameters.get("properties")
    if not isinstance(found, dict):
        return {}
    return {key: spec if isinstance(spec, dict) else {} for key, spec in found.items()}


# --- with what --------------------------------------------------------------------------


def fill_arguments(tool: Tool, spans: TextSpans) -> Arguments | None:
    """Return the arguments found in the text, None if a required one is not in it."""
    required = tool.parameters.get("required") or []
    filled: Arguments = {}
    properties = _properties(tool)
    # parameters that the text names are filled first, so that they get the nearest pieces
    for key in sorted(
        properties, key=lambda key: (key not in required, not _is_mentioned(key, spans))
    ):
        value = _argument_value(key, properties[key], spans, is_required=key in required)
        if value is not None:
            filled[key] = value
        elif key in required:
            return None
    return {key: filled[key] for key in properties if key in filled}


def _argument_value(
    key: str, spec: Mapping[str, Any], spans: TextSpans, *, is_required: bool
) -> Any:
    """Return a value for one parameter or None; each piece of the text is used once."""
    if enum := spec.get("enum"):
        return _enum_value(enum, spec, spans, is_required=is_required)
    match spec.get("type"):
        case "integer" | "number" as kind:
            span = spans.take_number(
                word_stems(key),
                max_distance=None if is_required else _MAX_DISTANCE_CHARS,
                is_integer=kind == "integer",
            )
            return None if span is None else _parse_number(span.text, kind)
        case "boolean":
            return _boolean_value(key, spec, spans, is_required=is_required)
        case "array":
            return _array_value(key, spec, spans, is_required=is_required)
        case "string":
            return _string_value(key, spec, spans, is_required=is_required)
        case _:
            return None


def _is_mentioned(key: str, spans: TextSpans) -> bool:
    return bool(word_stems(key) & spans.stems)


def _parse_number(text: str, kind: str) -> int | float:
    value = float(text)
    return int(value) if kind == "integer" or value.is_integer() else value


def _enum_value(
    enum: Sequence[Any], spec: Mapping[str, Any], spans: TextSpans, *, is_required: bool
) -> Any:
    """Return the option that the text names, the longest first."""
    for option in sorted(enum, key=lambda option: -len(str(option))):
        if isinstance(option, str) and spans.contains_words(option):
            return option
    if is_required:
        return spec.get("default", enum[0])
    return None


def _boolean_value(
    key: str, spec: Mapping[str, Any], spans: TextSpans, *, is_required: bool
) -> bool | None:
    """Return True where the text has the parameter's words; a required one defaults to False."""
    words = word_stems(key) - {"is", "has", "include", "with", "show"}
    if words and words <= spans.stems:
        return True
    return bool(spec.get("default", False)) if is_required else None


def _array_value(
    key: str, spec: Mapping[str, Any], spans: TextSpans, *, is_required: bool
) -> list[Any] | None:
    items = spec.get("items") or {}
    if enum := items.get("enum"):
        named = [
            option for option in enum if isinstance(option, str) and spans.contains_words(option)
        ]
        return named or None
    if not is_required and not _is_mentioned(key, spans):
        return None
    match items.get("type"):
        case "integer" | "number" as kind:
            return [_parse_number(span.text, kind) for span in spans.take_numbers()] or None
        case "string":
            return [span.text for span in spans.take_names()] or None
        case _:
            return None


def _string_value(
    key: str, spec: Mapping[str, Any], spans: TextSpans, *, is_required: bool
) -> str | None:
    """Return a date, time, quotation or name, in this order; else the nearest words if required."""
    about = f"{key} {spec.get('description', '')}"
    words = word_stems(key)
    if "date" in words or "day" in words:
        found = spans.take_date(iso="YYYY-MM-DD" in about)
        return found if found or not is_required else None
    if "time" in words and (clock := spans.take_time()):
        return clock
    if not is_required and not _is_mentioned(key, spans):
        return None
    span: Span | None = spans.take_quotation() or spans.take_name(words)
    if span is None and is_required:
        span = spans.take_phrase()
    return None if span is None else span.text


# --- how often --------------------------------------------------------------------------


def _repeated_arguments(tool: Tool, spans: TextSpans, first: Arguments) -> list[Arguments]:
    """Return the arguments, and further ones from the text's remaining numbers for the same tool.

    Numbers only: the remaining names are too often part of the first call.
    """
    found = [first]
    required = tool.parameters.get("required") or []
    kinds = [_properties(tool).get(key, {}).get("type") for key in required]
    if not {"integer", "number"} & set(kinds) or "and" not in spans.text.split():
        return found
    while len(found) < _MAX_CALLS:
        n_used = spans.n_used
        another = fill_arguments(tool, spans)
        if another is None or spans.n_used - n_used < len(required):
            break
        found.append(another)
    return found


def _arguments_per_member(tool: Tool, text: str, arguments: Arguments) -> Iterable[Arguments]:
    """Return one set of arguments per member of a list of names like "A, B and C"."""
    required = tool.parameters.get("required") or []
    for key, value in arguments.items():
        if key not in required or not isinstance(value, str):
            continue
        members = TextSpans(text).list_members(value)
        if len(members) > 1:
            return [{**arguments, key: member} for member in members]
    return [arguments]
