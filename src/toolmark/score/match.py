"""Calls against a published truth: the official BFCL AST rules, exactly (specification section 2).

A truth is `{function: {parameter: [option, ...]}}`; the option `""` means "may be left out". Pure
functions on plain values, fast because whatever equals an option as it stands is never normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from toolmark.score import pairing, values
from toolmark.score.kinds import PYTHON, Kinds

Made: TypeAlias = tuple[str, Mapping[Any, Any]]
Doc: TypeAlias = Mapping[str, Any]
Truth: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]

_SIMPLE = "simple_function_checker"
_UNEXPECTED = f"{_SIMPLE}:unexpected_param"
_MISSING = f"{_SIMPLE}:missing_required"
_OMITTED = f"{_SIMPLE}:missing_optional"
_NAME = f"{_SIMPLE}:wrong_func_name"
_PARALLEL = "parallel_function_checker_no_order"


class Fault(Struct, frozen=True):
    """Why calls do not match: the official error type and where.

    `call` is the index of the call made, or of the expected one where none was found (`expected`);
    `got` and `want` are what stood there and what would have passed. `near` holds, for a parallel
    truth without a match, the fault of each call that was tried.
    """

    native: str
    call: int = 0
    tool: str = ""
    parameter: str = ""
    got: Any = None
    want: Any = None
    expected: int = -1
    near: tuple[Fault, ...] = ()


def check(
    docs: Sequence[Doc],
    made: Sequence[Made],
    truth: Sequence[Truth],
    kind: str,
    *,
    kinds: Kinds = PYTHON,
    also: Kinds | None = None,
) -> Fault | None:
    """Return the first fault of the calls made, None if they match.

    `kind` is the category's name: with "parallel" in it order is free, with "multiple" the doc is
    chosen by the truth, otherwise the first doc is meant. `also` is a second way to read a value,
    for what fails in the first. Raises Unsound where the published truth
    is one that the official code cannot handle either.
    """
    if "parallel" in kind:
        return _parallel(docs, made, truth, kinds, also)
    if "multiple" in kind:
        if len(made) != len(truth):
            return Fault("multiple_function_checker:wrong_count", got=len(made), want=len(truth))
        return one(_doc(docs, truth[0]), made[0], truth[0], 0, kinds, also)
    if len(made) != 1:
        return Fault(f"{_SIMPLE}:wrong_count", got=len(made), want=1)
    return one(docs[0], made[0], truth[0], 0, kinds, also)


def best(docs: Sequence[Doc], made: Sequence[Made], truth: Sequence[Truth]) -> Fault | None:
    """Match parallel calls as well as possible: None if there is any pairing in which all match.

    The official matcher goes through the truth in order and takes the first call that fits, so
    that it can miss a pairing (`check`).
    """
    if len(made) != len(truth):
        return Fault(f"{_PARALLEL}:wrong_count", got=len(made), want=len(truth))
    faults = [
        [one(_doc(docs, expected), call, expected, at) for at, call in enumerate(made)]
        for expected in truth
    ]
    owner = pairing.most([[fault is None for fault in row] for row in faults])
    for position, row in enumerate(faults):
        if position not in owner.values():
            free = tuple(x for at, x in enumerate(row) if at not in owner and x is not None)
            return _unmatched(truth, position, free)
    return None


def _unmatched(truth: Sequence[Truth], position: int, near: tuple[Fault, ...]) -> Fault:
    return Fault(
        f"{_PARALLEL}:cannot_find_match",
        call=position,
        tool=next(iter(truth[position])),
        expected=position,
        near=near,
    )


def _parallel(
    docs: Sequence[Doc],
    made: Sequence[Made],
    truth: Sequence[Truth],
    kinds: Kinds,
    also: Kinds | None,
) -> Fault | None:
    """Greedy: each truth in order takes the first unused call that matches, without going back."""
    if len(made) != len(truth):
        return Fault(f"{_PARALLEL}:wrong_count", got=len(made), want=len(truth))
    left = list(range(len(made)))
    for position, expected in enumerate(truth):
        doc = _doc(docs, expected)
        name = doc["name"]
        tried: list[Fault | None] = []
        for index in left:
            if made[index][0] != name:
                tried.append(None)  # the commonest fault, told only where it matters
                continue
            fault = one(doc, made[index], expected, index, kinds, also)
            if fault is None:
                left.remove(index)
                break
            tried.append(fault)
        else:
            pairs = zip(left, tried, strict=True)
            near = tuple(fault or _misnamed(made[index], doc, index) for index, fault in pairs)
            return _unmatched(truth, position, near)
    return None


def _doc(docs: Sequence[Doc], truth: Truth) -> Doc:
    name = next(iter(truth))
    for doc in docs:
        if doc["name"] == name:
            return doc
    raise values.Unsound(f"the truth names {name!r}, which no doc describes")


def _misnamed(made: Made, doc: Doc, index: int) -> Fault:
    return Fault(_NAME, index, made[0], got=made[0], want=doc["name"])


def one(
    doc: Doc,
    made: Made,
    truth: Truth,
    index: int = 0,
    kinds: Kinds = PYTHON,
    also: Kinds | None = None,
) -> Fault | None:
    """Match one call: name, required, then each parameter in the model's order, then the rest."""
    name, given = made
    if name != doc["name"]:
        return _misnamed(made, doc, index)
    (wanted,) = truth.values()
    schema = doc["parameters"]
    for parameter in schema["required"]:
        if parameter not in given:
            want = wanted.get(parameter)
            return Fault(_MISSING, index, name, parameter, want=want)
    properties = schema["properties"]
    scalars = kinds.scalars
    for parameter, value in given.items():
        try:
            spec, options = properties[parameter], wanted[parameter]
        except KeyError:
            return Fault(_UNEXPECTED, index, name, str(parameter), value, list(wanted))
        if type(value) is scalars.get(spec["type"]) and value in options:
            continue  # passes as a value and as a variable alike
        native = _argument(spec, value, options, kinds)
        if native and (also is None or _argument(spec, value, options, also)):
            return Fault(native, index, name, parameter, value, options)
    if len(given) == len(wanted):
        return None
    for parameter, options in wanted.items():
        if parameter not in given and "" not in options:
            return Fault(_OMITTED, index, name, parameter, want=options)
    return None


_Rule: TypeAlias = Callable[[Any, Sequence[Any]], str]
_RULES: dict[type, _Rule] = {str: values.text, dict: values.mapping, list: values.array}


def _argument(spec: Mapping[str, Any], value: Any, options: Sequence[Any], kinds: Kinds) -> str:
    """Return the official error type of one argument, "" if it matches."""
    expected, inner, value, native = kinds.read(spec, value)
    if native:
        return native
    kind, first = type(value), _first(options)
    if kind is expected and (inner is None or _inner(value, options, inner)):
        variable = first is not None and first is not expected
    elif first is None or kind is not first:
        return "type_error:simple"
    elif kind is expected:
        return "type_error:nested"
    else:
        variable = True
    rule = None if variable else _RULES.get(expected)
    if rule is None:
        return "" if value in options else "value_error:others"
    if rule is values.array and inner is dict:
        rule = values.mappings
    return rule(value, options)


def _first(options: Sequence[Any]) -> type | None:
    """Return the type of the first option that is not the mark for "may be left out"."""
    for option in options:
        if option != "":
            return type(option)
    return None


def _inner(value: Sequence[Any], options: Sequence[Any], inner: type) -> bool:
    """Tell whether some option admits the types of the elements; one that is no list does."""
    for option in options:
        if type(option) is not list:
            return True
        first = _first(option)
        for item in value:
            if type(item) is not inner and type(item) is not first:
                break
        else:
            return True
    return False
