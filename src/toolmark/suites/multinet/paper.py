"""The paper's figures beside one's own (MultiNet v1.0: GPT-5, Pi0, Magma), by family.

As its tables and the results published beside its code have them. Of BFCL, and of half of ODinW's
sub-sets, no figure is known to us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from msgspec.structs import replace

from toolmark.stats import figures
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import RelativeError
from toolmark.stats.summary import average
from toolmark.suites import beside
from toolmark.suites.multinet import report
from toolmark.suites.multinet.tables import choices, measure
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
_CODE = "reference"
_LACKS = "The paper has no figures of these rows."
_LAX = (
    " Probabilities are read as the code of the paper's runs read them, in the reference reading."
)


def _exact(columns: Columns) -> float | None:
    return measure.exact(columns).value


def _of_valid(columns: Columns) -> float | None:
    return measure.exact(measure.readable(columns)).value


def _macro(columns: Columns) -> float | None:
    return report.macro(columns).measure(columns).value


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
        "gave probabilities there, Pi0 actions.",
    ),
}  # fmt: skip


BRIERS: Mapping[str, tuple[str, float]] = {
    "brier": ("Brier, linear", 1.9296),
    "brier_sq": ("Brier, quadratic", 1.4884),
    "brier_0": ("player 0, linear", 1.6384),
    "brier_1": ("player 1, linear", 1.6916),
}
"""GPT-5's on Overcooked, by what a verdict holds: of the joint action, then of each player's."""


def tables(readings: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    """Return the tables of a run, the paper's figures after the first."""
    made = report.tables(readings)
    if not made:
        return made
    own = {name: {measure.OWN: columns} for name, columns in readings.items()}
    return beside.placed(made, _beside(_runs(own)), _LACKS)


def across(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Return what shows over several runs, the paper's figures after the first table."""
    made = report.across(readings)
    if not made:
        return made
    return beside.placed(made, _beside(_runs(readings)), _LACKS)


def _runs(readings: Mapping[str, Mapping[str, Columns]]) -> dict[str, Columns]:
    """Return the rows of each run and form, in the reading that its kind is comparable in.

    Of vectors and of probabilities that is the reading of the published code, which the paper's
    figures come from; of the rest both are.
    """
    first, *_ = readings
    kinds = {run: measure.kind(columns) for run, columns in readings[first].items()}
    names = {run: _CODE if kind in ("motion", "odds") and _CODE in readings else first
             for run, kind in kinds.items()}  # fmt: skip
    found = report.together({first: {run: readings[name][run] for run, name in names.items()}})
    return {run: rows for of in found.values() for run, (_, rows) in of.items()}


def family(columns: Columns) -> str:
    """Return the family of rows."""
    return next(iter(measure.levels(columns.axis("family"))), "")


def _beside(runs: Mapping[str, Columns]) -> list[Table]:
    """Return the paper's figures beside runs, a row for each form in which they were asked."""
    name = family(next(iter(runs.values())))
    if name == "odinw":
        return _odinw(runs)
    if name == "openx":
        return _openx(runs)
    if name not in KNOWN:
        return []
    known = KNOWN[name]
    own = {run: [share(rows) for share in known.shares.values()] for run, rows in runs.items()}
    note = _OTHERS + known.note + _LAX * any(map(_shared_out, runs.values()))
    made = beside.table(_TITLE, list(known.shares), own, known.models, note)
    return [*made, *_briers(runs)]


def _shared_out(columns: Columns) -> bool:
    """Tell whether each option was to get its probability."""
    return bool(measure.known(columns, "brier_0").any())


def _briers(runs: Mapping[str, Columns]) -> Iterator[Table]:
    """Return the Briers of runs that were asked for probabilities, and GPT-5's."""
    own = {run: rows for run, rows in runs.items() if _shared_out(rows)}
    if own:
        rows = [
            (run, *(figures.value(replace(average(rows, part), share=False)) for part in BRIERS))
            for run, rows in own.items()
        ]
        rows.append(("GPT-5 (paper)", *(f"{cost:.3f}" for _, cost in BRIERS.values())))
        head = ("run", *(name for name, _ in BRIERS.values()))
        note = f"Less is better; an invalid answer costs 2.{_LAX} {_OTHERS}"
        yield Table(title=f"{_TITLE}: probabilities", head=head, rows=tuple(rows), note=note)


def _odinw(runs: Mapping[str, Columns]) -> list[Table]:
    """Return exact match and macro F1 by sub-set, of the published ones; means of shared ones."""
    found = {run: _subsets(columns) for run, columns in runs.items()}
    names = [name for name in ODINW if any(name in each for each in found.values())]
    if not names:
        return []
    sides = [*found.values(), ODINW]
    rows: list[tuple[Cell, ...]] = [
        (name, *(each[name][i] if name in each else None for i in (0, 1) for each in sides))
        for name in names
    ]
    if common := shared(runs.values()):
        means = (
            float(np.mean([each[name][i] for name in common])) for i in (0, 1) for each in sides
        )
        rows.append((f"mean over {len(common)}", *means))
    who = (*found, "GPT-5 (paper)")
    head = ("sub-set", *(f"{name}: {what}" for what in ("exact", "macro F1") for name in who))
    note = f"The mean is over those of these sub-sets that every column has. {_OTHERS}"
    return [Table(title=_TITLE, head=head, rows=tuple(rows), heat=len(head) - 1, note=note)]


def shared(runs: Iterable[Columns]) -> list[str]:
    """Return the sub-sets that every run has rows of, and the paper figures."""
    ran = [set(measure.levels(rows.category[rows.run])) for rows in runs]
    return [name for name in ODINW if all(name in each for each in ran)]


def _subsets(columns: Columns) -> dict[str, tuple[float, float]]:
    names = measure.levels(columns.category)
    parts = {name: columns.where((columns.category == name) & columns.run) for name in names}
    return {
        name: (float(part.value.mean()), report.macro(part).measure(part).value or 0.0)
        for name, part in parts.items()
        if len(part)
    }


def _openx(runs: Mapping[str, Columns]) -> list[Table]:
    """Return RelMAE and RelMSE by morphology."""
    present = {level for columns in runs.values() for level in measure.levels(columns.category)}
    names = [name for name in OPENX["GPT-5"] if name in present]
    own = {run: {name: _relative(columns, name) for name in names} for run, columns in runs.items()}
    told = {**own, **{f"{model} (paper)": found for model, found in OPENX.items()}}
    rows = tuple(
        (run, *(figures.decimal(x) for name in names for x in found[name]))
        for run, found in told.items()
    )
    head = ("run", *(f"{name}: {what}" for name in names for what in ("RelMAE", "RelMSE")))
    note = (
        "Reference reading: an invalid row costs the whole range of the actions. Less is better, "
        f"1 is the training mean; the paper's rows are held to the mean of its test rows. {_OTHERS}"
    )
    return [Table(title=_TITLE, head=head, rows=rows, note=note)] if names else []


def _relative(columns: Columns, level: str) -> tuple[float, ...]:
    part = columns.where((columns.category == level) & columns.run)
    found = (RelativeError(part=error).measure(part).value for error in ("mae", "mse"))
    return tuple(np.nan if value is None else value for value in found)
