"""RoboVQA's layout: a question is what follows `Q:`, and is asked once, with the last picture."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.multinet.published import layouts

from toolmark.core.errors import DataError
from toolmark.suites.multinet.openx import snapshot_export
from toolmark.suites.multinet.published import robovqa


def step(episode: int, at: int, text: str, answer: str = "yes", **more: Any) -> dict[str, Any]:
    return {
        "id": f"e{episode}-{at}", "group": f"e{episode}", "step": at,
        "image": layouts.png(10 * episode + at), "text": text, "answer": answer, "action": None,
        "is_last": at == 1, "extras": "{}", **more,
    }  # fmt: skip


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    assert snapshot_export.write_rows(rows, path) == len(rows)
    return path


ROWS = [
    step(0, 0, "Q: possible right now?"),
    step(0, 1, "Q: possible right now?"),
    step(1, 0, "put the cup away. Q: next step? Q: then?", "grasp the cup"),
    step(1, 1, "What is it?", "a cup"),
]


def test_a_question_is_asked_once_with_the_last_picture(tmp_path: Path) -> None:
    write(tmp_path / "openx_multi_embodiment/public/translated_shard_0/steps.parquet", ROWS)
    collected = layouts.travelled(robovqa.rows(tmp_path, split="test", seed=0))
    assert [(f.id, f.group, f.step, f.truth) for f in collected] == [
        ("e0-1", "e0", 0, "yes"), ("e1-0", "e1", 0, "grasp the cup"), ("e1-1", "e1", 1, "a cup"),
    ]  # fmt: skip
    assert [frame.fields for frame in collected] == [
        {"question": "possible right now?"},
        {"context": "put the cup away.", "question": "next step? Q: then?"},
        {"question": "What is it?"},
    ]
    kinds = [frame.slices["type"] for frame in collected]
    assert kinds == ["feasibility", "action", "action"] and collected.clustered
    shown = [collected.pictures(frame.id)[0].data for frame in collected]
    assert shown == [layouts.png(1), layouts.png(10), layouts.png(11)]
    assert list(collected.hashes) == ["translated_shard_0/steps.parquet"]


def test_order_hangs_on_no_file(tmp_path: Path) -> None:
    write(tmp_path / "a/x.parquet", ROWS)
    write(tmp_path / "b/1.parquet", ROWS[2:])
    write(tmp_path / "b/2.parquet", ROWS[:2])
    one, two = (list(robovqa.rows(tmp_path / n, split="test", seed=0)) for n in "ab")
    assert one == two


def test_files_named_for_a_split_are_of_that(tmp_path: Path) -> None:
    write(tmp_path / "a/test.parquet", ROWS[:2])
    write(tmp_path / "a/train.parquet", ROWS[2:])
    write(tmp_path / "b/train/x.parquet", ROWS[2:])
    write(tmp_path / "b/public/x.parquet", ROWS[:2])
    for home in (tmp_path / "a", tmp_path / "b"):
        sizes = [len(robovqa.rows(home, split=split, seed=0)) for split in ("test", "train")]
        assert sizes == [1, 2]


@given(st.text())
def test_every_word_of_a_question_is_asked(text: str) -> None:
    context, question = robovqa.split_question(text)
    assert "".join((context, question)).replace(" ", "") in text.replace("Q:", "", 1).replace(
        " ", ""
    )
    assert "Q:" not in context


def test_bad_rows_are_reported_at_once(tmp_path: Path) -> None:
    rows = [*ROWS, step(2, 0, " Q: "), step(3, 0, "Q: so?", " "), step(4, 0, "Q: so?", id="e0-1")]
    write(tmp_path / "x.parquet", rows)
    with pytest.raises(DataError) as reported:
        robovqa.rows(tmp_path, split="test", seed=0)
    for want in ("3 bad rows", "x.parquet row 4: no question", "x.parquet row 5: no answer",
                 "x.parquet row 6: id 'e0-1' stands there twice"):  # fmt: skip
        assert want in str(reported.value)


def test_steps_that_are_one_question_are_counted(tmp_path: Path) -> None:
    rows = [step(0, 0, "Q: so?", "yes"), step(0, 1, "Q: so?", "no"), step(0, 2, "Q: so?", "no"),
            step(1, 0, "Q: so?", "yes")]  # fmt: skip
    write(tmp_path / "x.parquet", rows)
    collected = robovqa.rows(tmp_path, split="test", seed=0)
    assert [frame.truth for frame in collected] == ["no", "yes"]
    assert collected.notes[0].endswith(
        "is taken: 2; of these, answered otherwise than the other: 1"
    )


@pytest.mark.parametrize("id", ["x" * 201, "a\0b", "a\nb"])
def test_names_that_cannot_be_any_are_refused(tmp_path: Path, id: str) -> None:
    for at in ("id", "group"):
        rows = [{**step(0, 0, "Q: so?"), at: id}, step(1, 0, "Q: so?")]
        write(tmp_path / "x.parquet", rows)
        with pytest.raises(DataError, match="rows whose id or group is empty, longer than 200"):
            robovqa.rows(tmp_path, split="test", seed=0)


def test_a_picture_that_lacks_is_reported_when_it_is_asked(tmp_path: Path) -> None:
    rows = [step(0, 0, "Q: so?", image=None), step(1, 0, "Q: so?", image=b"no picture")]
    write(tmp_path / "x.parquet", rows)
    collected = robovqa.rows(tmp_path, split="test", seed=0)
    with pytest.raises(DataError, match="e0-0: it has no picture"):
        collected.pictures("e0-0")
    with pytest.raises(DataError, match="e1-0"):
        collected.pictures("e1-0")


def test_snapshots_are_sent_to_the_export(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"openx\.snapshot_export SNAPSHOT"):
        robovqa.rows(tmp_path, split="test", seed=0)
    assert len(robovqa.rows(tmp_path, split="train", seed=0)) == 0
    real = write(tmp_path / "elsewhere/x.parquet", ROWS)
    (tmp_path / "set").mkdir()
    (tmp_path / "set/x.parquet").symlink_to(real)
    with pytest.raises(DataError, match=r"leads out of .*: refused"):
        robovqa.rows(tmp_path / "set", split="test", seed=0)


def test_a_question_that_many_rows_ask_is_stored_once(tmp_path: Path) -> None:
    text = "tidy up. Q: " + "done? " * 50
    write(tmp_path / "x.parquet", [step(k, 0, text) for k in range(2000)])
    found = list(robovqa.rows(tmp_path, split="test", seed=0))
    assert len(found) == 2000
    for name in ("question", "context"):
        assert len({id(frame.fields[name]) for frame in found}) == 1


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_file_is_reported_and_not_waited_for(tmp_path: Path, make: Any) -> None:
    write(tmp_path / "a.parquet", ROWS)
    make(tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet: not a file"):
        robovqa.rows(tmp_path, split="test", seed=0)
