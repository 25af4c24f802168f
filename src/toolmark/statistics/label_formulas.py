"""The formula over a judge's values and people's labels."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from toolmark.core.records import Estimate
from toolmark.statistics.cluster_inference import measure_with_interval
from toolmark.statistics.formula_base import LinearisedFormula
from toolmark.statistics.interval_warnings import interval_warning
from toolmark.statistics.linearisation import Linearisation, linearise_mean
from toolmark.statistics.prediction_powered import PoweredMean, powered_mean, row_influences
from toolmark.statistics.score_columns import Columns

FEWEST_LABELS = 100  # with fewer the judge's mean is shown, as uncalibrated


class PredictionPoweredMean(
    LinearisedFormula, frozen=True, kw_only=True, tag="prediction_powered_mean"
):
    """The mean of people's labels, estimated from the values and the labels in a part.

    The values are a judge's. With fewer than `fewest_labels` labelled rows it is the mean of the
    values, uncorrected.
    """

    label_part: str
    fewest_labels: int = FEWEST_LABELS

    is_share = True

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the mean; `n` counts all rows that ran.

        `worst` and `best` count rows that were not run as 0 and 1. The weights are those of the
        labelled rows, which say how well the mean is known.
        """
        found = self._powered_mean(columns)
        if found is None:
            return linearise_mean(columns)
        n, n_all = int(columns.run.sum()), len(columns)
        ran = np.flatnonzero(columns.run)
        labels = columns.part(self.label_part)[ran]
        labelled = (~np.isnan(labels)).astype(float)
        estimate = Estimate(
            name="",
            value=found.value,
            n=n,
            worst=found.value * n / n_all,
            best=(found.value * n + n_all - n) / n_all,
        )
        return Linearisation(
            estimate=estimate,
            counted=np.ones(n, dtype=bool),
            influence=row_influences(columns.value[ran], labels, found.weight),
            weight=labelled / labelled.sum(),
            centre=np.full(n, found.value),
            n_trials=np.ones(n),
            stratum=np.zeros(n, dtype=np.int64),
            scale="no interval",
        ).spread_to(ran, n_all)

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with the interval of `powered_mean`.

        That interval also has room for errors of the judge that no labelled row shows.
        """
        found = self._powered_mean(columns)
        linearised = self.linearise(columns)
        if found is None:
            return measure_with_interval(linearised, columns)
        warning = interval_warning(linearised, columns)
        return replace(linearised.estimate, low=found.low, high=found.high, warning=warning)

    def is_corrected(self, columns: Columns) -> bool:
        """Tell whether labels correct the judge's mean over these rows."""
        return self._powered_mean(columns) is not None

    def _powered_mean(self, columns: Columns) -> PoweredMean | None:
        """Return the corrected mean, None where too few rows or groups have a label."""
        ran = columns.where(columns.run)
        labels = ran.part(self.label_part)
        if int((~np.isnan(labels)).sum()) < max(2, self.fewest_labels):
            return None
        try:
            return powered_mean(ran.value, labels, ran.cluster)
        except ValueError:  # all labels are of one group
            return None
