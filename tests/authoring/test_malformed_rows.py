"""A wrong file of rows: one line that names file, line and field; nothing is asked."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from tests.authoring.malformed_rows import ASKED, CASES, GOOD, RIGHT_CALL, Malformed, lines, row
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.errors import DataError, ToolmarkError, UsageError


class Listener:
    """A model that counts what it is asked."""

    def __init__(self) -> None:
        self.n_asked = 0

    async def __call__(self, request: tm.Request) -> tm.Reply:
        self.n_asked += 1
        return tm.Reply(text="None fits.")


def write(case: Malformed) -> None:
    if case.content is not None:
        Path(case.name).write_bytes(case.content)


def place(case: Malformed) -> str:
    return f"{case.name}, {case.unit} {case.number}: " if case.number else case.name


def runs() -> list[Path]:
    return [*Path("runs").glob("*")]


def test_there_are_forty_wrong_files_and_more() -> None:
    assert len(CASES) >= 40
    assert len({case.content for case in CASES.values()}) > len(CASES) - 3


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_file_gives_one_line_and_asks_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    write(case)
    listener = Listener()
    with pytest.raises((DataError, UsageError)) as caught:
        tm.run(tm.load(case.name), listener, log_dir="runs")
    text = str(caught.value)
    assert text.startswith(place(case)) or not case.number
    assert len(text.splitlines()) == 1 and len(text) < 600
    for word in (case.name, *case.words):
        assert word in text
    assert listener.n_asked == 0 and runs() == []


@pytest.mark.parametrize("name", CASES)
def test_the_command_line_says_the_same_line_and_ends_with_2(name: str, toolmark: Command) -> None:
    case = CASES[name]
    write(case)
    said = toolmark("run", case.name, "-m", "control/null")
    [line] = [each for each in said.err.splitlines() if each.startswith("toolmark: ")]
    assert place(case) in line
    assert said.code == 2
    assert said.out == ""
    for word in case.words:
        assert word in line
    assert runs() == []


def test_the_good_row_of_these_files_runs(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(GOOD, row(id=7), row(id="a", ignore=["days"])))
    said = toolmark("run", "rows.jsonl", "-m", "control/oracle")
    assert said.code == 0
    assert tm.open_run(runs()[0]).summary()["score"]["value"] == 1


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv", "rows.parquet", "rows.json"])
def test_a_folder_in_the_place_of_a_file_is_refused(name: str, toolmark: Command) -> None:
    Path(name).mkdir()
    said = toolmark("run", name, "-m", "control/null")
    assert said.code == 2 and runs() == []
    assert name in said.err and "folder" in said.err


def test_a_damaged_data_set_is_refused(toolmark: Command) -> None:
    Path("rows").mkdir()
    (Path("rows") / "state.json").write_text("{}")
    said = toolmark("run", "rows", "-m", "control/null")
    assert said.code == 2 and runs() == []
    assert "rows: not a data set" in said.err and "Traceback" not in said.err


@pytest.mark.parametrize(
    ("column", "word"),
    [
        (pyarrow.array([b"\x00"], pyarrow.binary()), "bytes"),
        (pyarrow.array([float("nan")]), "nan"),
        (pyarrow.array([3], pyarrow.duration("s")), "timedelta"),
    ],
    ids=["bytes", "nan", "duration"],
)
def test_a_parquet_cell_that_json_has_not_is_refused_with_its_row(
    column: pyarrow.Array, word: str, toolmark: Command
) -> None:
    table = pyarrow.table({"question": ["Hello?"], "expected": ["[]"], "category": column})
    pyarrow.parquet.write_table(table, "rows.parquet")
    said = toolmark("run", "rows.parquet", "-m", "control/null")
    assert said.code == 2 and runs() == []
    assert "rows.parquet, row 1: category: " in said.err and word in said.err


def test_the_rows_of_a_limit_are_read_and_no_others(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(GOOD, GOOD, "{", GOOD))
    assert toolmark("run", "rows.jsonl", "-m", "control/oracle", "--limit", "2").code == 0
    assert toolmark("run", "rows.jsonl", "-m", "control/oracle", "--limit", "3").code == 2


def test_proposed_rows_are_refused_under_a_limit_too(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(row(review="proposed"), GOOD, row(review="proposed")))
    said = toolmark("run", "rows.jsonl", "-m", "control/oracle", "--limit", "1")
    assert said.code == 2 and runs() == []
    assert "2 rows are proposed" in said.err


def test_lone_surrogates_are_no_fault(toolmark: Command) -> None:
    Path("rows.jsonl").write_bytes(lines(row(question="\ud800?", id="\udfff")))
    assert toolmark("run", "rows.jsonl", "-m", "control/oracle").code == 0


def test_a_whole_history_with_results_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    called = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "weather"}}]}
    result = {"role": "tool", "tool_call_id": "1", "content": "sun"}
    anthropic = [
        *ASKED,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "sun"},
                                     {"type": "text", "text": "And now?"}]},
    ]  # fmt: skip
    histories = ([*ASKED, called, result], [*ASKED, called, result, *ASKED], anthropic)
    path.write_bytes(lines(*(row(question=None, messages=each) for each in histories)))
    roles = [[each.role for each in task.turns[0].messages] for task in tm.read_jsonl(str(path))]
    assert roles == [
        ["user", "assistant", "tool"],
        ["user", "assistant", "tool", "user"],
        ["user", "assistant", "tool", "user"],
    ]


def test_an_ignored_argument_may_be_missing_though_it_is_required(toolmark: Command) -> None:
    tools = [
        {
            "name": "note",
            "parameters": {
                "properties": {"text": {"type": "string"}, "at": {"type": "string"}},
                "required": ["text", "at"],
            },
        }
    ]
    expected = [{"name": "note", "arguments": {"text": "milk"}}]
    rows = [
        row(tools=tools, expected=expected, ignore=["at"]),
        row(tools=tools, expected=expected, ignore=["note.at"]),
    ]
    Path("rows.jsonl").write_bytes(lines(*rows))
    assert toolmark("run", "rows.jsonl", "-m", "control/oracle").code == 0
    assert tm.open_run(runs()[0]).summary()["score"]["value"] == 1


def test_the_shapes_of_others_run_with_the_truth_in_their_rows(toolmark: Command) -> None:
    function = {
        "name": "weather",
        "parameters": {"type": "dict", "properties": {"city": {"type": "string"}}},
    }
    official = {"id": "simple_python_0", "question": [ASKED], "function": [function],
                "ground_truth": [{"weather": {"city": ["Rome"]}}]}  # fmt: skip
    Path("bfcl.jsonl").write_bytes(lines(official))
    reply = {"role": "assistant", "tool_calls": [{"id": "1", "function": RIGHT_CALL}]}
    Path("openai.jsonl").write_bytes(lines({"messages": [*ASKED, reply], "tools": GOOD["tools"]}))
    for name in ("bfcl.jsonl", "openai.jsonl"):
        said = toolmark("run", name, "-m", "control/oracle", "--json")
        assert said.code == 0, said.err
        assert '"value":1.0' in said.out


def test_no_reader_of_rows_fails_with_another_error(tmp_path: Path) -> None:
    """Every field of a good row is replaced by every kind of value."""
    path = tmp_path / "rows.jsonl"
    values: list[object] = [
        None,
        True,
        3,
        1.5,
        "",
        "a",
        [],
        [None],
        [[]],
        [3],
        ["a"],
        {},
        {"a": None},
        [{}],
    ]
    n_refused = 0
    bases = [
        GOOD,
        row(question=None, messages=[*ASKED]),
        {"request": {"messages": ASKED}, "finish_reason": "stop"},
        {"id": "simple_python_0", "question": [ASKED], "function": [], "ground_truth": []},
        {"messages": [*ASKED, {"role": "assistant", "content": "Hello."}], "tools": []},
    ]
    for base in bases:
        for where in list(_places(base)):
            for value in values:
                path.write_bytes(lines(base, _changed(base, where, value)))
                try:
                    list(tm.read_jsonl(str(path)))
                except ToolmarkError as error:
                    n_refused += 1
                    assert len(str(error).splitlines()) == 1
    assert n_refused > 500


def _places(value: object, prefix: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Return the paths of all values inside a value."""
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    found: list[tuple[object, ...]] = []
    for key, inner in entries:
        found += [(*prefix, key), *_places(inner, (*prefix, key))]
    return found


def _changed(value: object, where: tuple[object, ...], new: object) -> object:
    """Return a copy of a value in which the one at a path is another."""
    if not where:
        return new
    key, *rest = where
    if isinstance(value, dict):
        return {each: _changed(value[each], tuple(rest), new) if each == key else value[each]
                for each in value}  # fmt: skip
    assert isinstance(value, list)
    return [_changed(each, tuple(rest), new) if at == key else each
            for at, each in enumerate(value)]  # fmt: skip
