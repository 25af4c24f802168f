"""The item that a family of m3-local makes: a picture to read, a question, a reference."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Arguments: TypeAlias = Mapping[str, Any]
Calls: TypeAlias = Sequence[tuple[str, Arguments]]


@dataclass(frozen=True, slots=True)
class TaskItem:
    """One generated item, before it becomes a Task.

    `picture` is a PNG with the information that the question leaves out. `steps` are the reference:
    the calls of a step are independent of each other, and a later step depends on an earlier one.
    Paths in them are below `/workspace`. `files` are written into the workspace first, by path.
    `repository` makes it a git repository of commits (subject, files), oldest first.
    `expected_state` is the required final state, see `workspace_state.find_differences`.
    `answer_parts` are the required parts of the answer, see `answer_checking.check_answer`.
    `answer_form` describes the answer line to the model. `wrong_values` are values that a guess
    might name instead.
    """

    template: str
    question: str
    picture: bytes
    picture_name: str
    steps: Sequence[Calls]
    expected_state: Mapping[str, Any]
    answer_form: str
    answer_parts: tuple[str, ...]
    wrong_values: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    repository: Sequence[tuple[str, Mapping[str, str]]] = ()


Template: TypeAlias = Callable[[random.Random], TaskItem]


def template_name(template: Template) -> str:
    """Return the name of a template: `call` of the function `call_item`."""
    return template.__name__.removesuffix("_item")
