"""Tools from Python functions: the schema from type hints, the descriptions from the docstring.

Types are those of msgspec: plain types, containers, `Literal`, enums, dataclasses, TypedDicts,
Structs, dates; and Pydantic models. A description is the docstring's (Google, NumPy or Sphinx
style), or stands in the annotation: `Annotated[int, "Full hour"]`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NoReturn, TypeVar, get_args, get_origin, get_type_hints, overload

import docstring_parser
import msgspec

from toolmark.core import json_codec
from toolmark.core.call_time_limits import (
    BoundedSteps,
    CallHangs,
    EpisodeTimeOver,
    bounded_time,
    is_own_timeout,
)
from toolmark.core.called_code import code_place
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import (
    ToolEnvironmentError,
    ToolError,
    UsageError,
    describe_error,
    suggest_names,
)
from toolmark.core.number_format import format_count, format_duration
from toolmark.core.records import Call, Result, Text, Tool
from toolmark.core.type_schemas import decode_foreign, object_schema

F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_TIME_LIMIT_S = 60.0
MAX_RESULT_CHARS = 4_000_000  # no model reads more
_MARK = "toolmark_tool"
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True)
class ToolMark:
    """What `@tool` notes of a function: its name and description, how it may be called.

    - `name`, `description`: "" for those of the function and its docstring.
    - `read_only`: whether calls leave the environment as it is.
    - `time_limit_s`: after so many seconds a call counts as hung.
    """

    name: str = ""
    description: str = ""
    read_only: bool = False
    time_limit_s: float = DEFAULT_TIME_LIMIT_S


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str = "",
    description: str = "",
    read_only: bool = False,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> Callable[[F], F]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str = "",
    description: str = "",
    read_only: bool = False,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> Any:
    """Mark a function, or a method of an Environment, as a tool that the model may call.

    The function may be async. What it returns is the result: text as it is, any other plain value
    as JSON, None as "ok". It raises ToolError for what the model should read; any other exception
    is the fault of the environment, and the episode is not run.

    Args:
        function: The function; the decorator is written with or without parentheses.
        name: The name of the tool, by default that of the function.
        description: What the tool does, by default the docstring's text before its arguments.
        read_only: The tool changes nothing: `match_calls` and `expected_calls` can let extra calls
            of it pass.
        time_limit_s: A call that takes longer ends the episode as not run. Where an episode has a
            time limit (`--time-limit`) and less of it is left, that counts.
    """

    def mark(marked: F) -> F:
        candidate: object = marked
        if not callable(candidate) and not isinstance(candidate, staticmethod | classmethod):
            kind = type(marked).__name__
            raise UsageError(f"@tool marks a function or a method, got a {kind}; write a method")
        setattr(marked, _MARK, ToolMark(name, description, read_only, time_limit_s))
        return marked

    return mark if function is None else mark(function)


def find_tools(kind: type) -> dict[str, FunctionTool]:
    """Return the methods of a class that are marked as tools, by tool name, base classes first.

    A subclass that sets a tool's method to None has it no more. Raises UsageError for a marked
    property, and for a method without the mark in the place of a tool.
    """
    found: dict[str, FunctionTool] = {}
    names = dict.fromkeys(name for base in reversed(kind.__mro__) for name in vars(base))
    for name in names:
        method = inspect.getattr_static(kind, name)
        where = f"{kind.__qualname__}.{name}"
        if isinstance(method, property) and is_marked(method.fget):
            raise UsageError(f"{where} is a property, which takes no call; write a method")
        if is_marked(method):
            each = FunctionTool(method, is_method=True)
            if each.name in found:
                raise UsageError(f"{kind.__qualname__}: two tools are named {each.name!r}")
            found[each.name] = each
        elif method is not None and any(is_marked(vars(b).get(name)) for b in kind.__mro__):
            raise UsageError(
                f"{where} replaces a tool and is none; next: mark it by @tool, or write "
                f"{name} = None"
            )
    return found


def is_marked(method: object) -> bool:
    """Return whether a function is a tool; a static or class method may be marked inside."""
    if isinstance(getattr(method, _MARK, None), ToolMark):
        return True
    return isinstance(method, staticmethod | classmethod) and is_marked(method.__func__)


class FunctionTool:
    """A function as a tool: its schema, and how a call of it is executed.

    `is_method` says that it stands in a class. Raises UsageError for a function whose parameters
    cannot be described.
    """

    def __init__(self, method: Any, *, is_method: bool = False) -> None:
        function = method.__func__ if isinstance(method, staticmethod | classmethod) else method
        marks = (getattr(each, _MARK, None) for each in (method, function))
        self._mark = next((each for each in marks if isinstance(each, ToolMark)), ToolMark())
        self._function = function
        self._is_class_method = isinstance(method, classmethod)
        self._is_method = is_method and not isinstance(method, staticmethod)
        self.name = self._mark.name or function.__name__
        self.read_only = self._mark.read_only
        self._documentation = docstring_parser.parse(inspect.getdoc(function) or "")
        self._arguments = self._make_argument_record()

    @cached_property
    def tool(self) -> Tool:
        """The tool as it is offered; its parameters are JSON Schema without references."""
        return Tool(
            name=self.name,
            description=self._mark.description or _function_description(self._documentation),
            parameters=object_schema(self._arguments),
            read_only=self.read_only,
        )

    def _make_argument_record(self) -> type[msgspec.Struct]:
        hints = _read_hints(self._function, self._where)
        texts = {each.arg_name: each.description for each in self._documentation.params}
        fields = [
            self._describe_parameter(each, hints, texts.get(each.name))
            for each in self._described_parameters()
        ]
        try:
            made = msgspec.defstruct(
                "Arguments", fields, kw_only=True, forbid_unknown_fields=True, module=__name__
            )
            object_schema(made)
        except (TypeError, RecursionError) as error:
            raise UsageError(f"{self._where}: {error}") from None
        return made

    @property
    def _where(self) -> str:
        return f"tool {self.name}"

    def _described_parameters(self) -> list[inspect.Parameter]:
        """Return the parameters that a model gives. Raises UsageError for a method without self."""
        parameters = list(inspect.signature(self._function).parameters.values())
        if self._is_method:
            if not parameters or parameters[0].kind in _VARIADIC:
                problem = "it takes no self; add it, or mark it as @staticmethod"
                raise UsageError(f"{self._where}: {problem}")
            del parameters[0]
        return parameters

    def _describe_parameter(
        self, parameter: inspect.Parameter, hints: Mapping[str, Any], text: str | None
    ) -> Any:
        """Return a parameter as a field of a record. Raises UsageError where it has no type."""
        name = parameter.name
        if parameter.kind in _VARIADIC or parameter.kind is parameter.POSITIONAL_ONLY:
            raise UsageError(
                f"{self._where}: parameter {parameter} cannot be described to a model; next: name "
                "each parameter, with a type"
            )
        if name not in hints:
            raise UsageError(
                f"{self._where}: parameter {name} has no type; next: write {name}: str, or the "
                "type that it has"
            )
        text = text or _annotated_text(hints[name])
        kind = _without_texts(hints[name])
        _check_default(parameter, kind, self._where)
        if text:
            kind = Annotated[kind, msgspec.Meta(description=" ".join(text.split()))]
        is_required = parameter.default is parameter.empty
        return (name, kind) if is_required else (name, kind, parameter.default)

    async def execute_call(self, owner: object, call: Call) -> Result:
        """Execute a call on the object whose method this is, None for a plain function.

        Arguments of the wrong shape, and ToolError, give a Result with `is_error`. Raises
        ToolEnvironmentError for a function that hangs or returns nothing that can be sent; what
        else the function raises passes through.
        """
        arguments = self._read_arguments(call)
        if isinstance(arguments, str):
            return _error_result(arguments)
        receiver = type(owner) if self._is_class_method else owner
        given = (receiver,) if self._is_method else ()
        try:
            if inspect.iscoroutinefunction(self._function):
                async with asyncio.timeout(self._mark.time_limit_s) as limit:
                    made = self._function(*given, **arguments)
                    value = await BoundedSteps(made, self._mark.time_limit_s)
                if limit.expired():  # the function swallowed the cancellation
                    raise CallHangs
            else:
                with bounded_time(self._mark.time_limit_s):
                    value = self._function(*given, **arguments)
        except ToolError as error:
            return _error_result(str(error))
        except (CallHangs, TimeoutError) as error:
            if isinstance(error, TimeoutError) and not is_own_timeout(error):
                raise
            if isinstance(error, CallHangs) and error.of_episode:
                raise EpisodeTimeOver from None
            self._raise_fault(f"did not return within {format_duration(self._mark.time_limit_s)}")
        except SystemExit as error:  # in a task of its own it would end the program
            raise ToolEnvironmentError(f"tool {self.name}: {describe_error(error)}") from None
        return self._make_result(value)

    def _read_arguments(self, call: Call) -> dict[str, Any] | str:
        """Return the arguments in the types of the function, or what is wrong with them."""
        try:
            found = json_codec.parse_json(call.arguments or "{}")
        except json_codec.InvalidJson as error:
            return f"the arguments are not JSON: {error}"
        if not isinstance(found, dict):
            return "the arguments must be one JSON object"
        known = self._arguments.__struct_fields__
        for name in found:
            if name not in known:
                return f"{self.name} has no parameter {name!r}{suggest_names(name, known)}"
        try:
            record = msgspec.convert(found, self._arguments, dec_hook=decode_foreign)
        except msgspec.ValidationError as error:
            return describe_decode_error(error, found)
        return {name: getattr(record, name) for name in known}

    def _make_result(self, value: Any) -> Result:
        if isinstance(value, Result):
            return value
        if isinstance(value, str):
            text = value
        elif value is None:
            text = "ok"
        else:
            try:
                plain = json_codec.convert_to_json(value)
            except (TypeError, ValueError, RecursionError) as error:
                kind = type(value).__name__
                self._raise_fault(
                    f"returned {kind}, which is neither text nor a JSON value: {error}"
                )
            text = json.dumps(plain, ensure_ascii=False)
        if len(text) > MAX_RESULT_CHARS:
            n, most = format_count(len(text)), format_count(MAX_RESULT_CHARS)
            self._raise_fault(f"returned {n} characters; a result has at most {most}")
        return Result(parts=(Text(json_codec.escape_surrogates(text)),))

    def _raise_fault(self, problem: str) -> NoReturn:
        """Raise ToolEnvironmentError with the place of the function."""
        place = code_place(self._function)
        raise ToolEnvironmentError(f"tool {self.name} {problem} ({place})") from None


def _error_result(text: str) -> Result:
    return Result(parts=(Text(json_codec.escape_surrogates(text)),), is_error=True)


# --- schemas ------------------------------------------------------------------------------


def _read_hints(function: Any, where: str) -> dict[str, Any]:
    """Return the type hints of a function. Raises UsageError for what has none to read."""
    try:
        return get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(f"{where}: {error}; a type hint names something unknown") from None
    except TypeError:
        kind = type(function).__name__
        raise UsageError(f"{where}: a {kind} has no type hints; write a function") from None


def _function_description(documentation: docstring_parser.Docstring) -> str:
    parts = (documentation.short_description, documentation.long_description)
    return "\n\n".join(part for part in parts if part)


def _check_default(parameter: inspect.Parameter, kind: Any, where: str) -> None:
    """Raise UsageError for a default that is not of its type; None stands for "not given"."""
    if parameter.default is parameter.empty or parameter.default is None:
        return
    try:
        plain = json_codec.convert_to_json(parameter.default)
        msgspec.convert(plain, kind, dec_hook=decode_foreign)
    except (TypeError, ValueError):  # what JSON has not, or another type
        raise UsageError(
            f"{where}: the default of {parameter.name}, {parameter.default!r:.80}, is not of its "
            "type, or JSON has nothing for it"
        ) from None


def _annotated_text(kind: Any) -> str:
    """Return the description in an annotation: a text, or a field that has one."""
    if get_origin(kind) is not Annotated:
        return ""
    for extra in get_args(kind)[1:]:
        if isinstance(extra, str):
            return extra
        if isinstance(extra, _pydantic_field_type()) and extra.description:
            return str(extra.description)
    return ""


def _pydantic_field_type() -> type[Any]:
    """Return the class of fields of Pydantic; one without objects where it is not imported."""
    fields: Any = sys.modules.get("pydantic.fields")
    return _NoField if fields is None else fields.FieldInfo


class _NoField:
    """Stands for a class that was not imported."""

    description = ""


def _without_texts(kind: Any) -> Any:
    """Return a type without what msgspec does not know in its annotation."""
    if get_origin(kind) is not Annotated:
        return kind
    bare, *extras = get_args(kind)
    for extra in extras:
        if isinstance(extra, msgspec.Meta):
            bare = Annotated[bare, extra]
    return bare
