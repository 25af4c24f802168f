"""PIQA's layout: labels are truths, bad rows are told, the sample is the published one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from tests import published_data
from tests.suites.multinet.published import layouts

from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.frame_records import Choice, Frame
from toolmark.suites.multinet.published import piqa


def ids(folder: Path, split: Any = "test", **options: Any) -> list[str]:
    return [frame.id for frame in piqa.rows(folder, split=split, seed=3, **options)]


def test_a_row_is_a_choice_of_its_two_solutions(tmp_path: Path) -> None:
    layouts.lines(tmp_path / "piqa/public/some.jsonl", layouts.piqa())
    collected = piqa.rows(tmp_path, split="test", seed=0)
    assert len(collected) == 12 == len(list(collected))
    assert list(collected)[1] == Frame(
        id="row-1", family="piqa", source="published", truth=1, group="row-1",
        space=Choice(options=("by 1", "not 1")), fields={"goal": "reach 1"},
    )  # fmt: skip
    assert collected.pictures("row-1") == () and list(collected.hashes) == ["some.jsonl"]
    assert list(layouts.travelled(collected)) == list(collected)
    with pytest.raises(DataError, match="no row 'row-99'"):
        collected.pictures("row-99")


@pytest.mark.parametrize("below", ["", "piqa", "piqa/public"])
def test_any_of_the_folders_may_be_named(tmp_path: Path, below: str) -> None:
    layouts.lines(tmp_path / "piqa/public/some.jsonl", layouts.piqa())
    assert len(ids(tmp_path / below)) == 12


def test_order_and_samples_hang_on_ids_alone(tmp_path: Path) -> None:
    rows = layouts.piqa(200)
    for name, collected in (("a", rows), ("b", rows[::-1]), ("c", rows[:100])):
        layouts.lines(tmp_path / name / "x.jsonl", collected)
    assert ids(tmp_path / "a") == ids(tmp_path / "b") == [f"row-{k}" for k in range(200)]
    drawn = ids(tmp_path / "a", sample="seeded")
    assert drawn == ids(tmp_path / "b", sample="seeded") and len(drawn) == 40
    assert len(ids(tmp_path / "c", sample="seeded")) == 20, "a fifth of whatever there is"
    rest = ids(tmp_path / "a", "train", sample="seeded")
    assert sorted(rest + drawn) == sorted(ids(tmp_path / "a"))


def test_rows_without_labels_are_no_rows_with_label_0(tmp_path: Path) -> None:
    rows = layouts.piqa(30)
    del rows[0]["label"]
    rows[1]["label"] = None
    rows[2]["label"] = 2
    rows[3]["label"] = "1"
    rows[4]["goal"] = " "
    rows[5]["id"] = "row-6"
    path = layouts.lines(tmp_path / "x.jsonl", rows)
    path.write_text(path.read_text() + "{broken\n")
    with pytest.raises(DataError) as reported:
        piqa.rows(tmp_path, split="test", seed=0)
    first, *listed = str(reported.value).splitlines()
    assert first == f"{path}: 7 bad rows:"
    # what cannot be read comes first
    wanted = [
        "line 4: label: expected int | null", "line 31: not JSON", "line 1: no label",
        "line 2: no label",
        "line 3: label 2", "line 5: no goal", "line 7: id 'row-6' stands in line 6",
    ]  # fmt: skip
    assert [line.strip()[: len(want)] for line, want in zip(listed, wanted, strict=True)] == wanted


def test_of_many_bad_rows_twenty_are_reported(tmp_path: Path) -> None:
    layouts.lines(tmp_path / "x.jsonl", [{"id": k} for k in range(50)])
    with pytest.raises(DataError, match=r"50 bad rows(?s:.*)and 30 more$") as reported:
        piqa.rows(tmp_path, split="test", seed=0)
    assert len(str(reported.value).splitlines()) == 22


def test_labels_next_to_the_file_are_read(tmp_path: Path) -> None:
    rows = layouts.piqa(4)
    for row in rows:
        del row["label"], row["id"]
    layouts.lines(tmp_path / "train.jsonl", rows)
    (tmp_path / "train-labels.lst").write_text("1\n1\n0\n1\n")
    collected = {f.fields["goal"]: f.truth for f in piqa.rows(tmp_path, split="test", seed=0)}
    assert collected == {"reach 0": 1, "reach 1": 1, "reach 2": 0, "reach 3": 1}
    (tmp_path / "train-labels.lst").write_text("1\n1\n0\n")
    with pytest.raises(DataError, match="3 labels for 4 rows"):
        piqa.rows(tmp_path, split="test", seed=0)
    (tmp_path / "train-labels.lst").write_text("1\nno\n0\n1\n")
    with pytest.raises(DataError, match="line 2: label -1"):
        piqa.rows(tmp_path, split="test", seed=0)


def test_the_published_sample_goes_by_position(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random.seed(42)  # as it was published
    assert piqa.published_positions(1000) == sorted(random.sample(range(1000), 200))
    assert len(piqa.published_positions(piqa.N_TRAIN)) == 3222
    monkeypatch.setattr(piqa, "N_TRAIN", 50)
    layouts.lines(tmp_path / "x.jsonl", layouts.piqa(50))
    assert ids(tmp_path) == [f"row-{k}" for k in piqa.published_positions(50)]
    assert len(ids(tmp_path, "train")) == 40 and not set(ids(tmp_path)) & set(
        ids(tmp_path, "train")
    )
    note = piqa.rows(tmp_path, split="test", seed=0).notes[0]
    assert "10 of 50 rows" in note and "are not those" in note
    assert len(ids(tmp_path, sample="all")) == 50 and ids(tmp_path, "train", sample="all") == []


def test_the_recorded_labels_are_known() -> None:
    recorded = published_data.read_json(published_data.MULTINET_PREDICTIONS)
    labels = recorded["piqa_gpt5"]["gt_labels"]
    assert piqa.are_published_labels(labels) and not piqa.are_published_labels(labels[::-1])


def test_a_folder_of_training_rows_is_the_training_split(tmp_path: Path) -> None:
    layouts.lines(tmp_path / "piqa/public/x.jsonl", layouts.piqa(4))
    layouts.lines(tmp_path / "piqa/train/x.jsonl", layouts.piqa(10)[4:])
    assert ids(tmp_path) == ["row-0", "row-1", "row-2", "row-3"]
    assert len(ids(tmp_path, "train")) == 6


def test_two_solutions_that_are_one_are_refused(tmp_path: Path) -> None:
    layouts.lines(tmp_path / "x.jsonl", [{**row, "sol2": row["sol1"]} for row in layouts.piqa(1)])
    with pytest.raises(DataError, match="line 1"):
        ids(tmp_path)


def test_what_is_not_the_layout_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such folder"):
        ids(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no data of multinet-piqa here; .* piqa/public/\*\.jsonl"):
        ids(tmp_path)
    layouts.lines(tmp_path / "a.jsonl", [])
    with pytest.raises(DataError, match="holds no row"):
        ids(tmp_path)
    layouts.lines(tmp_path / "b.jsonl", layouts.piqa(1))
    with pytest.raises(DataError, match=r"a\.jsonl, b\.jsonl"):
        ids(tmp_path)
    with pytest.raises(UsageError, match="no split 'validation'"):
        ids(tmp_path, "validation")
    with pytest.raises(UsageError, match="no sample 'seded'; did you mean: seeded"):
        ids(tmp_path, sample="seded")
    for name in ("public", "test"):
        layouts.lines(tmp_path / "two" / name / "x.jsonl", layouts.piqa(1))
    with pytest.raises(UsageError, match="both public and test"):
        ids(tmp_path / "two")


def test_a_file_elsewhere_is_not_read(tmp_path: Path) -> None:
    real = layouts.lines(tmp_path / "elsewhere/x.jsonl", layouts.piqa(2))
    (tmp_path / "set/public").mkdir(parents=True)
    (tmp_path / "set/public/x.jsonl").symlink_to(real)
    with pytest.raises(DataError, match=r"leads out of .*: refused"):
        ids(tmp_path / "set")
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole/public").symlink_to(real.parent)
    with pytest.raises(DataError, match=r"leads out of .*: refused"):
        ids(tmp_path / "whole")


@pytest.mark.parametrize(
    "line",
    [
        b"[" * 5000,
        b'{"goal": "\\ud800", "sol1": "a", "sol2": "b", "label": 0}',
        b"\xff\xfe",
        b"1" * 9000,
        b'{"goal": "g", "sol1": "a", "sol2": "b", "label": NaN}',
        b'{"goal": "g", "sol1": "a", "sol2": "b", "label": true}',
        b'{"goal": "g", "sol1": "a", "sol2": "b", "label": 1e400}',
    ],
)
def test_hostile_lines_are_bad_rows(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "x.jsonl").write_bytes(line + b"\n")
    with pytest.raises(DataError, match="1 bad row:\n  line 1: "):
        piqa.rows(tmp_path, split="test", seed=0)
