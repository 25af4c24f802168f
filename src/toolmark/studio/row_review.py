"""Review of a file of rows: accept, correct or reject the expected calls of each.

A decision is written into the file before the next page is shown: the file is replaced at once. A
rejected row moves to NAME.rejected.jsonl in the same folder, so that no run sees it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.files import atomic_file, open_regular_file
from toolmark.reports.table_format import visible_text
from toolmark.runs.record_files import sync_folder
from toolmark.studio import review_pages
from toolmark.studio.review_edit_check import InvalidSteps, StepFault
from toolmark.studio.review_log import lock_file, utc_now
from toolmark.studio.review_server import ReviewAnswer, ReviewSession
from toolmark.studio.review_view import CallView, clip_text, format_json

CHOICES = (("accept", "Accept", "a", "good"), ("reject", "Reject", "r", "bad"))
_STATUSES = ("accepted", "rejected", "open")
Row = dict[str, Any]


class RowReview(ReviewSession):
    """The rows of a file that nobody has accepted, in their order; every row with an id."""

    def __init__(self, path: Path, reviewer: str, ids: Sequence[str] = ()) -> None:
        """Find the rows. Raises UsageError when there is none, DataError for a wrong line."""
        self.path = path
        self.rejected_path = path.with_name(f"{path.stem}.rejected.jsonl")
        self.reviewer = reviewer
        self.statuses: dict[str, str] = {}
        for row in _read_rows(path):
            is_asked = row["id"] in ids if ids else row.get("review") == "proposed"
            if is_asked and row["id"] in self.statuses:
                raise DataError(f"{path}: two rows have the id {row['id']!r}; give each its own")
            if is_asked:
                self.statuses[row["id"]] = "open"
        if not self.statuses:
            raise UsageError(f"{path}: no row is proposed; everything is reviewed")
        self.ids = tuple(self.statuses)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    def next_open(self, after: int = 0) -> str:
        """Return the next open row, else the first open one, else `end`."""
        open_ = [n for n, id in enumerate(self.ids, 1) if self.statuses[id] == "open"]
        return str(next((n for n in open_ if n > after), open_[0] if open_ else "end"))

    def render_question(self, n: int) -> str:
        """Return the page of one row."""
        row = self._find_row(self.ids[n - 1])
        status = self.statuses[row["id"]]
        expected = row.get("expected", [])
        return review_pages.render_page(
            "row.html.j2",
            title=f"{visible_text(row['id'])} · review",
            where=visible_text(self.path.name),
            n_done=sum(each != "open" for each in self.statuses.values()),
            n_all=len(self),
            n=n,
            id=row["id"],
            facts=[
                (name, str(row[name])) for name in ("category", "group", "n_seen") if name in row
            ],
            said=[_message_view(message) for message in _messages(row)],
            calls=[_call_view(call, "arguments") for call in expected],
            tools=[_call_view(_tool_function(tool), "parameters") for tool in row.get("tools", ())],
            choices=CHOICES,
            note="",
            status_text="" if status == "open" else f"{status}; deciding again replaces it",
            edit=format_json(expected).encode("utf-8", "backslashreplace").decode(),
        )

    def render_overview(self) -> str:
        """Return the overview of the decisions, and the command that runs the rows."""
        is_done = "open" not in self.statuses.values()
        command = ["toolmark", "run", str(self.path), "-m", "MODEL"]
        return review_pages.render_overview(
            title="Review",
            folder=visible_text(self.path.name),
            heading="Review of " + visible_text(self.path.name),
            lines=self.summary_lines(),
            entries=[(visible_text(id), status) for id, status in self.statuses.items()],
            next_page=self.next_open(),
            command=shlex.join(command) if is_done else "",
        )

    def summary_lines(self) -> tuple[str, ...]:
        """Return the counts of decisions."""
        found = list(self.statuses.values())
        return (", ".join(f"{found.count(status)} {status}" for status in _STATUSES),)

    def record_answer(self, n: int, answer: ReviewAnswer) -> None:
        """Write a decision into the file."""
        id = self.ids[n - 1]
        with lock_file(self.path):
            row = self._find_row(id)
            row["reviewer"], row["reviewed"] = self.reviewer, utc_now()
            if answer.note:
                row["review_note"] = answer.note
            match answer.choice:
                case "accept":
                    self._write_accepted(row)
                case "edit":
                    row["expected"] = parse_calls(answer.steps, row)
                    self._write_accepted(row)
                case "reject":
                    row["review"] = "rejected"
                    self._move_row(id, self.path, self.rejected_path, row)
                    self.statuses[id] = "rejected"
                case word:
                    raise UsageError(f"no decision {word!r}; known: accept, edit, reject")

    def _write_accepted(self, row: Row) -> None:
        row["review"] = "accepted"
        if self.statuses[row["id"]] == "rejected":
            self._move_row(row["id"], self.rejected_path, self.path, row)
        else:
            _replace_rows(self.path, row["id"], row)
        self.statuses[row["id"]] = "accepted"

    def _move_row(self, id: str, source: Path, target: Path, row: Row) -> None:
        """Move a row: it is in the target before it leaves the source."""
        if source == target or self.statuses[id] == "rejected" == row["review"]:
            _replace_rows(self.rejected_path, id, row)
            return
        _replace_rows(target, id, row, is_new=True)
        _replace_rows(source, id, None)

    def _find_row(self, id: str) -> Row:
        path = self.rejected_path if self.statuses[id] == "rejected" else self.path
        found = next((row for row in _read_rows(path) if row["id"] == id), None)
        if found is None:
            raise DataError(f"{path}: the row {id!r} is no longer there; begin the review again")
        return found


def parse_calls(text: str, row: Row) -> list[dict[str, Any]]:
    """Return expected calls written as JSON, [] for no call. Raises InvalidSteps."""
    try:
        value = json_codec.parse_json(text)
    except json_codec.InvalidJson as error:
        raise InvalidSteps([StepFault("$", f"not JSON: {error}")]) from None
    if not isinstance(value, list):
        raise InvalidSteps([StepFault("$", "expected a list of calls")])
    names = [str(_tool_function(tool).get("name")) for tool in row.get("tools", ())]
    faults = [fault for n, call in enumerate(value) for fault in _call_faults(call, n, names)]
    if faults:
        raise InvalidSteps(faults)
    return value


def _call_faults(call: Any, n: int, names: Sequence[str]) -> Iterator[StepFault]:
    if not isinstance(call, dict):
        yield StepFault(f"$[{n}]", "expected an object with `name` and `arguments`")
        return
    if call.get("name") not in names:
        known = suggest_names(str(call.get("name")), names)
        yield StepFault(f"$[{n}].name", f"no tool on offer has this name{known}")
    for field in ("arguments", "accepted"):
        if field in call and not isinstance(call[field], dict):
            yield StepFault(f"$[{n}].{field}", "expected an object")
    if not {"arguments", "accepted"} & call.keys():
        yield StepFault(f"$[{n}]", "missing: `arguments`")


def _read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file. Raises DataError for a line that is not a row with an id."""
    with open_regular_file(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _parse_row(line, f"{path}, line {number}")


def _parse_row(line: bytes, place: str) -> Row:
    try:
        row = json_codec.parse_json(line.decode())
    except ValueError as error:  # InvalidJson and UnicodeDecodeError
        raise DataError(f"{place}: not JSON: {error}; correct the line") from None
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise DataError(f"{place}: a row needs an `id` to be reviewed; add one")
    return row


def _replace_rows(path: Path, id: str, row: Row | None, *, is_new: bool = False) -> None:
    """Replace the row of this id, remove it where `row` is None, or add it at the end."""
    lines = _read_rows(path) if path.exists() else iter(())
    with atomic_file(path) as draft, draft.open("wb") as file:
        for each in lines:
            written = row if each["id"] == id else each
            if written is not None and not (is_new and each["id"] == id):
                file.write(json_codec.encode_record(written) + b"\n")
        if is_new and row is not None:
            file.write(json_codec.encode_record(row) + b"\n")
    sync_folder(path.parent)


# --- what a page shows ------------------------------------------------------------------


def _messages(row: Row) -> list[Mapping[str, Any]]:
    question = row.get("question")
    if isinstance(question, str):
        return [{"role": "user", "content": question}]
    found = row.get("messages", question)
    return [each for each in found or () if isinstance(each, Mapping)]


def _message_view(message: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """Return role and texts of a message: its content, then its calls."""
    content = message.get("content")
    texts = [content if isinstance(content, str) else format_json(content)] if content else []
    for call in message.get("tool_calls") or ():
        function = _tool_function(call)
        texts.append(f"{function.get('name')} {format_json(function.get('arguments'))}")
    return visible_text(str(message.get("role", ""))), tuple(map(clip_text, texts))


def _tool_function(tool: Any) -> Mapping[str, Any]:
    function = tool.get("function") if isinstance(tool, Mapping) else None
    found = function if isinstance(function, Mapping) else tool
    return found if isinstance(found, Mapping) else {}


def _call_view(call: Mapping[str, Any], field: str) -> CallView:
    fields = {name: value for name, value in call.items() if name != "name"}
    shown = fields[field] if fields.keys() == {field} else fields
    return CallView(
        name=clip_text(str(call.get("name", "")), 300), arguments=clip_text(format_json(shown))
    )
