"""Base items of the speech suites: BFCL entries whose queries a person can say (MFCL, A).

Each is asked in every condition; by transcript also by every recogniser. Nothing is made here:
tasks still hold the written words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from toolmark import seeds
from toolmark.errors import UsageError, near
from toolmark.perturb.text import spoken
from toolmark.runs.suite import Tasks
from toolmark.suites.bfcl import data, multi_turn
from toolmark.suites.bfcl.suite import Joined
from toolmark.types import Message, Task

GROUPS = {
    "expert": ("simple_python", "multiple", "parallel", "parallel_multiple"),
    "community": ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    "multi_turn": ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param"),
    "relevance": ("live_relevance",),
    "irrelevance": ("irrelevance", "live_irrelevance"),
}
CATEGORIES = tuple(name for group in GROUPS.values() for name in group)
TEXT = "text"
"""The condition in which the written words are asked: the control of every other."""


@dataclass(frozen=True, slots=True)
class Items:
    """Base entries, each in all conditions, and in those with sound by all recognisers."""

    entries: Sequence[Task]
    suite: str
    conditions: tuple[str, ...]
    recognisers: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Return the number of tasks."""
        heard = max(len(self.recognisers), 1)
        return len(self.entries) * sum(1 if c == TEXT else heard for c in self.conditions)

    def __iter__(self) -> Iterator[Task]:
        """Go through the tasks: of an entry all conditions, then the next entry."""
        for entry in self.entries:
            for condition in self.conditions:
                for ear in ("",) if condition == TEXT else self.recognisers or ("",):
                    yield self._task(entry, condition, ear)

    def _task(self, entry: Task, condition: str, ear: str) -> Task:
        axes = {"condition": condition} | ({"recogniser": ear} if ear else {})
        return replace(
            entry,
            id="@".join((entry.id, *axes.values())),
            suite=self.suite,
            reference={"bfcl": entry.reference, "written": written(entry)},
            axes=axes,
        )


def read(
    categories: Sequence[str], n: int, seed: int
) -> tuple[list[Task], dict[str, str], dict[str, str]]:
    """Return the entries, the ids of those left out with the reason, and the hashes of the files.

    Of each category `n` are drawn, all where n is 0.
    """
    root = data.fetch()
    single = [name for name in categories if name in data.CATEGORIES]
    turned = [name for name in categories if name in multi_turn.CATEGORIES]
    parts: list[tuple[Tasks, dict[str, str]]] = [
        data.read(root, single), multi_turn.read(root, turned)
    ]  # fmt: skip
    dropped: dict[str, str] = {}
    kept: dict[str, list[Task]] = {name: [] for name in categories}
    for task in Joined(tuple(tasks for tasks, _ in parts)):
        reason = next(filter(None, map(spoken.special, written(task))), "") or _parted(task)
        if reason:
            dropped[task.id] = reason
        else:
            kept[task.category].append(task)
    entries = [task for name, tasks in kept.items() for task in drawn(tasks, n, seed, name)]
    return entries, dropped, {file: sha for _, hashes in parts for file, sha in hashes.items()}


def _parted(task: Task) -> str:
    """Return why what the user says is no one utterance a turn, "" if it is."""
    turns = ([m for m in turn.messages if m.role != "system"] for turn in task.turns)
    return "several messages in a turn" if any(len(said) > 1 for said in turns) else ""


def drawn(tasks: Sequence[Task], n: int, seed: int, name: str) -> list[Task]:
    """Return n of the tasks in their order, all of them where n is 0 or beyond."""
    if not 0 < n < len(tasks):
        return list(tasks)
    rng = seeds.of(seed, name, 0, "items")
    return [tasks[at] for at in sorted(seeds.sample(rng, len(tasks), n))]


def named(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the categories meant, each once, in the order of the tables. Raises UsageError."""
    meant: set[str] = set()
    for word in asked:
        if word != "all" and word not in GROUPS and word not in CATEGORIES:
            raise UsageError(f"no category {word!r}{near(word, ('all', *GROUPS, *CATEGORIES))}")
        meant.update(CATEGORIES if word == "all" else GROUPS.get(word, (word,)))
    return tuple(name for name in CATEGORIES if name in meant)


def written(task: Task) -> list[str]:
    """Return what the user says in each turn, as written; "" where a turn says nothing."""
    return ["\n".join(m.text for m in turn.messages if m.role == "user") for turn in task.turns]


def plain(task: Task) -> Task:
    """Return the task as BFCL's own graders, simulators and test models know it."""
    reference: Any = task.reference["bfcl"]
    return replace(task, id=task.item, suite="bfcl", reference=reference)


def said(task: Task, messages: Sequence[Message | None]) -> Task:
    """Return the task with these user messages, one per turn; None leaves a turn as it is."""
    turns = []
    for turn, message in zip(task.turns, messages, strict=True):
        others = tuple(m for m in turn.messages if m.role != "user")
        turns.append(turn if message is None else replace(turn, messages=(*others, message)))
    return replace(task, turns=tuple(turns))


def turned(task: Task) -> bool:
    """Tell whether a task is one of BFCL's multi-turn entries: some of them have a single turn."""
    return task.category in multi_turn.CATEGORIES


def truths(task: Task) -> list[Any]:
    """Return what is expected of each turn, as BFCL has it: call records, or calls as text."""
    if task.reference["bfcl"] is None:
        return [[] for _ in task.turns]
    truth = task.reference["bfcl"]["truth"]
    return list(truth) if turned(task) else [truth]
