"""The official BFCL rules for comparing a value with its published options.

Each rule returns the official error type, "" if the value passes. A value that equals an option
also equals it after normalisation, so plain equality is tested first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_QUOTES = bytes.maketrans(b"'", b'"')
_DELETED = b" ,./-_*^"


class OfficialCheckerError(Exception):
    """Input on which the official checker itself fails; it is counted incorrect."""


def normalise_text(text: str) -> str:
    """Return the text in lower case, without blanks and `,./-_*^`, with double quotes."""
    raw = text.encode("utf-8", "surrogatepass")  # bytes are translated far faster than text
    return raw.translate(_QUOTES, _DELETED).decode("utf-8", "surrogatepass").lower()


def _normalise_value(value: Any) -> Any:
    return normalise_text(value) if type(value) is str else value


def check_text(value: str, options: Sequence[Any]) -> str:
    """Compare normalised texts; options that are not text are ignored."""
    if value in options:
        return ""
    wanted = normalise_text(value)
    for option in options:
        if type(option) is str and normalise_text(option) == wanted:
            return ""
    return "value_error:string"


def check_list(value: Sequence[Any], options: Sequence[Any]) -> str:
    """Compare lists in order, with text elements normalised; the option "" is an empty list."""
    _require_lists(options)
    if value in options:
        return ""
    wanted = [_normalise_value(item) for item in value]
    for option in options:
        if len(option) == len(wanted) and wanted == [_normalise_value(item) for item in option]:
            return ""
    return "value_error:list/tuple"


def _require_lists(options: Sequence[Any]) -> None:
    for option in options:
        if type(option) is not list and type(option) is not str:
            raise OfficialCheckerError("a list is compared with an option that is not a list")


def check_map(value: Mapping[Any, Any], options: Sequence[Any]) -> str:
    """Compare a map with each option's lists of values; the error is that of the last option."""
    error_type = "dict_checker:unclear"
    for option in options:
        if option == "":
            continue
        if type(option) is not dict:
            raise OfficialCheckerError("a map is compared with an option that is not a map")
        error_type = _check_entries(value, option)
        if not error_type:
            return ""
    return error_type


def _check_entries(value: Mapping[Any, Any], option: Mapping[Any, Sequence[Any]]) -> str:
    if type(value) is not dict:
        raise OfficialCheckerError("something that is not a map is compared as a map")
    error_type = ""
    for key, item in value.items():
        if key not in option:
            error_type = "value_error:dict_key"
            break
        choices = option[key]
        if type(choices) is list and item in choices:
            continue
        if _normalise_value(item) not in [_normalise_value(choice) for choice in choices]:
            error_type = "value_error:dict_value"
            break
    # a missing key is checked even after a wrong value, and its error has priority
    if any(key not in value and "" not in choices for key, choices in option.items()):
        return "value_error:dict_key"
    return error_type


def check_maps(value: Sequence[Any], options: Sequence[Any]) -> str:
    """Compare maps position by position; the error is that of the last option."""
    _require_lists(options)
    error_type = "list_dict_checker:unclear"
    for option in options:
        if len(value) != len(option):
            error_type = "value_error:list_dict_count"
            continue
        for item, choice in zip(value, option, strict=True):
            error_type = check_map(item, [choice])
            if error_type:
                break
        else:
            return ""
    return error_type
