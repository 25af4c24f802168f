"""Tables on recognition and failures: error rates by recogniser and voice, failure modes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from msgspec.structs import replace

from toolmark.core import number_format
from toolmark.core.records import Cell, Chart, Estimate, Table
from toolmark.statistics import failure_mode_tables
from toolmark.statistics.episode_filters import link_rows
from toolmark.statistics.estimate_charts import estimate_series, stacked_bars
from toolmark.statistics.group_tables import CellFunction, count_run, group_table
from toolmark.statistics.score_columns import Columns
from toolmark.statistics.table_cells import mean_share_cell
from toolmark.suites.mfcl_speech import condition_labels, speech_failure_modes

ENGINE_PREFIX, VOICE_PREFIX = "engine:", "voice:"
"""Parts of a verdict, `engine:NAME` and `voice:ENGINE NAME`: 1 where it spoke in the episode."""
ASKED_PART, ANSWERED_PART = "asked", "answered"
"""Parts of a verdict: questions to the user in the episode, and those that were answered."""
_OTHER_MODE_LABELS = {
    speech_failure_modes.SAME_ON_TEXT: "other: same on text",
    speech_failure_modes.UNEXPLAINED: "no rule fits",
}


def failure_tables(columns: Columns) -> Iterator[Table | Chart]:
    """Return the failure modes by condition; the written text has none: it is the control."""
    counts: dict[str, dict[str, int]] = {}
    failed_by_condition: dict[str, Columns] = {}
    for condition, answers in condition_labels.rows_by_condition(columns).items():
        failed = failure_mode_tables.failed_answers(answers)
        if condition not in condition_labels.CONDITIONS_IN_WRITING and len(failed):
            counts[condition] = count_modes(failed)
            failed_by_condition[condition] = failed
    if not counts:
        return
    labels = {mode: f"{mode} {text}" for mode, text in speech_failure_modes.MODES.items()}
    yield failure_mode_tables.failure_mode_table(
        "Failure modes",
        "condition",
        labels | _OTHER_MODE_LABELS,
        {condition_labels.condition_label(name, columns): row for name, row in counts.items()},
        f"{failure_mode_tables.EACH_ONCE_NOTE} Other: the same turn, tool and "
        "parameter go wrong on the written text or the spoken words too. No rule fits: no other "
        "mode applies, and it is not shown that perception is the cause: for that the exact words "
        "(`said`) were answered right, and a transcript lacks the value."
        + condition_labels.marks_note(columns),
        whole=columns,
        failed_by_row=failed_by_condition,
    )
    yield stacked_bars(
        condition_labels.mark_title("Failure modes, by share of failed answers", columns),
        {mode: mode for mode in speech_failure_modes.MODES} | _OTHER_MODE_LABELS,
        {
            condition_labels.tick_label(name, columns): {
                mode: 100 * n / sum(row.values()) for mode, n in row.items()
            }
            for name, row in counts.items()
        },
        "% of failed answers",
    )


def count_modes(failed: Columns) -> dict[str, int]:
    """Count failed answers by primary mode: FM1 to FM6, then other, then unexplained."""
    return failure_mode_tables.count_modes(
        failed, (*speech_failure_modes.MODES, *_OTHER_MODE_LABELS)
    )


def question_tables(columns: Columns) -> Iterator[Table]:
    """Return how often the user was asked back by condition, and the outcomes."""
    rows: list[tuple[Cell, ...]] = []
    by_condition = condition_labels.rows_by_condition(columns)
    for condition, asked in by_condition.items():
        answers = asked.where(asked.run)
        n_asked, n_answered = (
            int(np.nansum(answers.part(name))) for name in (ASKED_PART, ANSWERED_PART)
        )
        episodes = int(np.nansum(answers.part(ASKED_PART) > 0))
        mark = condition_labels.condition_label(condition, columns)
        rows.append((mark, len(answers), episodes, n_asked, n_answered, n_asked - n_answered))
    if any(row[3] for row in rows):
        table = Table(
            title="Asking back",
            head=("condition", "answers", "of these asked", "questions", "answered", "refused"),
            rows=tuple(rows),
            note='Questions to the simulated user; a message without one ("Done.") is none. '
            "Refused: it asked for something that is not on the whitelist, or too often."
            + condition_labels.marks_note(columns),
        )
        yield link_rows(table, columns, by_condition.values())


def recognition_tables_and_charts(columns: Columns) -> Iterator[Table | Chart]:
    """Return error rates by condition and recogniser, and charts of the word error rates."""
    recognisers = sorted({str(name) for name in columns.axis("recogniser") if name}) or [""]
    rates: dict[str, list[Estimate]] = {name: [] for name in recognisers}
    rows: list[tuple[Cell, ...]] = []
    parts: list[Columns] = []
    heard = condition_labels.rows_by_condition(columns)
    for condition in condition_labels.CONDITIONS_IN_WRITING:
        heard.pop(condition, None)
    for condition, answers in heard.items():
        for name in recognisers:
            part = answers.where(answers.axis("recogniser") == name)
            found = condition_labels.estimate_part_average(part, "wer")
            rates[name].append(found)
            if found.n or not np.isnan(part.part("stoi")).all():
                mark = "saturated" if condition_labels.is_saturated(part) else ""
                parts.append(part)
                rows.append(
                    (
                        condition,
                        condition_labels.recogniser_label(name),
                        *(cell(part) for cell in _RATE_CELLS.values()),
                        mark,
                    )
                )
    if not rows:
        return
    has_transcripts = any(found.n for line in rates.values() for found in line)
    table = Table(
        title="The sound, and what recognisers made of it" if has_transcripts else "The sound",
        head=("condition", "recogniser", *_RATE_CELLS, "mark"),
        rows=tuple(rows),
        note=(_TRANSCRIPT_NOTE if has_transcripts else _SOUND_NOTE)
        + condition_labels.marks_note(columns),
    )
    yield drop_empty_columns(link_rows(table, columns, parts, n_names=2))
    if has_transcripts and len(heard) * len(recognisers) > 1:
        yield Chart(
            title="Word error rate by condition",
            kind="bar",
            ticks=tuple(heard),
            series=tuple(
                estimate_series(condition_labels.recogniser_label(name), found, scale=100)
                for name, found in rates.items()
            ),
            y_label="word error rate, %",
            note="Whiskers are 95 % intervals.",
        )


_EMPTY_CELLS = (None, "", number_format.DASH)
_SOUND_NOTE = "Means over clips, in brackets 95 % intervals over items."
_TRANSCRIPT_NOTE = (
    "Means over transcripts, each of which counts alike however long; in brackets 95 % intervals "
    "over items. Transcripts are compared with what was said, disfluencies included; rates may "
    "pass 100 %."
)


def drop_empty_columns(table: Table) -> Table:
    """Return a table without the columns that are empty in every row."""
    used_columns = [
        index
        for index in range(len(table.head))
        if any(row[index] not in _EMPTY_CELLS for row in table.rows)
    ]
    rows = tuple(tuple(row[index] for index in used_columns) for row in table.rows)
    links = table.column_episodes
    return replace(
        table,
        head=tuple(table.head[index] for index in used_columns),
        rows=rows,
        column_episodes=tuple(links[index] for index in used_columns) if links else (),
    )


def _rate_cell(part: str) -> CellFunction:
    return lambda rows: number_format.format_share(
        condition_labels.estimate_part_average(rows, part)
    )


def _stoi_cell(rows: Columns) -> str | None:
    stoi = condition_labels.estimate_part_average(rows, "stoi")
    if stoi.value is None:
        return None
    if stoi.low is None or stoi.high is None:
        return number_format.format_fixed(stoi.value, 2)
    return number_format.format_fixed_interval(stoi.value, stoi.low, stoi.high, 2)


_RATE_CELLS: Mapping[str, CellFunction] = {
    "n": count_run,
    "word error rate": _rate_cell("wer"),
    "entity error rate": _rate_cell("entity_wer"),
    "STOI": _stoi_cell,
    "SNR dB": lambda rows: condition_labels.estimate_part_average(rows, "snr_db").value,
}


def voice_tables(columns: Columns) -> Iterator[Table]:
    """Return error rates and accuracy by engine and condition, and by voice over all conditions."""
    rate_note = _SOUND_NOTE if np.isnan(columns.part("wer")).all() else _TRANSCRIPT_NOTE
    marks_note = condition_labels.marks_note(columns)
    note = f"{rate_note} An episode of several voices counts with each.{marks_note}"
    cells = {**_RATE_CELLS, "accuracy": mean_share_cell}
    engines = [
        ((engine, condition_labels.condition_label(condition, columns)), rows)
        for engine, spoke in _rows_by_speaker(columns, ENGINE_PREFIX)
        for condition, rows in condition_labels.rows_by_condition(spoke).items()
    ]
    if engines:
        yield drop_empty_columns(
            group_table(
                "Voice engines", ("engine", "condition"), engines, cells, note, whole=columns
            )
        )
    voices = []
    for name, rows in _rows_by_speaker(columns, VOICE_PREFIX):
        engine, _, voice_name = name.partition(" ")
        voices.append(((engine, condition_labels.mark_title(voice_name, rows)), rows))
    if voices:
        title = "Voices, over all conditions"
        yield drop_empty_columns(
            group_table(title, ("engine", "voice"), voices, cells, note, whole=columns)
        )


def _rows_by_speaker(columns: Columns, prefix: str) -> Iterator[tuple[str, Columns]]:
    """Yield each voice or engine, with the answers to its speech."""
    for part in sorted(name for name in columns.parts if name.startswith(prefix)):
        yield part.removeprefix(prefix), columns.where(columns.part(part) > 0)
