"""Phones: the 39 of ARPAbet, the distance of two of them, and the phones of unknown spellings.

A phone is an index into PHONES, so that words are arrays of small integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Phones = NDArray[np.uint8]

# height (0 high), backness (0 front), roundness
_VOWELS: dict[str, tuple[float, float, float]] = {
    "IY": (0, 0, 0), "IH": (0.6, 0.3, 0), "EY": (1, 0, 0), "EH": (1.7, 0.2, 0),
    "AE": (2.5, 0.2, 0), "AA": (3, 2, 0), "AO": (2.3, 2, 1), "OW": (1, 2, 1),
    "UH": (0.6, 1.7, 1), "UW": (0, 2, 1), "AH": (1.8, 1.2, 0), "ER": (1.3, 1, 0.5),
    "AY": (2, 0.8, 0), "AW": (2.2, 1.4, 0.5), "OY": (1.5, 1.5, 1),
}  # fmt: skip
# manner, place (lips 0 ... throat 6), voice
_CONSONANTS: dict[str, tuple[str, float, int]] = {
    "P": ("stop", 0, 0), "B": ("stop", 0, 1), "T": ("stop", 3, 0), "D": ("stop", 3, 1),
    "K": ("stop", 5, 0), "G": ("stop", 5, 1), "CH": ("affricate", 4, 0),
    "JH": ("affricate", 4, 1), "F": ("fricative", 1, 0), "V": ("fricative", 1, 1),
    "TH": ("fricative", 2, 0), "DH": ("fricative", 2, 1), "S": ("fricative", 3, 0),
    "Z": ("fricative", 3, 1), "SH": ("fricative", 4, 0), "ZH": ("fricative", 4, 1),
    "HH": ("fricative", 6, 0), "M": ("nasal", 0, 1), "N": ("nasal", 3, 1),
    "NG": ("nasal", 5, 1), "L": ("liquid", 3, 1), "R": ("liquid", 4, 1),
    "W": ("glide", 0, 1), "Y": ("glide", 4, 1),
}  # fmt: skip
PHONES = (*_VOWELS, *_CONSONANTS)
PHONE_CODES = {name: i for i, name in enumerate(PHONES)}
_MANNER_COSTS = {
    frozenset(pair): cost
    for *pair, cost in (
        ("stop", "affricate", 0.25), ("fricative", "affricate", 0.25), ("stop", "fricative", 0.35),
        ("liquid", "glide", 0.25), ("nasal", "liquid", 0.35), ("nasal", "stop", 0.4),
    )
}  # fmt: skip
_HALF_VOWELS = {frozenset(pair) for pair in (("ER", "R"), ("UW", "W"), ("IY", "Y"), ("UH", "W"))}
_WEAK_PHONES = ("T", "D", "HH", "AH", "IH", "N", "R", "L")  # often missed or inserted
_SPELLING_RULES = {
    "tion": "SH AH N", "sion": "ZH AH N", "ough": "AO", "augh": "AO", "eigh": "EY", "tch": "CH",
    "igh": "AY", "sch": "SH", "ch": "CH", "ck": "K", "dg": "JH", "gh": "G", "kn": "N", "ng": "NG",
    "ph": "F", "qu": "K W", "sh": "SH", "th": "TH", "wh": "W", "wr": "R", "ai": "EY", "ay": "EY",
    "au": "AO", "aw": "AO", "ea": "IY", "ee": "IY", "ei": "EY", "ey": "IY", "ie": "IY", "oa": "OW",
    "oi": "OY", "oo": "UW", "ou": "AW", "ow": "OW", "oy": "OY", "ue": "UW", "ar": "AA R",
    "er": "ER", "ir": "ER", "or": "AO R", "ur": "ER", "ce": "S EH", "ci": "S IH", "cy": "S IY",
    "ge": "JH EH", "gi": "JH IH", "a": "AE", "b": "B", "c": "K", "d": "D", "e": "EH", "f": "F",
    "g": "G", "h": "HH", "i": "IH", "j": "JH", "k": "K", "l": "L", "m": "M", "n": "N", "o": "AA",
    "p": "P", "q": "K", "r": "R", "s": "S", "t": "T", "u": "AH", "v": "V", "w": "W", "x": "K S",
    "y": "IY", "z": "Z",
}  # fmt: skip
_MAX_LETTERS = 24  # letters of an unknown word that are converted to phones


def _phone_distance(a: str, b: str) -> float:
    if a == b:
        return 0.0
    if a in _VOWELS and b in _VOWELS:
        (h, k, r), (h2, k2, r2) = _VOWELS[a], _VOWELS[b]
        return min(0.12 + 0.16 * abs(h - h2) + 0.14 * abs(k - k2) + 0.1 * abs(r - r2), 1.0)
    if a in _CONSONANTS and b in _CONSONANTS:
        (m, p, v), (m2, p2, v2) = _CONSONANTS[a], _CONSONANTS[b]
        manner = 0.0 if m == m2 else _MANNER_COSTS.get(frozenset((m, m2)), 0.6)
        return min(0.1 + manner + 0.12 * min(abs(p - p2), 3) + 0.12 * abs(v - v2), 1.0)
    return 0.4 if frozenset((a, b)) in _HALF_VOWELS else 1.2


SUBSTITUTION_COSTS: NDArray[np.float32] = np.array(
    [[_phone_distance(a, b) for b in PHONES] for a in PHONES], np.float32
)
"""Cost of hearing one phone as another, (39, 39)."""
DELETION_COSTS: NDArray[np.float32] = np.array(
    [0.4 if p in _WEAK_PHONES else 0.8 for p in PHONES], np.float32
)
"""Cost of a missed or inserted phone, (39,)."""


def encode_phones(names: str) -> Phones:
    """Return "K AE1 T" as phones; stress marks and unknown names are left out."""
    unstressed = (name.rstrip("012") for name in names.split())
    return np.array([PHONE_CODES[name] for name in unstressed if name in PHONE_CODES], np.uint8)


def phones_of_spelling(word: str) -> Phones:
    """Return the phones of a spelling by rule: longest letter group first, double letters once.

    The result has at least one phone, whatever the letters; only the first 24 letters are used.
    """
    letters = "".join(c for c in word.lower() if c.isascii() and c.isalpha())[:_MAX_LETTERS]
    if len(letters) > 3 and letters.endswith("e"):
        letters = letters[:-1]
    phones: list[str] = []
    at = 0
    while at < len(letters):
        size = next(n for n in (4, 3, 2, 1) if letters[at : at + n] in _SPELLING_RULES)
        if not (size == 1 and at and letters[at] == letters[at - 1]):
            phones.append(_SPELLING_RULES[letters[at : at + size]])
        at += size
    return encode_phones(" ".join(phones) or "AH")


def edit_distances(heard: Phones, words: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the weighted edit distance of one word (n,) to many of equal length (k, m): (m,)."""
    k, count = words.shape
    drops = DELETION_COSTS[words]
    row = np.zeros((k + 1, count), np.float32)
    np.cumsum(drops, axis=0, out=row[1:])
    for phone in heard:
        lost = DELETION_COSTS[phone]
        swaps = SUBSTITUTION_COSTS[phone].take(words)
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
