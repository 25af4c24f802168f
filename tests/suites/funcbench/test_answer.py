"""How an answer is read out of a reply."""

from __future__ import annotations

import time

import pytest

from toolmark.suites.funcbench.answer import read


@pytest.mark.parametrize(
    "text",
    [
        "bujxye = 412",
        "bujxye is 412",
        "bujxye: 412.",
        "bujxye = 412.0",
        "`bujxye` = 412",
        "**bujxye = 412**",
        "**bujxye:** 412",
        "The value of `bujxye` is **412**.",
        "The final value of bujxye is therefore equal to 412, since abc = 977.",
        "Bujxye has the value 412 (and not 977).",
        'the answer: {"bujxye": 412}',
        "| bujxye          | 412 |",
        r"\[ \text{bujxye} = \boxed{412} \]",
        "bujxye → 412",
        "bujxye = 111? No: bujxye = 412. It took 3 steps.",
        "bujxye =\n\n412",
        "412",
        "I computed 977 first, then 412",
        "Result 1: 977. Result 2: 412.",
        "it is 412 and pi is 3.14",
        "bujxye was computed. It is 0412",
    ],
)
def test_the_number_said_of_the_target_is_the_answer_else_the_last(text: str) -> None:
    assert read(text, "bujxye") == "412"


@pytest.mark.parametrize("text", ["", "I do not know.", "bujxye", "func_a1b2", "3.14", "v2.1.x"])
def test_no_integer_is_no_answer(text: str) -> None:
    assert read(text, "bujxye") == ""


def test_a_number_of_the_target_that_is_no_integer_is_a_wrong_answer() -> None:
    assert read("bujxye = 412.5, from 412", "bujxye") == "412.5"


def test_a_sign_counts() -> None:
    assert read("bujxye = -412", "bujxye") == "-412"
    assert read("so it is -412", "bujxye") == "-412"


def test_a_name_within_a_longer_one_is_another_name() -> None:
    assert read("xbujxye = 977 and bujxyez = 978, so 412", "bujxye") == "412"


def test_thousands_of_digits_are_read() -> None:
    assert read("bujxye = " + "9" * 5000, "bujxye") == "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "bujxye is the value of " * 50_000,
        "bujxye" + " " * 1_000_000 + "!",
        "bujxye is " + "the " * 300_000,
        "1 " * 500_000 + "x",
        "9" * 1_000_000 + "x",
        "-" * 1_000_000,
    ],
)
def test_no_text_makes_reading_slow(text: str) -> None:
    start = time.perf_counter()
    read(text, "bujxye")
    assert time.perf_counter() - start < 3
