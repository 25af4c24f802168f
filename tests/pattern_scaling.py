"""Every regular expression of the package, how it is used, and texts that hurt it most.

The texts come from the pattern itself: where something in it may repeat, the text repeats it, or
all that leads to it, and ends as the pattern does not allow.
"""

from __future__ import annotations

import ast
import gc
import importlib
import re
import re._parser as parser  # type: ignore[import-not-found]
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1] / "src" / "toolmark"
_METHODS = ("match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer")
_TAILS = ("\x00", "!", "\n")
_LIKELY = "a1 -_.,:;<>()[]{}\"'=/\\\n#x\u0416"
_CLASSES = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}
_SHOWN = {"DIGIT": "7", "SPACE": " ", "WORD": "a"}


class Use(NamedTuple):
    """A pattern as a file uses it; `pattern` is None where it is made as the program runs."""

    file: str
    line: int
    name: str
    pattern: re.Pattern[Any] | None
    method: str


def files() -> list[Path]:
    """Return the files of the package that use regular expressions."""
    return [path for path in sorted(ROOT.rglob("*.py")) if _mentions(path.read_text())]


def _mentions(source: str) -> bool:
    # reading a file's grammar takes a hundred times longer
    if not re.search(r"^\s*(?:import|from)\b.*\bre\b", source, re.MULTILINE):
        return False
    tree = ast.parse(source)
    return any(isinstance(node, ast.Name) and node.id == "re" for node in ast.walk(tree))


@cache
def uses(path: Path) -> list[Use]:
    """Return the uses in a file: of patterns of a module, and those written where used."""
    return list(_uses(path))


def _uses(path: Path) -> Iterator[Use]:
    file = str(path.relative_to(ROOT))
    tree = ast.parse(path.read_text())
    module = _module(path)
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr=attr), args=args) if (
                attr in _METHODS
            ):
                yield Use(file, node.lineno, ast.unparse(args[0])[:60], _fixed(args[0]), attr)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in _METHODS:
                found = getattr(module, name, None)
                if isinstance(found, re.Pattern):
                    yield Use(file, node.lineno, name, found, attr)
            case ast.Attribute(value=ast.Subscript(value=ast.Name(id=name)), attr=attr) if (
                attr in _METHODS
            ):
                for each in _inside(getattr(module, name, None)):
                    yield Use(file, node.lineno, name, each, attr)


def _inside(found: object) -> Iterator[re.Pattern[Any]]:
    values = found.values() if isinstance(found, dict) else found
    if isinstance(values, (list, tuple, type({}.values()))):
        yield from (each for each in values if isinstance(each, re.Pattern))


def _module(path: Path) -> object:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return importlib.import_module(".".join(parts).removesuffix(".__init__"))


def _fixed(node: ast.expr) -> re.Pattern[Any] | None:
    try:
        return re.compile(ast.literal_eval(node))
    except ValueError:
        return None


# --- texts ------------------------------------------------------------------------------


def attacks(pattern: re.Pattern[Any]) -> Iterator[Callable[[int], Any]]:
    """Go through texts by their length, each of which repeats one thing that the pattern does."""
    source = pattern.pattern
    raw = isinstance(source, bytes)
    tree = list(parser.parse(source, pattern.flags))
    for before, again in dict.fromkeys(_pumps(tree, "")):
        for tail in _TAILS:

            def text(n: int, before: str = before, again: str = again, tail: str = tail) -> Any:
                made = before + again * (n // len(again)) + tail
                return made.encode("latin-1", "replace") if raw else made

            yield text


def _pumps(tree: list[Any], before: str) -> Iterator[tuple[str, str]]:
    """Go through what may repeat, each with what leads to it."""
    for at, (op, arg) in enumerate(tree):
        here = before + _sample(tree[:at])
        match str(op):
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                for again in _bodies(list(arg[2])):
                    if again:
                        yield here, again
                        yield "", here + again
                if here:
                    yield "", here
                yield from _pumps(list(arg[2]), here)
            case "SUBPATTERN":
                yield from _pumps(list(arg[3]), here)
            case "ATOMIC_GROUP":
                yield from _pumps(list(arg), here)
            case "BRANCH":
                for branch in arg[1]:
                    yield from _pumps(list(branch), here)
            case "ASSERT" | "ASSERT_NOT":
                yield from _pumps(list(arg[1]), here)


def _bodies(tree: list[Any]) -> set[str]:
    """Return texts that what repeats may be."""
    found = {_sample(tree)}
    for op, arg in tree:
        inner = list(arg[3]) if str(op) == "SUBPATTERN" else [(op, arg)]
        for name, value in inner:
            if str(name) == "BRANCH":
                found |= {_sample(list(branch)) for branch in value[1]}
            if str(name) == "IN" and str(value[0][0]) != "NEGATE":
                found |= {_one([item]) for item in value}
    return found


def _sample(tree: list[Any]) -> str:
    """Return a text that the pattern allows, as far as one is easily found."""
    out: list[str] = []
    for op, arg in tree:
        match str(op):
            case "LITERAL":
                out.append(chr(arg))
            case "NOT_LITERAL":
                out.append("a" if arg != ord("a") else "b")
            case "ANY":
                out.append("a")
            case "IN":
                out.append(_one(arg))
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                out.append(_sample(list(arg[2])) * max(arg[0], 1 if arg[1] else 0))
            case "SUBPATTERN":
                out.append(_sample(list(arg[3])))
            case "ATOMIC_GROUP":
                out.append(_sample(list(arg)))
            case "BRANCH":
                out.append(_sample(list(arg[1][0])))
    return "".join(out)


def _one(items: list[Any]) -> str:
    """Return a character of a set."""
    if str(items[0][0]) == "NEGATE":
        left = (c for c in _LIKELY if not any(_holds(item, c) for item in items[1:]))
        return next(left, "\u0416")
    op, arg = items[0]
    match str(op):
        case "LITERAL":
            return chr(arg)
        case "RANGE":
            return chr(arg[0])
        case _:
            kind = str(arg).removeprefix("CATEGORY_")
            return _SHOWN.get(kind, "a" if kind != "NOT_WORD" else "-")


def _holds(item: Any, char: str) -> bool:
    op, arg = item
    match str(op):
        case "LITERAL":
            return chr(arg) == char
        case "RANGE":
            return bool(arg[0] <= ord(char) <= arg[1])
        case _:
            kind = str(arg).removeprefix("CATEGORY_")
            inside = re.match(_CLASSES[kind.removeprefix("NOT_")], char) is not None
            return inside != kind.startswith("NOT_")


# --- time -------------------------------------------------------------------------------

SIZES = (250, 1_000, 4_000, 16_000)
_MEASURABLE_S = 0.02  # a square of 16,000 steps takes .1 s and more
_RATIO = 9.0  # for four times the text: 4 where the work is linear, 16 where it is quadratic
_SQUARE = 30.0  # 16 where it is quadratic, 64 where it is cubic
_MANY_S = 0.05
_REPEATS = 3
_CONFIRMED_BY = 12


def slow(
    call: Callable[[Any], object],
    text: Callable[[int], Any],
    *,
    few_s: float = _MEASURABLE_S,
    short: bool = False,
    sizes: Sequence[int] = SIZES,
) -> str:
    """Return how the processor time grows where that is faster than the text; "" where not.

    Only time of this process counts, and the least of several measurements: a busy machine
    changes neither by much. What takes less than `few_s` is quick enough.
    A `short` text has 4,000 characters at most, and only growth beyond its square counts.
    `sizes`: the lengths of the text, each four times the one before.
    """
    ratio = _SQUARE if short else _RATIO
    for quarter, whole in pairwise(sizes[:-1] if short else sizes):
        # a bounded repeat grows as the square of the text up to its bound, which is harmless
        least_s = few_s if whole == sizes[-1] else max(few_s, _MANY_S)
        whole_s = _spent_s(call, text(whole))
        if whole_s < least_s:
            continue
        quarter_s = min(_spent_s(call, text(quarter)) for _ in range(_REPEATS))
        if whole_s <= ratio * quarter_s:
            continue
        whole_s = min(_spent_s(call, text(whole)) for _ in range(_CONFIRMED_BY))
        if whole_s > least_s and whole_s > ratio * quarter_s:
            return f"{whole_s:.4f} s for {whole} characters, {quarter_s:.4f} s for a quarter"
    return ""


LOOK_SIZES = (500, 4_000)
LONG_LOOK_SIZES = (4_000, 32_000)
CONFIRM_SIZES = (1_000, 4_000, 16_000, 64_000)
_LOOK_RATIO = 16.0  # for eight times the text: 8 where the work is linear, 64 where quadratic
_LOOK_LEAST_S = 0.005


def slow_at_a_look(
    call: Callable[[Any], object],
    text: Callable[[int], Any],
    sizes: tuple[int, int] = LOOK_SIZES,
) -> str:
    """Return what `slow` does, of what a first look at two `sizes` finds to grow too fast.

    The look costs a fifth of `slow`. What it finds is confirmed with longer texts, in which a
    square outgrows the work that is linear.
    """
    part, whole = sizes
    whole_s = _spent_s(call, text(whole))
    if whole_s < _LOOK_LEAST_S:
        return ""
    if whole_s <= _LOOK_RATIO * min(_spent_s(call, text(part)) for _ in range(2)):
        return ""
    return slow(call, text, few_s=_LOOK_LEAST_S, sizes=CONFIRM_SIZES)


def _spent_s(call: Callable[[Any], object], text: Any) -> float:
    """Return the processor time of a call, without that of collecting what others have left."""
    collects = gc.isenabled()
    gc.disable()
    try:
        start = time.process_time()
        call(text)
        return time.process_time() - start
    finally:
        if collects:
            gc.enable()


def worst(use: Use, *, short: bool = False) -> str:
    """Return the text that a use takes more than linear time for, and how; "" for none.

    Of a `short` one only growth beyond the square counts.
    """
    pattern = use.pattern
    assert pattern is not None

    def call(text: Any) -> object:
        match use.method:
            case "sub" | "subn":
                return pattern.subn(b"" if isinstance(text, bytes) else "", text)
            case "finditer" | "findall":
                return pattern.findall(text)
            case _:
                return getattr(pattern, use.method)(text)

    for text in attacks(pattern):
        found = slow(call, text, short=short)
        if found:
            return f"{text(40)!r}: {found}"
    return ""
