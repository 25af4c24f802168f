"""Sentences that are unrelated to the question: context that a reader must ignore.

None contains a number, a name or a date that could be taken for an answer, and none contradicts a
picture: they are about the person who asks, never about what is seen.
"""

from __future__ import annotations

from toolmark.core.data_files import DataRecord, read_table


class UnrelatedSentences(DataRecord, frozen=True):
    """The data file."""

    sentences: tuple[str, ...]


def unrelated_sentences() -> tuple[str, ...]:
    """Return the sentences in order."""
    return read_table(__file__, "unrelated_sentences.toml", UnrelatedSentences).sentences
