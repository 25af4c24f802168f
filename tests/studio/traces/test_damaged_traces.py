"""Whatever stands in a record, it is read, named, or left out with a reason."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmark.core import json_codec
from toolmark.studio.traces import trace_import
from toolmark.studio.traces.trace_faults import TraceFaults
from toolmark.studio.traces.trace_import import ImportSettings

DATA = Path(__file__).parents[2] / "data" / "traces"
GOOD = {
    "messages": [
        {"role": "user", "content": "good"},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
    ],
    "tools": [{"name": "f"}],
}
RECORDS = [
    json.loads(line)
    for file in sorted(DATA.glob("*.jsonl"))
    for line in file.read_text().splitlines()
] + [json.loads((DATA / "spans.json").read_text())]
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
    | st.sampled_from(["", "[", "{}", "[]", "[5]", '{"a": NaN}', "\ud83d", "\ufdd0d83d", "tool",
                       "tool_call", "assistant", "call_a", "\u2028"])
)  # fmt: skip
DAMAGE = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values below a value; JSON inside text is entered, too."""
    if path:
        yield path
    value = parsed(value)
    items = value.items() if isinstance(value, dict) else ()
    for name, each in enumerate(value) if isinstance(value, list) else items:
        yield from places(each, (*path, name))


def parsed(value: Any) -> Any:
    if not (isinstance(value, str) and value[:1] in ("{", "[")):
        return value
    return json.loads(value)


def with_damage(value: Any, path: tuple[Any, ...], damage: Any) -> Any:
    """Return a value in which what is at a path is replaced; _DROP removes it."""
    if not path:
        return damage
    inner = parsed(value)
    copy = dict(inner) if isinstance(inner, dict) else list(inner)
    changed = with_damage(copy[path[0]], path[1:], damage)
    if changed is _DROP:
        del copy[path[0]]
    else:
        copy[path[0]] = changed
    return json.dumps(copy) if isinstance(value, str) else copy


_DROP = object()
PLACES = [list(places(record)) for record in RECORDS]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(data=st.data())
def test_a_damaged_record_harms_no_other(tmp_path: Path, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(RECORDS) - 1))
    damaged = RECORDS[n]
    for path in data.draw(st.lists(st.sampled_from(PLACES[n]), min_size=1, max_size=2)):
        damage = data.draw(DAMAGE | st.just(_DROP))
        try:
            damaged = with_damage(damaged, path, damage)
        except (KeyError, IndexError, TypeError, ValueError):  # it is no longer there
            continue
    file, output = tmp_path / "x.jsonl", tmp_path / "rows.jsonl"
    file.write_text(f"{json.dumps(damaged)}\n{json.dumps(GOOD)}\n")
    faults = TraceFaults()
    found = trace_import.import_traces(
        [file], output, ImportSettings(with_silence=True, redact_emails=True), faults
    )
    with output.open() as lines:
        rows = [json_codec.parse_json(line) for line in lines]
    assert any(row["messages"][0]["content"] == "good" for row in rows)
    assert len(rows) == found.n_rows
    assert all("\n" not in line and line.startswith("x.jsonl") for line in faults.lines)
    for row in rows:
        names = {tool["function"]["name"] for tool in row["tools"]}
        assert {call["name"] for call in row["expected"]} <= names
        assert row["messages"][-1]["role"] in ("user", "tool")


@pytest.mark.parametrize("file", [path.name for path in sorted(DATA.iterdir())])
def test_a_file_that_is_cut_anywhere_never_fails_otherwise(tmp_path: Path, file: str) -> None:
    content = (DATA / file).read_bytes()
    good = json.dumps(GOOD).encode() + b"\n"
    (tmp_path / "good.jsonl").write_bytes(good)
    for end in range(1, len(content), max(1, len(content) // 60)):
        (tmp_path / "x").write_bytes(content[:end])
        found = trace_import.import_traces(
            [tmp_path / "x", tmp_path / "good.jsonl"], tmp_path / "rows.jsonl",
            ImportSettings(), TraceFaults(),
        )  # fmt: skip
        assert found.n_rows >= 1
