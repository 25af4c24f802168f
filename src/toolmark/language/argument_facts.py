"""Facts of a reference: the argument values that must be understood; records of text changes.

A fact is one argument value of a reference call, with every spelling the reference accepts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from toolmark.core.records import Record, Tool


class Fact(Record, frozen=True):
    """One value: the path of its parameter ("call.list[0].field") and the accepted values."""

    name: str
    values: tuple[Any, ...]


class TextChange(Record, frozen=True):
    """One change of a text: feature, word index `at`, and the words before and after the change."""

    feature: str
    at: int
    before: str
    after: str


class SpokenText(Record, frozen=True):
    """The spoken text, and every change that was made to get it."""

    text: str
    changes: tuple[TextChange, ...] = ()


def extract_facts(truth: Any) -> tuple[Fact, ...]:
    """Return the facts of a reference: BFCL's `{name: {parameter: [accepted, ...]}}` or call texts.

    Lists and dicts are flattened to their leaves. An empty value, which means "may be left out",
    is not a fact. Call texts such as `f(x=1)` are parsed and never run. A text that is not a call
    has no facts, and an argument that is not a literal gives none.
    """
    found: dict[str, list[Any]] = {}
    for n, call in enumerate(_iterate_calls(truth)):
        for name, arguments in call.items():
            for path, value in _parameter_values(arguments, name if n == 0 else f"{name}#{n + 1}"):
                accepted = found.setdefault(path, [])
                if value not in accepted or type(value) is not type(
                    accepted[accepted.index(value)]
                ):
                    accepted.append(value)
    return tuple(Fact(path, tuple(values)) for path, values in found.items() if values)


def enum_facts(tools: Iterable[Tool]) -> tuple[Fact, ...]:
    """Return the enum values of the tools' parameters as facts: they must not be changed."""
    return tuple(fact for tool in tools for fact in _choice_facts(tool.parameters, tool.name))


def _iterate_calls(truth: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(truth, Mapping):
        yield truth
    elif isinstance(truth, str):
        yield from _parse_call(truth)
    elif isinstance(truth, Sequence) and not isinstance(truth, bytes):
        for entry in truth:
            yield from _iterate_calls(entry)


def _parse_call(text: str) -> Iterator[Mapping[str, Any]]:
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    if not isinstance(node, ast.Call):
        return
    pairs = [(str(n), value) for n, value in enumerate(node.args)]
    pairs += [(word.arg or "", word.value) for word in node.keywords]
    arguments = {}
    for name, value in pairs:
        try:
            arguments[name] = [ast.literal_eval(value)]
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            continue
    yield {ast.unparse(node.func): arguments}


def _parameter_values(arguments: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of one call; every parameter has a list of accepted values."""
    if not isinstance(arguments, Mapping):
        return
    for name, accepted in arguments.items():
        for value in accepted if isinstance(accepted, list | tuple) else [accepted]:
            yield from _leaf_values(value, f"{path}.{name}")


def _leaf_values(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > 40:
        return
    if isinstance(value, Mapping):
        for name, inner in value.items():
            # inside accepted values, each field of a dict is again a list of accepted values
            for option in inner if isinstance(inner, list | tuple) else [inner]:
                yield from _leaf_values(option, f"{path}.{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for n, inner in enumerate(value):
            yield from _leaf_values(inner, f"{path}[{n}]", depth + 1)
    elif value is not None and value != "":
        yield path, value


def _choice_facts(schema: Any, path: str, depth: int = 0) -> Iterator[Fact]:
    if not isinstance(schema, Mapping) or depth > 20:
        return
    options = schema.get("enum")
    if isinstance(options, list | tuple):
        for n, value in enumerate(options):
            if isinstance(value, str) and value:
                yield Fact(f"{path}[{n}]", (value,))
    for name, inner in (schema.get("properties") or {}).items():
        yield from _choice_facts(inner, f"{path}.{name}", depth + 1)
    yield from _choice_facts(schema.get("items"), f"{path}[]", depth + 1)
