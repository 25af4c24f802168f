"""The values of a file are found however it is cut into blocks, and nothing is read twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolmark.studio.traces import json_documents
from toolmark.studio.traces.trace_faults import TraceFaults

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["spans", "a", '"', "\\", "[{"]) | st.text(), inner, max_size=4
        )
    ),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(), VALUES, min_size=1, max_size=4)


def read(path: Path, data: bytes) -> tuple[list[Any], list[str]]:
    path.write_bytes(data)
    faults = TraceFaults()
    found = [document.value for document in json_documents.read_documents(path, faults)]
    return found, faults.lines


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(objects=st.lists(OBJECTS, min_size=1, max_size=5), indent=st.sampled_from([None, 2]))
def test_values_come_back(tmp_path: Path, objects: list[Any], indent: int | None) -> None:
    texts = [json.dumps(each, indent=indent) for each in objects]
    assert read(tmp_path / "x", "\n".join(texts).encode()) == (objects, [])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    spans=st.lists(OBJECTS, min_size=8, max_size=20),
    other=VALUES,
    block=st.integers(2, 40),
)
def test_spans_of_a_large_object_come_back(
    tmp_path: Path, spans: list[Any], other: Any, block: int
) -> None:
    value = {"other": {"x": other}, "resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    expected = [*_spans_inside(other), *spans]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_documents, "_BLOCK_BYTES", block)
        patched.setattr(json_documents, "MAX_VALUE_BYTES", len(data) - 1)
        found, faults = read(tmp_path / "x", data)
    assert (found, faults) == (expected, [])


def _spans_inside(value: Any) -> list[Any]:
    """Return the objects in arrays named `spans`, as the reader finds them: the outermost ones."""
    if isinstance(value, list):
        return [each for inner in value for each in _spans_inside(inner)]
    if not isinstance(value, dict):
        return []
    found: list[Any] = []
    for name, each in value.items():
        if name == "spans" and isinstance(each, list):
            for inner in each:
                found += [inner] if isinstance(inner, dict) else _spans_inside(inner)
        else:
            found += _spans_inside(each)
    return found


def test_a_record_beyond_the_limit_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_documents, "MAX_VALUE_BYTES", 100)
    spans = [{"n": 1}, {"n": "x" * 200}, {"n": 2}]
    found, faults = read(tmp_path / "x", json.dumps({"spans": spans}).encode())
    assert found == [{"n": 1}, {"n": 2}] and len(faults) == 1
    found, faults = read(tmp_path / "x", json.dumps({"messages": "x" * 200}).encode())
    assert found == [] and len(faults) == 1


def test_values_after_a_large_line_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_documents, "MAX_VALUE_BYTES", 100)
    lines = [{"a": 1}, {"spans": [{"n": "x" * 60}, {"n": "y" * 60}]}, {"a": 2}]
    data = "".join(json.dumps(line) + "\n" for line in lines).encode()
    found, faults = read(tmp_path / "x", data)
    assert [sorted(value) for value in found] == [["a"], ["n"], ["n"], ["a"]] and faults == []


@pytest.mark.parametrize("data", [b"[" * 10_000, b'{"a":\n [' * 5000, b'"' + b"\\" * 5001])
def test_nesting_without_end_is_one_line(tmp_path: Path, data: bytes) -> None:
    found, faults = read(tmp_path / "x", data)
    assert found == [] and len(faults) == 1
