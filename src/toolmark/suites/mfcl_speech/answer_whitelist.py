"""What a simulated user may say: the values that the reference asks for, by parameter.

A topic is a parameter's path (`body.mode`); where calls give one parameter different values, the
second is `path 2`. Of several accepted values, the one in the user's own text is used, else the
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolmark.core.records import Task
from toolmark.language import word_likeness
from toolmark.official_bfcl import truth_replay
from toolmark.suites.mfcl_speech.speech_task_data import WhitelistValue

_DEPTH = 8


def single_turn_whitelist(
    truth: Sequence[Mapping[str, Any]], written: str
) -> dict[str, WhitelistValue]:
    """Return the whitelist of a single-turn truth: per call the accepted values of each parameter.

    An optional argument is in it only where the user's text contains its value.
    """
    spoken_words = word_likeness.split_tokens(written)
    found: dict[str, WhitelistValue] = {}
    for call in truth:
        for arguments in call.values():
            if isinstance(arguments, Mapping):
                for name, accepted in arguments.items():
                    for topic, value in _accepted_leaves(str(name), accepted, spoken_words):
                        _add_topic(found, topic, value)
    return found


def turn_whitelists(task: Task, written: Sequence[str]) -> tuple[dict[str, WhitelistValue], ...]:
    """Return the whitelist of every turn of a multi-turn task.

    `written` is what the user says in each turn. The user cannot give a value that has been in none
    of the texts so far: such a value comes from a tool.
    """
    whitelists: list[dict[str, WhitelistValue]] = []
    spoken_words: list[str] = []
    for text, calls in zip(written, truth_replay.find_check(task).plain_truth, strict=True):
        spoken_words += word_likeness.split_tokens(text)
        found: dict[str, WhitelistValue] = {}
        for call in calls:
            for name, argument in call.arguments.items():
                for topic, value in _argument_leaves(name, argument):
                    if word_likeness.contains_value(spoken_words, value):
                        _add_topic(found, topic, value)
        whitelists.append(found)
    return tuple(whitelists)


def _accepted_leaves(
    path: str, accepted: Any, spoken_words: Sequence[str], depth: int = 0
) -> Iterator[tuple[str, WhitelistValue]]:
    """Yield the leaves of a parameter's accepted values."""
    if not isinstance(accepted, list) or depth > _DEPTH:
        return
    first = next((value for value in accepted if value != ""), None)
    if isinstance(first, Mapping):
        for name, inner in first.items():
            yield from _accepted_leaves(f"{path}.{name}", inner, spoken_words, depth + 1)
    elif isinstance(first, list) and first and isinstance(first[0], Mapping):
        for index, entry in enumerate(first, 1):
            for name, inner in entry.items():
                yield from _accepted_leaves(
                    f"{path}.{index}.{name}", inner, spoken_words, depth + 1
                )
    else:
        values = [value for value in map(_tellable_value, accepted) if value is not None]
        spoken_value = next(
            (value for value in values if word_likeness.contains_value(spoken_words, value)), None
        )
        if spoken_value is not None or (values and "" not in accepted):
            yield path, values[0] if spoken_value is None else spoken_value


def _argument_leaves(
    path: str, argument: Any, depth: int = 0
) -> Iterator[tuple[str, WhitelistValue]]:
    if isinstance(argument, Mapping) and depth <= _DEPTH:
        for name, inner in argument.items():
            yield from _argument_leaves(f"{path}.{name}", inner, depth + 1)
    elif (value := _tellable_value(argument)) is not None:
        yield path, value


def _tellable_value(value: Any) -> WhitelistValue | None:
    """Return a value that a user can say; a list of such values becomes one value."""
    if isinstance(value, list):
        leaves = [leaf for leaf in map(_tellable_value, value) if leaf is not None]
        return ", ".join(map(str, leaves)) if leaves and len(leaves) == len(value) else None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return value if str(value).strip() else None


def _add_topic(found: dict[str, WhitelistValue], topic: str, value: WhitelistValue) -> None:
    existing = [name for name in found if name == topic or name.startswith(f"{topic} ")]
    if value not in (found[name] for name in existing):
        found[f"{topic} {len(existing) + 1}" if existing else topic] = value
