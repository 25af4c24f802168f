"""How an answer is read out of a reply."""

from __future__ import annotations

import pytest
from tests.cpu_limit import processor_limit

from toolmark.suites.funcbench.answer_parser import parse_answer

CASES = [
    ("bujxye = 412", "412"),
    ("bujxye is 412", "412"),
    ("bujxye: 412.", "412"),
    ("bujxye = 412.0", "412"),
    ("`bujxye` = 412", "412"),
    ("**bujxye = 412**", "412"),
    ("**bujxye:** 412", "412"),
    ("The value of `bujxye` is **412**.", "412"),
    ("The final value of bujxye is therefore equal to 412, since abc = 977.", "412"),
    ("Bujxye has the value 412 (and not 977).", "412"),
    ('the answer: {"bujxye": 412}', "412"),
    ("| bujxye          | 412 |", "412"),
    ("\\[ \\text{bujxye} = \\boxed{412} \\]", "412"),
    ("bujxye → 412", "412"),
    ("bujxye = 111? No: bujxye = 412. It took 3 steps.", "412"),
    ("bujxye =\n\n412", "412"),
    ("412", "412"),
    ("I computed 977 first, then 412", "412"),
    ("Result 1: 977. Result 2: 412.", "412"),
    ("it is 412 and pi is 3.14", "412"),
    ("bujxye was computed. It is 0412", "412"),
    ("bujxye turned out to be 412 after 9 calls", "412"),
    ("bujxye, which is 412, took 9 calls", "412"),
    ("bujxye (type rzsugk and subtype bvpyjh) = 412, called 5 functions", "412"),
    ("bujxye (step 3) = 412 after step 5", "412"),
    ("bujxye (the value is 412) took 9 calls", "412"),
    ("bujxye (= 412) took 9 calls", "412"),
    ("bujxye (412), 9 calls", "412"),
    ("bujxye, the target, is 412 (9 calls)", "412"),
    ("bujxye's value is 412, after 9 calls", "412"),
    ("bujxye’s final value is 412. Calls: 9", "412"),
    ("the value of bujxye is therefore 412. I made 9 calls.", "412"),
    ("bujxye works out to 412; 9 calls", "412"),
    ("bujxye evaluates to 412 [9]", "412"),
    ("bujxye must be 412. Step 3 is done.", "412"),
    ("bujxye should then be 412 = done in 9", "412"),
    # sums and chains
    ("bujxye = 100 + 312 = 412", "412"),
    ("bujxye = 100 + 312 = 412. 9 calls", "412"),
    ("bujxye = 500 - 88 = 412 (9)", "412"),
    ("bujxye = 412 = 100 + 312", "412"),
    ("bujxye = 412 = 500 - 88", "412"),
    ("bujxye = func_abc(592, 977) = 412; 9 calls", "412"),
    ("bujxye = func_abc(x=592, y=977) → 412, 9 calls", "412"),
    ("bujxye = `func_abc(x=592)` = **412**, step 9", "412"),
    ("bujxye = yogipe + lccabx = 100 + 312 = 412, 9 calls", "412"),
    ("bujxye = 412 - yogipe = 592 - lccabx = 977", "412"),
    ("bujxye = 412 - this took 9 calls", "412"),
    ("bujxye = 412 - 9 calls", "412"),
    # mark-up
    ("**bujxye** = **412** (9)", "412"),
    ("*bujxye*: *412*, 9", "412"),
    ("_bujxye_ is 412, 9", "412"),
    ("`bujxye` is 412 [9]", "412"),
    ("bujxye: 412\n\nCalls: 9", "412"),
    ("bujxye：412 (9)", "412"),
    ("<b>bujxye</b> = <b>412</b>, 9 calls", "412"),
    ("| step | 9 |\n| bujxye | 412 |\n| calls | 9 |", "412"),
    ("“bujxye” is “412”. 9", "412"),
    (r"$\boxed{412}$", "412"),
    (r"The answer is \boxed{412}.", "412"),
    (r"$bujxye = \boxed{412}$ after 9", "412"),
    (r"\mathrm{bujxye} &= 412 \\ n &= 9", "412"),
    (r"\(\text{bujxye} = 412\), 9", "412"),
    ('```json\n{"bujxye": 412, "calls": 9}\n```', "412"),
    ("{'bujxye': '412', 'n': 9}", "412"),
    # the last one counts
    ("bujxye = 977, no, wait: bujxye = 412. Call 9 was wrong.", "412"),
    # numbers of something else
    ("step 3: bujxye = 412, step 4: done", "412"),
    ("step 3: yogipe = 977\nstep 4: 412", "412"),
    ("yogipe = 977, bujxye = 412, lccabx = 500", "412"),
    ("bujxye has 3 inputs. Its value: 412", "412"),
    ("bujxye needs 3 function calls, and then comes 412", "412"),
    ("To get bujxye:\n1. call func_abc\n2. call func_xyz\nResult: 412", "412"),
    ("bujxye:\n\n1) func_abc gave 977\n2) func_xyz gave 412", "412"),
    ("bujxye is a 3-digit value: I found 412", "412"),
    ("bujxye is not 977 but 412", "412"),
    ("bujxye depends on yogipe = 977, so the answer is 412", "412"),
    ("func_bujxye = 977 and bujxye_2 = 978, so 412", "412"),
    ("xbujxye = 977 and bujxyez = 978, so 412", "412"),
    ("412 is a 3-digit number", "412"),
    ("The target is bujxye. It took func_abc to reach 412", "412"),
    ("Inputs of bujxye: yogipe = 592, lccabx = 977. The answer is 412", "412"),
    ("For bujxye:\nyogipe = 592\nlccabx = 977\nAnswer: 412", "412"),
    ("bujxye is func_abc(592) = 412, 9", "412"),
    ("bujxye: 100 + 312 = 412, 9", "412"),
    # wrong answers stay wrong
    ("bujxye = 4.12e2", "4.12e2"),
    ("bujxye = 412.5, from 412", "412.5"),
    ("bujxye = 1,412", "1412"),
    ("bujxye = 1\u202f412 and not 412", "1412"),
    ("bujxye = 12_412", "12412"),
    ("so it is 1,412", "1412"),
    ("bujxye = -412", "-412"),
    ("bujxye = −412", "-412"),
    ("so it is -412", "-412"),
    ("bujxye = 0", "0"),
    # nothing said
    ("", ""),
    ("I do not know.", ""),
    ("bujxye", ""),
    ("bujxye = ?", ""),
    ("func_a1b2", ""),
    ("3.14", ""),
    ("v2.1.x and 1.2.3", ""),
    ("4.12e2", ""),
    ("a 3-digit value", ""),
    ("bujxye2 = x", ""),
]


@pytest.mark.parametrize(("text", "answer"), CASES)
def test_the_number_said_of_the_target_is_the_answer_else_the_last(text: str, answer: str) -> None:
    assert parse_answer(text, "bujxye") == answer


def test_thousands_of_digits_are_read() -> None:
    assert parse_answer("bujxye = " + "9" * 5000, "bujxye") == "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        "bujxye is the value of " * 50_000,
        "bujxye" + " " * 1_000_000 + "!",
        "bujxye is " + "the " * 300_000,
        "1 " * 500_000 + "x",
        "9" * 1_000_000 + "x",
        "-" * 1_000_000,
        "bujxye = " * 100_000,
        "bujxye = 1 = " * 80_000,
        "bujxye = f(" * 100_000,
        "bujxye (the " * 90_000,
        "bujxye, the " * 90_000,
        "bujxye = " + "a(b)+" * 200_000,
        "1" + ",234" * 250_000 + "x",
    ],
)
def test_no_text_makes_parsing_slow(text: str) -> None:
    with processor_limit():
        parse_answer(text, "bujxye")
