"""RLDS folders: what they say of themselves is held against what they hold."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from tests.suites.multinet.openx.openx_files import (
    STEP,
    Values,
    drive,
    example,
    framed,
    members,
    rlds,
    tensor,
)

from toolmark.core.errors import DataError
from toolmark.suites.multinet.openx.rlds import RldsData, open_rlds

FILE = "robots-train.tfrecord-00000-of-00001"


def one(folder: Path, step: dict[str, Any] | None = None, **changed: Any) -> RldsData:
    """A folder of one episode."""
    rlds(folder, {"train": [[{**drive(1), **changed}]]}, step or STEP)
    return open_rlds(folder, folder)


def read(data: RldsData) -> list[Any]:
    return [episode for files in data.about.parts.values() for file in files
            for episode in data.iterate_episodes(file)]  # fmt: skip


def test_members_of_the_action_are_floats_sorted_and_flattened(tmp_path: Path) -> None:
    action = members(
        world=tensor(2, 1),
        gripper=tensor(dtype="bool"),
        base=tensor(),
        end=tensor(3, dtype="int32"),
    )
    made: dict[str, Values] = {
        "steps/action/world": [1.0, 2.0, 3.0, 4.0],
        "steps/action/base": [9.0, 8.0],
        "steps/action/gripper": [1, 0],
        "steps/language_instruction": [b"go", b"stop"],
    }
    rlds(tmp_path, {"train": [[made]]}, {**STEP, "action": action})
    data = open_rlds(tmp_path, tmp_path)
    assert data.about.members == (("base", 1), ("world", 2))
    assert data.about.unused_members == ("end", "gripper")
    (episode,) = read(data)
    assert episode.actions.tolist() == [[9.0, 1.0, 2.0], [8.0, 3.0, 4.0]]
    assert episode.texts == ["go", "stop"]


def test_the_first_picture_and_instruction_in_order_count(tmp_path: Path) -> None:
    image: dict[str, Any] = {"image": {"shape": {}}}
    text: dict[str, Any] = {"text": {}}
    inner = members(rgb=image, hand_image=image, image=tensor(4, 3, 3, dtype="uint8"))
    data = one(tmp_path, {"action": tensor(2), "observation": inner, "action_instruct": text,
                          "language_instruction": tensor(dtype="string")})  # fmt: skip
    assert data.image == "steps/observation/hand_image"  # `image` is not an encoded picture
    assert data.text == "steps/language_instruction"
    nothing = one(tmp_path, {"action": tensor(2)})
    (episode,) = read(nothing)
    assert (nothing.image, episode.texts) == ("", [""] * 3)
    assert nothing.read_picture(episode.location, 0) == b""


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"steps/action": [1.0] * 5}, "steps/action: 5 numbers; 2 make a step"),
        ({"steps/action": [b"x"]}, "holds bytes, not floats"),
        ({"steps/language_instruction": [b"go"]}, "1 instructions for 3 steps"),
        ({"steps/language_instruction": [b"\xff"] * 3}, "an instruction is not UTF-8"),
    ],
)
def test_steps_that_do_not_fit_together_are_reported(
    tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(DataError, match=f"{FILE}: byte 0: {why}"):
        read(one(tmp_path, **changed))


def test_a_file_with_other_episodes_than_it_should_hold_is_reported(tmp_path: Path) -> None:
    data = one(tmp_path)
    path = tmp_path / FILE
    whole = path.read_bytes()
    for n in (0, 2):
        path.write_bytes(whole * n)
        with pytest.raises(DataError, match=f"{n} episodes; dataset_info.json says 1"):
            read(data)
    path.write_bytes(whole + framed(example({"other": [1.0]})))
    with pytest.raises(DataError, match=f"byte {len(whole)}: no steps/action"):
        read(data)
    path.write_bytes(framed(b"\xff\xff"))
    with pytest.raises(DataError, match="byte 0: "):
        read(data)


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("dataset_info.json", "[]", "no JSON object"),
        ("dataset_info.json", "{", "dataset_info.json: "),
        ("dataset_info.json", '{"splits": [{"name": "train"}]}', "cannot read its splits"),
        ("dataset_info.json", '{"splits": []}', "none of the files"),
        (
            "dataset_info.json",
            '{"splits": [{"name": "train", "shardLengths": [1e999]}]}',
            "cannot read its splits",
        ),
        ("dataset_info.json", '{"fileFormat": "riegeli", "splits": []}', "only tfrecord"),
        ("features.json", "{}", "is it RLDS"),
        ("features.json", '{"featuresDict": {"features": {"steps": 3}}}', "is it RLDS"),
    ],
)
def test_a_folder_that_says_odd_things_is_reported(
    tmp_path: Path, file: str, text: str, why: str
) -> None:
    one(tmp_path)
    (tmp_path / file).write_text(text)
    with pytest.raises(DataError, match=why):
        open_rlds(tmp_path, tmp_path)


@pytest.mark.parametrize(
    "action",
    [{"tensor": {"shape": {"dimensions": [math.inf]}, "dtype": "float32"}},
     tensor(*[4096] * 200_000), tensor(2, dtype="int32"), tensor(-1), tensor(0),
     members(x=tensor(dtype="bool")), members(),
     {"tensor": {"shape": {}, "dtype": "float32", "encoding": "zlib"}}, {"text": {}}],
)  # fmt: skip
def test_an_action_without_floats_of_a_fixed_shape_is_reported(
    tmp_path: Path, action: dict[str, Any]
) -> None:
    with pytest.raises(DataError, match=r"features\.json: "):
        one(tmp_path, {"action": action})


def test_features_nested_without_end_are_refused(tmp_path: Path) -> None:
    one(tmp_path)
    inner: dict[str, Any] = tensor(1)
    for _ in range(60):
        inner = members(x=inner)
    steps = members(steps={"sequence": {"feature": inner}})
    (tmp_path / "features.json").write_text(json.dumps(steps))
    with pytest.raises(DataError, match="nested deeper"):
        open_rlds(tmp_path, tmp_path)


def test_files_that_lead_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    one(tmp_path / "here")
    path = tmp_path / "here" / FILE
    os.rename(path, tmp_path / FILE)
    path.symlink_to(tmp_path / FILE)
    with pytest.raises(DataError, match=r"00000-of-00001: leads out of .*here: refused"):
        open_rlds(tmp_path / "here", tmp_path / "here")
    assert read(open_rlds(tmp_path / "here", tmp_path)), "the folder that the user named holds it"
    for name in ("dataset_info.json", "features.json"):
        folder = tmp_path / name.partition(".")[0]
        one(folder)
        os.rename(folder / name, tmp_path / name)
        (folder / name).symlink_to(tmp_path / name)
        with pytest.raises(DataError, match=f"{name}: leads out of"):
            open_rlds(folder, folder)
