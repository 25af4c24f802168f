"""`toolmark tune` from end to end: own folders, generated items, errors with a next step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.studio.test_review_commands import Command, toolmark  # noqa: F401 - a fixture
from tests.studio.vision_tuning import tuned_items

from toolmark.core.task_data import read_task_data
from toolmark.studio.vision_tuning.tuning_folder import TuningFolder
from toolmark.suites.mfcl_vision import item_folder
from toolmark.suites.mfcl_vision.item_records import ItemTruth

BENCH = "tests.studio.vision_tuning.tuned_items"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLMARK_HOME", str(tmp_path / "cache"))


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tuned_items.items(tmp_path / "items", 2)


def test_from_a_folder_to_a_set(tmp_path: Path, source: Path, toolmark: Command) -> None:  # noqa: F811
    out = tmp_path / "t"
    words = ["tune", "mfcl-vision", "-T", f"source={source}", "-o", out]
    panel = ["-m", f"{BENCH}:swayed", "-m", f"{BENCH}:shy", "-m", "control/oracle"]
    code, said, _ = toolmark(*words, *panel)
    assert code == 0
    assert f"next: toolmark review {out}\n  then: toolmark tune mfcl-vision -o {out}" in said
    tuning = TuningFolder(out)
    assert [v.edit for v in tuning.items["inn-0"].versions] == ["", "context"]
    tuned_items.mark(tuning, "inn-0", "solvable")
    code, said, _ = toolmark("tune", "mfcl-vision", "-o", out, "--json")
    found = json.loads(said)
    assert (code, found["set"], found["items"]["accepted"]) == (0, str(out / "set"), 1)
    assert [entry.id for entry in item_folder.read_item_folder(out / "set").entries] == ["inn-0"]
    code, said, err = toolmark(*words, "-m", "control/null")
    assert code == 2
    assert "made with another choice" in err


def test_generated_items_get_further_hops(tmp_path: Path, toolmark: Command) -> None:  # noqa: F811
    out = tmp_path / "t"
    code, _, err = toolmark(
        "tune", "mfcl-vision", "-T", "items=1", "-T", "hops=1", "--seed", 7, "-m", "control/oracle",
        "--edits", "hops", "--rounds", 1, "-o", out,
    )  # fmt: skip
    assert code == 0, err
    first, second = TuningFolder(out).items["g00000"].versions
    assert [len(read_task_data(v.task, ItemTruth).hops) for v in (first, second)] == [1, 2]
    assert first.task.axes["kind"] == second.task.axes["kind"]
    (trial,) = TuningFolder(out).items["g00000"].attempts("control/oracle", 1)
    assert trial.outcome == "solved"  # of the same world: its pages are searched


def test_what_is_not_run_is_reported_and_ends_with_one(
    tmp_path: Path, source: Path, toolmark: Command  # noqa: F811
) -> None:  # fmt: skip
    out = tmp_path / "t"
    words = ("tune", "mfcl-vision", "-T", f"source={source}", "-m", "control/dead", "-o", out)
    code, said, _ = toolmark(*words)
    assert code == 3
    assert "not run: " in said
    assert f"next: toolmark tune mfcl-vision -o {out}" in said


def test_a_draft_is_begun_from_pictures(source: Path, toolmark: Command) -> None:  # noqa: F811
    (source / "items.jsonl").unlink()
    code, said, _ = toolmark("tune", "mfcl-vision", "--draft", source)
    assert code == 0
    assert "2 rows added" in said


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (["tune", "bfcl", "-o", "x"], "no tuning of 'bfcl'"),
        (["tune", "mfcl-vision"], "name a folder: -o DIR"),
        (["tune", "mfcl-vision", "-o", "x"], "nothing begun there; name the panel"),
        (["tune", "mfcl-vision", "-o", "x", "--edits", "crop"], "name the panel"),
        (["tune", "mfcl-vision", "-o", "x", "-m", "control/null", "--edits", "crp"], "mean: crop"),
        (["tune", "mfcl-vision", "-o", "x", "-m", "a", "-m", "a"], "one voice"),
        (["tune", "mfcl-vision", "-o", "x", "-m", "control/nil"], "known: null"),
        (
            ["tune", "mfcl-vision", "-o", "x", "-m", "control/null", "-T", "variations=gray"],
            "leave the parameter out",
        ),
        (
            ["tune", "mfcl-vision", "-o", "x", "-m", "control/null", "-T", "source=none"],
            "cannot read items",
        ),
    ],
)
def test_errors_say_what_next_and_make_no_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    toolmark: Command,  # noqa: F811
    words: list[str],
    reported: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = toolmark(*words)
    assert (code, reported in err) == (2, True), err
    assert not (tmp_path / "x").exists()
