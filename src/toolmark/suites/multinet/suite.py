"""MultiNet v1.0: seven families of data under one set of metrics (perception, reasoning, action).

Each family is a suite; its keyword-only signature is the table of its knobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from toolmark import fetch
from toolmark.dialects.native import NATIVE
from toolmark.media import Media
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.bfcl import data as official
from toolmark.suites.bfcl import multi_turn
from toolmark.suites.multinet import (
    card,
    families,
    instruments,
    making,
    paper,
    parse,
    report,
    score,
    views,
)
from toolmark.suites.multinet import source as sources
from toolmark.suites.multinet.families import Family
from toolmark.suites.multinet.frame import Form, Frame
from toolmark.suites.multinet.source import ALL, OFFICIAL, REAL, SYNTHETIC
from toolmark.types import Result, Text, Tool
from toolmark.worlds import silent

DIALECTS = "native; how answers are given: -T form"
SCORER = Scorer(
    readings=parse.READINGS,
    score=score.score,
    metrics=report.metrics,
    tables=paper.tables,
    views=views.views,
    across="multinet",
    profile="multinet",
    caution=report.caution,
    gather=score.gather,
)
_FORMS: Mapping[str, tuple[Form, ...]] = {
    "text": ("text",), "tool": ("tool",), "both": making.FORMS,
}  # fmt: skip


@dataclass(frozen=True)
class Functions:
    """The functions of the classes that a conversation involves, as the official docs have them."""

    root: Path

    def __call__(self, frame: Frame) -> tuple[Tool, ...]:
        """Return the functions as tools."""
        names = frame.fields["classes"].split(", ")
        return tuple(tool for name in names for tool in multi_turn.tools(self.root, name))


# --- the families -----------------------------------------------------------------------


def piqa(
    *,
    data: str = SYNTHETIC,
    items: int | Literal["all"] = 200,
    sample: Literal["fifth", "all"] = "fifth",
    form: Literal["text", "tool", "both"] = "text",
    seed: int | None = None,
) -> Suite:
    """Ask which of two solutions works in the physical world (PIQA), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of the sample.
        sample: Of PIQA's whole training file: the fifth that MultiNet asks, or all. Of any other
            folder all rows are the sample.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """
    knobs: dict[str, Any] = dict(locals())
    return _suite("piqa", knobs, options=sources.share(sample, data))


def sqa3d(
    *,
    data: str = SYNTHETIC,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    pictures: bool = True,
    similarity: str = score.AUTO,
    seed: int | None = None,
) -> Suite:
    """Ask about a room seen from above, from where a situation puts one (SQA3D), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        pictures: Whether the pictures are sent.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    knobs: dict[str, Any] = dict(locals())
    return _suite("sqa3d", knobs)


def robovqa(
    *,
    data: str = SYNTHETIC,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    pictures: bool = True,
    similarity: str = score.AUTO,
    seed: int | None = None,
) -> Suite:
    """Ask what a robot should do, or has done, from what its camera sees (RoboVQA).

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        pictures: Whether the pictures are sent.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    knobs: dict[str, Any] = dict(locals())
    return _suite("robovqa", knobs)


def odinw(
    *,
    data: str = SYNTHETIC,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    subset: tuple[str, ...] = (ALL,),
    pictures: bool = True,
    seed: int | None = None,
) -> Suite:
    """Ask which object a picture shows, of the classes of its sub-set (ODinW), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        subset: all, or some of the sub-sets.
        pictures: Whether the pictures are sent.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    knobs: dict[str, Any] = dict(locals())
    return _suite("odinw", knobs, options=sources.subsets(subset))


def bfcl(
    *,
    data: str = OFFICIAL,
    items: int | Literal["all"] = 200,
    sample: Literal["fifth", "all"] = "fifth",
    form: Literal["text", "tool", "both"] = "text",
    similarity: str = score.AUTO,
    seed: int = 0,
) -> Suite:
    """Ask for function calls turn by turn, none of them executed (BFCL v3), in MultiNet's way.

    The published prompt shows the path of calls that is wanted; it is never sent here.

    Args:
        data: official (the package that `toolmark fetch bfcl` keeps), or a folder in the published
            layout.
        items: How many conversations are asked, drawn by the seed; all: every one of the sample.
        sample: Of the 200 official conversations: a fifth, as MultiNet, drawn by the seed, or all.
            Of any other folder all are the sample.
        form: text (a reply in the published form), tool (the functions as tools), or both, paired.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Draws the sample, and among it.

    """
    knobs: dict[str, Any] = dict(locals())
    options = sources.share(sample, data)
    return _suite("bfcl", knobs, options=options, functions=Functions(official.fetch()))


def overcooked(
    *,
    data: str = REAL,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    mode: Literal["action", "probs"] = "action",
    history: int = 0,
    pictures: bool = True,
    frames: int = 1,
    seed: int | None = None,
) -> Suite:
    """Ask what two cooks do next in a game that people played (Overcooked), in MultiNet's way.

    Args:
        data: real (games of 2019, fetched on first use), synthetic (generated, offline), or a
            folder in the published layout.
        items: How many steps are asked, drawn by the seed; all: every step that people played.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        mode: action (the joint action) or probs (a probability for each of the 36).
        history: So many joint actions before the step are told.
        pictures: Whether frames are sent; else the kitchen is told in words, where data have any.
        frames: So many frames up to the step are sent, oldest first; at most 100.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    knobs: dict[str, Any] = dict(locals())
    return _suite(
        "overcooked", knobs, options={"mode": mode, "history": history, "pictures": frames}
    )


def openx(
    *,
    data: str = SYNTHETIC,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    morphology: tuple[str, ...] = (ALL,),
    history: int = 0,
    pictures: bool = True,
    seed: int | None = None,
) -> Suite:
    """Ask for the action that a robot takes next, as a vector (Open X-Embodiment).

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many steps are asked, evenly over the morphologies, drawn by the seed; all:
            every step of a folder's test split, without one of a tenth of its episodes.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        morphology: all, or some of single_arm, bimanual, mobile, wheeled, quadrupedal; own: a robot
            of any shape, in a folder.
        history: So many actions before the step are told.
        pictures: Whether the pictures are sent.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    knobs: dict[str, Any] = dict(locals())
    sets = tuple({"morphology": name} for name in sources.robots(data, morphology))
    return _suite("openx", knobs, sets, options={"history": history})


# --- what they share --------------------------------------------------------------------


def _suite(
    family: Family,
    knobs: dict[str, Any],
    sets: Sequence[Mapping[str, str]] = ({},),
    *,
    options: Mapping[str, Any] = {},
    functions: making.Functions = making.none,
) -> Suite:
    """Return the suite of a family; `sets` are further options of each set of rows that it has."""
    source = str(knobs["data"])
    similarity = str(knobs.get("similarity", score.NONE))
    score.check(similarity)
    seed = sources.seed(source, knobs)
    rows = sources.rows(family, source, seed, knobs["items"], sets, options)
    seen = bool(knobs.get("pictures", False))
    media = Media(fetch.cache() / "media")
    maker = making.Maker(rows=rows, home=str(media.folder), root=source) if seen else None
    return Suite(
        name=families.suite(family),
        tasks=making.Items(rows, seed, _FORMS[knobs["form"]], seen, functions, similarity),
        scorer=SCORER,
        site=_SITE,
        dialects={"native": NATIVE},
        knobs=knobs,
        seed=seed,
        instruments={"oracle": instruments.oracle, "faulty": instruments.faulty},
        hashes=sources.hashes(rows),
        notes=(*rows.notes, *filter(None, [score.lack(similarity)])),
        media=media,
        make=maker or _as_they_are,
        draft=maker.draft if maker else _as_they_are,
        effort=making.effort if seen else _nothing,
        broken=making.failed,
        publisher=card.publisher(family, source),
    )


# endpoints want a result for every call
_NOTED = Result(parts=(Text("Noted; calls are not executed here."),))
_SITE = partial(silent.site, result=_NOTED)


def _as_they_are(tasks: Any) -> Any:
    return tasks


def _nothing(tasks: Any) -> str:
    return ""
