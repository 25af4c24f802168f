"""Schemas of tools against JSON Schema, and expected calls against the schemas of their tools.

Patterns in a schema are not applied: Python's engine can take forever on a pattern, and a file of
rows may come from anywhere. Formats are not applied either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema_specifications import REGISTRY as SPECIFICATIONS
from referencing import Registry

from toolmark.authoring.row_messages import fail
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Tool
from toolmark.scoring.comparators import Comparator, from_row
from toolmark.scoring.expected_calls import (
    OMITTABLE,
    CallExpectation,
    ExpectedCall,
    plain_value,
)

MAX_STORED_SCHEMAS = 1024
_MAX_PROBLEM_CHARS = 200
_JSON_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
# what is checked for each parameter alone, or says nothing of values
_PLAIN_KEYWORDS = {
    "type", "properties", "required", "description", "title", "default", "examples", "$schema",
    "$id", "$comment",
}  # fmt: skip


# a schema of a row may refer to what it holds itself, and to nothing else
NOTHING_IS_FETCHED: Registry[Any] = Registry()


class SchemaChecks:
    """Checks of the tools of a file; what was made for a schema is used again."""

    def __init__(self) -> None:
        self._validators: dict[str, Draft202012Validator] = {}

    def check_tool(self, tool: Tool, field: str) -> None:
        """Raise RowFault for a tool whose schema is no JSON Schema, with the place in it."""
        text = repr(tool.parameters)
        if text not in self._validators:
            _check_schema(tool.parameters, field)
            self._store_fault(text, tool.parameters)

    def check_call(
        self, call: ExpectedCall, tool: Tool, field: str, *, ignored: Collection[str] = ()
    ) -> None:
        """Raise RowFault for expected arguments that no call of the tool can have.

        `ignored` are the arguments that do not count. With a doc of BFCL nothing is checked: some
        published answers contradict their docs, and BFCL's own rule judges them.
        """
        if tool.source is not None:
            return
        properties = tool.parameters["properties"]
        for name in (*call.arguments, *call.accepted):
            is_optional = OMITTABLE in call.accepted.get(name, ())
            if name not in properties and name not in ignored and not is_optional:
                kind = "arguments" if name in call.arguments else "accepted"
                known = suggest_names(name, properties)
                fail(f"{field}.{kind}.{name}", f"{call.name} has no such parameter{known}")
        for name in call.accepted:
            if name in call.arguments:
                fail(f"{field}.accepted.{name}", "it is in arguments too; remove one")
        missing = [
            name
            for name in tool.parameters.get("required", [])
            if name not in call.arguments and name not in call.accepted and name not in ignored
        ]
        if missing:
            fail(
                f"{field}.arguments",
                f"{missing[0]!r} is required by the schema of {call.name}; add it, or ignore it",
            )
        self._check_values(call, tool, field, ignored)

    def _check_values(
        self, call: ExpectedCall, tool: Tool, field: str, ignored: Collection[str]
    ) -> None:
        properties = tool.parameters["properties"]
        instance: dict[str, Any] = {}
        for name, value in call.arguments.items():
            if name not in ignored:
                self._check_value(properties[name], [value], f"{field}.arguments.{name}")
                instance[name] = value
        for name, choices in call.accepted.items():
            place = f"{field}.accepted.{name}"
            if not choices:
                fail(place, 'no value is accepted; list some, or "" where it may be left out')
            values = [plain_value(each) for each in choices if each != OMITTABLE]
            if name not in ignored and name in properties and values:
                instance[name] = self._check_value(properties[name], values, place)
        whole = tool.parameters
        if whole.keys() - _PLAIN_KEYWORDS and not {*ignored} & properties.keys():
            self._check_value(whole, [instance], f"{field}.arguments")

    def _check_value(self, schema: Any, values: Sequence[Any], field: str) -> Any:
        """Return the first value that a schema accepts; RowFault with the fault of the first."""
        if not isinstance(schema, dict) or _has_plain_type(schema, values[0]):
            return values[0]
        validator = self._validator(schema)
        first: ValidationError | None = None
        for value in values:
            fault = next(iter(validator.iter_errors(value)), None)
            if fault is None:
                return value
            first = first or fault
        assert first is not None
        problem = _describe_schema(first)
        fail(
            _place_of_fault(field, first.absolute_path), f"{problem}; correct the row or the schema"
        )

    def _validator(self, schema: Mapping[str, Any]) -> Draft202012Validator:
        text = repr(schema)
        found = self._validators.get(text)
        return self._store_fault(text, schema) if found is None else found

    def _store_fault(self, text: str, schema: Mapping[str, Any]) -> Draft202012Validator:
        if len(self._validators) == MAX_STORED_SCHEMAS:
            del self._validators[next(iter(self._validators))]
        made = self._validators[text] = Draft202012Validator(
            _without_patterns(schema), registry=NOTHING_IS_FETCHED
        )
        return made


def check_expectation(
    checks: SchemaChecks, expectation: CallExpectation, tools: Sequence[Tool]
) -> None:
    """Raise RowFault for an expected call of a tool that is not offered, or of other arguments."""
    tool_by_name = {tool.name: tool for tool in tools}
    for field, call in _expected_fields(expectation):
        if call.name not in tool_by_name:
            known = suggest_names(call.name, tool_by_name)
            fail(f"{field}.name", f"no tool {call.name!r}{known}")
        ignored = {
            name
            for each in expectation.ignore
            for tool_name, _, name in [each.rpartition(".")]
            if tool_name in ("", call.name)
        }
        checks.check_call(call, tool_by_name[call.name], field, ignored=ignored)


def _has_plain_type(schema: Mapping[str, Any], value: Any) -> bool:
    """Return whether a schema says only a type, and the value clearly has it; validators are slow.

    False says nothing.
    """
    if schema.keys() - _PLAIN_KEYWORDS or "properties" in schema or "required" in schema:
        return False
    kind = schema.get("type")
    return isinstance(kind, str) and type(value) in _TYPES_OF_KIND.get(kind, ())


_TYPES_OF_KIND: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


def check_compared_values(expectation: CallExpectation) -> None:
    """Raise RowFault for an expected value that its comparator cannot compare anything with."""
    comparators = {name: from_row(spec) for name, spec in expectation.compare.items()}
    if not comparators:
        return
    for field, call in _expected_fields(expectation):
        places = [("arguments", name, [value]) for name, value in call.arguments.items()]
        places += [("accepted", name, values) for name, values in call.accepted.items()]
        for kind, name, values in places:
            comparator = comparators.get(f"{call.name}.{name}", comparators.get(name))
            if comparator is not None:
                counted = [value for value in values if kind != "accepted" or value != OMITTABLE]
                _check_compared(comparator, counted, f"{field}.{kind}.{name}")


def _check_compared(comparator: Comparator, values: Iterable[Any], field: str) -> None:
    for value in values:
        try:
            comparator.compare_value(value, value)
        except UsageError as error:
            fail(field, str(error))


def _expected_fields(expectation: CallExpectation) -> Iterator[tuple[str, ExpectedCall]]:
    """Yield the expected calls with their places in the row."""
    for number, call in enumerate(expectation.expected or ()):
        yield f"expected[{number}]", call
    for at, choice in enumerate(expectation.alternatives):
        for number, call in enumerate(choice):
            yield f"alternatives[{at}][{number}]", call


def _check_schema(schema: Mapping[str, Any], field: str) -> None:
    """Raise RowFault for what is no JSON Schema."""
    rules = Draft202012Validator(Draft202012Validator.META_SCHEMA, registry=SPECIFICATIONS)
    fault = next(iter(rules.iter_errors(schema)), None)
    if fault is None:
        return
    path = list(fault.absolute_path)
    if path and path[-1] == "type":
        problem = f"no type {fault.instance!r}{suggest_names(str(fault.instance), _JSON_TYPES)}"
    else:
        problem = f"no JSON Schema: {_describe_schema(fault)}"
    fail(_place_of_fault(field, path), problem)


def _describe_schema(fault: ValidationError) -> str:
    """Return in one line why a value does not fit."""
    text = " ".join(fault.message.split())
    return text if len(text) <= _MAX_PROBLEM_CHARS else f"{text[:_MAX_PROBLEM_CHARS]}..."


def _place_of_fault(field: str, path: Iterable[str | int]) -> str:
    return field + "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)


def _without_patterns(schema: Any) -> Any:
    """Return a schema without patterns; where names follow a pattern, others are allowed too."""
    if isinstance(schema, list):
        return [_without_patterns(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    dropped = {"pattern"} if isinstance(schema.get("pattern"), str) else set()
    if isinstance(schema.get("uniqueItems"), bool):
        dropped |= {"uniqueItems"}  # its check takes quadratic time
    if isinstance(schema.get("patternProperties"), dict):
        dropped |= {"patternProperties", "additionalProperties", "unevaluatedProperties"}
    return {key: _without_patterns(each) for key, each in schema.items() if key not in dropped}
