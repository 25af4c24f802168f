"""Rows that Python gives are those of a file with the same rows, or are refused in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.errors import ToolmarkError, UsageError


def weather(city: str, days: int = 1) -> str:
    """Weather forecast.

    Args:
        city: The city.
        days: How many days.
    """
    return "sun"


def rows() -> Iterator[dict[str, Any]]:
    for at, city in enumerate(("Rome", "Oslo")):
        call = {"name": "weather", "arguments": {"city": city}}
        yield {"id": f"r{at}", "question": f"{city}?", "tools": [weather], "expected": [call]}


GIVEN: dict[str, Callable[[], Any]] = {
    "a list": lambda: [*rows()],
    "a tuple": lambda: (*rows(),),
    "a generator": lambda: rows(),
    "a function": lambda: rows,
    "an iterable object": lambda: {each["id"]: each for each in rows()}.values(),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_rows_of_any_kind_are_run_and_read_as_often_as_needed(kind: str, tmp_path: Path) -> None:
    suite = tm.expected_calls(GIVEN[kind]())
    assert [task.id for task in suite] == [task.id for task in suite] == ["r0", "r1"]
    assert len(suite) == 2
    assert tm.run(suite, "control/oracle", log_dir=tmp_path).summary()["score"]["value"] == 1
    assert tm.run(suite, "control/null", log_dir=tmp_path).summary()["score"]["value"] == 0


def test_tasks_are_read_from_a_list_of_dicts(tmp_path: Path) -> None:
    given = [{"question": "Which number?", "answer": 7, "tags": ("a",)}]
    suite = tm.Suite(tasks=tm.read_tasks(given), scorer=lambda episode: episode.data["answer"] == 7)
    assert [task.data for task in suite] == [{"answer": 7, "tags": ["a"]}]
    assert tm.run(suite, "control/null", log_dir=tmp_path).summary()["score"]["value"] == 1


def test_tools_may_be_named_once_for_all_rows() -> None:
    bare = [{key: value for key, value in each.items() if key != "tools"} for each in rows()]
    made = tm.expected_calls(bare, tools=[weather])
    assert [task.tools for task in made] == [task.tools for task in tm.expected_calls(rows)]


def test_other_rows_have_another_hash_and_equal_rows_the_same() -> None:
    one, again = tm.expected_calls(rows), tm.expected_calls(rows)
    other = tm.expected_calls([*rows()][:1])
    assert one.provenance.hashes == again.provenance.hashes
    assert [*one.provenance.hashes.values()] != [*other.provenance.hashes.values()]


def test_a_path_object_names_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "Hello?", "expected": []}\n')
    assert [len(tm.expected_calls(path)), len(tm.read_jsonl(path)), len(tm.read_tasks(path))] == [
        1,
        1,
        1,
    ]


async def asynchronous() -> list[dict[str, Any]]:
    return []


def breaks() -> Iterator[dict[str, Any]]:
    yield from rows()
    raise RuntimeError("no connection")


def always_right(episode: tm.Episode) -> bool:
    return True


def read(given: Any) -> list[tm.Task]:
    return list(tm.expected_calls(given))


WRONG: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "rows in a Suite": (
        lambda: tm.Suite(tasks=[*rows()], scorer=always_right),  # type: ignore[list-item]
        ("tasks[0]", "dict", "tm.read_tasks"),
    ),
    "a name in a Suite": (
        lambda: tm.Suite(tasks="rows.jsonl", scorer=always_right),  # type: ignore[arg-type]
        ("rows.jsonl", "tm.read_tasks"),
    ),
    "a generator in a Suite": (
        lambda: tm.Suite(tasks=iter([]), scorer=always_right),  # type: ignore[arg-type]
        ("length", "tm.read_tasks"),
    ),
    "a number": (lambda: tm.read_tasks(5), ("int",)),  # type: ignore[arg-type]
    "one row without a list": (lambda: read(next(rows())), ("dict",)),
    "a list of texts": (lambda: read(["a"]), ("row 1", "str")),
    "a field that is no text": (lambda: read([{1: 2}]), ("row 1", "text")),
    "a value that JSON has not": (
        lambda: read([{"question": {1j}}]),
        ("row 1: question", "complex"),
    ),
    "not a number": (lambda: read([{"question": float("nan")}]), ("row 1: question", "nan")),
    "tasks for rows": (
        lambda: tm.expected_calls(tm.read_tasks([*rows()])),  # type: ignore[arg-type]
        ("tm.read_jsonl",),
    ),
    "no rows": (lambda: tm.expected_calls([]), ("no rows",)),
    "a class": (lambda: tm.read_tasks(Path().__class__), ("Path",)),  # type: ignore[arg-type]
    "an async function": (lambda: tm.read_tasks(asynchronous), ("async",)),  # type: ignore[arg-type]
    "a function with an argument": (lambda: tm.read_tasks(read), ("given", "no argument")),  # type: ignore[arg-type]
    "a function that returns a number": (
        lambda: read(lambda: 5),
        ("int", Path(__file__).name),
    ),
    "a function that raises": (
        lambda: read(breaks),
        ("RuntimeError", "no connection", Path(__file__).name, "line"),
    ),
    "an expected call of another tool": (
        lambda: read([{**next(rows()), "expected": [{"name": "weathr"}]}]),
        ("row 1: expected[0].name", "weather"),
    ),
    "two rows of one id": (lambda: read([next(rows()), next(rows())]), ("row 2: id", "r0")),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rows_are_refused_in_one_line(name: str) -> None:
    make, words = WRONG[name]
    with pytest.raises(ToolmarkError) as caught:
        make()
    text = str(caught.value)
    assert len(text.splitlines()) == 1 and len(text) < 400
    for word in words:
        assert word in text


class Custom(Exception):
    pass


@pytest.mark.parametrize("kind", [RuntimeError, Custom, KeyError, NotImplementedError])
def test_a_suite_function_that_raises_gives_one_line_with_file_and_line(
    kind: type[Exception],
) -> None:
    @tm.suite
    def broken() -> tm.Suite:
        """Raise."""
        raise kind("wrong")

    with pytest.raises(UsageError) as caught:
        broken()
    text = str(caught.value)
    assert kind.__name__ in text and Path(__file__).name in text and "line" in text
    assert len(text.splitlines()) == 1
