"""Suites as tests of pytest: what is asked and when, what fails, and with how many workers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from defusedxml import ElementTree

import toolmark
import toolmark.api
import toolmark.testing.suite_requests  # numpy cannot be loaded twice in one process

pytest_plugins = ["pytester"]

SUITE = '''
import toolmark as tm
from toolmark.core.records import Message, Text, Turn

N = 12

def sums(n: int = N):
    """Sums of a number and one."""
    def task(i):
        asked = Message(role="user", parts=(Text(f"{i} + 1"),))
        return tm.Task(id=f"sum-{i}", suite="sums", turns=(Turn(messages=(asked,)),), data=i + 1)
    return tm.Suite(
        name="sums", tasks=[task(i) for i in range(n)],
        scorer=lambda episode: episode.answer == str(episode.data),
    )
'''
MODEL = '''
from pathlib import Path
from toolmark.core.errors import Timeout
from toolmark.core.records import Reply

async def adder(request):
    """Answer all right but what is divisible by six."""
    asked = request.messages[-1].text
    with open(Path(__file__).parent / "asked.txt", "a") as file:
        file.write(asked + "\\n")
    number = int(asked.split()[0])
    return Reply(text=str(number + 1 if number % 6 else 0))

async def broken(request):
    if request.messages[-1].text.startswith("3 "):
        raise LookupError("no sum of three")
    return await adder(request)
'''
TESTS = """
import pytest

pytestmark = pytest.mark.toolmark_suite("my_suites.py:sums", model="my_models:adder")

def test_is_a_number(toolmark_episode):
    assert toolmark_episode.answer.isdigit()

def test_is_right(toolmark_verdict):
    assert toolmark_verdict.outcome == "correct"

def test_reaches_half(toolmark_run, toolmark_gate):
    toolmark_gate(toolmark_run, at_least=0.5)

def test_reaches_nine_tenths(toolmark_run, toolmark_gate):
    toolmark_gate(toolmark_run, at_least=0.9)
"""


def plugin_arguments() -> tuple[str, ...]:
    """Return how the plugin is loaded: by its entry point, or by name where that is missing."""
    installed = any(each.name == "toolmark" for each in entry_points(group="pytest11"))
    return () if installed else ("-p", "toolmark.pytest_plugin")


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Iterator[pytest.Pytester]:
    source = Path(toolmark.__file__).parents[1]
    found = (str(source), str(pytester.path), os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, found)))
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    for name in ("my_suites", "my_models", "test_sums"):  # of other tests in this process
        monkeypatch.delitem(sys.modules, name, raising=False)
    pytester.makepyfile(my_suites=SUITE, my_models=MODEL, test_sums=TESTS)
    # a run within this process finds plugins that this process has loaded
    pytester.makeini(
        "[pytest]\naddopts = -p no:cacheprovider\n"
        "filterwarnings = ignore::pytest.PytestAssertRewriteWarning\n"
    )
    yield pytester


def run(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run pytest within this process, which has loaded all that a new one would load again."""
    return project.runpytest_inprocess(*plugin_arguments(), *words)


def run_process(project: pytest.Pytester, *words: str) -> pytest.RunResult:
    return project.runpytest_subprocess(*plugin_arguments(), *words, timeout=120)


def asked(project: pytest.Pytester) -> list[str]:
    path = project.path / "asked.txt"
    return path.read_text().splitlines() if path.exists() else []


def runs(project: pytest.Pytester) -> list[Path]:
    return sorted((project.path / "runs").glob("*/summary.json"))


def test_each_episode_is_a_test_and_the_suite_is_run_once(project: pytest.Pytester) -> None:
    ended = run(project, "--junitxml=junit.xml")
    ended.assert_outcomes(passed=12 + 10 + 1, failed=2 + 1)
    assert len(asked(project)) == len(set(asked(project))) == 12
    (summary,) = runs(project)
    assert json.loads(summary.read_text())["score"]["value"] == 10 / 12
    root = ElementTree.fromstring((project.path / "junit.xml").read_bytes())
    failed = {
        case.get("name") for case in root.iter("testcase") if case.find("failure") is not None
    }
    assert failed == {"test_is_right[sum-0]", "test_is_right[sum-6]", "test_reaches_nine_tenths"}
    shown = [line for line in ended.outlines if "at_least 90 % failed" in line]
    assert any("83.3 %" in line for line in shown)


def test_collecting_asks_no_model(project: pytest.Pytester) -> None:
    ended = run(project, "--collect-only", "-q")
    assert ended.ret == 0
    assert "test_sums.py::test_is_right[sum-11]" in ended.outlines
    assert not asked(project) and not runs(project)


def test_a_selection_that_needs_no_episode_asks_no_model(project: pytest.Pytester) -> None:
    project.makepyfile(test_other="def test_nothing(): pass\n")
    run(project, "-k", "nothing").assert_outcomes(passed=1, deselected=26)
    assert not asked(project)


def test_a_selection_of_tasks_asks_these_tasks(project: pytest.Pytester) -> None:
    run(project, "-k", "sum-4 or sum-6").assert_outcomes(passed=3, failed=1, deselected=22)
    assert asked(project) == ["4 + 1", "6 + 1"]
    run(project, "-k", "sum-4 or half").assert_outcomes(passed=3, deselected=23)
    assert len(asked(project)) == 2 + 12  # a gate needs all of the suite


def test_each_session_asks_anew(project: pytest.Pytester) -> None:
    for n in (1, 2):
        run(project, "-k", "half").assert_outcomes(passed=1, deselected=25)
        assert len(asked(project)) == 12 * n and len(runs(project)) == n


def test_workers_share_one_run(project: pytest.Pytester) -> None:
    ended = run_process(project, "-n", "3")
    ended.assert_outcomes(passed=23, failed=3)
    assert len(asked(project)) == 12 and len(runs(project)) == 1
    assert sum("sums on my_models:adder" in line for line in ended.outlines) == 1


def test_a_run_that_cannot_be_made_is_tried_once(project: pytest.Pytester) -> None:
    project.makepyfile(test_sums=TESTS.replace("my_models:adder", "openai/m"))
    for words in ((), ("-n", "2")):
        ended = run(project, *words)
        counts = ended.parseoutcomes()
        assert counts == {"errors": 26}
        assert any("no key for openai/m: set OPENAI_API_KEY" in line for line in ended.outlines)


def test_what_was_not_run_is_an_error_and_fails_a_gate(project: pytest.Pytester) -> None:
    project.makepyfile(test_sums=TESTS.replace("my_models:adder", "my_models:broken"))
    ended = run(project)
    ended.assert_outcomes(errors=2, passed=11 + 9, failed=2 + 2)
    text = "\n".join(ended.outlines)
    assert "LookupError: no sum of three" in text and "1 of 12 episodes not run" in text


def test_recorded_replies_are_replayed_without_a_model(project: pytest.Pytester) -> None:
    marked = TESTS.replace('model="my_models:adder"', 'model="my_models:adder", cache="replies"')
    project.makepyfile(test_sums=marked)
    for words in ((), ("--toolmark-replay-only",)):
        run(project, *words).assert_outcomes(passed=23, failed=3)
        assert len(asked(project)) == 12
    other = run(project, "--toolmark-replay-only", "--toolmark-model", "my_models:broken")
    assert other.parseoutcomes()["errors"] == 24 and len(asked(project)) == 12


def test_a_baseline_is_compared_with(project: pytest.Pytester) -> None:
    run(project, "-k", "half")
    (summary,) = runs(project)
    gate = f'toolmark_gate(toolmark_run, baseline="runs/{summary.parent.name}"'
    project.makepyfile(
        test_sums=TESTS
        + f"""
def test_not_worse(toolmark_run, toolmark_gate):
    {gate})

def test_decided(toolmark_run, toolmark_gate):
    {gate}, fail_if="worse,undecided")
"""
    )
    run(project, "-k", "not_worse or decided").assert_outcomes(passed=1, failed=1, deselected=26)
    worse = run(project, "-k", "not_worse", "--toolmark-model", "control/null")
    worse.assert_outcomes(failed=1, deselected=27)


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ('"my_suites.py:nothing", model="control/null"', "did you mean|no nothing|has no nothing"),
        ('"my_suites.py:sums"', "no model"),
        ('"my_suites.py:sums", model="control/null", limt=3', "limt"),
        ('"funcbench", model="control/null"', "seed"),
        ('model="control/null"', "suite"),
    ],
)  # fmt: skip
def test_a_wrong_marker_says_why_and_asks_nothing(
    project: pytest.Pytester, marker: str, reason: str
) -> None:
    source = TESTS.replace('"my_suites.py:sums", model="my_models:adder"', marker)
    project.makepyfile(test_sums=source)
    ended = run(project)
    assert ended.ret != 0
    ended.stdout.re_match_lines([f".*({reason})"])
    assert not any("Traceback" in line for line in ended.outlines)


def test_repeats_and_parameters_are_those_of_the_marker(project: pytest.Pytester) -> None:
    more = 'model="my_models:adder", parameters={"n": 2}, repeats=3'
    project.makepyfile(test_sums=TESTS.replace('model="my_models:adder"', more))
    ended = run(project, "-q", "--collect-only")
    assert "test_sums.py::test_is_right[sum-1#2]" in ended.outlines
    run(project, "-k", "number").assert_outcomes(passed=6, deselected=8)
    assert len(asked(project)) == 6


def test_a_suite_may_be_given_as_an_object(project: pytest.Pytester) -> None:
    source = TESTS.replace('"my_suites.py:sums"', "sums").replace(
        "import pytest", "import pytest\nfrom my_suites import sums"
    )
    project.makepyfile(test_sums=source)
    run(project).assert_outcomes(passed=23, failed=3)
    project.makepyfile(test_sums=source.replace("(sums,", "(sums(n=3),"))
    run(project, "-k", "number").assert_outcomes(passed=3, deselected=5)


def test_nothing_heavy_is_loaded_until_a_suite_is_used(project: pytest.Pytester) -> None:
    project.makepyfile(
        test_sums="""
import sys

def test_nothing_is_loaded():
    loaded = {"toolmark.api", "toolmark.core", "numpy", "scipy", "msgspec", "uvloop"}
    assert not loaded & sys.modules.keys()
    assert "toolmark.pytest_plugin" in sys.modules
"""
    )
    run_process(project, "-p", "no:hypothesispytest").assert_outcomes(passed=1)
