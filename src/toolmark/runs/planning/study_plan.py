"""The plan of a confirmatory run: a file that is written before the money is spent.

The file's SHA-256 is its identity. A run of a plan records it, and the logbook has it before the
first request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from toolmark.core import json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import read_small_file
from toolmark.core.records import Record, Sampling
from toolmark.runs.record_files import write_document
from toolmark.runs.run_plan import PlannedDraw
from toolmark.runs.run_settings import Selection
from toolmark.runs.suite import Suite
from toolmark.statistics.variance_components import VarianceComponents

PLAN_FORMAT = 2
PLAN_FILE = "plan.json"  # the copy in a run folder
_Count = Annotated[int, msgspec.Meta(ge=1)]


class StudyGoal(Record, frozen=True, kw_only=True):
    """What is wanted: a half-width of the 95 % interval, or a difference found with some power.

    Both are in the unit of the headline: 0.05 is five points. `correlation` is that of single
    answers of two runs on one item; None where two pilots show it.
    """

    half_width: float | None = None
    difference: float | None = None
    power: float = 0.8
    correlation: float | None = None


class PilotRecord(Record, frozen=True, kw_only=True):
    """A pilot run: where it was, whom it asked and how, how many items ran, and its headline.

    `base_url` is the address of the endpoint, "" for a model in this process. `agent` is the agent
    under test, "" for the suite's own.
    """

    run: str
    model: str
    base_url: str
    sampling: Sampling
    tasks_sha256: str
    settings_sha256: str
    n_items: int
    value: float
    agent: str = ""


class StudyPlan(Record, frozen=True, kw_only=True):
    """How many items and repeats a run will ask, and why.

    - `parameters`, `suite_seed`: of the suite; a run of the plan has the same.
    - `draw_seed`: the items are drawn with it, from those of the suite without `excluded_items`.
    - `n_available`: so many items there were to draw from.
    - `is_reached`: whether `goal` is reached; else the plan is the best that the suite allows.
    - `half_width`, `detectable`, `power`: what the planned run is expected to show.
    - `value`, `components`: the score and its variance, from pilots or from an expected score.
    """

    format: int
    suite: str
    parameters: dict[str, Any]
    suite_seed: int
    goal: StudyGoal
    n_items: _Count
    repeats: _Count
    draw_seed: Annotated[int, msgspec.Meta(ge=0)]
    n_available: int
    is_reached: bool
    value: float
    components: VarianceComponents
    n_episodes: int
    half_width: float | None = None
    detectable: float | None = None
    power: float | None = None
    excluded_items: tuple[str, ...] = ()
    pilots: tuple[PilotRecord, ...] = ()
    cost_usd: float | None = None
    created: str = ""
    version: str = ""


class _PlanFormat(Record, frozen=True):
    """What is read of a plan of any format."""

    format: int


def write_study_plan(path: Path, plan: StudyPlan) -> str:
    """Write a plan and return its SHA-256. Raises UsageError where the file exists, DataError.

    A plan is never overwritten: a run may have been made by it.
    """
    if path.exists():
        raise UsageError(f"{path}: exists already; next: another name with -o")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_document(path, plan)
    return hashlib.sha256(read_small_file(path)).hexdigest()


def read_study_plan(path: Path) -> tuple[StudyPlan, bytes]:
    """Return the plan in a file, and the bytes of the file. Raises UsageError, DataError."""
    try:
        data = read_small_file(path)
    except FileNotFoundError:
        raise UsageError(
            f"{path}: no such plan; next: toolmark plan SUITE ... -o {path.name} writes one"
        ) from None
    try:
        number = json_codec.decode_record(data, _PlanFormat).format
        plan = json_codec.decode_record(data, StudyPlan) if number == PLAN_FORMAT else None
    except msgspec.DecodeError as error:
        raise DataError(
            f"{path}: not a plan of toolmark plan: {describe_decode_error(error)}"
        ) from None
    if plan is None:
        raise DataError(
            f"{path}: format {number}, this version reads {PLAN_FORMAT}; next: make the plan again"
        )
    return plan, data


def check_plan_of_suite(plan: StudyPlan, suite: Suite, path: Path) -> None:
    """Raise UsageError for a plan of another suite, other parameters or another seed."""
    if plan.suite != suite.name:
        raise UsageError(f"{path}: a plan of suite {plan.suite!r}, not of {suite.name!r}")
    if names := differing_parameters(plan.parameters, suite.parameters):
        wanted = ", ".join(f"{name} = {plan.parameters.get(name)!r:.60}" for name in names)
        raise UsageError(
            f"{path}: the plan is of other parameters ({wanted}); next: give the same by -T, and "
            "the same --tool-format"
        )
    if plan.suite_seed != suite.provenance.seed:
        raise UsageError(
            f"{path}: the plan is of the tasks of seed {plan.suite_seed}; next: --seed "
            f"{plan.suite_seed}"
        )


def differing_parameters(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that differ, but for the seed, which may be drawn."""
    a, b = (
        {name: json_codec.encode_record(value) for name, value in each.items() if name != "seed"}
        for each in (one, other)
    )
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))


def check_asked_as_pilot(
    plan: StudyPlan, path: Path, model: str, base_url: str, sampling: Sampling, agent: str
) -> None:
    """Raise UsageError for a run that is asked otherwise than the pilots of its plan.

    Its sampling and its agent are those of a pilot. A model that was a pilot's is asked at the same
    address. A plan of an expected score says nothing of these.
    """
    if plan.pilots and all(each.sampling != sampling for each in plan.pilots):
        wanted, given = (msgspec.structs.asdict(x) for x in (plan.pilots[0].sampling, sampling))
        names = [name for name in wanted if wanted[name] != given[name]]
        listed = ", ".join(f"{name} = {wanted[name]!r:.60}" for name in names)
        raise UsageError(
            f"{path}: the pilot was asked with other sampling ({listed}); next: give the same, or "
            "make the plan with another pilot"
        )
    agents = {each.agent for each in plan.pilots}
    if agents and agent not in agents:
        named = " or ".join(f"--agent {each}" if each else "no --agent" for each in sorted(agents))
        raise UsageError(
            f"{path}: the pilot was played by another agent; next: {named}, or make the plan with "
            "another pilot"
        )
    addresses = {each.base_url for each in plan.pilots if each.model == model}
    if addresses and base_url not in addresses:
        raise UsageError(
            f"{path}: the pilot asked {model} at {' and '.join(sorted(addresses)) or 'no address'}"
            f", not at {base_url or 'none'}; next: ask there, or make the plan with another pilot"
        )


class PlannedSelection(NamedTuple):
    """What a run of a plan asks: the items that are drawn, how often, and the file's bytes."""

    draw: PlannedDraw
    repeats: int
    data: bytes
    plan: StudyPlan


def find_planned_selection(selection: Selection, suite: Suite) -> PlannedSelection | None:
    """Return what the plan of a selection asks, None without a plan.

    Raises UsageError for a plan of another suite, and for a selection that the plan makes itself.
    """
    if not selection.plan:
        return None
    path = Path(selection.plan)
    plan, data = read_study_plan(path)
    check_plan_of_suite(plan, suite, path)
    chosen = {
        "--limit": selection.limit is not None,
        "--ids": bool(selection.ids),
        "--sample": selection.sample is not None,
        "--tasks": bool(selection.tasks),
        "--repeats": selection.repeats not in (1, plan.repeats),
    }
    if names := [name for name, is_given in chosen.items() if is_given]:
        raise UsageError(
            f"{path}: the plan says what is asked; next: leave out {' and '.join(names)}"
        )
    draw = PlannedDraw(
        plan_sha256=hashlib.sha256(data).hexdigest(),
        n_items=plan.n_items,
        seed=plan.draw_seed,
        excluded_items=plan.excluded_items,
    )
    return PlannedSelection(draw, plan.repeats, data, plan)
