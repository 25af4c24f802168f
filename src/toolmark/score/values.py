"""One value against its published options: the official BFCL value rules.

Each rule returns the official error type, "" if the value passes. Whatever equals an option as it
stands also equals it after normalisation, so that is asked first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_QUOTES = bytes.maketrans(b"'", b'"')
_DELETED = b" ,./-_*^"


class Unsound(Exception):
    """Input on which the official checker itself fails; it is counted incorrect."""


def normal(text: str) -> str:
    """Delete blanks and `,./-_*^`, lower the case, make quotes double."""
    raw = text.encode("utf-8", "surrogatepass")  # bytes are translated far faster than text
    return raw.translate(_QUOTES, _DELETED).decode("utf-8", "surrogatepass").lower()


def _loose(value: Any) -> Any:
    return normal(value) if type(value) is str else value


def text(value: str, options: Sequence[Any]) -> str:
    """Compare normalised; options that are not text are passed over."""
    if value in options:
        return ""
    wanted = normal(value)
    for option in options:
        if type(option) is str and normal(option) == wanted:
            return ""
    return "value_error:string"


def array(value: Sequence[Any], options: Sequence[Any]) -> str:
    """Compare in order, text elements normalised; the option "" is an empty list."""
    _sized(options)
    if value in options:
        return ""
    wanted = [_loose(item) for item in value]
    for option in options:
        if len(option) == len(wanted) and wanted == [_loose(item) for item in option]:
            return ""
    return "value_error:list/tuple"


def _sized(options: Sequence[Any]) -> None:
    for option in options:
        if type(option) is not list and type(option) is not str:
            raise Unsound("a list is compared with an option that is no list")


def mapping(value: Mapping[Any, Any], options: Sequence[Any]) -> str:
    """Compare with each option's own lists of values; the error is that of the last option."""
    native = "dict_checker:unclear"
    for option in options:
        if option == "":
            continue
        if type(option) is not dict:
            raise Unsound("a map is compared with an option that is no map")
        native = _entries(value, option)
        if not native:
            return ""
    return native


def _entries(value: Mapping[Any, Any], option: Mapping[Any, Sequence[Any]]) -> str:
    if type(value) is not dict:
        raise Unsound("something that is no map is compared as a map")
    native = ""
    for key, item in value.items():
        if key not in option:
            native = "value_error:dict_key"
            break
        choices = option[key]
        if type(choices) is list and item in choices:
            continue
        if _loose(item) not in [_loose(choice) for choice in choices]:
            native = "value_error:dict_value"
            break
    # a missing key is looked for even after a wrong value, and its error wins
    if any(key not in value and "" not in choices for key, choices in option.items()):
        return "value_error:dict_key"
    return native


def mappings(value: Sequence[Any], options: Sequence[Any]) -> str:
    """Compare maps position by position; the error is that of the last option."""
    _sized(options)
    native = "list_dict_checker:unclear"
    for option in options:
        if len(value) != len(option):
            native = "value_error:list_dict_count"
            continue
        for item, choice in zip(value, option, strict=True):
            native = mapping(item, [choice])
            if native:
                break
        else:
            return ""
    return native
