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

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core.errors import UsageError
from toolmark.core.number_format import pluralize
from toolmark.reports.table_format import render_text

if TYPE_CHECKING:  # loaded when needed: other commands start sooner without them
    from toolmark.runs.run_store import Run
    from toolmark.studio.review_server import ReviewServer, ReviewSession
    from toolmark.studio.vision_tuning.tuning_folder import TuningFolder

out = consoles.stdout_console()
err = consoles.stderr_console()
DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"

Reviewer = Annotated[
    str,
    options.option("--reviewer", help="Who decides; default: the user's name here."),
]
Runs = Annotated[
    list[Path],
    typer.Argument(
        help="A run folder; two with --blind; one of `tune`; or a file of rows.", metavar="RUN"
    ),
]
Port = Annotated[int, options.option("--port", help="0: any free one.", min=0, max=65535)]
NoOpen = Annotated[bool, options.option("--no-open", help="Print the address; open no browser.")]
Export = Annotated[
    Path | None,
    options.option("--export", metavar="FILE", help="Write what was accepted as references."),
]
BlindFlag = Annotated[bool, options.option("--blind", help="Two runs side by side, names hidden.")]
PairsFlag = Annotated[
    bool, options.option("--pairs", help="Label pairs of calls whose match is uncertain.")
]
LabelsFlag = Annotated[
    bool, options.option("--labels", help="Label episodes as pass or fail, to correct a judge.")
]
Encoder = Annotated[
    str,
    options.option("--encoder", metavar="NAME", help="A folder, an installed package, or a hub's."),
]


def review(
    runs: Runs,
    ids: options.Ids = None,
    blind: BlindFlag = False,
    pairs: PairsFlag = False,
    labels: LabelsFlag = False,
    export: Export = None,
    encoder: Encoder = DEFAULT_ENCODER,
    seed: Annotated[
        int,
        options.option(
            "--seed", help="Draws the sides of --blind, and the order of --labels.", min=0
        ),
    ] = 0,
    reviewer: Reviewer = "",
    port: Port = 0,
    no_open: NoOpen = False,
) -> None:
    """Judge what models did, in the browser; decisions are stored next to the run."""
    from toolmark import api

    if blind + pairs + labels + (export is not None) > 1:
        raise UsageError("one at a time: --blind, --pairs, --labels or --export")
    if labels and ids:
        raise UsageError("--labels asks about episodes that it draws: leave out --ids")
    if len(runs) != 1 + blind:
        raise UsageError("--blind compares two runs" if blind else "review one run at a time")
    chosen = options.split_list(ids)
    if runs[0].is_file():
        from toolmark.studio.row_review import RowReview

        if blind or pairs or export is not None:
            raise UsageError(f"{runs[0]}: rows are reviewed there, no runs; leave the flag out")
        _serve_desk(RowReview(runs[0], _reviewer_name(reviewer), chosen), port, no_open=no_open)
        return
    if (tuning := _open_tuning(runs[0])) is not None:
        if blind or pairs or labels or export is not None:
            raise UsageError(f"{runs[0]}: items are marked there, no runs; leave the flag out")
        _serve_desk(
            _solvability_desk(tuning, _reviewer_name(reviewer), chosen), port, no_open=no_open
        )
        return
    opened = [api.open_run(path) for path in runs]
    if export is not None:
        from toolmark.studio import run_review

        message = run_review.export_references(opened[0], export, chosen)
        out.print(message, markup=False, highlight=False, soft_wrap=True)
        return
    if labels:
        from toolmark.studio.label_review import LabelReview

        _serve_desk(
            LabelReview(opened[0], _reviewer_name(reviewer), seed=seed), port, no_open=no_open
        )
        return
    desk = _review_desk(opened, encoder if pairs else "", _reviewer_name(reviewer), chosen, seed)
    _serve_desk(desk, port, no_open=no_open)


def _reviewer_name(reviewer: str) -> str:
    try:
        return reviewer or getpass.getuser()
    except (OSError, KeyError):  # a container's user may have no name
        raise UsageError("who decides? name yourself with --reviewer") from None


def _open_tuning(path: Path) -> TuningFolder | None:
    """Return the tuning of a folder, None for a folder of something else."""
    if not os.path.lexists(path / "tune.json"):  # as its module says, which loads the whole suite
        return None
    from toolmark.studio.vision_tuning.tuning_folder import TuningFolder

    return TuningFolder(path)


def _solvability_desk(tuning: TuningFolder, reviewer: str, ids: tuple[str, ...]) -> ReviewSession:
    from toolmark.studio.solvability_review import SolvabilityReview

    return SolvabilityReview(tuning, reviewer, ids)


def _serve_desk(desk: ReviewSession, port: int, *, no_open: bool) -> None:
    from toolmark.studio.review_server import ReviewServer

    with ReviewServer(desk, port) as server:
        _serve_until_interrupted(server, no_open=no_open)
    for line in desk.summary_lines():
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _review_desk(
    runs: list[Run], encoder: str, reviewer: str, ids: tuple[str, ...], seed: int
) -> ReviewSession:
    from toolmark.studio.blind_review import BlindReview
    from toolmark.studio.run_review import RunReview

    if len(runs) == 2:
        return BlindReview(runs[0], runs[1], reviewer, ids=ids, seed=seed)
    if encoder:
        from toolmark.core.sentence_encoder import load_encoder
        from toolmark.studio.call_pair_review import CallPairReview
        from toolmark.studio.review_episodes import ReviewEpisodes

        return CallPairReview(ReviewEpisodes(runs[0], ids), load_encoder(encoder), reviewer)
    return RunReview(runs[0], reviewer, ids)


def _serve_until_interrupted(server: ReviewServer, *, no_open: bool) -> None:
    """Serve until Ctrl-C: every decision is on the disk before the next page is shown."""
    with suppress(KeyboardInterrupt):
        out.print(f"{server.url}\n{pluralize(len(server.session), 'question')}; end with Ctrl-C",
                  markup=False, highlight=False, soft_wrap=True)  # fmt: skip
        if not no_open:
            webbrowser.open(server.url)
        server.serve_forever()


def calibrate(
    pairs: Annotated[Path, typer.Argument(help="Labelled pairs, one a line.", metavar="PAIRS")],
    encoder: Annotated[
        str | None,
        options.option(
            "--encoder", metavar="NAME", help="Compares the texts; else `similarity` counts."
        ),
    ] = None,
    output: Annotated[
        Path | None, options.option("-o", "--output", help="Write a page, too.")
    ] = None,
    seed: Annotated[int, options.option("--seed", help="Of the bootstrap.", min=0)] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Compare thresholds of similarity with labelled pairs."""
    import numpy as np

    from toolmark.core.sentence_encoder import load_encoder
    from toolmark.studio import calibration_page, threshold_calibration

    labelled = threshold_calibration.read_pairs(pairs)
    similarity = threshold_calibration.pair_similarities(
        labelled, load_encoder(encoder) if encoder else None
    )
    same = np.array([pair.same for pair in labelled])
    found = threshold_calibration.sweep_thresholds(similarity, same, seed=seed)
    if as_json:
        # a share of nothing, which the sweep has as nan, is null
        options.print_json(msgspec.json.decode(msgspec.json.encode(found)))
    else:
        tables = "\n\n".join(
            map(
                render_text,
                (
                    threshold_calibration.best_thresholds_table(found),
                    threshold_calibration.thresholds_table(found),
                ),
            )
        )
        out.print(tables, markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        err.print(
            str(
                calibration_page.write_calibration_page(
                    found, similarity, same, output, source=pairs.name
                )
            ),
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
