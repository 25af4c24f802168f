"""Settings of a run come in groups or by keyword, and mean the same."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.runs import mini

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.runs import run_settings
from toolmark.runs.run_settings import Connection, FlatSettings, Selection, Storage

GROUPS: tuple[Any, ...] = (Selection, tm.Sampling, Connection, Storage)


def test_each_field_of_a_group_is_a_keyword_and_no_other() -> None:
    fields = [name for kind in GROUPS for name in kind.__struct_fields__]
    assert sorted(fields) == sorted(
        "extra" if name == "extra_body" else name for name in FlatSettings.__annotations__
    )
    assert len(fields) == len({*fields}), "a keyword names one field"


@given(
    repeats=st.integers(1, 9), limit=st.none() | st.integers(0, 9), n=st.integers(1, 9),
    temperature=st.none() | st.floats(0, 2), folder=st.text("abc", min_size=1),
)  # fmt: skip
def test_a_group_and_its_keywords_are_the_same(
    repeats: int, limit: int | None, n: int, temperature: float | None, folder: str
) -> None:
    grouped = run_settings.collect_settings(
        Selection(repeats=repeats, limit=limit),
        tm.Sampling(temperature=temperature),
        Connection(max_connections=n),
        Storage(log_dir=folder),
        {},
    )
    flat = run_settings.collect_settings(
        None, None, None, None,
        {"repeats": repeats, "limit": limit, "temperature": temperature, "max_connections": n,
         "log_dir": Path(folder)},
    )  # fmt: skip
    assert grouped == flat


def test_a_keyword_replaces_the_field_of_its_group_and_no_other() -> None:
    found = run_settings.collect_settings(
        Selection(repeats=2, limit=5), None, None, None, {"limit": 7, "extra_body": {"n": 1}}
    )
    assert found.selection == Selection(repeats=2, limit=7)
    assert found.sampling.extra == {"n": 1}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"limti": 3}, "run has no setting 'limti'; did you mean: limit"),
        ({"max_connections": 0}, "max_connections: expected int >= 1, got 0"),
        ({"repeats": 0}, "repeats must be at least 1; got 0"),
        ({"headers": 5}, "headers: expected names with values, got int"),
        ({"log_dir": 5}, "log_dir: expected a path, got int"),
        ({"resume": False, "continue_": True}, "--fresh begins a new run and --continue"),
    ],
)
def test_what_no_run_can_be_asked_with_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        run_settings.collect_settings(None, None, None, None, keywords)
    assert str(refused.value).startswith(message)


def test_run_and_arun_have_one_signature() -> None:
    assert inspect.signature(tm.run) == inspect.signature(tm.arun)
    assert {*FlatSettings.__annotations__} <= {*inspect.signature(tm.arun).parameters}


def test_groups_and_keywords_make_the_same_request(tmp_path: Path) -> None:
    suite = mini.load(n=3)
    first = tm.run(
        suite, "control/null", selection=Selection(limit=2), storage=Storage(log_dir=str(tmp_path))
    )
    second = tm.run(suite, "control/null", limit=2, log_dir=tmp_path)
    assert second.info.plan == first.info.plan
    assert first.info.plan.limit == 2
