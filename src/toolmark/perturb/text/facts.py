"""What the reference says must be understood: the argument values, and how text is recorded.

A fact is one argument value of a reference call, with every spelling the reference accepts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolmark.types import Record, Tool


class Fact(Record, frozen=True):
    """One value: the path of its parameter ("call.list[0].field") and the accepted values."""

    name: str
    values: tuple[Any, ...]


class Change(Record, frozen=True):
    """One change of the wording: what, at which word, and the words before and after it."""

    feature: str
    at: int
    before: str
    after: str


class Said(Record, frozen=True):
    """What is said in the end, and all that was changed to get there."""

    text: str
    changes: tuple[Change, ...] = ()


def facts_of(truth: Any) -> tuple[Fact, ...]:
    """Return the facts of a reference: BFCL's `{name: {parameter: [accepted, ...]}}` or call texts.

    Lists and dicts are flattened to their leaves. Empty values, which stand for "may be left out",
    are no facts. Call texts such as `f(x=1)` are read as syntax and never run; a text that
    is no call, or an argument that is no literal, holds no fact.
    """
    found: dict[str, list[Any]] = {}
    for n, call in enumerate(_calls(truth)):
        for name, given in call.items():
            for path, value in _parameters(given, name if n == 0 else f"{name}#{n + 1}"):
                kept = found.setdefault(path, [])
                if value not in kept or type(value) is not type(kept[kept.index(value)]):
                    kept.append(value)
    return tuple(Fact(path, tuple(values)) for path, values in found.items() if values)


def enums(tools: Iterable[Tool]) -> tuple[Fact, ...]:
    """Return the closed choices of the tools' parameters as facts: words that must stay whole."""
    return tuple(fact for tool in tools for fact in _choices(tool.parameters, tool.name))


def _calls(truth: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(truth, Mapping):
        yield truth
    elif isinstance(truth, str):
        yield from _parsed(truth)
    elif isinstance(truth, Sequence) and not isinstance(truth, bytes):
        for entry in truth:
            yield from _calls(entry)


def _parsed(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if not isinstance(node, ast.Call):
        return
    pairs = [(str(n), value) for n, value in enumerate(node.args)]
    pairs += [(word.arg or "", word.value) for word in node.keywords]
    given = {}
    for name, value in pairs:
        try:
            given[name] = [ast.literal_eval(value)]
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    yield {ast.unparse(node.func): given}


def _parameters(given: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of one call: every parameter holds a list of accepted values."""
    if not isinstance(given, Mapping):
        return
    for name, accepted in given.items():
        for value in accepted if isinstance(accepted, list | tuple) else [accepted]:
            yield from _leaves(value, f"{path}.{name}")


def _leaves(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > 40:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            # inside accepted values, a dict's fields again hold lists of accepted values
            for option in inner if isinstance(inner, list | tuple) else [inner]:
                yield from _leaves(option, f"{path}.{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for n, inner in enumerate(value):
            yield from _leaves(inner, f"{path}[{n}]", depth + 1)
    elif value is not None and value != "":
        yield path, value


def _choices(schema: Any, path: str, depth: int = 0) -> Iterator[Fact]:
    if not isinstance(schema, Mapping) or depth > 20:
        return
    options = schema.get("enum")
    if isinstance(options, list | tuple):
        for n, value in enumerate(options):
            if isinstance(value, str) and value:
                yield Fact(f"{path}[{n}]", (value,))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _choices(inner, f"{path}.{name}", depth + 1)
    yield from _choices(schema.get("items"), f"{path}[]", depth + 1)
