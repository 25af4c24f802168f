"""MFCL Vision: questions on pictures that only a search can answer, on damaged pictures too."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolmark import fetch
from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.perturb.image import variation
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.mfcl.vision import (
    dataset,
    generate,
    instruments,
    layout,
    making,
    modes,
    paper,
    report,
    score,
    site,
    varied,
    views,
)
from toolmark.suites.mfcl.vision.item import DOMAINS, KINDS
from toolmark.suites.mfcl.vision.knobs import GENERATED, PARTS, Knobs
from toolmark.worlds import engines
from toolmark.worlds import search as web
from toolmark.worlds.corpus import Corpus

DIALECTS = "native, prompt"
SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=report.metrics,
    tables=paper.tables,
    across="mfcl-vision",
    views=views.views,
    gather=score.gather,
    axes={"variation": lambda name, _: varied.told(name)},
    natives={**modes.MODES, modes.OTHER: "on the undamaged picture too"},
)
_ASKING = ("search", "snippets", "outages")
_OF_WORLD = ("hops", "lookalikes", "clue", "clue_size", "depth", "distractors")
_LEVELS = {"yes": True, "no": False}
_ITEMS = 250  # as many as the paper has


class Origin(NamedTuple):
    """Where items come from, what they are searched in, and what was read for them."""

    source: making.Source
    seed: int
    pages: site.Corpora | Path | None
    hashes: Mapping[str, str]
    notes: tuple[str, ...] = ()


def load(
    *,
    items: int | None = None,
    variations: tuple[str, ...] = variation.TABLE2,
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
    source: str = GENERATED,
    search: str = site.PAGES,
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
    knobs: dict[str, Any] = dict(locals())
    names = _variations(variations)
    if source == GENERATED:
        made = _world(knobs)
    else:
        made = _folder(knobs)
        knobs["seed"] = made.seed  # which is not drawn: the plan holds it
    media = Media(fetch.cache() / "media")
    opening = site.Opening(search, made.pages, snippets, outages)
    maker = making.Maker(source=made.source, home=str(media.folder), seed=made.seed)
    return Suite(
        name=making.NAME,
        tasks=making.Items(made.source.names(), names, web.offer(parted=structured)),
        scorer=SCORER,
        site=opening,
        missing=opening.missing,
        dialects={"native": NATIVE, "prompt": Prompt()},
        knobs=knobs,
        seed=made.seed,
        instruments={"oracle": instruments.oracle},
        hashes={**made.hashes, **engines.hashes(search)},
        notes=made.notes,
        media=media,
        make=maker,
        draft=lambda task: maker.item([task])[0],
        effort=making.effort,
        publisher=dataset.publisher(made.pages),
        broken=site.failed,
        asking=_ASKING,
        reopen=lambda own, folder: _reopened(own, folder, knobs),
    )


def _variations(asked: Sequence[str]) -> tuple[str, ...]:
    if not asked:
        raise UsageError("no variation given; for example variations=base,edges")
    return tuple(dict.fromkeys(map(variation.check, asked)))


# --- where items come from --------------------------------------------------------------


def _world(knobs: Mapping[str, Any]) -> Origin:
    """Return items of a fictional world. Raises UsageError for knobs that make none."""
    n = _ITEMS if knobs["items"] is None else _positive(knobs["items"])
    seed = secrets.randbits(32) if knobs["seed"] is None else knobs["seed"]
    drawn = _drawn(knobs)
    source = making.Generated(seed=seed, n=n, knobs=drawn)
    return Origin(source, seed, partial(_corpus, distractors=drawn.distractors), {})


def _corpus(seed: int, distractors: int) -> Corpus:
    """Return the pages of a world."""
    return generate.setup(seed, distractors).corpus


def _positive(n: int) -> int:
    if n < 1:
        raise UsageError(f"items must be at least 1; got {n}")
    return n


def _drawn(knobs: Mapping[str, Any]) -> Knobs:
    chosen: dict[str, Any] = {
        "domains": _chosen("domain", knobs["domain"], DOMAINS),
        "kinds": _chosen("kind", knobs["kind"], KINDS),
        "hops": _numbers("hops", knobs["hops"]),
        "lookalikes": _numbers("lookalikes", knobs["lookalikes"]),
        "depth": _numbers("depth", knobs["depth"]),
        "clue": tuple(knobs["clue"]),
        "sizes": tuple(knobs["clue_size"]),
        "distractors": knobs["distractors"],
        "parts": _parts(knobs),
    }
    return Knobs(**chosen)


def _chosen(name: str, asked: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return what is meant, each once, in the order of the tables. Raises UsageError."""
    for word in asked:
        if word != "all" and word not in known:
            raise UsageError(f"no {name} {word!r}{near(word, ('all', *known))}")
    found = tuple(word for word in known if word in asked or "all" in asked)
    if not found:
        raise UsageError(f"no {name} given; for example {name}=all")
    return found


def _numbers(name: str, asked: Sequence[str]) -> tuple[int, ...]:
    wrong = next((word for word in asked if not (word.isascii() and word.isdecimal())), "")
    if wrong:
        raise UsageError(f"{name}: expected numbers, separated by commas; got {wrong!r}")
    return tuple(int(word) for word in asked)


def _parts(knobs: Mapping[str, Any]) -> dict[str, tuple[bool, ...]]:
    """Return which parts of a question were asked for, or left out. Raises UsageError."""
    found = {}
    for name in PARTS:
        levels = knobs[name]
        if levels is not None:
            wrong = next((level for level in levels if level not in _LEVELS), "")
            if wrong or not levels:
                raise UsageError(f"{name}: expected yes, no or both; got {wrong!r}")
            found[name] = tuple(_LEVELS[level] for level in dict.fromkeys(levels))
    return found


def _folder(knobs: Mapping[str, Any]) -> Origin:
    """Return the items of a folder. Raises UsageError for knobs that are of a world only."""
    defaults = inspect.signature(load).parameters
    for name in _OF_WORLD:
        if knobs[name] != defaults[name].default:
            raise UsageError(f"{name} is of generated items: leave it out with source=FOLDER")
    held = layout.read(Path(knobs["source"]))
    domains = _chosen("domain", knobs["domain"], DOMAINS)
    kinds = _chosen("kind", knobs["kind"], KINDS)
    entries = [each for each in held.entries if each.domain in domains and each.kind in kinds]
    if not entries:
        raise UsageError(f"{held.path}: no item of these domains and query types; loosen -T")
    n = None if knobs["items"] is None else _positive(knobs["items"])
    seed = knobs["seed"] or 0
    source = making.Published(entries=tuple(entries[:n]), seed=seed, parts=_parts(knobs))
    own = _own(held.path)
    hashes = {"items": held.sha256}
    if own and knobs["search"] == site.PAGES:
        hashes["pages"] = engines.hashes(f"corpus:{own}")["corpus"]
    return Origin(source, seed, own, hashes, held.notes)


def _own(folder: Path) -> Path | None:
    """Return the pages beside the items of a folder, None where there are none."""
    pages = folder / layout.PAGES
    return pages if pages.is_dir() else None


def _reopened(made: Mapping[str, Any], folder: Path, asked: Mapping[str, Any]) -> site.Opening:
    """Return the site for tasks made with these knobs: their pages, drawn again or in the set."""
    pages: site.Corpora | Path | None = _own(folder)
    if made["source"] == GENERATED:
        pages = partial(_corpus, distractors=made["distractors"])
    return site.Opening(asked["search"], pages, asked["snippets"], asked["outages"])
