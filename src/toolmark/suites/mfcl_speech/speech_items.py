"""Base items of the speech suites: BFCL entries whose queries a person can say (MFCL, A).

Each is asked in every condition; by transcript also by every recogniser. No sound is made here:
tasks still contain the written text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from toolmark.core import seeds
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Message, Task, TaskSequence
from toolmark.core.task_data import read_task_data
from toolmark.generation.joined_tasks import JoinedTasks
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.perturb.text import spoken_rewrite
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData

GROUPS = {
    "expert": ("simple_python", "multiple", "parallel", "parallel_multiple"),
    "community": ("live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"),
    "multi_turn": ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param"),
    "relevance": ("live_relevance",),
    "irrelevance": ("irrelevance", "live_irrelevance"),
}
CATEGORIES = tuple(name for group in GROUPS.values() for name in group)
TEXT = "text"
"""The condition in which the written text is asked: the control of every other condition."""
SAID = "said"
"""The condition in which the exact spoken words are asked as text: what perception adds to."""
CONDITIONS_IN_WRITING = (TEXT, SAID)


def condition_tasks(
    entries: Sequence[Task],
    suite: str,
    conditions: Sequence[str],
    recognisers: Sequence[str] = (),
) -> VariantTasks[Task, Mapping[str, str]]:
    """Return the entries in all conditions, and in those with sound by all recognisers."""
    variants = [
        {"condition": condition} | ({"recogniser": recogniser} if recogniser else {})
        for condition in conditions
        for recogniser in (("",) if condition in CONDITIONS_IN_WRITING else recognisers or ("",))
    ]
    return VariantTasks(entries, variants, partial(_build_task, suite))


def _build_task(suite: str, entry: Task, axes: Mapping[str, str]) -> Task:
    return replace(
        entry,
        id="@".join((entry.id, *axes.values())),
        suite=suite,
        data=msgspec.to_builtins(SpeechTaskData(bfcl=entry.data, written=written_requests(entry))),
        axes=dict(axes),
    )


def read_entries(
    categories: Sequence[str], n: int, seed: int
) -> tuple[list[Task], dict[str, str], dict[str, str]]:
    """Return the entries, the ids of those left out with the reason, and the hashes of the files.

    Of each category `n` are drawn, all where n is 0.
    """
    root = official_data.fetch_wheel()
    single_turn_categories = [name for name in categories if name in official_data.CATEGORIES]
    multi_turn_categories = [name for name in categories if name in multi_turn_tasks.CATEGORIES]
    parts: list[tuple[TaskSequence, dict[str, str]]] = [
        official_data.read_tasks(root, single_turn_categories),
        multi_turn_tasks.read_tasks(root, multi_turn_categories),
    ]
    dropped: dict[str, str] = {}
    sayable: dict[str, list[Task]] = {name: [] for name in categories}
    for task in JoinedTasks(tuple(tasks for tasks, _ in parts)):
        reason = next(
            filter(None, map(spoken_rewrite.exclusion_reason, written_requests(task))), ""
        ) or _several_messages_reason(task)
        if reason:
            dropped[task.id] = reason
        else:
            sayable[task.category].append(task)
    entries = [task for name, tasks in sayable.items() for task in draw_tasks(tasks, n, seed, name)]
    return entries, dropped, {file: sha for _, hashes in parts for file, sha in hashes.items()}


def _several_messages_reason(task: Task) -> str:
    """Return why the user's text is not one utterance per turn, "" if it is."""
    turns = ([m for m in turn.messages if m.role != "system"] for turn in task.turns)
    return "several messages in a turn" if any(len(messages) > 1 for messages in turns) else ""


def draw_tasks(tasks: Sequence[Task], n: int, seed: int, name: str) -> list[Task]:
    """Return n of the tasks in their order, all of them where n is 0 or too large."""
    if not 0 < n < len(tasks):
        return list(tasks)
    rng = seeds.make_rng(seed, name, 0, "items")
    return [tasks[index] for index in sorted(seeds.sample_indices(rng, len(tasks), n))]


def select_categories(requested: Sequence[str]) -> tuple[str, ...]:
    """Return the categories meant, each once, in the order of the tables. Raises UsageError."""
    selected: set[str] = set()
    for word in requested:
        if word != "all" and word not in GROUPS and word not in CATEGORIES:
            raise UsageError(
                f"no category {word!r}{suggest_names(word, ('all', *GROUPS, *CATEGORIES))}"
            )
        selected.update(CATEGORIES if word == "all" else GROUPS.get(word, (word,)))
    return tuple(name for name in CATEGORIES if name in selected)


def written_requests(task: Task) -> list[str]:
    """Return what the user says in each turn, as written; "" where a turn says nothing."""
    return ["\n".join(m.text for m in turn.messages if m.role == "user") for turn in task.turns]


def original_task(task: Task) -> Task:
    """Return the task in the form that BFCL's own graders, simulators and controls expect."""
    return replace(task, id=task.item, suite="bfcl", data=read_task_data(task, SpeechTaskData).bfcl)


def replace_user_messages(task: Task, messages: Sequence[Message | None]) -> Task:
    """Return the task with these user messages, one per turn; None leaves a turn unchanged."""
    turns = []
    for turn, message in zip(task.turns, messages, strict=True):
        others = tuple(m for m in turn.messages if m.role != "user")
        turns.append(turn if message is None else replace(turn, messages=(*others, message)))
    return replace(task, turns=tuple(turns))


def is_multi_turn(task: Task) -> bool:
    """Return whether a task is one of BFCL's multi-turn entries, which may have a single turn."""
    return task.category in multi_turn_tasks.CATEGORIES


def expected_by_turn(task: Task) -> list[Any]:
    """Return what is expected of each turn in BFCL's form: call records, or calls as text."""
    entry = original_task(task)
    if entry.data is None:
        return [[] for _ in task.turns]
    truth = read_task_data(entry, BfclTaskData).truth
    return list(truth) if is_multi_turn(task) else [truth]
