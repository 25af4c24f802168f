"""The suite of a file of rows: `toolmark run rows.jsonl`, or `expected_calls` in Python."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolmark.authoring import row_shapes
from toolmark.authoring.call_rows import CallTasks
from toolmark.authoring.oracle import make_oracle
from toolmark.authoring.python_rows import GivenRows
from toolmark.authoring.row_file_names import HUB_PREFIX
from toolmark.authoring.row_messages import RowFault, read_tools
from toolmark.authoring.row_sources import open_rows
from toolmark.authoring.rows_parameters import RowsParameters
from toolmark.core.errors import DataError, UsageError
from toolmark.core.function_tools import FunctionTool
from toolmark.core.json_codec import InvalidJson, parse_json
from toolmark.core.records import Tool
from toolmark.runs import suite_parameters
from toolmark.runs.sourced_tasks import SourcedTasks
from toolmark.runs.suite import Provenance, Scorer, Suite
from toolmark.scoring.episode_scorer import EpisodeMetric
from toolmark.scoring.expected_calls import MatchCalls, Order
from toolmark.scoring.score_rows import RowPresenter


def read_jsonl(
    path: str | os.PathLike[str] | GivenRows,
    *,
    shape: str = "",
    tools: str | Sequence[Tool | Callable[..., Any]] = (),
) -> CallTasks:
    """Return the rows of a file as tasks of one reply, read one at a time.

    JSON Lines, JSON, CSV, Parquet, the folder of a data set (`Dataset.save_to_disk`) and
    `hf:NAME:SPLIT` are read by the same function; the name's ending decides.

    Args:
        path: The file, relative to the working directory; or rows: a list of dicts, or a function
            that yields them each time they are read.
        shape: How rows are written: "toolmark", "OpenAI", "BFCL" or "K2"; "" for what the first
            row shows.
        tools: The tools of rows that name none: a JSON file with a list of tools, or Python
            functions, whose hints and docstrings say what they take, or `tm.Tool` records.
    """
    return CallTasks(open_rows(path), shape, read_shared_tools(tools))


def read_shared_tools(tools: str | Sequence[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """Return tools that are offered with every row that has none of its own.

    Raises UsageError for a file that cannot be read and a function that cannot be described,
    DataError for a faulty tool.
    """
    if not isinstance(tools, str):
        return tuple(each if isinstance(each, Tool) else FunctionTool(each).tool for each in tools)
    if not tools:
        return ()
    path = Path(tools)
    try:
        found = parse_json(path.read_text(encoding="utf-8"))
        return read_tools(found)
    except OSError as error:
        raise UsageError(f"{tools}: cannot read tools: {error.strerror}") from None
    except (UnicodeDecodeError, InvalidJson, RowFault) as error:
        raise DataError(f"{tools}: {error}") from None


def expected_calls(
    tasks: CallTasks | str | os.PathLike[str] | GivenRows,
    *,
    tools: str | Sequence[Tool | Callable[..., Any]] = (),
    order: Order = "free",
    ignore: Sequence[str] = (),
    metrics: Sequence[EpisodeMetric] = (),
    tables: Sequence[RowPresenter] = (),
) -> Suite:
    """Return a suite that judges the calls of one reply by those that each row expects.

    Args:
        tasks: The rows: from `read_jsonl`, or what it takes.
        tools: The tools of rows that name none, as for `read_jsonl`.
        order: "free" lets calls come in any order, "strict" wants that of the row.
        ignore: Names of arguments that never count, `ARGUMENT` or `TOOL.ARGUMENT`.
        metrics: Further numbers of each episode.
        tables: Functions of the scored rows that return tables and charts.
    """
    if not isinstance(tasks, CallTasks):
        tasks = read_jsonl(_check_no_tasks(tasks), tools=tools)
    elif tools:
        raise UsageError("tools: name them where the rows are read, in tm.read_jsonl")
    return Suite(
        tasks=tasks,
        scorer=MatchCalls(order=order, ignore=ignore),
        metrics=metrics,
        tables=tables,
        controls={"oracle": make_oracle},
        provenance=Provenance(hashes=tasks.source_hashes(), notes=(shape_note(tasks),)),
    )


def _check_no_tasks(
    rows: str | os.PathLike[str] | GivenRows,
) -> str | os.PathLike[str] | GivenRows:
    """Return rows. Raises UsageError for tasks that were read for a suite with an environment."""
    if isinstance(rows, SourcedTasks):
        raise UsageError(
            f"expected_calls takes rows, got {type(rows).__name__}; next: give tm.read_jsonl(...)"
        )
    return rows


def shape_note(tasks: CallTasks) -> str:
    """Return which shape the rows of a file have, in words, and where answers were found."""
    answers = row_shapes.answer_file(tasks.rows) if tasks.shape == "BFCL" else None
    further = [tasks.rows.note, f"answers from {answers.short_name}" if answers else ""]
    shape = row_shapes.SHAPE_NAMES[tasks.shape]
    return ", ".join([f"{tasks.rows.short_name} is read as {shape}", *filter(None, further)])


def open_call_tasks(name: str, values: Mapping[str, Any]) -> CallTasks:
    """Return the rows of a file, with the tools and the shape that suite parameters name."""
    read = suite_parameters.read_parameters(RowsParameters, values, suite=name)
    return read_jsonl(name, shape=read.shape, tools=read.tools)


def load_rows_suite(name: str, values: Mapping[str, Any]) -> Suite:
    """Return the suite of a file of rows; it is named after the file.

    Raises UsageError for a missing file or an unknown parameter.
    """
    read = suite_parameters.read_parameters(RowsParameters, values, suite=name)
    made = expected_calls(open_call_tasks(name, values), order=read.order, ignore=read.ignore)
    provenance = Provenance(
        hashes=made.provenance.hashes,
        notes=made.provenance.notes,
        spec=name,
        named_parameters=tuple(values),
    )
    return Suite(
        name=rows_suite_name(name),
        tasks=made.tasks,
        scorer=made.scorer,
        controls=made.controls,
        parameters=suite_parameters.recorded_values(read),
        provenance=provenance,
    )


def rows_suite_name(name: str) -> str:
    """Return the name of the suite of a file of rows: that of the file, without its ending."""
    return Path(name.removeprefix(HUB_PREFIX)).stem.replace(":", "-") or "rows"


def rows_scorer(values: Mapping[str, Any]) -> Scorer:
    """Return the scorer of a stored run of a file of rows, by the parameters of the run."""
    read = suite_parameters.read_known_parameters(RowsParameters, values, suite="rows")
    return Suite(tasks=[], scorer=MatchCalls(order=read.order, ignore=read.ignore)).scorer
