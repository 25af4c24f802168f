"""What the command line says of runs that go on, begin anew, or were never finished."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command, Mind

from toolmark.core.errors import UsageError
from toolmark.runs.run_store import Run

WORDS = ("run", "funcbench", "-T", "core=3", "-T", "depth=2", "-T", "graphs=2", "--seed", "7")


ODD = """
from dataclasses import replace
from msgspec.structs import replace as renamed
import toolmark as tm
from toolmark.suites.funcbench.funcbench_suite import SCORER

def load() -> tm.Suite:
    suite = tm.load("funcbench", core=3, depth=2, graphs=1, seed=3)
    task = renamed(next(iter(suite)), id="it's [b]", suite="odd")
    return replace(suite, name="odd", tasks=[task], scorer=SCORER)
"""


def the_run() -> Path:
    (path,) = Path("runs").glob("*/")
    return path


def test_a_run_that_goes_on_and_one_that_begins_say_why(toolmark: Command, mind: Mind) -> None:
    words = (*WORDS, "-m", mind.model, "--max-retries", "0")
    mind.status = 500
    assert "continuing" not in toolmark(*words).err
    mind.status = 200
    said = toolmark(*words)
    assert said.code == 0
    assert f"continuing {the_run()}: 0 of 2 episodes are stored" in said.err
    said = toolmark(*words)
    first = sorted(Path("runs").glob("*/"))[0]
    assert f"new run: {first} has all of its episodes" in said.err
    said = toolmark(*words, "--temperature", "0.5")
    assert "new run: temperature differs (0.0 -> 0.5)" in said.err


def test_the_printed_command_finishes_a_run_that_was_not(toolmark: Command, mind: Mind) -> None:
    words = (*WORDS, "-m", mind.model)
    toolmark(*words)
    path = the_run()
    (path / "summary.json").unlink()
    (path / "scores.jsonl").unlink()
    assert not Run(path).is_finished
    listed = toolmark("show", str(path))
    assert listed.code == 0 and listed.out.count("not scored yet") == 2
    asked = len(mind.asked)
    said = toolmark(*words)
    assert (said.code, len(mind.asked)) == (0, asked)
    assert f"continuing {path}: 2 of 2 episodes are stored" in said.err
    (path / "summary.json").unlink()
    with pytest.raises(UsageError) as caught:
        Run(path).summary()
    command = str(caught.value).partition("next: ")[2]
    assert toolmark(*shlex.split(command)[1:]).code == 0
    assert Run(path).is_finished


def steps(said: str) -> list[list[str]]:
    """Return the commands that are printed as next steps, as a shell reads them."""
    found = re.findall(
        r"next: (?:[^:]*: )?(toolmark (?:show|report|score) .*)$", said, re.MULTILINE
    )
    return [shlex.split(command)[1:] for command in found]


def test_every_printed_next_step_works_when_pasted(
    toolmark: Command, mind: Mind, tmp_path: Path
) -> None:
    """Folders, ids and files of suites may hold what a shell or a console would obey."""
    logs = "my [red] runs; x"
    Path("odd suites").mkdir()
    Path("odd suites/shop.py").write_text(ODD)
    mind.status = 400
    words = ("run", "odd suites/shop.py:load", "-m", mind.model, "--log-dir", logs)
    said = toolmark(*words, "--max-retries", "0")
    assert said.code == 3
    path = next(Path(logs).glob("*/"))
    assert str(path) in said.out
    asked = steps(said.out)
    assert asked == [["show", str(path), "it's [b]"], ["report", str(path)]]
    (path / "summary.json").unlink()
    asked += steps(toolmark("show", str(path)).err)
    assert asked[-1] == ["score", str(path), "--suite", "odd suites/shop.py:load"]
    for command in asked:
        done = toolmark(*command)
        assert done.code == 0, done.err


def test_to_begin_anew_and_to_go_on_exclude_each_other(toolmark: Command) -> None:
    said = toolmark(*WORDS, "-m", "control/null", "--fresh", "--continue")
    assert said.code == 2
    assert "--fresh begins a new run, --continue goes on with one" in said.err
