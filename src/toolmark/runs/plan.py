"""What is asked of a run, and which tasks that makes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolmark import codec, seeds
from toolmark.errors import DataError, UsageError, near
from toolmark.files import opened
from toolmark.runs.suite import Suite, Tasks
from toolmark.types import Record, Sampling, Task
from toolmark.worlds.mcp import sandbox

CODE = ("scorer", "generator", "prompt")  # hashes that say how tasks came to be, or are judged
EDITED = ("modules", "model_modules")  # fields of a Plan that hold the hashes of the user's code


class Plan(Record, frozen=True, kw_only=True):
    """The request: all that decides whether a run may go on. Equal plans have equal hashes.

    A knob `seed` is None where the user gave none: what was drawn is in the run's own record.
    `spec` is the `module:attribute` of a user's suite, `modules` and `model_modules` are the hashes
    of the user's code with which is asked, by module (`runs.identity`).
    `world` are the hashes of the data that were read, and of what answers: servers, a recording.
    `audio` is the form in which an endpoint gets sound.
    """

    suite: str
    model: str
    dialect: str
    knobs: dict[str, Any] = {}
    base_url: str = ""
    sampling: Sampling = Sampling()
    repeats: int = 1
    limit: int | None = None
    ids: tuple[str, ...] = ()
    sample: int | None = None
    tasks: str = ""
    tasks_sha256: str = ""
    world: dict[str, str] = {}
    audio: str = "wav"
    spec: str = ""
    modules: dict[str, str] = {}
    model_modules: dict[str, str] = {}

    @property
    def hash(self) -> str:
        """Eight hex digits over all of it."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:8]


def world(suite: Suite) -> dict[str, str]:
    """Return those of a suite's hashes that say what is asked, and what answers in its episodes.

    That its servers are not sandboxed is among it.
    """
    found = {name: sha256 for name, sha256 in suite.hashes.items() if name not in CODE}
    if suite.sandboxed and not sandbox.wanted():
        found[sandbox.NAME] = "off"
    return found


def differences(old: Plan, new: Plan) -> list[str]:
    """Return what a request asks otherwise than another one, a line each: `X differs (old -> new)`.

    Of edited code the modules are named; of files that are read, the first ones. Empty for equal
    requests.
    """
    one, other = _settings(old), _settings(new)
    lines = []
    n_read = 0
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) == other.get(name):
            continue
        n_read += name.startswith(_PREFIXES["world"])
        if not name.startswith(_PREFIXES["world"]) or n_read <= _NAMED:
            before, after = _shown(one.get(name), other.get(name))
            lines.append(f"{name} differs ({before} -> {after})")
    if n_read > _NAMED:
        lines.append(f"{_PREFIXES['world']}{n_read - _NAMED} more differ")
    return lines


def only_edited(old: Plan, new: Plan) -> bool:
    """Tell whether two requests are equal but for edits of the user's code."""
    blank: dict[str, dict[str, str]] = {name: {} for name in EDITED}
    return msgspec.structs.replace(old, **blank).hash == msgspec.structs.replace(new, **blank).hash


_WORDS = {"spec": "the suite's address", "base_url": "the address", "audio": "the audio format"}
_PREFIXES = {
    "knobs": "-T ", "sampling": "", "world": "what is read, ", "modules": "the suite's module ",
    "model_modules": "the model's module ",
}  # fmt: skip
_SHOWN = 60  # characters of one value
_NAMED = 3  # files that are read and differ


def _settings(plan: Plan) -> dict[str, Any]:
    """Return the settings by the names that a reader knows them by; hashes are cut short."""
    held = msgspec.structs.asdict(plan)
    plain = msgspec.json.decode(msgspec.json.encode(held, order="sorted"))  # as it is read back
    found: dict[str, Any] = {}
    for name in Plan.__struct_fields__:
        value = plain.get(name)
        if name not in _PREFIXES:
            found[_WORDS.get(name, name)] = value
            continue
        for inner, each in (value or {}).items():
            hashed = name in ("world", *EDITED)
            found[f"{_PREFIXES[name]}{inner}"] = str(each)[:8] if hashed else each
    return found


def _shown(*values: Any) -> list[str]:
    """Return two values that differ as a reader sees them: of long ones what differs is shown."""
    texts = [_told(value) for value in values]
    if max(map(len, texts)) <= _SHOWN:
        return texts
    pairs = enumerate(zip(*texts, strict=False))
    same = next((n for n, (a, b) in pairs if a != b), min(map(len, texts)))
    start = max(0, same - _SHOWN // 3)
    found = []
    for text in texts:
        part = text[start : start + _SHOWN]
        end = "..." if start + _SHOWN < len(text) else ""
        found.append(f"{'...' if start else ''}{part}{end}")
    return found


def _told(value: Any) -> str:
    if value is None or value == "":
        return "none"
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


class FileTasks:
    """A suite's tasks from a JSONL file, or a folder that holds `tasks.jsonl`, one at a time.

    Raises DataError with file and line, also for a task of another suite.
    """

    def __init__(self, path: Path, suite: str) -> None:
        path = self.path = task_file(path)
        self.suite = suite
        try:
            with opened(path) as lines:
                self.n = sum(1 for line in lines if line.strip())
        except DataError as error:
            raise UsageError(f"cannot read tasks: {error}") from None
        if not self.n:
            raise DataError(f"{path}: holds no task")

    def __len__(self) -> int:
        """Return the number of lines."""
        return self.n

    def __iter__(self) -> Iterator[Task]:
        """Read them in order."""
        with opened(self.path) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    task = codec.decode(line, Task)
                except msgspec.DecodeError as error:
                    raise DataError(f"{self.path}, line {number}: not a task: {error}") from None
                if task.suite != self.suite:
                    raise DataError(
                        f"{self.path}, line {number}: a task of suite {task.suite!r}, "
                        f"not of {self.suite!r}"
                    )
                yield task


def task_file(path: Path) -> Path:
    """Return the file itself, or the one in a folder that `make` wrote."""
    return path / "tasks.jsonl" if path.is_dir() else path


def select(suite: Suite, plan: Plan, seed: int) -> Iterator[Task]:
    """Go through the tasks that the plan asks for, in the suite's order.

    `ids` are task or item ids; `sample` draws that many, spread over the categories in
    proportion; `limit` takes the first. Set-up tasks are not counted: those that the chosen need
    come along. Raises UsageError for unknown ids, a sample of named ones, and one of more than all.
    """
    tasks: Tasks = FileTasks(Path(plan.tasks), suite.name) if plan.tasks else suite.tasks
    if not plan.ids and plan.sample is None and plan.limit is None:
        yield from tasks
        return
    wanted = _wanted(tasks, plan, seed)
    for task in tasks:
        if task.id in wanted:
            wanted.discard(task.id)
            yield task
        if not wanted:
            return


def _wanted(tasks: Tasks, plan: Plan, seed: int) -> set[str]:
    """Return the ids of the chosen tasks and of those they need."""
    scored = (task for task in tasks if task.kind == "scored")
    if plan.ids and plan.sample is not None:
        raise UsageError("--sample draws tasks and --ids names them: leave out one")
    if plan.ids:
        rows = _named(scored, plan.ids)
    elif plan.sample is not None:
        rows = _spread(list(map(_Row.of, scored)), plan.sample, seed)
    else:
        rows = map(_Row.of, scored)
    chosen = list(islice(rows, plan.limit))
    wanted = {row.id for row in chosen}
    needed = {need for row in chosen for need in row.needs}
    setups = {task.id: task.needs for task in tasks if task.kind == "setup"} if needed else {}
    while needed - wanted:
        wanted |= needed
        needed = {need for id in needed for need in setups.get(id, ())}
    return wanted


class _Row(NamedTuple):
    id: str
    category: str
    needs: tuple[str, ...]

    @classmethod
    def of(cls, task: Task) -> _Row:
        return cls(task.id, task.category, task.needs)


def _named(tasks: Iterable[Task], ids: tuple[str, ...]) -> Iterator[_Row]:
    missing = set(ids)
    known: list[str] = []
    for task in tasks:
        if task.id in ids or task.item in ids:
            missing -= {task.id, task.item}
            yield _Row.of(task)
        elif len(known) < 20_000:
            known.append(task.id)
    if missing:
        name = sorted(missing)[0]
        hint = near(name, known) if len(known) > 20 else f"; known: {', '.join(known)}"
        raise UsageError(f"no task {name!r}{hint[:400]}")


def _spread(rows: list[_Row], n: int, seed: int) -> Iterator[_Row]:
    """Draw n rows, each category's share rounded so that the sum is n (largest remainder)."""
    if n > len(rows):
        raise UsageError(
            f"--sample {n}: there are {len(rows)} tasks; leave --sample out to ask them all"
        )
    groups: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(row.category, []).append(index)
    shares = {name: n * len(members) / len(rows) for name, members in groups.items()}
    counts = Counter({name: int(share) for name, share in shares.items()})
    by_rest = sorted(shares, key=lambda name: (counts[name] - shares[name], name))
    for name in by_rest[: n - counts.total()]:
        counts[name] += 1
    chosen: set[int] = set()
    for name, members in groups.items():
        rng = seeds.of(seed, name, 0, "sample")
        chosen |= {members[i] for i in seeds.sample(rng, len(members), counts[name])}
    return (row for index, row in enumerate(rows) if index in chosen)
