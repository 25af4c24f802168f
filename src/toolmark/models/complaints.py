"""What an endpoint's complaint means, by patterns that are kept as data (`complaints.toml`).

This is the one place that looks at the text of a complaint. Patterns are plain phrases and words:
the time that they take grows with the text's length, which is at most `READ` characters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from toolmark.failure import Kind, Subject

READ = 4096
"""Characters of a complaint that are read."""
TABLE = Path(__file__).with_name("complaints.toml")
_ANYTHING = " ... "
_DIGITS = 12  # of a number of tokens

Stop: TypeAlias = Literal["", "over_long", "refused", "malformed"]


class Rule(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """When a complaint means what: every condition that is given must hold.

    `statuses` are ranges, ends included. Of `codes` and `phrases` together one must fit, of `words`
    one. `untaken`: one of the phrases that say so must fit. `exceeds`: the number after the first
    phrase is not less than that after the second. Where `subject` is something that a request
    holds, the request must have held it. `stop` is what a reply ends by, else `kind` is the
    failure. `step` says what to do.
    """

    about: str
    statuses: tuple[tuple[int, int], ...] = ()
    codes: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    untaken: bool = False
    exceeds: tuple[str, str] | None = None
    stop: Stop = ""
    kind: Kind | Literal[""] = ""
    subject: Subject = ""
    step: str = ""


class Phrases(Struct, frozen=True, forbid_unknown_fields=True):
    """Phrases of which one is enough."""

    phrases: tuple[str, ...]


class Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The file: statuses by code, rules in order, and how servers speak of settings."""

    statuses: dict[str, int]
    rules: tuple[Rule, ...]
    untaken: Phrases
    out_of_range: Phrases
    either: Phrases
    settings: dict[str, tuple[str, ...]]
    renamed: Phrases


@cache
def table() -> Table:
    """Return what the file holds. Raises msgspec.ValidationError for one of another form."""
    return msgspec.toml.decode(TABLE.read_bytes(), type=Table)


class Said:
    """The text of a complaint, cut, as the patterns look at it."""

    def __init__(self, text: str, codes: Sequence[str] = ()) -> None:
        self.codes = codes
        self.text = text[:READ].casefold()
        spaced = "".join(c if c.isalnum() or c == "_" else " " for c in self.text)
        self.words = frozenset(spaced.split())

    def holds(self, phrases: Collection[str]) -> bool:
        """Tell whether one of the phrases fits."""
        return any(self._holds(phrase) for phrase in phrases)

    def _holds(self, phrase: str) -> bool:
        at = 0
        for part in phrase.casefold().split(_ANYTHING):
            found = self.text.find(part, at)
            if found < 0:
                return False
            at = found + len(part)
        return True

    def number(self, after: str) -> int | None:
        """Return the number that follows a phrase, None if there is none."""
        at = self.text.find(after.casefold())
        if at < 0:
            return None
        rest = self.text[at + len(after) :][:_DIGITS]
        digits = rest[: next((k for k, c in enumerate(rest) if c not in "0123456789"), len(rest))]
        return int(digits) if digits else None


def meaning(status: int, said: Said, held: Collection[Subject]) -> Rule:
    """Return the first rule that fits; `held` is what the request held of what can be refused."""
    return next(rule for rule in table().rules if _fits(rule, status, said, held))


def _fits(rule: Rule, status: int, said: Said, held: Collection[Subject]) -> bool:
    if rule.statuses and not any(low <= status <= high for low, high in rule.statuses):
        return False
    if rule.subject in ("pictures", "sound", "tools") and rule.subject not in held:
        return False
    if (rule.codes or rule.phrases) and not (
        any(code in rule.codes for code in said.codes) or said.holds(rule.phrases)
    ):
        return False
    if rule.words and said.words.isdisjoint(rule.words):
        return False
    if rule.untaken and not said.holds(table().untaken.phrases):
        return False
    return rule.exceeds is None or _exceeds(said, *rule.exceeds)


def _exceeds(said: Said, first: str, second: str) -> bool:
    one, other = said.number(first), said.number(second)
    return one is not None and other is not None and one >= other


def settings(said: Said, param: object) -> frozenset[str]:
    """Return the settings that the server does not take: temperature, top_p, max_tokens.

    A value beyond its range is not among them. Of two that exclude each other it is top_p.
    max_tokens is there only where the server names max_completion_tokens instead. `param` is what
    the complaint names apart.
    """
    known = table()
    untaken, either = said.holds(known.untaken.phrases), said.holds(known.either.phrases)
    if untaken and said.holds(known.renamed.phrases):
        return frozenset(("max_tokens",))
    if isinstance(param, str) and param:
        named = {param[:READ].rpartition(".")[2]} & known.settings.keys()
        clear = untaken or not said.holds(known.out_of_range.phrases)
    else:
        named = {name for name, words in known.settings.items() if said.words & set(words)}
        clear = untaken or (len(named) > 1 and either)
    if len(named) > 1 and either:
        return frozenset(("top_p",))
    return frozenset(named if clear else ())
