"""What every formula of a metric is: a linearisation of scores."""

from __future__ import annotations

from toolmark.core.records import Estimate, Record
from toolmark.statistics.cluster_inference import measure_with_interval
from toolmark.statistics.linearisation import Linearisation
from toolmark.statistics.score_columns import Columns


class LinearisedFormula(Record, frozen=True, kw_only=True):
    """A formula over scores; value, interval and differences follow from `linearise`."""

    @property
    def is_share(self) -> bool:
        """Tell whether the number is displayed in per cent."""
        raise NotImplementedError

    def select_rows(self, columns: Columns) -> Columns:
        """Return the rows that the formula uses where they ran; these are all but for a filter."""
        return columns

    def linearise(self, columns: Columns) -> Linearisation:
        """Return the value over the rows, and what each row adds to its error."""
        raise NotImplementedError

    def measure(self, columns: Columns) -> Estimate:
        """Return the value with its interval (`cluster_inference.measure_with_interval`)."""
        return measure_with_interval(self.linearise(columns), columns)
