"""The list of a run's episodes: which of them, and what is no choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.servers.mind import Command

GRID = ("-T", "core=4", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=6", "--seed", "5")


@pytest.fixture
def folder(toolmark: Command) -> str:
    """A scored run in which two episodes have another level of an axis."""
    found = json.loads(toolmark("run", "funcbench", "-m", "test/oracle", *GRID, "--json").out)
    scores = Path(found["run_dir"]) / "scores.jsonl"
    lines = [json.loads(line) for line in scores.read_text().splitlines()]
    for line in lines[:2]:
        line["axes"]["depth"] = "3"
    scores.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(found["run_dir"])


def listed(toolmark: Command, folder: str, *words: str) -> list[str]:
    said = toolmark("show", folder, *words)
    assert said.code == 0
    return [line.split()[0] for line in said.out.splitlines()[1:-1]]


def test_a_list_holds_the_episodes_that_were_asked_for(toolmark: Command, folder: str) -> None:
    every = listed(toolmark, folder, "--all")
    assert len(every) == 6
    some = listed(toolmark, folder, "--all", "--axis", "depth=2")
    rest = listed(toolmark, folder, "--all", "--axis", "depth=3")
    assert (len(some), len(rest)) == (4, 2) and sorted(some + rest) == sorted(every)
    assert listed(toolmark, folder, "--outcome", "correct", "--all") == every
    assert "no episode fits" in toolmark("show", folder, "--outcome", "incorrect").out


@pytest.mark.parametrize(
    ("words", "told"),
    [(("--outcome", "corect"), "did you mean: correct"),
     (("--axis", "dept=2"), "did you mean: depth"),
     (("--axis", "depth=9"), "no such level")],
)  # fmt: skip
def test_what_no_episode_can_have_is_refused(
    toolmark: Command, folder: str, words: tuple[str, ...], told: str
) -> None:
    said = toolmark("show", folder, *words)
    assert said.code == 2 and told in said.err
