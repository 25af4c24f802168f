"""Command lines that cannot be read: one line that says what is wrong and names what is near."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperGroup

from toolmark.core.errors import UsageError, suggest_names

# typer does not export the base class of its own errors
CommandLineError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


_EXPECTED_BY_FAULT = {
    "bool_parsing": "yes or no",
    "float_parsing": "a number",
    "greater_than": "a number > {gt}",
    "greater_than_equal": "a number >= {ge}",
    "int_parsing": "a whole number",
    "less_than": "a number < {lt}",
    "less_than_equal": "a number <= {le}",
}
_CHOICES = re.compile(r" is not one of (.*)")
_CHOICE = re.compile(r"'([^']*)'")


class CommandGroup(TyperGroup):
    """A group of commands that names the nearest ones for an unknown one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first word names. Raises UsageError for an unknown one."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            nearest = suggest_names(
                args[0], self.list_commands(ctx), listing=f"{ctx.command_path} --help"
            )
            raise UsageError(f"no command {args[0]!r}{nearest}")
        return super().resolve_command(ctx, args)


def describe_command_line_error(error: Exception) -> str:
    """Return one line for an error of the library that reads command lines."""
    context = getattr(error, "ctx", None)
    command = getattr(context, "command", None)
    help_command = f"{getattr(context, 'command_path', 'toolmark')} --help"
    match type(error).__name__:
        case "NoArgsIsHelpError":  # the help is printed already
            return "no command is given"
        case "NoSuchOption":
            name = getattr(error, "option_name", "")
            known = [each for part in getattr(command, "params", ()) for each in part.opts]
            options = [each for each in [*known, "--help"] if each.startswith("-")]
            return f"no option {name}{suggest_names(name, options, listing=help_command)}"
        case "BadParameter":
            return f"{_describe_bad_value(error)}; next: {help_command}"
    text = " ".join(getattr(error, "format_message", lambda: str(error))().split())
    return f"{text[:1].lower()}{text[1:].rstrip('.')}; next: {help_command}"


def _describe_bad_value(error: Exception) -> str:
    """Return "--limit: expected a whole number, got 'a'"; for a choice, the nearest of its values.

    The library describes a value by a list with one entry: its kind, its bound and the value.
    """
    options = getattr(getattr(error, "param", None), "opts", [])
    name = max(options, key=len, default="value")
    fault = next(iter(getattr(error.__cause__, "errors", list)()), None)
    if fault is None:
        return f"{name}: {getattr(error, 'message', error)}".rstrip(".")
    value = fault["input"]
    if (choices := _CHOICES.search(fault["msg"])) is not None:
        return f"{name}: no value {value!r}{suggest_names(str(value), _CHOICE.findall(choices[1]))}"
    if (expected := _EXPECTED_BY_FAULT.get(fault["type"])) is None:
        return f"{name}: {fault['msg']}, got {value!r}"
    return f"{name}: expected {expected.format_map(fault.get('ctx', {}))}, got {value!r}"
