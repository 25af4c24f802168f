"""What an endpoint's complaint means, by patterns that are stored as data (`complaints.toml`).

Only this module looks at the text of a complaint. Patterns are plain phrases and words: the time to
match them grows with the text's length, which is at most `MAX_COMPLAINT_CHARS` characters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.core.failure import Kind, Subject

MAX_COMPLAINT_CHARS = 4096
"""The number of characters of a complaint that are read."""
_GAP = " ... "
_MAX_DIGITS = 12  # of a number of tokens
_EXCLUSIVE = {"temperature", "top_p"}  # of which some models take one
_THINKING = {"reasoning_effort", "thought_summaries", "thinking_display"}

RuleStop: TypeAlias = Literal["", "over_long", "refused", "malformed"]


class ComplaintRule(DataRecord, frozen=True, kw_only=True):
    """The conditions under which a complaint has one meaning; all given conditions must be met.

    `statuses` are ranges, ends included. One of `codes` and `phrases` together must match, and one
    of `words`. `says_unsupported`: a phrase that says so must match. `exceeds`: the number after
    the first phrase is not less than that after the second. If `subject` is something that a
    request can contain, the request must have contained it. `stop` is the stop reason of the Reply,
    else `kind` is that of the Failure. `next_step` says what to do.
    """

    description: str
    statuses: tuple[tuple[int, int], ...] = ()
    codes: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    says_unsupported: bool = False
    exceeds: tuple[str, str] | None = None
    stop: RuleStop = ""
    kind: Kind | Literal[""] = ""
    subject: Subject = ""
    next_step: Annotated[str, Meta(pattern=placeholders("key"))] = ""


class Phrases(DataRecord, frozen=True):
    """Phrases of which one is enough."""

    phrases: tuple[str, ...]


class ReplyRoom(DataRecord, frozen=True, kw_only=True):
    """Where a complaint says how long a reply may be: the numbers after two phrases.

    `limit` is the number of tokens of the reply, or of both where `input` precedes that of the
    input. `phrases` are those of which one must match.
    """

    phrases: tuple[str, ...]
    limit: str
    input: str = ""


class ComplaintTable(DataRecord, frozen=True, kw_only=True):
    """The data file: statuses by code, rules in order, and how servers name settings."""

    statuses: dict[str, int]
    rules: tuple[ComplaintRule, ...]
    unsupported: Phrases
    out_of_range: Phrases
    alternatives: Phrases
    settings: dict[str, tuple[str, ...]]
    renamed: Phrases
    unreadable_history: Phrases
    reply_limit: Phrases
    reply_rooms: tuple[ReplyRoom, ...]


def load_table() -> ComplaintTable:
    """Return the content of the data file."""
    return read_table(__file__, "complaints.toml", ComplaintTable)


class ComplaintText:
    """The text of a complaint, cut, in the form in which the patterns are matched."""

    def __init__(self, text: str, codes: Sequence[str] = ()) -> None:
        self.codes = codes
        self.text = text[:MAX_COMPLAINT_CHARS].casefold()
        spaced = "".join(c if c.isalnum() or c == "_" else " " for c in self.text)
        self.word_set = frozenset(spaced.split())

    def has_phrase(self, phrases: Collection[str]) -> bool:
        """Return whether one of the phrases matches."""
        return any(self._has_phrase(phrase) for phrase in phrases)

    def _has_phrase(self, phrase: str) -> bool:
        position = 0
        for part in phrase.casefold().split(_GAP):
            found = self.text.find(part, position)
            if found < 0:
                return False
            position = found + len(part)
        return True

    def number_after(self, phrase: str) -> int | None:
        """Return the number that follows a phrase, None if there is none."""
        position = self.text.find(phrase.casefold())
        if position < 0:
            return None
        tail = self.text[position + len(phrase) :][:_MAX_DIGITS]
        digits = tail[: next((k for k, c in enumerate(tail) if c not in "0123456789"), len(tail))]
        return int(digits) if digits else None


def matching_rule(
    status: int, complaint: ComplaintText, request_subjects: Collection[Subject]
) -> ComplaintRule:
    """Return the first rule that matches; `request_subjects` is what the request contained."""
    return next(
        rule
        for rule in load_table().rules
        if _matches_rule(rule, status, complaint, request_subjects)
    )


def _matches_rule(
    rule: ComplaintRule,
    status: int,
    complaint: ComplaintText,
    request_subjects: Collection[Subject],
) -> bool:
    if rule.statuses and not any(low <= status <= high for low, high in rule.statuses):
        return False
    if rule.subject in ("pictures", "sound", "tools") and rule.subject not in request_subjects:
        return False
    if (rule.codes or rule.phrases) and not (
        any(code in rule.codes for code in complaint.codes) or complaint.has_phrase(rule.phrases)
    ):
        return False
    if rule.words and complaint.word_set.isdisjoint(rule.words):
        return False
    if rule.says_unsupported and not complaint.has_phrase(load_table().unsupported.phrases):
        return False
    return rule.exceeds is None or _exceeds_number(complaint, *rule.exceeds)


def _exceeds_number(complaint: ComplaintText, first: str, second: str) -> bool:
    one, other = complaint.number_after(first), complaint.number_after(second)
    return one is not None and other is not None and one >= other


def blames_history(complaint: ComplaintText) -> bool:
    """Return whether the server could not read the calls of the conversation."""
    return complaint.has_phrase(load_table().unreadable_history.phrases)


def room_for_reply(complaint: ComplaintText) -> int | None:
    """Return how many tokens of a reply the endpoint has room for, None where it does not say.

    0 or less where the conversation alone has no room.
    """
    found = _find_room(complaint)
    return None if found is None else found[1]


def names_model_limit(complaint: ComplaintText) -> bool:
    """Return whether the room for a reply is the most that the model has, for any conversation."""
    found = _find_room(complaint)
    return found is not None and not found[0].input


def _find_room(complaint: ComplaintText) -> tuple[ReplyRoom, int] | None:
    """Return where a complaint says how long a reply may be, and how long."""
    for room in load_table().reply_rooms:
        limit = complaint.number_after(room.limit)
        n_input = complaint.number_after(room.input) if room.input else 0
        if limit is not None and n_input is not None and complaint.has_phrase(room.phrases):
            return room, limit - n_input
    return None


def blames_reply_limit(complaint: ComplaintText, max_tokens: int) -> bool:
    """Return whether this limit of the reply is refused, and the conversation alone has room."""
    room = room_for_reply(complaint)
    is_named = complaint.has_phrase(load_table().reply_limit.phrases)
    return is_named and (room is None or 0 < room < max_tokens)


def refused_settings(complaint: ComplaintText, param: object) -> frozenset[str]:
    """Return the settings that the server refuses: those of the data file, and max_tokens.

    A value beyond its range is not among them. Of two settings that exclude each other it is top_p.
    max_tokens is included only if the server names max_completion_tokens instead. `param` is the
    complaint's separate field for the parameter.
    """
    rules_table = load_table()
    is_refusal = complaint.has_phrase(rules_table.unsupported.phrases)
    is_exclusive = complaint.has_phrase(rules_table.alternatives.phrases)
    if is_refusal and complaint.has_phrase(rules_table.renamed.phrases):
        return frozenset(("max_tokens",))
    if isinstance(param, str) and param:
        field = param[:MAX_COMPLAINT_CHARS].partition("[")[0].rpartition(".")[2]
        named = {name for name, words in rules_table.settings.items() if field in (name, *words)}
        is_certain = is_refusal or not complaint.has_phrase(rules_table.out_of_range.phrases)
    else:
        named = {
            name for name, words in rules_table.settings.items() if complaint.word_set & set(words)
        }
        is_certain = is_refusal or (named >= _EXCLUSIVE and is_exclusive)
    if named >= _EXCLUSIVE and is_exclusive:
        return frozenset(("top_p",))
    if "tool_choice" in named:  # models that think refuse a forced call, and name both
        named -= _THINKING
    return frozenset(named if is_certain else ())
