"""Runs of one session of pytest: each request is run once, whichever process needs it first."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolmark import api
from toolmark.core.errors import Rejected, ToolmarkError, UsageError
from toolmark.core.failure import Failure
from toolmark.core.files import write_atomically
from toolmark.core.json_codec import decode_record, encode_record
from toolmark.core.records import Record, Score, Trajectory, Verdict
from toolmark.runs.run_store import Run
from toolmark.scoring.episode import Episode
from toolmark.testing.suite_requests import SuiteRequest


class RunOutcome(Record, frozen=True, kw_only=True):
    """What a request of the session became: the run's folder, or why there is none."""

    run_dir: str = ""
    error: str = ""


class SessionRun:
    """A run of the session with its episodes, read once in each process."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._trajectories = {(each.task, each.repeat): each for each in run.trajectories()}
        self._scores = {(each.task, each.repeat): each for each in run.scores()}
        self._rule = run.summary()["rule"]

    def find_episode(self, task: str, repeat: int) -> Episode | Failure | None:
        """Return an episode, or why it was not run; None for one that was not asked."""
        trajectory: Trajectory | None = self._trajectories.get((task, repeat))
        score: Score | None = self._scores.get((task, repeat))
        if score is None:
            return None
        if score.failure is not None or trajectory is None:
            return score.failure
        return Episode(self.run.task(task), trajectory)

    def find_verdict(self, task: str, repeat: int) -> Verdict:
        """Return the verdict of the headline rule on an episode that was run."""
        return self._scores[task, repeat].verdicts[self._rule]


class SessionRuns:
    """The runs of one session; `folder` is shared by its processes, and no other session uses it.

    The first process that needs a run makes it, and the others wait for it. A request that fails is
    not tried again: every test that needs it fails for the same reason.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._opened: dict[str, SessionRun] = {}

    def has_opened(self, key: str) -> bool:
        """Return whether this process has used the run of a request before."""
        return key in self._opened

    def get_run(self, key: str, request: SuiteRequest, settings: Mapping[str, Any]) -> SessionRun:
        """Return the run of a request. Raises UsageError where it could not be made."""
        if key not in self._opened:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _lock_file(self.folder / f"{key}.lock"):
                outcome = self._make_once(key, request, settings)
            if outcome.error:
                raise UsageError(outcome.error)
            self._opened[key] = SessionRun(api.open_run(outcome.run_dir))
        return self._opened[key]

    def _make_once(
        self, key: str, request: SuiteRequest, settings: Mapping[str, Any]
    ) -> RunOutcome:
        path = self.folder / f"{key}.json"
        if path.exists():
            return decode_record(path.read_bytes(), RunOutcome)
        outcome = _make_run(request, settings)
        write_atomically(path, encode_record(outcome))
        return outcome


def _make_run(request: SuiteRequest, settings: Mapping[str, Any]) -> RunOutcome:
    try:
        # a stored run is not continued: each session asks anew, or from its cache
        run = api.run(request.suite, request.model, **{"resume": False, **settings})
    except Rejected as error:
        return RunOutcome(error=f"{error}; run: {error.run_dir}" if error.run_dir else str(error))
    except ToolmarkError as error:
        return RunOutcome(error=str(error))
    return RunOutcome(run_dir=str(run.path.absolute()))


@contextmanager
def _lock_file(path: Path) -> Iterator[None]:
    """Wait until no other process is in this context, for at most as long as it takes."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
