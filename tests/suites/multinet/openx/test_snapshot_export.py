"""The way from a snapshot's step to a row, and from rows to a file that is read back."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from PIL import Image

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet import loaded_rows, step_parquet
from toolmark.suites.multinet.openx import openx_rows, snapshot_export

PIXELS = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def step(**more: Any) -> dict[str, Any]:
    """An element as TensorFlow hands it over, of an arm."""
    return {
        "action": {
            "world_vector": np.array([[1.5], [2.5]], np.float32),
            "open_gripper": np.True_,
            "terminate": np.int32(1),
            "rotation": np.float64(0.1),
        },
        "observation": {
            "rgb": PIXELS[::-1],
            "image": PIXELS,
            "natural_language_instruction": b"go",
        },
        "reward": np.float32(0.5),
        "is_last": np.False_,
        **more,
    }


def test_float_members_are_sorted_flattened_and_named() -> None:
    row = snapshot_export.build_row(step(), "shard-00003", 7)
    assert row["action"] == [0.1, 1.5, 2.5]
    assert row["extras"] == '{"members":[["rotation",1],["world_vector",2]],"reward":0.5}'
    assert (row["id"], row["group"], row["step"]) == ("shard-00003-0007", "shard-00003", 7)
    assert (row["text"], row["answer"], row["is_last"]) == ("go", None, False)


def test_the_picture_is_the_first_that_counts_and_keeps_its_pixels() -> None:
    data = snapshot_export.build_row(step(), "g", 0)["image"]
    assert np.array_equal(np.array(Image.open(io.BytesIO(data))), PIXELS)
    seen = {"images": np.stack([PIXELS[::-1], PIXELS]), "raw_text_question": b"Q: is it?",
            "raw_text_answer": b"yes"}  # fmt: skip
    asked = snapshot_export.build_row({"observation": seen, "is_last": np.True_}, "g", 0)
    assert asked["image"] == data
    assert (asked["text"], asked["answer"], asked["action"]) == ("Q: is it?", "yes", None)
    assert asked["is_last"] is True


def test_an_instruction_of_numbers_is_read_up_to_its_filling() -> None:
    seen = {"instruction": np.array([*"schön".encode(), 0, 0], np.int32)}
    assert snapshot_export.build_row(step(observation=seen), "g", 0)["text"] == "schön"
    assert (
        snapshot_export.build_row(step(observation={}, language_instruction=b"x"), "g", 0)["text"]
        == "x"
    )


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"action": np.array([1, 2])}, "no float"),
        ({"action": {"x": np.array([1])}}, "no member"),
        ({"observation": b"x"}, "no members"),
        ({"observation": {"image": PIXELS[0]}}, "shape"),
        ({"observation": {"instruction": np.array([300])}}, "not bytes"),
        ({"language_instruction": b"\xff", "observation": {}}, "not UTF-8"),
    ],
)
def test_what_is_no_step_is_reported(more: dict[str, Any], why: str) -> None:
    with pytest.raises(DataError, match=f"g, step 3: .*{why}"):
        snapshot_export.build_row(step(**more), "g", 3)


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "test.parquet"
    written = [snapshot_export.build_row(step(), f"g{k // 70}", k % 70) for k in range(140)]
    assert snapshot_export.write_rows(iter(written), path) == 140
    assert [each.name for each in tmp_path.iterdir()] == ["test.parquet"]
    found = list(step_parquet.read_rows(path))
    assert [(row.id, row.step, row.action) for row in found] == [
        (row["id"], row["step"], tuple(row["action"])) for row in written
    ]
    assert json_codec.parse_json(found[99].extras)["reward"] == 0.5
    assert step_parquet.read_picture(path, 139) == written[139]["image"]
    assert list(step_parquet.read_rows(path, 60, 75)) == found[60:75]


def test_a_file_that_was_not_finished_is_not_left(tmp_path: Path) -> None:
    def broken() -> Any:
        yield snapshot_export.build_row(step(), "g", 0)
        raise DataError("torn")

    with pytest.raises(DataError, match="torn"):
        snapshot_export.write_rows(broken(), tmp_path / "test.parquet")
    assert not list(tmp_path.iterdir())


def test_shards_come_by_number(tmp_path: Path) -> None:
    home = tmp_path / "public"
    for k in (10, 2, 1):
        (home / f"translated_shard_{k}").mkdir(parents=True)
    names = [name for name, _ in snapshot_export.list_shards(home)]
    assert names == ["public-00001", "public-00002", "public-00010"]
    assert snapshot_export.list_shards(home / "translated_shard_2")[0][0] == "public-00002"
    with pytest.raises(UsageError, match="no translated_shard"):
        snapshot_export.list_shards(home / "translated_shard_2" / "x")
    odd = tmp_path / f"a\nb{'c' * 200}"
    (odd / "translated_shard_0").mkdir(parents=True)
    assert loaded_rows.is_valid_name(snapshot_export.list_shards(odd)[0][0])


def test_two_splits_that_were_exported_are_used_together(tmp_path: Path) -> None:
    """As documented: each snapshot to a file that is named for its split, all in one folder."""
    snapshots, out = tmp_path / "snapshots", tmp_path / "openx_bimanual"
    out.mkdir()
    for split, name, n in (("public", "test", 3), ("train", "train", 4)):
        for k in range(n):
            (snapshots / split / f"translated_shard_{k}").mkdir(parents=True)
        made = [snapshot_export.build_row(step(action=np.full(14, k + at, np.float32)), group, at)
                for k, (group, _) in enumerate(snapshot_export.list_shards(snapshots / split))
                for at in range(2)]  # fmt: skip
        snapshot_export.write_rows(made, out / f"{name}.parquet")
    test, train = (openx_rows.rows(out, morphology="bimanual", split=split, seed=0)
                   for split in get_args(openx_rows.Split)[::-1])  # fmt: skip
    assert (len(test), len(train)) == (6, 8)


def test_without_tensorflow_it_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "translated_shard_0").mkdir()
    # a module that is None is one that cannot be imported, whether or not it is installed
    code = (
        "import sys; sys.modules['tensorflow'] = None; "
        "from toolmark.suites.multinet.openx import snapshot_export; "
        f"sys.exit(snapshot_export.main([{str(tmp_path)!r}, {str(tmp_path / 'test.parquet')!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install tensorflow" in done.stderr
    assert not (tmp_path / "test.parquet").exists()
