"""Calls against a published truth: exactly the official BFCL AST rules (specification section 2).

A truth is `{function: {parameter: [option, ...]}}`; the option `""` means "may be left out". The
functions are pure and fast, because a value that equals an option is not normalised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from toolmark.scoring import maximum_matching, value_matching
from toolmark.scoring.value_conversion import PYTHON_CONVERTER, ValueConverter

MadeCall: TypeAlias = tuple[str, Mapping[Any, Any]]
FunctionDoc: TypeAlias = Mapping[str, Any]
ExpectedCall: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]

_SIMPLE = "simple_function_checker"
_UNEXPECTED = f"{_SIMPLE}:unexpected_param"
_MISSING = f"{_SIMPLE}:missing_required"
_MISSING_OPTIONAL = f"{_SIMPLE}:missing_optional"
_NAME = f"{_SIMPLE}:wrong_func_name"
_PARALLEL = "parallel_function_checker_no_order"


class MatchFault(Struct, frozen=True):
    """Why calls do not match: the official error type (`error_type`) and its place.

    `call_index` is the index of the predicted call, or of the expected call where none matches it
    (`expected_call`). `value` is the value found, and `accepted_values` shows values that pass. For
    an expected parallel call without a match, `candidates` has the fault of each call that was
    tried.
    """

    error_type: str
    call_index: int = 0
    tool: str = ""
    parameter: str = ""
    value: Any = None
    accepted_values: Any = None
    expected_call: int = -1
    candidates: tuple[MatchFault, ...] = ()


def check_calls(
    docs: Sequence[FunctionDoc],
    predicted: Sequence[MadeCall],
    truth: Sequence[ExpectedCall],
    category: str,
    *,
    converter: ValueConverter = PYTHON_CONVERTER,
    fallback: ValueConverter | None = None,
) -> MatchFault | None:
    """Return the first fault of the calls `predicted`, None if they match.

    `category` is the category's name: with "parallel" in it the order is free, with "multiple" the
    truth selects the doc, otherwise the first doc is used. `fallback` converts a value that fails
    with `converter`. Raises OfficialCheckerError for a published truth that the official code
    cannot handle either.
    """
    if "parallel" in category:
        return _check_parallel(docs, predicted, truth, converter, fallback)
    if "multiple" in category:
        if len(predicted) != len(truth):
            return MatchFault(
                "multiple_function_checker:wrong_count",
                value=len(predicted),
                accepted_values=len(truth),
            )
        return check_call(_find_doc(docs, truth[0]), predicted[0], truth[0], 0, converter, fallback)
    if len(predicted) != 1:
        return MatchFault(f"{_SIMPLE}:wrong_count", value=len(predicted), accepted_values=1)
    return check_call(docs[0], predicted[0], truth[0], 0, converter, fallback)


def check_any_pairing(
    docs: Sequence[FunctionDoc], predicted: Sequence[MadeCall], truth: Sequence[ExpectedCall]
) -> MatchFault | None:
    """Return None if any pairing of parallel calls matches them all, otherwise the first fault.

    The official matcher (`check_calls`) takes the first call that fits each expected call in order,
    so that it can miss such a pairing.
    """
    if len(predicted) != len(truth):
        return MatchFault(
            f"{_PARALLEL}:wrong_count", value=len(predicted), accepted_values=len(truth)
        )
    faults = [
        [
            check_call(_find_doc(docs, expected), call, expected, at)
            for at, call in enumerate(predicted)
        ]
        for expected in truth
    ]
    owner = maximum_matching.match_most([[fault is None for fault in row] for row in faults])
    for position, row in enumerate(faults):
        if position not in owner.values():
            free = tuple(x for at, x in enumerate(row) if at not in owner and x is not None)
            return _no_match_fault(truth, position, free)
    return None


def _no_match_fault(
    truth: Sequence[ExpectedCall], position: int, near: tuple[MatchFault, ...]
) -> MatchFault:
    return MatchFault(
        f"{_PARALLEL}:cannot_find_match",
        call_index=position,
        tool=next(iter(truth[position])),
        expected_call=position,
        candidates=near,
    )


def _check_parallel(
    docs: Sequence[FunctionDoc],
    predicted: Sequence[MadeCall],
    truth: Sequence[ExpectedCall],
    converter: ValueConverter,
    fallback: ValueConverter | None,
) -> MatchFault | None:
    """Match greedily: each expected call takes the first unused call that matches it."""
    if len(predicted) != len(truth):
        return MatchFault(
            f"{_PARALLEL}:wrong_count", value=len(predicted), accepted_values=len(truth)
        )
    unused = list(range(len(predicted)))
    for position, expected in enumerate(truth):
        doc = _find_doc(docs, expected)
        name = doc["name"]
        tried: list[MatchFault | None] = []
        for index in unused:
            if predicted[index][0] != name:
                tried.append(None)  # the most frequent fault, created only if it is returned
                continue
            fault = check_call(doc, predicted[index], expected, index, converter, fallback)
            if fault is None:
                unused.remove(index)
                break
            tried.append(fault)
        else:
            pairs = zip(unused, tried, strict=True)
            near = tuple(
                fault or _wrong_name_fault(predicted[index], doc, index) for index, fault in pairs
            )
            return _no_match_fault(truth, position, near)
    return None


def _find_doc(docs: Sequence[FunctionDoc], truth: ExpectedCall) -> FunctionDoc:
    name = next(iter(truth))
    for doc in docs:
        if doc["name"] == name:
            return doc
    raise value_matching.OfficialCheckerError(f"the truth names {name!r}, which no doc describes")


def _wrong_name_fault(predicted: MadeCall, doc: FunctionDoc, index: int) -> MatchFault:
    return MatchFault(_NAME, index, predicted[0], value=predicted[0], accepted_values=doc["name"])


def check_call(
    doc: FunctionDoc,
    predicted: MadeCall,
    truth: ExpectedCall,
    index: int = 0,
    converter: ValueConverter = PYTHON_CONVERTER,
    fallback: ValueConverter | None = None,
) -> MatchFault | None:
    """Return the first fault of one call, None if it matches.

    The order is: name, required parameters, each given parameter in the model's order, then missing
    optional parameters. Raises OfficialCheckerError as `check_calls` does.
    """
    name, arguments = predicted
    if name != doc["name"]:
        return _wrong_name_fault(predicted, doc, index)
    (wanted,) = truth.values()
    schema = doc["parameters"]
    for parameter in schema["required"]:
        if parameter not in arguments:
            want = wanted.get(parameter)
            return MatchFault(_MISSING, index, name, parameter, accepted_values=want)
    properties = schema["properties"]
    scalars = converter.unconverted_types
    for parameter, value in arguments.items():
        try:
            spec, options = properties[parameter], wanted[parameter]
        except KeyError:
            return MatchFault(_UNEXPECTED, index, name, str(parameter), value, list(wanted))
        if type(value) is scalars.get(spec["type"]) and value in options:
            continue  # passes both as a value and as a variable name
        error_type = _check_argument(spec, value, options, converter)
        if error_type and (fallback is None or _check_argument(spec, value, options, fallback)):
            return MatchFault(error_type, index, name, parameter, value, options)
    if len(arguments) == len(wanted):
        return None
    for parameter, options in wanted.items():
        if parameter not in arguments and "" not in options:
            return MatchFault(_MISSING_OPTIONAL, index, name, parameter, accepted_values=options)
    return None


_ValueRule: TypeAlias = Callable[[Any, Sequence[Any]], str]
_VALUE_RULES: dict[type, _ValueRule] = {
    str: value_matching.check_text,
    dict: value_matching.check_map,
    list: value_matching.check_list,
}


def _check_argument(
    spec: Mapping[str, Any], value: Any, options: Sequence[Any], converter: ValueConverter
) -> str:
    """Return the official error type of one argument, "" if it matches."""
    expected, inner, value, error_type = converter.convert(spec, value)
    if error_type:
        return error_type
    kind, first = type(value), _first_option_type(options)
    if kind is expected and (inner is None or _admits_elements(value, options, inner)):
        variable = first is not None and first is not expected
    elif first is None or kind is not first:
        return "type_error:simple"
    elif kind is expected:
        return "type_error:nested"
    else:
        variable = True
    rule = None if variable else _VALUE_RULES.get(expected)
    if rule is None:
        return "" if value in options else "value_error:others"
    if rule is value_matching.check_list and inner is dict:
        rule = value_matching.check_maps
    return rule(value, options)


def _first_option_type(options: Sequence[Any]) -> type | None:
    """Return the type of the first option that is not "", None without one."""
    for option in options:
        if option != "":
            return type(option)
    return None


def _admits_elements(value: Sequence[Any], options: Sequence[Any], inner: type) -> bool:
    """Tell whether an option allows the types of the elements; one that is not a list does."""
    for option in options:
        if type(option) is not list:
            return True
        first = _first_option_type(option)
        for item in value:
            if type(item) is not inner and type(item) is not first:
                break
        else:
            return True
    return False
