"""Every number that a reader sees is written by one module, and in one way."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.number_cases import COUNTS

import toolmark
from toolmark.cli import consoles
from toolmark.core import number_format

SOURCE = Path(toolmark.__file__).parent
FORMATTER = "core/number_format.py"

# Modules that write numbers for something other than a reader: what a model or a program reads, a
# drawing's coordinates, names.
NOT_FOR_READERS = (
    "baselines/", "core/svg.py", "environments/", "generation/", "language/",
    "official_bfcl/", "perturb/", "suites/m3/judge_questions.py", "suites/m3/local/",
    "suites/bfcl/twins/", "suites/mfcl_vision/fiction/", "suites/mfcl_vision/scenes/",
    "suites/multinet/overcooked/",
    "suites/multinet/synthetic/", "suites/multinet/task_prompt_wording.py",
    "suites/multinet/openx/robot_episodes.py",
    "studio/bfcl_interchange/leaderboard_files.py",  # the official tables' own form
    "suites/mfcl_vision/answer_spellings.py",  # what counts as a number in an answer
    "suites/mfcl_vision/item_folder.py", "suites/mfcl_vision/task_maker.py",  # boxes of pictures
    "suites/mfcl_vision/accuracy_tables.py",  # names of levels
    "suites/multinet/openx/openx_rows.py",  # values that are not finite
    "runs/costs/run_prices.py",  # a price as --price takes it
)  # fmt: skip
COUNTED = re.compile(r"digits = f")  # only to count the decimals
# Limits that a user set, printed as they were given
LIMITS = re.compile(r"outages=|truths are not in|got \{|value must lie|values\[row\]")
DRAWING = re.compile(r"[MLhvl]\{|rotate\(|\{at:|\{level:")


def written_numbers() -> Iterator[tuple[str, int, str, str]]:
    """Yield file, line, format and source line of every number with decimals in an f-string."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
                spec = "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.format_spec.values  # type: ignore[attr-defined]
                )
                if re.search(r"[,%]|[efg]$", spec):
                    name = path.relative_to(SOURCE).as_posix()
                    yield name, node.lineno, spec, lines[node.lineno - 1]


def test_no_module_for_readers_writes_numbers_by_itself() -> None:
    found = [
        f"{name}:{line}: {spec}"
        for name, line, spec, source in written_numbers()
        if name != FORMATTER
        and not name.startswith(NOT_FOR_READERS)
        and not DRAWING.search(source)
        and not LIMITS.search(source)
        and not COUNTED.search(source)
    ]
    assert found == []


def test_only_the_formatter_knows_the_separator_of_thousands() -> None:
    """Parsers of numbers read it among others; whatever else names it would write it."""
    parsers = {"suites/funcbench/answer_parser.py", "suites/mfcl_vision/final_answer.py",
               "reports/table_format.py"}  # fmt: skip
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"\\u202f|\u202f", path.read_text("utf-8"))
    }
    readers = {name for name in found if name.startswith("language/")}  # of written numbers
    assert found - parsers - readers == {FORMATTER}


@pytest.mark.parametrize(("n", "text"), COUNTS.items())
def test_thousands_are_set_apart(n: int, text: str) -> None:
    assert number_format.format_count(n) == text
    assert number_format.format_fixed(n, 0) == text
    assert number_format.format_short(n) == text


@pytest.mark.parametrize(
    ("value", "n_decimals", "text"),
    [
        (1234.5, 2, "1\u202f234.50"),
        (-1234.56, 1, "−1\u202f234.6"),
        (-0.004, 2, "0.00"),
        (-0.0, 1, "0.0"),
        (0.5, 3, "0.500"),
        (math.nan, 2, "–"),
        (-math.inf, 2, "−∞"),
    ],
)
def test_a_fixed_count_of_decimals(value: float, n_decimals: int, text: str) -> None:
    assert number_format.format_fixed(value, n_decimals) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.31, "+0.31"), (-0.1, "−0.10"), (0.001, "0.00"), (-0.001, "0.00")]
)
def test_a_difference_has_its_sign_unless_it_is_zero(value: float, text: str) -> None:
    assert number_format.format_fixed(value, 2, signed=True) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (1 / 3, "0.3333"),
        (0.5, "0.5"),
        (-0.25, "−0.25"),
        (12.3456, "12.35"),
        (12345.678, "12\u202f346"),
        (123456789.0, "123\u202f456\u202f789"),
        (1234567.5, "1.235\u00a0×\u00a010⁶"),
        (0.00012, "0.00012"),
        (1.5e-5, "1.5\u00a0×\u00a010⁻⁵"),
        (1e300, "1\u00a0×\u00a010³⁰⁰"),
        (math.inf, "∞"),
    ],
)
def test_a_short_number_has_no_needless_digit(value: float, text: str) -> None:
    assert number_format.format_short(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.001, "0.001 s"),
        (0.42, "0.42 s"),
        (1.5, "1.5 s"),
        (9.996, "10 s"),
        (12.34, "12.3 s"),
        (30.0, "30 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (200, "3 min 20 s"),
        (723.4, "12 min 3 s"),
        (3600, "1 h"),
        (7322, "2 h 2 min"),
        (3_600_000, "1\u202f000 h"),
        (math.nan, "–"),
    ],
)
def test_a_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert number_format.format_duration(seconds) == text


@given(st.floats(0, 1e7))
def test_a_duration_reads_back_within_its_smallest_unit(seconds: float) -> None:
    units = {"h": 3600, "min": 60, "s": 1}
    text = number_format.format_duration(seconds).replace("\u202f", "")
    words = text.split()
    if "×" in text:
        return  # far below a millisecond
    read = sum(float(n) * units[unit] for n, unit in zip(words[::2], words[1::2], strict=True))
    smallest = 60 if "h" in words else 1 if "min" in words else 0.1
    assert abs(read - seconds) <= smallest


@pytest.mark.parametrize(
    ("share", "text"), [(0.382, "38.2\u00a0%"), (12.345, "1\u202f234.5\u00a0%")]
)
def test_a_share_is_in_per_cent(share: float, text: str) -> None:
    assert number_format.format_percent(share) == text


def test_a_terminal_gets_plain_spaces_from_whatever_prints() -> None:
    line = f"{number_format.format_count(1_234)} of {number_format.format_percent(0.5)}"
    for console in (consoles.stdout_console(), consoles.stderr_console()):
        with console.capture() as caught:
            console.print(line, markup=False, highlight=False)
            consoles.print_error(console, ValueError(line))
        assert caught.get() == "1 234 of 50.0 %\ntoolmark: 1 234 of 50.0 %\n"


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0"),
        (12.345, "$12.35"),
        (1234.5, "$1\u202f234.50"),
        (0.9999, "$1.00"),
        (0.5, "$0.500"),
        (0.01234, "$0.0123"),
        (0.00000012, "$0.000000120"),
        (-0.25, "−$0.250"),
    ],
)
def test_money(usd: float, text: str) -> None:
    assert number_format.format_usd(usd) == text
