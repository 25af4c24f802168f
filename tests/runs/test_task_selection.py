"""Which tasks a request makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.runs.run_plan import Plan
from toolmark.runs.runner import Progress
from toolmark.runs.suite import EnvironmentSource, Scorer, Suite
from toolmark.runs.task_selection import select_tasks

PLAN = Plan(suite="s", model="m", tool_format="native")


class Tasks:
    """n tasks of each category."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return sum(self.sizes.values())

    def __iter__(self) -> Iterator[Task]:
        for name, n in self.sizes.items():
            for i in range(n):
                yield Task(id=f"{name}{i}+x", item=f"{name}{i}", suite="s", turns=(), category=name)


@asynccontextmanager
async def nowhere(media: MediaStore) -> Any:
    yield None


def suite(sizes: dict[str, int]) -> Suite:
    scorer = Scorer(("r",), lambda _: {}, lambda c: ())
    return Suite(
        name="s",
        tasks=Tasks(sizes),
        environment=EnvironmentSource(nowhere),
        scorer=scorer,
        tool_formats={},
    )


def test_limit_takes_the_first() -> None:
    plan = msgspec.structs.replace(PLAN, limit=2)
    assert [t.id for t in select_tasks(suite({"a": 5}), plan, 0)] == ["a0+x", "a1+x"]


def test_ids_may_be_tasks_or_items() -> None:
    plan = msgspec.structs.replace(PLAN, ids=("a3", "b0+x"))
    assert [t.id for t in select_tasks(suite({"a": 5, "b": 1}), plan, 0)] == ["a3+x", "b0+x"]


def test_an_unknown_id_names_the_nearest() -> None:
    plan = msgspec.structs.replace(PLAN, ids=("a77",))
    with pytest.raises(UsageError, match=r"no task .a77.; 30 are known"):
        list(select_tasks(suite({"a": 30}), plan, 0))


@given(
    st.dictionaries(st.sampled_from("abcde"), st.integers(1, 40), min_size=1), st.integers(1, 80)
)
def test_a_sample_is_spread_in_proportion(sizes: dict[str, int], n: int) -> None:
    total = sum(sizes.values())
    plan = msgspec.structs.replace(PLAN, sample=n)
    if n > total:
        with pytest.raises(UsageError, match=rf"--sample {n}: there are {total} tasks"):
            list(select_tasks(suite(sizes), plan, 0))
        return
    drawn = [t.category for t in select_tasks(suite(sizes), plan, 0)]
    assert len(drawn) == n
    for name, count in Counter(drawn).items():
        assert abs(count - n * sizes[name] / total) < 1


def test_a_sample_of_named_tasks_is_refused() -> None:
    plan = msgspec.structs.replace(PLAN, sample=1, ids=("a1", "a2"))
    with pytest.raises(UsageError, match="leave out one"):
        list(select_tasks(suite({"a": 5}), plan, 0))


def test_a_sample_is_the_same_for_the_same_seed() -> None:
    plan = msgspec.structs.replace(PLAN, sample=5)
    first, again, other = (
        [t.id for t in select_tasks(suite({"a": 99}), plan, s)] for s in (1, 1, 2)
    )
    assert first == again != other


def test_every_setting_of_a_request_is_in_its_hash() -> None:
    other = [
        msgspec.structs.replace(PLAN, **{name: value})
        for name, value in {
            "suite": "t",
            "model": "n",
            "tool_format": "prompt",
            "parameters": {"a": 1},
            "repeats": 2,
            "base_url": "x",
            "limit": 3,
            "ids": ("a",),
            "sample": 4,
            "tasks": "f",
        }.items()
    ]
    assert len({plan.hash for plan in [PLAN, *other]}) == len(other) + 1


def test_only_the_chosen_tasks_are_finished_and_in_their_order(tmp_path: Path) -> None:
    finished: list[str] = []

    def make(tasks: Iterable[Task]) -> Iterator[Task]:
        for task in tasks:
            finished.append(task.id)
            yield msgspec.structs.replace(task, seed=7)

    suite = replace(mini.load(n=9), maker=replace(mini.load(n=9).maker, make=make))
    run = tm.run(suite, "control/null", sample=3, log_dir=tmp_path)
    assert [task.id for task in run.tasks()] == finished and len(finished) == 3
    assert {task.seed for task in run.tasks()} == {7}
    again = tm.run(suite, "control/null", tasks=run.path / "tasks.jsonl", log_dir=tmp_path)
    assert len(finished) == 3, "tasks of a file are as they were asked"
    assert again.summary()["n_run"] == 3


def test_a_watcher_is_notified_of_tasks_that_are_made(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    reported: set[tuple[int, str]] = set()

    def watch(progress: Progress) -> None:
        seen.append((progress.n_made, progress.n_planned))
        reported.add((progress.n_to_make, progress.work_description))

    suite = replace(
        mini.load(n=9),
        maker=replace(
            mini.load(n=9).maker,
            make=lambda tasks: iter(list(tasks)),
            describe_work=lambda tasks: f"{len(list(tasks))} clips",
        ),
    )
    tm.run(suite, "control/null", log_dir=tmp_path, watch=watch, limit=3)
    assert seen[:4] == [(0, 0), (1, 0), (2, 0), (3, 0)] and set(seen[4:]) == {(0, 3)}
    assert reported == {(3, "3 clips"), (0, "")}
    seen.clear()
    tm.run(mini.load(n=3), "control/null", log_dir=tmp_path / "other", watch=watch)
    assert {made for made, _ in seen} == {0}, "nothing had to be made"
