"""What makes two runs unlike: settings, and tasks that differ in content under one id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolmark import codec
from toolmark.report import tables
from toolmark.runs.store import Run
from toolmark.stats import figures

LISTED = 8  # entries of one setting that are spelled out


def settings(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Go through what the two runs asked for differently."""
    one, two = _flat(a), _flat(b)
    for key in dict.fromkeys([*one, *two]):
        if one.get(key) != two.get(key):
            yield key, _shown(one.get(key)), _shown(two.get(key))


def mend(settings: Sequence[tuple[str, str, str]]) -> str:
    """Say how to run both on the same tasks: which knobs differ now."""
    seeds = any(key in ("seed", "knob seed") for key, *_ in settings)
    knobs = [
        f"{key.removeprefix('knob ')} ({one} and {other})"
        for key, one, other in settings
        if key.startswith("knob ") and key != "knob seed"
    ]
    same = ["with one --seed"] * seeds + [f"with the same {', '.join(knobs)}"] * bool(knobs)
    return f"run both {' and '.join(same) or 'on the same tasks'}"


def _flat(run: Run) -> dict[str, Any]:
    info = run.info
    plan = msgspec.to_builtins(msgspec.structs.asdict(info.plan))
    inner: dict[str, Mapping[str, Any]] = {
        "knob": plan.pop("knobs", {}),
        "sampling": plan.pop("sampling", {}),
        "module": {name: sha[:8] for name, sha in plan.pop("modules", {}).items()},
        "model's module": {name: sha[:8] for name, sha in plan.pop("model_modules", {}).items()},
        "version": info.versions,
        "hash": info.hashes,
    }
    plan.pop("world", None)  # those are hashes too
    flat = {**plan, "seed": info.seed, "served": ", ".join(info.served)}
    for prefix, values in inner.items():
        flat |= {f"{prefix} {name}": value for name, value in values.items()}
    return flat


def _shown(value: Any) -> str:
    if value is None or value == "":
        return figures.DASH
    if isinstance(value, list | tuple) and len(value) > LISTED:
        return f"{figures.count(len(value))} of them, {value[0]}, …"
    return value if isinstance(value, str) else codec.encode(codec.plain(value)).decode()


def warnings(a: Run, b: Run, n_changed: int, example: str) -> Iterator[str]:
    """Go through what a reader must know before any difference between the runs."""
    if n_changed:
        verb = "differs" if n_changed == 1 else "differ"
        told = f"{tables.plural(n_changed, 'task')} {verb}"
        yield f"{told} in content under the same id, such as {example}"
    knobs = [key for key, *_ in settings(a, b) if key.startswith("knob ")]
    if knobs:
        yield f"the suite's knobs differ: {', '.join(key[5:] for key in knobs)}"
    one, other = (_read_hashes(run) for run in (a, b))
    if one != other:
        yield "the data behind the runs differ (hashes)"
    if files := _judged_otherwise(a, b):
        told = ", ".join(files) if len(files) <= LISTED else _shown(files)
        yield (
            f"different scorers of {a.info.plan.suite} made the scores ({told} differ); "
            "toolmark score RUN scores each with the scorer of today, and asks no model"
        )


def _read_hashes(run: Run) -> dict[str, str]:
    return {name: sha for name, sha in run.info.hashes.items() if name != "scorer"}


def _judged_otherwise(a: Run, b: Run) -> list[str]:
    """Return the files in which the scorers of two runs differ; none where one is not known."""
    one, other = a.scorer(), b.scorer()
    if not one.sha256 or not other.sha256 or one.sha256 == other.sha256:
        return []
    names = sorted({*one.files, *other.files})
    return [name for name in names if one.files.get(name) != other.files.get(name)]


def changed(a: Run, b: Run) -> tuple[int, str]:
    """Count the tasks of both runs whose content differs, and name the first."""
    if a.info.tasks_sha256 and a.info.tasks_sha256 == b.info.tasks_sha256:
        return 0, ""
    known = {task.id: hashlib.sha256(codec.encode(task)).digest()[:8] for task in a.tasks()}
    n_changed, example = 0, ""
    for task in b.tasks():
        if known.get(task.id, b"") in (b"", hashlib.sha256(codec.encode(task)).digest()[:8]):
            continue
        n_changed += 1
        example = example or f"{task.id} ({_differs(a.task(task.id), task)})"
    return n_changed, example


def _differs(one: Any, other: Any) -> str:
    """Return the path of the first field in which two tasks differ, such as `reference.answers`."""
    pair = [msgspec.to_builtins(each) for each in (one, other)]
    path: list[str] = []
    while all(isinstance(each, dict) for each in pair):
        mine, others = pair
        name = next((k for k in (*mine, *others) if mine.get(k) != others.get(k)), None)
        if name is None:
            break
        path.append(tables.visible(str(name)))
        pair = [mine.get(name), others.get(name)]
    return ".".join(path) or "the order of its fields"
