"""Base items of the speech suites: what is expected of each turn, of every published entry."""

from __future__ import annotations

from functools import cache

import pytest

from toolmark.core.records import Reply, Step, Task, Trajectory
from toolmark.official_bfcl import multi_turn_tasks
from toolmark.scoring.episode import Episode
from toolmark.suites.mfcl_speech import (
    call_differences,
    speech_items,
    speech_scoring,
    speech_task_maker,
)
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechRecipe


@cache
def asked(group: str) -> list[Task]:
    """Return every entry that can be said, as it is asked in writing."""
    entries, _, _ = speech_items.read_entries(speech_items.GROUPS[group], 0, 0)
    bare = speech_items.condition_tasks(entries, "mfcl-transcripts", (speech_items.TEXT,))
    return [one for task in bare for one in MAKER.make_item([task])]


MAKER = speech_task_maker.SpeechTaskMaker(
    recipe=SpeechRecipe(), form="transcript", speech_folder=""
)


@pytest.mark.parametrize("group", speech_items.GROUPS)
def test_every_entry_has_its_calls_and_revealable_values_by_turn(group: str) -> None:
    for task in asked(group):
        due, wanted = speech_items.expected_by_turn(task), call_differences.expected_calls(task)
        reported = task.data["whitelist"]
        assert len(due) == len(wanted) == len(reported) == len(task.turns), task.id
        assert all(len(calls) == len(names) for calls, names in zip(due, wanted, strict=True))
        kind = str if speech_items.is_multi_turn(task) else dict
        assert all(isinstance(call, kind) for calls in due for call in calls), task.id


def test_an_entry_of_several_turns_may_have_one_and_is_scored_as_such() -> None:
    short = [task for task in asked("multi_turn") if len(task.turns) == 1]
    assert short, "three of them are published"
    for task in short:
        right = multi_turn_tasks.make_trajectory(
            task, multi_turn_tasks.expected_calls(speech_items.original_task(task))
        )
        silent = Trajectory(task=task.id, steps=(Step(reply=Reply(text="Done."), turn=0),))
        assert speech_scoring.score_episode(Episode(task, right))["official"].outcome == "correct"
        assert not call_differences.difference_places(
            task, right
        ) and call_differences.difference_places(task, silent)
