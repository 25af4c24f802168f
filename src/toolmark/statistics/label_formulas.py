"""The formula over a judge's values and people's labels."""

from __future__ import annotations

import numpy as np

from toolmark.core.records import Estimate, Record
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.prediction_powered import powered_mean
from toolmark.statistics.score_columns import Columns

FEWEST_LABELS = 100  # with fewer the judge's mean is shown, as uncalibrated


class PredictionPoweredMean(Record, frozen=True, kw_only=True, tag="prediction_powered_mean"):
    """The mean of people's labels, estimated from the values and the labels in a part.

    The values are a judge's. With fewer than `fewest_labels` labelled rows it is the mean of the
    values, uncorrected.
    """

    label_part: str
    fewest_labels: int = FEWEST_LABELS

    is_share = True

    def measure(self, columns: Columns) -> Estimate:
        """Return the number with its interval over groups (`Columns.cluster`).

        `n` counts all rows that ran. `worst` and `best` count rows that were not run as 0 and 1.
        """
        ran = columns.where(columns.run)
        labels = ran.part(self.label_part)
        if int((~np.isnan(labels)).sum()) < max(2, self.fewest_labels):
            return estimate_mean(columns, "")
        try:
            found = powered_mean(ran.value, labels, ran.cluster)
        except ValueError:  # all labels are of one group
            return estimate_mean(columns, "")
        n, n_all = len(ran), len(columns)
        return Estimate(
            name="",
            value=found.value,
            low=found.low,
            high=found.high,
            n=n,
            worst=found.value * n / n_all,
            best=(found.value * n + n_all - n) / n_all,
        )
