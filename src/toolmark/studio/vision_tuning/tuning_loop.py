"""The loop: the panel plays the current versions; solved ones are edited until most models fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.agents.tool_loop import gather_all
from toolmark.core import json_codec, seeds
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Result, Task, Trajectory
from toolmark.core.task_data import read_task_data
from toolmark.environments import provider_circuit_breaker
from toolmark.environments.search_environment import FETCH_TOOL
from toolmark.runs import runner
from toolmark.runs.circuit_breaker import CircuitBreaker
from toolmark.runs.episode_execution import (
    EpisodeProgress,
    EpisodeSetting,
    counts_for_breaker,
    play_episode,
)
from toolmark.runs.run_plan import Plan
from toolmark.runs.runner import Progress, ProgressWatcher
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks
from toolmark.studio.vision_tuning import attempt_outcome, author_edits, item_edits
from toolmark.studio.vision_tuning.author_edits import AuthorEdit
from toolmark.studio.vision_tuning.item_edits import (
    AUTHOR_EDIT,
    HINT_EDIT,
    HOPS_EDIT,
    UNHINT_EDIT,
    EditedTask,
)
from toolmark.studio.vision_tuning.tuning_folder import TunedItem, TuningFolder, TuningWriter
from toolmark.studio.vision_tuning.tuning_records import HopPage, ItemVersion, Trial, TuningRequest
from toolmark.suites import suite_registry
from toolmark.suites.mfcl_vision import generation_parameters
from toolmark.suites.mfcl_vision.generation_parameters import MAX_HOPS
from toolmark.suites.mfcl_vision.item_records import BASE_VARIATION, Hop, ItemTruth
from toolmark.suites.mfcl_vision.web_environment import WebEnvironmentFactory, picture_failure

Panel: TypeAlias = Mapping[str, Model]
_MAX_PAGE_CHARS = 20_000  # characters of a page that a reviewer is shown


def make_items(
    tuning: TuningFolder, writer: TuningWriter, suite: Suite, watch: ProgressWatcher | None = None
) -> None:
    """Make the items that do not exist yet, with their pictures. Raises UsageError for none."""
    wanted = list(_select_tasks(suite, tuning.request.plan))
    missing = [task for task in wanted if task.item not in tuning.items]
    progress = Progress(
        n_planned=0,
        n_to_make=len(wanted),
        n_made_before=len(wanted) - len(missing),
        work_description=suite.maker.describe_work(missing),
    )
    for task in suite.maker.make(iter(missing)):
        writer.add(_make_version(tuning, suite, task, 0))
        progress.n_made += 1
        if watch is not None:
            watch(progress)


def _select_tasks(suite: Suite, plan: Plan) -> Iterator[Task]:
    tasks = select_tasks(suite, plan, suite.provenance.seed)
    return (task for task in tasks if task.axes["variation"] == BASE_VARIATION)


def _make_version(tuning: TuningFolder, suite: Suite, task: Task, number: int, edit: str = "",
             description: str = "") -> ItemVersion:  # fmt: skip
    """Return a version of a new task; its picture is copied to the tuning's store."""
    broken = picture_failure(task)
    if not broken and suite.provenance.media is not None:
        tuning.media.copy_from(suite.provenance.media, [item_edits.task_picture(task)])
    return ItemVersion(
        item=task.item, number=number, task=task, edit=edit, change=description, failure=broken
    )  # fmt: skip


# --- editing ----------------------------------------------------------------------------


@dataclass(slots=True)
class ItemEditor:
    """Makes the next versions; `edits_by_item` are the edits that the author wrote.

    `redraw` draws an item again with a given number of hops. `_uneditable` are versions that allow
    no edit.
    """

    tuning: TuningFolder
    writer: TuningWriter
    suite: Suite
    edits_by_item: Mapping[str, Sequence[AuthorEdit]] = field(default_factory=dict)
    redraw: Callable[[Suite, str, int], Task | None] = lambda suite, item, hops: None
    _uneditable: set[tuple[str, int]] = field(default_factory=set)

    def edit_items(self) -> int:
        """Edit solved items and items that a person marked unclear; return the number of edits."""
        n = 0
        for item in self.tuning.items.values():
            found = self._next_edit(item)
            if found is not None:
                edit, edited = found
                number = item.latest_version.number + 1
                version = _make_version(
                    self.tuning, self.suite, edited.task, number, edit, edited.description
                )
                self.writer.add(version)
                n += 1
        return n

    def _next_edit(self, item: TunedItem) -> tuple[str, EditedTask] | None:
        """Return the next edit and the edited task; None where there is none."""
        if (item.id, item.latest_version.number) in self._uneditable:
            return None
        match item.status(self.tuning.request):
            case "easy" if _n_edits(item) < self.tuning.request.rounds:
                return self._harder_edit(item)
            case "unclear":
                return self._clearer_edit(item)
            case _:
                return None

    def _harder_edit(self, item: TunedItem) -> tuple[str, EditedTask] | None:
        """Return the first edit that is left for the item, None where there is none."""
        earlier_edits = _edits_since_redraw(item)
        if (edited := self._author_edit(item)) is not None:
            return AUTHOR_EDIT, edited
        for name in self.tuning.request.edits:
            if (name in earlier_edits and name != HOPS_EDIT) or (
                name == UNHINT_EDIT and HINT_EDIT in earlier_edits
            ):
                continue
            edited = (
                self._redraw_longer(item) if name == HOPS_EDIT else self._apply_edit(name, item)
            )
            if edited is not None:
                return name, edited
        self._uneditable.add((item.id, item.latest_version.number))
        return None

    def _clearer_edit(self, item: TunedItem) -> tuple[str, EditedTask] | None:
        if (edited := self._author_edit(item)) is not None:
            return AUTHOR_EDIT, edited
        edited = self._apply_edit(HINT_EDIT, item)
        return None if edited is None else (HINT_EDIT, edited)

    def _author_edit(self, item: TunedItem) -> EditedTask | None:
        """Return the author's next edit of the item, None where none is left."""
        n = sum(version.edit == AUTHOR_EDIT for version in item.versions)
        remaining = self.edits_by_item.get(item.id, ())[n:]
        if not remaining:
            return None
        try:
            return item_edits.apply_author_edit(item.latest_version.task, remaining[0])
        except ValueError as error:
            raise UsageError(
                f"{author_edits.EDITS_FILE}: item {item.id}: {error}; correct its row"
            ) from None

    def _apply_edit(self, name: str, item: TunedItem) -> EditedTask | None:
        rng = seeds.make_rng(
            self.tuning.request.seed, item.id, item.latest_version.number, f"tune {name}"
        )
        try:
            return item_edits.apply_edit(name, item.latest_version.task, rng, self.tuning.media)
        except ValueError:
            return None

    def _redraw_longer(self, item: TunedItem) -> EditedTask | None:
        """Draw another item of the same domain and query type, with one page more to find."""
        n = len(read_task_data(item.latest_version.task, ItemTruth).hops)
        task = self.redraw(self.suite, item.id, n + 1) if 0 < n < MAX_HOPS else None
        return EditedTask(task, f"another question: {n + 1} pages instead of {n}") if task else None


def _n_edits(item: TunedItem) -> int:
    return sum(bool(v.edit) and v.edit != HINT_EDIT for v in item.versions)


def _edits_since_redraw(item: TunedItem) -> set[str]:
    """Return the edits since the item got its current question."""
    found: set[str] = set()
    for version in item.versions:
        found = set() if version.edit == HOPS_EDIT else found | {version.edit}
    return found


def redraw_item(suite: Suite, item: str, hops: int) -> Task | None:
    """Make an item of a generated suite again with `hops` hops; None where it cannot be made."""
    if generation_parameters.source_folder(suite.parameters["source"]) is not None:
        return None
    more = suite_registry.load_suite(
        suite.name, **{**suite.parameters, "hops": (str(hops),), "seed": suite.provenance.seed}
    )
    drafts = (task for task in more.tasks if task.item == item)
    redrawn = next(iter(more.maker.make(drafts)), None)
    return None if redrawn is None or picture_failure(redrawn) else redrawn


# --- playing ----------------------------------------------------------------------------


@dataclass(slots=True)
class PanelRound:
    """One round of play: asks the current versions of every model without a result yet."""

    tuning: TuningFolder
    writer: TuningWriter
    suite: Suite
    factory: WebEnvironmentFactory
    panel: Panel
    progress: Progress
    report_progress: Callable[[], None]
    circuit_breakers: dict[str, CircuitBreaker] = field(default_factory=dict)

    async def ask_panel(self, n_concurrent: int) -> None:
        """Ask until every model has a result, or can no longer be asked."""
        items_by_model = {name: list(self._open_items(name)) for name in self.panel}
        self.progress.n_planned += sum(map(len, items_by_model.values()))
        playable = (item for item in self.tuning.items.values() if not item.latest_version.failure)
        workers = [self._store_pages(playable) for _ in range(n_concurrent)]
        for name, items in items_by_model.items():
            queue = iter(items)
            workers += [self._ask_items(name, queue) for _ in range(min(n_concurrent, len(items)))]
        await gather_all(workers)

    def _open_items(self, name: str) -> Iterator[TunedItem]:
        for item in self.tuning.items.values():
            if (
                not item.latest_version.failure
                and item.failure_by_model(self.tuning.request)[name] is None
            ):
                yield item

    async def _ask_items(self, name: str, items: Iterator[TunedItem]) -> None:
        breaker = self.circuit_breakers.setdefault(name, CircuitBreaker())
        for item in items:
            succeeded = not breaker.trip_reason and await self._ask_model(name, item, breaker)
            self.progress.n_run += succeeded
            self.progress.n_not_run += not succeeded
            self.report_progress()

    async def _ask_model(self, name: str, item: TunedItem, breaker: CircuitBreaker) -> bool:
        """Let a model try until it solves the version or all attempts are used."""
        done = {
            t.attempt
            for t in item.attempts(name, item.latest_version.number)
            if t.outcome != "not_run"
        }
        for attempt in range(self.tuning.request.plan.repeats):
            if attempt in done:
                continue
            trial = await self._run_attempt(name, item.latest_version, attempt, breaker)
            self.writer.add(trial)
            self.progress.input_tokens += trial.usage.input
            self.progress.output_tokens += trial.usage.output
            if trial.outcome in ("not_run", "solved"):
                return trial.outcome == "solved"
        return True

    async def _run_attempt(
        self, name: str, version: ItemVersion, attempt: int, breaker: CircuitBreaker
    ) -> Trial:
        trial = Trial(
            item=version.item, version=version.number, model=name, attempt=attempt,
            outcome="not_run",
        )  # fmt: skip
        plan = self.tuning.request.plan
        tool_format = self.suite.tool_formats[plan.tool_format]
        participants = EpisodeSetting(
            self.suite, self.factory, self.panel[name], tool_format, plan.sampling
        )
        episode = EpisodeProgress(version.task, attempt)
        judged_trials: list[Trial] = []
        if await play_episode(
            episode,
            participants,
            lambda trajectory: judged_trials.append(_judge_trial(trial, episode, trajectory)),
        ):
            breaker.record_success()
            return judged_trials[0]
        if episode.failure is not None and counts_for_breaker(episode.failure):
            breaker.record_failure(episode.failure)
        return replace(trial, failure=episode.failure)

    # --- pages for reviewers ----------------------------------------------------------------

    async def _store_pages(self, items: Iterable[TunedItem]) -> None:
        """Store the pages that can be fetched, without the simulated outages of the test."""
        for item in items:
            version = item.latest_version
            stored_hops = [leaf.hop for leaf in item.pages if leaf.version == version.number]
            try:
                environment = await self.factory.environment_without_outages(version.task)
                for hop in read_task_data(version.task, ItemTruth).hops:
                    if hop not in stored_hops and (
                        text := _page_text(await environment.call(_fetch_call(hop)))
                    ):
                        self.writer.add(
                            HopPage(item=version.item, version=version.number, hop=hop, text=text)
                        )
            except ToolEnvironmentError:  # reviewers see no page then
                continue


def _judge_trial(trial: Trial, episode: EpisodeProgress, trajectory: Trajectory) -> Trial:
    judged = attempt_outcome.judge_attempt(episode.task, trajectory)
    mode, evidence = (judged.label.suite_cause, judged.label.evidence) if judged.label else ("", "")
    return replace(
        trial, outcome=judged.outcome, answer=judged.answer, mode=mode, evidence=evidence,
        usage=trajectory.usage, trajectory=trajectory,
    )  # fmt: skip


def _fetch_call(hop: Hop) -> Call:
    arguments = json.dumps({"url": hop.href, "mode": "truncate"})
    return Call(name=FETCH_TOOL, arguments=arguments, id="page")


def _page_text(found: Result) -> str:
    """Return the text of a page, "" for a result that is not a page."""
    try:
        fields = json_codec.parse_json(json_codec.restore_surrogates(found.text))
    except json_codec.InvalidJson:
        return ""
    text = fields.get("content") if isinstance(fields, dict) else None
    return json_codec.escape_surrogates(text[:_MAX_PAGE_CHARS]) if isinstance(text, str) else ""


def has_open_items(tuning: TuningFolder) -> bool:
    """Return whether a model must still be asked."""
    return any(
        not item.latest_version.failure and None in item.failure_by_model(tuning.request).values()
        for item in tuning.items.values()
    )


def _count_settled(item: TunedItem, request: TuningRequest) -> int:
    """Return how many models have a result on the current version of an item."""
    if item.latest_version.failure:
        return 0
    return sum(failure is not None for failure in item.failure_by_model(request).values())


async def run_tuning(
    tuning: TuningFolder,
    writer: TuningWriter,
    suite: Suite,
    panel: Panel,
    editor: ItemEditor,
    *,
    n_concurrent: int = 16,
    watch: ProgressWatcher | None = None,
) -> Progress:
    """Play and edit in turn until nothing is left to do; items not run wait for the next call.

    The items must exist (`make_items`). Raises UsageError where the search engine lacks something.
    The returned progress has in `stop_reason` why a model could no longer be asked.
    """
    n_settled = sum(_count_settled(item, tuning.request) for item in tuning.items.values())
    progress = Progress(n_planned=n_settled, n_done_before=n_settled)
    breakers: dict[str, CircuitBreaker] = {}
    patience_watch = provider_circuit_breaker.watch_waits()

    def report_progress() -> None:
        progress.wait_reasons = runner.wait_reasons(panel.values(), patience_watch)
        if watch is not None:
            watch(progress)

    async with suite.environment.open(tuning.media) as factory:
        assert isinstance(factory, WebEnvironmentFactory)
        pulse_task = asyncio.create_task(runner.notify_periodically(report_progress))
        try:
            while True:
                turn = PanelRound(
                    tuning, writer, suite, factory, panel, progress, report_progress, breakers
                )
                await turn.ask_panel(n_concurrent)
                if not editor.edit_items():
                    break
        finally:
            pulse_task.cancel()
            await asyncio.gather(pulse_task, return_exceptions=True)
    stop_reasons = {
        name: breaker.trip_reason for name, breaker in breakers.items() if breaker.trip_reason
    }
    progress.stop_reason = "; ".join(f"{name}: {reason}" for name, reason in stop_reasons.items())
    return progress
