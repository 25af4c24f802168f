"""The MFCL Vision suite: questions on pictures that need a search, also on damaged pictures."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.core import files
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.media import MediaStore
from toolmark.environments import search_engines
from toolmark.environments import search_environment as web
from toolmark.environments.page_corpus import PageCorpus
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.formats.prompt_format import PromptFormat
from toolmark.perturb.image import picture_variations
from toolmark.runs.suite import Scorer, Suite
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
from toolmark.suites.mfcl_vision.generation_parameters import (
    GENERATED_SOURCE,
    QUESTION_PARTS,
    GenerationParameters,
)
from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS

DIALECTS = "native, prompt"
SCORER = Scorer(
    readings=episode_scoring.RULES,
    score=episode_scoring.score_episode,
    metrics=accuracy_tables.build_metrics,
    tables=paper_comparison.build_tables,
    across="mfcl-vision",
    views=episode_views.build_views,
    gather=episode_scoring.make_scoring,
    axes={"variation": lambda name, _: variation_statistics.variation_label(name)},
    natives={**failure_modes.MODE_LABELS, failure_modes.OTHER_MODE: "on the undamaged picture too"},
)
_REQUEST_PARAMETERS = ("search", "snippets", "outages")
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


def load(
    *,
    items: int | None = None,
    variations: tuple[str, ...] = picture_variations.TABLE_2_VARIATIONS,
    domain: tuple[str, ...] = ("all",),
    kind: tuple[str, ...] = ("all",),
    hops: tuple[str, ...] = ("1", "2", "3"),
    lookalikes: tuple[str, ...] = ("0", "1", "2"),
    clue: tuple[str, ...] = ("text", "symbol"),
    clue_size: tuple[str, ...] = ("medium", "large"),
    depth: tuple[str, ...] = ("0", "1"),
    distractors: int = 1,
    context: tuple[str, ...] | None = None,
    hint: tuple[str, ...] | None = None,
    form: tuple[str, ...] | None = None,
    source: str = GENERATED_SOURCE,
    search: str = web_environment.PAGES_ENGINE,
    snippets: bool = True,
    structured: bool = False,
    outages: float = 0.0,
    seed: int | None = None,
) -> Suite:
    """Ask questions on pictures that need a web search, on damaged pictures beside the whole ones.

    Pictures, questions and the pages to search are generated, or come from a folder of one's own.

    Args:
        items: How many items: 250 are generated, evenly over domains and query types; of a folder
            all are taken.
        variations: What is done to each picture; by default Table 2's eight. Also occlusion=0.5
            (share of the clue), jitter=1 to 4, edges=50/150 (thresholds).
        domain: all, or some of places, events, media, sports, shopping.
        kind: all, or some of locate, temporal, select, identify, quantify.
        hops: Pages from the picture to the answer, 1 to 4; each item draws one of those named.
        lookalikes: Signs beside the clue that lead to other answers, 0 to 6; each draws one.
        clue: What tells the way: text, symbol; each draws one.
        clue_size: Of its letters: small, medium, large; each draws one.
        depth: Objects that stand nearer and lead elsewhere, 0 or 1; each draws one.
        distractors: Pages without the answer, for each thing that there is.
        context: yes, no or both: whether a question says how the picture came about; of both
            each item draws one, and nothing else of it changes. Default yes; of a folder where it
            does.
        hint: The same of a hint how to begin. Default no; of a folder where it has one.
        form: The same of the form in which the answer is wanted. Default yes; of a folder where it
            says.
        source: generated, or a folder that holds items.jsonl and pictures.
        search: What answers searches: pages (those of the items), corpus:FOLDER, a provider that
            has a key (serpapi, brave, tavily, serper), record:FILE or replay:FILE.
        snippets: Search results hold an excerpt of each page.
        structured: The search tool asks for words of the question, lettering and look apart.
        outages: Share of searches and pages that fail, 0 to 1; asked again they may not.
        seed: Same seed and knobs, same tasks. Default a fresh one; 0 for a folder.

    """
    parameters: dict[str, Any] = dict(locals())
    names = _check_variations(variations)
    if source == GENERATED_SOURCE:
        origin = _generated_origin(parameters)
    else:
        origin = _folder_origin(parameters)
        # The plan must record the seed that is used.
        parameters["seed"] = origin.seed
    media = MediaStore(files.cache_folder() / "media")
    opening = web_environment.WebOpener(search, origin.pages, snippets, outages)
    maker = task_maker.TaskMaker(source=origin.source, home=str(media.folder), seed=origin.seed)
    return Suite(
        name=task_maker.SUITE_NAME,
        tasks=task_maker.PendingTasks(
            origin.source.item_headers(), names, web.search_tools(parted=structured)
        ),
        scorer=SCORER,
        site=opening,
        missing=opening.missing,
        dialects={"native": NATIVE_FORMAT, "prompt": PromptFormat()},
        knobs=parameters,
        seed=origin.seed,
        instruments={"oracle": oracle_control.make_oracle},
        hashes={**origin.hashes, **search_engines.source_hashes(search)},
        notes=origin.notes,
        media=media,
        make=maker,
        draft=lambda task: maker.make_item_tasks([task])[0],
        effort=task_maker.describe_effort,
        publisher=set_export.make_publisher(origin.pages),
        broken=web_environment.picture_failure,
        asking=_REQUEST_PARAMETERS,
        reopen=lambda made_with, folder: _reopen_web(made_with, folder, parameters),
    )


def _check_variations(requested: Sequence[str]) -> tuple[str, ...]:
    if not requested:
        raise UsageError("no variation given; for example variations=base,edges")
    return tuple(dict.fromkeys(map(picture_variations.normalise_variation, requested)))


# --- where items come from --------------------------------------------------------------


def _generated_origin(parameters: Mapping[str, Any]) -> ItemOrigin:
    """Return generated items of a fictional world. Raises UsageError for invalid parameters."""
    n = _DEFAULT_N_ITEMS if parameters["items"] is None else _check_positive(parameters["items"])
    seed = secrets.randbits(32) if parameters["seed"] is None else parameters["seed"]
    generation = _make_generation_parameters(parameters)
    source = task_maker.GeneratedItems(seed=seed, n=n, knobs=generation)
    return ItemOrigin(source, seed, partial(_world_corpus, distractors=generation.distractors), {})


def _world_corpus(seed: int, distractors: int) -> PageCorpus:
    """Return the pages of a world."""
    return item_generator.world_setup(seed, distractors).corpus


def _check_positive(n: int) -> int:
    if n < 1:
        raise UsageError(f"items must be at least 1; got {n}")
    return n


def _make_generation_parameters(parameters: Mapping[str, Any]) -> GenerationParameters:
    chosen: dict[str, Any] = {
        "domains": _select_names("domain", parameters["domain"], DOMAINS),
        "kinds": _select_names("kind", parameters["kind"], QUERY_KINDS),
        "hops": _parse_numbers("hops", parameters["hops"]),
        "lookalikes": _parse_numbers("lookalikes", parameters["lookalikes"]),
        "depth": _parse_numbers("depth", parameters["depth"]),
        "clue": tuple(parameters["clue"]),
        "sizes": tuple(parameters["clue_size"]),
        "distractors": parameters["distractors"],
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


def _parse_question_parts(parameters: Mapping[str, Any]) -> dict[str, tuple[bool, ...]]:
    """Return the requested levels of question parts, for named parts only. Raises UsageError."""
    found = {}
    for name in QUESTION_PARTS:
        levels = parameters[name]
        if levels is not None:
            wrong = next((level for level in levels if level not in _PART_LEVELS), "")
            if wrong or not levels:
                raise UsageError(f"{name}: expected yes, no or both; got {wrong!r}")
            found[name] = tuple(_PART_LEVELS[level] for level in dict.fromkeys(levels))
    return found


def _folder_origin(parameters: Mapping[str, Any]) -> ItemOrigin:
    """Return the items of a folder.

    Raises UsageError for a suite parameter that applies only to generated items.
    """
    defaults = inspect.signature(load).parameters
    for name in _GENERATED_ONLY_PARAMETERS:
        if parameters[name] != defaults[name].default:
            raise UsageError(f"{name} is of generated items: leave it out with source=FOLDER")
    folder_items = item_folder.read_item_folder(Path(parameters["source"]))
    domains = _select_names("domain", parameters["domain"], DOMAINS)
    kinds = _select_names("kind", parameters["kind"], QUERY_KINDS)
    entries = [
        entry for entry in folder_items.entries if entry.domain in domains and entry.kind in kinds
    ]
    if not entries:
        raise UsageError(
            f"{folder_items.path}: no item of these domains and query types; loosen -T"
        )
    n = None if parameters["items"] is None else _check_positive(parameters["items"])
    seed = parameters["seed"] or 0
    source = task_maker.FolderItems(
        entries=tuple(entries[:n]), seed=seed, parts=_parse_question_parts(parameters)
    )
    pages = _pages_folder(folder_items.path)
    hashes = {"items": folder_items.sha256}
    if pages and parameters["search"] == web_environment.PAGES_ENGINE:
        hashes["pages"] = search_engines.source_hashes(f"corpus:{pages}")["corpus"]
    return ItemOrigin(source, seed, pages, hashes, folder_items.notes)


def _pages_folder(folder: Path) -> Path | None:
    """Return the folder of pages beside the items, None if there is none."""
    pages = folder / item_folder.PAGES_FOLDER
    return pages if pages.is_dir() else None


def _reopen_web(
    made_with: Mapping[str, Any], folder: Path, parameters: Mapping[str, Any]
) -> web_environment.WebOpener:
    """Return the environment factory for tasks made with these parameters.

    Its pages are drawn again, or read from the set.
    """
    pages: web_environment.Corpora | Path | None = _pages_folder(folder)
    if made_with["source"] == GENERATED_SOURCE:
        pages = partial(_world_corpus, distractors=made_with["distractors"])
    return web_environment.WebOpener(
        parameters["search"], pages, parameters["snippets"], parameters["outages"]
    )
