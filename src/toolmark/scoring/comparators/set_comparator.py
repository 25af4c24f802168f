"""Sets of values: all members, in any order, and no others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

from toolmark.core.errors import UsageError
from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.language.value_tokens import ValueToken, cut_values, text_at
from toolmark.scoring.comparators.calendar_names import (
    CalendarName,
    are_calendar_names,
    calendar_forms,
)
from toolmark.scoring.comparators.comparison import (
    Comparator,
    Comparison,
    show_value,
    visible_text,
)
from toolmark.scoring.comparators.guard_words import guard_words, phrases
from toolmark.scoring.comparators.member_comparators import choose_member, make_member
from toolmark.scoring.comparators.text_comparators import find_words

MAX_MEMBERS = 200
MAX_LIST_CHARS = 8_000  # of a text that lists members
_SEPARATOR = re.compile(r"[;\n]|,(?!\d{3}\b)|\s(?:and|&)\s")
_BULLET = re.compile(r"[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+")
_LIST_SIGNS = frozenset({",", "and", "&", ";", "or", "plus"})
_LISTING_WORDS = frozenset(
    {"are", "is", "include", "includes", "was", "were", "contains", ":", "has"}
)
_BARE_SIGNS = frozenset(",;.-*•&[]()\"'`")
_EXCLUDING = frozenset({"but", "except", "excluding", "no", "nor", "not", "never", "without"})
_MAX_EXTRA_WORDS = 3
_FIRST_TOKENS = 40  # in which an answer says that there is nothing


class SetOfValues(Comparator, frozen=True, kw_only=True):
    """Several values: all of them, each once.

    - `member`: the kind of the members; "" chooses by their types.
    - `ordered`: whether the order counts.
    - `extra`: whether there may be others.
    """

    kind: ClassVar[str] = "set"

    member: str = ""
    ordered: bool = False
    extra: bool = False

    def compare_value(self, given: Any, expected: Any) -> Comparison:
        """Compare a list, or a text that lists the members."""
        members = _expected_members(expected)
        if isinstance(given, str) and len(given) > MAX_LIST_CHARS:
            return Comparison(False, f"the text is longer than {MAX_LIST_CHARS} characters")
        items = split_list(given) if isinstance(given, str) else given
        if not isinstance(items, list | tuple):
            return Comparison(False, f"the value is of type {type(given).__name__}, no list")
        if len(items) > MAX_MEMBERS:
            return Comparison(False, f"the value has more than {MAX_MEMBERS} members")
        rest, comparators = list(items), self._comparators(members)
        for place, member in enumerate(members):
            tried = rest[:1] if self.ordered and not self.extra else rest
            at = _find_members(comparators[place], tried, member)
            if at is None:
                return Comparison(False, f"the value lacks {show_value(member)}, at {place}")
            rest = rest[at + 1 :] if self.ordered else rest[:at] + rest[at + 1 :]
        # a member that is repeated is still one member
        pairs = list(zip(comparators, members, strict=True))
        others = [i for i in rest if not any(c.compare_value(i, m).matches for c, m in pairs)]
        if others and not self.extra:
            return Comparison(False, f"the value has {show_value(others[0])} in addition")
        return Comparison(True, "the value has all members")

    def find_in_answer(self, text: str, expected: Any) -> Comparison:
        """Compare what an answer lists: every member is stated, and its lists have no other."""
        members, text = _expected_members(expected), visible_text(text)
        tokens = cut_values(text)
        if not members:
            return _states_nothing(tokens)
        if _is_bare_list(tokens) and self.compare_value(text, members).matches:
            return Comparison(True, "the answer lists all members")
        places, comparators = [], self._comparators(members)
        for comparator, member in zip(comparators, members, strict=True):
            found = comparator.find_in_answer(text, member)
            if not found.matches:
                return Comparison(False, found.reason, found.found)
            if _is_hedged(tokens, member):
                return Comparison(False, f"the answer leaves {show_value(member)} open")
            places.append(text.find(found.found))
        if self.ordered and places != sorted(places):
            return Comparison(False, "the answer has the members in another order")
        if not self.extra and (other := _other_member(text, members, comparators)):
            return Comparison(False, f"the answer lists {show_value(other)} in addition", other)
        return Comparison(True, "the answer states all members")

    def _comparators(self, members: Sequence[Any]) -> list[Comparator]:
        """Return the comparator of each member."""
        if self.member:
            return [make_member(self.member)] * len(members)
        if are_calendar_names(members):
            return [CalendarName()] * len(members)
        return [choose_member(member) for member in members]


def _find_members(comparator: Comparator, items: Sequence[Any], member: Any) -> int | None:
    for at, item in enumerate(items):
        if comparator.compare_value(item, member).matches:
            return at
    return None


def _other_member(text: str, members: Sequence[Any], comparators: Sequence[Comparator]) -> str:
    """Return an item of a list of the answer that is no member, "" for none."""
    bullets = [line[mark.end() :] for line in text.split("\n") if (mark := _BULLET.match(line))]
    pairs = list(zip(comparators, members, strict=True))
    for item in filter(str.strip, bullets) if len(bullets) > 1 else ():
        if not any(comparator.find_in_answer(item, member).matches for comparator, member in pairs):
            return item
    are_calendar = comparators and isinstance(comparators[0], CalendarName)
    forms = [str(m) for m in members]
    return _extra_in_sentence(
        text, [form for m in forms for form in (calendar_forms(m) if are_calendar else [m])]
    )


def _is_bare_list(tokens: Sequence[ValueToken]) -> bool:
    """Return whether an answer has no other signs than those of a list."""
    return all(token.kind != "sign" or token.text in _BARE_SIGNS for token in tokens)


def _states_nothing(tokens: Sequence[ValueToken]) -> Comparison:
    """Return whether an answer states that there is no member."""
    found = phrases("nothing_words").find_in(tokens, 0, min(len(tokens), _FIRST_TOKENS)) >= 0
    return Comparison(found, f"the answer {'states' if found else 'does not state'} no members")


def _is_hedged(tokens: Sequence[ValueToken], member: Any) -> bool:
    spans = find_words(tokens, cut_values(str(member)))
    return any(text_at(tokens, first - 1) in guard_words().hedges for first, _ in spans)


def split_list(text: str) -> list[Any]:
    """Return the items of a list that is written as a text, or as JSON."""
    if text.lstrip()[:1] == "[":
        try:
            found = parse_json(text)
        except InvalidJson:
            found = None
        if isinstance(found, list):
            return found
    marks = [(line, _BULLET.match(line)) for line in text.split("\n")]
    lines = [line[mark.end() :] if mark else line for line, mark in marks]
    parts = [part for line in lines for part in _SEPARATOR.split(line)]
    cleaned = [part.strip().removeprefix("and ").strip().rstrip(".") for part in parts]
    return [part for part in cleaned if part]


def _extra_in_sentence(text: str, members: Sequence[str]) -> str:
    """Return an item that stands in the same enumeration as the members, "" for none."""
    tokens = cut_values(text)
    spans = sorted(span for member in members for span in find_words(tokens, cut_values(member)))
    if len(spans) < 2:
        return ""
    for (_, end), (start, _) in pairwise(spans):
        if found := _item_between(tokens, end, start):
            return found
    if last := _closing_item(tokens, spans[-2][1], spans[-1][0], spans[-1][1]):
        return last
    return _item_after(tokens, spans[-1][1]) or _item_before(tokens, spans[0][0])


def _item_between(tokens: Sequence[ValueToken], start: int, end: int) -> str:
    """Return an item between two members: separators on both sides, few words inside."""
    inner = [t for t in tokens[start:end] if t.text not in "\"'`*_()"]
    if len(inner) < 3 or inner[0].folded not in _LIST_SIGNS or inner[-1].folded not in _LIST_SIGNS:
        return ""
    words = [t for t in inner if t.folded not in _LIST_SIGNS]
    if not words or len(words) > _MAX_EXTRA_WORDS or any(t.kind == "sign" for t in words):
        return ""
    return " ".join(t.text for t in words)


def _closing_item(tokens: Sequence[ValueToken], left: int, right: int, end: int) -> str:
    """Return the item that "and" adds to a list of commas: oak, ash and elm grow there."""
    if [t.text for t in tokens[left:right]] != [","]:
        return ""
    end += text_at(tokens, end) == ","
    joined = text_at(tokens, end) == "and" and end + 1 < len(tokens)
    return tokens[end + 1].text if joined and tokens[end + 1].kind != "sign" else ""


def _item_after(tokens: Sequence[ValueToken], at: int) -> str:
    """Return an item after the last member: red, green and blue."""
    start = at
    while start < len(tokens) and tokens[start].folded in _LIST_SIGNS:
        start += 1
    if start == at or tokens[start - 1].folded == "or":
        return ""
    if text_at(tokens, start) in _EXCLUDING:
        return ""  # red and green, but no blue
    words = []
    for token in tokens[start : start + _MAX_EXTRA_WORDS + 1]:
        if token.kind == "sign" or token.folded in _LIST_SIGNS:
            break
        words.append(token.text)
    after = start + len(words)
    closed = after >= len(tokens) or tokens[after].text in ".,;!" or tokens[after].new_line
    joined = after < len(tokens) and tokens[after].folded in _LIST_SIGNS
    is_item = 0 < len(words) <= _MAX_EXTRA_WORDS and (closed or joined)
    return " ".join(words) if is_item and not _LISTING_WORDS & {w.lower() for w in words} else ""


def _item_before(tokens: Sequence[ValueToken], at: int) -> str:
    """Return an item before the first member: the colours are yellow, red and green."""
    if text_at(tokens, at - 1) not in _LIST_SIGNS:
        return ""
    words: list[str] = []
    for i in range(at - 2, max(at - 3 - _MAX_EXTRA_WORDS, -1), -1):
        if tokens[i].folded in _LISTING_WORDS and words:
            return " ".join(reversed(words))
        if tokens[i].kind == "sign":
            break
        words.append(tokens[i].text)
    return ""


def _expected_members(expected: Any) -> list[Any]:
    if isinstance(expected, list | tuple):
        return list(expected)
    raise UsageError(
        f"the comparator set needs a list, got {show_value(expected)!r}; "
        'next: write it as ["a", "b"]'
    )
