"""Prompt formats by BFCL's names, the format-sensitivity tasks, and the official tool formats."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from toolmark.core import files
from toolmark.core.errors import DataError, UsageError, suggest_names
from toolmark.core.records import (
    Estimate,
    Task,
    Tool,
)
from toolmark.formats.native_format import NativeFormat
from toolmark.formats.parse import java_calls, javascript_calls, reply_parser
from toolmark.formats.parse.reply_parser import CallForm
from toolmark.formats.parse.reply_text import DecodedCalls, add_brackets
from toolmark.formats.prompt_format import (
    DEFAULT_NAME,
    PromptLayout,
    PromptStyle,
    PromptVariant,
)
from toolmark.formats.render.tool_docs import ToolDocForm
from toolmark.formats.syntax_format import is_syntax_format
from toolmark.official_bfcl import official_data, tool_schemas
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.level_formulas import LevelSpread
from toolmark.statistics.metric_formulas import FilteredFormula, Mean, Metric
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns

CATEGORY = "format_sensitivity"
ENTRY_CHOICES = ("200", "all")
# BFCL's own sets: the 96 formats are all of their combinations, whatever else can be rendered
CALL_FORMS: tuple[CallForm, ...] = ("python", "json", "verbose_xml", "concise_xml")
DOC_FORMS: tuple[ToolDocForm, ...] = ("python", "xml", "json")
LAYOUTS: tuple[PromptLayout, ...] = ("plaintext", "markdown")
STYLES: tuple[PromptStyle, ...] = ("classic", "experimental")
AXES = ("call_form", "has_tag", "tool_doc_form", "layout", "style")
# the categories with truths in Python, in the order of the official file
PARENT_CATEGORIES = (
    "simple_python", "parallel", "multiple", "parallel_multiple", "live_simple", "live_multiple",
    "live_parallel", "live_parallel_multiple",
)  # fmt: skip

_IDS_FILE = "bfcl_eval/data/BFCL_v4_format_sensitivity.json"
_FORMAT_NAME = re.compile(
    r"ret_fmt=(?P<call_form>\w+)&tool_call_tag=(?P<has_tag>True|False)"
    r"&func_doc_fmt=(?P<tool_doc_form>\w+)&prompt_fmt=(?P<layout>\w+)&style=(?P<style>\w+)"
)


# --- names of formats -------------------------------------------------------------------


def format_name(variant: PromptVariant) -> str:
    """Return the official name of a format."""
    return (
        f"ret_fmt={variant.call_form}&tool_call_tag={variant.has_tag}"
        f"&func_doc_fmt={variant.tool_doc_form}&prompt_fmt={variant.layout}&style={variant.style}"
    )


def short_label(name: str) -> str:
    """Return a short name for readers: "json, tag, xml docs"; usual layout and style left out."""
    variant = all_variants()[name]
    parts = [
        variant.call_form,
        "tag" if variant.has_tag else "no tag",
        f"{variant.tool_doc_form} docs",
    ]
    parts += [variant.layout] if variant.layout != "plaintext" else []
    return ", ".join(parts + ([variant.style] if variant.style != "classic" else []))


@cache
def all_variants() -> dict[str, PromptVariant]:
    """Return all 96 formats by name."""
    forms = itertools.product(CALL_FORMS, (True, False), DOC_FORMS, LAYOUTS, STYLES)
    return {format_name(form): form for form in itertools.starmap(PromptVariant, forms)}


@cache
def official_format_names() -> tuple[str, ...]:
    """Return the names of the 26 published formats, in their order (specification section 4)."""
    plain_names = [
        name
        for name, variant in all_variants().items()
        if (variant.layout, variant.style) == ("plaintext", "classic")
    ]
    return (
        *plain_names,
        format_name(PromptVariant(layout="markdown")),
        format_name(PromptVariant(style="experimental")),
    )


def select_format_names(requested: Sequence[str]) -> tuple[str, ...]:
    """Return the formats meant by `official`, `all` or names, each once. Raises UsageError."""
    selected: dict[str, None] = {}
    for name in requested:
        if name in ("official", "all"):
            selected.update(
                dict.fromkeys(official_format_names() if name == "official" else all_variants())
            )
        elif name in all_variants():
            selected[name] = None
        else:
            raise UsageError(f"no prompt format {name!r}{_explain_unknown_format(name)}")
    if not selected:
        raise UsageError("no prompt format given; try: official, all")
    return tuple(selected)


def _explain_unknown_format(word: str) -> str:
    """Say which field of a format's name is wrong, or what such a name looks like."""
    fields = _FORMAT_NAME.fullmatch(word)
    if fields is None:
        known_words = ("official", "all", *all_variants())
        return suggest_names(word, known_words, listing="toolmark list bfcl")
    known = {
        "call_form": CALL_FORMS,
        "tool_doc_form": DOC_FORMS,
        "layout": LAYOUTS,
        "style": STYLES,
    }
    return "".join(
        f"; {fields[name]!r}{suggest_names(fields[name], levels)}"
        for name, levels in known.items()
        if fields[name] not in levels
    )


def variant_of_format(tool_format: str) -> PromptVariant | None:
    """Return the prompt variant of an official tool format by its name, None for others.

    Those are native calls, and calls in a syntax of open models: the tool format reads them, and
    they count as structured calls. Raises UsageError for any other tool format: no official decoder
    reads its replies.
    """
    if tool_format == NativeFormat.name or is_syntax_format(tool_format):
        return None
    if tool_format == DEFAULT_NAME:
        return PromptVariant()
    if tool_format not in all_variants():
        nearest = suggest_names(
            tool_format,
            (NativeFormat.name, DEFAULT_NAME, *all_variants()),
            listing="toolmark list bfcl",
        )
        raise UsageError(f"BFCL grades no tool format {tool_format!r}{nearest}")
    return all_variants()[tool_format]


def is_default_text(tool_format: str) -> bool:
    """Return whether replies are text as the default prompt asks for it: lists of Python calls."""
    return variant_of_format(tool_format) == PromptVariant()


def parse_calls(task: Task, tool_format: str, text: str) -> DecodedCalls:
    """Read the calls of a text reply: in the task's language, or the tool format's form.

    Raises UnreadableCalls; its kind MisshapenCalls is for text that was read and contains no calls.
    """
    match task.category:
        case "simple_java":
            return java_calls.parse_call(add_brackets(text))
        case "simple_javascript":
            return javascript_calls.parse_call(add_brackets(text))
    variant = variant_of_format(tool_format) or PromptVariant()
    return reply_parser.parse_reply(text, variant.call_form, tag=variant.has_tag)


def is_approximate(task: Task, tool_format: str) -> bool:
    """Return whether a text is read only approximately: its language's grammar is missing."""
    if variant_of_format(tool_format) is None:
        return False
    match task.category:
        case "simple_java":
            return not java_calls.is_grammar_installed()
        case "simple_javascript":
            return not javascript_calls.is_grammar_installed()
    return False


# --- the tasks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FormatVariants:
    """Entries, each in every format: entry by entry, the formats in order.

    `subset`: the published ids, where other entries are asked as well.
    """

    entries: tuple[Task, ...]
    formats: tuple[str, ...]
    subset: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.entries) * len(self.formats)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks."""
        index = itertools.count()
        for task in self.entries:
            task = msgspec.structs.replace(task, tools=tuple(map(_add_language_hint, task.tools)))
            extra = {"subset": "yes" if task.id in self.subset else "no"} if self.subset else {}
            for name in self.formats:
                yield _make_variant(task, name, next(index), extra)


def read_tasks(
    root: Path, formats: Sequence[str], entries: str
) -> tuple[FormatVariants, dict[str, str]]:
    """Return the tasks and the hashes of what was read.

    `entries`: "200" for the published subset, "all" for each of the 2,351 entries whose truth is
    calls in Python. Raises UsageError, and DataError for ids that name no entry.
    """
    if entries not in ENTRY_CHOICES:
        raise UsageError(f"entries must be one of {', '.join(ENTRY_CHOICES)}, not {entries!r}")
    found, hashes = official_data.read_tasks(root, PARENT_CATEGORIES)
    path = root / _IDS_FILE
    subset_ids = _read_subset_ids(path)
    hashes[f"{path.parent.name}/{path.name}"] = files.file_sha256(path)
    all_entries = tuple(found)
    if missing := subset_ids - {task.id for task in all_entries}:
        raise DataError(f"{path}: no entry named {min(missing)}")
    if entries == "all":
        return FormatVariants(all_entries, tuple(formats), subset_ids), hashes
    return FormatVariants(
        tuple(task for task in all_entries if task.id in subset_ids), tuple(formats)
    ), hashes


def _read_subset_ids(path: Path) -> frozenset[str]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return frozenset(name for names in table.values() for name in names)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None


def _add_language_hint(tool: Tool) -> Tool:
    """Add the language hint once more: the official loader adds it twice to these entries."""
    return msgspec.structs.replace(tool, description=tool.description + tool_schemas.PYTHON_HINT)


def _make_variant(task: Task, name: str, index: int, extra: dict[str, str]) -> Task:
    return msgspec.structs.replace(
        task,
        id=f"{CATEGORY}_{index}:{name}:{task.id}",
        item=task.id,
        category=CATEGORY,
        tool_format=name,
        axes={"format": name, **axis_levels(all_variants()[name]), **extra},
    )


def axis_levels(variant: PromptVariant) -> dict[str, str]:
    """Return the level of each axis of a format."""
    return {axis: str(getattr(variant, axis)) for axis in AXES}


def original_task(task: Task) -> Task:
    """Return a format-sensitivity task as its entry's own category judges it, others unchanged."""
    if task.category != CATEGORY:
        return task
    return msgspec.structs.replace(task, category=task.item.rpartition("_")[0])


# --- the numbers ------------------------------------------------------------------------


def format_rows(columns: Columns) -> Columns:
    """Return the rows of the format-sensitivity category."""
    return columns.where(columns.category == CATEGORY)


def accuracy_by_format(columns: Columns) -> dict[str, Estimate]:
    """Return the accuracy in each format that occurs, the official ones first."""
    present = set(columns.axis("format")) - {""}
    order = [*(name for name in official_format_names() if name in present)]
    order += [name for name in all_variants() if name in present and name not in order]
    return {
        name: estimate_mean(columns.where(columns.axis("format") == name), name) for name in order
    }


def format_metrics(columns: Columns) -> list[Metric]:
    """Return the accuracy in each format, then how far they differ, as shares.

    The differences need two formats or more: the official header has 0 for one.
    """
    names = list(accuracy_by_format(format_rows(columns)))
    results = [
        Metric(short_label(name), FilteredFormula(filters=(_format_filter(name),), formula=Mean()))
        for name in names
    ]
    if len(names) < 2:
        return results
    selected_rows = (RowFilter(column="category", values=(CATEGORY,)), _format_filter(*names))
    return [
        *results,
        Metric(
            "format_max_delta",
            FilteredFormula(
                filters=selected_rows, formula=LevelSpread(axis="format", statistic="range")
            ),
            lower_is_better=True,
        ),
        Metric(
            "format_std",
            FilteredFormula(
                filters=selected_rows, formula=LevelSpread(axis="format", statistic="deviation")
            ),
            lower_is_better=True,
        ),
    ]


def _format_filter(*names: str) -> RowFilter:
    return RowFilter(column="axes.format", values=names)


def max_delta(values: Sequence[float]) -> float:
    """Return the best accuracy less the worst; 0 for fewer than two."""
    return max(values) - min(values) if len(values) > 1 else 0.0


def standard_deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1); 0 for fewer than two."""
    return statistics.stdev(values) if len(values) > 1 else 0.0
