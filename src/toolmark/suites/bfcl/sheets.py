"""The leaderboard's CSV files, column for column and cell for cell."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from toolmark.codec import csv_cell
from toolmark.errors import DataError
from toolmark.files import write_atomically
from toolmark.stats import strata
from toolmark.stats.columns import Columns
from toolmark.suites.bfcl import data
from toolmark.suites.bfcl import formats as prompts
from toolmark.suites.bfcl import leaderboard as board
from toolmark.suites.bfcl.registry import Known
from toolmark.types import Step, Trajectory

Cell: TypeAlias = str | float
NA = "N/A"

# the leaderboard's stand-in for the price of a model without one: a rented server with eight
# cards, shared by a hundred requests at a time (specification section 7)
SERVER_USD_PER_HOUR = 23.92
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Entrant:
    """A row of the leaderboard: the model, its scores in the official reading, what it spent."""

    name: str
    known: Known | None
    columns: Columns
    spent: Spent


@dataclass(slots=True)
class Spent:
    """Per request, zeros left out: seconds, tokens sent, tokens said."""

    latency_s: list[float]
    sent: list[int]
    said: list[int]

    @classmethod
    def none(cls) -> Spent:
        """Return nothing spent."""
        return cls([], [], [])

    def add(self, trajectory: Trajectory) -> None:
        """Count in the requests of an episode."""
        for step in trajectory.steps:
            self._request(step)

    def _request(self, step: Step) -> None:
        for held, number in (
            (self.latency_s, step.reply.latency_s),
            (self.sent, step.reply.usage.input),
            (self.said, step.reply.usage.output),
        ):
            if number:
                held.append(number)  # type: ignore[arg-type]


class Card:
    """One entrant's cells: accuracies by category and group, N/A where something is missing."""

    def __init__(self, entrant: Entrant) -> None:
        columns = entrant.columns.where(entrant.columns.run)
        self.entrant = entrant
        self.values: dict[str, float] = {}
        self.counts = dict(board.ENTRIES)
        for name in sorted(set(columns.category)):
            chosen = columns.correct[columns.category == name]
            self.values[name] = int(chosen.sum()) / len(chosen)
            self.counts[name] = len(chosen)
        self.formats = formats(columns.where(columns.category == board.UNSCORED))

    def shown(self, node: strata.Node) -> Cell:
        """Return the accuracy; N/A if any category of it is missing."""
        if any(leaf not in self.values for leaf in strata.leaves(node)):
            return NA
        return self.counted(node)

    def counted(self, node: strata.Node) -> Cell:
        """Return the accuracy with missing categories as 0."""
        return strata.total(node, self.values, self.counts)

    @property
    def name(self) -> str:
        """The model as the leaderboard shows it; the files quote nothing, so no comma stays."""
        if self.entrant.known:
            return self.entrant.known.display
        return re.sub(r"[,\s]+", " ", self.entrant.name)


def formats(columns: Columns) -> dict[str, Any]:
    """Return the official format sensitivity figures: spread over configurations, and each one.

    Nothing without results; no spread with fewer than two configurations.
    """
    if not len(columns):
        return {}
    found: dict[str, list[bool]] = {}
    for task, correct in zip(columns.task, columns.correct, strict=True):
        found.setdefault(task.split(":")[1], []).append(bool(correct))
    shares = [sum(held) / len(held) for held in found.values()]
    spread = {"accuracy_max_delta": 0.0, "accuracy_variance": 0.0, "accuracy_std": 0.0}
    if len(shares) > 1:
        spread = {
            "accuracy_max_delta": round((max(shares) - min(shares)) * 100, 2),
            "accuracy_variance": round(statistics.variance(shares) * 100**2, 2),
            "accuracy_std": round(statistics.stdev(shares) * 100, 2),
        }
    each = {
        config: {
            "accuracy": share,
            "correct_count": sum(held),
            "total_count": len(held),
        }
        for (config, held), share in zip(found.items(), shares, strict=True)
    }
    return spread | each


def costs(spent: Spent, known: Known | None) -> list[Cell]:
    """Return cost, mean latency, its standard deviation and 95th percentile; N/A without data.

    A model without a price is charged for the time of its requests, as officially.
    """
    cost: Cell = NA
    if known and known.input_price is not None and known.output_price is not None:
        if spent.sent and spent.said:
            paid = sum(spent.sent) * known.input_price / 1_000_000
            cost = round(paid + sum(spent.said) * known.output_price / 1_000_000, 2)
    elif spent.latency_s:
        cost = round(sum(spent.latency_s) / 3600 * SERVER_USD_PER_HOUR / AT_ONCE, 2)
    if not spent.latency_s:
        return [cost, NA, NA, NA]
    several = len(spent.latency_s) > 1  # one request has no deviation; the official code fails
    return [
        cost,
        round(statistics.mean(spent.latency_s), 2),
        round(statistics.stdev(spent.latency_s), 2) if several else NA,
        round(float(np.percentile(spent.latency_s, 95)), 2),
    ]


# --- the files --------------------------------------------------------------------------


def _leaves(*nodes: strata.Node) -> Callable[[Card], list[Cell]]:
    return lambda card: [card.shown(node) for node in nodes]


_AST: tuple[strata.Node, ...] = (board.SIMPLE, "multiple", "parallel", "parallel_multiple")
_LIVE: tuple[strata.Node, ...] = board.LIVE.members
_TURNS: tuple[strata.Node, ...] = board.MULTI_TURN.members
_AGENTIC: tuple[strata.Node, ...] = (
    board.WEB_SEARCH, *board.WEB_SEARCH.members, board.MEMORY, *board.MEMORY.members,
)  # fmt: skip


def _non_live(card: Card) -> list[Cell]:
    simple = board.SIMPLE.members
    shown = _leaves(board.NON_LIVE, board.SIMPLE, *simple, *_AST[1:], "irrelevance")
    return [card.name, card.counted(board.NON_LIVE), *shown(card)]


def _live(card: Card) -> list[Cell]:
    nodes: tuple[strata.Node, ...] = (board.LIVE, *_LIVE, "live_irrelevance", "live_relevance")
    return [card.name, card.counted(board.LIVE), *_leaves(*nodes)(card)]


def _multi_turn(card: Card) -> list[Cell]:
    return [card.name, card.counted(board.MULTI_TURN), *_leaves(*_TURNS)(card)]


def _agentic(card: Card) -> list[Cell]:
    return [card.name, card.counted(board.AGENTIC), *_leaves(*_AGENTIC)(card)]


def _spread(card: Card) -> list[Cell]:
    return [card.formats.get(key, NA) for key in ("accuracy_max_delta", "accuracy_std")]


def _formats(card: Card) -> list[Cell]:
    each = [card.formats.get(config, {}).get("accuracy", NA) for config in prompts.official()]
    return [card.name, *_spread(card), *each]


def _overall(card: Card) -> list[Cell]:
    known = card.entrant.known
    return [
        card.counted(board.OVERALL),
        card.name,
        known.url if known else NA,
        *costs(card.entrant.spent, known),
        *_leaves(board.NON_LIVE, *_AST)(card),
        card.counted(board.LIVE),
        *_leaves(*_LIVE)(card),
        card.counted(board.MULTI_TURN),
        *_leaves(*_TURNS, *_AGENTIC, "live_relevance", board.IRRELEVANCE)(card),
        *_spread(card),
        known.maker if known else NA,
        known.license if known else NA,
    ]


@dataclass(frozen=True, slots=True)
class Sheet:
    """A CSV file: the official name of its columns, a row, the column that ranks, plain numbers."""

    head: str
    cells: Callable[[Card], list[Cell]]
    by: int = 2
    plain: Sequence[int] = ()


SHEETS = {
    "data_overall": Sheet("COLUMNS_OVERALL", _overall, by=1, plain=(4, 5, 6, 7, 32, 33)),
    "data_non_live": Sheet("COLUMNS_NON_LIVE", _non_live),
    "data_live": Sheet("COLUMNS_LIVE", _live),
    "data_multi_turn": Sheet("COLUMNS_MULTI_TURN", _multi_turn),
    "data_agentic": Sheet("COLUMNS_AGENTIC", _agentic),
    "data_format_sensitivity": Sheet("COLUMNS_FORMAT_SENS_PREFIX", _formats, plain=(2, 3)),
}
_HEADS = "bfcl_eval/constants/column_headers.py"


def write(folder: Path, entrants: Sequence[Entrant]) -> list[Path]:
    """Write the official CSV files, one row per model, and return their paths."""
    heads = data.constants(data.fetch() / _HEADS)
    cards = [Card(entrant) for entrant in entrants]
    written = []
    for name, sheet in SHEETS.items():
        head = list(heads[sheet.head])
        if sheet.cells is _formats:
            head += [f"Config {config}" for config in prompts.official()]
        rows = [["", *sheet.cells(card)] for card in cards]
        written.append(folder / f"{name}.csv")
        _save(written[-1], "\n".join([",".join(head), *_ranked(sheet, rows)]))
    return written


def _save(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _ranked(sheet: Sheet, rows: list[list[Cell]]) -> list[str]:
    """Return the rows as lines, the best first, those without a number last."""
    rows.sort(key=lambda row: -1 if row[sheet.by] == NA else row[sheet.by], reverse=True)
    return [
        ",".join([str(rank), *(_cell(cell, i in sheet.plain) for i, cell in enumerate(row[1:], 1))])
        for rank, row in enumerate(rows, 1)
    ]


def _cell(cell: Cell, plain: bool) -> str:
    if isinstance(cell, str) or plain:
        return csv_cell(cell)
    return f"{cell * 100:.2f}%"
