"""JSON objects and lists inside an answer in prose, and which of them it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.language.value_tokens import cut_values
from toolmark.scoring.comparators.answer_statements import judge_answer
from toolmark.scoring.comparators.comparison import Comparison
from toolmark.scoring.comparators.statement_guards import AnswerText, Candidate

_CLOSING = {"}": "{", "]": "["}


def is_json(text: str) -> bool:
    """Return whether a text is one JSON value."""
    try:
        parse_json(text)
    except InvalidJson:
        return False
    return True


def json_spans(text: str) -> Iterator[tuple[int, int, Any]]:
    """Yield the objects and lists of a text that are JSON: start, end and value, outermost only."""
    for start, end in _bracket_spans(text):
        try:
            yield start, end, parse_json(text[start:end])
        except InvalidJson:
            continue


def _bracket_spans(text: str) -> list[tuple[int, int]]:
    """Return the outermost spans of matching brackets; brackets in strings do not count."""
    opened: list[int] = []
    spans: list[tuple[int, int]] = []
    in_string = escaped = False
    for at, char in enumerate(text):
        if escaped:
            escaped = False
        elif in_string:
            escaped, in_string = char == "\\", char not in '"\n'
        elif char in "{[":
            opened.append(at)
        elif char == '"' and opened:
            in_string = True
        elif char in _CLOSING and opened:
            start = opened.pop()
            if text[start] != _CLOSING[char]:
                opened.clear()
                continue
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, at + 1))
    return spans


def judge_json(
    text: str, spans: Sequence[tuple[int, int, Any]], compare: Callable[[Any], Comparison]
) -> Comparison:
    """Return whether an answer states the expected value, by the guards of other values.

    Where no value is the expected one, the result is the difference of the last value.
    """
    tokens = cut_values(text)
    compared = [(start, end, compare(given)) for start, end, given in spans]
    candidates, at = [], 0
    for start, end, found in compared:
        while tokens[at].start < start:
            at += 1
        first = at
        while at < len(tokens) and tokens[at].end <= end:
            at += 1
        candidates.append(Candidate(first, at, found.matches))
    if not any(candidate.matches for candidate in candidates):
        return compared[-1][2]
    return judge_answer(text, AnswerText(tokens, candidates), "the expected JSON value")
