"""The desk sees what a model sees: tools by their words, the picture by what they tell of it."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolmark.agents.tool_loop import run_tool_loop
from toolmark.baselines import desk_rows
from toolmark.baselines.desk_agent import CANNOT_TEXT, DeskAgent
from toolmark.baselines.desk_facts import Facts, Table
from toolmark.baselines.desk_rounds import CallRounds, call_with_retry, run_side_by_side
from toolmark.baselines.desk_tools import Toolkit
from toolmark.core.records import (  # fmt: skip
    Call,
    Limits,
    Message,
    Request,
    Result,
    Sampling,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
)
from toolmark.formats.native_format import NATIVE_FORMAT

PICTURE = "The picture is also a file: /workspace/images/tag.png"
Answer = Callable[[Mapping[str, Any]], str]


def tool(name: str, description: str, *required: str, **optional: str) -> Tool:
    kinds = dict.fromkeys(required, "string") | optional
    properties = {key: {"type": kind} for key, kind in kinds.items()}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Tool(name=name, description=description, parameters=schema)


class Office:
    """A world of a few tools, each answered by a function."""

    def __init__(self, answers: list[tuple[Tool, Answer]]) -> None:
        self._answers = {offered.name: (offered, answer) for offered, answer in answers}
        self.made: list[tuple[str, dict[str, Any]]] = []

    async def tools(self) -> tuple[Tool, ...]:
        return tuple(offered for offered, _ in self._answers.values())

    async def call(self, call: Call, /) -> Result:
        arguments = json.loads(call.arguments)
        self.made.append((call.name, arguments))
        return Result(parts=(Text(self._answers[call.name][1](arguments)),))

    async def final_state(self) -> Any:
        return None


def play(question: str, office: Office) -> Trajectory:
    said = Message(role="user", parts=(Text(f"{question}\n\n{PICTURE}"),))
    task = Task(id="t", suite="s", turns=(Turn(messages=(said,)),), limits=Limits(steps=20))
    return asyncio.run(run_tool_loop(task, DeskAgent(), NATIVE_FORMAT, office, Sampling()))


# --- a database -------------------------------------------------------------------------

GARAGE = """
CREATE TABLE bikes (plate TEXT PRIMARY KEY, model TEXT, status TEXT);
CREATE TABLE riders (badge TEXT PRIMARY KEY, name TEXT);
CREATE TABLE trips (id INTEGER PRIMARY KEY, plate TEXT, badge TEXT, day TEXT);
INSERT INTO bikes VALUES ('BK-77', 'Comet', 'free'), ('BK-78', 'Breeze', 'busy');
INSERT INTO riders VALUES ('N-1', 'Ada Quill'), ('N-2', 'Bo Fern');
INSERT INTO trips VALUES (40, 'BK-78', 'N-1', '2026-02-01');
"""
TRIP = (
    "Bo Fern takes this bike today, 2026-02-03. Please enter the trip in the database, with the "
    "next number, and mark the bike as busy."
)


@contextmanager
def garage(code: str = "BK-77", *, scanner: bool = True) -> Iterator[tuple[Office, Any]]:
    with closing(sqlite3.connect(":memory:")) as link:
        link.row_factory = sqlite3.Row
        link.executescript(GARAGE)

        def run(query: str) -> str:
            return repr([dict(row) for row in link.execute(query).fetchall()])

        scanned = json.dumps({"results": [{"content": code}]})
        tools: list[tuple[Tool, Answer]] = [
            (
                tool("db/list_tables", "List all tables in the database"),
                lambda _: run("SELECT name FROM sqlite_master WHERE type = 'table'"),
            ),
            (
                tool("db/read_query", "Execute a SELECT query", "query"),
                lambda given: run(given["query"]),
            ),
            (
                tool("db/write_query", "Execute an INSERT or UPDATE query", "query"),
                lambda given: run(given["query"]),
            ),
        ]
        if scanner:
            scan = tool("eye/decode", "Decode QR and barcodes of an image", "file_path")
            tools.append((scan, lambda _: scanned))
        yield Office(tools), link


def rows(link: Any, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in link.execute(f"SELECT * FROM {table}")]


def test_what_the_picture_names_is_changed_and_linked_to_what_the_question_names() -> None:
    with garage() as (office, link):
        played = play(TRIP, office)
        assert rows(link, "bikes") == [("BK-77", "Comet", "busy"), ("BK-78", "Breeze", "busy")]
        assert rows(link, "trips")[1:] == [(41, "BK-77", "N-2", "2026-02-03")]
    assert "Comet" in played.answer
    assert "41" in played.answer
    assert len(played.steps[0].calls) == 2  # looks at the picture and at the tables at once


def test_where_a_form_is_asked_for_the_answer_alone_is_told() -> None:
    form = "\n\nThe last line has all of it, in the form\nAnswer: {}"
    with garage() as (office, link):
        assert play(TRIP + form.format("model, id of the trip"), office).answer == (
            "Answer: Comet, 41"
        )
        assert len(rows(link, "trips")) == 2  # the form is not taken for a part of the work
    with garage() as (office, _):
        assert play(TRIP + form.format("model, temperature"), office).answer == CANNOT_TEXT


@pytest.mark.parametrize("scanner", [True, False])
def test_without_the_picture_nothing_is_changed(scanner: bool) -> None:
    with garage("nothing that is known", scanner=scanner) as (office, link):
        play("Please set its status to busy in the database.", office)
        assert rows(link, "bikes") == [("BK-77", "Comet", "free"), ("BK-78", "Breeze", "busy")]


def test_the_same_request_is_answered_alike_and_nothing_is_kept() -> None:
    with garage() as (office, _):
        played = play(TRIP, office)
        offered = asyncio.run(office.tools())
    model, history = DeskAgent(), played.steps[0].said
    for step in played.steps:
        reply = asyncio.run(model(Request(messages=history, tools=offered)))
        assert (
            reply
            == step.reply
            == asyncio.run(DeskAgent()(Request(messages=history, tools=offered)))
        )
        history += NATIVE_FORMAT.answer(step.reply, step.calls, step.results)


# --- tools ------------------------------------------------------------------------------

READERS = (
    tool("a/read_file", "Read a file. DEPRECATED: use read_text_file.", "path"),
    tool("a/read_text_file", "Read the contents of a file as text.", "path", head="number"),
    tool("a/write_file", "Write a file.", "path", "content"),
    tool("b/perform_pdf_ocr", "Perform OCR on a PDF file.", "input_data"),
    tool("b/perform_ocr", "Perform OCR on the provided input.", "input_data", language="string"),
    tool("c/extract", "Perform OCR: the text of a picture.", "picture_path", "engine"),
)


def test_tools_are_found_by_their_words_and_filled_by_their_schemas() -> None:
    kit = Toolkit(READERS)
    assert kit.best_call("read text file", path="p") == Call(
        name="a/read_text_file", arguments='{"path": "p"}'
    )
    assert kit.best_call("perform OCR", path="p") == Call(
        name="b/perform_ocr", arguments='{"input_data": "p"}'
    )
    assert kit.best_call("read text file", path="p", colour="red") is None
    assert kit.best_call("convert time", path="p") is None
    assert Toolkit(()).best_call("read text file", path="p") is None


@given(st.lists(st.sampled_from(READERS), unique_by=lambda one: one.name), st.text(max_size=9))
def test_a_call_has_all_that_its_tool_requires_and_all_that_is_known(
    tools: list[Tool], path: str
) -> None:
    for call in Toolkit(tools).ranked_calls("perform OCR", path=path):
        (used,) = (one for one in tools if one.name == call.name)
        arguments = json.loads(call.arguments)
        assert (
            set(used.parameters["required"]) <= set(arguments) <= set(used.parameters["properties"])
        )
        assert list(arguments.values()) == [path]


@given(st.text(max_size=200), st.sampled_from([TRIP, "Write the file notes/NAME.txt", "", "?"]))
def test_results_that_are_not_understood_end_in_words(text: str, question: str) -> None:
    names = ("perform_ocr", "decode_qr_barcode", "directory_tree", "list_database_tables")
    more = ("read_query_select", "read_text_file", "read_graph", "write_file")
    schemas = {
        "directory_tree": ("path",),
        "read_query_select": ("query",),
        "read_text_file": ("path",),
    }
    asks = schemas | {"write_file": ("path", "content")}
    tools = [
        tool(
            f"x/{name}", name.replace("_", " "), *asks.get(name, ("path",) if "_o" in name else ())
        )
        for name in (*names, *more)
    ]
    played = play(question, Office([(one, lambda _: text) for one in tools]))
    assert played.ending == "answered"
    assert played.answer


def test_without_tools_it_says_that_it_cannot() -> None:
    said = Message(role="user", parts=(Text("What is in the picture?"),))
    reply = asyncio.run(DeskAgent()(Request(messages=(said,))))
    assert reply.calls == ()
    assert "cannot" in reply.text


# --- work -------------------------------------------------------------------------------


def _piece(name: str, rounds: int, heard: list[str]) -> CallRounds:
    for at in range(rounds):
        results = yield [Call(name=f"{name}{at}{n}") for n in range(at + 1)]
        heard += results
    return [name]


@given(st.lists(st.integers(0, 4), max_size=4))
def test_pieces_are_worked_on_at_once_and_each_hears_its_own(lengths: list[int]) -> None:
    heard: list[list[str]] = [[] for _ in lengths]
    whole = run_side_by_side([_piece("abcd"[i], n, heard[i]) for i, n in enumerate(lengths)])
    rounds, results = 0, None
    try:
        while True:
            calls = next(whole) if results is None else whole.send(results)
            results, rounds = [call.name for call in calls], rounds + 1
    except StopIteration as end:
        assert end.value == list("abcd"[: len(lengths)])
    assert rounds == max(lengths, default=0)
    for i, n in enumerate(lengths):
        assert heard[i] == [f"{'abcd'[i]}{at}{k}" for at in range(n) for k in range(at + 1)]


def test_what_fails_is_tried_once_more_after_its_folder_is_made() -> None:
    write = Call(name="write_file", arguments="{}")
    made = tool("create_directory", "Create a new directory", "path")
    work = call_with_retry(Toolkit([made]), [write], "/workspace/out/a.txt")
    assert next(work) == [write]
    assert work.send(["ENOENT: no such file or directory"]) == [
        Call(name="create_directory", arguments='{"path": "/workspace/out"}')
    ]
    assert work.send([""]) == [write]
    with pytest.raises(StopIteration):
        work.send(["ENOENT: no such file or directory"])


# --- values -----------------------------------------------------------------------------


@given(
    st.none()
    | st.integers(-(2**60), 2**60)
    | st.text(st.characters(exclude_characters="\0", codec="utf-8"))
)
def test_sql_reads_a_literal_as_the_value_it_was(value: Any) -> None:
    with closing(sqlite3.connect(":memory:")) as link:
        (found,) = link.execute(f"SELECT {desk_rows.sql_literal(value)}").fetchone()
    assert found == value


@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=20))
def test_sql_reads_a_name_as_the_name_it_was(name: str) -> None:
    with closing(sqlite3.connect(":memory:")) as link:
        link.execute(f"CREATE TABLE t ({desk_rows.quote_identifier(name)})")
        assert link.execute("SELECT * FROM t").description[0][0] == name


def test_a_record_leads_to_those_that_its_values_name() -> None:
    facts = Facts("Where does it go?")
    facts.codes = ["P-9"]
    facts.tables = [
        Table("parcels", "rows", "", [{"id": "P-8", "zone": "Z2"}, {"id": "P-9", "zone": "Z1"}]),
        Table("zones", "rows", "", [{"zone": "Z1", "hub": 3}, {"zone": "Z2", "hub": 4}]),
        Table("hubs", "rows", "", [{"key": 3, "name": "West"}, {"key": 4, "name": "East"}]),
    ]
    links = facts.linked_records()
    assert [link.row for link in links] == [
        {"id": "P-9", "zone": "Z1"}, {"zone": "Z1", "hub": 3}, {"key": 3, "name": "West"},
    ]  # fmt: skip
    assert [link.in_picture for link in links] == [True, False, False]
    assert facts.best_value("the hub's name", links) == "West"
    assert facts.best_value("weight", links) is None


@pytest.mark.parametrize("stated", [" ", "   ", "\t"])
def test_a_value_of_blanks_is_no_value_and_the_linked_records_counts(stated: str) -> None:
    facts = Facts(f"Read the tag, then set its `status` to {stated}, and report it.")
    facts.picture_text = "T-1"
    facts.tables = [
        Table("tags", "rows", "", [{"tag": "T-1", "status": "new", "shelf": "S-9"}]),
        Table("shelves", "rows", "", [{"shelf": "S-9", "status": "full"}]),
    ]
    write = tool("write_query", "Write a query: insert or update.", "query")
    rounds = desk_rows.change_rows(Toolkit([write]), facts)
    (call,) = next(rounds)
    assert "UPDATE" in json.loads(call.arguments)["query"]


@given(st.text(alphabet=" \tz0-.", min_size=1, max_size=8))
def test_any_stated_value_gives_one(stated: str) -> None:
    value = desk_rows._wanted_value(stated, "status", Facts(""), [])
    assert value is None or isinstance(value, int | float)
