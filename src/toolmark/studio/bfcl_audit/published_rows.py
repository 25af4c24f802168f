"""Rows of published files: results with their ids of today, and official scores. Read leniently.

The content of a file is untrusted. It is parsed as JSON within limits. What cannot be read is
counted and named, not raised.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from toolmark.core.data_files import DataRecord, read_table
from toolmark.official_bfcl.handler_replies import MalformedResult
from toolmark.studio.bfcl_audit.published_layouts import category_names, current_category
from toolmark.studio.bfcl_interchange import result_files
from toolmark.studio.bfcl_interchange.result_rows import ResultRow

MAX_SCORE_LINES = 100_000
_ID = re.compile(r"(\w{1,60}?)_(\d{1,7}(?:-\d{1,7}-\d{1,7})?)")


class ErrorTexts(DataRecord, frozen=True):
    """Texts of API errors that stand in the place of a reply."""

    prefixes: list[str]
    whole: list[str]


class ResultFile(NamedTuple):
    """The rows of a category by id, in the order of the file, and what is wrong with the file.

    `order` has the id of each row, "" for one that cannot be read: scores of 2024 count rows.
    """

    rows: dict[str, ResultRow]
    order: list[str]
    doubled: list[str]
    problems: list[str]


@dataclass(slots=True)
class PublishedFailure:
    """An entry that the official evaluator found wrong, with what it published about it.

    `decoded` are the calls as it read them, None where it published none. `question`, `docs` and
    `truth` are as the entry was then, None where not published.
    """

    id: str
    error_type: str = ""
    decoded: list[Any] | None = None
    question: Any = None
    docs: list[dict[str, Any]] | None = None
    truth: list[Any] | None = None


@dataclass(slots=True)
class PublishedScore:
    """An official score file: its header, its failures by id, and what is wrong with it."""

    accuracy: float | None = None
    n_correct: int | None = None
    n_total: int | None = None
    failures: dict[str, PublishedFailure] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def error_texts() -> ErrorTexts:
    """Return the table of API errors."""
    return read_table(__file__, "error_texts.toml", ErrorTexts)


def is_api_error(row: ResultRow) -> bool:
    """Tell whether a row has the text of an API error in the place of a reply."""
    if not isinstance(row.result, str):
        return False
    table = error_texts()
    text = row.result.strip()
    return text in table.whole or text.startswith(tuple(table.prefixes))


def current_id(id: str) -> str:
    """Return the id that an entry has today; one of an unknown form is returned unchanged."""
    found = _ID.fullmatch(id)
    if found is None:
        return id
    name, number = found.groups()
    renamed = category_names().renamed.get(name)
    return f"{renamed}_{number}" if renamed else id


def read_result_file(path: Path) -> ResultFile:
    """Read a result file; of rows with one id the first counts, as in the official evaluator."""
    found = ResultFile({}, [], [], [])
    if problem := result_files.file_problem(path):
        found.problems.append(problem)
        return found
    for number, line in enumerate(result_files.read_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = result_files.parse_row(line)
        except MalformedResult as error:
            found.problems.append(f"line {number}: {error}")
            found.order.append("")
            continue
        id = current_id(row.id)
        found.order.append(id)
        if id in found.rows:
            found.doubled.append(id)
        else:
            found.rows[id] = row
    return found


def read_score_file(path: Path, order: list[str]) -> PublishedScore:
    """Read a score file; `order` has the ids of the result file's rows."""
    score = PublishedScore()
    if problem := result_files.file_problem(path):
        score.problems.append(problem)
        return score
    for number, line in enumerate(result_files.read_lines(path)):
        if number > MAX_SCORE_LINES:
            score.problems.append(f"more than {MAX_SCORE_LINES} lines")
            break
        if not line.strip():
            continue
        try:
            fields = _parse_object(line)
        except MalformedResult as error:
            score.problems.append(f"line {number + 1}: {error}")
            continue
        if number == 0 and "accuracy" in fields:
            _read_header(score, fields)
        elif (failure := _read_failure(fields, order)) is None:
            score.problems.append(f"line {number + 1}: no entry of the result file")
        else:
            score.failures.setdefault(failure.id, failure)
    return score


def _parse_object(line: bytes) -> dict[str, Any]:
    if len(line) > result_files.MAX_LINE_BYTES:
        raise MalformedResult(f"a line of more than {result_files.MAX_LINE_BYTES} bytes")
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        try:
            found = json.loads(line)  # more lenient: it reads NaN and lone surrogates
        except (ValueError, RecursionError, MemoryError) as error:
            raise MalformedResult(f"not JSON, or cut short: {error}") from None
    if not isinstance(found, dict):
        raise MalformedResult("not an object")
    return found


def _read_header(score: PublishedScore, fields: dict[str, Any]) -> None:
    accuracy, n_correct, n_total = (
        fields.get(name) for name in ("accuracy", "correct_count", "total_count")
    )
    if isinstance(accuracy, int | float) and not isinstance(accuracy, bool) and 0 <= accuracy <= 1:
        score.accuracy = float(accuracy)
    if _is_count(n_correct) and _is_count(n_total):
        score.n_correct, score.n_total = n_correct, n_total


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _read_failure(fields: dict[str, Any], order: list[str]) -> PublishedFailure | None:
    """Return a failure; None where it does not name its entry.

    Files of 2024 give the number of the row, counted from 1, and the id in the prompt.
    """
    prompt = fields.get("prompt")
    prompt = prompt if isinstance(prompt, dict) else {}
    match fields.get("id"), prompt.get("id"):
        case str(text), _:
            id = current_id(text)
        case _, str(text):
            id = current_id(text)
        case int(number), _ if 1 <= number <= len(order):
            id = order[number - 1]
        case _:
            return None
    decoded = fields.get("model_result_decoded", fields.get("decoded_result"))
    return PublishedFailure(
        id=id,
        error_type=str(fields.get("error_type") or _nested_error_type(fields))[:120],
        decoded=decoded if isinstance(decoded, list) else None,
        question=prompt.get("question", fields.get("prompt")),
        docs=_as_objects(prompt.get("function")),
        truth=_as_objects(fields.get("possible_answer")),
    )


def _nested_error_type(fields: dict[str, Any]) -> Any:
    error = fields.get("error")
    return error.get("error_type", "") if isinstance(error, dict) else ""


def _as_objects(value: Any) -> list[Any] | None:
    """Return the entries of a list, or the one object, that older files have in its place."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else None


__all__ = [
    "PublishedFailure",
    "PublishedScore",
    "ResultFile",
    "current_category",
    "current_id",
    "is_api_error",
    "read_result_file",
    "read_score_file",
]
