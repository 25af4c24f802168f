"""The simulated user's answers: values of the whitelist and no other word, written and spoken."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from toolmark.core.records import Ruling
from toolmark.language import number_words, spoken_forms, word_likeness
from toolmark.language.value_words import value_words
from toolmark.suites.mfcl_speech.speech_task_data import Whitelist, WhitelistValue

_FINAL_SIGNS = ".,;:!?"  # at the end of a word these are not read out
_SILENT_SIGNS = frozenset(',;"\u201c\u201d\u00ab\u00bb()[]{}')  # these are read out nowhere


class UserAnswer(NamedTuple):
    """An answer in its written form, and in its spoken form."""

    written: str
    spoken: str


def format_reply(whitelist: Whitelist, spelled_by_topic: Mapping[str, bool]) -> str:
    """Return the values of the topics asked for, in the order of the list; True: also spelled."""
    return "; ".join(
        format_value(value, is_spelled=spelled_by_topic[topic])
        for topic, value in whitelist.items()
        if topic in spelled_by_topic
    )


def format_value(value: WhitelistValue, *, is_spelled: bool) -> str:
    """Return a value as the user writes it: `Liam, L-I-A-M` where its spelling is wanted."""
    text = word_likeness.spoken_value(value)
    letters = " ".join("-".join(part) for part in _spell_words(text)) if is_spelled else ""
    return f"{text}, {letters}" if letters else text


def speak_reply(ruling: Ruling, whitelist: Whitelist) -> str:
    """Return the reply in spoken form: numbers, dates and signs in words, letters one by one."""
    spoken_values = []
    for topic in whitelist:
        if topic not in ruling.topics:
            continue
        is_spelled = format_value(whitelist[topic], is_spelled=True) in ruling.reply
        spoken_values.append(
            _speak_value(word_likeness.spoken_value(whitelist[topic]), is_spelled=is_spelled)
        )
    return "; ".join(spoken_values)


def _speak_value(text: str, *, is_spelled: bool) -> str:
    spoken = spoken_forms.read_out(text).text
    letters = ", ".join(
        " ".join(number_words.spell_digits(c) if c.isdecimal() and c.isascii() else c for c in part)
        for part in _spell_words(text)
    )
    return f"{spoken}, {letters}" if is_spelled and letters else spoken


def _spell_words(text: str) -> Iterator[Collection[str]]:
    """Yield the parts of a spelled text: runs of letters and digits, and each sign as a word."""
    for word in unicodedata.normalize("NFC", text).split():
        run: list[str] = []
        for letter in word.rstrip(_FINAL_SIGNS):
            if letter.isalnum() or unicodedata.combining(letter):
                run.append(letter.upper() if len(letter.upper()) == 1 else letter)
                continue
            if run:
                yield run
            run = []
            if letter not in _SILENT_SIGNS and letter in value_words().symbols:
                yield (value_words().symbols[letter],)
        if run:
            yield run
