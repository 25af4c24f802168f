"""ODinW's layout: classes are counted without their roof, and pictures stay in the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.suites.multinet.published import layouts

from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.frame_records import Choice
from toolmark.suites.multinet.loaded_rows import LoadedRows
from toolmark.suites.multinet.published import odinw


def read(folder: Path, split: Any = "test", **options: Any) -> LoadedRows:
    return odinw.rows(folder, split=split, seed=5, **options)


def test_the_truth_is_the_place_among_the_classes(tmp_path: Path) -> None:
    layouts.subset(tmp_path / "odinw/public/BCCD")
    layouts.subset(tmp_path / "odinw/public/dice", n=2)
    collected = read(tmp_path)
    assert [(frame.id, frame.truth) for frame in collected] == [
        ("BCCD/0", 0), ("BCCD/1", 1), ("BCCD/2", 2), ("BCCD/3", 0), ("dice/0", 0), ("dice/1", 1),
    ]  # fmt: skip
    assert {frame.space for frame in collected if frame.slices == {"subset": "BCCD"}} == {
        Choice(options=("kind 0", "kind 1", "kind 2"))
    }
    assert [frame.step for frame in collected] == [0, 1, 2, 3, 0, 1]
    assert all(frame.slices == {"subset": frame.id.partition("/")[0]} for frame in collected)
    assert not any(
        "photo" in repr(frame) for frame in collected
    )  # names of files may tell the truth
    again = layouts.travelled(collected)
    assert again.pictures("BCCD/3")[0].data == layouts.png(3)
    assert "22 of the 24 sub-sets are not here" in collected.notes[-1]
    assert len(collected.hashes) == 4


def test_there_are_24_published_subsets() -> None:
    assert len(odinw.n_classes_by_subset()) == 24
    assert (
        min(odinw.n_classes_by_subset().values()),
        max(odinw.n_classes_by_subset().values()),
    ) == (
        2,
        43,
    )


def test_order_hangs_on_ids_and_tests_come_first(tmp_path: Path) -> None:
    home = tmp_path / "BCCD"
    rows = layouts.subset(home, n=12)
    before = list(read(tmp_path))
    assert [frame.id for frame in before] == [f"BCCD/{k}" for k in range(12)]
    layouts.value(home / "object_caption_pairs.json", rows[::-1])
    assert list(read(tmp_path)) == before
    layouts.value(home / "test_object_caption_pairs.json", rows[:3])
    assert len(read(tmp_path)) == 3


def test_500_of_a_subset_are_drawn_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odinw, "MAX_SUBSET_ROWS", 10)
    home = tmp_path / "BCCD"
    rows = layouts.subset(home, n=30)
    drawn = [frame.id for frame in read(tmp_path)]
    assert len(drawn) == 10 and "BCCD: 10 of 30 rows" in read(tmp_path).notes[0]
    layouts.value(home / "object_caption_pairs.json", rows[::-1])
    assert [frame.id for frame in read(tmp_path)] == drawn
    other = [frame.id for frame in odinw.rows(tmp_path, split="test", seed=6)]
    assert other != drawn
    layouts.subset(tmp_path / "all/train/BCCD", n=30)
    layouts.subset(tmp_path / "all/public/BCCD", n=3)
    assert len(read(tmp_path / "all", "train")) == 30 and len(read(tmp_path / "all")) == 3


def test_published_subsets_have_their_classes_and_others_are_reported(tmp_path: Path) -> None:
    layouts.subset(tmp_path / "mine", classes=4)
    layouts.subset(tmp_path / "single", classes=1)
    collected = read(tmp_path)
    assert {frame.slices["subset"] for frame in collected} == {"mine"}
    assert collected.notes[0] == "ODinW: mine is none of the 24 published sub-sets"
    assert collected.notes[1] == "ODinW: single has a single class and is left out"
    layouts.subset(tmp_path / "plantdoc", classes=29)
    with pytest.raises(DataError, match=r"29.*plantdoc.*30"):
        read(tmp_path)
    assert len(read(tmp_path, subset="mine")) == 4
    with pytest.raises(UsageError, match=r"no sub-set 'mime'.*did you mean: mine"):
        read(tmp_path, subset=("mime",))


def test_a_file_of_one_category_twice_is_refused(tmp_path: Path) -> None:
    layouts.subset(tmp_path / "mine")
    path = tmp_path / "mine/categories.json"
    collected = json.loads(path.read_text())
    collected["categories"].append(collected["categories"][1])
    path.write_text(json.dumps(collected))
    with pytest.raises(DataError, match=path.name):
        read(tmp_path)


@pytest.mark.parametrize(
    "name", ["../../secret.jpg", "/etc/passwd", "", ".", "..", "a\0b", "link.jpg", "link/x.jpg"]
)
def test_crops_do_not_lead_out_of_the_folder(tmp_path: Path, name: str) -> None:
    home = tmp_path / "set/mine"
    rows = layouts.subset(home)
    secret = layouts.picture(tmp_path / "elsewhere/x.jpg")
    layouts.picture(tmp_path / "secret.jpg")
    (home / "bbox_images/link.jpg").symlink_to(secret)
    (home / "bbox_images/link").symlink_to(secret.parent)
    rows[2]["bbox_image"] = name
    layouts.value(home / "object_caption_pairs.json", rows)
    with pytest.raises(
        DataError, match=r"1 bad row:\n  row 3: bbox_image .* is not a file of this"
    ):
        read(tmp_path / "set")


def test_rows_of_one_photo_are_a_group(tmp_path: Path) -> None:
    rows = layouts.subset(tmp_path / "mine", n=6)
    for k, row in enumerate(rows):
        row["original_image"] = ("a.jpg", "b.jpg", "")[k % 3]
    layouts.value(tmp_path / "mine/object_caption_pairs.json", rows)
    collected = list(read(tmp_path))
    groups = [frame.group for frame in collected]
    assert groups[0] == groups[3] != groups[1] == groups[4]
    assert [groups[2], groups[5]] == ["mine/2", "mine/5"], "of an unknown photo each by itself"
    assert read(tmp_path).clustered and "a.jpg" not in repr(collected)
    twin = layouts.subset(tmp_path / "other", n=1)
    assert twin[0]["original_image"] == "photo.jpg"
    layouts.value(tmp_path / "mine/object_caption_pairs.json", [{**rows[0], **twin[0]}])
    assert len({frame.group for frame in read(tmp_path)}) == 2, "photos are of their sub-set"


@pytest.mark.parametrize("name", ["kind 1", " ", ""])
def test_classes_that_nobody_could_tell_apart_are_refused(tmp_path: Path, name: str) -> None:
    layouts.subset(tmp_path / "mine")
    path = tmp_path / "mine/categories.json"
    collected = json.loads(path.read_text())
    collected["categories"][3]["name"] = name
    path.write_text(json.dumps(collected))
    with pytest.raises(DataError, match=path.name):
        read(tmp_path)


def test_a_crop_has_one_truth(tmp_path: Path) -> None:
    rows = layouts.subset(tmp_path / "mine")
    rows[1]["bbox_image"] = rows[0]["bbox_image"]
    layouts.value(tmp_path / "mine/object_caption_pairs.json", rows)
    with pytest.raises(DataError, match=r"row 2: bbox_image .* is of another class"):
        read(tmp_path)


def test_bad_rows_are_reported_at_once(tmp_path: Path) -> None:
    rows = layouts.subset(tmp_path / "mine", n=6)
    rows[0]["category_id"] = 0  # the roof over the classes
    rows[1]["category_name"] = "kind 2"
    rows[2]["annotation_id"] = 5
    rows[3].pop("category_id")
    layouts.value(tmp_path / "mine/object_caption_pairs.json", rows)
    with pytest.raises(DataError) as reported:
        read(tmp_path)
    for want in ("4 bad rows", "row 1: category_id 0 is none", "row 2: category 'kind 2' is 'kind",
                 "row 4: missing field", "row 6: annotation_id 5 stands there twice"):  # fmt: skip
        assert want in str(reported.value)


def test_a_crop_that_lacks_is_reported_when_it_is_asked(tmp_path: Path) -> None:
    layouts.subset(tmp_path / "mine")
    (tmp_path / "mine/bbox_images/bbox_1_photo.jpg").unlink()
    (tmp_path / "mine/bbox_images/bbox_2_photo.jpg").write_bytes(layouts.png(9, "BMP"))
    (tmp_path / "mine/bbox_images/bbox_3_photo.jpg").write_bytes(layouts.png(9, "JPEG"))
    collected = read(tmp_path)
    with pytest.raises(DataError, match="cannot read: No such file"):
        collected.pictures("mine/1")
    assert collected.pictures("mine/2")[0].mime == "image/png"
    assert collected.pictures("mine/2")[0].data.startswith(b"\x89PNG")
    assert collected.pictures("mine/3")[0].mime == "image/jpeg"
    assert collected.pictures("mine/3")[0].data == layouts.png(9, "JPEG")


def test_without_its_files_there_is_no_subset(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no data of multinet-odinw here; .*categories\.json"):
        read(tmp_path)
    layouts.subset(tmp_path / "mine")
    (tmp_path / "mine/object_caption_pairs.json").unlink()
    with pytest.raises(DataError, match="cannot read"):
        read(tmp_path)
    assert len(read(tmp_path, "train")) == 0
