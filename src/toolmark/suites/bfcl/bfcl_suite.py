"""The Berkeley Function Calling Leaderboard, version 4, on its official data."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import TaskSequence
from toolmark.environments import search_engines
from toolmark.environments.no_op_environment import open_no_op_factory
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import PromptWording, default_wording
from toolmark.generation.joined_tasks import JoinedTasks
from toolmark.official_bfcl import multi_turn_tasks, official_data, prompt_formats
from toolmark.official_bfcl.bfcl_controls import make_faulty, make_oracle
from toolmark.official_bfcl.bfcl_scoring import GRADING_RULES
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    EnvironmentOpener,
    EnvironmentSource,
    Presentation,
    Provenance,
    Scorer,
    SetExport,
    Suite,
)
from toolmark.suites.bfcl import (
    agentic_tasks,
    bfcl_scorer,
    bfcl_tables,
    category_environments,
    leaderboard,
)
from toolmark.suites.bfcl.parameters import BfclParameters

SCORER = Scorer(
    rules=GRADING_RULES,
    score=bfcl_scorer.score_episode,
    metrics=leaderboard.leaderboard_metrics,
    presentation=Presentation(
        tables=bfcl_tables.report_tables, views=bfcl_tables.episode_tables, overview="bfcl"
    ),
)


EXPORT = SetExport(
    sources=(
        "Questions, tools and expected calls: the Berkeley Function Calling Leaderboard, from "
        f"PyPI's package bfcl-eval {official_data.PACKAGE.version}, Apache-2.0.",
    ),
    limits=("BFCL is public: a model may have seen its questions and answers.", "English mostly."),
    asking_parameters=("wording", "search", "encoder"),
)
CATEGORIES = (
    *official_data.CATEGORIES,
    *multi_turn_tasks.CATEGORIES,
    *agentic_tasks.CATEGORIES,
    prompt_formats.CATEGORY,
)
GROUPS = {
    "all": CATEGORIES,
    "all_scoring": tuple(name for name in CATEGORIES if name != prompt_formats.CATEGORY),
    **official_data.GROUPS,
    "multi_turn": multi_turn_tasks.CATEGORIES,
    **agentic_tasks.GROUPS,
}


def load(parameters: BfclParameters) -> Suite:
    """Return the suite. Raises UsageError for an unknown category or format."""
    chosen = select_categories(parameters.category)
    format_names = prompt_formats.select_format_names(parameters.formats)
    root = official_data.fetch_wheel()
    single_turn_categories = tuple(name for name in chosen if name in official_data.CATEGORIES)
    parts: list[tuple[TaskSequence, dict[str, str]]] = [
        official_data.read_tasks(root, single_turn_categories)
    ]
    if multi_turn_categories := tuple(
        name for name in chosen if name in multi_turn_tasks.CATEGORIES
    ):
        parts.append(multi_turn_tasks.read_tasks(root, multi_turn_categories))
    agentic_categories = tuple(name for name in chosen if name in agentic_tasks.CATEGORIES)
    parts += [agentic_tasks.read_tasks(root, name) for name in agentic_categories]
    if prompt_formats.CATEGORY in chosen:
        parts.append(prompt_formats.read_tasks(root, format_names, parameters.entries))
    hashes = {file: sha256 for _, read in parts for file, sha256 in read.items()}
    if not set(agentic_tasks.GROUPS["web_search"]).isdisjoint(agentic_categories):
        hashes |= search_engines.source_hashes(parameters.search)
    return Suite(
        name="bfcl",
        tasks=JoinedTasks(tuple(found for found, _ in parts)),
        environment=_environment_source(chosen, agentic_categories, parameters),
        scorer=SCORER,
        tool_formats={
            "native": NATIVE_FORMAT,
            **prompt_formats.make_tool_formats(
                format_names, _prompt_wording(root, parameters.wording)
            ),
        },
        parameters=suite_parameters.recorded_values(parameters, category=chosen),
        controls={"oracle": make_oracle, "faulty": make_faulty},
        provenance=Provenance(seed=parameters.seed, hashes=hashes, export=EXPORT),
    )


def _environment_source(
    chosen: tuple[str, ...], agentic_categories: tuple[str, ...], parameters: BfclParameters
) -> EnvironmentSource:
    settings = agentic_tasks.AgenticSettings(
        frozenset(agentic_categories),
        agentic_categories == chosen,
        parameters.search,
        parameters.encoder,
    )
    open_agentic = partial(agentic_tasks.open_environments, settings)
    openers = {
        name: open_agentic if name in agentic_categories else _environment_opener(name)
        for name in chosen
    }
    return EnvironmentSource(partial(category_environments.open_joined, openers))


def select_categories(requested: tuple[str, ...] | str) -> tuple[str, ...]:
    """Return the categories meant, each once, in the published order. Raises UsageError."""
    selected: set[str] = set()
    for word in (requested,) if isinstance(requested, str) else requested:
        if word not in CATEGORIES and word not in GROUPS:
            known = [*GROUPS, *CATEGORIES]
            nearest = suggest_names(word, known, listing="toolmark list bfcl")
            raise UsageError(f"no category {word!r}{nearest}")
        selected.update(GROUPS.get(word, (word,)))
    if not selected:
        names = suggest_names("", GROUPS, listing="toolmark list bfcl")
        raise UsageError(f"no category given{names}")
    return tuple(name for name in CATEGORIES if name in selected)


def _environment_opener(category: str) -> EnvironmentOpener:
    return (
        multi_turn_tasks.open_environments
        if category in multi_turn_tasks.CATEGORIES
        else open_no_op_factory
    )


def _prompt_wording(root: Path, requested: str) -> PromptWording:
    return official_data.read_prompt_wording(root) if requested == "official" else default_wording()
