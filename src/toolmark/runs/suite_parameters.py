"""The parameters of a suite: one frozen record says names, types, bounds, defaults and meanings.

Conversion of what a user types, help, JSON Schema, the tables of the documentation and the record
of a run all follow from it. A suite of the user's own may be a plain function: its signature and
docstring are turned into such a record.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

import msgspec
from msgspec import inspect as types

from toolmark.core.decode_errors import field_path
from toolmark.core.errors import UsageError, suggest_names, suggest_near_names

P = TypeVar("P", bound="SuiteParameters")
_BOOLEAN_WORDS = {"yes": True, "on": True, "no": False, "off": False}  # as well as true and false
_DOCUMENTED_ARGUMENT = re.compile(r"\s*(\w+):\s+(.*)")


class SuiteParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the parameters of a suite.

    Each field has a default, and an annotation with its bounds and its description. The first
    paragraph of the docstring says what the suite asks.
    """


class ParameterField(NamedTuple):
    """One parameter as a reader sees it."""

    name: str
    kind: str
    default: Any
    description: str


def read_parameters(kind: type[P], values: Mapping[str, Any], *, suite: str) -> P:
    """Return the parameters with these values; text is converted to the type of its field.

    Raises UsageError for an unknown parameter, naming the nearest, and for a value that is not of
    its type or out of its bounds.
    """
    known = kind.__struct_fields__
    for name in values:
        if name not in known:
            raise UsageError(
                f"suite {suite!r} has no parameter {name!r}"
                f"{suggest_names(name, known, listing=f'toolmark list {suite}')}"
            )
    fields = {each.encode_name: each.type for each in _struct_fields(kind)}
    read = {name: _value_of_text(value, fields[name]) for name, value in values.items()}
    try:
        return msgspec.convert(read, kind, strict=False)
    except msgspec.ValidationError as error:
        name = re.match(r"\.?(\w*)", field_path(error))[1]  # type: ignore[index]
        given = values.get(name)
        raise UsageError(
            f"suite {suite!r}: parameter {name}: expected "
            f"{_expected_type(fields[name], article='a ')}, got {given!r}"
            f"{_nearest_choice(given, fields[name])}"
        ) from None


def read_known_parameters(kind: type[P], values: Mapping[str, Any], *, suite: str) -> P:
    """Return the parameters with these values, as from a file; unknown names are left out."""
    known = {name: value for name, value in values.items() if name in kind.__struct_fields__}
    return read_parameters(kind, known, suite=suite)


def recorded_values(parameters: SuiteParameters, **resolved: Any) -> dict[str, Any]:
    """Return what a run records; `resolved` are values that the suite chose itself."""
    return msgspec.structs.asdict(parameters) | resolved


def list_fields(kind: type[SuiteParameters]) -> list[ParameterField]:
    """Return the parameters in the order of the class."""
    return [
        ParameterField(
            each.encode_name,
            _expected_type(each.type),
            None if each.default is msgspec.NODEFAULT else each.default,
            _description(each.type),
        )
        for each in _struct_fields(kind)
    ]


def first_paragraph(doc: str | None) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return inspect.cleandoc(doc or "").split("\n\n")[0].replace("\n", " ")


def parameters_of_function(function: Callable[..., Any]) -> type[SuiteParameters]:
    """Return parameters with the keywords of a function, as its signature and docstring say.

    Raises UsageError for a parameter without a type or a default.
    """
    try:
        annotations = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"{function.__qualname__}: {error}") from None
    descriptions = _argument_descriptions(inspect.getdoc(function) or "")
    fields = []
    for each in inspect.signature(function).parameters.values():
        if each.default is each.empty or each.name not in annotations:
            raise UsageError(
                f"{function.__qualname__}: parameter {each.name} needs a type and a default"
            )
        description = msgspec.Meta(description=descriptions.get(each.name, ""))
        fields.append((each.name, Annotated[annotations[each.name], description], each.default))
    made = msgspec.defstruct(
        "Parameters", fields, bases=(SuiteParameters,), frozen=True, kw_only=True
    )
    made.__doc__ = inspect.getdoc(function)
    return made  # type: ignore[return-value]


def _struct_fields(kind: type[SuiteParameters]) -> tuple[types.Field, ...]:
    found = types.type_info(kind)
    assert isinstance(found, types.StructType)
    return found.fields


def _bare_type(kind: types.Type) -> types.Type:
    """Return a type without its description."""
    return kind.type if isinstance(kind, types.Metadata) else kind


def _alternatives(kind: types.Type) -> tuple[types.Type, ...]:
    """Return the types of a union but None, each without its description."""
    bare = _bare_type(kind)
    found = bare.types if isinstance(bare, types.UnionType) else (bare,)
    return tuple(each for each in map(_bare_type, found) if not isinstance(each, types.NoneType))


def _description(kind: types.Type) -> str:
    if not isinstance(kind, types.Metadata):
        return ""
    return " ".join(str((kind.extra_json_schema or {}).get("description", "")).split())


def _value_of_text(value: Any, kind: types.Type) -> Any:
    """Return text as what msgspec converts to the type: switches by words, lists by commas."""
    if not isinstance(value, str):
        return value
    kinds = _alternatives(kind)
    if any(isinstance(each, types.BoolType) for each in kinds):
        return _BOOLEAN_WORDS.get(value.lower(), value)
    if any(isinstance(each, types.VarTupleType) for each in kinds):
        return [word.strip() for word in value.split(",") if word.strip()]
    return value


def _expected_type(kind: types.Type, *, article: str = "") -> str:
    """Return a type in words, with its bounds; a choice is shown by its values."""
    return " | ".join(_expected_one(each, article) for each in _alternatives(kind))


def _expected_one(kind: types.Type, article: str) -> str:
    match kind:
        case types.LiteralType(values):
            return " | ".join(str(value) or '""' for value in values)
        case types.BoolType():
            return "yes or no"
        case types.VarTupleType(item):
            choices = (
                _expected_type(item) if isinstance(_bare_type(item), types.LiteralType) else ""
            )
            return (
                f"some of {choices}, separated by commas"
                if choices
                else "words, separated by commas"
            )
        case types.IntType() | types.FloatType():
            name = "whole number" if isinstance(kind, types.IntType) else "number"
            bounds = [
                f"{sign} {bound}"
                for sign, bound in (
                    (">", kind.gt),
                    (">=", kind.ge),
                    ("<", kind.lt),
                    ("<=", kind.le),
                )
                if bound is not None
            ]
            return f"{article}{name} {' and '.join(bounds)}".strip()
        case types.StrType():
            return "text"
    return type(kind).__name__.removesuffix("Type").lower()


def _nearest_choice(value: Any, kind: types.Type) -> str:
    choices = [
        str(choice)
        for each in _alternatives(kind)
        if isinstance(each, types.LiteralType)
        for choice in each.values
    ]
    return suggest_near_names(value, choices) if isinstance(value, str) and choices else ""


def _argument_descriptions(doc: str) -> dict[str, str]:
    """Return the descriptions in the Args section of a docstring, by name."""
    _, found, section = doc.partition("\nArgs:\n")
    descriptions: dict[str, str] = {}
    name, indent = "", 0
    for line in section.splitlines() if found else ():
        depth = len(line) - len(line.lstrip())
        if not line.strip():
            continue
        indent = indent or depth
        if depth < indent:
            break
        if depth == indent and (match := _DOCUMENTED_ARGUMENT.match(line)):
            name = match[1]
            descriptions[name] = match[2]
        elif name:
            descriptions[name] += f" {line.strip()}"
    return descriptions
