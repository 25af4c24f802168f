"""Objects of toolmark that call code of the user: identities count that code and their settings."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolmark.core.errors import UsageError


class CodeHolder:
    """An object that calls functions, or makes instances of classes, that it was given."""

    def called_code(self) -> Iterable[Any]:
        """Return the functions, classes and objects that it calls."""
        return ()

    def settings(self) -> Any:
        """Return what it was set to, plain JSON values; None where nothing can be set."""
        return None


def code_place(function: object) -> str:
    """Return file and line of a function or class, as "shop.py, line 12"; "" where there is none.

    Nothing is read from the disk.
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    if not inspect.isfunction(function) and not inspect.ismethod(function):
        function = _call_method(function)
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


def check_takes(function: Any, arguments: Iterable[object], problem: str) -> None:
    """Raise UsageError with `problem` for a function that cannot be called with these arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a function in C
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        place = code_place(function)
        raise UsageError(f"{problem}: {error}" + (f" ({place})" if place else "")) from None


def is_async(function: Any) -> bool:
    """Return whether calling a function, or an object, gives a coroutine."""
    if inspect.iscoroutinefunction(function):
        return True
    return not inspect.isfunction(function) and inspect.iscoroutinefunction(_call_method(function))


def _call_method(thing: object) -> object:
    """Return what calling an object calls, None for what cannot be called."""
    return inspect.getattr_static(type(thing), "__call__", None)
