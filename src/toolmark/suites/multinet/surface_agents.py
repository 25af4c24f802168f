"""Agents that answer by one surface feature: an option's place, length or words, a fixed answer.

Of a task such an agent sees the question and the form of the answer, and neither the truth nor a
picture. `nearest-question` also sees the other questions of the set with their answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import TypeAlias

from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Task
from toolmark.core.task_data import read_task_data
from toolmark.suites.multinet.baseline_players import PreparedReplies, format_answer
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    Answer,
    AnswerSpace,
    Choice,
    Frame,
    FreeText,
    Truth,
)
from toolmark.suites.multinet.multinet_families import Family

AnswerRule: TypeAlias = Callable[[str, AnswerSpace], Answer | None]
"""Takes the question and the form of the answer; None for no answer."""
ControlMaker: TypeAlias = Callable[[Task, int, Mapping[str, str]], Model]
MAX_COMPARED_QUESTIONS = 500  # each with each
NEAREST_QUESTION = "nearest-question"
_WORD = re.compile(r"\w+")
_ALTERNATIVES = re.compile(r"((?:\w+, )*\w+) or (?:the )?(\w+)")


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold()))


def _n_shared_words(question: str, option: str) -> int:
    return len(_words(question) & _words(option))


def _length(question: str, option: str) -> int:
    return len(option)


def _choose_option(
    choose: Callable[[str, Sequence[str]], int], question: str, space: AnswerSpace
) -> Answer | None:
    return choose(question, space.options) if isinstance(space, Choice) else None


def _choose_most(measure: Callable[[str, str], int], question: str, options: Sequence[str]) -> int:
    return max(range(len(options)), key=lambda at: measure(question, options[at]))


def _choose_least(measure: Callable[[str, str], int], question: str, options: Sequence[str]) -> int:
    return min(range(len(options)), key=lambda at: measure(question, options[at]))


_OPTION_RULES: Mapping[str, tuple[str, Callable[[str, Sequence[str]], int]]] = {
    "first-option": ("chooses the first option", lambda question, options: 0),
    "last-option": ("chooses the last option", lambda question, options: len(options) - 1),
    "longest-option": ("chooses the longest option", partial(_choose_most, _length)),
    "shortest-option": ("chooses the shortest option", partial(_choose_least, _length)),
    "nearest-option": (
        "chooses the option that shares most words with the question",
        partial(_choose_most, _n_shared_words),
    ),
    "farthest-option": (
        "chooses the option that shares fewest words with the question",
        partial(_choose_least, _n_shared_words),
    ),
    "lowest-option": (
        "chooses the first option of the alphabet",
        lambda question, options: options.index(min(options)),
    ),
    "highest-option": (
        "chooses the last option of the alphabet",
        lambda question, options: options.index(max(options)),
    ),
}


def _fixed_text(text: str, question: str, space: AnswerSpace) -> Answer | None:
    return text if isinstance(space, FreeText) else None


def _name_alternative(at: int, question: str, space: AnswerSpace) -> Answer | None:
    """Return the first or the last of "A, B or C" where the question last has such words."""
    found = _ALTERNATIVES.findall(question)
    if not found or not isinstance(space, FreeText):
        return None
    before, last = found[-1]
    named: list[str] = [*before.split(", "), last]
    return named[at]


_TEXT_RULES: Mapping[str, tuple[str, AnswerRule]] = {
    "yes": ("replies yes", partial(_fixed_text, "yes")),
    "no": ("replies no", partial(_fixed_text, "no")),
    "first-alternative": ("replies A where a question says A or B", partial(_name_alternative, 0)),
    "last-alternative": ("replies B where a question says A or B", partial(_name_alternative, -1)),
}


def _fixed_vector(
    measure: Callable[[float, float], float], question: str, space: AnswerSpace
) -> Answer | None:
    if not isinstance(space, ActionVector):
        return None
    return tuple(measure(low, high) for low, high in zip(space.low, space.high, strict=True))


_VECTOR_RULES: Mapping[str, tuple[str, AnswerRule]] = {
    "zero-action": ("replies with zeros", partial(_fixed_vector, lambda low, high: 0.0)),
    "lowest-action": ("replies with the lowest numbers", partial(_fixed_vector, min)),
    "highest-action": ("replies with the highest numbers", partial(_fixed_vector, max)),
    "middle-action": (
        "replies with the middle of each range",
        partial(_fixed_vector, lambda low, high: (low + high) / 2),
    ),
}
_RULES: Mapping[str, tuple[str, AnswerRule]] = {
    **{
        name: (description, partial(_choose_option, choose))
        for name, (description, choose) in _OPTION_RULES.items()
    },
    **_TEXT_RULES,
    **_VECTOR_RULES,
}
_NAMES_BY_FAMILY: Mapping[Family, tuple[str, ...]] = {
    "piqa": (*_OPTION_RULES, NEAREST_QUESTION),
    "odinw": (*_OPTION_RULES, NEAREST_QUESTION),
    "overcooked": (*_OPTION_RULES, NEAREST_QUESTION),
    "sqa3d": (*_TEXT_RULES, NEAREST_QUESTION),
    "robovqa": (*_TEXT_RULES, NEAREST_QUESTION),
    "openx": (*_VECTOR_RULES,),
}


class NearestQuestions:
    """The answers to the most similar question of another group, by the id of a row.

    The similarity of two questions is the share of their words that both have. The first
    `MAX_COMPARED_QUESTIONS` rows are compared with each other, the others have no answer.
    """

    def __init__(self, rows: Iterable[Frame]) -> None:
        self._rows = rows

    @cached_property
    def answers(self) -> Mapping[str, Answer]:
        """The answers by id."""
        frames = [*islice(self._rows, MAX_COMPARED_QUESTIONS)]
        words = [_words(" ".join(frame.fields.values())) for frame in frames]
        found: dict[str, Answer] = {}
        for frame, mine in zip(frames, words, strict=True):
            others = [
                (len(mine & theirs) / max(1, len(mine | theirs)), other.truth)
                for other, theirs in zip(frames, words, strict=True)
                if other.group != frame.group
            ]
            if others:
                found[frame.id] = max(others, key=lambda each: each[0])[1]
        return found


def list_surface_agents(family: Family) -> dict[str, str]:
    """Return the agents of a family as controls, each with what it does."""
    known = {name: description for name, (description, _) in _RULES.items()}
    known[NEAREST_QUESTION] = "gives the answer to the most similar question of another group"
    return {f"control/{name}": known[name] for name in _NAMES_BY_FAMILY.get(family, ())}


def surface_controls(family: Family, rows: Iterable[Frame]) -> dict[str, ControlMaker]:
    """Return the makers of the family's agents over these rows, by name without `control/`."""
    nearest = NearestQuestions(rows)
    return {name: partial(_make_agent, name, nearest) for name in _NAMES_BY_FAMILY.get(family, ())}


def _make_agent(
    name: str, nearest: NearestQuestions, task: Task, repeat: int, options: Mapping[str, str]
) -> Model:
    if options:
        raise UsageError(f"control/{name} takes no options")
    truth = read_task_data(task, Truth)
    if name == NEAREST_QUESTION:
        answer = nearest.answers.get(task.item)
    else:
        texts = (m.text for turn in task.turns for m in turn.messages if m.role == "user")
        answer = _RULES[name][1](" ".join(texts), truth.space)
    return PreparedReplies(() if answer is None else format_answer(truth, answer, task.tools))
