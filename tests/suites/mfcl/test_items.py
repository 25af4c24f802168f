"""Base items of the speech suites: what is expected of each turn, of every published entry."""

from __future__ import annotations

from functools import cache

import pytest

from toolmark.suites.bfcl import multi_turn
from toolmark.suites.mfcl import faults, items, making, score
from toolmark.suites.mfcl.booth import Recipe
from toolmark.types import Reply, Step, Task, Trajectory


@cache
def asked(group: str) -> list[Task]:
    """Return every entry that can be said, as it is asked in writing."""
    entries, _, _ = items.read(items.GROUPS[group], 0, 0)
    bare = items.Items(entries, "mfcl-transcripts", (items.TEXT,))
    return [one for task in bare for one in MAKER.item([task])]


MAKER = making.Maker(recipe=Recipe(), form="transcript", home="")


@pytest.mark.parametrize("group", items.GROUPS)
def test_every_entry_has_its_calls_and_what_may_be_told_by_turn(group: str) -> None:
    for task in asked(group):
        due, wanted = items.truths(task), faults.truth(task)
        told = task.reference["whitelist"]
        assert len(due) == len(wanted) == len(told) == len(task.turns), task.id
        assert all(len(calls) == len(names) for calls, names in zip(due, wanted, strict=True))
        kind = str if items.turned(task) else dict
        assert all(isinstance(call, kind) for calls in due for call in calls), task.id


def test_an_entry_of_several_turns_may_have_one_and_is_scored_as_such() -> None:
    short = [task for task in asked("multi_turn") if len(task.turns) == 1]
    assert short, "three of them are published"
    for task in short:
        right = multi_turn.trajectory(task, multi_turn.right(items.plain(task)))
        silent = Trajectory(task=task.id, steps=(Step(reply=Reply(text="Done."), turn=0),))
        assert score.score(task, right)["official"].outcome == "correct"
        assert not faults.places(task, right) and faults.places(task, silent)
