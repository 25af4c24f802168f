"""The published BFCL data, read from the official wheel; this package contains none of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from toolmark.core import files
from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError
from toolmark.core.records import Limits, Message, Task, Text, Turn
from toolmark.formats.prompt_format import PromptWording
from toolmark.official_bfcl import tool_schemas
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.sources import pinned_archives

PACKAGE = pinned_archives.Package(
    name="bfcl-eval",
    version="2026.3.23",
    file="bfcl_eval-2026.3.23-py3-none-any.whl",
    sha256="3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
)

NON_PYTHON = ("simple_java", "simple_javascript")
NON_LIVE = (
    "simple_python",
    *NON_PYTHON,
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
)
LIVE = (
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
    "live_relevance",
)
CATEGORIES = (*NON_LIVE, *LIVE)
GROUPS: dict[str, tuple[str, ...]] = {
    "single_turn": CATEGORIES,
    "python": tuple(name for name in CATEGORIES if name not in NON_PYTHON),
    "non_python": NON_PYTHON,
    "non_live": NON_LIVE,
    "live": LIVE,
}
WITHOUT_TRUTH = ("irrelevance", "live_irrelevance", "live_relevance")

_PROMPTS_FILE = "bfcl_eval/constants/default_prompts.py"
_TYPES_FILE = "bfcl_eval/constants/type_mappings.py"


class ScoredCategory(DataRecord, frozen=True):
    """A scored category, and how many entries the published data have of it."""

    category: str
    entries: Annotated[int, Meta(gt=0)]


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    function: list[dict[str, Any]]


class _GroundTruth(msgspec.Struct):
    id: str
    ground_truth: list[Any]


_entry_decoder = msgspec.json.Decoder(_Entry)
_truth_decoder = msgspec.json.Decoder(_GroundTruth)


def fetch_wheel(folder: Path | None = None) -> Path:
    """Return the folder of the unpacked wheel; the wheel is fetched if it is missing."""
    return pinned_archives.fetch_package(PACKAGE, folder)


@dataclass(frozen=True, slots=True)
class SingleTurnTasks:
    """The tasks of some categories: counted at once, made during iteration."""

    files: tuple[tuple[str, Sequence[bytes], Sequence[bytes]], ...]
    types: Mapping[str, str]

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(len(lines) for _, lines, _ in self.files)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, in the order of the files."""
        for category, lines, truths in self.files:
            for row, line in enumerate(lines):
                truth = truths[row] if truths else None
                yield _make_task(category, line, truth, self.types)


def read_tasks(root: Path, categories: Sequence[str]) -> tuple[SingleTurnTasks, dict[str, str]]:
    """Return the tasks of the categories, and the SHA-256 of every file they come from."""
    files = []
    hashes = {PACKAGE.file: PACKAGE.sha256}
    for category in categories:
        name = f"BFCL_v4_{category}.json"
        entries = read_lines(root / "bfcl_eval/data" / name, hashes)
        truths: list[bytes] = []
        if category not in WITHOUT_TRUTH:
            truths = read_lines(root / "bfcl_eval/data/possible_answer" / name, hashes)
            if len(truths) != len(entries):
                raise DataError(f"{name}: {len(entries)} entries but {len(truths)} answers")
        files.append((category, entries, truths))
    return SingleTurnTasks(
        tuple(files), read_constants(root / _TYPES_FILE)["GORILLA_TO_OPENAPI"]
    ), hashes


def read_lines(path: Path, hashes: dict[str, str]) -> list[bytes]:
    """Return the lines of a published file, adding its SHA-256 to the hashes. Raises DataError."""
    try:
        found = path.read_bytes().splitlines()
        hashes[f"{path.parent.name}/{path.name}"] = files.file_sha256(path)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    return [line for line in found if line.strip()]


def _make_task(category: str, line: bytes, truth: bytes | None, types: Mapping[str, str]) -> Task:
    try:
        entry = _entry_decoder.decode(line)
        answer = None if truth is None else _truth_decoder.decode(truth)
    except msgspec.DecodeError as error:
        raise DataError(
            f"BFCL_v4_{category}.json: {line[:60]!r}...: {describe_decode_error(error)}"
        ) from None
    if answer is not None and answer.id != entry.id:
        raise DataError(f"BFCL_v4_{category}.json: {entry.id} is paired with answer {answer.id}")
    messages = tuple(
        Message(role=message["role"], parts=(Text(message["content"]),))  # type: ignore[arg-type]
        for message in entry.question[0]
    )
    data = None if answer is None else BfclTaskData(truth=answer.ground_truth)
    language = tool_schemas.LANGUAGES.get(category)
    if language is None or data is None:
        tools = tuple(tool_schemas.make_tool(doc, types) for doc in entry.function)
    else:
        tools = tuple(
            tool_schemas.make_foreign_tool(doc, types, language) for doc in entry.function
        )
        data = msgspec.structs.replace(data, docs=entry.function)
    return Task(
        id=entry.id,
        item=entry.id,
        suite="bfcl",
        category=category,
        turns=(Turn(messages=messages),),
        tools=tools,
        data=msgspec.to_builtins(data),
        limits=Limits(steps=1),
    )


def read_prompt_wording(root: Path) -> PromptWording:
    """Return the official prompt's sentences."""
    found = read_constants(root / _PROMPTS_FILE)
    return PromptWording(
        call_shapes=found["OUTPUT_FORMAT_MAPPING"],
        type_notes=found["PARAM_TYPE_MAPPING"],
        styles=found["PROMPT_STYLE_TEMPLATES"],
        layouts={
            "plaintext": found["_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE"],
            "markdown": found["_MARKDOWN_SYSTEM_PROMPT_TEMPLATE"],
        },
    )


@lru_cache(maxsize=8)
def read_constants(path: Path) -> Mapping[str, Any]:
    """Return the literal constants that a module assigns, without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None
    found: dict[str, Any] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_literal(value):
                found[name] = ast.literal_eval(value)
    return found


@lru_cache(maxsize=8)
def read_local_texts(path: Path, function: str) -> Mapping[str, str]:
    """Return the literal texts that a function assigns to its names, without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            for statement in node.body:
                match statement:
                    case ast.Assign(
                        targets=[ast.Name(id=name)], value=ast.Constant(value=str(text))
                    ):
                        found[name] = text
    return found


def _is_literal(node: ast.expr) -> bool:
    literal_types = (ast.Dict, ast.List, ast.Tuple, ast.Constant, ast.Load)
    return all(isinstance(part, literal_types) for part in ast.walk(node))


@cache
def category_sizes() -> Mapping[str, int]:
    """Return the number of published entries by scored category, in the leaderboard's order."""
    rows = read_table(__file__, "categories.csv", tuple[ScoredCategory, ...])
    return {row.category: row.entries for row in rows}
