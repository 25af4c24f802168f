"""What tasks store is what the record of their suite says, and a damaged task is named."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

import toolmark as tm
from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.function_graph import GraphTaskData
from toolmark.environments.mcp.mcp_task_data import McpTaskData, read_mcp_data
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData, MultiTurnTaskData
from toolmark.suites.m3 import published_tasks
from toolmark.suites.m3.m3_task_data import M3TaskData
from toolmark.suites.mfcl_speech.speech_task_data import SpeechTaskData
from toolmark.suites.mfcl_vision.item_records import ItemTruth
from toolmark.suites.multinet.frame_records import Truth

SYNTHETIC = {"data": "synthetic", "items": 20, "seed": 1}
RECORDS: dict[str, tuple[type[Struct], dict[str, Any]]] = {
    "bfcl simple": (BfclTaskData, {"category": "simple_python,parallel,live_multiple"}),
    "bfcl foreign": (BfclTaskData, {"category": "simple_java,simple_javascript"}),
    "bfcl turns": (MultiTurnTaskData, {"category": "multi_turn_base,multi_turn_miss_func"}),
    "bfcl web": (BfclTaskData, {"category": "web_search_base"}),
    "funcbench": (GraphTaskData, {"core": 3, "depth": 2, "graphs": 2, "seed": 1}),
    "m3-local": (M3TaskData, {"instances": 1, "seed": 1}),
    "mfcl-transcripts": (SpeechTaskData, {"items": 2, "seed": 1, "recognisers": "simulated:a"}),
    "mfcl-speech": (SpeechTaskData, {"items": 2, "seed": 1}),
    "mfcl-vision": (ItemTruth, {"items": 2, "seed": 1}),
    "multinet-bfcl": (Truth, {"items": 2}),
    **{f"multinet-{family}": (Truth, SYNTHETIC)
       for family in ("piqa", "sqa3d", "robovqa", "odinw", "openx", "overcooked")},
}  # fmt: skip
MOST = 400


def stored(name: str) -> Iterator[Task]:
    """Yield tasks of a suite that have data, as they are read from a file."""
    suite = tm.load(name.partition(" ")[0], **RECORDS[name][1])
    for task in islice(suite.tasks, MOST):
        if task.data is not None:
            yield json_codec.decode_record(json_codec.encode_record(task), Task)


@pytest.mark.parametrize("name", RECORDS)
def test_the_record_of_a_suite_describes_all_that_its_tasks_store(name: str) -> None:
    tasks = list(stored(name))
    assert tasks
    for task in tasks:
        again = json_codec.encode_record(read_task_data(task, RECORDS[name][0]))
        assert msgspec.json.decode(again) == task.data


@pytest.mark.parametrize("name", RECORDS)
def test_a_damaged_task_is_named(name: str) -> None:
    record, task = RECORDS[name][0], next(stored(name))
    for damaged in ([task.data], "text", {field: 1j for field in task.data}):
        with pytest.raises(DataError, match=f"^task {task.id}: data"):
            read_task_data(replace(task, data=damaged), record)


def test_a_field_that_a_task_lacks_is_named() -> None:
    task = next(stored("bfcl turns"))
    lacking = {name: value for name, value in task.data.items() if name != "classes"}
    with pytest.raises(DataError, match=f"^task {task.id}: data: missing field classes"):
        read_task_data(replace(task, data=lacking), MultiTurnTaskData)


def test_the_place_of_a_wrong_value_is_named() -> None:
    task = next(stored("funcbench"))
    damaged = {"graph": {**task.data["graph"], "known_values": {"x": "1"}}}
    with pytest.raises(DataError, match=r"data\.graph\.known_values\[.*\]: expected int, got str"):
        read_task_data(replace(task, data=damaged), GraphTaskData)


@pytest.mark.parametrize("has_picture", [True, False])
def test_published_tasks_of_m3_are_of_their_record(tmp_path: Path, has_picture: bool) -> None:
    call = published_tasks.ReferenceCall(name="wiki/find", arguments={"q": "a"})
    entry = published_tasks.TaskEntry(
        id="00010000",
        question="Where?",
        image="a.png",
        steps=(published_tasks.ReferenceStep(calls=(call,)),),
    )
    if has_picture:
        (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n picture")
    media = MediaStore(tmp_path / "media")
    made = published_tasks.make_task(entry, "Where?", tmp_path, media, similarity="exact")
    task = json_codec.decode_record(json_codec.encode_record(made), Task)
    data = read_task_data(task, M3TaskData)
    assert msgspec.json.decode(json_codec.encode_record(data)) == task.data
    assert bool(data.images) == has_picture == (not data.missing)


def test_a_task_without_data_is_read_as_an_empty_object() -> None:
    task = Task(id="t", suite="s", turns=())
    assert read_task_data(task, McpTaskData) == McpTaskData()
    with pytest.raises(DataError, match=r"^task t: "):
        read_task_data(task, BfclTaskData)


@pytest.mark.parametrize("data", [None, "the answer", 7, [1], {"goal": "x"}])
def test_servers_are_opened_for_tasks_that_store_anything(data: Any) -> None:
    assert read_mcp_data(Task(id="t", suite="s", turns=(), data=data)) == McpTaskData()
