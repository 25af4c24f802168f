"""Runs of any suite whose model errs, and whose endpoint leaves some tasks without an answer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.golden.damage import Damaged

import toolmark as tm
from toolmark.core.errors import Timeout
from toolmark.core.model import ReplyFunction
from toolmark.core.records import Reply, Request, Task
from toolmark.runs.run_store import Run

ABSENT_SHARE = 0.1


class Interrupted(Damaged):
    """A model that errs, and whose endpoint does not answer some tasks at all."""

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        """Return the player of one episode."""
        play = super().bind(task, repeat)
        is_absent = Random(f"absent {task.id}").random() < ABSENT_SHARE

        async def reply(request: Request, /) -> Reply:
            if is_absent:
                raise Timeout("no answer")
            return await play(request)

        return reply


def run_suite(folder: Path, suite: str, parameters: Mapping[str, Any], **settings: Any) -> Run:
    loaded = tm.load(suite, **parameters)
    model = Interrupted(loaded.controls["oracle"])
    return tm.run(loaded, model, log_dir=folder, max_retries=0, floors="off", **settings)
