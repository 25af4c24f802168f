"""What a page says of how a run was made: settings, versions and hashes, missing parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core import json_codec, number_format
from toolmark.core.model import NO_MODEL
from toolmark.core.records import Table
from toolmark.reports import cost_text, run_names, run_series, table_format, usage_text
from toolmark.reports.table_format import Grid
from toolmark.runs.costs.run_usage import RunUsage
from toolmark.runs.run_plan import PlannedDraw
from toolmark.runs.run_store import Run

MAX_NOTES = 20  # notes on one part of the environment
MAX_NOTE_LENGTH = 600
MAX_IDS_LISTED = 4  # ids of a selection that are named


def setting_rows(run: Run, used: RunUsage) -> Iterator[tuple[str, str]]:
    """Yield the settings of a run, with "" for what is not set."""
    info, plan = run.info, run.info.plan
    yield "suite", run_names.label_suite(plan.suite, info.data_label)
    yield "agent", table_format.visible_text(plan.agent)
    yield "model", table_format.visible_text(plan.model if plan.model != NO_MODEL else "")
    yield "base URL", plan.base_url
    yield "simulated user", table_format.visible_text(plan.user.get("model", ""))
    yield "served as", table_format.visible_text(", ".join(info.served_models))
    yield "tool format", plan.tool_format
    yield "parameters", _settings_text(plan.parameters)
    yield "sampling", _settings_text(msgspec.to_builtins(plan.sampling)) or "the endpoint's own"
    yield "left out", "; ".join(run_names.left_out_settings(info))
    yield "seed", str(info.seed)
    yield "tasks × repeats", f"{number_format.format_count(info.n_tasks)} × {plan.repeats}"
    yield "selection", _selection_text(run)
    series = run_series.find_series(run)
    yield "runs", run_series.describe_series(series)
    yield "logbook", table_format.visible_text("; ".join(series.faults if series else ()))
    yield "created", info.created
    yield "took", usage_text.usage_line(used)
    yield (
        "cost",
        table_format.visible_text(
            cost_text.cost_line(used).removeprefix("cost ").removeprefix("of ")
        ),
    )
    yield "command", table_format.visible_text(info.command)
    yield "folder", table_format.visible_text(str(run.path))


def _selection_text(run: Run) -> str:
    plan = run.info.plan
    chosen = {
        "limit": plan.limit,
        "sample": plan.sample,
        "tasks": plan.tasks,
        "plan": "" if plan.study is None else _draw_text(plan.study),
        "ids": list(plan.ids) if len(plan.ids) <= MAX_IDS_LISTED else _shortened_ids(plan.ids),
    }
    return _settings_text(chosen)


def _draw_text(draw: PlannedDraw) -> str:
    n_items = number_format.pluralize(draw.n_items, "item")
    without = (
        f", without {number_format.format_count(len(draw.excluded_items))} of the pilot"
        if draw.excluded_items
        else ""
    )
    return f"{n_items}{without} (seed {draw.seed}, sha256 {draw.plan_sha256[:12]})"


def _shortened_ids(ids: Sequence[str]) -> str:
    return f"{number_format.format_count(len(ids))} ids ({', '.join(ids[:MAX_IDS_LISTED])}, …)"


def _settings_text(values: Mapping[str, Any]) -> str:
    """Return settings as text; unset ones are omitted."""
    unset: tuple[Any, ...] = (None, "", [], (), {})
    return ", ".join(f"{key} = {_setting_text(x)}" for key, x in values.items() if x not in unset)


def _setting_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_setting_text, value))}]"
    text = (
        value
        if isinstance(value, str)
        else json_codec.encode_record(json_codec.to_plain_json(value)).decode()
    )
    return table_format.visible_text(text)


def origin_rows(run: Run) -> list[tuple[str, str]]:
    """Return the versions and hashes of what a run was made with."""
    info = run.info
    hashes = {"tasks": info.tasks_sha256, **info.hashes}
    hash_rows = [(f"sha256 {name}", value) for name, value in hashes.items() if value]
    return [*info.versions.items(), *hash_rows]


def environment_grid(run: Run) -> Grid:
    """Return the missing parts of the environment and the notes on them, by part."""
    info = run.info
    rows = [
        (name, "cannot run", reason.replace("\n", "; "))
        for name, reason in info.missing_parts.items()
    ]
    n_omitted = 0
    for name, notes in info.notes.items():
        n_omitted += max(0, len(notes) - MAX_NOTES)
        rows += [(name, "noted", note) for note in notes[:MAX_NOTES]]
    shown_rows = tuple(
        (name, what, text[:MAX_NOTE_LENGTH]) for name, what, text in sorted(rows, key=_first_cell)
    )
    note = f"{number_format.pluralize(n_omitted, 'further note')} in run.json" if n_omitted else ""
    is_data_only = all(name == "data" and what == "noted" for name, what, _ in rows)
    title = "Of the data" if is_data_only else "What could not run, or had trouble"
    head = ("part", "", "what is known")
    return table_format.make_grid(Table(title=title, head=head, rows=shown_rows, note=note))


def _first_cell(row: tuple[str, str, str]) -> str:
    return row[0]
