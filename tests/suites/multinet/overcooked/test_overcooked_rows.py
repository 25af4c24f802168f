"""Rows of the real games: which they are, what they tell, and what they keep to themselves."""

from __future__ import annotations

import hashlib
import pickle
import re
from collections import Counter
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.suites.multinet.overcooked import pickled_tables

from toolmark.core.errors import DataError, UsageError
from toolmark.suites.multinet.frame_records import Choice, Distribution, Frame
from toolmark.suites.multinet.overcooked import human_games, overcooked_rows


def real(split: str = "test") -> tuple[overcooked_rows.HumanGames, tuple[Frame, ...]]:
    return _real(split)


@lru_cache(maxsize=2)
def _real(split: str) -> tuple[overcooked_rows.HumanGames, tuple[Frame, ...]]:
    found = overcooked_rows.rows(split=split)  # type: ignore[arg-type]
    return found, tuple(found)


@pytest.mark.parametrize(
    ("split", "n", "games", "still"), [("test", 44_373, 37, 14_608), ("train", 46_729, 39, 16_296)]
)
def test_the_games_are_those_that_were_published(
    split: str, n: int, games: int, still: int
) -> None:
    found, frames = real(split)
    assert len(found) == len(frames) == n == len({frame.id for frame in frames})
    assert len({frame.group for frame in frames}) == games
    truths = Counter(frame.truth for frame in frames)
    assert truths[28] == still
    assert set(truths) == set(range(36))
    assert {frame.slices["layout"] for frame in frames} == {
        "asymmetric_advantages", "coordination_ring", "cramped_room", "random0", "random3"
    }  # fmt: skip


def test_games_are_whole_and_in_order() -> None:
    _, frames = real()
    steps: dict[str, list[int]] = {}
    for frame in frames:
        steps.setdefault(frame.group, []).append(frame.step)
    assert all(numbers == list(range(len(numbers))) for numbers in steps.values())
    assert all(1_132 <= len(numbers) <= 1_204 for numbers in steps.values())
    assert list(steps) == sorted(steps)


def test_no_game_is_in_both_splits() -> None:
    groups = [{frame.group for frame in real(split)[1]} for split in human_games.SPLITS]
    assert not groups[0] & groups[1]


def test_the_truth_is_what_was_done_in_the_state_that_is_shown() -> None:
    found, _ = real()
    turns = [(0, -1), (0, 1), (1, 0), (-1, 0)]
    for game in list(found.load_split().games.values())[::6]:
        for step, after in pairwise(game.steps):
            for player, action in zip(
                after.parse_state().players, divmod(step.joint, 6), strict=True
            ):
                if action < len(turns):
                    assert player.orientation == turns[action]


def test_the_shown_score_excludes_what_comes() -> None:
    _, frames = real()
    for frame, after in pairwise(frames):
        if frame.step == 0:
            assert frame.fields["score"] == "0"
        if after.group == frame.group and after.fields["score"] != frame.fields["score"]:
            assert isinstance(frame.truth, int)
            assert 5 in divmod(frame.truth, 6)  # somebody served, after this was shown


def test_people_are_not_identified(tmp_path: Path) -> None:
    _, frames = real()
    assert all(re.fullmatch(r"\w+-[0-9a-f]{10}", frame.group) for frame in frames)
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = (
        human_games.read_games(
            home(tmp_path / name, workerid_num=worker, run="night-shift"), "test"
        ).games
        for name, worker in (("a", 77_777.0), ("b", 88_888.0))
    )
    assert set(one) != set(other)
    assert not any(
        reported in name for name in (*one, *other) for reported in ("77777", "88888", "night")
    )


def test_before_the_first_step_nothing_was_done() -> None:
    _, plain = real()
    frames = list(overcooked_rows.rows(history=3))
    assert [frame.truth for frame in frames] == [frame.truth for frame in plain]
    assert "history" not in plain[5].fields
    assert frames[0].fields["history"].startswith("none")
    for n in (1, 2, 3, 4, 700):
        lines = frames[n].fields["history"].strip().splitlines()
        before = frames[max(0, n - 3) : n]
        assert lines == [overcooked_rows.JOINT_ACTIONS[int(str(frame.truth))] for frame in before]


def test_modes_ask_the_same_rows_in_two_ways() -> None:
    first, odd = next(iter(real()[0])), next(iter(overcooked_rows.rows(mode="probs")))
    assert isinstance(first.space, Choice) and isinstance(odd.space, Distribution)
    assert first.space.options == odd.space.options == overcooked_rows.JOINT_ACTIONS
    assert (first.id, first.truth, first.fields) == (odd.id, odd.truth, odd.fields)
    assert overcooked_rows.JOINT_ACTIONS[28] == "player 0 STAY, player 1 STAY"
    assert overcooked_rows.JOINT_ACTIONS[8] == "player 0 SOUTH, player 1 EAST"


def test_what_cannot_be_asked_is_refused() -> None:
    wrong: dict[str, Any]
    for wrong in ({"mode": "x"}, {"history": -1}, {"pictures": 0}, {"split": "tset"}):
        (name,) = wrong
        # `-T frames` is the number of pictures
        with pytest.raises(UsageError, match="frames" if name == "pictures" else name):
            overcooked_rows.rows(**wrong)


def test_rows_travel_light() -> None:
    found, frames = real()
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own
    assert len(pickle.dumps(found)) < 500
    assert again == found
    assert next(iter(again)) == frames[0]


def test_what_was_read_is_named() -> None:
    found, _ = real()
    assert found.hashes[human_games.PACKAGE.file] == human_games.PACKAGE.sha256
    path = Path(found.home, "human_data", "clean_test_trials.pickle")
    assert found.hashes[path.name] == hashlib.sha256(path.read_bytes()).hexdigest()


# --- pictures ---------------------------------------------------------------------------


def test_a_picture_is_the_kitchen_tile_by_tile() -> None:
    found, frames = real()
    for layout in {frame.slices["layout"] for frame in frames}:
        frame = next(frame for frame in frames if frame.slices["layout"] == layout)
        game = found.load_split().games[frame.group]
        (picture,) = found.pictures(frame.id)
        image = Image.open(BytesIO(picture.data))
        assert picture.mime == Image.MIME[image.format or ""]
        assert image.size == (75 * len(game.grid[0]), 75 * len(game.grid) + 25)


def test_the_same_state_is_the_same_picture_and_another_is_another() -> None:
    found, frames = real()
    ids = [frame.id for frame in frames[100:140]]
    first = [found.pictures(id) for id in ids]
    assert first == [found.pictures(id) for id in ids]
    shown = [tuple(frame.fields[key] for key in ("state", "time_left", "score"))
             for frame in frames[100:140]]  # fmt: skip
    for n in range(len(ids) - 1):
        if shown[n][0] != shown[n + 1][0] and "cooking" not in shown[n][0]:
            assert first[n] != first[n + 1]


def test_frames_come_oldest_first() -> None:
    plain, frames = real()
    found = overcooked_rows.rows(pictures=3)
    game = [frame.id for frame in frames[:5]]
    one = [plain.pictures(id)[0] for id in game]
    assert [found.pictures(id) for id in game] == [
        tuple(one[max(0, n - 2) : n + 1]) for n in range(len(game))
    ]


@pytest.mark.parametrize("id", ["", "cramped_room", "cramped_room-0000000000-0001", "x/../y-1"])
def test_a_row_that_is_not_there_has_no_picture(id: str) -> None:
    with pytest.raises(DataError, match="no step"):
        real()[0].pictures(id)
    frame = real()[1][0]
    with pytest.raises(DataError, match="no step"):
        real()[0].pictures(f"{frame.group}-9999")


# --- games that somebody wrote ----------------------------------------------------------


def home(folder: Path, **changed: Any) -> Path:
    (folder / "human_data").mkdir()
    written = pickled_tables.table(pickled_tables.games(**changed))
    (folder / "human_data/clean_test_trials.pickle").write_bytes(written)
    return folder


def test_a_game_is_read_as_it_was_written(tmp_path: Path) -> None:
    split = human_games.read_games(
        home(
            tmp_path, cur_gameloop=[2.0, 0.0, 1.0], score=[15.0, 5.0, 5.0], reward=[0.0, 5.0, 0.0]
        ),
        "test",
    )
    (game,) = split.games.values()
    assert [step.score for step in game.steps] == [0, 5, 15]
    assert {step.joint for step in game.steps} == {29}
    assert game.grid == ("XXPXX", "O   O", "X   X", "XDXSX")


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("state", "{}", r"row 1: .*players"),
        ("state", "__import__('os').system('true')", r"row 1: malformed"),
        ("joint_action", "['JUMP', [0, 0]]", r"row 1: no action 'JUMP'"),
        ("layout", "['XX', 'X']", r"row 1: a layout whose rows differ"),
        ("layout_name", "../etc", r"row 1: layout_name must be 1 to 64 letters"),
        ("score", float("nan"), r"row 1: score is nan"),
        ("workerid_num", float("inf"), r"row 1: workerid_num is inf"),
        ("cur_gameloop", 0.0, r"a step stands there twice"),
        ("layout", "['XXPXX', 'O   O', 'X   X', 'XXXXX']", r"the layout changes"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, column: str, value: object, why: str) -> None:
    was = pickled_tables.games()[column]
    with pytest.raises(DataError, match=why) as reported:
        human_games.read_games(home(tmp_path, **{column: [was[0], value, was[2]]}), "test")
    assert "clean_test_trials.pickle" in str(reported.value)


def test_all_bad_rows_are_reported_at_once_the_first_by_number(tmp_path: Path) -> None:
    steps = {"steps": 30, "cur_gameloop": list(map(float, range(30)))}
    with pytest.raises(DataError, match=r"row 0: .*row 19: .*; and 10 more"):
        human_games.read_games(home(tmp_path, joint_action="no", **steps), "test")
