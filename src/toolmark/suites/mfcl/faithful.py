"""Whether a wording by a model says what was written: no less, no more, and nothing else.

Values that calls need are looked after elsewhere (`survive`). Here it is the rest: numbers, units,
negations and names must not come out of nowhere, most words that carry the sense must stay, and
nothing may be turned around (`turned`).
English only. A good wording that fails costs nothing but variety: the rules word the request then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal

from toolmark.perturb.text import meaning, survive
from toolmark.perturb.text.naming import Token
from toolmark.perturb.text.tables import CURRENCIES, ROMAN, STATES, UNITS
from toolmark.suites.mfcl import turned
from toolmark.suites.mfcl.sense import FREE, alike, carries, row

KEPT = 0.6
"""The share of the words that carry the sense which must stay, in any form."""
_SHORT = 4  # letters of an abbreviation at most

_OPENER = re.compile(
    r"(?i)\W*((?:sure|certainly|absolutely|of course|unfortunately|apologies)\b"
    r"|(?:ok(?:ay)?\W+)?here(?:['’]s| is| are)\b|(?:i['’]?m |i am )?(?:very |so )?sorry\b"
    r"|as an? (?:ai|assistant|language model)\b|i(?: am|['’]m) (?:unable|not able)\b"
    r"|i (?:can['’]?t|cannot|won['’]?t)\b"
    r"|(?:the )?(?:spoken|reworded|rewritten|colloquial) (?:request|version|text|form)\b)"
)


_SPANS = row("percent celsius fahrenheit day week month year decade century dozen cent")
_PLURAL = {f"{word}s": word for word in _SPANS}


def fault(written: str, text: str) -> str:
    """Return why a text does not say what was written, "" if it does as far as words tell.

    What is alike stands before a colon, so that reasons can be counted.
    """
    if (found := _OPENER.match(text)) and _plain(found[1]) not in _plain(written):
        return f"begins as an answer does: {found[1]}"
    if 2 * len(text.split()) < len(written.split()):
        return "much shorter than what was written"
    written = _parted(written)
    before, after = meaning.understood(written).tokens, meaning.understood(text).tokens
    if why := _numbers(written, text, before) or _units(written, before, after):
        return why
    text = _parted(_joined(text))
    after = meaning.understood(text).tokens
    return turned.fault(before, after, _named(written, before)) or _sense(
        written, text, before, after
    )


def _parted(text: str) -> str:
    """Return the text with the words of NamesLikeThis apart, as one says them."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)


def _joined(text: str) -> str:
    """Return the text with N Y C and I Ds as one word each."""
    return re.sub(r"\b[A-Z](?: [A-Z])* [A-Z]s?\b", lambda found: found[0].replace(" ", ""), text)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


# --- numbers, units ----------------------------------------------------------


def _numbers(written: str, text: str, before: Sequence[Token]) -> str:
    """Tell of a number that was not written; "a hundred and five" may be one number or two."""
    joined = re.sub(r"(?i)\b(hundred|thousand|million) and (?=\w)", r"\1 ", text)
    apart, whole = (
        list(_strange(meaning.understood(said).tokens, before, written)) for said in (text, joined)
    )
    return f"says a number that was not written: {apart[0]}" if apart and whole else ""


def _strange(after: Sequence[Token], before: Sequence[Token], written: str) -> Iterator[str]:
    """Go through the numbers that are neither written nor part of what is read digit by digit."""
    known = {value for token in before for value in token.values} | {Decimal(0), Decimal(1)}
    known |= {Decimal(ROMAN[word]) for word in re.findall(r"\b[IVX]+\b", written) if word in ROMAN}
    known |= {value - 12 for value in known if 12 < value <= 24}  # o'clock
    digits = "".join(re.findall(r"\d", "".join(token.text for token in before)))
    digits += " " + "".join(re.findall(r"\d", written))
    for token in after:
        own = "".join(re.findall(r"\d", token.text))
        if token.values and not known.intersection(token.values) and own not in digits:
            yield token.text.strip("‹›")


def _units(written: str, before: Sequence[Token], after: Sequence[Token]) -> str:
    old, new = set(_measures(before)), set(_measures(after))
    signed = {one for sign, (one, _) in CURRENCIES.items() if sign in written}
    if strange := new - old - signed:
        return f"says a unit that was not written: {min(strange)}"
    letters = {token.text for token in after}
    short = {one for sign, (one, _) in UNITS.items() if sign.lower() in letters}
    return f"leaves out a unit: {min(lost)}" if (lost := old - new - short) else ""


def _measures(tokens: Sequence[Token]) -> Iterator[str]:
    """Go through the units, of a second only where it is counted: the word has other uses."""
    for n, token in enumerate(tokens):
        name = token.text.removeprefix("unit:")
        name = _PLURAL.get(name, name)
        counted = n > 0 and bool(tokens[n - 1].values)
        if (name != token.text or name in _SPANS) and (name != "second" or counted):
            yield name


# --- the sense --------------------------------------------------------------------------


def _sense(written: str, text: str, before: Sequence[Token], after: Sequence[Token]) -> str:
    """Tell of words that carry the sense: too many gone, too many new, or a name that is new."""
    old = {token.text for token in before if token.text.isalpha()}
    old |= {
        word.lower() for code in STATES if _holds(written, code) for word in STATES[code].split()
    }
    wanted, said = dict.fromkeys(_carrying(before)), dict.fromkeys(_carrying(after))
    gone = [word for word in wanted if not _found(word, set(said), text)]
    if len(gone) > (1 - KEPT) * len(wanted):
        return f"leaves out: {', '.join(gone[:5])}"
    short = {word for word in old - FREE if len(word) <= _SHORT}
    new = [word for word in said if not (_found(word, old, written) or _whole(word, short))]
    names = set(_names(text, after))
    if named := [word for word in new if word in names]:
        return f"says a name that was not written: {named[0]}"
    if len(new) > len(gone):
        return f"adds: {', '.join(new[:5])}"
    return ""


def _holds(text: str, code: str) -> bool:
    return bool(re.search(rf"\b{code}\b", text))


def _carrying(tokens: Sequence[Token]) -> Iterator[str]:
    return (token.text for token in tokens if carries(token))


def _found(word: str, words: AbstractSet[str], text: str) -> bool:
    return (
        word in words or any(alike(word, one) for one in words) or bool(survive.spans(text, word))
    )


def _whole(word: str, short: AbstractSet[str]) -> bool:
    """Tell whether a word is what one of these stands for: street of st, boulevard of blvd."""
    return any(word[0] == one[0] and _runs_through(word, one) for one in short)


def _runs_through(word: str, letters: str) -> bool:
    """Tell whether a word has these letters, in their order, with any others between them."""
    left = iter(word)
    return all(letter in left for letter in letters)


def _names(text: str, tokens: Sequence[Token]) -> Iterator[str]:
    """Go through the words with a capital within a sentence."""
    for token in tokens:
        if (
            len(token.text) > 2
            and text[token.start].isupper()
            and not re.search(r"(?:^|[.!?:…])\W*$", text[: token.start])
        ):
            yield token.text


def _named(text: str, tokens: Sequence[Token]) -> frozenset[str]:
    """Return the words that may be names: with a capital, also where a sentence begins."""
    return frozenset(token.text for token in tokens if text[token.start].isupper())
