"""Calls of a varied task: between the names that the model sees and those of the suite."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec.structs import replace

from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.records import Call, Reply, Step, Task, Trajectory, Variation

UNOFFERED = "unoffered_"
"""Stands before a name of the suite that the model used although it was not shown it."""


def restore_task(task: Task) -> Task:
    """Return a varied task with the suite's own tools; any other task as it is."""
    variation = task.variation
    if variation is None or not variation.own_tools:
        return task
    return replace(task, tools=variation.own_tools, variation=None)


def restore_trajectory(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return what happened in a varied task with the suite's names in calls and in replies."""
    if task.variation is None or not task.variation.own_names:
        return trajectory
    names = _Names(task.variation)
    steps = tuple(_restore_step(step, names) for step in trajectory.steps)
    return replace(trajectory, steps=steps, answer=names.restore_text(trajectory.answer), tools=())


def _restore_step(step: Step, names: _Names) -> Step:
    reply = replace(
        step.reply,
        text=names.restore_text(step.reply.text),
        calls=tuple(map(names.restore_call, step.reply.calls)),
    )
    return replace(step, reply=reply, calls=tuple(map(names.restore_call, step.calls)))


def restore_call(variation: Variation, call: Call) -> Call:
    """Return a call of the model with the suite's names."""
    return _Names(variation).restore_call(call)


def show_reply(variation: Variation, reply: Reply) -> Reply:
    """Return a control's reply, which has the suite's names, with those that a model sees."""
    names = _Names(variation)
    return replace(reply, calls=tuple(map(names.show_call, reply.calls)))


class _Names:
    """The names of a variation in both directions."""

    def __init__(self, variation: Variation) -> None:
        self._variation = variation
        self._own = dict(variation.own_names)
        # some handlers send dots as underscores
        self._own |= {a.replace(".", "_"): b.replace(".", "_") for a, b in self._own.items()}
        self._own |= variation.own_names
        self._shown = {own: shown for shown, own in variation.own_names.items()}

    def restore_call(self, call: Call) -> Call:
        """Return a call with the suite's names; a name that was not shown is marked."""
        own = self._own.get(call.name)
        if own is None:
            is_hidden = call.name in self._shown
            return replace(call, name=UNOFFERED + call.name) if is_hidden else call
        renamed = self._parameters_of(call.name)
        hidden = {mine: UNOFFERED + mine for mine in renamed.values()}
        return replace(
            call, name=own, arguments=_rename_arguments(call.arguments, {**hidden, **renamed})
        )

    def show_call(self, call: Call) -> Call:
        """Return a call with the names that the model sees."""
        shown = self._shown.get(call.name)
        if shown is None:
            return call
        parameters = {own: new for new, own in self._parameters_of(shown).items()}
        return replace(call, name=shown, arguments=_rename_arguments(call.arguments, parameters))

    def _parameters_of(self, shown: str) -> Mapping[str, str]:
        parameters = self._variation.own_parameters
        return parameters.get(shown) or next(
            (found for name, found in parameters.items() if name.replace(".", "_") == shown), {}
        )

    def restore_text(self, text: str) -> str:
        """Return a text, which may hold calls, with the suite's names.

        The names shown stand nowhere else in a task, so each is replaced wherever it stands. A name
        of the suite is marked where it begins a call or is quoted.
        """
        if not text:
            return text
        parameters = {
            shown: own
            for found in self._variation.own_parameters.values()
            for shown, own in found.items()
        }
        shown = {**parameters, **self._own}
        hidden_tools = tuple(sorted({*self._own.values()} - shown.keys()))
        hidden_parameters = tuple(sorted({*parameters.values()} - shown.keys()))
        pattern = _name_pattern(tuple(sorted(shown)), hidden_tools, hidden_parameters)
        return pattern.sub(lambda found: shown.get(found[0]) or UNOFFERED + found[0], text)


@lru_cache(maxsize=256)
def _name_pattern(
    shown: tuple[str, ...], hidden_tools: tuple[str, ...], hidden_parameters: tuple[str, ...]
) -> re.Pattern[str]:
    """Return a pattern of names shown, and of those that are not where a call uses them."""
    forms = [_any_of(shown)]
    if hidden_tools:
        before = r"(?:(?<=\"name\": \")|(?<=\"name\":\")|(?<=name=\")|(?<=<function=))"
        names = _any_of(hidden_tools)
        forms += [rf"{names}(?=\s?\()", rf"{before}{names}(?=[\">])"]
    if hidden_parameters:
        forms.append(rf"{_any_of(hidden_parameters)}(?=\s?=(?!=)|\"\s?:)")
    return re.compile(rf"(?<![\w.])(?:{'|'.join(forms)})(?!\w)")


def _any_of(names: tuple[str, ...]) -> str:
    longest_first = sorted(names, key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, longest_first))})"


def _rename_arguments(arguments: str, names: Mapping[str, str]) -> str:
    """Return the JSON text of arguments with other names; text that is no object stays."""
    if not names:
        return arguments
    try:
        found = parse_json(arguments)
    except InvalidJson:
        return arguments
    if not isinstance(found, dict) or not found.keys() & names.keys():
        return arguments
    return json.dumps({names.get(key, key): value for key, value in found.items()})
