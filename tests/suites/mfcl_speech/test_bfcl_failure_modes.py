"""On BFCL's own requests, with drawn acoustics: each mode is named, and none where all is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.suites.mfcl_speech import scripted, speech_run

import toolmark as tm
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.media import MediaStore
from toolmark.core.records import Label, Task
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.runs.suite import EnvironmentSource, Provenance
from toolmark.suites.mfcl_speech import speech_failure_modes, speech_suite_builder
from toolmark.suites.mfcl_speech.speech_environments import SpeechEnvironmentOpener

AIM = 0.95
FEWEST = 60
CUT = "talkers+tail@4"
MOST = 90  # of one mode; more would only take longer
N = {
    "simple_python": 36, "multiple": 44, "parallel": 34, "parallel_multiple": 24,
    "live_simple": 16, "live_multiple": 24, "live_parallel": 8, "multi_turn_base": 7,
    "multi_turn_miss_param": 3,
}  # fmt: skip


def suite(tasks: Sequence[Task], store: Path) -> tm.Suite:
    """Return these tasks as the suite of transcripts asks them, with agents that err."""

    def opened(media: MediaStore) -> AbstractAsyncContextManager[EnvironmentFactory]:
        return SpeechEnvironmentOpener("rules", MediaStore(store))(media)

    agents = {mode.lower(): scripted.model(agent) for mode, agent in scripted.AGENTS.items()}
    return tm.Suite(
        name="mfcl-transcripts",
        tasks=tasks,
        scorer=speech_suite_builder.SCORER,
        environment=EnvironmentSource(open=opened),
        provenance=Provenance(seed=speech_run.SEED),
        tool_formats={"native": NATIVE_FORMAT},
        controls={"oracle": speech_suite_builder.make_oracle, **agents},
    )


NONE = Label(cause="wrong_value", suite_cause="none")


DEAR_MODES = ("FM1", "FM2", "FM3")  # thousands of requests are made with other speech in them


def by_sound(task: Task) -> Task:
    """Return the task as one that was heard: a transcript with the value rules out perception."""
    turns = [{**turn, "transcript": None} for turn in task.data["speech"]["turns"]]
    return replace(task, data={**task.data, "speech": {**task.data["speech"], "turns": turns}})


@pytest.mark.parametrize(
    "mode",
    [
        pytest.param(mode, marks=[pytest.mark.long] if mode in DEAR_MODES else [])
        for mode in speech_failure_modes.MODES
    ],
)
def test_the_mode_of_an_agent_is_named_on_real_requests(mode: str, tmp_path: Path) -> None:
    agent = scripted.AGENTS[mode]
    noisy = speech_run.tasks((CUT if mode == "FM2" else "noisy",), **N)
    capable = [task for task in noisy if scripted.spoilt(task, agent)]
    run = tm.run(
        suite(capable[:MOST], tmp_path / "media"), f"control/{mode.lower()}", log_dir=tmp_path
    )
    named: Counter[str] = Counter()
    reported = []
    tasks = {task.id: task for task in capable}
    for trajectory in run.trajectories():
        task = by_sound(tasks[trajectory.task])
        (found, *_) = speech_failure_modes.find_failure_modes(task, trajectory) or [NONE]
        named[found.suite_cause] += 1
        if found.suite_cause != mode:
            reported.append((task.id, found.suite_cause, found.evidence))
    n = named.total()
    print(f"{mode}: {named[mode]} of {n} named ({100 * named[mode] / n:.1f} %); {dict(named)}")
    for each in reported:
        print("   ", *each)
    assert n >= FEWEST
    assert named[mode] >= AIM * n


def test_no_mode_is_named_where_all_is_right(tmp_path: Path) -> None:
    few = {name: max(n // 4, 3) for name, n in N.items()}
    tasks = speech_run.tasks(("text", "clean", "noisy"), **few, irrelevance=5, live_relevance=4)
    run = tm.run(suite(tasks, tmp_path / "media"), "control/oracle", log_dir=tmp_path)
    scores = list(run.scores())
    assert len(scores) == len(tasks) > 120
    for score in scores:
        assert score.verdicts["official"].outcome == "correct", score.task
        assert not score.verdicts["official"].labels
