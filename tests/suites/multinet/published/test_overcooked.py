"""Overcooked's published layout: a pickled list of rows, read without running anything."""

from __future__ import annotations

import os
import pickle
import resource
from base64 import b64encode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.suites.multinet.overcooked import pickled_tables
from tests.suites.multinet.published import layouts

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.baseline_answers import add_baseline_answers
from toolmark.suites.multinet.frame_records import Distribution
from toolmark.suites.multinet.overcooked import safe_unpickling
from toolmark.suites.multinet.overcooked.overcooked_rows import JOINT_ACTIONS
from toolmark.suites.multinet.published import overcooked
from toolmark.suites.multinet.row_sampling import SampledRows

WORKER = "A1B2C3WORKER"


def row(game: int, step: int, action: str = "[[0, 0], 'interact']", **more: Any) -> dict[str, Any]:
    picture = layouts.png(10 * game + step)
    return {
        "state": b64encode(picture).decode(), "joint_action": action, "reward": 0, "score": 0,
        "time_left": 59.8, "time_elapsed": 0.2, "cur_gameloop": step + 1, "layout": "[['X']]",
        "layout_name": f"kitchen_{game}", "trial_id": f"{WORKER}:{game}", "player_0_id": "p",
        "player_0_is_human": True, **more,
    }  # fmt: skip


ROWS = [row(game, step) for game in range(2) for step in range(3)]


def write(folder: Path, rows: Any, split: str = "public", protocol: int = 4) -> Path:
    home = folder / "overcooked_ai" / split
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"2020_{split}.pickle"
    path.write_bytes(rows if isinstance(rows, bytes) else pickle.dumps(rows, protocol))
    return path


def read(folder: Path, split: Any = "test", **more: Any) -> overcooked.PublishedGames:
    return overcooked.rows(folder, split=split, **more)


# --- what the rows say ------------------------------------------------------------------


@pytest.mark.parametrize("protocol", range(2, 6))
def test_rows_are_steps_of_games(tmp_path: Path, protocol: int) -> None:
    write(tmp_path, ROWS, protocol=protocol)
    collected = read(tmp_path)
    frames = list(collected)
    assert len(collected) == len(frames) == len({frame.id for frame in frames}) == 6
    assert [frame.step for frame in frames] == [0, 1, 2] * 2 and collected.clustered
    assert {frame.truth for frame in frames} == {29} and JOINT_ACTIONS[29].endswith("INTERACT")
    assert frames[0].fields == {
        "layout": "kitchen_0", "time_left": "60 s", "time_elapsed": "0.2 s", "score": "0"
    }  # fmt: skip
    assert [frame.slices["layout"] for frame in frames[::3]] == ["kitchen_0", "kitchen_1"]
    assert list(collected.hashes) == ["2020_public.pickle"]


def test_numbers_may_be_texts_or_of_numpy(tmp_path: Path) -> None:
    names = ("reward", "score", "time_left", "time_elapsed", "cur_gameloop")
    plain = [row(0, n, time_left=60.0 - n, score=n) for n in range(3)]
    texts = [{**each, **{name: str(each[name]) for name in names}} for each in plain]
    numpy = [{**each, **{name: np.float64(each[name]) for name in names}} for each in plain]
    numpy = [{**each, "cur_gameloop": np.int64(each["cur_gameloop"])} for each in numpy]
    frames = []
    for at, kind in enumerate((plain, texts, numpy)):
        write(tmp_path / str(at), kind)
        frames.append(list(read(tmp_path / str(at))))
    assert frames[0] == frames[1] == frames[2] and frames[0][2].fields["score"] == "2"


@given(st.permutations(ROWS))
def test_order_hangs_on_no_file(tmp_path_factory: pytest.TempPathFactory, rows: Any) -> None:
    home = tmp_path_factory.getbasetemp()
    write(home / "a", ROWS)
    write(home / "b", rows)
    one, two = read(home / "a"), read(home / "b")
    assert list(one) == list(two)
    assert [one.pictures(f.id) for f in one] == [two.pictures(f.id) for f in two]


@given(st.sampled_from(["interact", "INTERACT", "Interact"]), st.sampled_from(["'", '"']))
def test_a_word_is_an_action_large_or_small(
    tmp_path_factory: pytest.TempPathFactory, word: str, quote: str
) -> None:
    home = tmp_path_factory.getbasetemp() / "case"
    write(home, [row(0, 0, f"[{quote}{word}{quote}, [0, -1]]")])
    assert [frame.truth for frame in read(home)] == [30]


def test_the_shown_score_excludes_what_comes(tmp_path: Path) -> None:
    write(tmp_path, [row(0, 0), row(0, 1, reward=20, score=20), row(0, 2, score=20)])
    assert [frame.fields["score"] for frame in read(tmp_path)] == ["0", "0", "20"]


def test_people_are_not_identified(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    collected = read(tmp_path)
    assert WORKER not in repr(collected) + repr(list(collected))
    write(tmp_path, [row(0, 0, "[[9, 9], [0, 0]]")])
    with pytest.raises(DataError) as reported:
        read(tmp_path)
    assert WORKER not in str(reported.value)


def test_history_and_frames_are_of_the_same_game(tmp_path: Path) -> None:
    actions = ["[[0, -1], [0, 0]]", "[[0, 1], [0, 0]]", "[[1, 0], [0, 0]]"]
    write(tmp_path, [row(game, n, action) for game in range(2) for n, action in enumerate(actions)])
    collected = read(tmp_path, history=1, pictures=2, mode="probs")
    frames = list(collected)
    assert all(isinstance(frame.space, Distribution) for frame in frames)
    reported = [frame.fields["history"] for frame in frames[3:]]
    assert reported == [
        "none, this is the first step",
        f"\n{JOINT_ACTIONS[4]}",
        f"\n{JOINT_ACTIONS[10]}",
    ]
    shown = [[picture.data for picture in collected.pictures(frame.id)] for frame in frames[3:]]
    assert shown == [
        [layouts.png(10)],
        [layouts.png(10), layouts.png(11)],
        [layouts.png(11), layouts.png(12)],
    ]


def test_a_step_that_is_there_twice_is_reported(tmp_path: Path) -> None:
    write(tmp_path, [*ROWS, row(0, 0)])
    collected = read(tmp_path)
    assert len(collected) == 7 and any(
        "1 steps have the number of another" in n for n in collected.notes
    )


def test_rows_travel_without_their_pictures(tmp_path: Path) -> None:
    noise = layouts.png() + os.urandom(200_000)  # behind the picture
    write(tmp_path, [row(0, n, state=b64encode(noise).decode()) for n in range(20)])
    collected = read(tmp_path)
    assert len(pickle.dumps(collected)) < 10_000
    again = pickle.loads(pickle.dumps(collected))  # noqa: S301 - our own
    frames = list(again)
    assert frames == list(collected)
    assert again.pictures(frames[7].id)[0].data == layouts.png()


def test_what_is_drawn_is_as_whole_as_all_of_it(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    rows = add_baseline_answers(read(tmp_path, history=1), None, 0)
    whole = {frame.id: frame for frame in rows}
    drawn = list(SampledRows(rows, 4, 0))
    assert len(drawn) == 4 and drawn == [whole[frame.id] for frame in drawn]
    assert all(frame.baseline_answers and frame.fields["history"] for frame in drawn)
    assert [frame.truth for frame in rows.partial_frames()] == [frame.truth for frame in rows]


# --- where they lie ---------------------------------------------------------------------


def test_a_training_split_is_read_where_there_is_one(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    assert len(read(tmp_path, "train")) == 0
    assert "no training split" in read(tmp_path, "train").notes[0]
    write(tmp_path, ROWS[:2], "train")
    assert (len(read(tmp_path)), len(read(tmp_path, "train"))) == (6, 2)


def test_one_file_is_wanted(tmp_path: Path) -> None:
    path = write(tmp_path, ROWS)
    path.with_name("other.pickle").write_bytes(path.read_bytes())
    with pytest.raises(DataError, match=r"one pickled list.*2020_public\.pickle, other\.pickle"):
        read(tmp_path)
    path.unlink()
    path.with_name("other.pickle").rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert len(read(tmp_path)) == 6
    with pytest.raises(DataError, match="leads out of"):
        read(path.parent)


@pytest.mark.parametrize("wrong", [{"mode": "x"}, {"history": -1}, {"pictures": 0}, {"split": "a"}])
def test_what_cannot_be_asked_is_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    write(tmp_path, ROWS)
    (name,) = wrong
    # `-T frames` is the number of pictures
    with pytest.raises(UsageError, match="frames" if name == "pictures" else name):
        read(tmp_path, **wrong)


def test_a_folder_is_asked(tmp_path: Path) -> None:
    write(tmp_path, ROWS)
    write(tmp_path, ROWS[:3], "train")
    with pytest.raises(DataError, match=r"^.*\b3 rows"):
        tm.load("multinet-overcooked", data=str(tmp_path))
    write(tmp_path, [{**row, "trial_id": "others"} for row in ROWS[:3]], "train")
    suite = tm.load("multinet-overcooked", data=str(tmp_path), items=2, form="both", frames=2)
    tasks = list(suite.maker.make(suite))
    assert len(tasks) == 4 and {task.axes["source"] for task in tasks} == {"published"}
    assert all(WORKER not in repr(task) for task in tasks)
    run = tm.run(suite, "control/oracle", log_dir=tmp_path / "runs")
    assert run.summary()["score"]["value"] == 1 and run.summary()["n_run"] == 4


# --- what is wrong with them ------------------------------------------------------------


def test_bad_rows_are_reported_at_once(tmp_path: Path) -> None:
    lost = row(0, 3)
    del lost["trial_id"]
    bad = [
        (row(0, 0, "['JUMP', [0, 0]]"), "no action 'JUMP'"),
        (row(0, 1, "[[1, 1], [0, 0]]"), r"no action (1, 1)"),
        (row(0, 2, "[[0, 0]]"), ""),
        (row(0, 2, "__import__('os').system('true')"), "malformed"),
        (lost, "no trial_id"),
        (row(0, 4, score="many"), "score is not a number but 'many'"),
        (row(0, 4, time_left=float("nan")), "time_left is nan"),
        (row(0, 4, reward=True), "reward is not a number but bool"),
        (row(0, 5, layout_name="../etc"), "layout_name must be 1 to 64 letters"),
        (row(0, 6, trial_id=7), "trial_id is not text but int"),
        (row(0, 7, state=b"raw"), "state is not base64 but bytes"),
    ]
    write(tmp_path, [*ROWS, *(each for each, _ in bad)])
    with pytest.raises(DataError) as reported:
        read(tmp_path)
    assert f"{len(bad)} bad rows" in str(reported.value)
    for n, (_, why) in enumerate(bad, len(ROWS)):
        assert f"row {n}: {why}" in str(reported.value)


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ("no base64!", "not base64"),
        ("", "no state"),
        (b64encode(b"no picture").decode(), "no picture that can be read"),
        (b64encode(layouts.png()[:45]).decode(), "damaged picture"),
        ("{" + "x" * 5000, "not base64"),
    ],
)
def test_a_picture_is_checked_when_it_is_asked_for(tmp_path: Path, state: str, why: str) -> None:
    write(tmp_path, [row(0, 0, state=state)])
    with pytest.raises(DataError, match=why):
        collected = read(tmp_path)
        collected.pictures(next(iter(collected)).id)


@pytest.mark.parametrize("id", ["", "kitchen_0", "kitchen_0-0000000000-0000", "x/../y-1"])
def test_a_row_that_is_not_there_has_no_picture(tmp_path: Path, id: str) -> None:
    write(tmp_path, ROWS)
    with pytest.raises(DataError, match="no step"):
        read(tmp_path).pictures(id)


class Attack:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("protocol", range(6))
def test_an_attack_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    rows = [row(0, 0, trial_id=Attack(tmp_path / "ran"))]
    write(tmp_path, rows, protocol=protocol)
    with pytest.raises(DataError, match=r"2020_public\.pickle: refused"):
        read(tmp_path)
    assert not (tmp_path / "ran").exists()


LAUGHS = pickled_tables.listed(pickled_tables.text("ha"))
for _n in range(30):
    LAUGHS = pickled_tables.listed(LAUGHS + b"\x94", b"h" + bytes([_n]))
OTHERS = {
    "a table": (pickled_tables.table({"state": ["x"]}), "holds DataFrame where a list"),
    "a dictionary": (pickle.dumps({"state": "x"}, 4), "holds dict where a list"),
    "a list of others": (pickle.dumps([{}, 1], 4), "row 1 is not a dictionary"),
    "no row": (pickle.dumps([], 4), "holds no row"),
    "nothing": (b"", r"2020_public\.pickle"),
    "a text that is not there": (b"\x80\x04](}X\x00\x00\x00\x03.", r"2020_public\.pickle"),
    "a text that is too long": (b"\x80\x04](}X\xff\xff\xff\xff.", "a piece of more than 64 MiB"),
    "a memo of 16 GiB": (b"\x80\x04](}r\xff\xff\xff\x7f.", "refused: instruction LONG_BINPUT"),
    "lists that hold each other": (
        pickled_tables.whole(pickled_tables.listed(pickled_tables.mapped(joint_action=LAUGHS))),
        "1 bad row",
    ),
}  # fmt: skip


@pytest.mark.parametrize("other", list(OTHERS))
def test_another_file_is_refused(tmp_path: Path, other: str) -> None:
    data, why = OTHERS[other]
    write(tmp_path, data)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match=why):
        read(tmp_path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # KiB


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.999])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, share: float) -> None:
    whole = pickle.dumps(ROWS, 4)
    write(tmp_path, whole[: int(share * len(whole))])
    with pytest.raises(DataError, match=r"2020_public\.pickle"):
        read(tmp_path)


def test_what_is_read_of_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_unpickling, "MAX_BYTES", 20_000)
    long = "x" * 10_000
    write(tmp_path, [row(0, n, state=f"{long}{n}") for n in range(20)])
    assert len(read(tmp_path)) == 20  # long texts stay where they are
    write(tmp_path, [row(0, n, layout=f"{n}{long[:4000]}") for n in range(20)])
    with pytest.raises(DataError, match="besides its long texts"):
        read(tmp_path)
    monkeypatch.setattr(safe_unpickling, "MAX_INSTRUCTIONS", 10)
    with pytest.raises(DataError, match="more than 10 instructions"):
        read(tmp_path)
    monkeypatch.setattr(safe_unpickling, "MAX_FILE_BYTES", 1000)
    with pytest.raises(DataError, match="GiB"):
        read(tmp_path)
