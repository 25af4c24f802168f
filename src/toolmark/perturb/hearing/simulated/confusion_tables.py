"""Confusions beyond similar sound: letters, numbers, symbols said as words, function words."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from toolmark.core.data_files import DataRecord, read_table


class ConfusionTable(DataRecord, frozen=True, kw_only=True):
    """The data file: what is heard instead of a word, a letter, a sign.

    `letter_groups` are letters whose names sound alike; most letters also sound like a word
    (`letter_words`). `symbols` are words of addresses and figures; "" stands for a word that is
    missed. `function_words` are confused with each other, missed and inserted more often than other
    words.
    """

    letter_groups: tuple[str, ...]
    function_words: tuple[str, ...]
    letter_words: dict[str, str]
    numbers: dict[str, tuple[str, ...]]
    symbols: dict[str, tuple[str, ...]]


def confusion_table() -> ConfusionTable:
    """Return the content of the data file."""
    return read_table(__file__, "confusions.toml", ConfusionTable)


@cache
def letter_confusions() -> Mapping[str, tuple[str, ...]]:
    """Return the letters that sound like each letter."""
    return {
        letter: tuple(other for other in group if other != letter)
        for group in confusion_table().letter_groups
        for letter in group
    }
