"""The variations of a vision run: their order, their names, and the score over all of them."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Estimate
from toolmark.statistics.level_formulas import LevelMean
from toolmark.statistics.paired_comparison import PairedComparison, compare_paired
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns, ordered_levels, split_rows
from toolmark.suites.mfcl_vision.item_records import BASE_VARIATION

EDGES_VARIATION = "edges"
VARIATION_LABELS = {
    BASE_VARIATION: "base",
    "crop-16:9": "crop 16:9",
    "crop-4:3": "crop 4:3",
    "resize-16:9": "resize 16:9",
    "resize-4:3": "resize 4:3",
    "gray": "black & white",
    EDGES_VARIATION: "edges",
    "red-green": "red & green",
}
"""Table 2's eight variations in its order, with their names in reports."""
SCORED_FILTER = RowFilter(column="axes.variation", values=tuple(VARIATION_LABELS), all_if_none=True)
"""The answers that count in the score: Table 2's variations, or all if there is none of them."""
VARIATION_MEAN = LevelMean(
    axis="variation", levels_label="variations", order=tuple(VARIATION_LABELS)
)


def present_variations(columns: Columns) -> list[str]:
    """Return the variations of a run: Table 2's in its order, then others by name."""
    return ordered_levels(columns.axis("variation"), tuple(VARIATION_LABELS))


def variation_label(name: str) -> str:
    """Return a variation's name for reports; variations that the paper lacks are marked."""
    return VARIATION_LABELS.get(name) or f"{name} (not in Table 2)"


def answers_by_variation(columns: Columns) -> dict[str, Columns]:
    """Return the answers in each variation, in the order of `present_variations`."""
    return split_rows(columns, columns.axis("variation"), tuple(VARIATION_LABELS))


def answers_in_variation(columns: Columns, name: str) -> Columns:
    """Return the answers in one variation."""
    return columns.where(columns.axis("variation") == name)


def scored_variations(columns: Columns) -> list[str]:
    """Return the variations that count in the score: Table 2's, or all if there is none of them."""
    found = present_variations(columns)
    return [name for name in found if name in VARIATION_LABELS] or found


def has_all_variations(columns: Columns) -> bool:
    """Tell whether the run has all of Table 2's variations."""
    return set(VARIATION_LABELS) <= set(present_variations(columns))


def scored_answers(columns: Columns) -> Columns:
    """Return the answers that count in the score."""
    return SCORED_FILTER.select_rows(columns)


def mean_over_variations(columns: Columns, name: str) -> Estimate:
    """Return the mean over the variations, with equal weights; the interval counts items.

    `partial` is set if a variation has no answer that was run. `worst` and `best` are as in
    `statistics.estimates.estimate_mean`.
    """
    return replace(VARIATION_MEAN.measure(scored_answers(columns)), name=name)


def mean_share_cell(columns: Columns) -> str:
    """Return the mean over the variations as a share with its interval."""
    return number_format.format_share(mean_over_variations(columns, ""))


def overall_score(columns: Columns) -> Estimate:
    """Return the score over Table 2's eight variations; an empty estimate if one is missing."""
    return (
        mean_over_variations(columns, "overall")
        if has_all_variations(columns)
        else Estimate(name="overall")
    )


def compare_with_base(columns: Columns, name: str) -> PairedComparison:
    """Compare a variation with the base, paired by item."""
    return compare_paired(
        answers_in_variation(columns, name),
        answers_in_variation(columns, BASE_VARIATION),
        name=name,
    )
