"""The report: one self-contained HTML file of limited size, made as a stream."""

from __future__ import annotations

import base64
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2

from toolmark.core import json_codec, number_format, svg
from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import NO_VERDICT
from toolmark.core.files import atomic_file
from toolmark.core.media import MediaStore
from toolmark.core.records import Attempt, Table, Task, Trajectory
from toolmark.core.svg import Markup
from toolmark.reports import (
    comparison_report,
    episode_block,
    page_sections,
    run_comparison,
    run_facts,
    run_names,
    score_tables,
    table_format,
)
from toolmark.reports.episode_selection import EpisodeSelection
from toolmark.reports.run_facts import RunFacts
from toolmark.reports.table_format import Grid
from toolmark.runs.run_store import NOT_SCORED, Run
from toolmark.runs.score_lookup import ScoreLookup
from toolmark.runs.stored_presentation import (
    StoredViews,
    provisional_presentation,
    read_presentation,
)
from toolmark.statistics.score_columns import Columns, gather_columns

MAX_FLIPS_LISTED = 100  # flipped items in each direction that the page names
TEMPLATE_FOLDER = Path(__file__).parent
_BREAK_POINTS = re.compile(r"(?<=[_/?&#:])")
MAX_RECORDINGS_BYTES = (
    10_000_000  # bytes of recordings in a page, as text: about four minutes of plain WAV
)
RESERVED_BYTES = 65_536  # for text known only after the selection, such as counts


@dataclass(frozen=True, slots=True)
class _EpisodeSelections:
    failed: EpisodeSelection
    solved: EpisodeSelection
    not_run: EpisodeSelection

    @property
    def each_outcome(self) -> tuple[EpisodeSelection, ...]:
        """The selections of failed, solved and not run episodes."""
        return (self.failed, self.solved, self.not_run)


def write_report(runs: Sequence[Run], path: Path, *, limit_bytes: int = 30_000_000) -> Path:
    """Write one self-contained page for the runs and return its path.

    Only the run folders are needed. A run that is not scored is shown as far as it is stored.

    Below `limit_bytes` everything is shown. Beyond it the page shows all failures up to the limit
    and a seeded sample of successes, and says so. The limit and the columns of the scores bound
    the memory. Raises UsageError for no run, and DataError for a damaged folder or when the file
    cannot be written. An existing page is replaced only by a complete one.
    """
    if not runs:
        raise UsageError("no run to report on")
    presentations = [read_presentation(run) or provisional_presentation(run) for run in runs]
    run_labels = run_names.distinct_run_names(runs)
    gathered = [
        run_facts.gather_run_facts(index, run, presentation, name)
        for index, (run, presentation, name) in enumerate(
            zip(runs, presentations, run_labels, strict=True)
        )
    ]
    shown_runs = [facts_of_run for facts_of_run, _ in gathered]
    columns = [found for _, found in gathered]
    joint_sections = {
        "profiles": page_sections.suite_profiles(runs, run_labels, presentations, columns),
        "overviews": page_sections.suite_overviews(runs, run_labels, presentations, columns),
    }
    selections = _EpisodeSelections(
        EpisodeSelection(limit_bytes, MAX_RECORDINGS_BYTES),
        EpisodeSelection(limit_bytes, MAX_RECORDINGS_BYTES),
        EpisodeSelection(limit_bytes // 10, MAX_RECORDINGS_BYTES),
    )
    for index, (run, presentation, (_, found)) in enumerate(
        zip(runs, presentations, gathered, strict=True)
    ):
        _select_episodes(
            selections,
            index,
            run,
            presentation.rules,
            _all_columns(run, presentation.rules[0], found[presentation.rules[0]]),
            path.parent,
        )
    frame = _template_values(runs, shown_runs) | joint_sections
    fixed = sum(len(piece.encode()) for piece in _render_page(frame, [], ""))
    _divide_budget(selections, limit_bytes - fixed - RESERVED_BYTES)
    blocks = [block for selection in selections.each_outcome for block in selection.blocks()]
    _write_page(path, _render_page(frame, blocks, _selection_note(selections)))
    return path


def _select_episodes(
    selections: _EpisodeSelections,
    index: int,
    run: Run,
    rules: Sequence[str],
    tables: Sequence[Columns],
    page_folder: Path,
) -> None:
    """Offer every episode of a run to its selection; `page_folder` is the page's folder."""
    solved: dict[tuple[str, int], bool] = {}
    absent: set[tuple[str, int]] = set()
    for table in tables:
        keys = [*zip(table.task.tolist(), table.repeat.tolist(), strict=True)]
        solved.update(zip(keys, table.correct.tolist(), strict=True))
        absent.update(itertools.compress(keys, (~table.run).tolist()))
    scores, views = ScoreLookup(run), StoredViews(run)
    for trajectory in run.trajectories():
        key = (trajectory.task, trajectory.repeat)
        if key in solved and key not in absent:
            selection = selections.solved if solved[key] else selections.failed
            selection.offer_episode(
                (index, *key), _block_maker(index, run, trajectory, scores, views, page_folder)
            )
        elif key in absent or run.task(trajectory.task).kind == "scored":
            absent.discard(key)
            attempt = _as_not_run(trajectory, scores)
            selections.not_run.offer_episode(
                (index, *key), _not_run_block_maker(index, run, rules, attempt, page_folder)
            )
    last = {(a.task, a.repeat): n for n, a in enumerate(run.attempts())}
    for n, attempt in enumerate(run.attempts()):
        key = (attempt.task, attempt.repeat)
        if key in absent and last[key] == n:
            selections.not_run.offer_episode(
                (index, *key), _not_run_block_maker(index, run, rules, attempt, page_folder)
            )


def _all_columns(run: Run, rule: str, as_asked: Columns) -> list[Columns]:
    """Return the columns of the tasks as asked, then of each kind of variation."""
    varied = (gather_columns(run.scores(), rule, kind) for kind in run.info.plan.vary)
    return [as_asked, *varied]


def _block_maker(
    index: int,
    run: Run,
    trajectory: Trajectory,
    scores: ScoreLookup,
    views: StoredViews,
    page_folder: Path,
) -> Callable[[], episode_block.EpisodeBlock]:
    """Return a function that makes the block of a judged episode on demand."""

    def make_block() -> episode_block.EpisodeBlock:
        task: Task = run.task(trajectory.task)
        key = (trajectory.task, trajectory.repeat)
        verdicts = scores[key].verdicts
        return episode_block.completed_block(
            index, task, trajectory, verdicts, views[key], _run_media(run), page_folder
        )

    return make_block


def _as_not_run(trajectory: Trajectory, scores: ScoreLookup) -> Attempt:
    """Return a played episode that the scorer could not judge as not run."""
    key = (trajectory.task, trajectory.repeat)
    return Attempt(
        task=trajectory.task,
        repeat=trajectory.repeat,
        failure=(scores[key].failure if key in scores else NOT_SCORED) or NO_VERDICT,
        steps=trajectory.steps,
    )


def _not_run_block_maker(
    index: int, run: Run, rules: Sequence[str], attempt: Attempt, page_folder: Path
) -> Callable[[], episode_block.EpisodeBlock]:
    def make_block() -> episode_block.EpisodeBlock:
        task = run.task(attempt.task)
        return episode_block.not_run_block(
            index, task, attempt, rules, _run_media(run), page_folder
        )

    return make_block


def _run_media(run: Run) -> MediaStore:
    return MediaStore(run.path / "media")


def _divide_budget(selections: _EpisodeSelections, budget_bytes: int) -> None:
    """Divide the budget: up to nine tenths for failures, the rest for the others.

    Recordings take MAX_RECORDINGS_BYTES at most, those of failures first. Where not everything fits
    they are removed before episodes are: they get what episodes leave, at least a sixth.
    """
    budget_bytes = max(0, budget_bytes)
    failed, solved, not_run = selections.each_outcome
    not_run.shrink_to(min(not_run.limit_bytes, budget_bytes // 20))
    silent_bytes = sum(
        selection.size_bytes - selection.sound_bytes for selection in selections.each_outcome
    )
    recordings_bytes = min(
        MAX_RECORDINGS_BYTES, max(budget_bytes // 6, budget_bytes - silent_bytes)
    )
    for selection in selections.each_outcome:
        selection.drop_recordings(recordings_bytes)
        recordings_bytes -= selection.sound_bytes
    failed.shrink_to(budget_bytes * 9 // 10 - not_run.size_bytes)
    solved.shrink_to(budget_bytes - not_run.size_bytes - failed.size_bytes)


def _selection_note(selections: _EpisodeSelections) -> str:
    failed, solved, not_run = selections.each_outcome
    recordings_note = _recordings_note(selections)
    if all(selection.n_selected == selection.n_offered for selection in selections.each_outcome):
        return f"Every episode is on this page.{recordings_note}"
    counts = [
        (
            f"{number_format.format_count(selection.n_selected)} of "
            f"{number_format.format_count(selection.n_offered)} {word}"
        )
        for selection, word in ((failed, "failures"), (solved, "successes"), (not_run, "not run"))
        if selection.n_offered
    ]
    return (
        f"To keep this page small it holds {', '.join(counts)}: a random sample with a fixed seed "
        "where not all fit. The tables above count every episode; the rest is in the run folder."
        f"{recordings_note}"
    )


def _recordings_note(selections: _EpisodeSelections) -> str:
    """Return how many episodes have their recordings, "" where all have."""
    n_without_recordings = sum(
        selection.n_without_recordings for selection in selections.each_outcome
    )
    if not n_without_recordings:
        return ""
    n_with_recordings = sum(selection.n_with_recordings for selection in selections.each_outcome)
    return (
        f" Recordings take {MAX_RECORDINGS_BYTES // 1_000_000} MB of it at most, failures first: "
        f"{number_format.format_count(n_with_recordings)} of "
        f"{number_format.pluralize(n_with_recordings + n_without_recordings, 'episode')} can be "
        "heard here; the others show the waveform and link to the file in the run folder."
    )


def _template_values(runs: Sequence[Run], shown_runs: list[RunFacts]) -> dict[str, Any]:
    """Return the values that the template needs, except the episodes."""
    script = (TEMPLATE_FOLDER / "script.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    run_values = [
        {
            "name": shown_run.name,
            "rules": [rule.name for rule in shown_run.rules],
            "words": shown_run.rules[0].title_by_name,
            "repeats": run.info.plan.repeats,
        }
        for shown_run, run in zip(shown_runs, runs, strict=True)
    ]
    return {
        "title": _page_title(shown_runs),
        "shown_runs": shown_runs,
        "has_floors": any(shown_run.floors is not None for shown_run in shown_runs),
        "parts": [
            _score_grid(table, runs, shown_runs) for table in score_tables.score_tables(shown_runs)
        ],
        "comparisons": [*_comparison_sections(runs)],
        "cautions": run_facts.runs_by_caution(shown_runs),
        "n_not_run": sum(shown_run.n_not_run for shown_run in shown_runs),
        "runs": episode_block.embed_json(run_values).decode(),
        "script": script,
        "script_hash": Markup(f"sha256-{digest}"),
        "style": Markup((TEMPLATE_FOLDER / "style.css").read_text(encoding="utf-8")),
        "version": metadata.version("toolmark"),
        "dash": number_format.DASH,
        "share": number_format.format_estimate,
        "percent": number_format.format_percent,
        "interval": number_format.format_percent_interval,
        "count": number_format.format_count,
        "plural": number_format.pluralize,
    }


def _score_grid(table: Table, runs: Sequence[Run], shown_runs: Sequence[RunFacts]) -> Grid:
    """Return a table of scores that links to the one run, or from each column to its run."""
    varied = any(run.info.plan.vary for run in runs)
    if len(runs) == 1:
        return table_format.make_grid(table, 0, has_variations=varied)
    indices = {shown_run.name: shown_run.index for shown_run in shown_runs}
    return table_format.make_grid(table, indices, has_variations=varied)


def _page_title(shown_runs: Sequence[RunFacts]) -> str:
    suites = ", ".join(dict.fromkeys(shown_run.suite_text for shown_run in shown_runs))
    return (
        f"{shown_runs[0].model} on {suites}"
        if len(shown_runs) == 1
        else f"{len(shown_runs)} runs on {suites}"
    )


def _comparison_sections(runs: Sequence[Run]) -> Iterator[dict[str, Any]]:
    """Yield a comparison for every pair of comparable runs, with the suite if there are several.

    The p-values of the pairs of one suite are adjusted together.
    """
    found: dict[str, list[comparison_report.Comparison]] = {run.info.plan.suite: [] for run in runs}
    for a, b in itertools.combinations(runs, 2):
        with suppress(UsageError):  # other suites, or no item in common
            found[a.info.plan.suite].append(run_comparison.compare_runs(a, b))
    for suite, comparisons in found.items():
        for comparison in run_comparison.adjust_comparisons(comparisons):
            yield _comparison_values(comparison) | {"suite": suite if len(found) > 1 else ""}


def _comparison_values(comparison: comparison_report.Comparison) -> dict[str, Any]:
    listed = [
        comparison_report.summary_table(comparison),
        *comparison_report.detail_tables(comparison),
    ]
    flips = (
        (f"Items that only {comparison.a} got right", comparison.paired.only_a),
        (f"Items that only {comparison.b} got right", comparison.paired.only_b),
    )
    return {
        "verdict": comparison_report.verdict_sentence(comparison),
        "warnings": comparison.warnings,
        "grids": [table_format.make_grid(table) for table in listed],
        "flips": [
            (title, len(items), _item_links(items[:MAX_FLIPS_LISTED])) for title, items in flips
        ],
    }


def _item_links(items: Sequence[str]) -> list[tuple[str, str]]:
    """Pair each item with the filters that list its episodes."""
    labels = [table_format.visible_text(item) for item in items]
    return [(name, json_codec.encode_record({"find": name}).decode()) for name in labels]


def _render_page(
    template_values: dict[str, Any],
    blocks: Sequence[episode_block.EpisodeBlock],
    selection_note: str,
) -> Iterator[str]:
    """Yield the page's text piece by piece."""
    index = (f"{',' if i else ''}{block.list_entry.decode()}\n" for i, block in enumerate(blocks))
    shared: dict[str, bytes] = {}
    for block in blocks:
        shared |= {**block.pictures, **block.sounds}
    bodies = itertools.chain(
        ((f"e{i}", block.details.decode()) for i, block in enumerate(blocks)),
        ((name, data.decode()) for name, data in shared.items()),
    )
    return _page_template().generate(
        **template_values, index=index, bodies=bodies, shown=selection_note
    )


@functools.cache  # a page is rendered twice, the first time for its size
def _page_template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATE_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["breakable"] = _insert_line_breaks
    return environment.get_template("template.html.j2")


def _insert_line_breaks(text: str) -> Markup:
    """Allow line breaks in a long name after its separators, never within a word."""
    return Markup("<wbr>".join(svg.escape_text(part) for part in _BREAK_POINTS.split(text)))


def _write_page(path: Path, pieces: Iterator[str]) -> None:
    try:
        with (
            atomic_file(path) as draft,
            draft.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(pieces)
    except OSError as error:
        raise DataError(f"{path}: cannot write the report: {error.strerror}") from None
