"""From a reply to a prediction: what was answered, or why the answer is invalid.

By text two readings, as the paper's own runs read it (`paper`, MultiNet's src/v1) and as the public
harness and its first adapter do (`reference`):

| space | paper | reference |
|---|---|---|
| PIQA's choice | exactly 0 or 1 between blanks | as any choice |
| Choice | a whole number, nothing else | the first run of digits, unless it begins "Coordinate" |
| Odds | n numbers in [0, 1], sum 1 within 1e-5 | n numbers: their sum counts, a nan passes |
| Motion | a finite number for each dimension | the same |
| Words | any text but blanks | the same |
| Calls | name(...), brackets and quotes heeded | name( up to the first ), blanks made one |

Of Odds it is src/v1 that is lax and the harness that is strict, the other way round than of the
rest: `paper` keeps to the paper's text, and `reference` is what src/v1 lets pass.

The harness leaves reading to each adapter; where none of the published ones reads an answer (the
action of Overcooked by text) the rule for a choice is taken. A call of a tool is read in one way:
one call of the tool that was offered, with arguments of the kind that it names.

Text of strangers: nothing is evaluated, time is linear in its length, and what is far longer than
any answer is refused unread.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from toolmark import codec
from toolmark.score import brier, control
from toolmark.score.spread import READINGS as READINGS
from toolmark.score.spread import Reading as Reading
from toolmark.suites.multinet.frame import (
    ACT,
    ACTIONS,
    ANSWER,
    CHOOSE,
    MOVE,
    ODDS,
    PLAYERS,
    Choice,
    Motion,
    Odds,
    Space,
    Truth,
    Words,
)
from toolmark.types import Call, Cause

MAX_CHARS = 2**20
"""Longer text is no answer; for what takes long to read, or is short by nature, less will do."""
MAX_WORDS = 2**16
"""Of words, and of a turn of calls."""

_LIST, _NUMBER = 8_192, 256  # characters of a list, and more for each number that it should have

_MOST = 2**53  # a number out of range that is told: further away makes no difference
_FAR = 10**400  # for numbers of more digits than Python reads; no float is so large
_STEP = 4_000  # digits read at once: Python reads 4,300
_WHOLE = re.compile(r"[+-]?\d+(?:_\d+)*")
_DIGITS = re.compile(r"\d+")
_TOKEN = re.compile(r"(?<![\w.])[\w.]+\(|[()\[\]{}'\"]")
_REST = {quote: re.compile(rf"[^{quote}\\]*(?:\\.[^{quote}\\]*)*{quote}", re.S) for quote in "'\""}
"""What closes a quote, from behind the one that opens."""
_CLOSES = {")": "(", "]": "[", "}": "{"}
_NAME = re.compile(r"(?<!\w)\w+\(")
_BLANKS = re.compile(r"\s+")
_SHOWN = 120


class Said(NamedTuple):
    """A prediction in the terms of its space; None is invalid, and `fault` says why.

    `raw` is a whole number that is out of range.
    """

    value: Any = None
    raw: int | None = None
    fault: str = ""
    cause: Cause = "format"


def text(truth: Truth, said: str, reading: Reading) -> Said:
    """Read the answer out of a text, for spaces other than Calls."""
    if not said.strip():
        return Said(fault="nothing was said", cause="no_answer")
    if too_long := _too_long(truth.space, said):
        return too_long
    said = codec.restore(said)
    match truth.space:
        case Words():
            return Said(said)
        case Choice(options=options):
            exact = reading == "paper"
            words = said.strip()
            if exact and truth.family == "piqa" and words not in ("0", "1"):
                return _number(words, len(options))._replace(value=None, fault=_not("0 or 1", said))
            return _number(words, len(options)) if exact else _digits(said, len(options))
        case space:
            return vector(space, _literal(said.strip()), reading, said)


def _too_long(space: Space, said: str) -> Said | None:
    """Refuse what takes long to read and cannot be the answer: 36 numbers need no megabyte."""
    most = MAX_CHARS if isinstance(space, Choice) else MAX_WORDS
    if isinstance(space, Odds | Motion):
        most = _LIST + _NUMBER * _size(space)
    if len(said) <= most:
        return None
    return Said(fault=f"{len(said):,} characters; at most {most:,} are read")


def _size(space: Odds | Motion) -> int:
    return len(space.options if isinstance(space, Odds) else space.names)


# --- numbers ----------------------------------------------------------------------------


def whole(words: str) -> int | None:
    """Return what `int` makes of text without blanks around it, None where that is no number.

    So a sign, digits of any script and single underscores between them count, however many digits
    there are: of more than Python reads the sign is kept, and that they are too many.
    """
    if not _WHOLE.fullmatch(words):
        return None
    if len(words) <= _STEP:
        return int(words)
    digits = words.lstrip("+-").replace("_", "")
    head, tail = digits[:-_STEP], digits[-_STEP:]
    far = any(int(head[at : at + _STEP]) for at in range(0, len(head), _STEP))
    found = _FAR if far else int(tail)
    return -found if words[0] == "-" else found


def _json(said: str) -> Any:
    """Read JSON. Raises codec.BadJson."""
    return codec.loads(said, whole)  # type: ignore[arg-type]  # a number of JSON is one here


def _number(words: str, n: int) -> Said:
    found = whole(words)
    return Said(fault=_not("a whole number", words)) if found is None else _index(found, n)


def _digits(said: str, n: int) -> Said:
    found = None if said.startswith("Coordinate") else _DIGITS.search(said)
    return _number(found[0], n) if found else Said(fault=_not("a number in it", said))


def _index(k: int, n: int) -> Said:
    if 0 <= k < n:
        return Said(k)
    raw = max(-_MOST, min(k, _MOST))
    told = f"{raw}" if raw == k else f"a number beyond {raw}"
    return Said(raw=raw, fault=f"{told} is none of 0 to {n - 1}", cause="wrong_value")


def _not(wanted: str, said: str) -> str:
    return f"expected {wanted}, got {codec.escape(said[:_SHOWN])!r}"


@lru_cache(maxsize=8)  # both readings read the same text
def _literal(said: str) -> Any:
    """Return what a text spells as JSON or as a literal of Python; the text itself if neither."""
    try:
        return _json(said)
    except codec.BadJson:
        pass
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd literals warn
            return ast.literal_eval(said)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return said


# --- vectors ----------------------------------------------------------------------------


def vector(space: Space, found: Any, reading: Reading, said: str) -> Said:
    """Check a list of numbers against Odds or Motion; `said` is how it was spelt."""
    made: Sequence[float] | None
    assert isinstance(space, Odds | Motion)
    n = _size(space)
    if isinstance(space, Odds):
        made = brier.distribution(found, n, "strict" if reading == "paper" else "lax")
    else:
        made = control.vector(found, n)
    if made is not None:
        return Said(tuple(made))
    if not isinstance(found, list | tuple):
        return Said(fault=_not("a list of numbers", said))
    if len(found) != n:
        return Said(fault=f"{len(found)} numbers where {n} are wanted", cause="wrong_value")
    if not all(isinstance(each, int | float) for each in found):
        return Said(fault=_not("numbers alone", said), cause="wrong_type")
    likely = "numbers from 0 to 1 that add up to 1" if isinstance(space, Odds) else "finite numbers"
    return Said(fault=_not(likely, said), cause="wrong_value")


# --- one call ---------------------------------------------------------------------------


def call(truth: Truth, calls: Sequence[Call], reading: Reading) -> Said:
    """Read the answer out of the calls of a reply, for spaces other than Calls."""
    name = _tool(truth)
    if not calls:
        return Said(fault=f"no call of {name}", cause="missing_call")
    if len(calls) > 1:
        return Said(fault=f"{len(calls)} calls where one is wanted", cause="extra_call")
    (made,) = calls
    if made.name != name:
        told = codec.escape(made.name[:_SHOWN])
        return Said(fault=f"called {told!r}, not {name}", cause="unknown_tool")
    given = _too_long(truth.space, made.arguments) or arguments(made)
    if isinstance(given, Said):
        return given
    wanted = _WANTED[name]
    if absent := [key for key in wanted if key not in given]:
        return Said(fault=f"{name} without {', '.join(absent)}", cause="missing_argument")
    if more := [key for key in given if key not in wanted]:
        told = codec.escape(str(more[0])[:_SHOWN])
        return Said(fault=f"{name} with {told!r}", cause="unexpected_argument")
    return _READ[name](truth, given, reading)


def arguments(made: Call) -> dict[str, Any] | Said:
    """Return a call's arguments, or why there are none."""
    try:
        given = _json(codec.restore(made.arguments))
    except codec.BadJson as error:
        return Said(fault=f"the arguments of {made.name[:_SHOWN]} are no JSON: {error}")
    if not isinstance(given, dict):
        return Said(fault=f"the arguments of {made.name[:_SHOWN]} are no object")
    return given


def _tool(truth: Truth) -> str:
    match truth.space:
        case Choice():
            return ACT if truth.family == "overcooked" else CHOOSE
        case Odds():
            return ODDS
        case Motion():
            return MOVE
        case _:
            return ANSWER


def _chosen(truth: Truth, given: dict[str, Any], reading: Reading) -> Said:
    option = given["option"]
    whole = isinstance(option, float) and option.is_integer()
    if isinstance(option, bool) or not (isinstance(option, int) or whole):
        return Said(fault=_not("a whole number", repr(option)), cause="wrong_type")
    return _index(int(option), len(truth.space.options))  # type: ignore[union-attr]


def _acted(truth: Truth, given: dict[str, Any], reading: Reading) -> Said:
    names = [given[key] for key in PLAYERS]
    if wrong := [name for name in names if name not in ACTIONS]:
        return Said(fault=_not(f"one of {', '.join(ACTIONS)}", str(wrong[0])), cause="wrong_value")
    first, second = map(ACTIONS.index, names)
    return Said(len(ACTIONS) * first + second)


def _listed(truth: Truth, given: dict[str, Any], reading: Reading) -> Said:
    (found,) = given.values()
    if isinstance(found, list) and any(isinstance(each, bool) for each in found):
        return Said(fault=_not("numbers alone", str(found)[:_SHOWN]), cause="wrong_type")
    return vector(truth.space, found, reading, str(found)[:_SHOWN])


def _worded(truth: Truth, given: dict[str, Any], reading: Reading) -> Said:
    found = given["text"]
    if not isinstance(found, str):
        return Said(fault=_not("a text", repr(found)[:_SHOWN]), cause="wrong_type")
    return Said(found) if found.strip() else Said(fault="nothing was said", cause="no_answer")


_WANTED: dict[str, tuple[str, ...]] = {
    CHOOSE: ("option",), ACT: PLAYERS, ODDS: ("probabilities",), MOVE: ("vector",),
    ANSWER: ("text",),
}  # fmt: skip
_READ: dict[str, Callable[[Truth, dict[str, Any], Reading], Said]] = {
    CHOOSE: _chosen, ACT: _acted, ODDS: _listed, MOVE: _listed, ANSWER: _worded,
}  # fmt: skip


# --- calls as text ----------------------------------------------------------------------


def calls(said: str, reading: Reading) -> tuple[str, ...]:
    """Return the calls that a text holds, as they are spelt there, in their order.

    Text longer than `MAX_WORDS` holds none.
    """
    if len(said) > MAX_WORDS:
        return ()
    said = codec.restore(said)
    if reading == "reference":
        return tuple(_BLANKS.sub(" ", found) for found in _cut(said))
    return tuple(_whole(said))


def _cut(said: str) -> Iterator[str]:
    """Go through what `word(` begins and the next `)` ends: an argument's own bracket ends it."""
    done = 0
    for head in _NAME.finditer(said):
        if head.start() < done:
            continue
        end = said.find(")", head.end())
        if end < 0:
            return
        done = end + 1
        yield said[head.start() : done]


def _whole(said: str) -> Iterator[str]:
    """Go through calls up to the bracket that closes them; what does not close is none."""
    done = 0
    for start, end in sorted(_closed(said)):
        if start >= done:
            done = end
            yield said[start:end]


def _closed(said: str) -> Iterator[tuple[int, int]]:
    """Go through where calls begin and end, those within calls too, in one pass.

    A bracket of another kind, or a quote without an end, spoils all that is open there.
    """
    opened: list[tuple[str, int]] = []  # brackets, and where the call begins that one opens
    endless: set[str] = set()  # quotes that have no end from somewhere on, hence none behind it
    at = 0
    for token in _TOKEN.finditer(said):
        head, char = token.start(), said[token.end() - 1]
        if head < at or not (opened or token.end() - head > 1):
            continue  # within quotes, or outside of any call
        if char in _REST:
            end = None if char in endless else _REST[char].match(said, token.end())
            if end:
                at = end.end()
            else:
                endless.add(char)
                opened.clear()
        elif char in _CLOSES:
            bracket, start = opened.pop()
            if bracket != _CLOSES[char]:
                opened.clear()
            elif start >= 0:
                yield start, token.end()
        else:
            opened.append((char, head if token.end() - head > 1 else -1))
