"""Search of expected answers in a text: the official agentic rule, and a fair one.

Both search any of the accepted answers as complete words, ignoring punctuation and case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_PUNCTUATION = re.compile(r"[,./\-_*^()]")
# a point between digits is part of the number: without it 1.2 reads as 12
_PUNCTUATION_FAIR = re.compile(r"[,/\-_*^()]|(?<!\d)\.|\.(?!\d)")
ANSWER_KEYS = re.compile(r"""["'](answer|context)["']\s*:""", re.IGNORECASE)
"""The keys that the prompt asks for, in quotes."""
QUOTED_KEYS = re.compile(r"""["'](\w[\w -]{0,40})["']\s*:""")
"""Any keys in quotes, as in JSON and Python."""
UNQUOTED_KEYS = re.compile(r"[{,]\s*(\w{1,40})\s*:")
"""Any keys without quotes."""
_SURROUNDING_CHARACTERS = " \t\r\n,`\"'"
_UNKNOWN_PHRASES = ("i do not know", 'i don"t know', "i cannot answer", 'i can"t answer')


def find_answer_official(text: str, answers: Sequence[str]) -> str | None:
    """Return the first answer that the official checker finds in the text, None without one.

    Its word boundaries require a word character next to an answer that begins or ends with another
    character, so `$50` and `50%` are not found in ordinary text.
    """
    normalised = normalise_official(text)
    for answer in answers:
        wanted = normalise_official(answer)
        if wanted in normalised and re.search(rf"\b{re.escape(wanted)}\b", normalised):
            return answer
    return None


def find_answer_fair(text: str, answers: Sequence[str]) -> str | None:
    """Return the first answer that occurs separately in the text, None without one.

    A boundary is required only where the answer begins or ends with a word character. A number is
    not found inside a decimal number.
    """
    normalised = _normalise_fair(text)
    for answer in answers:
        wanted = _normalise_fair(answer)
        if wanted and wanted in normalised and re.search(_standalone_pattern(wanted), normalised):
            return answer
    return None


def normalise_official(text: str) -> str:
    """Return the text as the official checker compares it, without case and some punctuation."""
    return _lower_with_double_quotes(_PUNCTUATION.sub("", text))


def _normalise_fair(text: str) -> str:
    return _lower_with_double_quotes(_PUNCTUATION_FAIR.sub("", text)).strip()


def _lower_with_double_quotes(text: str) -> str:
    return text.lower().replace("'", '"')


def _standalone_pattern(wanted: str) -> str:
    left = r"(?<!\w)(?<!\d\.)" if _is_word_character(wanted[0]) else ""
    right = r"(?!\w)(?!\.\d)" if _is_word_character(wanted[-1]) else ""
    return f"{left}{re.escape(wanted)}{right}"


def _is_word_character(char: str) -> bool:
    return char.isalnum() or char == "_"


def extract_answer_field(text: str, key_pattern: re.Pattern[str] = ANSWER_KEYS) -> str | None:
    """Return the answer field of the last `{'answer': ..., 'context': ...}`, None without one.

    Parsing is lenient: it accepts single, double, unescaped and missing quotes, and code fences.
    The field ends where the next match of `key_pattern` begins, or else at the last closing brace.
    """
    keys = list(key_pattern.finditer(text))
    last = max((i for i, key in enumerate(keys) if key[1].lower() == "answer"), default=None)
    if last is None:
        return None
    start = keys[last].end()
    end = keys[last + 1].start() if last + 1 < len(keys) else text.rfind("}", start)
    return text[start : end if end >= 0 else len(text)].strip(_SURROUNDING_CHARACTERS)


def is_unknown_answer(text: str) -> bool:
    """Tell whether the text is empty or says that the answer is not known."""
    normalised = _lower_with_double_quotes(text).strip(_SURROUNDING_CHARACTERS)
    return not normalised or normalised.startswith(_UNKNOWN_PHRASES)
