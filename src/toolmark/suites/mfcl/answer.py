"""What the simulated user answers: values of the whitelist and no other word, written and aloud."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from toolmark.perturb.text import numerals, readout
from toolmark.perturb.text.tables import SYMBOLS
from toolmark.suites.mfcl import words
from toolmark.suites.mfcl.whitelist import Value, Whitelist
from toolmark.types import Ruling

_STOPS = ".,;:!?"  # at the end of a word nobody reads them out
_MUTE = frozenset(',;"\u201c\u201d\u00ab\u00bb()[]{}')  # nor these anywhere


class Answer(NamedTuple):
    """An answer as it is written, and as it is to be read out."""

    written: str
    aloud: str


def reply(whitelist: Whitelist, asked: Mapping[str, bool]) -> str:
    """Return the values of the topics asked for, in the order of the list; True: also spelled."""
    return "; ".join(
        told(value, spelt=asked[topic]) for topic, value in whitelist.items() if topic in asked
    )


def told(value: Value, *, spelt: bool) -> str:
    """Return a value as the user writes it: `Liam, L-I-A-M` where its spelling is wanted."""
    shown = words.told(value)
    letters = " ".join("-".join(part) for part in _spelled(shown)) if spelt else ""
    return f"{shown}, {letters}" if letters else shown


def aloud(ruling: Ruling, whitelist: Whitelist) -> str:
    """Return the reply as it is said: numbers, dates and signs in words, letters one by one."""
    said = []
    for topic in whitelist:
        if topic not in ruling.topics:
            continue
        spelt = told(whitelist[topic], spelt=True) in ruling.reply
        said.append(_said(words.told(whitelist[topic]), spelt=spelt))
    return "; ".join(said)


def _said(shown: str, *, spelt: bool) -> str:
    told_ = readout.read(shown).text
    letters = ", ".join(
        " ".join(numerals.spelled(c) if c.isdecimal() and c.isascii() else c for c in part)
        for part in _spelled(shown)
    )
    return f"{told_}, {letters}" if spelt and letters else told_


def _spelled(shown: str) -> Iterator[Collection[str]]:
    """Go through a text spelled: runs of letters and digits, and each sign as a word by itself."""
    for word in unicodedata.normalize("NFC", shown).split():
        run: list[str] = []
        for letter in word.rstrip(_STOPS):
            if letter.isalnum() or unicodedata.combining(letter):
                run.append(letter.upper() if len(letter.upper()) == 1 else letter)
                continue
            if run:
                yield run
            run = []
            if letter not in _MUTE and letter in SYMBOLS:
                yield (SYMBOLS[letter],)
        if run:
            yield run
