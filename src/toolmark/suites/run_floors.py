"""The floors of a run: the suite's keyless agents, played on the run's tasks or read from a cache.

A floor depends on the tasks, the environment, the scorer and the agent, and not on the model under
test. Floors of large sets are stored in the cache folder under a hash of these.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from msgspec import structs

from toolmark.agents.agent import Agent
from toolmark.baselines.shortcut_agents import SHORTCUTS
from toolmark.core import json_codec
from toolmark.core.errors import DataError, ToolmarkError, UsageError, suggest_names
from toolmark.core.files import cache_folder, file_sha256
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.number_format import format_count
from toolmark.core.records import Score
from toolmark.environments.mcp import sandbox as mcp_sandbox
from toolmark.environments.search_providers import forbid_web
from toolmark.models.model_resolver import forbid_asking
from toolmark.runs import code_hashes
from toolmark.runs.floors.floor_playing import FloorComputation, FloorPace, play_floor
from toolmark.runs.floors.floor_records import (
    Floor,
    StoredFloors,
    read_compact,
    read_floors,
    write_compact,
    write_floors,
)
from toolmark.runs.run_store import Run
from toolmark.runs.suite import NO_REPLY_FLOOR, Suite
from toolmark.suites.model_registry import make_model
from toolmark.suites.suite_names import SUITES

FloorChoice: TypeAlias = Literal["auto", "all", "off"]
"""Which floors a run computes: those that cost little, all, or none."""
MAX_TASKS = 20_000  # of larger sets no floor is played
MIN_CACHED_TASKS = 200  # smaller sets are played in less than a second
MAX_CACHED_FLOORS = 60  # files; the oldest are removed
FLOOR_SCHEMES = ("control/", "baseline/")


def check_choice(choice: str) -> FloorChoice:
    """Return the choice. Raises UsageError for another word."""
    for name in get_args(FloorChoice):
        if choice == name:
            found: FloorChoice = name
            return found
    known = get_args(FloorChoice)
    raise UsageError(f"floors: no choice {choice!r}{suggest_names(choice, known)}")


def plan_floors(
    suite: Suite, agent: Agent, model: object, choice: FloorChoice
) -> FloorComputation | None:
    """Return what computes the floors of a run of this suite; None where none are wanted.

    `agent` plays them: the suite's own, not the one under test. A control proves the suite and is
    not measured against floors.
    """
    if choice == "off" or _is_control(model) or not suite.defaults.floors:
        return None

    own = replace(suite, defaults=replace(suite.defaults, agent=agent))

    async def compute(run: Run, pace: FloorPace) -> None:
        await compute_floors(run, own, pace, choice)

    # the user's environments may share a state: they are not entered while the model uses them
    return FloorComputation(compute, may_run_early=_is_builtin(suite), is_limited=choice != "all")


async def add_floors(run: Run, suite: Suite, choice: FloorChoice) -> None:
    """Play the floors that a stored run lacks, in a folder that the caller has locked.

    `suite` is that of the run; its own agent plays. Raises UsageError for a run that is measured
    against no floor, and where processes have to be started and there is no sandbox.
    """
    if _is_control(run.info.plan.model):
        raise UsageError(
            f"{run.path}: {run.info.plan.model} proves the suite and is measured against no floor; "
            "next: leave out --floors"
        )
    if not suite.defaults.floors:
        raise UsageError(f"suite {suite.name!r} declares no floors; next: leave out --floors")
    if suite.environment.starts_processes and choice == "all":
        mcp_sandbox.require_sandbox()
    pace = FloorPace()
    pace.enter_foreground(float("inf"))
    tasks = run.info.plan.tasks
    with mcp_sandbox.hide_paths(run.path.parent, *([tasks] if tasks else [])):
        await compute_floors(run, suite, pace, choice)


def _is_control(model: object) -> bool:
    return isinstance(model, str) and model.startswith("control/")


def _is_builtin(suite: Suite) -> bool:
    return suite.name in SUITES and not suite.provenance.spec


async def compute_floors(run: Run, suite: Suite, pace: FloorPace, choice: FloorChoice) -> None:
    """Play the floors of a run and store them in its folder. What cannot be played says why."""
    scorer_sha256 = code_hashes.scorer_id(suite.scorer).sha256
    known = {
        each.name: each
        for each in _stored_floors(run, scorer_sha256)
        if each.scores and each.name in suite.defaults.floors
    }
    floors = []
    for name, description in suite.defaults.floors.items():
        found = known.get(name)
        played = _without_processes(suite) if name in NO_REPLY_FLOOR else suite
        if found is None and (refusal := _refusal_reason(run, played, choice)):
            found = Floor(name=name, description=description, reason=refusal)
        if found is None:
            found = await _compute_floor(run, played, name, description, scorer_sha256, pace)
        floors.append(found)
    write_floors(
        run.path,
        StoredFloors(
            tasks_sha256=run.info.tasks_sha256,
            scorer_sha256=scorer_sha256,
            floors=tuple(floors),
        ),
    )


def _stored_floors(run: Run, scorer_sha256: str) -> tuple[Floor, ...]:
    """Return the floors that the folder of a continued run has already."""
    found = read_floors(run.path)
    is_same = (
        found is not None
        and scorer_sha256 != ""
        and found.scorer_sha256 == scorer_sha256
        and found.tasks_sha256 == run.info.tasks_sha256
    )
    return found.floors if found is not None and is_same else ()


def _without_processes(suite: Suite) -> Suite:
    """Return the suite as an agent plays it that calls nothing: no process is started for that."""
    source = suite.environment
    if not source.starts_processes or source.open_idle is None:
        return suite
    idle = replace(source, open=source.open_idle, starts_processes=False)
    return replace(suite, environment=idle)


def _refusal_reason(run: Run, suite: Suite, choice: FloorChoice) -> str:
    """Return why no floor of a suite is played, "" where they are."""
    judging = suite.scorer.judging
    if judging is not None and judging.is_required:
        return "a judge would be asked"
    if suite.environment.asked_model:
        return f"the environment asks {suite.environment.asked_model}"
    if run.info.n_tasks > MAX_TASKS:
        return f"more than {format_count(MAX_TASKS)} tasks"
    if suite.environment.starts_processes and choice != "all":
        return "its servers would be started for every task; next: toolmark score RUN --floors all"
    return ""


async def _compute_floor(
    run: Run, suite: Suite, name: str, description: str, scorer_sha256: str, pace: FloorPace
) -> Floor:
    try:
        model = _make_agent(run, suite, name)
        cached = _cached_file(run, suite, model, scorer_sha256)
        found = _read_cached(cached)
        if found is not None:
            return structs.replace(found, description=description)
        scores = await _play_agent(run, suite, model, pace)
    except ToolmarkError as error:
        return Floor(name=name, description=description, reason=str(error))
    ran = any(score.verdicts for score in scores)
    if not ran:
        first = next((each.failure for each in scores if each.failure is not None), None)
        reason = first.summary if first is not None else "it played no task"
        return Floor(name=name, description=description, reason=reason)
    floor = Floor(name=name, description=description, scores=scores)
    _write_cached(cached, floor)
    return floor


def _make_agent(run: Run, suite: Suite, name: str) -> Model:
    if not name.startswith(FLOOR_SCHEMES):
        raise UsageError(f"a floor is a control or a baseline, got {name!r}")
    return make_model(name, suite=suite, media=MediaStore(run.path / "media"))


async def _play_agent(run: Run, suite: Suite, model: Model, pace: FloorPace) -> tuple[Score, ...]:
    with forbid_asking(True), forbid_web():
        format_name = "native" if "native" in suite.tool_formats else run.info.plan.tool_format
        return await play_floor(run, suite, model, suite.tool_formats[format_name], pace)


def list_shortcuts(suite: Suite) -> dict[str, str]:
    """Return the agents without a key that a suite is tried with, and what each does.

    These are its floors, those that play every suite, and those that it names.
    """
    return {**suite.defaults.floors, **SHORTCUTS, **suite.defaults.shortcuts}


async def play_shortcut(run: Run, suite: Suite, name: str, time_s: float) -> tuple[Score, ...]:
    """Return what an agent without a key scores on the tasks of a stored run.

    Raises ToolmarkError for an agent that cannot play the suite or plays no task, and where it
    takes longer than `time_s` seconds.
    """
    pace = FloorPace()
    pace.enter_foreground(time_s)
    scores = await _play_agent(run, suite, _make_agent(run, suite, name), pace)
    if not any(score.verdicts for score in scores):
        first = next((each.failure for each in scores if each.failure is not None), None)
        raise ToolmarkError(first.summary if first is not None else "it played no task")
    return scores


# --- the cache --------------------------------------------------------------------------


def _cached_file(run: Run, suite: Suite, model: Model, scorer_sha256: str) -> Path | None:
    """Return where a floor is stored; None for small sets, and for code without a known hash."""
    if not (scorer_sha256 and _is_builtin(suite)) or run.info.n_tasks < MIN_CACHED_TASKS:
        return None
    source = inspect.getsourcefile(type(model))
    key = {
        "suite": suite.name,
        "tasks": run.info.tasks_sha256,
        "scorer": scorer_sha256,
        "agent": model.name,
        "agent_source": file_sha256(Path(source)) if source else "",
        "environment": dict(run.info.plan.environment_hashes),
        "parameters": json_codec.to_plain_json(run.info.plan.parameters),
        "version": metadata.version("toolmark"),
    }
    digest = hashlib.sha256(json_codec.encode_record(key)).hexdigest()
    return cache_folder() / "floors" / f"{digest}.json"


def _read_cached(path: Path | None) -> Floor | None:
    """Return a stored floor; a damaged one is made again."""
    return None if path is None else read_compact(path, Floor)


def _write_cached(path: Path | None, floor: Floor) -> None:
    """Store a floor; a cache that cannot be written costs only time."""
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_compact(path, floor)
        for old in _oldest_files(path.parent):
            old.unlink(missing_ok=True)
    except (OSError, DataError):
        return


def _oldest_files(folder: Path) -> Iterator[Path]:
    files = sorted(folder.glob("*.json"), key=lambda each: each.stat().st_mtime_ns)
    yield from files[: max(0, len(files) - MAX_CACHED_FLOORS)]
