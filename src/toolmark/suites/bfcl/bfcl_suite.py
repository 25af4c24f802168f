"""The Berkeley Function Calling Leaderboard, version 4, on its official data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import TaskSequence
from toolmark.environments import search_engines
from toolmark.environments.class_environments import ClassEnvironmentOpener
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.generation.joined_tasks import JoinedTasks
from toolmark.official_bfcl import (
    entry_groups,
    handler_views,
    multi_turn_tasks,
    official_data,
    prompt_formats,
)
from toolmark.official_bfcl.bfcl_controls import make_faulty, make_oracle
from toolmark.official_bfcl.bfcl_scoring import GRADING_RULES
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    GENERAL_FLOORS,
    AskedModel,
    Defaults,
    EnvironmentOpener,
    EnvironmentSource,
    Presentation,
    Provenance,
    Scorer,
    SetExport,
    Suite,
    TaskMaker,
)
from toolmark.runs.task_selection import TaskFile
from toolmark.suites.bfcl import (
    agentic_tasks,
    bfcl_scorer,
    bfcl_tables,
    category_environments,
    leaderboard,
)
from toolmark.suites.bfcl.asking import Asking
from toolmark.suites.bfcl.parameters import BfclParameters
from toolmark.suites.bfcl.twins import value_twins

SCORER = Scorer(
    rules=GRADING_RULES,
    score=bfcl_scorer.score_episode,
    metrics=leaderboard.leaderboard_metrics,
    presentation=Presentation(
        tables=bfcl_tables.report_tables, views=bfcl_tables.episode_tables, overview="bfcl"
    ),
    group=entry_groups.entry_group,
)


EXPORT = SetExport(
    sources=(
        "Questions, tools and expected calls: the Berkeley Function Calling Leaderboard, from "
        f"PyPI's package bfcl-eval {official_data.PACKAGE.version}, Apache-2.0.",
    ),
    limits=("BFCL is public: a model may have seen its questions and answers.", "English mostly."),
    asking_parameters=("wording", "search", "encoder", "ask_as", "loop"),
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

FLOORS = {**GENERAL_FLOORS, "baseline/lexical": "calls the tool that shares most words"}


def load(parameters: BfclParameters) -> Suite:
    """Return the suite. Raises UsageError for an unknown category, format or official entry."""
    chosen = select_categories(parameters.category)
    asking = Asking.of_parameters(parameters)
    root = official_data.fetch_wheel()
    tasks, hashes = _read_tasks(root, parameters, chosen)
    return Suite(
        name="bfcl",
        tasks=tasks,
        environment=_environment_source(chosen, parameters),
        scorer=scorer_of_run(msgspec.structs.asdict(parameters)),
        tool_formats=asking.tool_formats(asking.settings_on("")),
        parameters=suite_parameters.recorded_values(parameters, category=chosen),
        controls={"oracle": make_oracle, "faulty": make_faulty},
        maker=TaskMaker(make_twin=value_twins.make_value_twin),
        defaults=Defaults(
            unsampled_categories=(prompt_formats.CATEGORY,),
            adapt_to_model=partial(_adapt_to_model, parameters, asking),
            floors=FLOORS,
        ),
        provenance=Provenance(seed=parameters.seed, hashes=hashes, export=EXPORT),
    )


def scorer_of_run(parameters: Mapping[str, Any]) -> Scorer:
    """Return the scorer of a run with these parameters.

    No official rule judges a lenient loop. A run as an entry whose handler reads texts otherwise is
    judged as that handler reads it.
    """
    scorer = SCORER
    if view := handler_views.view_of_entry(parameters.get("ask_as", "")):
        shown = replace(scorer.presentation, views=partial(bfcl_tables.tables_of_view, view))
        score = partial(bfcl_scorer.score_view, view)
        scorer = replace(scorer, score=score, presentation=shown)
    if parameters.get("loop", "official") == "official":
        return scorer
    return replace(scorer, rules=("fair",), score=partial(bfcl_scorer.score_fairly, scorer.score))


def _adapt_to_model(
    parameters: BfclParameters, asking: Asking, suite: Suite, asked: AskedModel
) -> Suite:
    """Return the suite as the handler of an official entry, or of the wire, asks this model.

    Officially no model with structured calls is asked the prompt formats, so `all` is without them.
    """
    settings = asking.settings_on(asked.wire)
    suite = replace(
        suite,
        tool_formats=asking.tool_formats(settings),
        defaults=replace(suite.defaults, sampling=asking.sampling(settings, asked)),
    )
    chosen = suite.parameters["category"]
    has_formats = asking.has_prompt_formats and asked.tool_format != NATIVE_FORMAT.name
    if has_formats or prompt_formats.CATEGORY not in chosen:
        return suite
    if prompt_formats.CATEGORY in parameters.category or isinstance(suite.tasks, TaskFile):
        return suite
    chosen = tuple(name for name in chosen if name != prompt_formats.CATEGORY)
    tasks, hashes = _read_tasks(official_data.fetch_wheel(), parameters, chosen)
    return replace(
        suite,
        tasks=tasks,
        environment=_environment_source(chosen, parameters),
        parameters={**suite.parameters, "category": chosen},
        provenance=replace(suite.provenance, hashes=hashes),
    )


def _read_tasks(
    root: Path, parameters: BfclParameters, chosen: tuple[str, ...]
) -> tuple[JoinedTasks, dict[str, str]]:
    """Return the tasks of the categories, and the hashes of what they come from."""
    format_names = prompt_formats.select_format_names(parameters.formats)
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
    return JoinedTasks(tuple(found for found, _ in parts)), hashes


def _environment_source(chosen: tuple[str, ...], parameters: BfclParameters) -> EnvironmentSource:
    agentic_categories = tuple(name for name in chosen if name in agentic_tasks.CATEGORIES)
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
        else ClassEnvironmentOpener(NoOpEnvironment)
    )
