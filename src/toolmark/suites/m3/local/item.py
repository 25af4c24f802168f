"""What a family of m3-local makes: a picture that must be read, a question, how it is done."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Arguments: TypeAlias = Mapping[str, Any]
Calls: TypeAlias = Sequence[tuple[str, Arguments]]


@dataclass(frozen=True, slots=True)
class Item:
    """One task, before it is a Task.

    `picture` is a PNG that holds what the question leaves out. `steps` are the reference: the
    calls of a step need nothing of each other, a later step needs an earlier one. Paths in them
    are below `/workspace`. `files` are put into the workspace first, by path; `repository` makes
    it a git repository of commits (subject, files), oldest first. `expects` is the state that must
    hold at the end, see `state.check`. `answer` are the parts that the answer must hold, see
    `reply.check`, `form` tells the model how its line with them is to look, and `rivals` are what a
    guess might name in their place.
    """

    template: str
    question: str
    picture: bytes
    name: str
    steps: Sequence[Calls]
    expects: Mapping[str, Any]
    form: str
    answer: tuple[str, ...]
    rivals: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    repository: Sequence[tuple[str, Mapping[str, str]]] = ()


Template: TypeAlias = Callable[[random.Random], Item]
