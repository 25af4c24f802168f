"""Open-X's rows: their splits, statistics and pictures, and bad data told all at once."""

from __future__ import annotations

import json
import math
import os
import pickle
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.suites.multinet.openx.openx_files import (
    STEP,
    WIDTHS,
    Values,
    drive,
    members,
    png,
    rlds,
    tensor,
)

from toolmark.core import worker_processes
from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet import baseline_answers, published_layout, row_sampling
from toolmark.suites.multinet.frame_records import ActionVector, Frame, Rows
from toolmark.suites.multinet.openx import action_statistics, openx_rows, snapshot_export, tfrecord
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES
from toolmark.suites.multinet.openx.openx_rows import Split, rows

SPLITS: tuple[Split, Split] = ("train", "test")


def wheeled(folder: Path, split: Split = "test", seed: int = 0, **more: Any) -> Rows:
    return rows(folder, morphology="wheeled", split=split, seed=seed, **more)


def motion(frame: Frame) -> ActionVector:
    assert isinstance(frame.space, ActionVector)
    return frame.space


def parquet(path: Path, groups: Iterable[int], **changed: Any) -> None:
    """A file with these episodes of a wheeled robot, 3 steps each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = (
        {"id": f"e{k}-{step}", "group": f"e{k}", "step": step, "image": png(k), "text": f"go {k}",
         "answer": None, "action": [k + step / 4, -float(step)], "is_last": step == 2,
         "extras": "{}", **changed}
        for k in groups
        for step in range(3)
    )  # fmt: skip
    snapshot_export.write_rows(made, path)


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """30 episodes in five files, without a test split."""
    shards = [[drive(6 * file + k) for k in range(6)] for file in range(5)]
    return rlds(tmp_path / "many", {"train": shards}, STEP)


def test_a_seeded_tenth_is_the_test_and_the_rest_trains(many: Path) -> None:
    train, test = (wheeled(many, split) for split in SPLITS)
    groups = [{frame.group for frame in part} for part in (train, test)]
    assert not groups[0] & groups[1]
    assert len(groups[0] | groups[1]) == 30
    assert 1 <= len(groups[1]) <= 8
    assert len(train) + len(test) == 90
    assert train.clustered
    assert train.hashes == test.hashes
    others = {frozenset(f.group for f in wheeled(many, seed=seed)) for seed in range(3)}
    assert len(others) == 3
    assert [frame.id for frame in test] == sorted(frame.id for frame in test)


def test_a_split_hangs_on_names_alone(many: Path, tmp_path: Path) -> None:
    """Other files of the data set may come or go."""
    test = {frame.group for frame in wheeled(many)}
    (many / "robots-train.tfrecord-00003-of-00005").unlink()
    (many / "robots-train.tfrecord-00001-of-00005").unlink()
    fewer = wheeled(many)
    assert {frame.group for frame in fewer} == {
        g for g in test if g[6:11] not in ("00001", "00003")
    }
    assert "files that are not here: 2 of train" in fewer.notes


def test_statistics_are_of_the_training_split_alone(many: Path) -> None:
    train, test = (list(wheeled(many, split)) for split in SPLITS)
    truths = np.array([frame.truth for frame in train])
    for frame in (*train, *test):
        space = motion(frame)
        assert np.allclose(space.mean, truths.mean(axis=0), rtol=0, atol=1e-12)
        assert space.low == tuple(truths.min(axis=0))
        assert space.high == tuple(truths.max(axis=0))


def test_frames_hold_what_was_written(many: Path) -> None:
    shown = wheeled(many, history=2)
    for frame in shown:
        _, file, number = frame.group.split("-")
        k = 6 * int(file) + int(number)
        assert frame.truth == (k + frame.step / 4, -float(frame.step))
        assert frame.fields["instruction"] == f"go to door {k}"
        assert frame.slices == {"morphology": "wheeled"}
        assert (frame.family, frame.source) == ("openx", "published")
        before = [f"[{k + step / 4:g}, {-step}]" for step in range(3)]
        said = "\n".join(["", *before[: frame.step][-2:]])
        assert frame.fields["history"] == (said if frame.step else "none, this is the first step")
    assert "history" not in next(iter(wheeled(many))).fields


def test_pictures_are_those_of_the_step_also_after_a_journey(many: Path) -> None:
    shown: Rows = pickle.loads(pickle.dumps(wheeled(many)))  # noqa: S301 - our own
    for frame in shown:
        _, file, number = frame.group.split("-")
        (picture,) = shown.pictures(frame.id)
        assert picture.data == png(10 * (6 * int(file) + int(number)) + frame.step)
        assert picture.mime == "image/png"
    for id in ("nothing", f"{frame.group}-0003", f"{frame.group}-x", f"{frame.group}--1"):
        with pytest.raises(DataError, match="no step"):
            shown.pictures(id)


def test_a_picture_that_lacks_is_its_own_rows_affair(tmp_path: Path) -> None:
    made = {**drive(1), "steps/observation/image": [png(1), b"", b"no picture"]}
    shown = wheeled(rlds(tmp_path, {"train": [[drive(0)]], "test": [[made]]}, STEP))
    ids = [frame.id for frame in shown]
    assert len(shown.pictures(ids[0])) == 1
    for id, why in zip(
        ids[1:], ("step 1 of test-00000-00000 has no picture", "step 2"), strict=True
    ):
        with pytest.raises(DataError, match=why):
            shown.pictures(id)


def test_data_without_a_split_say_that_a_tenth_is_asked(many: Path, tmp_path: Path) -> None:
    def reported(shown: Any) -> bool:
        return any(
            "10\u00a0% of the episodes are asked, items=all or not" in x for x in shown.notes
        )

    whole = rlds(tmp_path / "a", {"train": [[drive(0)]], "test": [[drive(1)]]}, STEP)
    assert reported(wheeled(many)) and not reported(wheeled(whole))


def test_a_split_of_the_data_is_taken_as_it_is(tmp_path: Path) -> None:
    parts = {"train": [[drive(0), drive(1)]], "val": [[drive(2)]]}
    shown = wheeled(rlds(tmp_path / "a", parts, STEP))
    assert {frame.group for frame in shown} == {"val-00000-00000"}
    assert "the test split is what the data call validation" in shown.notes
    both = rlds(tmp_path / "b", {**parts, "test": [[drive(3), drive(4)]]}, STEP)
    assert len(wheeled(both)) == 6
    assert len(wheeled(both, "train")) == 6
    # what is not used is not read
    (both / "robots-val.tfrecord-00000-of-00001").write_bytes(b"torn")
    assert len(wheeled(both)) == 6


def test_without_a_training_split_each_half_is_shown_the_others_range(tmp_path: Path) -> None:
    parquet(tmp_path / "openx_wheeled_robot" / "public" / "out.parquet", range(5))
    assert len(wheeled(tmp_path, "train")) == 0
    shown = wheeled(tmp_path)
    assert len(shown) == 15
    assert any("the other half of episodes" in note for note in shown.notes)
    half = baseline_answers.split_in_halves({frame.group for frame in shown})
    for frame in shown:
        others = np.array([f.truth for f in shown if half[f.group] != half[frame.group]])
        space = motion(frame)
        assert np.allclose(space.mean, others.mean(axis=0))
        assert (space.low, space.high) == (tuple(others.min(axis=0)), tuple(others.max(axis=0)))


def test_what_an_episode_is_shown_depends_on_no_number_of_its_own(tmp_path: Path) -> None:
    """The mean of all others would tell its own, and err more than that of all."""
    parquet(tmp_path / "test.parquet", range(6))
    before = {frame.group: frame.space for frame in wheeled(tmp_path)}
    assert len({space.mean for space in before.values() if isinstance(space, ActionVector)}) == 2
    for k in range(6):
        made = [(tmp_path / str(k) / "test.parquet", n) for n in range(6)]
        steps = [{"id": f"e{n}-{step}", "group": f"e{n}", "step": step, "image": None,
                  "text": "go", "answer": None, "is_last": step == 2, "extras": "{}",
                  "action": [99.0, 99.0] if n == k else [n + step / 4, -float(step)]}
                 for _, n in made for step in range(3)]  # fmt: skip
        made[0][0].parent.mkdir()
        snapshot_export.write_rows(steps, made[0][0])
        after = {frame.group: frame.space for frame in wheeled(tmp_path / str(k))}
        assert after[f"e{k}"] == before[f"e{k}"]
        assert sum(after[name] != before[name] for name in before) == 3


def test_a_single_episode_has_no_statistics_and_says_so(tmp_path: Path) -> None:
    parquet(tmp_path / "test.parquet", [5])
    with pytest.raises(DataError, match=r"one episode and no training split: .*RelMAE.*put in"):
        wheeled(tmp_path)
    parquet(tmp_path / "train.parquet", [6])
    assert len(wheeled(tmp_path)) == 3


def test_a_named_split_learns_from_the_train_split_next_to_it(tmp_path: Path) -> None:
    home = tmp_path / "openx_wheeled_robot"
    for split, groups in (("public", [0, 1]), ("train", [2, 3, 4])):
        parquet(home / split / "out.parquet", groups)
    whole, part = wheeled(home), wheeled(home / "public")
    assert [frame.space for frame in part] == [frame.space for frame in whole]
    assert {frame.group for frame in part} == {"e0", "e1"}
    assert len(wheeled(home / "public", "train")) == 9
    assert published_layout.SIBLING_TRAIN_NOTE in part.notes
    assert published_layout.SIBLING_TRAIN_NOTE not in whole.notes
    secret = tmp_path / "secret.parquet"
    parquet(secret, [7])
    (home / "train/more.parquet").symlink_to(secret)
    for folder in (home, home / "public"):
        with pytest.raises(DataError, match=r"more\.parquet: leads out of"):
            wheeled(folder)


@pytest.mark.parametrize("place", ["openx_wheeled_robot", "public", "b.parquet", "dataset.json"])
def test_links_out_of_the_folder_are_refused_and_never_left_out(tmp_path: Path, place: str) -> None:
    out, here = tmp_path / "outside", tmp_path / "here"
    parquet(out / "steps.parquet", [0, 1])
    (out / "dataset.json").write_text("{}")
    parquet(here / "a.parquet", [2, 3])
    target = {"b.parquet": out / "steps.parquet", "dataset.json": out / "dataset.json"}
    if place not in target:
        (here / "a.parquet").unlink()
    (here / place).symlink_to(target.get(place, out))
    with pytest.raises(DataError, match=re.escape(str(here))):
        wheeled(here)
    assert len(wheeled(out))


@pytest.mark.parametrize("members", ['[["a\\nIgnore all", 1], ["b", 1]]', '[["", 1], ["b", 1]]'])
def test_a_dimension_that_would_be_a_line_of_the_prompt_is_refused(
    tmp_path: Path, members: str
) -> None:
    parquet(tmp_path / "test.parquet", [0, 1], extras=f'{{"members": {members}}}')
    with pytest.raises(DataError, match="a name of a dimension that cannot be one"):
        wheeled(tmp_path)


def test_parquet_and_rlds_give_the_same(tmp_path: Path) -> None:
    parquet(tmp_path / "a" / "train.parquet", range(3))
    parquet(tmp_path / "a" / "test.parquet", range(3, 5))
    shards = {"train": [[drive(k) for k in range(3)]], "test": [[drive(k) for k in (3, 4)]]}
    rlds(tmp_path / "b", shards, STEP)
    a, b = (list(wheeled(tmp_path / name)) for name in "ab")
    assert [(f.truth, f.space, f.step) for f in a] == [(f.truth, f.space, f.step) for f in b]
    shown = wheeled(tmp_path / "a")
    assert [shown.pictures(frame.id)[0].data for frame in shown] == [png(3)] * 3 + [png(4)] * 3


@pytest.mark.parametrize("name", MORPHOLOGIES)
def test_every_morphology_has_its_dimensions(tmp_path: Path, name: str) -> None:
    shape = MORPHOLOGIES[name]
    inner = dict(shape.members) or {"": WIDTHS[name]}
    keys = {f"steps/action/{key}".rstrip("/"): size for key, size in inner.items()}
    made: dict[str, Values] = {key: [float(x) for x in range(2 * n)] for key, n in keys.items()}
    action = members(**{key: tensor(size) for key, size in shape.members}) or None
    step = {"action": action if shape.members else tensor(WIDTHS[name])}
    folder = rlds(tmp_path / shape.published / "0.1.0", {"train": [[made] * 2]}, step)
    frame = next(iter(rows(tmp_path, morphology=name, split="test", seed=0)))
    space = motion(frame)
    assert len(frame.truth) == len(space.names) == len(set(space.names)) == WIDTHS[name]  # type: ignore[arg-type]
    assert space.slices == shape.slices
    assert all(0 <= low < high <= WIDTHS[name] for low, high in space.slices.values())
    other = next(each for each in WIDTHS if each != name)
    with pytest.raises(DataError, match=f"have {WIDTHS[name]} numbers; {WIDTHS[other]} are due"):
        rows(folder, morphology=other, split="test", seed=0)


def test_members_of_other_names_give_the_names(tmp_path: Path) -> None:
    step = {"action": members(turn=tensor(), speed=tensor(1))}
    made = {"steps/action/turn": [1.0], "steps/action/speed": [2.0]}
    shown = wheeled(rlds(tmp_path, {"train": [[made] * 2]}, step))
    assert motion(next(iter(shown))).names == ("speed", "turn")
    assert any("not the published data set" in note for note in shown.notes)


def own(folder: Path, width: int, said: Any = None, **more: Any) -> Any:
    """Rows of a robot that no table knows."""
    parquet(folder / "test.parquet", [0, 1], action=[float(k) for k in range(width)])
    if said is not None:
        (folder / "dataset.json").write_text(json.dumps(said))
    return rows(folder, morphology="own", split="test", seed=0, **more)


def test_a_robot_of_any_shape_is_named_by_its_owner(tmp_path: Path) -> None:
    plain = own(tmp_path, 3)
    frame = next(iter(plain))
    assert motion(frame).names == ("number 0", "number 1", "number 2")
    assert "environment" not in frame.fields and frame.slices == {"morphology": "own"}
    assert any("dataset.json" in note for note in plain.notes)
    said = {"names": ["x", "y", "grip"], "environment": "an arm at a sink"}
    reported = own(tmp_path, 3, said)
    frame = next(iter(reported))
    assert motion(frame).names == ("x", "y", "grip")
    assert frame.fields["environment"] == "an arm at a sink"
    assert not any("dataset.json" in note for note in reported.notes)
    assert plain.hashes != reported.hashes, "a run of other names is another run"
    assert motion(next(iter(own(tmp_path / "one", 1)))).names == ("number 0",)


@pytest.mark.parametrize(
    ("width", "said", "why"),
    [
        (3, {"names": ["x", "y"]}, r"its actions have 3 numbers; 2 are due by .*dataset\.json"),
        (2, {"names": ["x", "x"]}, "names are at most 64 different ones"),
        (2, {"names": ["x", " "]}, "none empty"),
        (2, {"nmaes": ["x", "y"]}, "unknown field nmaes; names and environment are due"),
        (2, ["x", "y"], "expected object"),
        (65, None, "its actions have 65 numbers; 1 to 64 are read"),
    ],
)
def test_what_its_owner_says_must_fit(tmp_path: Path, width: int, said: Any, why: str) -> None:
    with pytest.raises(DataError, match=why):
        own(tmp_path, width, said)


def test_only_what_may_be_the_published_set_gets_its_names(tmp_path: Path) -> None:
    for place, known in (
        ("mine", False),
        ("openx_wheeled_robot", True),
        ("openx_wheeled_robot/public", True),
        ("berkeley_gnm_sac_son/1.0", True),
    ):
        parquet(tmp_path / place / "test.parquet", [0, 1])
        for folder in (tmp_path / place, Path(os.path.relpath(tmp_path / place))):
            found = wheeled(folder)
            frame = next(iter(found))
            assert motion(frame).names == (("x", "y") if known else ("number 0", "number 1"))
            assert ("environment" in frame.fields) == known
            reported = (
                "called as in berkeley_gnm_sac_son" if known else "not the published data set"
            )
            assert any(reported in note for note in found.notes)
    rlds(tmp_path / "a", {"train": [[drive(k) for k in (0, 1)]]}, STEP, "berkeley_gnm_sac_son")
    assert motion(next(iter(wheeled(tmp_path / "a")))).names == ("x", "y")
    (tmp_path / "mine/dataset.json").write_text('{"names": ["left", "right"]}')
    assert motion(next(iter(wheeled(tmp_path / "mine")))).names == ("left", "right")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Where each record begins that is read, as it goes."""
    read: list[int] = []
    inner = tfrecord.read_record

    def heard(path: Path, at: int) -> bytes:
        read.append(at)
        return inner(path, at)

    monkeypatch.setattr(tfrecord, "read_record", heard)
    return read


def test_files_are_read_once_for_all_but_pictures_and_these_record_by_record(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = row_sampling.SampledRows(
        baseline_answers.add_baseline_answers(wheeled(many), wheeled(many, "train"), 0), None, 0
    )
    read = counted(monkeypatch)
    frames = list(shown)
    assert not read and all(frame.fields and frame.baseline_answers for frame in frames)
    for frame in frames:
        shown.pictures(frame.id)
    assert len(read) <= len({frame.group for frame in frames})


def test_rows_that_travelled_read_each_episode_once(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = wheeled(many, history=1)
    there: Any = pickle.loads(pickle.dumps(here))  # noqa: S301 - our own
    assert len(pickle.dumps(here)) < 4000, "actions and texts stay behind"
    read = counted(monkeypatch)
    assert list(there) == list(here)
    assert len(read) == len(here.episodes)  # type: ignore[attr-defined]
    assert [replace(frame, fields={}) for frame in here] == list(here.partial_frames())


def test_bad_actions_are_reported_all_at_once(tmp_path: Path) -> None:
    bad = {"steps/action": [1.0, math.nan, 2.0, 2.0, -math.inf, math.nan]}
    shards = [[drive(0), {**drive(1), **bad}], [{**drive(2), **bad}]]
    with pytest.raises(DataError) as reported:
        wheeled(rlds(tmp_path, {"train": shards}, STEP))
    lines = str(reported.value).splitlines()
    assert "4 bad rows" in lines[0]
    assert "robots-train.tfrecord-00000-of-00002: byte " in lines[1]
    assert lines[1].endswith("step 0: the action holds nan")
    assert lines[2].endswith("step 2: the action holds -inf, nan")
    assert "00001-of-00002: byte 0: episode train-00001-00000, step 0: " in lines[3]
    rlds(tmp_path, {"train": [[bad | {"steps/language_instruction": [b""] * 3}] * 30]}, STEP)
    with pytest.raises(DataError, match="60 bad rows") as reported:
        wheeled(tmp_path)
    assert str(reported.value).endswith("and 40 more")


def test_bad_files_are_reported_with_all_others(tmp_path: Path) -> None:
    folder = rlds(tmp_path, {"train": [[drive(k)] for k in range(3)]}, STEP)
    for k, data in ((0, b"torn"), (2, b"x" * 40)):
        (folder / f"robots-train.tfrecord-{k:05}-of-00003").write_bytes(data)
    with pytest.raises(DataError, match="2 bad rows") as reported:
        wheeled(folder)
    assert "00000-of-00003: byte 0: the file ends" in str(reported.value)
    assert "00002-of-00003: byte 0: no TFRecord" in str(reported.value)


@pytest.mark.parametrize(
    ("groups", "changed", "why"),
    [
        ([0], {"action": [1.0]}, "have 1 numbers; 2 are due of wheeled; next: -T morphology=own"),
        ([0], {"action": None}, "test.parquet: row 2: episode e0, step 2: an action of 0 numbers"),
        ([4, 0], {"action": [math.inf, 1.0]}, "row 4: episode e0, step 1: the action holds inf"),
        ([0], {"step": 1}, "row 0: step 1 of e0 where 0 is due"),
        ([0, 1, 0], {}, "row 6: the steps of e0 do not lie together"),
        ([0], {"group": "e" * 300}, "more than 200 characters"),
        ([0], {"extras": '{"members": 3}'}, "members is not a list"),
        ([0], {"extras": '{"members": [["a", 2000000000]]}'}, "do not make an action of 2"),
        ([0], {"extras": '{"members": [["a", 3]]}'}, "do not make an action of 2"),
        ([0], {"extras": '{"members": [["a", -5], ["b", 7]]}'}, "do not make an action of 2"),
        ([0], {"extras": '{"members": [["a", 1e999], ["b", 7]]}'}, "members is not a list"),
        ([0], {"group": "e\n0"}, "with control characters"),
    ],
)
def test_bad_parquet_is_reported(
    tmp_path: Path, groups: list[int], changed: dict[str, Any], why: str
) -> None:
    parquet(tmp_path / "test.parquet", groups, **changed)
    with pytest.raises(DataError, match=why):
        wheeled(tmp_path)


def test_files_of_other_members_are_reported(tmp_path: Path) -> None:
    for k, extras in enumerate(('{"members": [["a", 2]]}', '{"members": [["b", 2]]}')):
        parquet(tmp_path / f"{k}.parquet", [k], extras=extras)
    with pytest.raises(DataError, match=r"1\.parquet: row 0: extras: other members than in 0\."):
        wheeled(tmp_path)


def test_all_files_are_in_the_hash_also_those_of_one_name(tmp_path: Path) -> None:
    found = set()
    for groups in ([0, 1], [2, 3]):
        parquet(tmp_path / "train/x.parquet", groups)
        parquet(tmp_path / "public/x.parquet", [5])
        found.add(wheeled(tmp_path).hashes["openx-wheeled"])
    assert len(found) == 2


@pytest.mark.parametrize("size", ["9" * 4000, "5000", "0", "-1"])
def test_a_shape_that_is_huge_or_none_is_reported(tmp_path: Path, size: str) -> None:
    step = {"action": {"tensor": {"shape": {"dimensions": [size, size]}, "dtype": "float32"}}}
    with pytest.raises(
        DataError, match=r"action is not a plain tensor of a fixed shape of at most 4"
    ):
        wheeled(rlds(tmp_path, {"train": [[drive(0)]]}, step))


def test_an_episode_in_two_files_is_reported(tmp_path: Path) -> None:
    for name in "ab":
        parquet(tmp_path / f"{name}.parquet", [1])
    with pytest.raises(DataError, match="a second episode 'e1'"):
        wheeled(tmp_path)


def test_what_cannot_be_asked_is_reported(tmp_path: Path, many: Path) -> None:
    for more in ({"morphology": "wheled"}, {"split": "dev"}, {"history": -1}):
        with pytest.raises(UsageError, match=f"{next(iter(more))}"):
            rows(many, **{"morphology": "wheeled", "split": "test", "seed": 0, **more})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no such folder"):
        wheeled(tmp_path / "nothing")
    for name in ("0.1.0", "0.2.0"):
        rlds(tmp_path / "robots" / name, {"train": [[drive(0)]]}, STEP)
    with pytest.raises(UsageError, match=r"name one of 0\.1\.0, 0\.2\.0"):
        wheeled(tmp_path / "robots")
    (tmp_path / "shards" / "translated_shard_0").mkdir(parents=True)
    with pytest.raises(DataError, match=r"openx\.snapshot_export"):
        wheeled(tmp_path / "shards")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no data of multinet-openx here; .*public/\*\.parquet"):
        wheeled(tmp_path / "empty")
    parquet(tmp_path / "mixed" / "test.parquet", [0])
    parquet(tmp_path / "mixed" / "other.parquet", [1])
    with pytest.raises(DataError, match="of no split"):
        wheeled(tmp_path / "mixed")
    rlds(tmp_path / "none", {"train": [[{"steps/action": []}]]}, {"action": tensor(2)})
    with pytest.raises(DataError, match="hold no step"):
        wheeled(tmp_path / "none")


values = st.floats(-1e308, 1e308)  # of larger ones the test's own sum may round to infinity


def test_large_data_are_read_on_all_cores_alike(
    many: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = list(wheeled(many))
    monkeypatch.setattr(openx_rows, "_MIN_PARALLEL_BYTES", 0)
    monkeypatch.setattr(worker_processes, "available_cores", lambda: 2)
    openx_rows._scan_request.cache_clear()
    assert list(wheeled(many)) == alone


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    first = wheeled(rlds(tmp_path, {"train": [[drive(0), drive(1)]]}, STEP))
    second = wheeled(rlds(tmp_path, {"train": [[drive(2), drive(3, 4)]]}, STEP))
    assert first.hashes != second.hashes
    assert {frame.truth for frame in wheeled(tmp_path)} == {frame.truth for frame in second}


@settings(max_examples=60)
@given(
    st.lists(st.lists(st.tuples(values, values), min_size=1, max_size=4), min_size=2, max_size=5)
)
def test_streamed_statistics_are_those_of_all_together(
    episodes: list[list[tuple[float, float]]],
) -> None:
    ranges = [action_statistics.episode_range(np.array(each)) for each in episodes]
    _same(action_statistics.combine_ranges(ranges), [step for each in episodes for step in each])


def _same(found: action_statistics.ActionRange, steps: list[tuple[float, float]]) -> None:
    collected = np.array(steps)
    assert found.n == len(steps)
    assert found.low.tolist() == collected.min(axis=0).tolist()
    assert found.high.tolist() == collected.max(axis=0).tolist()
    for k in range(2):
        exact = math.fsum(x / len(steps) for x in collected[:, k].tolist())
        size = max(abs(collected[:, k]).max(), 1e-300)
        assert abs(found.mean[k] - exact) <= 1e-9 * size
