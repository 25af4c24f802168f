"""The words of questions about pictures (`question_words.toml`)."""

from __future__ import annotations

from toolmark.core.data_files import DataRecord, read_table


class QuestionWords(DataRecord, frozen=True, kw_only=True):
    """The data file; its comments say what each table is for."""

    general_words: frozenset[str]
    sign_words: frozenset[str]
    synonym_groups: tuple[tuple[str, ...], ...]
    quantities: dict[str, str]


def question_words() -> QuestionWords:
    """Return the content of the data file."""
    return read_table(__file__, "question_words.toml", QuestionWords)
