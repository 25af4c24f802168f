"""What a last message says: an answer, that there is none, or a question; and when it is right.

| reading | an answer is right that equals an accepted one |
|---|---|
| paper | after lower-casing and stripping punctuation, and blanks made alike: nothing else |
| fair | also with other accents, articles, ordinals, hyphens, number words, thousands separators |

In the fair reading a decimal point counts, 1.5 is not 15, and so do signs of money, $50 is not
50 €, and what C++ and C# end in. Number words are read where they are all of the answer: zero to
ninety-nine, first to tenth.
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
_DEEPEST = 10  # objects and lists around one that is looked for, and within an answer
_KEY = "answer"
# what may stand before: at most three of them, each of a few words
_LEAD = (
    r"(?:(?:(?:i am|im) (?:(?:so|very|really) )?(?:sorry|afraid)|sorry|unfortunately|apologies|"
    r"i apologi[sz]e|(?:based on|according to|from|after) (?:\w+ ){1,8}?)"
    r"(?: ?\b(?:but|that|so))? ?){0,3}"
)
_UNKNOWN = re.compile(
    rf"{_LEAD}(?:i (?:(?:really |just |still )?(?:do not|dont) know|am not sure|have no idea)|"
    r"im not sure)\b"
)
_UNANSWERABLE = re.compile(
    rf"{_LEAD}(?:(?:i (?:cannot|cant|can not|could not|couldnt|(?:am|was) (?:unable|not able) to)|"
    r"im (?:unable|not able) to) (?:answer|identify|determine|find|tell|say)|"
    r"this (?:question )?cannot be answered)\b"
)
_ASKS = re.compile(
    r"\b(?:could|can|would|will) you (?:please |kindly )?(?:tell|say|give|provide|share|describe|"
    r"clarify|specify|confirm|send|upload|let)\b|"
    r"\b(?:please|kindly) (?:tell|say|give|provide|share|describe|clarify|specify|confirm|send|"
    r"upload|let me)\b|\blet me know\b|\b(?:do|did) you (?:mean|want|know|have)\b|"
    r"\bneed (?:more|further|some) (?:information|details|context)\b",
    re.IGNORECASE,
)
_OFFERS = re.compile(
    r"\blet me know if (?:you (?:need|want|would|have (?:any|more|other|further) questions)|"
    r"there is|i can|this|that)\b|\bfeel free to ask\b|\bhappy to help\b|"
    r"\b(?:anything|something) else\b|"
    r"\b(?:do|would) you (?:like|want|need) (?:me to|to know|to hear|more|further|any|help)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# a word behind a fence is the language's name where what is fenced follows it
_FENCE = re.compile(r"```(?:json\b|[a-z]*(?=[ \t]*\n\s*[^\s`]))?", re.IGNORECASE)
_CURLY = str.maketrans("“”„‟‘’‚‛", '"' * 4 + "'" * 4)
_AROUND = " *_\"'”’"
_INSIDE = "{}, \t\r\n`\"'"
_PUNCTUATION = frozenset(string.punctuation) | {"−"}  # a minus, as ASCII's is


class Final(NamedTuple):
    """What a message says. `form` is how it was written: an object, a broken one, bare text."""

    kind: Kind
    answer: str = ""
    context: str = ""
    form: Literal["json", "broken", "text", ""] = ""


def read(text: str) -> Final:
    """Read the last message of an episode: the last object that has an answer, else the text.

    Single and curly quotes, code fences, and objects that are cut off or not quite JSON are read
    too; nothing is evaluated.
    """
    said = _FENCE.sub("", thoughtless(codec.restore(text)[-_LONGEST:])).strip()
    if not said:
        return Final("none")
    straight = said.translate(_CURLY)
    found = _objects(said) or _objects(straight)
    if found:
        said, context = (_text(_field(found[-1], name)) for name in (_KEY, "context"))
        return _final(said, context, "json")
    broken = _broken(straight)
    if broken is not None:
        return _final(broken, "", "broken")
    return _final(said, "", "text")


def _broken(text: str) -> str | None:
    """Return the answer of an object that is none of JSON's, None without one."""
    found = lenient.field(text, lenient.QUOTED)
    if found is None and "{" in text:
        found = lenient.field(text, lenient.BARE)
    return None if found is None else found.strip(_INSIDE)


def _final(answer: str, context: str, form: Literal["json", "broken", "text"]) -> Final:
    if not normal(answer):
        return Final("none", form=form, context=context)
    if form == "text":
        said = _answered(answer)
        # whoever asks may say first that he does not know
        if said.rstrip(_AROUND).endswith("?") or _ASKS.search(said):
            return Final("asks", answer, context, form)
        return Final(_kind(said), answer, context, form)
    return Final(_kind(answer), answer, context, form)


def _kind(answer: str) -> Kind:
    told = normal(answer)
    if _UNKNOWN.match(told):
        return "unknown"
    return "unanswerable" if _UNANSWERABLE.match(told) else "answer"


def _answered(text: str) -> str:
    """Return a message without the offer of more at its end; what is nothing else stays."""
    *rest, last = _SENTENCE.split(text.rstrip())
    kept = text[: text.rindex(last)] if rest and _OFFERS.search(last) else ""
    return kept if normal(kept) else text


def _objects(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text that have an answer, those within one left out."""
    decoder = json.JSONDecoder(strict=False)  # lines may break within quotes
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
            found += _answers(value)
        at = text.find("{", end)
    return found


def _answers(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return []
    if isinstance(value, list):
        return [held for each in value for held in _answers(each, depth + 1)]
    if any(key.lower() == _KEY for key in value):
        return [value]
    return _answers([*value.values()], depth + 1)


def _field(held: dict[str, Any], name: str) -> Any:
    return next((value for key, value in held.items() if key.lower() == name), None)


def _text(value: Any) -> str:
    """Return a value as an answer; what is nested too deep is none."""
    match value:
        case list() | dict() if _deep(value):
            return ""
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


def _deep(value: Any, left: int = _DEEPEST) -> bool:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left < 0 or any(_deep(each, left - 1) for each in within)


# --- when it is right -------------------------------------------------------------------


def paper(said: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer equals an accepted one as the paper compares."""
    return _equal(said, accepted, normal)


def fair(said: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer means an accepted one, however it is written."""
    return _equal(said, [each for each in accepted if not _clash(said, each)], tidy)


def holds(said: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer is an accepted one with few words and no other numbers beside it."""
    for each in accepted:
        beside = len(said.split()) - len(each.split())
        numbers = _NUMBER.findall(said) == _NUMBER.findall(each)
        if beside <= _BESIDE and numbers and lenient.fair(said, [each]) is not None:
            return True
    return False


def _clash(one: str, other: str) -> bool:
    """Tell whether two answers name money of two kinds."""
    kinds = [{c for c in text if unicodedata.category(c) == "Sc"} for text in (one, other)]
    return all(kinds) and kinds[0] != kinds[1]


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
_DECIMALS = re.compile(r"(?<!\d)(\d+)\.(\d+)")
_LOOSE = re.compile(r"(?<!\d) | (?!\d)")  # blanks, but those that part two numbers
_NUMBER = re.compile(r"\d+")
_BESIDE = 12  # words beside an accepted answer that leave it one
_ENDING = re.compile(r"(?<=[^\W\d_])[+#]+(?!\w)")  # of C++ and C#
_ENDINGS = {"+": " plus", "#": " sharp"}
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_PLACES = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_NUMBERS = (
    {word: n for n, word in enumerate(_ONES)}
    | {word: 10 * n for n, word in enumerate(_TENS, 2)}
    | {f"{ten} {_ONES[k]}": 10 * n + k for n, ten in enumerate(_TENS, 2) for k in range(1, 10)}
    | {word: n for n, word in enumerate(_PLACES, 1)}
)


def tidy(text: str) -> str:
    """Return what is the same for all ways to write an answer."""
    parts = unicodedata.normalize("NFKD", _THOUSANDS.sub("", text)).casefold()
    bare = "".join(c for c in parts if not unicodedata.combining(c)).replace("&", " and ")
    bare = _ENDING.sub(lambda found: "".join(map(_ENDINGS.__getitem__, found[0])), bare)
    bare = _PER_CENT.sub("", _DROPPED.sub("", bare))
    words = " ".join("".join(_spaced(bare)).split())
    words = _ARTICLE.sub("", _ORDINAL.sub("", words))
    words = _DECIMALS.sub(_number, words)
    if words in _NUMBERS:
        return str(_NUMBERS[words])
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
