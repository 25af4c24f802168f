"""The check of sensitive words: words are found as words, in names of tools too."""

from __future__ import annotations

import pytest

from toolmark.runs import terms
from toolmark.types import Tool


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
    found = terms.count([text])
    assert {name: dict(count.words) for name, count in found.items() if count.texts} == {
        category: {word: 1}
    }


@pytest.mark.parametrize("text", ["weather there", "a black car", "embrace", "manual", ""])
def test_a_part_of_a_word_is_none(text: str) -> None:
    assert not any(count.texts for count in terms.count([text]).values())


def test_equal_texts_count_once_and_all_their_words_count() -> None:
    found = terms.count(["his and his", "his and his", "none"])["gender"]
    assert (found.texts, found.of, found.words["his"]) == (1, 2, 2)


def test_schemas_are_read_to_their_leaves() -> None:
    parameters = {"properties": {"who": {"enum": ["Muslim", 3]}, "female_only": {"type": "x"}}}
    tool = Tool(name="find_churches", description="for women", parameters=parameters)
    found = terms.count([terms.schema(tool)])
    assert dict(found["religion"].words) == {"churches": 1, "muslim": 1}
    assert dict(found["gender"].words) == {"women": 1, "female": 1}


def test_the_lists_are_plain_words_of_one_category() -> None:
    every = [word for words in terms.TERMS.values() for word in words]
    assert len(every) == len(set(every))
    assert all(word == word.lower() and len(word.split()) <= 2 for word in every)


def test_the_table_tells_where_and_how_many() -> None:
    table = terms.table(["his car", "a car"], ["man page"])
    row = next(row for row in table.rows if row[:2] == ("gender", "queries"))
    assert row == ("gender", "queries", 1, 2, "his 1")
    assert len(table.rows) == 2 * len(terms.TERMS)
