"""The run folder: what was asked, what happened, and the scores.

`run.json`, `tasks.jsonl` and `trajectories.jsonl` are the source data. `attempts.jsonl` says why
episodes were not run. `state.json` says which process works on the run (`runs.run_lifecycle`).
`scores.jsonl`, `scorer.json`, `floors.json`, `presentation.json`, `views.jsonl`, `summary.json` and
`report.html` are derived and may be deleted. Each completed episode is appended with one write, so
a killed run drops only the episodes in progress. An incomplete last line is dropped when the run is
opened for writing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import msgspec

from toolmark.core import number_format, secrets
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import NOT_REACHED, Failure
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Attempt,
    Estimate,
    Judgement,
    Record,
    Score,
    Task,
    Trajectory,
    Verdict,
)
from toolmark.models.token_prices import ModelPrice
from toolmark.models.unrecorded_requests import Unrecorded
from toolmark.runs.damaged_files import check_files, damage_advice, has_content
from toolmark.runs.episode_records import EpisodeKey, EpisodeRecords
from toolmark.runs.record_files import (
    lock_folder,
    read_document,
    read_records,
    remove_drafts,
    sync_folder,
    write_document,
)
from toolmark.runs.run_lifecycle import (
    STATE_FILE,
    SUMMARY_FILE,
    Heartbeat,
    StateWriter,
    finishing_command,
    read_heartbeat,
)
from toolmark.runs.run_plan import Plan
from toolmark.runs.score_frames import make_frame
from toolmark.runs.scorer_id import ScorerId
from toolmark.runs.sound_record import SoundRecord
from toolmark.runs.task_files import MediaReferences, TaskLookup, read_tasks, write_tasks

RUN_FORMAT = 3
SCORER_FILE = "scorer.json"
INFO_FILE = "run.json"
RUN_FILES = (
    INFO_FILE,
    "tasks.jsonl",
    "trajectories.jsonl",
    "attempts.jsonl",
    "scores.jsonl",
    "presentation.json",
    "views.jsonl",
    STATE_FILE,
    SCORER_FILE,
    SUMMARY_FILE,
)
_REPLACED_FILES = (  # not appended to
    INFO_FILE,
    STATE_FILE,
    SUMMARY_FILE,
    SCORER_FILE,
    "scores.jsonl",
    "tasks.jsonl",
    "floors.json",
    "presentation.json",
    "views.jsonl",
)

NOT_SCORED = Failure(stage="scorer", kind="not_reached", message="stored, but not scored yet")
NOT_ASKED = Failure(stage="run", kind="not_reached", message="not asked yet")


class RunInfo(Record, frozen=True, kw_only=True):
    """What `run.json` contains: `n_setup` of the `n_tasks` are not scored but needed by others.

    - `created`: the time in UTC.
    - `served_models`: the models' names as the server reports them.
    - `refused_settings`: the settings that the server refused and that were left out.
    - `unsent_settings`: the settings that were asked for and that this endpoint is never sent.
    - `missing_parts`, `notes`, `server_versions`: by the name of a part of the environment factory.
      `missing_parts` is what the part lacked when the run was last begun or continued, `notes` what
      happened to it, `server_versions` what it says it is, one line for each server seen: name,
      version, hash of its tools.
    - `wall_s`: the time that all sessions of work on the run took, in seconds. A session that was
      killed is not included.
    - `sound`: how the endpoint of a run with sound takes it, where that was asked.
    - `replaced_hashes`: for each time that the user let the run continue after an edit, the hashes
      of the code that had asked until then.
    - `prices`: of the run's models by role: `model`, `user`, `judge NAME`; those of the last
      session that asked.
    - `unrecorded`: what was spent and is in no other file.
    - `data_label`: what every headline says of tasks that are no published data, "" for nothing.
    """

    format: int
    plan: Plan
    seed: int
    n_tasks: int
    n_setup: int = 0
    command: str = ""
    created: str = ""
    tasks_sha256: str = ""
    hashes: dict[str, str] = {}
    versions: dict[str, str] = {}
    served_models: tuple[str, ...] = ()
    refused_settings: tuple[str, ...] = ()
    unsent_settings: tuple[str, ...] = ()
    missing_parts: dict[str, str] = {}
    notes: dict[str, tuple[str, ...]] = {}
    server_versions: dict[str, tuple[str, ...]] = {}
    wall_s: float = 0.0
    sound: SoundRecord | None = None
    replaced_hashes: tuple[dict[str, str], ...] = ()
    prices: dict[str, ModelPrice] = {}
    unrecorded: Unrecorded = Unrecorded()
    data_label: str = ""

    @property
    def n_planned(self) -> int:
        """Number of scored episodes asked for: tasks times repeats."""
        return (self.n_tasks - self.n_setup) * self.plan.repeats

    @property
    def n_episodes(self) -> int:
        """Number of all episodes, with those that set others up."""
        return self.n_tasks * self.plan.repeats


class Summary(dict[str, Any]):
    """The object that `--json` prints; as text, one line."""

    def __str__(self) -> str:
        """Return `success 38.2 % [26.1, 52.4], n=50, not run 0`."""
        head = self["score"]
        label = head.get("title") or head["name"]
        n_run, n_not_run = map(number_format.format_count, (self["n_run"], self["n_not_run"]))
        counts = number_format.replace_special_spaces(f"n={n_run}, not run {n_not_run}")
        return f"{label} {_estimate_text(head)}, {counts}"


def _estimate_text(head: Mapping[str, Any]) -> str:
    """Return the headline as the terminal shows it: with its interval, or why there is none."""
    fields = {name: head[name] for name in Estimate.__struct_fields__ if name in head}
    return number_format.replace_special_spaces(number_format.format_estimate(Estimate(**fields)))


# the folder may come from a stranger and the command is shown to be pasted: no shell syntax
_SAFE_COMMAND = re.compile(r"toolmark [\w ./:=,@#%+'\"?~\[\]-]+")
_MAYBE_INFINITE = ("value", "low", "high", "worst", "best")


def _restore_infinities(found: dict[str, Any]) -> dict[str, Any]:
    """Restore the infinite numbers of a summary's estimates, which JSON stores as text: "inf"."""
    parts = msgspec.convert(found.get("parts", {}), dict[str, Any])
    for estimate in (found.get("score"), *parts.values()):
        if isinstance(estimate, dict):
            texts = {
                name: estimate[name]
                for name in _MAYBE_INFINITE
                if isinstance(estimate.get(name), str)
            }
            estimate |= {name: float(number) for name, number in texts.items()}
    return found


def absent_score(
    task: Task,
    repeat: int,
    failure: Failure | None,
    verdicts: Mapping[str, Verdict] = MappingProxyType({}),
) -> Score:
    """Return the Score of an episode that was not run: not reached where no failure is given."""
    return Score(
        task=task.id,
        item=task.item or task.id,
        repeat=repeat,
        category=task.category,
        axes=task.axes,
        verdicts=dict(verdicts),
        failure=failure or NOT_REACHED,
    )


class _AttemptFailure(Record, frozen=True, kw_only=True):
    """The failure of an attempt; its steps are not decoded."""

    task: str
    repeat: int = 0
    failure: Failure = NOT_REACHED


class _FormatHeader(msgspec.Struct):
    """What `run.json` contains in every format: the format number, and the command of the run."""

    format: int
    command: str = ""


def _check_format(path: Path, header: _FormatHeader) -> None:
    """Raise DataError for a folder of another format, and say what to do next."""
    if header.format == RUN_FORMAT:
        return
    if header.format > RUN_FORMAT:
        age, next_ = "a newer", "open it with that version"
    else:
        age, next_ = "an older", f"make a new run: {_rerun_command(header.command)}"
    raise DataError(
        f"{path / 'run.json'}: written by {age} version of toolmark (format {header.format}, "
        f"this one reads {RUN_FORMAT}); {next_}"
    )


def _rerun_command(command: str) -> str:
    """Return the command that makes the run again.

    A command that may be more than one command is not repeated. Nor is one whose keys are masked:
    it would not work.
    """
    try:
        arguments = shlex.split(command)
    except ValueError:
        arguments = []
    is_single_command = _SAFE_COMMAND.fullmatch(command) or (
        command.isprintable() and shlex.join(arguments) == command
    )
    if arguments[:1] != ["toolmark"] or not is_single_command or _has_masked_secrets(arguments):
        return "the command that made it, with --fresh"
    is_run_command = arguments[1:2] == ["run"] and "--fresh" not in arguments
    return f"{command} --fresh" if is_run_command else command  # else the old run would continue


def _has_masked_secrets(arguments: Sequence[str]) -> bool:
    return any(each in ("...", "--header=...") or secrets.is_masked(each) for each in arguments)


def _not_a_run_error(path: Path) -> UsageError | DataError:
    """Return the error that says why a folder is not a run."""
    answers = path / "trajectories.jsonl"
    if has_content(answers):
        return DataError(
            f"{path / INFO_FILE}: missing; {damage_advice(path / INFO_FILE, line=False)}"
        )
    if (path / "tasks.jsonl").exists():
        return UsageError(
            f"{path}: {INFO_FILE} is missing, so it never became a run: nothing was asked yet; "
            "next: delete the folder and give the command again"
        )
    return UsageError(f"{path}: not a run folder (no readable {INFO_FILE})")


class Run:
    """A run folder, read only. Raises UsageError if it is not a run, DataError if it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.episodes = EpisodeRecords(path)
        self._cached_tasks: TaskLookup | None = None
        try:
            _check_format(path, read_document(path / INFO_FILE, _FormatHeader))
            self.info = read_document(path / INFO_FILE, RunInfo)
        except FileNotFoundError:
            raise _not_a_run_error(path) from None

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks as asked. Equal tools of successive tasks are one object."""
        return read_tasks(self.path / "tasks.jsonl")

    def verify_tasks(self) -> None:
        """Raise DataError if the tasks are not those that were asked."""
        found = self._task_lookup().sha256
        if found != self.info.tasks_sha256:
            raise DataError(
                f"{self.path / 'tasks.jsonl'}: changed since the run began (sha256 {found}); "
                "put it back, or begin a new run with --fresh"
            )

    def trajectories(self) -> Iterator[Trajectory]:
        """Yield the completed episodes, in the order they ended."""
        return self.episodes.records("trajectories", Trajectory)

    def attempts(self) -> Iterator[Attempt]:
        """Yield the attempts that were not completed; an episode may appear more than once."""
        return self.episodes.records("attempts", Attempt)

    def judgements(self) -> Iterator[Judgement]:
        """Yield what judges said; the last line on a question counts (`runs.judge_panels`)."""
        return read_records(self.path / "judgements.jsonl", Judgement, missing_ok=True)

    def scores(self) -> Iterator[Score]:
        """Yield the scores. They are derived: score the run again if they are gone.

        Where the run is not finished, the episodes without a score come last, as not run. Raises
        DataError where a finished run has fewer scores than planned.
        """
        if self.is_finished:
            n = 0
            for n, score in enumerate(self.stored_scores(), 1):  # noqa: B007 - it counts
                yield score
            if n < self.info.n_planned:
                path = self.episodes.path("scores")
                raise DataError(
                    f"{path}: holds {number_format.format_count(n)} of "
                    f"{number_format.format_count(self.info.n_planned)} scores; "
                    f"{damage_advice(path)}"
                )
            return
        scored: set[EpisodeKey] = set()
        for score in self.stored_scores():
            if score.failure is None or score.failure.kind == "scorer":
                scored.add((score.task, score.repeat))
                yield score
        done = self.episodes.completed_keys()
        for task, repeat, last in self.absent_episodes(scored):
            failure = last.failure if last is not None else NOT_ASKED
            yield absent_score(task, repeat, NOT_SCORED if (task.id, repeat) in done else failure)

    def frame(self, rule: str = "") -> Any:
        """Return the scores as a pandas.DataFrame, a row for each episode.

        `rule` is a grading rule, "" for the headline. Raises UsageError where pandas is missing.
        """
        return make_frame(self.scores(), rule)

    def stored_scores(self) -> Iterator[Score]:
        """Yield the scores that are written; a run that is not finished may lack some."""
        return self.episodes.records("scores", Score)

    def absent_episodes(
        self, present: Collection[EpisodeKey]
    ) -> Iterator[tuple[Task, int, Attempt | None]]:
        """Yield the scored tasks' episodes that are not among these.

        Each comes with its last attempt, without the attempt's steps.
        """
        attempts = {
            (a.task, a.repeat): a for a in self.episodes.records("attempts", _AttemptFailure)
        }
        for task, repeat in self.missing_episodes(present):
            if task.kind == "scored":
                status = attempts.get((task.id, repeat))
                last = (
                    Attempt(task=task.id, repeat=repeat, failure=status.failure) if status else None
                )
                yield task, repeat, last

    def missing_episodes(self, present: Collection[EpisodeKey]) -> Iterator[tuple[Task, int]]:
        """Yield the episodes that are not among these, all of one repeat before the next."""
        for repeat in range(self.info.plan.repeats):
            for task in self.tasks():
                if (task.id, repeat) not in present:
                    yield task, repeat

    def scorer(self) -> ScorerId:
        """Return who made the scores; an empty ScorerId where the file is missing or damaged."""
        try:
            return read_document(self.path / SCORER_FILE, ScorerId)
        except (FileNotFoundError, DataError):
            return ScorerId()

    def heartbeat(self) -> Heartbeat:
        """Return the state of the run and the last heartbeat of the process that works on it."""
        return read_heartbeat(self.path)

    @property
    def is_finished(self) -> bool:
        """Whether all that is stored is scored and summarised. Episodes may be missing."""
        return (self.path / SUMMARY_FILE).is_file() and has_content(self.episodes.path("scores"))

    def task(self, id: str) -> Task:
        """Return one task by id, read from its location in the file."""
        return self._task_lookup()[id]

    def _task_lookup(self) -> TaskLookup:
        if self._cached_tasks is None:
            self._cached_tasks = TaskLookup(self.path / "tasks.jsonl")
        return self._cached_tasks

    def completed_episodes(self) -> set[EpisodeKey]:
        """Return the complete (task, repeat) pairs. Raises DataError for a duplicate."""
        return self.episodes.completed_keys()

    def summary(self) -> Summary:
        """Return `summary.json`: counts, score with interval, parts.

        Raises UsageError where it is missing, DataError where it is damaged.
        """
        path = self.path / SUMMARY_FILE
        try:
            return Summary(_restore_infinities(read_document(path, dict[str, Any])))
        except FileNotFoundError:
            next_ = finishing_command(self.path, self.info.plan.spec)
            raise UsageError(f"{path}: missing; next: {next_}") from None
        except ValueError as error:  # msgspec.ValidationError among them
            raise DataError(
                f"{path}: {describe_decode_error(error)}; {damage_advice(path, line=False)}"
            ) from None


class RunWriter:
    """A run folder open for writing; one process at a time.

    The tasks of a run that this process has just begun (`is_new`) are not verified.
    """

    def __init__(self, path: Path, *, is_new: bool = False) -> None:
        self.path = path
        self._lock = lock_folder(path)
        self._lock.__enter__()
        try:
            self.run = Run(path)
            if not is_new:
                self.run.verify_tasks()
            check_files(path, RUN_FILES)
            for _ in self.run.attempts():  # find a damaged line before anything is asked
                pass
            remove_drafts(path, _REPLACED_FILES)
            self.state_writer = StateWriter(path)
            self.episodes = EpisodeRecords(path)
            self.episodes.open_to_append()
            sync_folder(path)  # the names of the new files must survive a power cut
            sync_folder(path.parent)
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise

    def update_info(
        self,
        *,
        served_models: Iterable[str] = (),
        refused_settings: Iterable[str] = (),
        unsent_settings: Iterable[str] = (),
        missing_parts: Mapping[str, str] | None = None,
        notes: Mapping[str, Sequence[str]] | None = None,
        server_versions: Mapping[str, Sequence[str]] | None = None,
        wall_s: float = 0.0,
        prices: Mapping[str, ModelPrice] | None = None,
        unrecorded: Unrecorded | None = None,
        sound: SoundRecord | None = None,
    ) -> None:
        """Add to `run.json`. `missing_parts` replaces what was missing before."""
        info = self.run.info
        noted = msgspec.structs.replace(
            info,
            served_models=tuple(sorted({*info.served_models, *served_models} - {""})),
            refused_settings=tuple(sorted({*info.refused_settings, *refused_settings})),
            unsent_settings=tuple(sorted({*info.unsent_settings, *unsent_settings})),
            missing_parts=info.missing_parts if missing_parts is None else dict(missing_parts),
            notes=_merge_notes(info.notes, notes),
            server_versions=_merge_notes(info.server_versions, server_versions),
            wall_s=round(info.wall_s + wall_s, 3),
            prices={**info.prices, **(prices or {})},
            unrecorded=info.unrecorded if unrecorded is None else info.unrecorded + unrecorded,
            sound=sound or info.sound,
        )
        if noted != info:
            self.run.info = noted
            write_document(self.path / INFO_FILE, noted)

    def accept_edits(self, plan: Plan) -> None:
        """Continue under a request with edited user code, and record the old hashes."""
        old = self.run.info.plan
        info = msgspec.structs.replace(
            self.run.info,
            plan=msgspec.structs.replace(
                old, modules=plan.modules, model_modules=plan.model_modules
            ),
            replaced_hashes=(*self.run.info.replaced_hashes, {**old.modules, **old.model_modules}),
        )
        self.run.info = info
        write_document(self.path / INFO_FILE, info)

    def replace_tasks(
        self, tasks: Mapping[str, Task], media: MediaStore | None, referenced_media: MediaReferences
    ) -> None:
        """Replace the tasks of the same ids, of which no episode is complete."""
        merged_tasks = (tasks.get(task.id, task) for task in Run(self.path).tasks())
        written = write_tasks(self.path / "tasks.jsonl", merged_tasks, media, referenced_media)
        info = msgspec.structs.replace(self.run.info, tasks_sha256=written.sha256)
        write_document(self.path / INFO_FILE, info)
        self.run = Run(self.path)

    def __enter__(self) -> RunWriter:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the files and release the lock."""
        try:
            self.episodes.close()
        finally:
            self._lock.__exit__(None, None, None)


def _merge_notes(
    known: Mapping[str, tuple[str, ...]], added: Mapping[str, Sequence[str]] | None
) -> dict[str, tuple[str, ...]]:
    """Return the notes on each part, added to those it had before, without duplicates."""
    found = dict(known)
    for name, lines in (added or {}).items():
        found[name] = tuple(dict.fromkeys((*found.get(name, ()), *lines)))
    return found
