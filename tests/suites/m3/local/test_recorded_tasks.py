"""A recording of generated tasks answers these tasks alone: ids are equal for every seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.environments.cassette import Cassette, CassetteHeader
from toolmark.runs.run_store import Run


def play(folder: Path, name: str, **words: Any) -> Run:
    """Play one task of the clock; its recording is the folder's."""
    suite = tm.load(
        "m3-local", family=("clock",), instances=1, cassette=str(folder / "tape.jsonl"), **words
    )
    id = next(iter(suite)).id
    return tm.run(suite, "control/oracle", ids=(id,), log_dir=folder / name)


@pytest.mark.usefixtures("installed")
def test_a_recording_of_one_seed_answers_no_other(tmp_path: Path) -> None:
    live = play(tmp_path, "live", mode="record", seed=3)
    assert live.summary()["score"]["value"] == 1
    again = play(tmp_path, "again", seed=3)
    assert again.summary()["score"]["value"] == 1
    with pytest.raises(UsageError, match=r"m3-local --seed 3 -T family=clock"):
        play(tmp_path, "other", seed=4)
    with pytest.raises(UsageError, match="--seed 3"):
        play(tmp_path, "fresh")
    other = play(tmp_path, "auto", mode="auto", seed=4)
    assert other.summary()["score"]["value"] == 1
    (one,), (two,) = live.trajectories(), other.trajectories()
    assert one.task == two.task and one.steps != two.steps
    assert play(tmp_path, "both", seed=4).summary()["score"]["value"] == 1
    tape = Cassette(tmp_path / "tape.jsonl")
    parameters = {"family": ["clock"], "instances": 1}
    assert tape.headers == [CassetteHeader("m3-local", seed, parameters) for seed in (3, 4)]
    # without what it says of itself, the takes still tell the instances apart
    lines = tape.path.read_text().splitlines(keepends=True)
    tape.path.write_text("".join(line for line in lines if '"kind":"suite"' not in line))
    (lost,) = play(tmp_path, "silent", seed=5).attempts()
    assert "was recorded for another instance; give --seed" in lost.failure.message
