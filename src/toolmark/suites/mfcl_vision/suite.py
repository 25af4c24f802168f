"""The MFCL Vision suite: questions on pictures that need a search, also on damaged pictures."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.core import files
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.media import MediaStore
from toolmark.environments import search_engines, search_environment
from toolmark.environments.page_corpus import PageCorpus
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.perturb.image import picture_variations
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    NO_REPLY_FLOOR,
    Defaults,
    EnvironmentSource,
    Presentation,
    Provenance,
    Scorer,
    Suite,
    TaskMaker,
)
from toolmark.suites.mfcl_vision import (
    accuracy_tables,
    episode_scoring,
    episode_views,
    failure_modes,
    item_folder,
    item_generator,
    oracle_control,
    paper_comparison,
    set_export,
    task_maker,
    variation_statistics,
    web_environment,
)
from toolmark.suites.mfcl_vision.generation_parameters import QUESTION_PARTS, GenerationParameters
from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS
from toolmark.suites.mfcl_vision.parameters import GENERATED_SOURCE, PAGES_ENGINE, VisionParameters

SCORER = Scorer(
    rules=episode_scoring.RULES,
    score=episode_scoring.score_episode,
    metrics=accuracy_tables.build_metrics,
    presentation=Presentation(
        tables=paper_comparison.build_tables,
        views=episode_views.build_views,
        level_names={"variation": lambda name, _: variation_statistics.variation_label(name)},
        failure_names={
            **failure_modes.MODE_LABELS,
            failure_modes.OTHER_MODE: "on the undamaged picture too",
        },
        overview="mfcl-vision",
    ),
    prepare=episode_scoring.make_scoring,
)
_GENERATED_ONLY_PARAMETERS = ("hops", "lookalikes", "clue", "clue_size", "depth", "distractors")
_PART_LEVELS = {"yes": True, "no": False}
# As many as in the paper.
_DEFAULT_N_ITEMS = 250


class ItemOrigin(NamedTuple):
    """The source of the items, the pages to search, and the hashes and notes of what was read."""

    source: task_maker.ItemSource
    seed: int
    pages: web_environment.Corpora | Path | None
    hashes: Mapping[str, str]
    notes: tuple[str, ...] = ()


def load(parameters: VisionParameters) -> Suite:
    """Return the suite. Raises UsageError for parameters that contradict each other."""
    names = _check_variations(parameters.variations)
    is_generated = parameters.source == GENERATED_SOURCE
    origin = _generated_origin(parameters) if is_generated else _folder_origin(parameters)
    media = MediaStore(files.cache_folder() / "media")
    maker = task_maker.VisionTaskMaker(origin.source, media, origin.seed)
    tools = search_environment.search_tools(takes_parts=parameters.structured)
    # the plan of a folder's items must record the seed that is used
    recorded = {} if is_generated else {"seed": origin.seed}
    return Suite(
        name=task_maker.SUITE_NAME,
        tasks=VariantTasks(
            origin.source.item_headers(),
            names,
            partial(task_maker.build_pending_task, tools=tools),
        ),
        environment=_environment_source(origin.pages, parameters),
        scorer=SCORER,
        parameters=suite_parameters.recorded_values(parameters, **recorded),
        controls={"oracle": oracle_control.make_oracle},
        maker=TaskMaker(
            make=maker,
            draft=maker.draft,
            describe_work=task_maker.describe_effort,
            failure=web_environment.picture_failure,
        ),
        defaults=Defaults(floors=_choose_floors(parameters)),
        provenance=Provenance(
            data_label="MFCL-style, generated" if is_generated else "",
            seed=origin.seed,
            hashes={**origin.hashes, **search_engines.source_hashes(parameters.search)},
            notes=origin.notes,
            media=media,
            export=set_export.make_export(origin.pages),
        ),
    )


def _choose_floors(parameters: VisionParameters) -> Mapping[str, str]:
    """Return the floors: one that searches only where the pages are on this machine."""
    if parameters.search != PAGES_ENGINE:
        return NO_REPLY_FLOOR
    return {**NO_REPLY_FLOOR, "baseline/blind": "searches without looking at the picture"}


def _environment_source(
    pages: web_environment.Corpora | Path | None, parameters: VisionParameters
) -> EnvironmentSource:
    opener = web_environment.WebOpener(
        parameters.search, pages, parameters.snippets, parameters.outages
    )
    return EnvironmentSource(
        opener,
        missing_parts=opener.missing_parts,
        for_exported_set=lambda made_with, folder: _environment_source(
            _pages_of_set(made_with, folder), parameters
        ),
    )


def _pages_of_set(
    made_with: Mapping[str, Any], folder: Path
) -> web_environment.Corpora | Path | None:
    """Return the pages for tasks made with these parameters: drawn again, or read from the set."""
    if made_with["source"] == GENERATED_SOURCE:
        return partial(_world_corpus, distractors=made_with["distractors"])
    return _pages_folder(folder)


def _check_variations(requested: Sequence[str]) -> tuple[str, ...]:
    if not requested:
        raise UsageError("no variation given; for example variations=base,edges")
    return tuple(dict.fromkeys(map(picture_variations.normalise_variation, requested)))


# --- where items come from --------------------------------------------------------------


def _generated_origin(parameters: VisionParameters) -> ItemOrigin:
    """Return generated items of a fictional world. Raises UsageError for invalid parameters."""
    n = _DEFAULT_N_ITEMS if parameters.items is None else parameters.items
    seed = secrets.randbits(32) if parameters.seed is None else parameters.seed
    generation = _make_generation_parameters(parameters)
    source = task_maker.GeneratedItems(seed=seed, n=n, parameters=generation)
    return ItemOrigin(source, seed, partial(_world_corpus, distractors=generation.distractors), {})


def _world_corpus(seed: int, distractors: int) -> PageCorpus:
    """Return the pages of a world."""
    return item_generator.world_setup(seed, distractors).corpus


def _make_generation_parameters(parameters: VisionParameters) -> GenerationParameters:
    chosen: dict[str, Any] = {
        "domains": _select_names("domain", parameters.domain, DOMAINS),
        "kinds": _select_names("kind", parameters.kind, QUERY_KINDS),
        "hops": _parse_numbers("hops", parameters.hops),
        "lookalikes": _parse_numbers("lookalikes", parameters.lookalikes),
        "depth": _parse_numbers("depth", parameters.depth),
        "clue": tuple(parameters.clue),
        "sizes": tuple(parameters.clue_size),
        "distractors": parameters.distractors,
        "parts": _parse_question_parts(parameters),
    }
    return GenerationParameters(**chosen)


def _select_names(name: str, requested: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the requested names, each once, in table order. Raises UsageError."""
    for word in requested:
        if word != "all" and word not in known:
            raise UsageError(f"no {name} {word!r}{suggest_names(word, ('all', *known))}")
    found = tuple(word for word in known if word in requested or "all" in requested)
    if not found:
        raise UsageError(f"no {name} given; for example {name}=all")
    return found


def _parse_numbers(name: str, requested: Sequence[str]) -> tuple[int, ...]:
    wrong = next((word for word in requested if not (word.isascii() and word.isdecimal())), "")
    if wrong:
        raise UsageError(f"{name}: expected numbers, separated by commas; got {wrong!r}")
    return tuple(int(word) for word in requested)


def _parse_question_parts(parameters: VisionParameters) -> dict[str, tuple[bool, ...]]:
    """Return the requested levels of question parts, for named parts only. Raises UsageError."""
    found = {}
    for name in QUESTION_PARTS:
        levels = getattr(parameters, name)
        if levels is not None:
            if not levels:
                raise UsageError(f"{name}: expected yes, no or yes,no; got nothing")
            found[name] = tuple(_PART_LEVELS[level] for level in dict.fromkeys(levels))
    return found


def _folder_origin(parameters: VisionParameters) -> ItemOrigin:
    """Return the items of a folder.

    Raises UsageError for a suite parameter that applies only to generated items.
    """
    defaults = VisionParameters()
    for name in _GENERATED_ONLY_PARAMETERS:
        if getattr(parameters, name) != getattr(defaults, name):
            raise UsageError(f"{name} is of generated items: leave it out with source=FOLDER")
    folder_items = item_folder.read_item_folder(Path(parameters.source))
    domains = _select_names("domain", parameters.domain, DOMAINS)
    kinds = _select_names("kind", parameters.kind, QUERY_KINDS)
    entries = [
        entry for entry in folder_items.entries if entry.domain in domains and entry.kind in kinds
    ]
    if not entries:
        raise UsageError(
            f"{folder_items.path}: no item of these domains and query types; loosen -T"
        )
    seed = parameters.seed or 0
    source = task_maker.FolderItems(
        entries=tuple(entries[: parameters.items]),
        seed=seed,
        parts=_parse_question_parts(parameters),
    )
    pages = _pages_folder(folder_items.path)
    hashes = {"items": folder_items.sha256}
    if pages and parameters.search == PAGES_ENGINE:
        hashes["pages"] = search_engines.source_hashes(f"corpus:{pages}")["corpus"]
    return ItemOrigin(source, seed, pages, hashes, folder_items.notes)


def _pages_folder(folder: Path) -> Path | None:
    """Return the folder of pages next to the items, None if there is none."""
    pages = folder / item_folder.PAGES_FOLDER
    return pages if pages.is_dir() else None
