"""Comparators as rows name them: `"date"`, `{"number": {"tolerance": 0.01}}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark.core.errors import UsageError, suggest_names
from toolmark.scoring.comparators.comparison import Comparator, show_value
from toolmark.scoring.comparators.member_comparators import MEMBER_COMPARATORS, choose_member
from toolmark.scoring.comparators.set_comparator import SetOfValues

COMPARATORS: Mapping[str, type[Comparator]] = {**MEMBER_COMPARATORS, SetOfValues.kind: SetOfValues}


def from_row(spec: Any) -> Comparator:
    """Return the comparator that a row names, with its settings.

    Raises UsageError of one line for an unknown name or setting, or a wrong value.
    """
    if isinstance(spec, Comparator):
        return spec
    name: object
    settings: object = {}
    if isinstance(spec, str):
        name = spec
    elif isinstance(spec, Mapping) and len(spec) == 1:
        ((name, settings),) = spec.items()
    else:
        raise UsageError(
            f"a comparator is a name, or one name with its settings, got {show_value(spec)!r}; "
            'next: write "number", or {"number": {"tolerance": 0.01}}'
        )
    if not isinstance(name, str) or name not in COMPARATORS:
        near = suggest_names(str(name), COMPARATORS)
        raise UsageError(f"no comparator {name!r}{near}")
    if not isinstance(settings, Mapping):
        raise UsageError(
            f"the settings of comparator {name} are an object, got {show_value(settings)!r}"
        )
    return _with_settings(COMPARATORS[name], settings)


def _with_settings(comparator: type[Comparator], settings: Mapping[str, Any]) -> Comparator:
    known = comparator.__struct_fields__
    for field in settings:
        if field not in known:
            near = suggest_names(field, known)
            raise UsageError(f"comparator {comparator.kind} has no setting {field!r}{near}")
    try:
        return msgspec.convert(dict(settings), comparator)
    except msgspec.ValidationError as error:
        raise UsageError(f"comparator {comparator.kind}: {error}") from None


def choose_comparator(expected: Any) -> Comparator:
    """Return the comparator for an expected value by its type.

    True and false, a number and a text have their own; a list of such values is a set, and
    everything else is JSON.
    """
    nested = (list, tuple, Mapping, type(None))
    is_list = isinstance(expected, list | tuple) and bool(expected)
    if is_list and not any(isinstance(each, nested) for each in expected):
        return SetOfValues()
    return choose_member(expected)
