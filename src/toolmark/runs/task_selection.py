"""Which tasks of a suite or of a file a plan asks."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec, seeds
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.files import open_regular_file
from toolmark.core.number_format import format_count
from toolmark.core.records import VARIATION_AXIS, Record, Task, TaskSequence, Variation
from toolmark.environments.mcp import sandbox
from toolmark.runs import code_hashes
from toolmark.runs.planning import planned_items
from toolmark.runs.run_plan import CODE_HASH_NAMES, Plan, PlannedDraw
from toolmark.runs.suite import Suite


def environment_hashes(suite: Suite) -> dict[str, str]:
    """Return the hashes of a suite that say what is asked and what answers in its episodes.

    Includes a mark where the suite's servers are not sandboxed.
    """
    found = {
        name: sha256
        for name, sha256 in suite.provenance.hashes.items()
        if name not in CODE_HASH_NAMES
    }
    if suite.environment.starts_processes and not sandbox.is_wanted():
        found[sandbox.RECORD_KEY] = "off"
    return found


class TaskFile:
    """A suite's tasks from a JSONL file, or a folder that contains `tasks.jsonl`, one at a time.

    Variations of tasks are left out: they are made of the tasks, by `--vary`.

    Raises UsageError for a file that cannot be read, DataError for a file without tasks. Reading
    raises DataError with file and line, also for a task of another suite.
    """

    def __init__(self, path: Path, suite: str) -> None:
        path = self.path = task_file_path(path)
        self.suite = suite
        try:
            with open_regular_file(path) as lines:
                self.n_tasks = sum(1 for line in lines if line.strip() and not _is_varied(line))
        except DataError as error:
            raise UsageError(f"cannot read tasks: {error}") from None
        if not self.n_tasks:
            raise DataError(f"{path}: holds no task")

    def __len__(self) -> int:
        """Return the number of tasks."""
        return self.n_tasks

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks in order."""
        with open_regular_file(self.path) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip() or _is_varied(line):
                    continue
                try:
                    task = json_codec.decode_record(line, Task)
                except msgspec.DecodeError as error:
                    raise DataError(
                        f"{self.path}, line {number}: not a task: {describe_decode_error(error)}"
                    ) from None
                if task.suite != self.suite:
                    raise DataError(
                        f"{self.path}, line {number}: a task of suite {task.suite!r}, "
                        f"not of {self.suite!r}"
                    )
                yield task


class _VariationMark(Record, frozen=True):
    variation: Variation | None = None


def _is_varied(line: bytes) -> bool:
    """Return whether a line is the variation of a task; False for what is no task."""
    if b'"variation"' not in line:
        return False
    try:
        return json_codec.decode_record(line, _VariationMark).variation is not None
    except msgspec.DecodeError:
        return False


def task_file_path(path: Path) -> Path:
    """Return the file itself, or `tasks.jsonl` in a folder that `toolmark make` wrote."""
    return path / "tasks.jsonl" if path.is_dir() else path


def select_tasks(suite: Suite, plan: Plan, seed: int) -> Iterator[Task]:
    """Yield the tasks that the plan asks for, in the suite's order.

    `study` draws items by a plan; `ids` are task or item ids; `sample` draws that many, spread over
    the categories in proportion, without the suite's `unsampled_categories`; `limit` takes the
    first. Set-up tasks are not counted: those that the chosen tasks need are added. Raises
    UsageError for unknown ids, for `sample` together with `ids`, and for a sample larger than the
    suite.
    """
    tasks: TaskSequence = TaskFile(Path(plan.tasks), suite.name) if plan.tasks else suite.tasks
    if not plan.ids and plan.sample is None and plan.limit is None and plan.study is None:
        yield from (_name_suite(task, suite) for task in tasks)
        return
    unsampled = suite.defaults.unsampled_categories
    selected_ids = _selected_ids(tasks, plan, seed, _listing_step(suite, plan), unsampled)
    for task in tasks:
        if task.id in selected_ids:
            selected_ids.discard(task.id)
            yield _name_suite(task, suite)
        if not selected_ids:
            return


def _name_suite(task: Task, suite: Suite) -> Task:
    """Return a task with the name of its suite, which tasks of a user's suite do not have.

    Raises UsageError for a task that looks like a variation: its scores would count nowhere.
    """
    if VARIATION_AXIS in task.axes and task.variation is None:
        raise UsageError(
            f"task {task.id!r}: the axis {VARIATION_AXIS!r} is that of --vary; next: another name"
        )
    return task if task.suite else replace(task, suite=suite.name)


def _listing_step(suite: Suite, plan: Plan) -> str:
    """Return what shows all ids of a suite, "" for a suite that the command line cannot name."""
    if plan.tasks:
        return f"read {plan.tasks}"
    is_named = suite.provenance.spec or code_hashes.is_builtin_suite(suite)
    return f"toolmark make {suite.provenance.spec or suite.name} -o DIR" if is_named else ""


def _selected_ids(
    tasks: TaskSequence, plan: Plan, seed: int, listing: str, unsampled: Collection[str]
) -> set[str]:
    """Return the ids of the chosen tasks and of those they need."""
    if plan.ids and plan.sample is not None:
        raise UsageError("--sample draws tasks and --ids names them: leave out one")
    if plan.study is not None:
        rows = _planned_rows(tasks, plan.study, unsampled)
    elif plan.ids:
        rows = _rows_by_id(_scored_tasks(tasks), plan.ids, listing)
    elif plan.sample is not None:
        rows = _stratified_sample(tasks, plan.sample, seed, unsampled)
    else:
        rows = map(_TaskRow.from_task, _scored_tasks(tasks))
    chosen = list(islice(rows, plan.limit))
    selected = {row.id for row in chosen}
    required = {need for row in chosen for need in row.needs}
    setups = {task.id: task.needs for task in tasks if task.kind == "setup"} if required else {}
    while required - selected:
        selected |= required
        required = {need for id in required for need in setups.get(id, ())}
    return selected


class _TaskRow(NamedTuple):
    id: str
    category: str
    needs: tuple[str, ...]

    @classmethod
    def from_task(cls, task: Task) -> _TaskRow:
        return cls(task.id, task.category, task.needs)


def _rows_by_id(tasks: Iterable[Task], ids: tuple[str, ...], listing: str) -> Iterator[_TaskRow]:
    missing = set(ids)
    known: list[str] = []
    for task in tasks:
        if task.id in ids or task.item in ids:
            missing -= {task.id, task.item}
            yield _TaskRow.from_task(task)
        elif len(known) < 20_000:
            known.append(task.id)
    if missing:
        name = sorted(missing)[0]
        raise UsageError(f"no task {name!r}{suggest_names(name, known, listing=listing)}")


def _planned_rows(
    tasks: TaskSequence, draw: PlannedDraw, unsampled: Collection[str]
) -> Iterator[_TaskRow]:
    """Yield all tasks of the items that a plan draws."""
    scored = _scored_tasks(tasks)
    ordered = planned_items.order_items(scored, draw.seed, draw.excluded_items, unsampled)
    items = planned_items.take_items(ordered, draw.n_items)
    return (
        _TaskRow.from_task(task) for task in _scored_tasks(tasks) if (task.item or task.id) in items
    )


def _scored_tasks(tasks: TaskSequence) -> Iterator[Task]:
    return (task for task in tasks if task.kind == "scored")


def _stratified_sample(
    tasks: TaskSequence, n: int, seed: int, unsampled: Collection[str]
) -> Iterator[_TaskRow]:
    """Draw n tasks, each category's share rounded so that the sum is n (largest remainder).

    The tasks are read twice: of each only its position is stored, 8 bytes.
    """
    positions_by_category: dict[str, array[int]] = {}
    for position, task in enumerate(_scored_tasks(tasks)):
        positions_by_category.setdefault(task.category, array("Q")).append(position)
    if not positions_by_category.keys() <= set(unsampled):
        for category in unsampled:
            positions_by_category.pop(category, None)
    n_tasks = sum(map(len, positions_by_category.values()))
    if n > n_tasks:
        raise UsageError(
            f"--sample {n}: there are {format_count(n_tasks)} tasks; leave --sample out to ask "
            "them all"
        )
    sizes = {name: len(members) for name, members in positions_by_category.items()}
    counts = planned_items.divide_in_proportion(sizes, n)
    chosen: set[int] = set()
    for name, members in positions_by_category.items():
        rng = seeds.make_rng(seed, name, 0, "sample")
        chosen |= {members[i] for i in seeds.sample_indices(rng, len(members), counts[name])}
    return (
        _TaskRow.from_task(task)
        for position, task in enumerate(_scored_tasks(tasks))
        if position in chosen
    )
