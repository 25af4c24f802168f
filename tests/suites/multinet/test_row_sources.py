"""Where rows come from: larger numbers keep the rows of smaller ones, and no place is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.suites.multinet.published import layouts

import toolmark as tm
from toolmark.core import user_modules
from toolmark.core.errors import DataError
from toolmark.runs import dataset_folder
from toolmark.suites.multinet import published_layout, row_sources
from toolmark.suites.multinet.frame_records import Frame
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.openx import snapshot_export


def test_a_larger_number_keeps_the_rows_of_a_smaller_one_and_their_guesses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_sources, "_POOL_SIZES", {"openx": 40, "overcooked": 40})
    for family in ("piqa", "odinw", "overcooked", "openx"):
        own: tuple[dict[str, str], ...] = ({},)
        options: dict[str, Any] = {}
        if family == "openx":
            own = ({"morphology": "wheeled"},)
        if family == "odinw":
            monkeypatch.setattr(row_sources, "_N_TRAIN_ROWS", 20)  # fewer than are asked at last
        before: dict[str, Frame] = {}
        for n in (5, 39, 40, 41, 79, 95):
            found = {
                f.id: f for f in row_sources.load_rows(family, "synthetic", 7, n, own, options)
            }
            assert len(found) == n
            assert {id: found.get(id) for id in before} == before, (family, n)
            before = found


@pytest.mark.parametrize("family", ["piqa", "sqa3d", "robovqa", "odinw"])
def test_a_named_split_learns_from_the_train_split_next_to_it(
    family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layouts.fill(tmp_path)
    names = user_modules.import_attribute(f"toolmark.suites.multinet.published.{family}:NAMES")
    (split,) = (path for name in names for path in tmp_path.glob(f"{name}/public"))
    if family == "robovqa":  # a file that is named for no split is of its folder's
        (split / "test.parquet").rename(split / "steps.parquet")
    shutil.copytree(split, split.with_name("train"))
    read = user_modules.import_attribute(f"toolmark.suites.multinet.published.{family}:rows")
    n = len(read(split, split="test", seed=0))
    assert (
        n == len(read(split, split="train", seed=0)) == len(read(tmp_path, split="train", seed=0))
    )
    monkeypatch.chdir(split)
    assert len(read(Path(), split="train", seed=0)) == n
    with pytest.raises(DataError):
        row_sources.load_rows(family, str(split), 0, "all", ({},), {})
    shutil.move(split, tmp_path / "mine")  # which nobody calls a split
    assert not len(read(tmp_path / "mine", split="train", seed=0))


def test_a_run_of_a_split_says_where_its_training_split_is(tmp_path: Path) -> None:
    layouts.lines(tmp_path / "piqa/public/x.jsonl", layouts.piqa(4))
    layouts.lines(tmp_path / "piqa/train/x.jsonl", layouts.piqa(10)[4:])
    inner = tm.load("multinet-piqa", data=str(tmp_path / "piqa/public"))
    assert published_layout.SIBLING_TRAIN_NOTE in inner.provenance.notes
    assert {name.partition("/")[0] for name in inner.provenance.hashes} == {
        "x.jsonl",
        "train",
        "items",
    }
    for place in (tmp_path, tmp_path / "piqa"):
        assert (
            published_layout.SIBLING_TRAIN_NOTE
            not in tm.load("multinet-piqa", data=str(place)).provenance.notes
        )


def test_a_made_set_says_nothing_of_where_its_data_lay(tmp_path: Path) -> None:
    layouts.fill(tmp_path / "here")
    home = tmp_path / "here/odinw/public/BCCD"
    (home / "bbox_images/bbox_0_photo.jpg").unlink()
    rows = [{"id": f"e{k}-{n}", "group": f"e{k}", "step": n, "text": "go", "answer": None,
             "image": layouts.png() if n else None, "action": [0.0, 1.0], "is_last": n == 1,
             "extras": "{}"}
            for k in range(4) for n in range(2)]  # fmt: skip
    robot = tmp_path / "here/robot"
    robot.mkdir()
    snapshot_export.write_rows(rows, robot / "test.parquet")
    (tmp_path / "here/sqa3d/public/scans/scene0001_00_above.png").unlink()
    for k, (name, options) in enumerate(
        (("openx", {"data": str(robot), "morphology": "own"}), ("odinw", {}), ("sqa3d", {}))
    ):
        suite = tm.load(f"multinet-{name}", **{"data": str(tmp_path / "here"), **options})
        out = tmp_path / f"set{k}"
        dataset_folder.write_dataset(out, suite, suite.maker.make(suite))
        reported = "".join(path.read_text() for path in out.glob("*.*"))
        assert '"failed":"' in reported and str(tmp_path) not in reported
        assert (name != "openx") or "test.parquet: row 0: step 0 of e0 has no picture" in reported
