"""Prompt formats as BFCL names them, the format-sensitivity tasks, and the official dialects."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import get_args

import msgspec

from toolmark import codec
from toolmark import fetch as packages
from toolmark.dialects.parse import java, javascript, python, reply
from toolmark.dialects.parse.frame import Decoded, bracketed
from toolmark.dialects.prompt import Format, Layout, Prompt, Style, Wording, attempted
from toolmark.dialects.render.docs import DocFormat
from toolmark.errors import DataError, UsageError, near
from toolmark.stats.columns import Columns
from toolmark.stats.formulas import Filter, Mean, Metric, Of, Spread
from toolmark.stats.summary import mean
from toolmark.suites.bfcl import data, schema
from toolmark.types import (
    Call,
    Estimate,
    Message,
    Reading,
    Reply,
    Result,
    Task,
    Text,
    Tool,
)

CATEGORY = "format_sensitivity"
ENTRIES = ("200", "all")
AXES = ("calls", "tag", "docs", "layout", "style")
# the categories with truths in Python, in the order of the official file
PARENTS = (
    "simple_python", "parallel", "multiple", "parallel_multiple", "live_simple", "live_multiple",
    "live_parallel", "live_parallel_multiple",
)  # fmt: skip

_IDS = "bfcl_eval/data/BFCL_v4_format_sensitivity.json"
_CONFIG = re.compile(
    r"ret_fmt=(?P<calls>\w+)&tool_call_tag=(?P<tag>True|False)&func_doc_fmt=(?P<docs>\w+)"
    r"&prompt_fmt=(?P<layout>\w+)&style=(?P<style>\w+)"
)


# --- names of formats -------------------------------------------------------------------


def spell(form: Format) -> str:
    """Return the official name of a format."""
    return (
        f"ret_fmt={form.calls}&tool_call_tag={form.tag}&func_doc_fmt={form.docs}"
        f"&prompt_fmt={form.layout}&style={form.style}"
    )


def short(name: str) -> str:
    """Return a format's name for people: "json, tag, xml docs"; usual layout and style unsaid."""
    form = every()[name]
    parts = [form.calls, "tag" if form.tag else "no tag", f"{form.docs} docs"]
    parts += [form.layout] if form.layout != "plaintext" else []
    return ", ".join(parts + ([form.style] if form.style != "classic" else []))


@cache
def every() -> dict[str, Format]:
    """Return all 96 formats by name."""
    forms = itertools.product(
        get_args(reply.Form), (True, False), get_args(DocFormat), get_args(Layout), get_args(Style)
    )
    return {spell(form): form for form in itertools.starmap(Format, forms)}


@cache
def official() -> tuple[str, ...]:
    """Return the names of the 26 published formats, in their order (specification section 4)."""
    plain = [name for name, f in every().items() if (f.layout, f.style) == ("plaintext", "classic")]
    return (*plain, spell(Format(layout="markdown")), spell(Format(style="experimental")))


def named(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the formats meant by `official`, `all` or names, each once. Raises UsageError."""
    meant: dict[str, None] = {}
    for word in asked:
        if word in ("official", "all"):
            meant.update(dict.fromkeys(official() if word == "official" else every()))
        elif word in every():
            meant[word] = None
        else:
            raise UsageError(f"no prompt format {word!r}{_wrong(word)}")
    if not meant:
        raise UsageError("no prompt format given; try: official, all")
    return tuple(meant)


def _wrong(word: str) -> str:
    """Say which field of a format's name is wrong, or how such a name looks."""
    fields = _CONFIG.fullmatch(word)
    if fields is None:
        return f"; try: official, all, or a name such as {spell(Format())}"
    known = {
        "calls": get_args(reply.Form),
        "docs": get_args(DocFormat),
        "layout": get_args(Layout),
        "style": get_args(Style),
    }
    return "".join(
        f"; {fields[name]!r}{near(fields[name], levels)}"
        for name, levels in known.items()
        if fields[name] not in levels
    )


def form(dialect: str) -> Format | None:
    """Return the format of a dialect by its name; None for native tool calling."""
    if dialect.partition(":")[0] == "prompt":
        return Format()
    return every().get(dialect)


def calls(task: Task, dialect: str, text: str) -> Decoded:
    """Read the calls of a text reply: in the task's language, or the dialect's form.

    Raises Unreadable, Misshapen for what was read and holds no calls.
    """
    match task.category:
        case "simple_java":
            return java.parse(bracketed(text))
        case "simple_javascript":
            return javascript.parse(bracketed(text))
    shape = form(dialect) or Format()
    return reply.read(text, shape.calls, tag=shape.tag)


def approximate(task: Task, dialect: str) -> bool:
    """Tell whether the reading of a text is approximate: its language's grammar is missing."""
    if form(dialect) is None:
        return False
    match task.category:
        case "simple_java":
            return not java.exact()
        case "simple_javascript":
            return not javascript.exact()
    return False


# --- asking as the official harness does ------------------------------------------------


class Asked(Prompt):
    """A prompt whose later turns and results are worded as the official harness does."""

    def more(
        self, messages: tuple[Message, ...], tools: tuple[Tool, ...], /
    ) -> tuple[tuple[Message, ...], tuple[Tool, ...]]:
        """Write tools that appear later as a Python list, in front of the turn's first message."""
        if not tools:
            return messages, ()
        shown = codec.escape(str([self.docs(tool) for tool in tools]))
        said = "\n".join([shown, *(message.text for message in messages[:1])])
        return (Message(role="user", parts=(Text(said),)), *messages[1:]), ()

    def read(self, said: Reply, tools: tuple[Tool, ...], /) -> Reading:
        """Read the calls; what the official harness cannot write as calls to execute is none."""
        text = codec.restore(said.text)
        try:
            python.execution(reply.read(text, self.form.calls, tag=self.form.tag))
        except reply.Unreadable as error:
            return Reading(fault=codec.escape(str(error)) if attempted(text) else "")
        return super().read(said, tools)

    def answer(
        self, said: Reply, calls: tuple[Call, ...], results: tuple[Result, ...], /
    ) -> tuple[Message, ...]:
        """Return the reply, and the results as one message: the list as Python writes it."""
        own = Message(role="assistant", parts=(Text(said.text),))
        if not results:
            return (own,)
        found = reply.read(codec.restore(said.text), self.form.calls, tag=self.form.tag)
        heard = [
            {"role": "tool", "name": name, "content": codec.restore(result.text)}
            for name, result in zip(python.execution(found), results, strict=False)
        ]
        return own, Message(role="user", parts=(Text(codec.escape(repr(heard))),))


def dialects(names: Sequence[str], wording: Wording) -> dict[str, Prompt]:
    """Return the prompt dialects by name: the default one, and one for each format."""
    made: dict[str, Prompt] = {"prompt": Asked(wording=wording)}
    made |= {name: Asked(every()[name], wording, name=name) for name in names}
    return made


# --- the tasks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variants:
    """Entries, each in every format: entry by entry, the formats in order.

    `subset`: the published ids, where other entries are asked as well.
    """

    base: tuple[Task, ...]
    formats: tuple[str, ...]
    subset: frozenset[str] = frozenset()

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.base) * len(self.formats)

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks."""
        index = itertools.count()
        for task in self.base:
            task = msgspec.structs.replace(task, tools=tuple(map(_hinted, task.tools)))
            extra = {"subset": "yes" if task.id in self.subset else "no"} if self.subset else {}
            for name in self.formats:
                yield _variant(task, name, next(index), extra)


def read(root: Path, formats: Sequence[str], entries: str) -> tuple[Variants, dict[str, str]]:
    """Return the tasks and the hashes of what was read.

    `entries`: "200" for the published subset, "all" for each of the 2,351 entries whose truth is
    calls in Python. Raises UsageError, and DataError for ids that name no entry.
    """
    if entries not in ENTRIES:
        raise UsageError(f"entries must be one of {', '.join(ENTRIES)}, not {entries!r}")
    found, hashes = data.read(root, PARENTS)
    path = root / _IDS
    wanted = _ids(path)
    hashes[f"{path.parent.name}/{path.name}"] = packages.digest(path)
    base = tuple(found)
    if missing := wanted - {task.id for task in base}:
        raise DataError(f"{path}: no entry named {min(missing)}")
    if entries == "all":
        return Variants(base, tuple(formats), wanted), hashes
    return Variants(tuple(task for task in base if task.id in wanted), tuple(formats)), hashes


def _ids(path: Path) -> frozenset[str]:
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        return frozenset(name for names in table.values() for name in names)
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None


def _hinted(tool: Tool) -> Tool:
    """Add the language hint once more: the official loader adds it twice to these entries."""
    return msgspec.structs.replace(tool, description=tool.description + schema.HINT)


def _variant(task: Task, name: str, index: int, extra: dict[str, str]) -> Task:
    return msgspec.structs.replace(
        task,
        id=f"{CATEGORY}_{index}:{name}:{task.id}",
        item=task.id,
        category=CATEGORY,
        dialect=name,
        axes={"format": name, **levels(every()[name]), **extra},
    )


def levels(form: Format) -> dict[str, str]:
    """Return the level of each axis of a format."""
    return {axis: str(getattr(form, axis)) for axis in AXES}


def original(task: Task) -> Task:
    """Return a format-sensitivity task as its entry's own category judges it, others unchanged."""
    if task.category != CATEGORY:
        return task
    return msgspec.structs.replace(task, category=task.item.rpartition("_")[0])


# --- the numbers ------------------------------------------------------------------------


def rows(columns: Columns) -> Columns:
    """Return the rows of the format-sensitivity category."""
    return columns.where(columns.category == CATEGORY)


def accuracies(columns: Columns) -> dict[str, Estimate]:
    """Return the accuracy in each format that occurs, the official ones first."""
    present = set(columns.axis("format")) - {""}
    order = [*(name for name in official() if name in present)]
    order += [name for name in every() if name in present and name not in order]
    return {name: mean(columns.where(columns.axis("format") == name), name) for name in order}


def metrics(columns: Columns) -> list[Metric]:
    """Return the accuracy in each format, then how far they lie apart, as shares.

    The latter only for two formats and more: the official header holds 0 for one.
    """
    names = list(accuracies(rows(columns)))
    made = [Metric(short(name), Of(rows=(_only(name),), formula=Mean())) for name in names]
    if len(names) < 2:
        return made
    known = (Filter(column="category", values=(CATEGORY,)), _only(*names))
    return [
        *made,
        Metric("format_max_delta", Of(rows=known, formula=Spread(axis="format", of="range"))),
        Metric("format_std", Of(rows=known, formula=Spread(axis="format", of="deviation"))),
    ]


def _only(*names: str) -> Filter:
    return Filter(column="axes.format", values=names)


def max_delta(values: Sequence[float]) -> float:
    """Return the best accuracy less the worst; 0 for fewer than two."""
    return max(values) - min(values) if len(values) > 1 else 0.0


def deviation(values: Sequence[float]) -> float:
    """Return the sample standard deviation (n - 1); 0 for fewer than two."""
    return statistics.stdev(values) if len(values) > 1 else 0.0
