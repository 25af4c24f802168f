"""SQA3D's layout: joined by id, the first answer is the truth, a picture that lacks is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.suites.multinet.published import layouts

from toolmark.core.errors import DataError
from toolmark.suites.multinet.loaded_rows import LoadedRows
from toolmark.suites.multinet.published import sqa3d


def read(folder: Path, split: Any = "test") -> LoadedRows:
    return sqa3d.rows(folder, split=split, seed=0)


def edit(path: Path, change: Any) -> None:
    collected = json.loads(path.read_text())
    change(next(iter(collected.values())))
    path.write_text(json.dumps(collected))


def test_rows_are_joined_by_id_and_grouped_by_scene(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)
    edit(home / "v1_balanced_sqa_annotations_test_scannetv2.json", list.reverse)
    collected = read(tmp_path)
    assert [frame.truth for frame in collected] == [f"answer {k}" for k in (0, 2, 4, 1, 3)]
    assert [frame.group for frame in collected] == ["scene0000_00"] * 3 + ["scene0001_00"] * 2
    assert [frame.step for frame in collected] == [0, 1, 2, 0, 1] and collected.clustered
    assert [frame.slices["type"] for frame in collected] == ["what", "how", "other", "is", "can"]
    first = next(iter(collected))
    assert first.fields == {"situation": "I stand at 0.", "question": "What is left of me?"}
    assert "SECRET" not in repr(list(collected))
    again = layouts.travelled(collected)
    for frame, colour in zip(again, (100, 100, 100, 200, 200), strict=True):
        assert [p.data for p in again.pictures(frame.id)] == [layouts.png(colour)]
        assert again.pictures(frame.id)[0].mime == "image/png"


def test_types_are_what_the_data_say_else_the_first_word() -> None:
    assert sqa3d.question_type("Which door is open?", "Where") == "where"
    said = ("Which door?", "what's up?", "What, now?", "", "Is it?", "how?")
    assert [sqa3d.question_type(x, "N/A") for x in said] == [
        "which",
        "other",
        "what",
        "other",
        "is",
        "how",
    ]


def test_scenes_are_named_by_their_pictures() -> None:
    names = ("scene0015_00_vh_clean_2_top_down.png", "scene0015_00.png", "scene0015_00_x_y.png")
    assert {sqa3d.scene_id_of_picture(name) for name in names} == {"scene0015_00"}
    assert sqa3d.scene_id_of_picture("room.png") == "room"


def test_a_question_without_its_picture_is_reported_when_it_is_asked(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)
    (home / "scans/scene0001_00_above.png").unlink()
    collected = read(tmp_path)
    assert len(collected) == 5
    with pytest.raises(DataError, match="220602000001"):
        collected.pictures("220602000001")
    (home / "scans/scene0001_00_above.png").symlink_to(layouts.picture(tmp_path / "secret.png"))
    collected = sqa3d.rows(home, split="test", seed=0)
    with pytest.raises(DataError, match="no PNG of its scene"):
        collected.pictures("220602000001")
    for data in (b"", b"no picture", layouts.png()[:40]):
        (home / "scans/scene0001_00_other.png").write_bytes(data)
        with pytest.raises(DataError, match="220602000001: "):
            read(tmp_path).pictures("220602000001")


def test_of_two_pictures_of_a_scene_the_first_by_name_is_shown(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)
    layouts.picture(home / "a" / "scene0000_00.png", 7)
    collected = read(tmp_path)
    assert collected.pictures("220602000000")[0].data == layouts.png(7)
    assert "comes first by name: 1" in collected.notes[0]


def test_bad_entries_are_reported_at_once(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)

    def questions(rows: list[Any]) -> None:
        rows[0].pop("question")
        rows[1]["question"] = " "
        rows.append(rows[2])
        rows.append(dict(rows[2], question_id=5))

    def answers(rows: list[Any]) -> None:
        rows[2]["answers"] = []
        rows[3]["answers"][0]["answer"] = ""
        rows[4]["answers"] = [{"answer": 4}]

    edit(home / "v1_balanced_questions_test_scannetv2.json", questions)
    edit(home / "v1_balanced_sqa_annotations_test_scannetv2.json", answers)
    with pytest.raises(DataError) as reported:
        read(tmp_path)
    first, *listed = str(reported.value).splitlines()
    assert first.endswith("8 bad rows:")
    for want in ("question 1: missing field question", "question 2: no question",
                 "question 3: question_id 220602000002 has no answer",
                 "question 4: question_id 220602000003 has no answer",
                 "question 5: question_id 220602000004 has no annotation",
                 "question 6: question_id 220602000002 is that of question 3 too",
                 "question 7: question_id 5 has no annotation",
                 "annotation 5: "):  # fmt: skip
        assert any(line.strip().startswith(want) for line in listed), (want, listed)


def test_own_folder_of_sqa3d_holds_all_splits(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)
    assert (
        len(read(tmp_path, "train")) == 0 and "no split train" in read(tmp_path, "train").notes[0]
    )
    for name in ("questions", "sqa_annotations"):
        collected = (home / f"v1_balanced_{name}_test_scannetv2.json").read_text()
        collected = collected.replace("2206020000", "3306020000")
        (home / f"v1_balanced_{name}_train_scannetv2.json").write_text(collected)
    test, train = read(tmp_path), read(tmp_path, "train")
    assert {f.id[:2] for f in test} == {"22"} and {f.id[:2] for f in train} == {"33"}
    assert len(train) == len(test) == 5


def test_annotations_without_questions_are_counted(tmp_path: Path) -> None:
    home = layouts.sqa3d(tmp_path)
    edit(home / "v1_balanced_questions_test_scannetv2.json", lambda rows: rows.pop())
    assert read(tmp_path).notes == ("SQA3D: annotations without a question, not read: 1",)
    (home / "v1_balanced_questions_test_scannetv2.json").write_text('{"questions": {}}')
    with pytest.raises(DataError, match="questions: expected array"):
        read(tmp_path)
    (home / "v1_balanced_questions_test_scannetv2.json").unlink()
    with pytest.raises(DataError, match=r"public: no data of multinet-sqa3d here; .*annotation"):
        read(tmp_path)
