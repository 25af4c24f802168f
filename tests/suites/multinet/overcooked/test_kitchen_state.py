"""A state is read as a literal, checked against its kitchen, and told without loss."""

from __future__ import annotations

import json

import pytest

from toolmark.suites.multinet.overcooked import human_games, kitchen_state

KITCHEN = kitchen_state.parse_grid("['XXPXX', 'O  2O', 'X1  X', 'XDXSX']")
SAID = (
    "{'players': [{'position': [1, 2], 'orientation': [0, -1]}, {'position': [3, 1], 'orientation':"
    " [-1, 0], 'held_object': {'name': 'soup', 'position': [3, 1], 'state': ['onion', 3, 22]}}], "
    "'objects': {'2,0': {'name': 'soup', 'position': [2, 0], 'state': ['onion', 3, 7]}, "
    "'0,0': {'name': 'dish', 'position': [0, 0]}}, 'order_list': ['onion'], 'pot_explosion': False}"
)


def test_python_and_json_say_the_same() -> None:
    whole = kitchen_state.parse_state(SAID, KITCHEN)
    assert kitchen_state.parse_state(json.dumps(translated(SAID)), KITCHEN) == whole
    quoted = SAID.replace("'order_list': ['onion']", "'order_list': [\"o'nion\"]")
    assert kitchen_state.parse_state(quoted, KITCHEN) == whole


def translated(text: str) -> object:
    return json.loads(text.replace("'", '"').replace("False", "false"))


def test_the_text_says_what_is_where() -> None:
    now = kitchen_state.parse_state(SAID, KITCHEN)
    assert kitchen_state.describe_state(KITCHEN, now).splitlines() == [
        "player 0 (blue hat) at column 1, row 2, faces north, holds nothing",
        "player 1 (green hat) at column 3, row 1, faces west, holds dish with onion soup",
        "dish lies at column 0, row 0",
        "pot at column 2, row 0: onion soup, cooking, 7 of 20 steps",
    ]
    assert kitchen_state.draw_text_plan(KITCHEN, now).splitlines()[:4] == [
        "XXPXX",
        "O..1O",
        "X0..X",
        "XDXSX",
    ]


@pytest.mark.parametrize(
    ("soup", "reported"),
    [
        ("'onion', 1, 0", "1 of 3 ingredients (onion)"),
        ("'onion', 3, 19", "onion soup, cooking, 19 of 20 steps"),
        ("'tomato', 3, 20", "tomato soup, ready"),
    ],
)
def test_a_pot_tells_how_far_it_is(soup: str, reported: str) -> None:
    now = kitchen_state.parse_state(SAID.replace("'onion', 3, 7", soup), KITCHEN)
    assert kitchen_state.describe_state(KITCHEN, now).endswith(reported)


@pytest.mark.parametrize(
    ("was", "is_", "why"),
    [
        ("[1, 2]", "[0, 0]", "player 0 does not stand on the floor"),
        ("[1, 2]", "[99, 2]", "player 0 does not stand on the floor"),
        ("[0, -1]", "[1, 1]", "player 0 faces"),
        ("[0, 0]", "[0, -1]", "dish outside the layout"),
        ("'onion', 3, 7", "'onion', 4, 7", "a soup of"),
        ("'onion', 3, 7", "'onion', 3, -1", "a soup of"),
        (", 'state': ['onion', 3, 7]", "", "soup with the state None"),
        ("'name': 'dish',", "'name': 'dish', 'state': ['onion', 1, 0],", "dish with the state"),
        ("'dish'", "'bomb'", "Invalid enum value"),
        ("'objects'", "'things'", "objects"),
        ("[1, 2]", "[1, 2, 3]", "length 2"),
        ("False", "print(1)", "malformed"),
        ("False", "__import__('os')", "malformed"),
        ("}]", "", "not a literal"),
        ("False", "-" * 60_000 + "1", "."),
        ("False", "[" * 60_000, "not a literal"),
        ("False", " " * 70_000, "the limit"),
    ],
    ids=lambda value: value[:20],
)
def test_a_state_that_cannot_be_is_refused(was: str, is_: str, why: str) -> None:
    assert was in SAID
    with pytest.raises(ValueError, match=why):
        kitchen_state.parse_state(SAID.replace(was, is_, 1), KITCHEN)


@pytest.mark.parametrize("text", ["[]", "['']", "['XX', 'X']", "['Q']", "'XX'", "[1]", "", "['XX'"])
def test_a_layout_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        kitchen_state.parse_grid(text)


@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("[[0, 0], [0, 0]]", 28), ("[[0, -1], [0, -1]]", 0), ("['INTERACT', 'INTERACT']", 35),
        ("['interact', [0, 0]]", 34), ("[[0, 0], 'INTERACT']", 29), ("[[0, 1], [1, 0]]", 8),
        ('["interact", [-1, 0]]', 33), ("[[-1, 0], [0, 1]]", 19), ("['STAY', 'STAY']", 28),
    ],
)  # fmt: skip
def test_a_joint_action_is_six_times_the_first_plus_the_second(said: str, number: int) -> None:
    assert human_games.parse_joint_action(said) == number


@pytest.mark.parametrize(
    "said", ["[[0, 0]]", "[[1, 1], [0, 0]]", "['JUMP', [0, 0]]", "[[0, 0], [0, 0], [0, 0]]", "28"]
)
def test_what_nobody_can_do_is_no_action(said: str) -> None:
    with pytest.raises(ValueError):
        human_games.parse_joint_action(said)
