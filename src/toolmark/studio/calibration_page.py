"""The page about a calibration: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file
from toolmark.reports import charts, table_format
from toolmark.reports.table_format import visible_text
from toolmark.studio import review_pages, threshold_calibration
from toolmark.studio.threshold_calibration import ThresholdSweep


def write_calibration_page(
    found: ThresholdSweep,
    similarity: NDArray[np.float64],
    same: NDArray[np.bool_],
    path: Path,
    *,
    source: str,
) -> Path:
    """Write the page and return its path. Raises DataError when that fails."""
    drawn_charts = (
        threshold_calibration.thresholds_chart(found),
        threshold_calibration.similarity_chart(similarity, same),
    )
    text = review_pages.render_page(
        "calibrate.html.j2",
        source=visible_text(source),
        charts=[(made, charts.draw_chart(made)) for made in drawn_charts],
        grids=[
            table_format.make_grid(threshold_calibration.best_thresholds_table(found)),
            table_format.make_grid(threshold_calibration.thresholds_table(found, every=1)),
        ],
    )
    try:
        with atomic_file(path) as draft:
            draft.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{path}: cannot write the page: {error.strerror}") from None
    return path
