"""Published files are read with every fault named; a task without its picture is known as such."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests import published_data

from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Image, Text
from toolmark.suites.m3 import published_tasks

PNG = b"\x89PNG\r\n\x1a\n rest"


def entry(id: Any = "00010000", **more: Any) -> dict[str, Any]:
    call = {"name": "wiki/search", "arguments": {"query": "x"}}
    return {"id": id, "question": "Where?", "steps": [{"step": 1, "calls": [call]}], **more}


def write(folder: Path, collected: Any) -> Path:
    path = folder / "truths.json"
    path.write_text(collected if isinstance(collected, str) else json.dumps(collected))
    return path


def test_the_last_of_equal_ids_counts_and_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path, [entry(), entry("00020000"), entry(question="Whither?")])
    found, twice = published_tasks.read_task_entries(path)
    assert [(each.id, each.question) for each in found] == [
        ("00010000", "Whither?"), ("00020000", "Where?"),
    ]  # fmt: skip
    assert (
        published_tasks.duplicate_ids_note(twice, path)
        == f"{path}: the last entry of each id counts: 00010000 (2 times)"
    )
    assert published_tasks.duplicate_ids_note([], path) == ""


def test_an_object_by_id_is_read_as_a_list(tmp_path: Path) -> None:
    listed = published_tasks.read_task_entries(write(tmp_path, [entry()]))
    assert published_tasks.read_task_entries(write(tmp_path, {"00010000": entry()})) == listed
    bare = {key: value for key, value in entry().items() if key != "id"}
    assert published_tasks.read_task_entries(write(tmp_path, {"00010000": bare})) == listed


@pytest.mark.parametrize(
    ("collected", "reported"),
    [
        ("[", "line 1, column 2: not JSON, or cut short"),
        ('[{"id": "1",\n  "question": }]', "line 2, column 15: not JSON"),
        ("", "line 1, column 1: not JSON"),
        ("17", r"\$: expected a list of objects with id, question, steps"),
        ([{"id": "1"}], r"\$\[0\]: .*question"),
        ([entry(), entry(steps=[{"calls": [{}]}])], r"\[1\].steps\[0\].calls\[0\]: .*name"),
        ([entry(id=7)], r"\$\[0\].id: .*write it as a text"),
        ({"00010000": {**entry(), "steps": 7}}, r'\$\["00010000"\].steps: expected array'),
        ([entry(image="../x.png")], r"\$\[0\].image: '../x.png': .* inside its folder"),
        ([entry(image="/x.png")], r"\$\[0\].image: "),
        ('[{"id": "1", "question": "", "steps": [{"calls": [{"name": "a", "arguments": [NaN]}]}]}]',
         r"\$\[0\]: holds a number that is not finite"),
        ([entry(), {"id": "2"}, "text"], r"2 entries cannot be used:.*\$\[1\]: .*\$\[2\]: "),
        ("[" * 100_000, "too deep"),
        ([entry(more=json.loads("[" * 300 + "]" * 300))], r"\$\[0\]: nested deeper"),
    ],
)  # fmt: skip
def test_what_is_not_as_expected_is_named_with_its_place(
    tmp_path: Path, collected: Any, reported: str
) -> None:
    with pytest.raises(DataError, match=f"(?s)truths.json.*{reported}"):
        published_tasks.read_task_entries(write(tmp_path, collected))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        published_tasks.read_task_entries(tmp_path / "absent.json")
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(DataError, match="not a file"):
        published_tasks.read_task_entries(tmp_path / "pipe.json")


def test_a_task_has_its_picture_in_sight_and_on_file(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/a.png").write_bytes(PNG)
    store = MediaStore(tmp_path / "media")
    (read,), _ = published_tasks.read_task_entries(write(tmp_path, [entry(image="images/a.png")]))
    made = published_tasks.make_task(read, "Where?", tmp_path, store, similarity="exact")
    _, picture = made.turns[0].messages[0].parts
    assert isinstance(picture, Image) and store.read(picture) == PNG
    assert "/workspace/images/a.png" in made.turns[0].messages[0].text
    assert made.data["images"] == ("a.png",)
    assert made.data["servers"] == ("wiki",)
    assert (made.category, made.axes) == ("sights", {"hops": "single", "threads": "single"})
    (tmp_path / "images/a.png").unlink()
    absent = published_tasks.make_task(read, "Where?", tmp_path, store, similarity="exact")
    assert absent.data["missing"] == "images/a.png", "no folder: tasks are compared"
    assert absent.turns[0].messages[0].parts == (Text("Where?"),)


@pytest.mark.parametrize("name", ["../secret.png", "/etc/secret.png", "a/../../b.png"])
def test_a_picture_never_lies_outside_its_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="inside its folder"):
        published_tasks.load_picture(tmp_path / "images", name, MediaStore(tmp_path))


def test_the_published_files_are_read_whole(tmp_path: Path) -> None:
    truths, twice = published_tasks.read_task_entries(
        published_data.unpack(published_data.M3_TRUTHS, tmp_path)
    )
    assert len(truths) == 208
    assert sorted(twice) == ["00070008", "00230000", "00230005", "00230006", "00230008"]
    steps = [step for each in truths for step in each.steps]
    assert (len(steps), sum(len(step.calls) for step in steps)) == (648, 1355)
    assert len({call.name for step in steps for call in step.calls}) == 70
    tasks, again = published_tasks.read_task_entries(
        published_data.unpack(published_data.M3_TASKS, tmp_path)
    )
    assert (len(tasks), again) == (141, [])
    assert all(each.prompt and published_tasks.task_kind(each.id) for each in tasks)
