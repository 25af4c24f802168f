"""What a last message says: an answer, that there is none, or a question; and when it is right.

| reading | an answer is right that equals an accepted one |
|---|---|
| paper | after lower-casing and stripping punctuation, and blanks made alike: nothing else |
| fair | also with other accents, articles, ordinals, hyphens, number words, thousands separators |

In the fair reading a decimal point counts: 1.5 is not 15.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark import codec
from toolmark.dialects.staged import thoughtless
from toolmark.score import answer as lenient

Kind: TypeAlias = Literal["answer", "unknown", "unanswerable", "asks", "none"]
UNKNOWN = "I do not know"
UNANSWERABLE = "I cannot answer this question"

_LONGEST = 20_000  # characters from the end of a message that are looked at
_TRIES = 100  # braces at which an object may begin
_KEY = "answer"
_UNKNOWN = re.compile(r"(?:sorry )?i (?:(?:really |just )?(?:do not|dont) know|am not sure)\b")
_UNANSWERABLE = re.compile(
    r"(?:sorry )?(?:i (?:cannot|cant|can not|could not|am (?:unable|not able) to|am afraid i cant) "
    r"(?:answer|identify|determine|find|tell|say)|this (?:question )?cannot be answered)\b"
)
_ASKS = re.compile(
    r"\b(?:could|can|would|will) you (?:please |kindly )?(?:tell|say|give|provide|share|describe|"
    r"clarify|specify|confirm|send|upload|let)\b|"
    r"\b(?:please|kindly) (?:tell|say|give|provide|share|describe|clarify|specify|confirm|send|"
    r"upload|let me)\b|\blet me know\b|\b(?:do|did) you (?:mean|want|know|have)\b|"
    r"\bneed (?:more|further|some) (?:information|details|context)\b",
    re.IGNORECASE,
)
_FENCE = re.compile(r"```[a-zA-Z]*")
_AROUND = " *_\"'”’"
_PUNCTUATION = frozenset(string.punctuation)


class Final(NamedTuple):
    """What a message says. `form` is how it was written: an object, a broken one, bare text."""

    kind: Kind
    answer: str = ""
    context: str = ""
    form: Literal["json", "broken", "text", ""] = ""


def read(text: str) -> Final:
    """Read the last message of an episode: the last object that has an answer, else the text.

    Single quotes, code fences, and objects that are cut off or not quite JSON are read too;
    nothing is evaluated.
    """
    said = _FENCE.sub("", thoughtless(codec.restore(text)[-_LONGEST:])).strip()
    if not said:
        return Final("none")
    found = _objects(said)
    if found:
        last = found[-1]
        return _final(_text(_field(last, _KEY)), _text(_field(last, "context")), "json")
    broken = lenient.field(said)
    if broken is not None:
        return _final(broken, "", "broken")
    return _final(said, "", "text")


def _final(answer: str, context: str, form: Literal["json", "broken", "text"]) -> Final:
    told = normal(answer)
    if not told:
        return Final("none", form=form, context=context)
    if _UNKNOWN.match(told):
        return Final("unknown", answer, context, form)
    if _UNANSWERABLE.match(told):
        return Final("unanswerable", answer, context, form)
    if form == "text" and (answer.rstrip(_AROUND).endswith("?") or _ASKS.search(answer)):
        return Final("asks", answer, context, form)
    return Final("answer", answer, context, form)


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text that have an answer, the inner ones of others left out."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    at = text.find("{")
    for _ in range(_TRIES):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if any(key.lower() == _KEY for key in value):
                found.append(value)
        at = text.find("{", end)
    return found


def _field(held: dict[str, Any], name: str) -> Any:
    return next((value for key, value in held.items() if key.lower() == name), None)


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return ", ".join(map(_text, value))
        case bool() | dict():
            return json.dumps(codec.plain(value), ensure_ascii=False)
        case _:
            return str(codec.plain(value))


# --- when it is right -------------------------------------------------------------------


def paper(said: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer equals an accepted one as the paper compares."""
    return _equal(said, accepted, normal)


def fair(said: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer means an accepted one, however it is written."""
    return _equal(said, accepted, tidy)


def _equal(said: str, accepted: Sequence[str], form: Callable[[str], str]) -> bool:
    told = form(said)
    return bool(told) and any(told == form(each) for each in accepted)


def normal(text: str) -> str:
    """Return the text in lower case, without punctuation, blanks made single ones."""
    lower = unicodedata.normalize("NFC", text).lower()
    return " ".join("".join(c for c in lower if not _mark(c)).split())


def _mark(char: str) -> bool:
    """Tell whether a character is punctuation: ASCII's, or what Unicode calls so."""
    return char in _PUNCTUATION or unicodedata.category(char).startswith("P")


_THOUSANDS = re.compile(r"(?<=\d)[,\u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
_DROPPED = re.compile(r"(?<!\d)\.|\.(?!\d)|['’`´]")  # a point between digits is the number's
_PER_CENT = re.compile(r"%|\bper ?cent\b")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)")
_DECIMALS = re.compile(r"(\d+)\.(\d+)")
_LOOSE = re.compile(r"(?<!\d) | (?!\d)")  # blanks, but those that part two numbers
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip


def tidy(text: str) -> str:
    """Return what is the same for all ways to write an answer."""
    parts = unicodedata.normalize("NFKD", _THOUSANDS.sub("", text)).casefold()
    bare = "".join(c for c in parts if not unicodedata.combining(c)).replace("&", " and ")
    bare = _PER_CENT.sub("", _DROPPED.sub("", bare))
    words = " ".join("".join(_spaced(bare)).split())
    words = _ARTICLE.sub("", _ORDINAL.sub("", words))
    words = _DECIMALS.sub(_number, words)
    if words in _NUMBERS:
        return str(_NUMBERS.index(words))
    return _LOOSE.sub("", words)


def _spaced(text: str) -> Iterator[str]:
    """Go through the characters, marks and signs of money as blanks; a minus or point stays."""
    for at, char in enumerate(text):
        before, after = text[at - 1 : at] or " ", text[at + 1 : at + 2]
        negative = char in "-−" and after.isdigit() and before.isspace()
        if negative or (char == "." and before.isdigit()):
            yield "-" if negative else char
        else:
            yield " " if _mark(char) or unicodedata.category(char) == "Sc" else char


def _number(found: re.Match[str]) -> str:
    rest = found[2].rstrip("0")
    return f"{found[1]}.{rest}" if rest else found[1]
