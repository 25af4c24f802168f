"""The Berkeley Function Calling Leaderboard, version 4, on its official data."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import TaskSequence
from toolmark.environments import search_engines
from toolmark.environments.no_op_environment import open_no_op_factory
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import DEFAULT_WORDING, PromptWording
from toolmark.generation.joined_tasks import JoinedTasks
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.official_bfcl import prompt_formats as variants
from toolmark.official_bfcl.bfcl_controls import make_faulty, make_oracle
from toolmark.official_bfcl.bfcl_scoring import GRADING_RULES
from toolmark.runs.suite import DatasetPublisher, EnvironmentOpener, Scorer, Suite
from toolmark.suites.bfcl import (
    agentic_tasks,
    bfcl_tables,
    category_environments,
    inference_errors,
    leaderboard,
)

DIALECTS = "native, prompt; with category=format_sensitivity those that the knob formats names"
SCORER = Scorer(
    readings=GRADING_RULES,
    score=inference_errors.score_episode,
    metrics=leaderboard.leaderboard_metrics,
    tables=bfcl_tables.report_tables,
    views=bfcl_tables.episode_tables,
    across="bfcl",
)


PUBLISHER = DatasetPublisher(
    sources=(
        "Questions, tools and expected calls: the Berkeley Function Calling Leaderboard, from "
        f"PyPI's package bfcl-eval {official_data.PACKAGE.version}, Apache-2.0.",
    ),
    limits=("BFCL is public: a model may have seen its questions and answers.", "English mostly."),
)
CATEGORIES = (
    *official_data.CATEGORIES,
    *multi_turn_tasks.CATEGORIES,
    *agentic_tasks.CATEGORIES,
    variants.CATEGORY,
)
GROUPS = {
    "all": CATEGORIES,
    "all_scoring": tuple(name for name in CATEGORIES if name != variants.CATEGORY),
    **official_data.GROUPS,
    "multi_turn": multi_turn_tasks.CATEGORIES,
    **agentic_tasks.GROUPS,
}


def load(
    *,
    category: tuple[str, ...] = ("all",),
    formats: tuple[str, ...] = ("official",),
    entries: str = "200",
    wording: str = "official",
    search: str = "serpapi",
    encoder: str = agentic_tasks.DEFAULT_ENCODER,
    seed: int = 0,
) -> Suite:
    """Load BFCL entries; the official wheel is fetched on first use.

    Args:
        category: Categories or groups of them: all, all_scoring (without format_sensitivity),
            single_turn, live, non_live, python, non_python, multi_turn, memory, web_search,
            agentic, format_sensitivity. What cannot be played here is not run.
        formats: Prompt formats: official (26), all (96), or names such as
            ret_fmt=json&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=plaintext&style=classic.
        entries: For format_sensitivity, the published 200 entries or all 2,351.
        wording: The sentences of prompts: official, read from the wheel, or own.
        search: What answers web_search: serpapi (needs SERPAPI_API_KEY), brave, tavily, serper,
            corpus:FOLDER of pages, record:FILE (serpapi, kept in the file) or replay:FILE.
        encoder: What memory_vector remembers with: a folder, an installed package, or a hub's name.
        seed: Kept in the run's record; published entries do not depend on it.

    """
    chosen = select_categories(category)
    format_names = variants.select_format_names(formats)
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
    open_agentic = partial(
        agentic_tasks.open_environments,
        agentic_tasks.AgenticSettings(
            frozenset(agentic_categories), agentic_categories == chosen, search, encoder
        ),
    )
    if variants.CATEGORY in chosen:
        parts.append(variants.read_tasks(root, format_names, entries))
    tasks = JoinedTasks(tuple(found for found, _ in parts))
    hashes = {file: sha256 for _, read in parts for file, sha256 in read.items()}
    if not set(agentic_tasks.GROUPS["web_search"]).isdisjoint(agentic_categories):
        hashes |= search_engines.source_hashes(search)
    return Suite(
        name="bfcl",
        tasks=tasks,
        scorer=SCORER,
        site=partial(
            category_environments.open_joined,
            {
                name: open_agentic if name in agentic_categories else _environment_opener(name)
                for name in chosen
            },
        ),
        dialects={
            "native": NATIVE_FORMAT,
            **variants.make_tool_formats(format_names, _prompt_wording(root, wording)),
        },
        knobs={
            "category": chosen,
            "formats": formats,
            "entries": entries,
            "wording": wording,
            "search": search,
            "encoder": encoder,
        },
        seed=seed,
        instruments={"oracle": make_oracle, "faulty": make_faulty},
        hashes=hashes,
        publisher=PUBLISHER,
        asking=("wording", "search", "encoder"),
    )


def select_categories(requested: tuple[str, ...] | str) -> tuple[str, ...]:
    """Return the categories meant, each once, in the published order. Raises UsageError."""
    selected: set[str] = set()
    for word in (requested,) if isinstance(requested, str) else requested:
        if word not in CATEGORIES and word not in GROUPS:
            known = [*CATEGORIES, *GROUPS]
            raise UsageError(f"no category {word!r}{suggest_names(word, known)}")
        selected.update(GROUPS.get(word, (word,)))
    if not selected:
        raise UsageError(f"no category given{suggest_names('', GROUPS)}")
    return tuple(name for name in CATEGORIES if name in selected)


def _environment_opener(category: str) -> EnvironmentOpener:
    return (
        multi_turn_tasks.open_environments
        if category in multi_turn_tasks.CATEGORIES
        else open_no_op_factory
    )


def _prompt_wording(root: Path, requested: str) -> PromptWording:
    if requested not in ("official", "own"):
        raise UsageError(f"wording must be official or own, not {requested!r}")
    return official_data.read_prompt_wording(root) if requested == "official" else DEFAULT_WORDING
