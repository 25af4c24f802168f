"""The check of sensitive words: words are found as words, in names of tools too."""

from __future__ import annotations

import pytest

from toolmark.core.records import Tool
from toolmark.runs import sensitive_words


@pytest.mark.parametrize(
    ("text", "category", "word"),
    [
        ("Find HER a doctor", "gender", "her"),
        ("a film about Black people.", "race", "black people"),
        ("the nearest mosque", "religion", "mosque"),
        ("get_patientGender", "gender", "gender"),
        ("ReligionLookup", "religion", "religion"),
    ],
)
def test_a_word_is_found_however_it_is_written(text: str, category: str, word: str) -> None:
    found = sensitive_words.count_sensitive_words([text])
    assert {name: dict(count.word_counts) for name, count in found.items() if count.n_texts} == {
        category: {word: 1}
    }


@pytest.mark.parametrize("text", ["weather there", "a black car", "embrace", "manual", ""])
def test_a_part_of_a_word_is_none(text: str) -> None:
    assert not any(
        count.n_texts for count in sensitive_words.count_sensitive_words([text]).values()
    )


def test_equal_texts_count_once_and_all_their_words_count() -> None:
    found = sensitive_words.count_sensitive_words(["his and his", "his and his", "none"])["gender"]
    assert (found.n_texts, found.n_total, found.word_counts["his"]) == (1, 2, 2)


def test_schemas_are_read_to_their_leaves() -> None:
    parameters = {"properties": {"who": {"enum": ["Muslim", 3]}, "female_only": {"type": "x"}}}
    tool = Tool(name="find_churches", description="for women", parameters=parameters)
    found = sensitive_words.count_sensitive_words([sensitive_words.schema_text(tool)])
    assert dict(found["religion"].word_counts) == {"churches": 1, "muslim": 1}
    assert dict(found["gender"].word_counts) == {"women": 1, "female": 1}


def test_the_lists_are_plain_words_of_one_category() -> None:
    every = [word for words in sensitive_words.WORDS_BY_CATEGORY.values() for word in words]
    assert len(every) == len(set(every))
    assert all(word == word.lower() and len(word.split()) <= 2 for word in every)


def test_the_table_tells_where_and_how_many() -> None:
    table = sensitive_words.sensitive_words_table(["his car", "a car"], ["man page"])
    row = next(row for row in table.rows if row[:2] == ("gender", "queries"))
    assert row == ("gender", "queries", 1, 2, "his 1")
    assert len(table.rows) == 2 * len(sensitive_words.WORDS_BY_CATEGORY)
