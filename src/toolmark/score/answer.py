"""Is an expected answer in a text? The official agentic rule, and a fair one.

Both look for any of the accepted answers as whole words, after dropping punctuation and case.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DROPPED = re.compile(r"[,./\-_*^()]")
# a point between digits is part of the number: without it 1.2 reads as 12
_DROPPED_FAIR = re.compile(r"[,/\-_*^()]|(?<!\d)\.|\.(?!\d)")
KEYS = re.compile(r"""["'](answer|context)["']\s*:""", re.IGNORECASE)
"""The keys that are asked for."""
QUOTED = re.compile(r"""["'](\w[\w -]{0,40})["']\s*:""")
"""Any keys, as JSON and Python write them."""
BARE = re.compile(r"[{,]\s*(\w{1,40})\s*:")
"""Any keys without quotes."""
_AROUND = " \t\r\n,`\"'"
_UNKNOWN = ("i do not know", 'i don"t know', "i cannot answer", 'i can"t answer')


def official(text: str, answers: Sequence[str]) -> str | None:
    """Return the first answer that the official checker finds in the text, None for none.

    Its word boundaries need a word character beside an answer that begins or ends with none, so
    `$50` and `50%` are not found in ordinary text.
    """
    said = normal(text)
    for answer in answers:
        wanted = normal(answer)
        if wanted in said and re.search(rf"\b{re.escape(wanted)}\b", said):
            return answer
    return None


def fair(text: str, answers: Sequence[str]) -> str | None:
    """Return the first answer that stands in the text on its own, None for none.

    A boundary is asked for only where the answer itself begins or ends with a word character, and
    a number is not found inside a decimal one.
    """
    said = _tidy(text)
    for answer in answers:
        wanted = _tidy(answer)
        if wanted and wanted in said and re.search(_alone(wanted), said):
            return answer
    return None


def normal(text: str) -> str:
    """Return the text as the official checker compares it: some punctuation and case dropped."""
    return _quoted(_DROPPED.sub("", text))


def _tidy(text: str) -> str:
    return _quoted(_DROPPED_FAIR.sub("", text)).strip()


def _quoted(text: str) -> str:
    return text.lower().replace("'", '"')


def _alone(wanted: str) -> str:
    left = r"(?<!\w)(?<!\d\.)" if _wordy(wanted[0]) else ""
    right = r"(?!\w)(?!\.\d)" if _wordy(wanted[-1]) else ""
    return f"{left}{re.escape(wanted)}{right}"


def _wordy(char: str) -> bool:
    return char.isalnum() or char == "_"


def field(text: str, known: re.Pattern[str] = KEYS) -> str | None:
    """Return the answer field of the last `{'answer': ..., 'context': ...}`, None without one.

    Read leniently: quotes of either kind, unescaped ones inside, none at all, code fences. The
    field ends where the next key that is `known` begins, or else at the last closing brace.
    """
    keys = list(known.finditer(text))
    place = max((i for i, key in enumerate(keys) if key[1].lower() == "answer"), default=None)
    if place is None:
        return None
    start = keys[place].end()
    end = keys[place + 1].start() if place + 1 < len(keys) else text.rfind("}", start)
    return text[start : end if end >= 0 else len(text)].strip(_AROUND)


def unknown(text: str) -> bool:
    """Tell whether the text is empty or says that the answer is not known."""
    said = _quoted(text).strip(_AROUND)
    return not said or said.startswith(_UNKNOWN)
