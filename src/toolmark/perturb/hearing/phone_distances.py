"""Phones: the 39 of ARPAbet, the distance of two of them, and the phones of unknown spellings.

A phone is an index into `phone_names`, so that words are arrays of small integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from toolmark.core.data_files import DataRecord, read_table

Phones = NDArray[np.uint8]
Manner: TypeAlias = Literal["stop", "affricate", "fricative", "nasal", "liquid", "glide"]

_MAX_LETTERS = 24  # letters of an unknown word that are converted to phones


class Vowel(DataRecord, frozen=True):
    """How a vowel is made: height (0 high), backness (0 front), roundness."""

    height: float
    backness: float
    roundness: float


class Consonant(DataRecord, frozen=True):
    """How a consonant is made: manner, place (lips 0 to throat 6), whether it is voiced."""

    manner: Manner
    place: float
    voice: Literal[0, 1]


class MannerCost(DataRecord, frozen=True):
    """The cost of hearing one manner as another."""

    a: Manner
    b: Manner
    cost: float


class PhoneTable(DataRecord, frozen=True, kw_only=True):
    """The data file: phones and their features, and the phones of spellings.

    `weak` phones are often missed or inserted; a pair of `half_vowels` is a vowel and a consonant
    that are close.
    """

    weak: frozenset[str]
    half_vowels: tuple[tuple[str, str], ...]
    manner_costs: tuple[MannerCost, ...]
    vowels: dict[str, Vowel]
    consonants: dict[str, Consonant]
    spellings: dict[str, str]


def phone_table() -> PhoneTable:
    """Return the content of the data file."""
    return read_table(__file__, "phones.toml", PhoneTable)


@cache
def phone_names() -> tuple[str, ...]:
    """Return the names of the phones, in the order of their codes."""
    table = phone_table()
    return (*table.vowels, *table.consonants)


@cache
def _phone_codes() -> Mapping[str, int]:
    return {name: i for i, name in enumerate(phone_names())}


def _phone_distance(a: str, b: str) -> float:
    if a == b:
        return 0.0
    table = phone_table()
    if a in table.vowels and b in table.vowels:
        return _vowel_distance(table.vowels[a], table.vowels[b])
    if a in table.consonants and b in table.consonants:
        return _consonant_distance(table.consonants[a], table.consonants[b])
    return 0.4 if {(a, b), (b, a)} & {*table.half_vowels} else 1.2


def _vowel_distance(a: Vowel, b: Vowel) -> float:
    height, backness = abs(a.height - b.height), abs(a.backness - b.backness)
    return min(0.12 + 0.16 * height + 0.14 * backness + 0.1 * abs(a.roundness - b.roundness), 1.0)


def _consonant_distance(a: Consonant, b: Consonant) -> float:
    manners = {frozenset((each.a, each.b)): each.cost for each in phone_table().manner_costs}
    manner = 0.0 if a.manner == b.manner else manners.get(frozenset((a.manner, b.manner)), 0.6)
    return min(
        0.1 + manner + 0.12 * min(abs(a.place - b.place), 3) + 0.12 * abs(a.voice - b.voice), 1.0
    )


@cache
def substitution_costs() -> NDArray[np.float32]:
    """Return the cost of hearing one phone as another, (39, 39)."""
    names = phone_names()
    return np.array([[_phone_distance(a, b) for b in names] for a in names], np.float32)


@cache
def deletion_costs() -> NDArray[np.float32]:
    """Return the cost of a missed or inserted phone, (39,)."""
    weak = phone_table().weak
    return np.array([0.4 if name in weak else 0.8 for name in phone_names()], np.float32)


def encode_phones(names: str) -> Phones:
    """Return "K AE1 T" as phones; stress marks and unknown names are left out."""
    codes = _phone_codes()
    unstressed = (name.rstrip("012") for name in names.split())
    return np.array([codes[name] for name in unstressed if name in codes], np.uint8)


def phones_of_spelling(word: str) -> Phones:
    """Return the phones of a spelling by rule: longest letter group first, double letters once.

    The result has at least one phone, whatever the letters; only the first 24 letters are used.
    """
    letters = "".join(c for c in word.lower() if c.isascii() and c.isalpha())[:_MAX_LETTERS]
    if len(letters) > 3 and letters.endswith("e"):
        letters = letters[:-1]
    spellings = phone_table().spellings
    phones: list[str] = []
    at = 0
    while at < len(letters):
        size = next(n for n in (4, 3, 2, 1) if letters[at : at + n] in spellings)
        if not (size == 1 and at and letters[at] == letters[at - 1]):
            phones.append(spellings[letters[at : at + size]])
        at += size
    return encode_phones(" ".join(phones) or "AH")


def edit_distances(heard: Phones, words: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the weighted edit distance of one word (n,) to many of equal length (k, m): (m,)."""
    k, count = words.shape
    deletions, substitutions = deletion_costs(), substitution_costs()
    drops = deletions[words]
    row = np.zeros((k + 1, count), np.float32)
    np.cumsum(drops, axis=0, out=row[1:])
    for phone in heard:
        lost = deletions[phone]
        swaps = substitutions[phone].take(words)
        swaps += row[:-1]
        row += lost
        np.minimum(row[1:], swaps, out=row[1:])
        for j in range(k):
            np.minimum(row[j + 1], row[j] + drops[j], out=row[j + 1])
    return row[k]


def word_distance(a: Phones, b: Phones) -> float:
    """Return the distance of two words divided by the longer length; 0 for equal phones."""
    if not len(a) or not len(b):
        return 1.0 if len(a) or len(b) else 0.0
    return float(edit_distances(a, b[:, None])[0]) / max(len(a), len(b))
