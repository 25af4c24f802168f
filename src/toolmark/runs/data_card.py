"""The data card of an exported set: its contents, its sources and its limits."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

from toolmark.core import number_format
from toolmark.core.records import Table, Task
from toolmark.runs import sensitive_words
from toolmark.runs.suite import SetExport

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
_PATH_PATTERN = re.compile(r"((?:[a-z]+:)?)((?:/(?!/)|~|\.{1,2}/).*)", re.DOTALL)
_MARKDOWN_SPECIAL = re.compile(r"([\\`*\[\]<>|#&])")

_MAX_LEVELS = 40  # levels of a factor that are listed


class TaskTally:
    """Counts tasks as they pass: what a card says of any suite."""

    def __init__(self, publisher: SetExport) -> None:
        self._user_texts = publisher.user_texts
        self._n_tasks: dict[str, Counter[str]] = {}
        self._items: dict[str, set[str]] = {}
        self._queries: dict[str, None] = {}
        self._schemas: dict[str, None] = {}
        self._tools: dict[int, Any] = {}

    def iterate_counting_tasks(self, tasks: Iterable[Task]) -> Iterator[Task]:
        """Yield the tasks, counting them."""
        for task in tasks:
            for factor, level in {"category": task.category, **task.axes}.items():
                self._n_tasks.setdefault(factor, Counter())[level] += 1
                self._items.setdefault(f"{factor} {level}", set()).add(task.item or task.id)
            self._queries.update(dict.fromkeys(self._user_texts(task)))
            for tools in (task.tools, *(turn.tools for turn in task.turns)):
                if id(tools) not in self._tools:
                    self._tools[id(tools)] = tools  # store a reference, so that the id stays unique
                    self._schemas.update(dict.fromkeys(map(sensitive_words.schema_text, tools)))
            yield task

    def tables(self) -> list[Table]:
        """Return the counts, and the check of sensitive words."""
        rows = tuple(row for factor in self._n_tasks for row in self._level_rows(factor))
        counts = Table(title="Tasks", head=("by", "", "tasks", "items"), rows=rows)
        return [counts, sensitive_words.sensitive_words_table(self._queries, self._schemas)]

    def _level_rows(self, factor: str) -> Iterator[tuple[str, str, int, int]]:
        """Yield a row for each level of a factor; of more than 40 levels, only their number."""
        levels = self._n_tasks[factor]
        sets = {level: self._items[f"{factor} {level}"] for level in levels}
        if len(levels) > _MAX_LEVELS:
            n = len(set[str]().union(*sets.values()))
            yield factor, f"{number_format.format_count(len(levels))} of them", levels.total(), n
            return
        for level, n in levels.items():
            yield factor, level or "-", n, len(sets[level])


def render_card(
    *,
    name: str,
    description: str,
    seed: int,
    parameters: Mapping[str, Any],
    hashes: Mapping[str, str],
    publisher: SetExport,
    files: Mapping[str, tuple[int, int]],
    tables: Sequence[Table],
    broken: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return the card as Markdown; `files` has the number of files and bytes by top-level name.

    `broken` are the reasons why tasks could not be made, each with the number of tasks.
    """
    run_command = f"toolmark run {shlex.quote(name)} --tasks DIR -m MODEL"
    parts = [
        f"# {escape_markdown(name)}, seed {seed}\n\n{escape_markdown(description)}",
        _code_block(
            f"{run_command}  # ask these tasks\n{make_command(name, parameters, seed)}  # make "
            "them again"
        ),
        _table_section(_files_table(files, publisher)),
        _list_section("Sources and licences", publisher.sources),
        _table_section(
            Table(title="What was read", head=("file", "sha256"), rows=tuple(hashes.items()))
        ),
        *map(_table_section, _dropped_tables(publisher.omitted)),
        _table_section(_broken_table(broken)),
        *map(_table_section, tables),
        _list_section("Limits", (*publisher.limits, *COMMON_LIMITS)),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


FILE_DESCRIPTIONS = {
    "tasks.jsonl": "the tasks as they are asked, one a line, with what is expected",
    "media": "what the tasks refer to, by SHA-256",
}
COMMON_LIMITS = (
    "The same seed makes the same bytes with the same versions, on the same machine: "
    "`manifest.json` holds the versions, and size and SHA-256 of every file.",
)


def escape_markdown(text: str) -> str:
    """Return foreign text as one line that Markdown shows as plain text."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", _one_line(text))


def _one_line(text: str) -> str:
    return _CONTROL_CHARACTERS.sub(" ", text).strip()


def make_command(name: str, parameters: Mapping[str, Any], seed: int) -> str:
    """Return the command that makes a set with these suite parameters; others are defaults."""
    arguments = ["toolmark", "make", name]
    for parameter, value in parameters.items():
        if parameter != "seed" and value is not None:
            arguments += ["-T", f"{parameter}={_parameter_text(value)}"]
    return shlex.join(arguments) + f" --seed {seed} -o DIR"


def strip_folders(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return suite parameters with names of files and folders instead of their paths.

    The folders are private, and differ on another machine.
    """
    return {parameter: _strip_folder(value) for parameter, value in parameters.items()}


def strip_credentials(text: str) -> str:
    """Return an address without a name and password before its host, and without a query."""
    return re.sub(r"(?<=://)[^/@\s]*@|\?[^#\s]*", "", text) if "://" in text else text


def _strip_folder(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_strip_folder(one) for one in value]
    value = strip_credentials(value) if isinstance(value, str) else value
    found = _PATH_PATTERN.fullmatch(value) if isinstance(value, str) else None
    return found[1] + (PurePath(found[2]).name or found[2]) if found else value


def _parameter_text(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    text = text.lower() if isinstance(value, bool) else text
    return _one_line(text)


def _code_block(text: str) -> str:
    """Return lines as a block of code, fenced by more backticks than any of them contains."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    return f"{fence}sh\n{text}\n{fence}"


def _files_table(files: Mapping[str, tuple[int, int]], publisher: SetExport) -> Table:
    rows = tuple(
        (file, n, size, publisher.files.get(file, FILE_DESCRIPTIONS.get(file, "")))
        for file, (n, size) in files.items()
    )
    return Table(title="Files", head=("name", "files", "bytes", "what"), rows=rows)


def _dropped_tables(dropped: Mapping[str, str]) -> list[Table]:
    reasons = Counter(dropped.values()).most_common()
    note = f"{number_format.format_count(len(dropped))} in all." if dropped else ""
    return [
        Table(title="Left out, by reason", head=("why", "entries"), rows=tuple(reasons), note=note),
        Table(title="Left out", head=("entry", "why"), rows=tuple(dropped.items())),
    ]


def _broken_table(broken: Mapping[str, int]) -> Table:
    rows = tuple(sorted(broken.items(), key=lambda pair: (-pair[1], pair[0])))
    return Table(title="Could not be made", head=("why", "tasks"), rows=rows)


def _list_section(title: str, lines: Sequence[str]) -> str:
    return f"## {title}\n\n" + "\n".join(f"* {line}" for line in lines) if lines else ""


def _table_section(table: Table) -> str:
    if not table.rows:
        return ""
    rows = [table.head, ["---"] * len(table.head), *(map(_cell_text, row) for row in table.rows)]
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    note = f"\n\n{table.note}" if table.note else ""
    return f"## {table.title}\n\n{body}{note}"


def _cell_text(value: str | float | int | None) -> str:
    match value:
        case None:
            return "-"
        case float():
            return number_format.format_short(value, 3)
        case int():
            return number_format.format_count(value)
        case _:
            return escape_markdown(value)
