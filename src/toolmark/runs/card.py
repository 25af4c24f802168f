"""The data card of a made set: what it holds, where it comes from, what its limits are."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from toolmark.runs import terms
from toolmark.runs.suite import Publisher
from toolmark.types import Table, Task

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_PLACE = re.compile(r"((?:[a-z]+:)?)((?:/(?!/)|~|\.{1,2}/).*)", re.DOTALL)
_SPECIAL = re.compile(r"([\\`*\[\]<>|#&])")

_LEVELS = 40  # of a factor that are listed


class Tally:
    """Counts tasks as they go by: what a card says of any suite."""

    def __init__(self, publisher: Publisher) -> None:
        self._said = publisher.said
        self._n: dict[str, Counter[str]] = {}
        self._items: dict[str, set[str]] = {}
        self._queries: dict[str, None] = {}
        self._schemas: dict[str, None] = {}
        self._tools: dict[int, Any] = {}

    def through(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Pass the tasks on, counting them."""
        for task in tasks:
            for factor, level in {"category": task.category, **task.axes}.items():
                self._n.setdefault(factor, Counter())[level] += 1
                self._items.setdefault(f"{factor} {level}", set()).add(task.item or task.id)
            self._queries.update(dict.fromkeys(self._said(task)))
            for tools in (task.tools, *(turn.tools for turn in task.turns)):
                if id(tools) not in self._tools:
                    self._tools[id(tools)] = tools  # held, so that the id stays its own
                    self._schemas.update(dict.fromkeys(map(terms.schema, tools)))
            yield task

    def tables(self) -> list[Table]:
        """Return the counts, and the check of sensitive words."""
        rows = tuple(row for factor in self._n for row in self._counts(factor))
        counts = Table(title="Tasks", head=("by", "", "tasks", "items"), rows=rows)
        return [counts, terms.table(self._queries, self._schemas)]

    def _counts(self, factor: str) -> Iterator[tuple[str, str, int, int]]:
        """Go through the levels of a factor; of many, such as groups, only how many there are."""
        levels = self._n[factor]
        sets = {level: self._items[f"{factor} {level}"] for level in levels}
        if len(levels) > _LEVELS:
            n = len(set[str]().union(*sets.values()))
            yield factor, f"{len(levels):,} of them", levels.total(), n
            return
        for level, n in levels.items():
            yield factor, level or "-", n, len(sets[level])


def text(
    *,
    name: str,
    about: str,
    seed: int,
    knobs: Mapping[str, Any],
    hashes: Mapping[str, str],
    publisher: Publisher,
    files: Mapping[str, tuple[int, int]],
    tables: Sequence[Table],
    broken: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return the card as Markdown; `files` holds how many and how many bytes by top-level name.

    `broken` are reasons why tasks could not be made, and of how many.
    """
    asked = f"toolmark run {shlex.quote(name)} --tasks DIR -m MODEL"
    parts = [
        f"# {plain(name)}, seed {seed}\n\n{plain(about)}",
        _block(f"{asked}  # ask these tasks\n{again(name, knobs, seed)}  # make them again"),
        _table(_files(files, publisher)),
        _lines("Sources and licences", publisher.sources),
        _table(Table(title="What was read", head=("file", "sha256"), rows=tuple(hashes.items()))),
        *map(_table, _dropped(publisher.dropped)),
        _table(_broken(broken)),
        *map(_table, tables),
        _lines("Limits", (*publisher.limits, *LIMITS)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


FILES = {
    "tasks.jsonl": "the tasks as they are asked, one a line, with what is expected",
    "media": "what the tasks refer to, by SHA-256",
}
LIMITS = (
    "The same seed makes the same bytes with the same versions, on the same machine: "
    "`manifest.json` holds the versions, and size and SHA-256 of every file.",
)


def plain(text: str) -> str:
    """Return foreign text as one line that Markdown takes for nothing but text."""
    return _SPECIAL.sub(r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return _CONTROL.sub(" ", text).strip()


def again(name: str, knobs: Mapping[str, Any], seed: int) -> str:
    """Return the command that makes a set of these knobs; what is not named has its default."""
    words = ["toolmark", "make", name]
    for knob, value in knobs.items():
        if knob != "seed" and value is not None:
            words += ["-T", f"{knob}={_knob(value)}"]
    return shlex.join(words) + f" --seed {seed} -o DIR"


def placeless(knobs: Mapping[str, Any]) -> dict[str, Any]:
    """Return knobs with the names of files and folders in the place of their paths.

    Where they lie is nobody's business, and elsewhere they lie otherwise.
    """
    return {knob: _placeless(value) for knob, value in knobs.items()}


def unkeyed(text: str) -> str:
    """Return an address without a name and password before its host, and without a query."""
    return re.sub(r"(?<=://)[^/@\s]*@|\?[^#\s]*", "", text) if "://" in text else text


def _placeless(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_placeless(one) for one in value]
    value = unkeyed(value) if isinstance(value, str) else value
    found = _PLACE.fullmatch(value) if isinstance(value, str) else None
    return found[1] + (PurePath(found[2]).name or found[2]) if found else value


def _knob(value: Any) -> str:
    told = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    told = told.lower() if isinstance(value, bool) else told
    return _one_line(told)


def _block(text: str) -> str:
    """Return lines as a block of code, within more backticks than any of them holds."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}sh\n{text}\n{fence}"


def _files(files: Mapping[str, tuple[int, int]], publisher: Publisher) -> Table:
    rows = tuple(
        (file, n, size, publisher.files.get(file, FILES.get(file, "")))
        for file, (n, size) in files.items()
    )
    return Table(title="Files", head=("name", "files", "bytes", "what"), rows=rows)


def _dropped(dropped: Mapping[str, str]) -> list[Table]:
    reasons = Counter(dropped.values()).most_common()
    note = f"{len(dropped)} in all." if dropped else ""
    return [
        Table(title="Left out, by reason", head=("why", "entries"), rows=tuple(reasons), note=note),
        Table(title="Left out", head=("entry", "why"), rows=tuple(dropped.items())),
    ]


def _broken(broken: Mapping[str, int]) -> Table:
    rows = tuple(sorted(broken.items(), key=lambda pair: (-pair[1], pair[0])))
    return Table(title="Could not be made", head=("why", "tasks"), rows=rows)


def _lines(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"* {line}" for line in lines) if lines else ""


def _table(table: Table) -> str:
    if not table.rows:
        return ""
    rows = [table.head, ["---"] * len(table.head), *(map(_cell, row) for row in table.rows)]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    note = f"\n\n{table.note}" if table.note else ""
    return f"## {table.title}\n\n{body}{note}"


def _cell(value: str | float | int | None) -> str:
    match value:
        case None:
            return "-"
        case float():
            return f"{value:.3g}"
        case int():
            return f"{value:,}"
        case _:
            return plain(value)
