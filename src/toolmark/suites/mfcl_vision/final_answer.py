"""Parsing of the last message (answer, "I do not know", or question), and its comparison.

| grading rule | an answer is right if it equals an accepted one |
|---|---|
| paper | after lower-casing, removing punctuation and joining blanks: no other change |
| fair | also with other accents, articles, ordinals, hyphens, number words, thousands separators |

Under `fair`, a decimal point counts: 1.5 is not 15. Currency signs count: $50 is not 50 €. The
endings of C++ and C# count too. Number words are read only if they are the complete answer: zero to
ninety-nine, first to tenth.
"""

from __future__ import annotations

import json
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark.core import json_codec
from toolmark.formats.executor_json import strip_thoughts
from toolmark.scoring import answer_matching

MessageKind: TypeAlias = Literal["answer", "unknown", "unanswerable", "asks", "none"]
UNKNOWN = "I do not know"
UNANSWERABLE = "I cannot answer this question"

# Characters at the end of a message that are read.
_MAX_CHARS = 20_000
# Braces that are tried as the beginning of an object.
_MAX_OBJECTS = 100
# Nesting limit: objects and lists around an answer object, and inside an answer.
_MAX_DEPTH = 10
_ANSWER_KEY = "answer"
# Phrases that may come before: at most three, each of a few words.
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
_CLOSING_OFFER = re.compile(
    r"\blet me know if (?:you (?:need|want|would|have (?:any|more|other|further) questions)|"
    r"there is|i can|this|that)\b|\bfeel free to ask\b|\bhappy to help\b|"
    r"\b(?:anything|something) else\b|"
    r"\b(?:do|would) you (?:like|want|need) (?:me to|to know|to hear|more|further|any|help)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
# A word behind a fence is the name of a language if the fenced text follows it.
_FENCE = re.compile(r"```(?:json\b|[a-z]*(?=[ \t]*\n\s*[^\s`]))?", re.IGNORECASE)
_STRAIGHT_QUOTES = str.maketrans("“”„‟‘’‚‛", '"' * 4 + "'" * 4)
_OUTER_MARKS = " *_\"'”’"
_OBJECT_MARKS = "{}, \t\r\n`\"'"
# The Unicode minus counts as punctuation, as the ASCII one does.
_PUNCTUATION = frozenset(string.punctuation) | {"−"}


class FinalMessage(NamedTuple):
    """A parsed message. `form` is how it was written: JSON object, broken object, plain text."""

    kind: MessageKind
    answer: str = ""
    context: str = ""
    form: Literal["json", "broken", "text", ""] = ""


def parse_final_message(text: str) -> FinalMessage:
    """Parse the last message of an episode: the last object with an answer, else the text.

    Objects with single or curly quotes, in code fences, cut off or not quite JSON are read too.
    Nothing is evaluated.
    """
    message_text = _FENCE.sub(
        "", strip_thoughts(json_codec.restore_surrogates(text)[-_MAX_CHARS:])
    ).strip()
    if not message_text:
        return FinalMessage("none")
    straight_quoted = message_text.translate(_STRAIGHT_QUOTES)
    found = _answer_objects(message_text) or _answer_objects(straight_quoted)
    if found:
        message_text, context = (
            _value_text(_field_value(found[-1], name)) for name in (_ANSWER_KEY, "context")
        )
        return _classify_answer(message_text, context, "json")
    broken = _broken_object_answer(straight_quoted)
    if broken is not None:
        return _classify_answer(broken, "", "broken")
    return _classify_answer(message_text, "", "text")


def _broken_object_answer(text: str) -> str | None:
    """Return the answer of an object that is not valid JSON, None if there is none."""
    found = answer_matching.extract_answer_field(text, answer_matching.QUOTED_KEYS)
    if found is None and "{" in text:
        found = answer_matching.extract_answer_field(text, answer_matching.UNQUOTED_KEYS)
    return None if found is None else found.strip(_OBJECT_MARKS)


def _classify_answer(
    answer: str, context: str, form: Literal["json", "broken", "text"]
) -> FinalMessage:
    if not normalise_text(answer):
        return FinalMessage("none", form=form, context=context)
    if form == "text":
        main_text = _without_closing_offer(answer)
        # A question may begin with "I do not know", so it is tested first.
        if main_text.rstrip(_OUTER_MARKS).endswith("?") or _ASKS.search(main_text):
            return FinalMessage("asks", answer, context, form)
        return FinalMessage(_answer_kind(main_text), answer, context, form)
    return FinalMessage(_answer_kind(answer), answer, context, form)


def _answer_kind(answer: str) -> MessageKind:
    normalised = normalise_text(answer)
    if _UNKNOWN.match(normalised):
        return "unknown"
    return "unanswerable" if _UNANSWERABLE.match(normalised) else "answer"


def _without_closing_offer(text: str) -> str:
    """Return a message without an offer of more help at its end.

    A message that consists of nothing else is returned unchanged.
    """
    *earlier, last = _SENTENCE.split(text.rstrip())
    without_offer = text[: text.rindex(last)] if earlier and _CLOSING_OFFER.search(last) else ""
    return without_offer if normalise_text(without_offer) else text


def _answer_objects(text: str) -> list[dict[str, Any]]:
    """Return the objects of a text that have an answer, without those nested in another one."""
    # Not strict: JSON strings of models may contain line breaks.
    decoder = json.JSONDecoder(strict=False)
    found: list[dict[str, Any]] = []
    start = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found += _nested_answer_objects(value)
        start = text.find("{", end)
    return found


def _nested_answer_objects(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    if depth > _MAX_DEPTH or not isinstance(value, dict | list):
        return []
    if isinstance(value, list):
        return [found for nested in value for found in _nested_answer_objects(nested, depth + 1)]
    if any(key.lower() == _ANSWER_KEY for key in value):
        return [value]
    return _nested_answer_objects([*value.values()], depth + 1)


def _field_value(fields: dict[str, Any], name: str) -> Any:
    return next((value for key, value in fields.items() if key.lower() == name), None)


def _value_text(value: Any) -> str:
    """Return a value as answer text, "" for null and for a value nested too deep."""
    match value:
        case list() | dict() if _is_too_deep(value):
            return ""
        case None:
            return ""
        case str():
            return value.strip()
        case list():
            return ", ".join(map(_value_text, value))
        case bool() | dict():
            return json.dumps(json_codec.to_plain_json(value), ensure_ascii=False)
        case _:
            return str(json_codec.to_plain_json(value))


def _is_too_deep(value: Any, levels_left: int = _MAX_DEPTH) -> bool:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels_left < 0 or any(_is_too_deep(nested, levels_left - 1) for nested in within)


# --- when it is right -------------------------------------------------------------------


def is_right_by_paper_rule(given_answer: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer equals an accepted one by the paper's comparison."""
    return _equals_accepted(given_answer, accepted, normalise_text)


def is_right_by_fair_rule(given_answer: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer means the same as an accepted one, in any spelling."""
    return _equals_accepted(
        given_answer,
        [candidate for candidate in accepted if not _names_other_currency(given_answer, candidate)],
        canonical_answer,
    )


def contains_accepted_answer(given_answer: str, accepted: Sequence[str]) -> bool:
    """Tell whether an answer contains an accepted one, with few more words and no other numbers."""
    for candidate in accepted:
        n_extra_words = len(given_answer.split()) - len(candidate.split())
        numbers = _NUMBER.findall(given_answer) == _NUMBER.findall(candidate)
        if (
            n_extra_words <= _MAX_EXTRA_WORDS
            and numbers
            and answer_matching.find_answer_fair(given_answer, [candidate]) is not None
        ):
            return True
    return False


def _names_other_currency(first_answer: str, second_answer: str) -> bool:
    """Tell whether two answers name different currencies."""
    kinds = [
        {c for c in text if unicodedata.category(c) == "Sc"}
        for text in (first_answer, second_answer)
    ]
    return all(kinds) and kinds[0] != kinds[1]


def _equals_accepted(
    given_answer: str, accepted: Sequence[str], form: Callable[[str], str]
) -> bool:
    normalised = form(given_answer)
    return bool(normalised) and any(normalised == form(candidate) for candidate in accepted)


def normalise_text(text: str) -> str:
    """Return the text in lower case, without punctuation, and with single blanks."""
    lower = unicodedata.normalize("NFC", text).lower()
    words = "".join(c for c in lower if not _is_punctuation(c)).split()
    return unicodedata.normalize("NFC", " ".join(words))  # punctuation may have parted a letter


def _is_punctuation(char: str) -> bool:
    """Tell whether a character is punctuation in ASCII or in Unicode."""
    return char in _PUNCTUATION or unicodedata.category(char).startswith("P")


_THOUSANDS = re.compile(r"(?<=\d)[,\u00a0\u2009\u202f'’](?=\d{3}(?!\d))")
# A point between digits belongs to the number.
_DROPPED_MARKS = re.compile(r"(?<!\d)\.|\.(?!\d)|['’`´]")
_PER_CENT = re.compile(r"%|\bper ?cent\b")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_ARTICLE = re.compile(r"^(?:the|an?) (?=.)")
_DECIMALS = re.compile(r"(?<!\d)(\d+)\.(\d+)")
# Blanks, except those that separate two numbers.
_LOOSE_BLANKS = re.compile(r"(?<!\d) | (?!\d)")
_NUMBER = re.compile(r"\d+")
# More words than this next to an accepted answer make it wrong.
_MAX_EXTRA_WORDS = 12
# The endings of C++ and C#.
_NAME_ENDING = re.compile(r"(?<=[^\W\d_])[+#]+(?!\w)")
_ENDING_WORDS = {"+": " plus", "#": " sharp"}
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_WORDS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth",
)  # fmt: skip
_NUMBER_WORDS = (
    {word: n for n, word in enumerate(_ONES)}
    | {word: 10 * n for n, word in enumerate(_TENS, 2)}
    | {f"{ten} {_ONES[k]}": 10 * n + k for n, ten in enumerate(_TENS, 2) for k in range(1, 10)}
    | {word: n for n, word in enumerate(_ORDINAL_WORDS, 1)}
)


def canonical_answer(text: str) -> str:
    """Return the canonical form of an answer, equal for all its spellings."""
    parts = unicodedata.normalize("NFKD", _THOUSANDS.sub("", text)).casefold()
    unaccented = "".join(c for c in parts if not unicodedata.combining(c)).replace("&", " and ")
    unaccented = _NAME_ENDING.sub(
        lambda found: "".join(map(_ENDING_WORDS.__getitem__, found[0])), unaccented
    )
    unaccented = _PER_CENT.sub("", _DROPPED_MARKS.sub("", unaccented))
    phrase = " ".join("".join(_space_out_marks(unaccented)).split())
    phrase = _ARTICLE.sub("", _ORDINAL.sub("", phrase))
    phrase = _DECIMALS.sub(_trim_decimals, phrase)
    if phrase in _NUMBER_WORDS:
        return str(_NUMBER_WORDS[phrase])
    return _LOOSE_BLANKS.sub("", phrase)


def _space_out_marks(text: str) -> Iterator[str]:
    """Yield the characters, with punctuation and currency signs as blanks.

    A minus sign or a decimal point of a number is not changed.
    """
    for i, char in enumerate(text):
        before, after = text[i - 1 : i] or " ", text[i + 1 : i + 2]
        negative = char in "-−" and after.isdigit() and before.isspace()
        if negative or (char == "." and before.isdigit()):
            yield "-" if negative else char
        else:
            yield " " if _is_punctuation(char) or unicodedata.category(char) == "Sc" else char


def _trim_decimals(found: re.Match[str]) -> str:
    decimals = found[2].rstrip("0")
    return f"{found[1]}.{decimals}" if decimals else found[1]
