"""Laws of the baselines: what they may learn from, and what they may not."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from toolmark.suites.multinet import baseline_answers
from toolmark.suites.multinet.frame_records import (
    ActionVector,
    AnswerSpace,
    Choice,
    Distribution,
    Frame,
    FreeText,
    FunctionCalls,
    OneStepRows,
    Picture,
)
from toolmark.suites.multinet.multinet_families import BASELINES_BY_FAMILY, FAMILIES, Family

JOINT = tuple(f"joint {k}" for k in range(36))
SPACES: dict[str, AnswerSpace] = {
    "piqa": Choice(options=("one", "two")),
    "sqa3d": FreeText(),
    "robovqa": FreeText(),
    "odinw": Choice(options=("cup", "fork", "spoon")),
    "bfcl": FunctionCalls(),
    "overcooked": Choice(options=JOINT),
    "openx": ActionVector(names=("x", "y"), low=(-1.0, 0.0), high=(1.0, 4.0), mean=(0.1, 2.0)),
}
LEVELS = {"sqa3d": "type", "robovqa": "type", "odinw": "subset", "overcooked": "layout"}


class Loaded(OneStepRows):
    """Rows in memory."""

    def __init__(self, frames: Sequence[Frame], name: str = "held") -> None:
        self.frames, self.name = frames, name
        self.clustered = True

    @property
    def hashes(self) -> Mapping[str, str]:
        return {self.name: "0" * 64}

    @property
    def notes(self) -> Sequence[str]:
        return ("held in memory",)

    def __len__(self) -> int:
        return len(self.frames)

    def __iter__(self) -> Iterator[Frame]:
        return iter(self.frames)

    def pictures(self, id: str) -> tuple[Picture, ...]:
        return (Picture(data=id.encode(), mime="image/png"),)


def frame(family: Family, n: int, truth: Any, group: str = "a", step: int = 0, level: str = "l",
          space: AnswerSpace | None = None) -> Frame:  # fmt: skip
    return Frame(
        id=f"{family}/{n}", family=family, source="synthetic", space=space or SPACES[family],
        truth=truth, group=group, step=step, slices={LEVELS.get(family, "other"): level},
        turns=("say",) * len(truth) if family == "bfcl" else (),
    )  # fmt: skip


def answers(rows: Sequence[Frame], train: Sequence[Frame] | None = None,
            seed: int = 0) -> list[dict[str, Any]]:  # fmt: skip
    taught = None if train is None else Loaded(train)
    return [
        dict(each.baseline_answers)
        for each in baseline_answers.add_baseline_answers(Loaded(rows), taught, seed)
    ]


TRUTHS: dict[str, st.SearchStrategy[Any]] = {
    "piqa": st.integers(0, 1),
    "sqa3d": st.sampled_from(["yes", "no", "left", "2"]),
    "robovqa": st.sampled_from(["yes", "no", "done"]),
    "odinw": st.integers(0, 2),
    "bfcl": st.lists(
        st.sampled_from([("cd('a')",), ("ls()", "pwd()"), ()]), min_size=1, max_size=3
    ).map(tuple),
    "overcooked": st.integers(0, 35),
    "openx": st.tuples(st.floats(-1, 1), st.floats(0, 4)),
}


@st.composite
def episodes(draw: Any, family: Family) -> list[Frame]:
    made = []
    for n in range(draw(st.integers(1, 12))):
        group, level = (draw(st.sampled_from("abc")) for _ in range(2))
        step = draw(st.integers(0, 5))
        made.append(frame(family, n, draw(TRUTHS[family]), group, step, level))
    return made


@pytest.mark.parametrize("taught", [False, True])
@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_guess_never_hangs_on_its_own_truth(family: Family, taught: bool, data: Any) -> None:
    rows = data.draw(episodes(family))
    train = data.draw(episodes(family)) if taught else None
    at = data.draw(st.integers(0, len(rows) - 1))
    other = data.draw(TRUTHS[family])
    if family == "bfcl":  # the number of turns is not a secret: as many as the user's
        other = (*other, *((("x()",),) * 3))[: len(rows[at].truth)]
    changed = [*rows[:at], replace(rows[at], truth=other), *rows[at + 1 :]]
    assert answers(rows, train)[at] == answers(changed, train)[at]


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_guesses_hang_on_no_order_of_the_rows(family: Family, data: Any) -> None:
    rows = data.draw(episodes(family))
    rows = [replace(each, step=n) for n, each in enumerate(rows)]  # no two at one step of a group
    moved = data.draw(st.permutations(rows))
    known = {each.id: found for each, found in zip(rows, answers(rows, None), strict=True)}
    assert known == {each.id: one for each, one in zip(moved, answers(moved, None), strict=True)}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_its_baselines_and_they_answer_in_the_terms_of_its_space(
    family: Family,
) -> None:
    truths = {"bfcl": (("a()",), ()), "openx": (0.5, 1.0), "sqa3d": "yes", "robovqa": "no"}
    rows = [frame(family, n, truths.get(family, 1), str(n)) for n in range(4)]
    for found in answers(rows):
        assert tuple(found) == BASELINES_BY_FAMILY[family]
        for answer in found.values():
            match SPACES[family]:
                case Choice(options=options):
                    assert answer in range(len(options))
                case ActionVector(names=names):
                    assert len(answer) == len(names)
                case FreeText():
                    assert isinstance(answer, str)
                case _:
                    assert answer == (("a()",), ())


def test_majority_is_that_of_the_training_split_and_by_level_of_its_level() -> None:
    seen = [(3, "ring"), (3, "ring"), (3, "ring"), (7, "room"), (7, "room")]
    train = [frame("overcooked", n, truth, level=level) for n, (truth, level) in enumerate(seen)]
    rows = [frame("overcooked", 100 + n, 11, "t", n, level)
            for n, level in enumerate(("ring", "room", "new"))]  # fmt: skip
    found = answers(rows, train)
    assert [each["majority"] for each in found] == [3, 3, 3]
    assert [each["majority-by-layout"] for each in found] == [3, 7, 3], "of a new layout the whole"
    assert {each["stay"] for each in found} == {28}


def test_without_a_training_split_one_half_of_the_groups_teaches_the_other() -> None:
    rows = [frame("odinw", n, n % 2, f"g{n}", level="ab"[n % 2]) for n in range(40)]
    known = {each["majority"]: n for n, each in enumerate(answers(rows))}
    assert len(rows) == 40 and set(known) <= {0, 1}
    changed = [replace(each, truth=2) for each in rows]
    for at in range(0, 40, 7):  # who is in the other half hangs on names alone
        twin = answers([*rows[:at], changed[at], *rows[at + 1 :]])
        assert twin[at] == answers(rows)[at]
    by = [each["majority-by-subset"] for each in answers(rows)]
    assert by == [n % 2 for n in range(40)]
    alone = baseline_answers.add_baseline_answers(Loaded(rows), None, 0)
    assert alone.notes[0] == "held in memory" and "no training split" in alone.notes[1]
    taught = baseline_answers.add_baseline_answers(Loaded(rows), Loaded(rows, "taught"), 0)
    assert taught.notes == ("held in memory",) and set(taught.hashes) == {"held", "train/taught"}
    moves = [frame("openx", n, (0.0, 0.0)) for n in range(3)]
    assert baseline_answers.add_baseline_answers(Loaded(moves), None, 0).notes == (
        "held in memory",
    ), "none is learned"


def test_a_level_that_is_one_group_is_taught_by_its_other_rows() -> None:
    rows = [frame("odinw", n, 2, "a", n) for n in range(6)]
    assert {each["majority-by-subset"] for each in answers(rows)} == {2}
    assert answers(rows[:1])[0].get("majority") is None


@pytest.mark.parametrize("n_groups", [2, 3, 400])
def test_two_groups_are_enough_to_be_taught_by_another(n_groups: int) -> None:
    rows = [frame("overcooked", n, n % n_groups, f"g{n % n_groups}", n) for n in range(1200)]
    for each, found in zip(rows, answers(rows), strict=True):
        assert found["majority"] != each.truth, "a group that has an answer of its own never helps"


def test_where_answers_are_equally_common_majority_is_right_in_half_of_them() -> None:
    for apart in (True, False):
        truths = [n % 2 for n in range(2000)]
        rows = [frame("piqa", n, truth, f"{n}" if apart else "one", n)
                for n, truth in enumerate(truths)]  # fmt: skip
        found = answers(rows)
        right = sum(each["majority"] == truth for each, truth in zip(found, truths, strict=True))
        assert 0.45 < right / 2000 <= 0.5  # a half that has more of one teaches it to the other


def test_an_answer_that_is_not_possible_here_is_never_guessed() -> None:
    train = [frame("odinw", n, truth) for n, truth in enumerate([2, 2, 2, 0])]
    pair = Choice(options=("helmet", "head"))
    assert answers([frame("odinw", 9, 1, space=pair)], train)[0]["majority"] == 0


def test_what_is_equally_common_goes_by_its_own_order() -> None:
    for truths in (["no", "yes"], ["yes", "no"]):
        train = [frame("robovqa", n, truth) for n, truth in enumerate(truths)]
        assert answers([frame("robovqa", 9, "x")], train)[0]["majority"] == "no"


def test_previous_and_linear_carry_on_what_was_true_in_the_group() -> None:
    path = [(0.0, 1.0), (0.5, 1.5), (0.75, 3.0)]
    rows = [frame("openx", n, truth, "a", n) for n, truth in enumerate(path)]
    rows.append(frame("openx", 9, (1.0, 1.0), "b"))
    found = answers(rows)
    mean = (0.1, 2.0)
    assert [each["previous"] for each in found] == [mean, path[0], path[1], mean]
    assert [each["linear"] for each in found] == [mean, path[0], (1.0, 2.0), mean]
    assert {each["mean"] for each in found} == {mean}


def test_previous_answers_as_majority_at_a_groups_first_row() -> None:
    train = [frame("overcooked", n, 5, "t", n) for n in range(3)]
    rows = [frame("overcooked", 10 + n, truth, "a", n) for n, truth in enumerate((8, 9, 9))]
    assert [each["previous"] for each in answers(rows, train)] == [5, 8, 9]


def test_uniform_is_drawn_from_seed_and_id_and_for_odds_it_is_every_share_alike() -> None:
    rows = [frame("overcooked", n, 0, str(n)) for n in range(3600)]
    first, again, other = (answers(rows, None, seed) for seed in (1, 1, 2))
    drawn = Counter(each["uniform"] for each in first)
    assert first == again != other
    assert set(drawn) == set(range(36)) and max(drawn.values()) < 160  # 100 each, sd 10
    odds = [frame("overcooked", 0, 3, space=Distribution(options=JOINT))]
    [found] = answers(odds, rows)
    assert sum(found["uniform"]) == pytest.approx(1) and len(set(found["uniform"])) == 1
    assert found["previous"] == found["majority"] == 0
    moves = answers([frame("openx", n, (0.0, 0.0)) for n in range(50)])
    assert all(-1 <= each["uniform"][0] <= 1 and 0 <= each["uniform"][1] <= 4 for each in moves)


def test_calls_are_guessed_turn_by_turn() -> None:
    seen = [(("a()",), ("b()",)), (("a()",), ("c()",)), (("d()",), ("c()",))]
    train = [frame("bfcl", n, truth, str(n)) for n, truth in enumerate(seen)]
    row = frame("bfcl", 9, (("x()",), (), ("y()",)), "9")
    assert answers([row], train) == [{"majority": (("a()",), ("c()",), ())}]
    assert answers([row]) == [{"majority": ((), (), ())}], "nobody else has spoken"


def test_what_nothing_is_known_of_is_not_guessed() -> None:
    assert answers([frame("robovqa", 0, "yes")]) == [{}]
    assert answers([], [frame("piqa", 0, 1)]) == []


def test_rows_travel_without_what_was_learned_and_keep_all_else() -> None:
    rows = [frame("piqa", n, n % 2, str(n)) for n in range(200)]
    made = baseline_answers.add_baseline_answers(Loaded(rows), Loaded(rows), 3)
    light = len(pickle.dumps(made))
    found = list(made)
    assert len(pickle.dumps(made)) == light
    back = pickle.loads(pickle.dumps(made))  # noqa: S301
    assert list(back) == found and len(back) == 200 and back.clustered
    assert back.pictures("x") == made.pictures("x")
    assert [replace(each, baseline_answers={}) for each in found] == rows
