"""Whether a wording by a model says what was written: no less, no more, and nothing else.

Values that calls need are checked elsewhere (`value_survival`). Here the rest is checked: numbers,
units, negations and names must not be new, most words that carry meaning must stay, and no meaning
may be reversed (`reversed_meaning`). English only. A good wording that fails costs only variety:
the rules word the request then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal

from toolmark.language import text_meaning, value_survival
from toolmark.language.canonical_tokens import Token
from toolmark.language.value_words import value_words
from toolmark.suites.mfcl_speech import reversed_meaning
from toolmark.suites.mfcl_speech.content_words import (
    content_words,
    is_content_word,
    share_stem,
)

MIN_SHARE_RETAINED = 0.6
"""The share of the words that carry meaning which must stay, in any form."""
_MAX_ABBREVIATION = 4  # letters of an abbreviation at most

_ANSWER_OPENER = re.compile(
    r"(?i)\W*((?:sure|certainly|absolutely|of course|unfortunately|apologies)\b"
    r"|(?:ok(?:ay)?\W+)?here(?:['’]s| is| are)\b|(?:i['’]?m |i am )?(?:very |so )?sorry\b"
    r"|as an? (?:ai|assistant|language model)\b|i(?: am|['’]m) (?:unable|not able)\b"
    r"|i (?:can['’]?t|cannot|won['’]?t)\b"
    r"|(?:the )?(?:spoken|reworded|rewritten|colloquial) (?:request|version|text|form)\b)"
)


_UNIT_WORDS = frozenset(
    [
        "percent",
        "celsius",
        "fahrenheit",
        "day",
        "week",
        "month",
        "year",
        "decade",
        "century",
        "dozen",
        "cent",
    ]
)
_SINGULAR_OF = {f"{word}s": word for word in _UNIT_WORDS}


def find_fault(written: str, text: str) -> str:
    """Return why a text does not say what was written, "" if no fault is found in its words.

    The common part of a reason is before a colon, so that reasons can be counted.
    """
    if (found := _ANSWER_OPENER.match(text)) and _plain_words(found[1]) not in _plain_words(
        written
    ):
        return f"begins as an answer does: {found[1]}"
    if 2 * len(text.split()) < len(written.split()):
        return "much shorter than what was written"
    written = _split_camel_case(written)
    before = text_meaning.parse_meaning(written).tokens
    after = text_meaning.parse_meaning(text).tokens
    if problem := _number_fault(written, text, before) or _unit_fault(written, before, after):
        return problem
    text = _split_camel_case(_join_acronyms(text))
    after = text_meaning.parse_meaning(text).tokens
    return reversed_meaning.find_reversal(
        before, after, _possible_names(written, before)
    ) or _sense_fault(written, text, before, after)


def _split_camel_case(text: str) -> str:
    """Return the text with the words of NamesLikeThis separated, as in speech."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def _join_acronyms(text: str) -> str:
    """Return the text with N Y C and I Ds as one word each."""
    return re.sub(r"\b[A-Z](?: [A-Z])* [A-Z]s?\b", lambda found: found[0].replace(" ", ""), text)


def _plain_words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# --- numbers, units ----------------------------------------------------------


def _number_fault(written: str, text: str, before: Sequence[Token]) -> str:
    """Return a fault if a number is new; "a hundred and five" may be one number or two."""
    joined_text = re.sub(r"(?i)\b(hundred|thousand|million) and (?=\w)", r"\1 ", text)
    in_wording, in_joined = (
        list(_unwritten_numbers(text_meaning.parse_meaning(wording).tokens, before, written))
        for wording in (text, joined_text)
    )
    return (
        f"says a number that was not written: {in_wording[0]}" if in_wording and in_joined else ""
    )


def _unwritten_numbers(
    after: Sequence[Token], before: Sequence[Token], written: str
) -> Iterator[str]:
    """Yield the numbers that are neither written nor part of what is read digit by digit."""
    known = {value for token in before for value in token.values} | {Decimal(0), Decimal(1)}
    known |= {
        Decimal(value_words().roman_numerals[word])
        for word in re.findall(r"\b[IVX]+\b", written)
        if word in value_words().roman_numerals
    }
    known |= {value - 12 for value in known if 12 < value <= 24}  # o'clock
    digits = "".join(re.findall(r"\d", "".join(token.text for token in before)))
    digits += " " + "".join(re.findall(r"\d", written))
    for token in after:
        own_digits = "".join(re.findall(r"\d", token.text))
        if token.values and not known.intersection(token.values) and own_digits not in digits:
            yield token.text.strip("‹›")


def _unit_fault(written: str, before: Sequence[Token], after: Sequence[Token]) -> str:
    written_units, spoken_units = set(_unit_names(before)), set(_unit_names(after))
    signed = {one for sign, (one, _) in value_words().currencies.items() if sign in written}
    if unwritten := spoken_units - written_units - signed:
        return f"says a unit that was not written: {min(unwritten)}"
    letters = {token.text for token in after}
    short = {one for sign, (one, _) in value_words().units.items() if sign.lower() in letters}
    return (
        f"leaves out a unit: {min(left_out)}"
        if (left_out := written_units - spoken_units - short)
        else ""
    )


def _unit_names(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the units; a second only where it is counted: the word has other uses."""
    for n, token in enumerate(tokens):
        name = token.text.removeprefix("unit:")
        name = _SINGULAR_OF.get(name, name)
        is_counted = n > 0 and bool(tokens[n - 1].values)
        if (name != token.text or name in _UNIT_WORDS) and (name != "second" or is_counted):
            yield name


# --- the sense --------------------------------------------------------------------------


def _sense_fault(written: str, text: str, before: Sequence[Token], after: Sequence[Token]) -> str:
    """Return a fault in the words with meaning: too many gone, too many new, or a new name."""
    written_words = {token.text for token in before if token.text.isalpha()}
    written_words |= {
        word.lower()
        for code in value_words().us_states
        if _holds_code(written, code)
        for word in value_words().us_states[code].split()
    }
    content = dict.fromkeys(_content_words(before))
    spoken_words = dict.fromkeys(_content_words(after))
    lost = [word for word in content if not _is_found(word, set(spoken_words), text)]
    if len(lost) > (1 - MIN_SHARE_RETAINED) * len(content):
        return f"leaves out: {', '.join(lost[:5])}"
    abbreviations = {
        word
        for word in written_words - content_words().function_words
        if len(word) <= _MAX_ABBREVIATION
    }
    added = [
        word
        for word in spoken_words
        if not (_is_found(word, written_words, written) or _is_abbreviated_by(word, abbreviations))
    ]
    names = set(_inner_capitals(text, after))
    if new_names := [word for word in added if word in names]:
        return f"says a name that was not written: {new_names[0]}"
    if len(added) > len(lost):
        return f"adds: {', '.join(added[:5])}"
    return ""


def _holds_code(text: str, code: str) -> bool:
    return bool(re.search(rf"\b{code}\b", text))


def _content_words(tokens: Sequence[Token]) -> Iterator[str]:
    return (token.text for token in tokens if is_content_word(token))


def _is_found(word: str, words: AbstractSet[str], text: str) -> bool:
    return (
        word in words
        or any(share_stem(word, candidate) for candidate in words)
        or bool(value_survival.value_spans(text, word))
    )


def _is_abbreviated_by(word: str, abbreviations: AbstractSet[str]) -> bool:
    """Return whether one of these abbreviates a word: street of st, boulevard of blvd."""
    return any(
        word[0] == abbreviation[0] and _is_subsequence(word, abbreviation)
        for abbreviation in abbreviations
    )


def _is_subsequence(word: str, letters: str) -> bool:
    """Return whether a word contains these letters, in order, with any others between them."""
    remaining = iter(word)
    return all(letter in remaining for letter in letters)


def _inner_capitals(text: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the words with a capital within a sentence."""
    for token in tokens:
        if (
            len(token.text) > 2
            and text[token.start].isupper()
            and not re.search(r"(?:^|[.!?:…])\W*$", text[: token.start])
        ):
            yield token.text


def _possible_names(text: str, tokens: Sequence[Token]) -> frozenset[str]:
    """Return the words that may be names: with a capital, also at the start of a sentence."""
    return frozenset(token.text for token in tokens if text[token.start].isupper())
