"""The leaderboard's CSV files, column for column and cell for cell."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from toolmark.core.errors import DataError
from toolmark.core.files import write_atomically
from toolmark.core.json_codec import csv_cell
from toolmark.core.records import Reply, Trajectory
from toolmark.official_bfcl import official_data, prompt_formats
from toolmark.official_bfcl.official_models import ListedModel
from toolmark.statistics import weighted_means
from toolmark.statistics.score_columns import Columns
from toolmark.suites.bfcl import leaderboard

Cell: TypeAlias = str | float
NOT_AVAILABLE = "N/A"

# the leaderboard's substitute for the price of a model without one: a rented server with eight
# cards, shared by a hundred requests at a time (specification section 7)
SERVER_USD_PER_HOUR = 23.92
CONCURRENT_REQUESTS = 100


@dataclass(frozen=True, slots=True)
class LeaderboardModel:
    """A row of the leaderboard: the model, its scores under the official rule, and its usage."""

    name: str
    listed: ListedModel | None
    columns: Columns
    usage: RequestUsage


@dataclass(slots=True)
class RequestUsage:
    """Per request, without zeros: seconds, input tokens, output tokens."""

    latency_s: list[float]
    input_tokens: list[int]
    output_tokens: list[int]

    @classmethod
    def empty(cls) -> RequestUsage:
        """Return usage without requests."""
        return cls([], [], [])

    def add_trajectory(self, trajectory: Trajectory) -> None:
        """Add the requests of an episode."""
        for step in trajectory.steps:
            for reply in step.model_replies:
                self._add_request(reply)

    def _add_request(self, reply: Reply) -> None:
        for values, number in (
            (self.latency_s, reply.latency_s),
            (self.input_tokens, reply.usage.input),
            (self.output_tokens, reply.usage.output),
        ):
            if number:
                values.append(number)  # type: ignore[arg-type]


class AccuracyCells:
    """The cells of one model: accuracies by category and group, N/A where one is missing."""

    def __init__(self, entrant: LeaderboardModel) -> None:
        columns = entrant.columns.where(entrant.columns.run)
        self.entrant = entrant
        self.values: dict[str, float] = {}
        self.counts = dict(official_data.category_sizes())
        for name in sorted(set(columns.category)):
            chosen = columns.correct[columns.category == name]
            self.values[name] = int(chosen.sum()) / len(chosen)
            self.counts[name] = len(chosen)
        self.formats = format_sensitivity(columns.where(columns.category == leaderboard.UNSCORED))

    def accuracy_or_na(self, node: weighted_means.Node) -> Cell:
        """Return the accuracy; N/A if any of its categories is missing."""
        if any(leaf not in self.values for leaf in weighted_means.group_categories(node)):
            return NOT_AVAILABLE
        return self.accuracy_with_zeros(node)

    def accuracy_with_zeros(self, node: weighted_means.Node) -> Cell:
        """Return the accuracy with missing categories as 0."""
        return weighted_means.weighted_total(node, self.values, self.counts)

    @property
    def name(self) -> str:
        """The model's name on the leaderboard; files have no quotes, so commas become blanks."""
        if self.entrant.listed:
            return self.entrant.listed.display_name
        return re.sub(r"[,\s]+", " ", self.entrant.name)


def format_sensitivity(columns: Columns) -> dict[str, Any]:
    """Return the official format sensitivity figures: spread over configurations, and each one.

    Returns {} without results, and a spread of 0 with fewer than two configurations.
    """
    if not len(columns):
        return {}
    found: dict[str, list[bool]] = {}
    for task, correct in zip(columns.task, columns.correct, strict=True):
        found.setdefault(task.split(":")[1], []).append(bool(correct))
    shares = [sum(outcomes) / len(outcomes) for outcomes in found.values()]
    spread = {"accuracy_max_delta": 0.0, "accuracy_variance": 0.0, "accuracy_std": 0.0}
    if len(shares) > 1:
        spread = {
            "accuracy_max_delta": round((max(shares) - min(shares)) * 100, 2),
            "accuracy_variance": round(statistics.variance(shares) * 100**2, 2),
            "accuracy_std": round(statistics.stdev(shares) * 100, 2),
        }
    by_format = {
        config: {
            "accuracy": share,
            "correct_count": sum(outcomes),
            "total_count": len(outcomes),
        }
        for (config, outcomes), share in zip(found.items(), shares, strict=True)
    }
    return spread | by_format


def cost_and_latency(usage: RequestUsage, listed: ListedModel | None) -> list[Cell]:
    """Return cost, mean latency, its standard deviation and 95th percentile; N/A without data.

    A model without a price is charged for the time of its requests, as in the official code.
    """
    cost: Cell = NOT_AVAILABLE
    if listed and listed.input_price is not None and listed.output_price is not None:
        if usage.input_tokens and usage.output_tokens:
            input_usd = sum(usage.input_tokens) * listed.input_price / 1_000_000
            cost = round(input_usd + sum(usage.output_tokens) * listed.output_price / 1_000_000, 2)
    elif usage.latency_s:
        cost = round(sum(usage.latency_s) / 3600 * SERVER_USD_PER_HOUR / CONCURRENT_REQUESTS, 2)
    if not usage.latency_s:
        return [cost, NOT_AVAILABLE, NOT_AVAILABLE, NOT_AVAILABLE]
    has_several = len(usage.latency_s) > 1  # one request has no deviation; the official code fails
    return [
        cost,
        round(statistics.mean(usage.latency_s), 2),
        round(statistics.stdev(usage.latency_s), 2) if has_several else NOT_AVAILABLE,
        round(float(np.percentile(usage.latency_s, 95)), 2),
    ]


# --- the files --------------------------------------------------------------------------


def _accuracies(*nodes: weighted_means.Node) -> Callable[[AccuracyCells], list[Cell]]:
    return lambda card: [card.accuracy_or_na(node) for node in nodes]


_AST_NODES: tuple[weighted_means.Node, ...] = (
    leaderboard.SIMPLE,
    "multiple",
    "parallel",
    "parallel_multiple",
)
_LIVE_NODES: tuple[weighted_means.Node, ...] = leaderboard.LIVE.members
_MULTI_TURN_NODES: tuple[weighted_means.Node, ...] = leaderboard.MULTI_TURN.members
_AGENTIC_NODES: tuple[weighted_means.Node, ...] = (
    leaderboard.WEB_SEARCH,
    *leaderboard.WEB_SEARCH.members,
    leaderboard.MEMORY,
    *leaderboard.MEMORY.members,
)


def _non_live_cells(card: AccuracyCells) -> list[Cell]:
    simple = leaderboard.SIMPLE.members
    cells = _accuracies(
        leaderboard.NON_LIVE, leaderboard.SIMPLE, *simple, *_AST_NODES[1:], "irrelevance"
    )
    return [card.name, card.accuracy_with_zeros(leaderboard.NON_LIVE), *cells(card)]


def _live_cells(card: AccuracyCells) -> list[Cell]:
    nodes: tuple[weighted_means.Node, ...] = (
        leaderboard.LIVE,
        *_LIVE_NODES,
        "live_irrelevance",
        "live_relevance",
    )
    return [card.name, card.accuracy_with_zeros(leaderboard.LIVE), *_accuracies(*nodes)(card)]


def _multi_turn_cells(card: AccuracyCells) -> list[Cell]:
    return [
        card.name,
        card.accuracy_with_zeros(leaderboard.MULTI_TURN),
        *_accuracies(*_MULTI_TURN_NODES)(card),
    ]


def _agentic_cells(card: AccuracyCells) -> list[Cell]:
    return [
        card.name,
        card.accuracy_with_zeros(leaderboard.AGENTIC),
        *_accuracies(*_AGENTIC_NODES)(card),
    ]


def _spread_cells(card: AccuracyCells) -> list[Cell]:
    return [card.formats.get(key, NOT_AVAILABLE) for key in ("accuracy_max_delta", "accuracy_std")]


def _format_cells(card: AccuracyCells) -> list[Cell]:
    accuracies = [
        card.formats.get(config, {}).get("accuracy", NOT_AVAILABLE)
        for config in prompt_formats.official_format_names()
    ]
    return [card.name, *_spread_cells(card), *accuracies]


def _overall_cells(card: AccuracyCells) -> list[Cell]:
    listed = card.entrant.listed
    return [
        card.accuracy_with_zeros(leaderboard.OVERALL),
        card.name,
        listed.url if listed else NOT_AVAILABLE,
        *cost_and_latency(card.entrant.usage, listed),
        *_accuracies(leaderboard.NON_LIVE, *_AST_NODES)(card),
        card.accuracy_with_zeros(leaderboard.LIVE),
        *_accuracies(*_LIVE_NODES)(card),
        card.accuracy_with_zeros(leaderboard.MULTI_TURN),
        *_accuracies(
            *_MULTI_TURN_NODES, *_AGENTIC_NODES, "live_relevance", leaderboard.IRRELEVANCE
        )(card),
        *_spread_cells(card),
        listed.maker if listed else NOT_AVAILABLE,
        listed.license if listed else NOT_AVAILABLE,
    ]


@dataclass(frozen=True, slots=True)
class SheetLayout:
    """A CSV file: official name of the columns, cells of a row, ranking and unformatted columns."""

    column_names: str
    cells: Callable[[AccuracyCells], list[Cell]]
    rank_column: int = 2
    plain_columns: Sequence[int] = ()


SHEET_LAYOUTS = {
    "data_overall": SheetLayout(
        "COLUMNS_OVERALL", _overall_cells, rank_column=1, plain_columns=(4, 5, 6, 7, 32, 33)
    ),
    "data_non_live": SheetLayout("COLUMNS_NON_LIVE", _non_live_cells),
    "data_live": SheetLayout("COLUMNS_LIVE", _live_cells),
    "data_multi_turn": SheetLayout("COLUMNS_MULTI_TURN", _multi_turn_cells),
    "data_agentic": SheetLayout("COLUMNS_AGENTIC", _agentic_cells),
    "data_format_sensitivity": SheetLayout(
        "COLUMNS_FORMAT_SENS_PREFIX", _format_cells, plain_columns=(2, 3)
    ),
}
_HEADERS_FILE = "bfcl_eval/constants/column_headers.py"


def write_sheets(folder: Path, entrants: Sequence[LeaderboardModel]) -> list[Path]:
    """Write the official CSV files, one row per model, and return their paths."""
    heads = official_data.read_constants(official_data.fetch_wheel() / _HEADERS_FILE)
    cards = [AccuracyCells(entrant) for entrant in entrants]
    paths = []
    for name, sheet in SHEET_LAYOUTS.items():
        head = list(heads[sheet.column_names])
        if sheet.cells is _format_cells:
            head += [f"Config {config}" for config in prompt_formats.official_format_names()]
        rows = [["", *sheet.cells(card)] for card in cards]
        paths.append(folder / f"{name}.csv")
        _write_file(paths[-1], "\n".join([",".join(head), *_rank_rows(sheet, rows)]))
    return paths


def _write_file(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode())
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _rank_rows(sheet: SheetLayout, rows: list[list[Cell]]) -> list[str]:
    """Return the rows as lines, the best first, those without a number last."""
    rows.sort(
        key=lambda row: -1 if row[sheet.rank_column] == NOT_AVAILABLE else row[sheet.rank_column],
        reverse=True,
    )
    return [
        ",".join(
            [
                str(rank),
                *(
                    _format_cell(cell, i in sheet.plain_columns)
                    for i, cell in enumerate(row[1:], 1)
                ),
            ]
        )
        for rank, row in enumerate(rows, 1)
    ]


def _format_cell(cell: Cell, is_plain: bool) -> str:
    if isinstance(cell, str) or is_plain:
        return csv_cell(cell)
    return f"{cell * 100:.2f}%"
