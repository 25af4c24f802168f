"""BFCL's conversations: what is told never hangs on the calls that the author had in mind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.multinet.published import layouts

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.official_bfcl import official_data
from toolmark.suites.multinet.loaded_rows import LoadedRows
from toolmark.suites.multinet.published import bfcl

Rows = list[dict[str, Any]]


def folder(home: Path, asked: Rows, reported: Rows) -> Path:
    layouts.lines(home / "bfcl_v3/public/questions.jsonl", asked)
    layouts.lines(home / "bfcl_v3/public/answers.jsonl", reported)
    return home


def read(home: Path | None, split: Any = "test", seed: int = 0, **options: Any) -> LoadedRows:
    return bfcl.rows(home, split=split, seed=seed, **options)


def test_turns_are_the_last_message_of_each(tmp_path: Path) -> None:
    collected = read(folder(tmp_path, *layouts.bfcl()))
    frame = list(collected)[3]
    assert len(collected) == 6 and frame.id == "multi_turn_base_3"
    assert frame.turns == ("Go to folder 3.", "Now list what is there.")
    assert frame.truth == (("cd(folder='3')",), ("ls(a=True)", "pwd()"))
    assert set(frame.fields) == {"initial_config", "classes", "functions"}
    assert frame.fields["classes"] == "GorillaFileSystem"
    docs = [json.loads(line) for line in frame.fields["functions"].splitlines()]
    assert {"cd", "ls", "pwd", "mv"} <= {doc["name"] for doc in docs}
    assert all(set(doc) == {"name", "description", "parameters"} for doc in docs)
    assert (
        list(layouts.travelled(collected)) == list(collected) and collected.pictures(frame.id) == ()
    )


@given(st.lists(st.one_of(st.none(), st.lists(st.text(), max_size=3)), min_size=6, max_size=6))
def test_nothing_shown_depends_on_the_path(
    tmp_path_factory: pytest.TempPathFactory, paths: list[Any]
) -> None:
    asked, reported = layouts.bfcl()
    home = tmp_path_factory.mktemp("paths")
    plain = list(read(folder(home, asked, reported)))
    for row, path in zip(asked, paths, strict=True):
        if path is None:
            row.pop("path")
        else:
            row["path"] = path
    assert list(read(folder(home, asked, reported))) == plain
    assert not any("Leak" in repr(frame) for frame in plain)


def test_no_official_path_is_shown() -> None:
    root = official_data.fetch_wheel() / "bfcl_eval/data"
    lines = (root / "BFCL_v4_multi_turn_base.json").read_text().splitlines()
    paths = {row["id"]: row["path"] for row in map(json.loads, lines)}
    frames = [*read(None, sample="all")]
    assert len(frames) == 200 == len(paths)
    for frame in frames:
        reported = "\n".join((*frame.fields.values(), *frame.turns))
        assert paths[frame.id] and not any(call in reported for call in paths[frame.id])
        order = [call.partition(".")[2] for call in paths[frame.id]]
        listed = [json.loads(line)["name"] for line in frame.fields["functions"].splitlines()]
        assert len(listed) > len(set(order))
        json_codec.encode_record(frame)


def test_a_fifth_of_the_official_rows_is_asked_by_id() -> None:
    everything = [frame.id for frame in read(None, sample="all")]
    assert everything == [f"multi_turn_base_{k}" for k in range(200)]
    parts = {split: [frame.id for frame in read(None, split, 7)] for split in ("test", "train")}
    assert sorted(parts["test"] + parts["train"]) == sorted(everything)
    other = [frame.id for frame in read(None, "test", 8)]
    assert other != parts["test"] and len(other) == len(parts["test"]) == 40
    assert "40 of 200 conversations" in read(None).notes[0]
    assert "160 are reserved to learn from" in read(None).notes[0]
    assert "release of V4" in read(None).notes[1]


def test_the_share_hangs_on_no_order(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl(40)
    drawn = {f.id for f in read(folder(tmp_path / "a", asked, reported), sample="seeded")}
    again = {f.id for f in read(folder(tmp_path / "b", asked[::-1], reported), sample="seeded")}
    assert drawn == again and len(drawn) == 8
    assert len(read(folder(tmp_path / "a", asked, reported))) == 40
    assert len(read(tmp_path / "a", "train")) == 0


def test_a_folder_of_training_rows_is_the_training_split(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl()
    folder(tmp_path, asked[:2], reported[:2])
    layouts.lines(tmp_path / "bfcl_v3/train/questions.jsonl", asked[2:])
    layouts.lines(tmp_path / "bfcl_v3/train/answers.jsonl", reported[2:])
    assert len(read(tmp_path)) == 2 and len(read(tmp_path, "train")) == 4


@pytest.mark.parametrize("odd", [10**30, -(10**30), "é\u2028", [[]], None])
def test_any_configuration_is_shown_as_it_is(tmp_path: Path, odd: Any) -> None:
    asked, reported = layouts.bfcl(1)
    asked[0]["initial_config"]["GorillaFileSystem"]["odd"] = odd
    (frame,) = read(folder(tmp_path, asked, reported))
    saved = json.loads(frame.fields["initial_config"])["GorillaFileSystem"]["odd"]
    assert saved == odd


def test_bad_entries_are_reported_at_once(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl(9)
    asked[1]["question"][1] = []
    asked[2]["involved_classes"] = ["NoSuchClass"]
    asked[3].pop("initial_config")
    asked[4]["id"] = asked[0]["id"]
    asked[5]["question"].append([{"role": "user", "content": "more"}])
    asked[6]["involved_classes"] = []
    reported[8]["ground_truth"][0] = ["not a call(("]
    reported.pop(7)
    with pytest.raises(DataError) as error:
        read(folder(tmp_path, asked, reported))
    for want in ("8 bad rows", "line 9: its answer holds what is not a call: 'not a call(('",
                 "line 7: no involved_classes", "line 2: a turn in which nothing is said",
                 "line 3: no docs for class 'NoSuchClass'", "line 4: missing field",
                 "line 5: id 'multi_turn_base_0' stands there twice",
                 "line 6: 3 turns, 2 answered", "has no answer"):  # fmt: skip
        assert want in str(error.value), want


def test_answers_are_checked_too(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl()
    with pytest.raises(DataError, match="'multi_turn_base_5'"):
        read(folder(tmp_path, asked[:-1], reported))
    with pytest.raises(DataError, match=r"answers.jsonl: 1 bad row:\n  line 7: id"):
        read(folder(tmp_path, asked, [*reported, reported[0]]))
    reported[0]["ground_truth"] = "eval('no')"
    with pytest.raises(DataError, match=r"1 bad row:\n  line 1: ground_truth: expected array"):
        read(folder(tmp_path, asked, reported))
    with pytest.raises(UsageError, match="no sample"):
        read(tmp_path, sample="some")
    with pytest.raises(UsageError, match="no split"):
        read(None, "dev")


def test_a_class_that_is_named_repeatedly_is_reported(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl(2)
    asked[1]["involved_classes"] *= 20_000
    with pytest.raises(DataError, match="1 bad row:\n  line 2: involved_classes names one twice"):
        read(folder(tmp_path, asked, reported))


def test_a_configuration_of_any_depth_is_shown_or_a_bad_row(tmp_path: Path) -> None:
    asked, reported = layouts.bfcl(1)
    path = folder(tmp_path, asked, reported) / "bfcl_v3/public/questions.jsonl"
    line = path.read_text()
    deep = [f"{'[' * depth}{']' * depth}" for depth in range(700, 1000)]
    n_reported = 0
    for inner in deep:  # the limit, of the reader or the writer, hangs on who calls
        path.write_text(line.replace('"initial_config": {', f'"initial_config": {{"a": {inner}, '))
        try:
            (frame,) = read(tmp_path)
            assert inner in frame.fields["initial_config"]
            n_reported += 1
        except DataError as error:
            assert "1 bad row:\n  line 1: " in str(error)
    assert n_reported
