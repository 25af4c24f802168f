"""Commands for people's judgement: review a run, compare two blindly, calibrate thresholds."""

from __future__ import annotations

import getpass
import os
import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from toolmark import api
from toolmark.cli import options as o
from toolmark.cli import screen
from toolmark.errors import UsageError
from toolmark.report.tables import plural, text
from toolmark.runs.store import Run

if TYPE_CHECKING:  # loaded when needed: other commands start sooner without them
    from toolmark.review.server import Desk, Server
    from toolmark.suites.mfcl.vision.tune.folder import Tuning

out = screen.out()
err = screen.err()
ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

Reviewer = Annotated[
    str,
    o.flag("--reviewer", help="Who decides; default: the user's name here."),
]
Runs = Annotated[
    list[Path],
    typer.Argument(help="A run folder; two with --blind; or one of `tune`.", metavar="RUN"),
]
Port = Annotated[int, o.flag("--port", help="0: any free one.", min=0, max=65535)]
NoOpen = Annotated[bool, o.flag("--no-open", help="Print the address; open no browser.")]
Export = Annotated[
    Path | None, o.flag("--export", metavar="FILE", help="Write what was kept as references.")
]
Blindly = Annotated[bool, o.flag("--blind", help="Two runs side by side, names hidden.")]
Doubtful = Annotated[bool, o.flag("--pairs", help="Label calls that are matched but unsure.")]
Encoder = Annotated[
    str, o.flag("--encoder", metavar="NAME", help="A folder, an installed package, or a hub's.")
]


def review(
    runs: Runs,
    ids: o.Ids = None,
    blind: Blindly = False,
    pairs: Doubtful = False,
    export: Export = None,
    encoder: Encoder = ENCODER,
    seed: Annotated[int, o.flag("--seed", help="Draws the sides of --blind.", min=0)] = 0,
    reviewer: Reviewer = "",
    port: Port = 0,
    no_open: NoOpen = False,
) -> None:
    """Judge what models did, in the browser; what is decided is kept beside the run."""
    if blind + pairs + (export is not None) > 1:
        raise UsageError("one at a time: --blind, --pairs or --export")
    if len(runs) != 1 + blind:
        raise UsageError("--blind compares two runs" if blind else "review one run at a time")
    chosen = o.words(ids)
    if (tuned := _tuned(runs[0])) is not None:
        if blind or pairs or export is not None:
            raise UsageError(f"{runs[0]}: items are marked there, no runs; leave the flag out")
        _judged(_solvable(tuned, _named(reviewer), chosen), port, no_open=no_open)
        return
    opened = [api.open_run(path) for path in runs]
    if export is not None:
        from toolmark.review import single

        told = single.export(opened[0], export, chosen)
        out.print(told, markup=False, highlight=False, soft_wrap=True)
        return
    desk = _desk(opened, encoder if pairs else "", _named(reviewer), chosen, seed)
    _judged(desk, port, no_open=no_open)


def _named(reviewer: str) -> str:
    try:
        return reviewer or getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        raise UsageError("who decides? name yourself with --reviewer") from None


def _tuned(path: Path) -> Tuning | None:
    """Return the tuning of a folder, None for a folder of something else."""
    if not os.path.lexists(path / "tune.json"):  # as its module says, which loads the whole suite
        return None
    from toolmark.suites.mfcl.vision.tune.folder import Tuning

    return Tuning(path)


def _solvable(tuning: Tuning, reviewer: str, ids: tuple[str, ...]) -> Desk:
    from toolmark.review.solvable import Solvable

    return Solvable(tuning, reviewer, ids)


def _judged(desk: Desk, port: int, *, no_open: bool) -> None:
    from toolmark.review.server import Server

    with Server(desk, port) as server:
        _serve(server, no_open=no_open)
    for line in desk.lines():
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _desk(runs: list[Run], encoder: str, reviewer: str, ids: tuple[str, ...], seed: int) -> Desk:
    from toolmark.review.blind import Blind
    from toolmark.review.single import Single

    if len(runs) == 2:
        return Blind(runs[0], runs[1], reviewer, ids=ids, seed=seed)
    if encoder:
        from toolmark.encoder import load
        from toolmark.review.episodes import Episodes
        from toolmark.review.pairs import Pairs

        return Pairs(Episodes(runs[0], ids), load(encoder), reviewer)
    return Single(runs[0], reviewer, ids)


def _serve(server: Server, *, no_open: bool) -> None:
    """Serve until Ctrl-C: every decision is on the disk before the next page is shown."""
    with suppress(KeyboardInterrupt):
        out.print(f"{server.url}\n{plural(len(server.desk), 'question')}; end with Ctrl-C",
                  markup=False, highlight=False, soft_wrap=True)  # fmt: skip
        if not no_open:
            webbrowser.open(server.url)
        server.serve_forever()


def calibrate(
    pairs: Annotated[Path, typer.Argument(help="Labelled pairs, one a line.", metavar="PAIRS")],
    encoder: Annotated[
        str | None,
        o.flag("--encoder", metavar="NAME", help="Compares the texts; else `similarity` counts."),
    ] = None,
    output: Annotated[Path | None, o.flag("-o", "--output", help="Write a page, too.")] = None,
    seed: Annotated[int, o.flag("--seed", help="Of the bootstrap.", min=0)] = 0,
    as_json: o.AsJson = False,
) -> None:
    """Hold thresholds of similarity against labelled pairs."""
    import numpy as np

    from toolmark.encoder import load
    from toolmark.review import calibrate as calibrating
    from toolmark.review import sheet

    labelled = calibrating.read(pairs)
    similarity = calibrating.similarities(labelled, load(encoder) if encoder else None)
    same = np.array([pair.same for pair in labelled])
    found = calibrating.sweep(similarity, same, seed=seed)
    if as_json:
        # a share of nothing, which the sweep has as nan, is null
        o.dump(msgspec.json.decode(msgspec.json.encode(found)))
    else:
        shown = "\n\n".join(map(text, (calibrating.chosen(found), calibrating.table(found))))
        out.print(shown, markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        err.print(str(sheet.write(found, similarity, same, output, source=pairs.name)),
                  markup=False, highlight=False, soft_wrap=True)  # fmt: skip
