"""The list of a run's episodes: which of them, and what is not a choice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command, Mind

GRID = ("-T", "core=4", "-T", "depth=2", "-T", "connected=2", "-T", "graphs=6", "--seed", "5")


@pytest.fixture
def folder(toolmark: Command) -> str:
    """A scored run in which two episodes have another level of an axis."""
    found = json.loads(toolmark("run", "funcbench", "-m", "control/oracle", *GRID, "--json").out)
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
    ("words", "reported"),
    [(("--outcome", "corect"), "did you mean: correct"),
     (("--axis", "dept=2"), "did you mean: depth"),
     (("--axis", "depth=9"), "no such level")],
)  # fmt: skip
def test_what_no_episode_can_have_is_refused(
    toolmark: Command, folder: str, words: tuple[str, ...], reported: str
) -> None:
    said = toolmark("show", folder, *words)
    assert said.code == 2 and reported in said.err


def test_programs_get_the_whole_list(toolmark: Command, folder: str) -> None:
    found = json.loads(toolmark("show", folder, "--json").out)
    assert (found["run_dir"], found["suite"], found["model"]) == (
        folder, "funcbench", "control/oracle",
    )  # fmt: skip
    assert [each["task"] for each in found["episodes"]] == listed(toolmark, folder, "--all")
    assert {each["outcome"] for each in found["episodes"]} == {"correct"}
    some = json.loads(toolmark("show", folder, "--axis", "depth=3", "--json").out)["episodes"]
    assert len(some) == 2 and all(each["axes"]["depth"] == "3" for each in some)


def test_programs_get_an_episode_as_it_is_stored(toolmark: Command, folder: str) -> None:
    first = json.loads(toolmark("show", folder, "--json").out)["episodes"][0]["task"]
    (found,) = json.loads(toolmark("show", folder, first, "--json").out)["episodes"]

    def saved(name: str, key: str) -> object:
        lines = map(json.loads, (Path(folder) / f"{name}.jsonl").read_text().splitlines())
        return next(line for line in lines if line[key] == first)

    marked = saved("tasks", "id")
    assert isinstance(marked, dict) and marked.pop("canary")
    assert found["task"] == marked
    assert found["trajectory"] == saved("trajectories", "task")
    assert found["score"]["verdicts"].keys() == saved("scores", "task")["verdicts"].keys()  # type: ignore[index]
    assert "attempt" not in found


def test_programs_learn_why_an_episode_was_not_run(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("run", "funcbench", "-m", "control/dead", *GRID, "--json")
    folder = json.loads(said.out)["run_dir"]
    first = json.loads(toolmark("show", folder, "--json").out)["episodes"][0]
    assert first["outcome"] == "not run" and first["failure"]["kind"] == "unavailable"
    (found,) = json.loads(toolmark("show", folder, first["task"], "--json").out)["episodes"]
    assert "trajectory" not in found and found["attempt"]["failure"] == first["failure"]


def spoil(folder: str, name: str, at: int) -> str:
    """Damage one line of a file; return the id of the task that it was of."""
    path = Path(folder) / name
    lines = path.read_bytes().splitlines(keepends=True)
    task = str(json.loads(lines[at])["task"])
    lines[at] = lines[at][:25] + b"\n"
    path.write_bytes(b"".join(lines))
    return task


@pytest.mark.parametrize("at", [0, 3, 5])
def test_a_damaged_line_hides_no_other_episode(toolmark: Command, folder: str, at: int) -> None:
    whole = [
        each["task"] for each in json.loads(toolmark("show", folder, "--json").out)["episodes"]
    ]
    before = {task: toolmark("show", folder, task).out for task in whole}
    lost = spoil(folder, "trajectories.jsonl", at)
    for task in whole:
        shown = toolmark("show", folder, task)
        assert f"trajectories.jsonl, line {at + 1}: " in shown.err
        if task == lost:
            assert shown.code == 2 and f"nothing of '{task}' can be read" in shown.err
        else:
            assert shown.code == 0 and shown.out == before[task]


@pytest.mark.parametrize("name", ["scores.jsonl", "trajectories.jsonl"])
def test_programs_learn_of_damaged_lines(toolmark: Command, folder: str, name: str) -> None:
    lost = spoil(folder, name, 2)
    other = next(
        each["id"]
        for each in map(json.loads, (Path(folder) / "tasks.jsonl").read_text().splitlines())
        if each["id"] != lost
    )
    found = json.loads(toolmark("show", folder, other, "--json").out)
    (line,) = found["damaged"]
    assert f"{name}, line 3: " in line and found["episodes"][0]["task"]["id"] == other


def test_many_damaged_lines_are_counted(toolmark: Command, folder: str) -> None:
    for at in range(5):
        spoil(folder, "trajectories.jsonl", at)
    last = json.loads((Path(folder) / "trajectories.jsonl").read_text().splitlines()[5])["task"]
    shown = toolmark("show", folder, last)
    assert shown.code == 0 and len(shown.err.splitlines()) == 4
    assert shown.err.splitlines()[-1] == "toolmark: 2 further damaged lines"


def test_an_unfinished_run_with_a_damaged_line_is_shown_too(toolmark: Command, folder: str) -> None:
    for name in ("summary.json", "scores.jsonl"):
        (Path(folder) / name).unlink()
    lost = spoil(folder, "trajectories.jsonl", 1)
    last = json.loads((Path(folder) / "trajectories.jsonl").read_text().splitlines()[5])["task"]
    shown = toolmark("show", folder, last)
    assert shown.code == 0 and last != lost and "ending" in shown.out
    assert "This run is not finished" in shown.err and "line 2: " in shown.err


TOO_LONG = "This model's maximum context length is 10 tokens, sent were 5000."


def test_why_a_conversation_was_too_long_is_stored_and_shown(toolmark: Command, mind: Mind) -> None:
    mind.status, mind.body = 400, {"error": {"message": TOO_LONG}}
    ran = toolmark("run", "funcbench", "-m", mind.model, *GRID, "--json")
    folder = json.loads(ran.out)["run_dir"]
    stored = [
        json.loads(line) for line in (Path(folder) / "trajectories.jsonl").read_text().splitlines()
    ]
    for line in stored:
        assert line["ending"] == "over_long"
        assert line["steps"][-1]["reply"]["complaint"] == f"400: {TOO_LONG}"
    shown = toolmark("show", folder, stored[0]["task"])
    assert f"  the endpoint said: 400: {TOO_LONG}" in shown.out.splitlines()
    page = Path(toolmark("report", folder).out.strip()).read_text("utf-8")
    assert f'"complaint":"400: {TOO_LONG}"' in page
