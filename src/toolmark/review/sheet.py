"""The page about a calibration: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolmark.errors import DataError
from toolmark.files import atomic_file
from toolmark.report import chart, tables
from toolmark.report.tables import visible
from toolmark.review import calibrate, pages
from toolmark.review.calibrate import Sweep


def write(
    found: Sweep,
    similarity: NDArray[np.float64],
    same: NDArray[np.bool_],
    path: Path,
    *,
    source: str,
) -> Path:
    """Write the page and return its path. Raises DataError when that fails."""
    charts = (calibrate.chart(found), calibrate.spread(similarity, same))
    text = pages.render(
        "calibrate.html.j2",
        source=visible(source),
        charts=[(made, chart.draw(made)) for made in charts],
        grids=[tables.grid(calibrate.chosen(found)), tables.grid(calibrate.table(found, every=1))],
    )
    try:
        with atomic_file(path) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write the page: {error.strerror}") from None
    return path
