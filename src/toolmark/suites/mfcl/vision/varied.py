"""The variations of a vision run: their order, their names, and the score over all of them."""

from __future__ import annotations

from msgspec.structs import replace

from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, LevelMean
from toolmark.stats.paired import Paired, paired
from toolmark.suites.mfcl.vision.item import BASE
from toolmark.types import Estimate

EDGES = "edges"
NAMES = {
    BASE: "base", "crop-16:9": "crop 16:9", "crop-4:3": "crop 4:3", "resize-16:9": "resize 16:9",
    "resize-4:3": "resize 4:3", "gray": "black & white", EDGES: "edges",
    "red-green": "red & green",
}  # fmt: skip
"""Table 2's eight, in its order, as a reader is told them."""
MAIN = Filter(column="axes.variation", values=tuple(NAMES), or_all=True)
"""The answers that the score is over: Table 2's variations, others only where there is none."""
FORMULA = LevelMean(axis="variation", word="variations", order=tuple(NAMES))


def present(columns: Columns) -> list[str]:
    """Return the variations asked for: Table 2's in its order, then others by name."""
    first = {name: place for place, name in enumerate(NAMES)}
    found = {str(name) for name in columns.axis("variation") if name}
    return sorted(found, key=lambda name: (first.get(name, len(first)), name))


def told(name: str) -> str:
    """Return a variation's name for a reader; one that the paper does not have says so."""
    return NAMES.get(name) or f"{name} (not in Table 2)"


def asked(columns: Columns, name: str) -> Columns:
    """Return the answers in one variation."""
    return columns.where(columns.axis("variation") == name)


def counted(columns: Columns) -> list[str]:
    """Return the variations that the score is over: Table 2's, others only where there is none."""
    found = present(columns)
    return [name for name in found if name in NAMES] or found


def complete(columns: Columns) -> bool:
    """Tell whether all of Table 2's variations were asked."""
    return set(NAMES) <= set(present(columns))


def main(columns: Columns) -> Columns:
    """Return the answers that the score is over."""
    return MAIN.rows(columns)


def score(columns: Columns, name: str) -> Estimate:
    """Return the mean over the variations, each of which counts alike; the interval counts items.

    `partial` where one of them has no answer that ran. `worst` and `best` as `stats.summary.mean`.
    """
    return replace(FORMULA.measure(main(columns)), name=name)


def overall(columns: Columns) -> Estimate:
    """Return the score over Table 2's eight variations; nothing where one was not asked."""
    return score(columns, "overall") if complete(columns) else Estimate(name="overall")


def against(columns: Columns, name: str) -> Paired:
    """Compare a variation with the base item by item."""
    return paired(asked(columns, name), asked(columns, BASE), name=name)
