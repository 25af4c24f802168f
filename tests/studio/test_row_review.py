"""Decisions on rows are in the file at once, and a rejected row is in another file."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.studio.conftest import HOSTILE, Served

from toolmark.core.errors import DataError, UsageError
from toolmark.studio.review_edit_check import InvalidSteps
from toolmark.studio.review_server import ReviewAnswer, ReviewSession
from toolmark.studio.row_review import RowReview

CALL = {"name": "f", "arguments": {"a": 1}}
TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},
    {"name": "g", "input_schema": {"type": "object"}},
]


def row(id: str, **changes: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"question {id} {HOSTILE}"}]
    return {
        "id": id, "messages": messages, "tools": TOOLS, "expected": [CALL], "review": "proposed",
        "category": "f", "group": "g", **changes,
    }  # fmt: skip


def rows_of(path: Path) -> list[dict[str, Any]]:
    with path.open() as file:
        return [json.loads(line) for line in file]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "rows.jsonl"
    rows = [row("one"), row("old", review="accepted"), row("two"), row("three")]
    found.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return found


def review(path: Path) -> RowReview:
    return RowReview(path, "ada")


def test_only_proposed_rows_are_asked(path: Path) -> None:
    assert review(path).ids == ("one", "two", "three")
    assert RowReview(path, "ada", ["old"]).ids == ("old",)


def test_a_decision_is_in_the_file_and_the_other_rows_stay(path: Path) -> None:
    before = rows_of(path)
    desk = review(path)
    desk.record_answer(2, ReviewAnswer("accept", note="fine"))
    after = rows_of(path)
    assert [each["id"] for each in after] == ["one", "old", "two", "three"]
    assert [after[n] for n in (0, 1, 3)] == [before[n] for n in (0, 1, 3)]
    added = {name: after[2][name] for name in ("review", "reviewer", "review_note")}
    assert added == {"review": "accepted", "reviewer": "ada", "review_note": "fine"}
    assert {**after[2], "review": "proposed"}.items() >= before[2].items()
    assert review(path).ids == ("one", "three")
    assert desk.summary_lines() == ("1 accepted, 0 rejected, 2 open",)
    assert desk.next_open(2) == "3"


def test_corrected_calls_are_the_expected_ones(path: Path) -> None:
    calls = [{"name": "g", "accepted": {"x": [1, ""]}}, CALL]
    review(path).record_answer(1, ReviewAnswer("edit", steps=json.dumps(calls)))
    assert rows_of(path)[0]["expected"] == calls and rows_of(path)[0]["review"] == "accepted"
    review(path).record_answer(1, ReviewAnswer("edit", steps="[]"))
    assert rows_of(path)[2]["expected"] == []


@pytest.mark.parametrize(
    "text",
    ["{", "{}", "[1]", '[{"name": "h", "arguments": {}}]', '[{"name": "f"}]',
     '[{"name": "f", "arguments": []}]', '[{"name": "f", "accepted": 1}]', "[" * 1000],
)  # fmt: skip
def test_calls_that_cannot_be_right_are_refused(path: Path, text: str) -> None:
    before = path.read_bytes()
    with pytest.raises(InvalidSteps):
        review(path).record_answer(1, ReviewAnswer("edit", steps=text))
    assert path.read_bytes() == before


def test_a_rejected_row_moves_and_comes_back(path: Path) -> None:
    rejected = path.with_name("rows.rejected.jsonl")
    desk = review(path)
    desk.record_answer(1, ReviewAnswer("reject"))
    desk.record_answer(3, ReviewAnswer("reject"))
    assert [each["id"] for each in rows_of(path)] == ["old", "two"]
    assert [each["review"] for each in rows_of(rejected)] == ["rejected", "rejected"]
    desk.record_answer(1, ReviewAnswer("reject", note="again"))
    desk.record_answer(3, ReviewAnswer("accept"))
    assert [(each["id"], each["review"]) for each in rows_of(path)] == [
        ("old", "accepted"), ("two", "proposed"), ("three", "accepted"),
    ]  # fmt: skip
    assert [each["id"] for each in rows_of(rejected)] == ["one"]


def test_what_another_process_wrote_meanwhile_stays(path: Path) -> None:
    one, other = review(path), RowReview(path, "bob")
    one.record_answer(1, ReviewAnswer("accept"))
    other.record_answer(3, ReviewAnswer("reject"))
    assert [(each["id"], each["review"]) for each in rows_of(path)] == [
        ("one", "accepted"), ("old", "accepted"), ("two", "proposed"),
    ]  # fmt: skip
    with pytest.raises(DataError, match="three"):
        one.record_answer(3, ReviewAnswer("accept"))


def test_pages_show_rows_and_run_nothing_in_them(
    path: Path, serve: Callable[[ReviewSession], Served]
) -> None:
    served = serve(review(path))
    connection = http.client.HTTPConnection("127.0.0.1", served.server.server_port, timeout=5)
    for page in ("1", "end"):
        connection.request("GET", f"/{served.server.token}/{page}")
        reply = connection.getresponse()
        text = reply.read().decode()
        assert reply.status == 200 and HOSTILE not in text
        assert "one" in text
    connection.close()


@pytest.mark.parametrize(
    "line", ["{", "[]", "{}", '{"id": 5}', json.dumps(row("one")), "\xff"], ids=range(6)
)
def test_a_wrong_file_is_one_line_with_its_place(path: Path, line: str) -> None:
    with path.open("ab") as file:
        file.write(line.encode("latin-1") + b"\n")
    with pytest.raises(DataError) as raised:
        review(path)
    assert "rows.jsonl" in str(raised.value) and "\n" not in str(raised.value)


def test_a_file_that_is_reviewed_says_so(path: Path) -> None:
    path.write_text(json.dumps(row("old", review="accepted")) + "\n")
    with pytest.raises(UsageError, match="reviewed"):
        review(path)
