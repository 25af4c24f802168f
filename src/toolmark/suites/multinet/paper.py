"""The paper's figures beside one's own (MultiNet v1.0: GPT-5, Pi0, Magma), by family.

As its tables and the results published beside its code have them. Of BFCL, and of half of ODinW's
sub-sets, no figure is known to us.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from toolmark.score import labels
from toolmark.stats.columns import Columns
from toolmark.suites import beside
from toolmark.suites.multinet import report
from toolmark.suites.multinet.tables import choices, measure, vectors
from toolmark.suites.multinet.tables.measure import Cell
from toolmark.types import Chart, Table

Share: TypeAlias = Callable[[Columns], float | None]


class Figures(NamedTuple):
    """A family's shares, by what they are, and the models that they are known of."""

    shares: Mapping[str, Share]
    models: Mapping[str, tuple[float | None, ...]]
    note: str = ""


ODINW: Mapping[str, tuple[float, float]] = {
    "AerialMaritimeDrone": (0.3077, 0.2827),
    "AmericanSignLanguageLetters": (0.5694, 0.4834),
    "Aquarium": (0.7180, 0.6612),
    "BCCD": (0.7155, 0.5174),
    "ChessPieces": (0.9894, 0.9087),
    "DroneControl": (0.5280, 0.4375),
    "EgoHands": (0.3620, 0.3434),
    "HardHatWorkers": (0.9480, 0.8915),
    "MaskWearing": (0.9896, 0.9518),
    "NorthAmericaMushrooms": (1.0000, 1.0000),
    "OxfordPets": (0.9449, 0.9403),
    "PKLot": (0.8560, 0.8536),
}
"""GPT-5's exact match and macro F1 by sub-set."""

OPENX: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "GPT-5": {
        "bimanual": (0.4787, 0.3100), "quadrupedal": (1.2538, 1.4156),
        "single_arm": (1.6854, 3.3287), "wheeled": (1.2365, 1.2029), "mobile": (1.2002, 2.6052),
    },
    "Magma": {
        "bimanual": (2.2891, 3.0713), "quadrupedal": (13.6360, 102.2957),
        "single_arm": (2.2007, 4.3945), "wheeled": (1.1567, 1.1947), "mobile": (1.5889, 1.5416),
    },
    "Pi0": {
        "bimanual": (1.5244, 1.7366), "quadrupedal": (1.5319, 2.4720),
        "single_arm": (2.5928, 5.2442), "wheeled": (4.0201, 13.1998), "mobile": (2.4608, 2.6456),
    },
}  # fmt: skip
"""RelMAE and RelMSE by morphology: each over the errors of a mean that the paper's own test rows
have, an invalid row at the whole range of the actions."""

_OTHERS = (
    "The paper's models were asked other rows with other prompts: read theirs as orientation, not "
    "as a comparison."
)
_TITLE = "Beside the paper's models"
_OPENX = "reference"


def _exact(columns: Columns) -> float | None:
    return measure.exact(columns).value


def _of_valid(columns: Columns) -> float | None:
    return measure.exact(measure.readable(columns)).value


def _macro(columns: Columns) -> float | None:
    ran = columns.where(columns.run)
    return float(labels.measures(choices.tally(ran, "paper"))["macro_f1"]) if len(ran) else None


def _player(player: str) -> Share:
    return lambda columns: choices.exact_of(columns, player).value


KNOWN: Mapping[str, Figures] = {
    "piqa": Figures(
        {"exact match": _exact, "exact of valid": _of_valid}, {"GPT-5": (0.9569, 0.9578)}
    ),
    "sqa3d": Figures({"exact match": _exact}, {"GPT-5": (0.4764,)}),
    "robovqa": Figures({"exact match": _exact}, {"GPT-5": (0.28,)}),
    "overcooked": Figures(
        {
            "exact match": _exact, "exact of valid": _of_valid, "macro F1": _macro,
            "player 0": _player("_0"), "player 1": _player("_1"),
        },
        {
            "GPT-5": (0.0263, 0.0303, 0.0152, 0.1541, 0.1185),
            "Pi0": (0.0516, 0.0557, 0.0166, 0.3836, 0.1438),
        },
        " Its games are of 2020, where standing still would be right in 43.1 % of the steps; GPT-5 "
        "gave probabilities there (Brier 1.930 linear, 1.488 quadratic), Pi0 actions.",
    ),
}  # fmt: skip


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, the paper's figures after the first."""
    made = report.tables(readings)
    name = _comparable(readings, next(iter(readings.values())))
    own = measure.named(measure.variants({name: readings[name]}))
    found = _beside({name: columns for name, (_, columns) in own.items()}) if made else []
    return [*made[:1], *found, *made[1:]]


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's figures after the first table."""
    made = report.across(readings)
    rows = next(iter(next(iter(readings.values())).values()))
    found = _beside(readings[_comparable(readings, rows)]) if made else []
    return [*made[:1], *found, *made[1:]]


def _comparable(readings: Collection[str], rows: Columns) -> str:
    """Return the reading that is comparable: of vectors that of the published code."""
    return _OPENX if family(rows) == "openx" and _OPENX in readings else next(iter(readings))


def family(columns: Columns) -> str:
    """Return the family of rows."""
    return next(iter(measure.levels(columns.axis("family"))), "")


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    name = family(next(iter(runs.values())))
    if name == "odinw":
        return _odinw(runs)
    if name == "openx":
        return _openx(runs)
    if name not in KNOWN:
        return []
    known = KNOWN[name]
    own = {run: [share(rows) for share in known.shares.values()] for run, rows in runs.items()}
    return beside.table(_TITLE, list(known.shares), own, known.models, _OTHERS + known.note)


def _odinw(runs: Mapping[str, Columns]) -> list[Table]:
    """Return exact match by sub-set, of the published ones; their plain mean of any."""
    found = {run: _subsets(columns) for run, columns in runs.items()}
    names = [name for name in ODINW if any(name in each for each in found.values())]
    rows: list[tuple[Cell, ...]] = [
        (name, *(each.get(name) for each in found.values()), ODINW[name][0]) for name in names
    ]
    whole = [float(np.mean([*each.values()])) if each else None for each in found.values()]
    paper = float(np.mean([exact for exact, _ in ODINW.values()]))
    rows.append(("mean over sub-sets", *whole, paper))
    head = ("sub-set", *found, "GPT-5 (paper)")
    note = f"Exact match. {_OTHERS} The paper's mean is over the {len(ODINW)} sub-sets known to us."
    return [Table(title=_TITLE, head=head, rows=tuple(rows), heat=len(head) - 1, note=note)]


def _subsets(columns: Columns) -> dict[str, float]:
    names = measure.levels(columns.category)
    parts = {name: columns.where((columns.category == name) & columns.run) for name in names}
    return {name: float(part.value.mean()) for name, part in parts.items() if len(part)}


def _openx(runs: Mapping[str, Columns]) -> list[Table]:
    """Return RelMAE and RelMSE by morphology."""
    present = {level for columns in runs.values() for level in measure.levels(columns.category)}
    names = [name for name in OPENX["GPT-5"] if name in present]
    own = {run: {name: _relative(columns, name) for name in names} for run, columns in runs.items()}
    told = {**own, **{f"{model} (paper)": found for model, found in OPENX.items()}}
    rows = tuple(
        (run, *(vectors.decimal(x) for name in names for x in found[name]))
        for run, found in told.items()
    )
    head = ("run", *(f"{name}: {what}" for name in names for what in ("RelMAE", "RelMSE")))
    note = (
        "Reference reading: an invalid row costs the whole range of the actions. Less is better, "
        f"1 is the training mean; the paper's rows are held to the mean of its test rows. {_OTHERS}"
    )
    return [Table(title=_TITLE, head=head, rows=rows, note=note)] if names else []


def _relative(columns: Columns, level: str) -> tuple[float, float]:
    part = columns.where((columns.category == level) & columns.run)
    found = vectors.errors(part) if len(part) else None
    return (found.rel_mae, found.rel_mse) if found else (np.nan, np.nan)
