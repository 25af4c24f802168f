"""What a suite can be solved by without its task: nothing, the first tool, a frequent answer."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from toolmark.authoring.oracle import read_call_expectation
from toolmark.core.environment import Environment, method_tools
from toolmark.core.number_format import format_count, format_percent, pluralize
from toolmark.core.records import Chart, Check, Score, Table, Task, Tool, Trajectory
from toolmark.environments.class_environments import ClassEnvironmentOpener
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Suite

CHARS_PER_TOKEN = 4  # of English text and JSON, roughly
MAX_SHOWN_IDS = 5
FREQUENT_ANSWER = "most frequent answer"
QUESTION_ONLY = "question only"
SHORTCUT_MARGIN = 0.2  # above the floor: a shortcut that scores so much more is a weakness
MIN_TASKS_FOR_SHORTCUTS = 10
MAX_COMPARED_QUESTIONS = 1000  # each with each
_WORD = re.compile(r"\w+")


class Played(NamedTuple):
    """The scores of one control, the trajectories, and what the suite shows of them; its run."""

    scores: list[Score]
    trajectories: list[Trajectory]
    value: float | None
    shown: tuple[Table | Chart, ...]
    run: Run


class CheckedTasks(NamedTuple):
    """How many tasks of a suite are checked, and how many it has."""

    n_checked: int
    n_all: int

    @property
    def are_all(self) -> bool:
        """Whether every task is checked."""
        return self.n_checked == self.n_all

    @property
    def text(self) -> str:
        """What follows a finding that is not over all tasks."""
        if self.are_all:
            return ""
        return f" ({format_count(self.n_checked)} of {format_count(self.n_all)} tasks)"


def is_right(score: Score) -> bool:
    """Return whether the first verdict is correct."""
    verdict = next(iter(score.verdicts.values()), None)
    return verdict is not None and verdict.outcome == "correct"


def check_floor(
    tasks: Sequence[Task], null: Played | Check, always: Played | Check, scope: CheckedTasks
) -> Iterator[Check]:
    """Yield what doing nothing, and what the first tool scores, against what rows say of it."""
    if isinstance(null, Check):
        yield null
        return
    expectations = {task.id: read_call_expectation(task) for task in tasks}
    silent = {
        id
        for id, each in expectations.items()
        if each is not None and ([] in each.choices() or each.must_call is False)
    }
    right = {score.task for score in null.scores if is_right(score)}
    floor = format_percent(len(right) / len(tasks)) if tasks else "-"
    surprising = sorted(right - silent)
    if surprising:
        shown = ", ".join(surprising[:MAX_SHOWN_IDS])
        step = "a model that does nothing gets these right: change what they expect"
        detail = f"{floor} without doing anything{scope.text}: {shown}"
        yield Check(name="null", status="warn", detail=detail, next_step=step)
    else:
        yield Check(name="null", status="ok", detail=f"{floor}, as the rows say{scope.text}")
    if isinstance(always, Check):
        yield always
        return
    value = sum(map(is_right, always.scores)) / max(1, len(always.scores))
    is_weak = value > len(right) / max(1, len(tasks)) + SHORTCUT_MARGIN
    detail = f"calling the first tool again and again scores {format_percent(value)}{scope.text}"
    yield Check(name="always-call", status="warn" if is_weak else "ok", detail=detail)


def check_guesses(tasks: Sequence[Task], scope: CheckedTasks) -> Iterator[Check]:
    """Yield how often the most frequent answer, and that of the most similar question, is right."""
    known = [(task, answer) for task in tasks if (answer := _expected_answer(task))]
    n = len(known)
    if n < MIN_TASKS_FOR_SHORTCUTS:
        return
    answers = [answer for _, answer in known]
    top = Counter(answers).most_common(1)[0][1] / n
    yield _guess_check(
        FREQUENT_ANSWER, f"one answer is right in {format_percent(top)} of the tasks", top, 1 / n,
        scope, "vary what the tasks expect",
    )  # fmt: skip
    compared = known[:MAX_COMPARED_QUESTIONS]
    nearest = _nearest_questions([_question_words(task) for task, _ in compared])
    n_right = sum(answers[at] == answers[other] for at, other in enumerate(nearest))
    share = n_right / len(compared)
    yield _guess_check(
        QUESTION_ONLY,
        f"the answer to the most similar question is right in {format_percent(share)} of the tasks",
        share, top, scope, "questions that are worded alike share their answer: vary one of both",
    )  # fmt: skip


def _guess_check(
    name: str, detail: str, share: float, floor: float, scope: CheckedTasks, step: str
) -> Check:
    is_weak = share > floor + SHORTCUT_MARGIN
    return Check(
        name=name,
        status="warn" if is_weak else "ok",
        detail=detail + scope.text,
        next_step=step if is_weak else "",
    )


def _expected_answer(task: Task) -> bytes:
    """Return what a task expects, in one form, b"" where it does not say."""
    if not isinstance(task.data, dict) or task.data.get("expected") is None:
        return b""
    return msgspec.json.encode(task.data["expected"], order="sorted")


def _question_words(task: Task) -> frozenset[str]:
    texts = (m.text for turn in task.turns for m in turn.messages if m.role == "user")
    return frozenset(_WORD.findall(" ".join(texts).casefold()))


def _nearest_questions(words: Sequence[frozenset[str]]) -> list[int]:
    """Return for each question the other one that shares most of its words, the first of several.

    Takes quadratic time.
    """
    found = []
    for at, mine in enumerate(words):
        overlaps = [
            -1.0 if other == at else len(mine & theirs) / max(1, len(mine | theirs))
            for other, theirs in enumerate(words)
        ]
        found.append(overlaps.index(max(overlaps)))
    return found


def offered_tools(suite: Suite, tasks: Iterable[Task]) -> list[Tool]:
    """Return the tools of tasks, and those of the suite's class of environments."""
    found = {tool.name: tool for task in tasks for tool in task.tools}
    opener = suite.environment.open
    if isinstance(opener, ClassEnvironmentOpener):
        kind = opener.make
        if isinstance(kind, type) and issubclass(kind, Environment):
            found |= {name: each.tool for name, each in method_tools(kind).items()}
    return list(found.values())


def estimate_cost(suite: Suite, tasks: Sequence[Task], played: Played, who: str) -> Check:
    """Return how many requests and tokens a whole run takes, where a model plays as a control."""
    tool_chars = len(msgspec.json.encode(offered_tools(suite, tasks)))
    n_requests = n_chars = 0
    for trajectory in played.trajectories:
        said = 0
        for step in trajectory.steps:
            said += len(msgspec.json.encode((step.new_messages, step.results)))
            n_chars += said + tool_chars
            n_requests += 1
    n_played = max(1, len(played.trajectories))
    factor = len(suite) / n_played
    requests = pluralize(round(n_requests * factor), "request")
    tokens = n_chars * factor / CHARS_PER_TOKEN
    n_zeros = max(2, int(math.log10(max(1.0, tokens))) - 1)  # two digits are known at best
    shown_tokens = format_count(max(100, round(round(tokens, -n_zeros))))
    return Check(
        name="cost",
        status="ok",
        detail=f"about {requests} and {shown_tokens} input tokens for one repeat, if the model "
        f"needs no more than {who}",
    )
