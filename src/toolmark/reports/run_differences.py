"""What differs between two runs: settings, and tasks that differ in content under one id."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core import json_codec, number_format
from toolmark.reports import table_format
from toolmark.runs import judge_panels
from toolmark.runs.run_store import Run

MAX_ENTRIES_LISTED = 8  # entries of one setting that are listed in full


def differing_settings(a: Run, b: Run) -> Iterator[tuple[str, str, str]]:
    """Yield each setting that differs, with its text in both runs."""
    settings_a, settings_b = _flat_settings(a), _flat_settings(b)
    for key in dict.fromkeys([*settings_a, *settings_b]):
        if settings_a.get(key) != settings_b.get(key):
            yield key, _setting_text(settings_a.get(key)), _setting_text(settings_b.get(key))


def same_tasks_advice(settings: Sequence[tuple[str, str, str]]) -> str:
    """Return how to run both on the same tasks, with the suite parameters that differ."""
    seeds = any(key in ("seed", "parameter seed") for key, *_ in settings)
    parameters = [
        f"{key.removeprefix('parameter ')} ({value_a} and {value_b})"
        for key, value_a, value_b in settings
        if key.startswith("parameter ") and key != "parameter seed"
    ]
    instructions = ["with one --seed"] * seeds + [f"with the same {', '.join(parameters)}"] * bool(
        parameters
    )
    return f"run both {' and '.join(instructions) or 'on the same tasks'}"


def _flat_settings(run: Run) -> dict[str, Any]:
    info = run.info
    plan = msgspec.to_builtins(msgspec.structs.asdict(info.plan))
    groups: dict[str, Mapping[str, Any]] = {
        "parameter": plan.pop("parameters", {}),
        "sampling": plan.pop("sampling", {}),
        "module": {name: sha[:8] for name, sha in plan.pop("modules", {}).items()},
        "model's module": {name: sha[:8] for name, sha in plan.pop("model_modules", {}).items()},
        "simulated user's": _shorten_hash(plan.pop("user", {}), "description"),
        "simulated user's module": {n: sha[:8] for n, sha in plan.pop("user_modules", {}).items()},
        "version": info.versions,
        "hash": info.hashes,
    }
    plan.pop("environment_hashes", None)  # the hashes cover it too
    flat = {**plan, "seed": info.seed, "served_models": ", ".join(info.served_models)}
    for prefix, values in groups.items():
        flat |= {f"{prefix} {name}": value for name, value in values.items()}
    return flat


def _shorten_hash(settings: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the settings with the hash of this name cut short."""
    return {key: value[:8] if key == name else value for key, value in settings.items()}


def _setting_text(value: Any) -> str:
    if value is None or value == "":
        return number_format.DASH
    if isinstance(value, list | tuple) and len(value) > MAX_ENTRIES_LISTED:
        return f"{number_format.format_count(len(value))} of them, {value[0]}, …"
    return (
        value
        if isinstance(value, str)
        else json_codec.encode_record(json_codec.to_plain_json(value)).decode()
    )


def difference_warnings(a: Run, b: Run, n_changed: int, example: str) -> Iterator[str]:
    """Yield what a reader must know before any difference between the runs."""
    if n_changed:
        verb = "differs" if n_changed == 1 else "differ"
        label = f"{number_format.pluralize(n_changed, 'task')} {verb}"
        yield f"{label} in content under the same id, such as {example}"
    parameters = [key for key, *_ in differing_settings(a, b) if key.startswith("parameter ")]
    if parameters:
        names = ", ".join(key.removeprefix("parameter ") for key in parameters)
        yield f"the suite's parameters differ: {names}"
    if a.info.hashes != b.info.hashes:
        yield "the data behind the runs differ (hashes)"
    wires = [each.info.plan.wire or number_format.DASH for each in (a, b)]
    if a.info.plan.model == b.info.plan.model and wires[0] != wires[1]:
        yield f"one model was asked on different wires: {' and '.join(wires)}"
    yield from _user_warnings(a, b)
    judges_a, judges_b = _judge_names(a), _judge_names(b)
    if judges_a and judges_b and judges_a != judges_b:
        yield f"different judges: {', '.join(judges_a)} and {', '.join(judges_b)}"
    if files := _differing_scorer_files(a, b):
        label = ", ".join(files) if len(files) <= MAX_ENTRIES_LISTED else _setting_text(files)
        yield (
            f"different scorers of {a.info.plan.suite} made the scores ({label} differ); "
            "toolmark score RUN scores each with the scorer of today, and asks no model"
        )


def _user_warnings(a: Run, b: Run) -> Iterator[str]:
    """Yield what differs in the simulated users; not that only the users' models were exchanged."""
    user_a, user_b = a.info.plan.user, b.info.plan.user
    if user_a.get("description") != user_b.get("description"):
        yield "the simulated users differ in their goal, their knowledge or their limits"
    names = [user.get("model", number_format.DASH) for user in (user_a, user_b)]
    if names[0] != names[1] and a.info.plan.model != b.info.plan.model:
        yield f"different models speak for the simulated user: {' and '.join(names)}"


def _judge_names(run: Run) -> list[str]:
    """Return the judge models of a run, sorted."""
    panels = judge_panels.read_panels(run).values()
    return sorted({name for panel in panels for name in panel.judges})


def _differing_scorer_files(a: Run, b: Run) -> list[str]:
    """Return the files in which the scorers of two runs differ, [] where a scorer is not known."""
    scorer_a, scorer_b = a.scorer(), b.scorer()
    if not scorer_a.sha256 or not scorer_b.sha256 or scorer_a.sha256 == scorer_b.sha256:
        return []
    names = sorted({*scorer_a.files, *scorer_b.files})
    return [name for name in names if scorer_a.files.get(name) != scorer_b.files.get(name)]


def count_changed_tasks(a: Run, b: Run) -> tuple[int, str]:
    """Count the common tasks whose content differs; name the first and its differing field.

    Variations do not count: no number of a comparison rests on them.
    """
    if a.info.tasks_sha256 and a.info.tasks_sha256 == b.info.tasks_sha256:
        return 0, ""
    digests = {
        task.id: hashlib.sha256(json_codec.encode_record(task)).digest()[:8]
        for task in a.tasks()
        if task.variation is None
    }
    n_changed, example = 0, ""
    for task in b.tasks():
        if digests.get(task.id, b"") in (
            b"",
            hashlib.sha256(json_codec.encode_record(task)).digest()[:8],
        ):
            continue
        n_changed += 1
        example = example or f"{task.id} ({_first_differing_path(a.task(task.id), task)})"
    return n_changed, example


def _first_differing_path(task_a: Any, task_b: Any) -> str:
    """Return the path of the first field in which two tasks differ, such as `data.answers`."""
    pair = [msgspec.to_builtins(each) for each in (task_a, task_b)]
    path: list[str] = []
    while all(isinstance(each, dict) for each in pair):
        fields_a, fields_b = pair
        name = next((k for k in (*fields_a, *fields_b) if fields_a.get(k) != fields_b.get(k)), None)
        if name is None:
            break
        path.append(table_format.visible_text(str(name)))
        pair = [fields_a.get(name), fields_b.get(name)]
    return ".".join(path) or "the order of its fields"
