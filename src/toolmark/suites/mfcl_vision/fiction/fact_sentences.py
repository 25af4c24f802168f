"""Sentence patterns for facts; those of one kind of entity only are under kind.fact.

{It} and {it} stand for the entity, {its} for its possessive, {v} for the value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import placeholders, read_table

SentencePattern: TypeAlias = Annotated[
    str, Meta(pattern=placeholders("It", "it", "Its", "its", "v"))
]


def fact_sentences() -> Mapping[str, tuple[SentencePattern, ...]]:
    """Return the patterns by fact, or by kind.fact."""
    return read_table(__file__, "fact_sentences.toml", dict[str, tuple[SentencePattern, ...]])


def sentences_for(kind: str, fact: str) -> tuple[str, ...]:
    """Return the sentence patterns for a fact of a kind."""
    patterns = fact_sentences()
    return patterns.get(f"{kind}.{fact}") or patterns[fact]
