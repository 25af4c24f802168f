"""Questions for facts, and noun phrases for the things that facts link to.

Every fact has a question and a noun phrase, with {x} for the entity that has the fact. A linked
entity is described by its noun phrase, so that phrases nest: "the lawyer of the architect of the
museum".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.suites.mfcl_vision.fiction.entity_kinds import ValueSort
from toolmark.suites.mfcl_vision.generation_parameters import ClueKind

FactPhrase: TypeAlias = Annotated[str, Meta(pattern=placeholders("x"))]
CluePhrase: TypeAlias = Annotated[str, Meta(pattern=placeholders("noun", "clue", "thing"))]


class QuestionPhrase(DataRecord, frozen=True, kw_only=True):
    """A question for a fact, and a noun phrase for it; `kind` is "" where every kind has them."""

    kind: str = ""
    fact: str
    question: FactPhrase
    noun: FactPhrase


class ExtremeClause(DataRecord, frozen=True):
    """The criterion of a choice by a fact: the least and the greatest."""

    fact: str
    least: str
    greatest: str


class CluePhrases(DataRecord, frozen=True):
    """Phrases for the clue's entity: in any case, besides if it is lettered, and by its place.

    {noun}: the entity's; {clue}: name or emblem; {thing}: what shows it; {mark}: left or right.
    """

    plain: tuple[CluePhrase, ...]
    lettered: tuple[CluePhrase, ...]
    placed: tuple[Annotated[str, Meta(pattern=placeholders("noun", "clue", "thing", "mark"))], ...]


class RequestPhrases(DataRecord, frozen=True):
    """The data file of the other phrases.

    `request_frames` begin requests that are not questions; {noun} is the noun phrase of what is
    asked. `choice_openings` begin a question that chooses: {plural} and {clues} are nouns,
    {extreme} is the criterion. `hints` are by clue, `long_path_hint` follows where one page is not
    enough.
    `clutter_texts` is lettering that leads nowhere. `answer_forms` say how to answer.
    """

    request_frames: tuple[Annotated[str, Meta(pattern=placeholders("noun"))], ...]
    choice_openings: tuple[
        Annotated[str, Meta(pattern=placeholders("plural", "clues", "extreme"))], ...
    ]
    long_path_hint: str
    clutter_texts: tuple[str, ...]
    clue_phrases: CluePhrases
    hints: dict[ClueKind, tuple[str, ...]]
    answer_forms: dict[ValueSort, tuple[str, ...]]


def request_phrases() -> RequestPhrases:
    """Return the phrases that belong to no fact."""
    return read_table(__file__, "request_phrases.toml", RequestPhrases)


@cache
def extreme_clauses() -> Mapping[str, ExtremeClause]:
    """Return the criteria for choices that cannot be judged from the picture, by fact."""
    rows = read_table(__file__, "extreme_clauses.csv", tuple[ExtremeClause, ...])
    return {row.fact: row for row in rows}


def question_phrase(kind: str, fact: str) -> QuestionPhrase:
    """Return the question and noun phrase for a fact of a kind."""
    phrases = _phrases_by_fact()
    return phrases.get((kind, fact)) or phrases["", fact]


@cache
def _phrases_by_fact() -> Mapping[tuple[str, str], QuestionPhrase]:
    rows = read_table(__file__, "question_phrases.csv", tuple[QuestionPhrase, ...])
    return {(row.kind, row.fact): row for row in rows}
