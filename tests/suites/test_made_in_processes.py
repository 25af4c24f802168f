"""Tasks that worker processes make are those that one process makes.

The other tests of the suites make their tasks in the process of the test.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

import toolmark as tm
from toolmark.core import worker_processes
from toolmark.core.records import Task
from toolmark.generation.item_maker import ItemMaker
from toolmark.suites.mfcl_speech import speech_task_maker

SUITES: list[tuple[str, dict[str, Any]]] = [
    ("multinet-odinw", {"data": "synthetic", "items": 4, "seed": 5}),
    ("mfcl-transcripts", {"items": 1, "category": "simple_python,multiple", "conditions": "clean",
                     "recognisers": "simulated:a", "seed": 5}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), SUITES, ids=[name for name, _ in SUITES])
def test_worker_processes_make_the_same_tasks(
    name: str, parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.getpid()
    pids: set[int] = set()
    run_item = worker_processes._WorkerProcess.run_item

    def run_counted(child: Any, item: Any) -> Any:
        pids.add(child._process.pid)
        return run_item(child, item)

    monkeypatch.setattr(worker_processes._WorkerProcess, "run_item", run_counted)
    monkeypatch.setattr(ItemMaker, "min_parallel_items", 2)
    monkeypatch.setattr(speech_task_maker.SpeechTaskMaker, "min_parallel_items", 2)
    made: list[list[Task]] = []
    for cores in (1, 2):
        monkeypatch.setattr(worker_processes, "available_cores", lambda cores=cores: cores)
        speech_task_maker.load_pipeline.cache_clear()
        suite = tm.load(name, **parameters)
        made.append(list(suite.maker.make(suite)))
        assert bool(pids) == (cores == 2)
    assert made[0] == made[1] and len(made[0]) >= 2 and here not in pids
