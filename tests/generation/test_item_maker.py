"""Items that are expensive to make: in order, on any number of processes, failures by item."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import pytest
from tests.runs import mini

import toolmark as tm
from toolmark.core import worker_processes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Task
from toolmark.generation.item_maker import ItemMaker, group_by_item
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.runs.suite import Suite, TaskMaker


@dataclass(frozen=True)
class NotedMaker(ItemMaker[str]):
    """Notes each item that it opens, with its process, in a file of the folder."""

    folder: Path
    broken: tuple[str, ...] = ()
    unusable: str = ""

    def open_item(self, tasks: Sequence[Task]) -> str:
        assert len({task.item for task in tasks}) == 1
        item = tasks[0].item
        with (self.folder / "opened").open("a") as file:
            file.write(f"{item} {os.getpid()}\n")
        if item == self.unusable:
            raise UsageError("nothing can be made")
        if item in self.broken:
            raise DataError(f"{item} is broken")
        return f"{item} of {len(tasks)}"

    def finish_task(self, task: Task, item: str) -> Task:
        return msgspec.structs.replace(task, axes={"made": item})

    def mark_failed(self, task: Task, reason: str) -> Task:
        return msgspec.structs.replace(task, axes={"failed": reason})

    def opened(self) -> list[tuple[str, int]]:
        """Return the opened items with their processes, and forget them."""
        file = self.folder / "opened"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        file.unlink(missing_ok=True)
        return [(item, int(pid)) for item, pid in map(str.split, lines)]


def failure(task: Task) -> str:
    return task.axes.get("failed", "")


def pending(n: int) -> VariantTasks[int, str]:
    return VariantTasks(
        range(n), "ab", lambda i, name: Task(id=f"{i}@{name}", suite="s", turns=(), item=f"{i}")
    )


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_processes, "available_cores", lambda: 2)


# --- before they are made ---------------------------------------------------------------


def test_an_item_comes_in_all_variants_before_the_next_item() -> None:
    tasks = pending(3)
    assert [task.id for task in tasks] == ["0@a", "0@b", "1@a", "1@b", "2@a", "2@b"]
    assert len(tasks) == 6 and list(tasks) == list(tasks)
    assert [len(group) for group in group_by_item(tasks)] == [2, 2, 2]


def test_tasks_are_counted_without_being_built() -> None:
    def build(item: int, variant: str) -> Task:
        raise AssertionError("built")

    assert len(VariantTasks(range(3), "ab", build)) == 6


# --- made -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 20])
def test_tasks_are_finished_in_their_order_and_few_items_in_this_process(
    n: int, two_cores: None, tmp_path: Path
) -> None:
    maker = NotedMaker(tmp_path)
    made = list(maker(iter(pending(n))))
    assert [task.id for task in made] == [task.id for task in pending(n)]
    assert [task.axes["made"] for task in made] == [f"{task.item} of 2" for task in made]
    opened = maker.opened()
    assert sorted(item for item, _ in opened) == sorted(map(str, range(n))), "each is opened once"
    here = os.getpid()
    assert all((pid == here) == (n < NotedMaker.min_parallel_items) for _, pid in opened)


def test_the_result_is_independent_of_the_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    maker = NotedMaker(tmp_path, broken=("1", "11"))
    results = []
    for cores in (1, 2, 3):
        monkeypatch.setattr(worker_processes, "available_cores", lambda cores=cores: cores)
        results.append(list(maker(pending(12))))
    assert results[0] == results[1] == results[2]
    by_item = [task for group in group_by_item(pending(12)) for task in maker.make_item(group)]
    assert results[0] == by_item, "an item depends on no other"


@pytest.mark.parametrize("n", [3, 12])
def test_an_item_that_fails_does_not_stop_the_others(
    n: int, two_cores: None, tmp_path: Path
) -> None:
    made = list(NotedMaker(tmp_path, broken=("0", "2"))(pending(n)))
    assert len(made) == 2 * n
    assert {task.id: failure(task) for task in made if failure(task)} == {
        f"{item}@{name}": f"{item} is broken" for item in "02" for name in "ab"
    }
    assert all("made" in task.axes for task in made if not failure(task))


@pytest.mark.parametrize("n", [3, 12])
def test_what_concerns_all_items_ends_the_work(n: int, two_cores: None, tmp_path: Path) -> None:
    found = NotedMaker(tmp_path, unusable="1")(pending(n))
    assert [next(found).item for _ in range(2)] == ["0", "0"]
    with pytest.raises(UsageError, match="nothing can be made"):
        next(found)


def test_nothing_is_made_before_the_items_are_prepared(two_cores: None, tmp_path: Path) -> None:
    class Refusing(NotedMaker):
        def prepare_items(self, items: Iterator[tuple[Task, ...]]) -> Iterator[tuple[Task, ...]]:
            raise UsageError("no engine")

    maker = Refusing(tmp_path)
    with pytest.raises(UsageError, match="no engine"):
        list(maker(pending(12)))
    assert not maker.opened()


def test_a_draft_is_the_finished_task(tmp_path: Path) -> None:
    first = next(iter(pending(2)))
    assert NotedMaker(tmp_path).draft(first).axes == {"made": "0 of 1"}
    assert failure(NotedMaker(tmp_path, broken=("0",)).draft(first)) == "0 is broken"


# --- in a run ---------------------------------------------------------------------------


def suite_of(maker: NotedMaker) -> Suite:
    return replace(mini.load(n=9), maker=TaskMaker(make=maker, draft=maker.draft, failure=failure))


def test_only_items_of_chosen_tasks_are_made(tmp_path: Path) -> None:
    maker = NotedMaker(tmp_path)
    run = tm.run(suite_of(maker), "control/null", sample=3, log_dir=tmp_path / "runs")
    chosen = [task.item for task in run.tasks()]
    assert len(chosen) == 3 and [item for item, _ in maker.opened()] == chosen


def test_a_run_that_continues_makes_again_what_has_failed_and_nothing_else(tmp_path: Path) -> None:
    broken = ("sum-2", "sum-5")
    maker, model = NotedMaker(tmp_path, broken=broken), mini.Adder()
    run = tm.run(suite_of(maker), model, log_dir=tmp_path / "runs")
    assert (run.summary()["n_run"], run.summary()["n_not_run"]) == (7, 2)
    reasons = [line.failure.message for line in run.attempts() if line.failure]
    assert re.findall("sum-. is broken", " ".join(reasons)) == [f"{id} is broken" for id in broken]
    maker.opened()
    for still_broken in (("sum-5",), ()):
        maker = NotedMaker(tmp_path, broken=still_broken)
        again = tm.run(suite_of(maker), model, log_dir=tmp_path / "runs")
        expected = list(broken) if still_broken else ["sum-5"]
        assert again.path == run.path and [item for item, _ in maker.opened()] == expected
        assert again.summary()["n_run"] == 9 - len(still_broken)
    assert sorted(item for item, _ in model.asked) == list(range(9)), "each is asked once"
