"""Laws of the family `repo` alone; test_families.py holds those of all families."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest

from toolmark.core.media import MediaStore
from toolmark.suites.m3.local import m3_local_suite, workspace_state
from toolmark.suites.m3.local.families import repository_tasks
from toolmark.suites.m3.local.server_configuration import REPOSITORY_FOLDER
from toolmark.suites.m3.local.task_item import TaskItem

SEEDS = range(12)


def head(item: TaskItem) -> dict[str, str]:
    """Return the files of the repository as the last commit leaves them."""
    return {path: text for _, files in item.repository for path, text in files.items()}


def touched(item: TaskItem) -> set[str]:
    before, after = head(item), item.expected_state[REPOSITORY_FOLDER]["files"]
    assert before.keys() == after.keys()
    return {path for path in before if before[path] != after[path]}


def lines(one: str, other: str) -> list[tuple[str, str]]:
    """Return the lines in which two texts of equal length differ."""
    pairs = zip(one.splitlines(), other.splitlines(), strict=True)
    return [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_ticket_changes_what_its_file_asks_for_and_no_more(seed: int) -> None:
    item = repository_tasks.ticket_item(random.Random(seed))
    number = item.expected_state[REPOSITORY_FOLDER]["log"][0]
    said = item.files[f"tickets/{number}.md"].decode()
    asked = re.findall(r"In `(.+)`, `(.+)` is to be (\d+)", said)
    after = item.expected_state[REPOSITORY_FOLDER]["files"]
    assert {path for path, *_ in asked} == touched(item)
    for path, key, value in asked:
        assert [new for _, new in lines(head(item)[path], after[path])] == [f"{key} = {value}"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_text_to_be_replaced_stands_in_its_file_once(seed: int) -> None:
    for template in repository_tasks.TEMPLATES:
        item = template(random.Random(seed))
        edits = [given for step in item.steps for name, given in step if name.endswith("edit_file")]
        assert edits
        for given in edits:
            collected = head(item)[given["path"].removeprefix(f"/workspace/{REPOSITORY_FOLDER}/")]
            assert [collected.count(edit["oldText"]) for edit in given["edits"]] == [1]


def test_every_part_of_a_version_is_raised_and_those_after_it_are_zero() -> None:
    kinds = set()
    for seed in range(30):
        item = repository_tasks.release_item(random.Random(seed))
        old = [int(n) for n in re.findall(r"\d+", head(item)["VERSION"])]
        new = [int(n) for n in item.answer_parts[0].split(".")]
        kind = next(place for place in range(3) if old[place] != new[place])
        assert new == [*old[:kind], old[kind] + 1, 0, 0][:3]
        assert item.expected_state[REPOSITORY_FOLDER]["branch"] == f"release/{item.answer_parts[0]}"
        kinds.add(kind)
    assert kinds == {0, 1, 2}


@pytest.mark.parametrize("seed", SEEDS)
def test_only_the_request_tells_what_to_fall_back_to(seed: int) -> None:
    item = repository_tasks.fallback_item(random.Random(seed))
    (path,) = touched(item)
    ((old, new),) = lines(head(item)[path], item.expected_state[REPOSITORY_FOLDER]["files"][path])
    collected = [files[path] for _, files in item.repository if path in files]
    assert not [text for text in collected if new in text.splitlines()]
    value = new.rpartition(" ")[2]
    reported = [name for name, text in item.files.items() if f"to {value}." in text.decode()]
    assert reported == [f"requests/{item.answer_parts[0]}.txt"]
    # the request's commit is the last one of the setting, and not the last one of all
    key = old.partition(" ")[0]
    subjects = [subject for subject, _ in item.repository if f" {key} of the " in subject]
    assert [text for text in subjects if path[7:-4] in text][-1].startswith(item.answer_parts[0])
    assert not item.repository[-1][0].startswith(item.answer_parts[0])


@pytest.mark.parametrize("first", ["branch", "commit"])
def test_a_release_that_is_made_on_the_old_branch_does_not_pass(first: str, tmp_path: Path) -> None:
    item = repository_tasks.release_item(random.Random(5))
    task = m3_local_suite.make_task(item, "repo", 0, 5, "exact", MediaStore(tmp_path / "media"))
    work = tmp_path / "work"
    work.mkdir()
    m3_local_suite.prepare_workspace(task, work)
    home, wanted = work / REPOSITORY_FOLDER, item.expected_state[REPOSITORY_FOLDER]
    for path, text in wanted["files"].items():
        (home / path).write_text(text)
    commit = ("commit", "--all", "--message", wanted["log"][0])
    branch = ("checkout", "-b", wanted["branch"])
    for words in (branch, commit) if first == "branch" else (commit, branch):
        who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", home, *who, *words], check=True, capture_output=True)
    wrong = workspace_state.find_differences(
        item.expected_state, workspace_state.take_snapshot(work)
    )
    assert bool(wrong) is (first == "commit"), wrong
