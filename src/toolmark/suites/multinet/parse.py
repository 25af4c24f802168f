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

The harness leaves reading to each adapter; where none of the published ones reads an answer (the
action of Overcooked by text) the rule for a choice is taken. A call of a tool is read in one way:
one call of the tool that was offered, with arguments of the kind that it names.

Text of strangers: nothing is evaluated, and time is linear in its length.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from toolmark import brackets, codec
from toolmark.score import control, labels
from toolmark.suites.multinet.frame import Choice, Motion, Odds, Space, Truth, Words
from toolmark.suites.multinet.tools import PLAYERS
from toolmark.suites.multinet.wording import ACT, ACTIONS, ANSWER, CHOOSE, MOVE, ODDS
from toolmark.types import Call, Cause

Reading: TypeAlias = Literal["paper", "reference"]
READINGS: tuple[Reading, ...] = ("paper", "reference")
MAX_CHARS = 2**20

_MOST = 2**53  # a number out of range that is told: further away makes no difference
_LOST = 16  # openings without an end after which no more are looked for
_DIGITS = re.compile(r"\d+")
_HEAD = re.compile(r"(?<![\w.])[\w.]+\(")
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
    said = codec.restore(said)
    if not said.strip():
        return Said(fault="nothing was said", cause="no_answer")
    if len(said) > MAX_CHARS:
        return Said(fault=f"{len(said)} characters; the limit is {MAX_CHARS}")
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


# --- numbers ----------------------------------------------------------------------------


def _number(words: str, n: int) -> Said:
    try:
        return _index(int(words), n)
    except ValueError:
        return Said(fault=_not("a whole number", words))


def _digits(said: str, n: int) -> Said:
    found = None if said.startswith("Coordinate") else _DIGITS.search(said)
    return _number(found[0], n) if found else Said(fault=_not("a number in it", said))


def _index(k: int, n: int) -> Said:
    if 0 <= k < n:
        return Said(k)
    raw = max(-_MOST, min(k, _MOST))
    return Said(raw=raw, fault=f"{raw} is none of 0 to {n - 1}", cause="wrong_value")


def _not(wanted: str, said: str) -> str:
    return f"expected {wanted}, got {codec.escape(said[:_SHOWN])!r}"


def _literal(said: str) -> Any:
    """Return what a text spells as JSON or as a literal of Python; the text itself if neither."""
    try:
        return codec.loads(said)
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
    if isinstance(space, Odds):
        n = len(space.options)
        made = labels.distribution(found, n, "strict" if reading == "paper" else "lax")
    else:
        assert isinstance(space, Motion)
        n = len(space.names)
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
    given = arguments(made)
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
        given = codec.loads(codec.restore(made.arguments))
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
    """Return the calls that a text holds, as they are spelt there, in their order."""
    said = codec.restore(said)[:MAX_CHARS]
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
    done = lost = 0
    for head in _HEAD.finditer(said):
        if head.start() < done or lost > _LOST:
            continue
        try:
            _, done = brackets.split(said, head.end(), "\"'")
        except brackets.Unbalanced:
            lost += 1
        else:
            yield said[head.start() : done]
