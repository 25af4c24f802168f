"""The Berkeley Function Calling Leaderboard, version 4, on its official data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import OWN, Wording
from toolmark.errors import UsageError, near
from toolmark.runs.suite import Opening, Publisher, Scorer, Suite, Tasks
from toolmark.suites.bfcl import (
    agentic,
    data,
    leaderboard,
    multi_turn,
    report,
    sites,
    stored,
)
from toolmark.suites.bfcl import formats as variants
from toolmark.suites.bfcl.instruments import faulty, oracle
from toolmark.suites.bfcl.score import READINGS
from toolmark.types import Task
from toolmark.worlds import engines
from toolmark.worlds.silent import site

DIALECTS = "native, prompt; with category=format_sensitivity those that the knob formats names"
SCORER = Scorer(
    readings=READINGS,
    score=stored.score,
    metrics=leaderboard.metrics,
    tables=report.tables,
    views=report.views,
    across="bfcl",
)


@dataclass(frozen=True, slots=True)
class Joined:
    """The tasks of several families, one family after the other."""

    parts: tuple[Tasks, ...]

    def __len__(self) -> int:
        """Return the number of tasks."""
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks."""
        for part in self.parts:
            yield from part


PUBLISHER = Publisher(
    sources=(
        "Questions, tools and expected calls: the Berkeley Function Calling Leaderboard, from "
        f"PyPI's package bfcl-eval {data.PACKAGE.version}, Apache-2.0.",
    ),
    limits=("BFCL is public: a model may have seen its questions and answers.", "English mostly."),
)
CATEGORIES = (
    *data.CATEGORIES,
    *multi_turn.CATEGORIES,
    *agentic.CATEGORIES,
    variants.CATEGORY,
)
GROUPS = {
    "all": CATEGORIES,
    "all_scoring": tuple(name for name in CATEGORIES if name != variants.CATEGORY),
    **data.GROUPS,
    "multi_turn": multi_turn.CATEGORIES,
    **agentic.GROUPS,
}


def load(
    *,
    category: tuple[str, ...] = ("all",),
    formats: tuple[str, ...] = ("official",),
    entries: str = "200",
    wording: str = "official",
    search: str = "serpapi",
    encoder: str = agentic.ENCODER,
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
    chosen = names(category)
    shapes = variants.named(formats)
    root = data.fetch()
    single = tuple(name for name in chosen if name in data.CATEGORIES)
    parts: list[tuple[Tasks, dict[str, str]]] = [data.read(root, single)]
    if turned := tuple(name for name in chosen if name in multi_turn.CATEGORIES):
        parts.append(multi_turn.read(root, turned))
    acted = tuple(name for name in chosen if name in agentic.CATEGORIES)
    parts += [agentic.read(root, name) for name in acted]
    played = partial(
        agentic.site, agentic.Setting(frozenset(acted), acted == chosen, search, encoder)
    )
    if variants.CATEGORY in chosen:
        parts.append(variants.read(root, shapes, entries))
    tasks = Joined(tuple(found for found, _ in parts))
    hashes = {file: sha256 for _, read in parts for file, sha256 in read.items()}
    if not set(agentic.GROUPS["web_search"]).isdisjoint(acted):
        hashes |= engines.hashes(search)
    return Suite(
        name="bfcl",
        tasks=tasks,
        scorer=SCORER,
        site=partial(
            sites.joined, {name: played if name in acted else _site(name) for name in chosen}
        ),
        dialects={"native": NATIVE, **variants.dialects(shapes, _wording(root, wording))},
        knobs={
            "category": chosen,
            "formats": formats,
            "entries": entries,
            "wording": wording,
            "search": search,
            "encoder": encoder,
        },
        seed=seed,
        instruments={"oracle": oracle, "faulty": faulty},
        hashes=hashes,
        publisher=PUBLISHER,
        asking=("wording", "search", "encoder"),
    )


def names(asked: tuple[str, ...] | str) -> tuple[str, ...]:
    """Return the categories meant, each once, in the published order. Raises UsageError."""
    meant: set[str] = set()
    for word in (asked,) if isinstance(asked, str) else asked:
        if word not in CATEGORIES and word not in GROUPS:
            known = [*CATEGORIES, *GROUPS]
            raise UsageError(f"no category {word!r}{near(word, known)}")
        meant.update(GROUPS.get(word, (word,)))
    if not meant:
        raise UsageError(f"no category given{near('', GROUPS)}")
    return tuple(name for name in CATEGORIES if name in meant)


def _site(category: str) -> Opening:
    return multi_turn.site if category in multi_turn.CATEGORIES else site


def _wording(root: Path, asked: str) -> Wording:
    if asked not in ("official", "own"):
        raise UsageError(f"wording must be official or own, not {asked!r}")
    return data.wording(root) if asked == "official" else OWN
