"""The published BFCL data, read from the official wheel; nothing of it is kept here."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from toolmark import fetch as packages
from toolmark.dialects.prompt import Wording
from toolmark.errors import DataError
from toolmark.suites.bfcl import schema
from toolmark.types import Limits, Message, Task, Text, Turn

PACKAGE = packages.Package(
    name="bfcl-eval",
    version="2026.3.23",
    file="bfcl_eval-2026.3.23-py3-none-any.whl",
    sha256="3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
)

FOREIGN = ("simple_java", "simple_javascript")
NON_LIVE = ("simple_python", *FOREIGN, "multiple", "parallel", "parallel_multiple", "irrelevance")
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
    "python": tuple(name for name in CATEGORIES if name not in FOREIGN),
    "non_python": FOREIGN,
    "non_live": NON_LIVE,
    "live": LIVE,
}
UNANSWERED = ("irrelevance", "live_irrelevance", "live_relevance")

_PROMPTS = "bfcl_eval/constants/default_prompts.py"
_TYPES = "bfcl_eval/constants/type_mappings.py"


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    function: list[dict[str, Any]]


class _Truth(msgspec.Struct):
    id: str
    ground_truth: list[Any]


_entry = msgspec.json.Decoder(_Entry)
_truth = msgspec.json.Decoder(_Truth)


def fetch(folder: Path | None = None) -> Path:
    """Return the folder of the unpacked wheel, fetching it if need be."""
    return packages.fetch(PACKAGE, folder)


@dataclass(frozen=True, slots=True)
class Entries:
    """The tasks of some categories: counted at once, made when gone through."""

    files: tuple[tuple[str, Sequence[bytes], Sequence[bytes]], ...]
    types: Mapping[str, str]

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(len(lines) for _, lines, _ in self.files)

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks, in the order of the files."""
        for category, lines, truths in self.files:
            for row, line in enumerate(lines):
                truth = truths[row] if truths else None
                yield _task(category, line, truth, self.types)


def read(root: Path, categories: Sequence[str]) -> tuple[Entries, dict[str, str]]:
    """Return the tasks of the categories, and the SHA-256 of every file they come from."""
    files = []
    hashes = {PACKAGE.file: PACKAGE.sha256}
    for category in categories:
        name = f"BFCL_v4_{category}.json"
        entries = lines(root / "bfcl_eval/data" / name, hashes)
        truths: list[bytes] = []
        if category not in UNANSWERED:
            truths = lines(root / "bfcl_eval/data/possible_answer" / name, hashes)
            if len(truths) != len(entries):
                raise DataError(f"{name}: {len(entries)} entries but {len(truths)} answers")
        files.append((category, entries, truths))
    return Entries(tuple(files), constants(root / _TYPES)["GORILLA_TO_OPENAPI"]), hashes


def lines(path: Path, hashes: dict[str, str]) -> list[bytes]:
    """Return the lines of a published file, adding its SHA-256 to the hashes. Raises DataError."""
    try:
        found = path.read_bytes().splitlines()
        hashes[f"{path.parent.name}/{path.name}"] = packages.digest(path)
    except OSError as error:
        raise DataError(f"{path}: cannot read: {error.strerror}") from None
    return [line for line in found if line.strip()]


def _task(category: str, line: bytes, truth: bytes | None, types: Mapping[str, str]) -> Task:
    try:
        entry = _entry.decode(line)
        answer = None if truth is None else _truth.decode(truth)
    except msgspec.DecodeError as error:
        raise DataError(f"BFCL_v4_{category}.json: {line[:60]!r}...: {error}") from None
    if answer is not None and answer.id != entry.id:
        raise DataError(f"BFCL_v4_{category}.json: {entry.id} is paired with answer {answer.id}")
    messages = tuple(
        Message(role=said["role"], parts=(Text(said["content"]),))  # type: ignore[arg-type]
        for said in entry.question[0]
    )
    reference: dict[str, Any] | None = None
    if answer is not None:
        reference = {"truth": answer.ground_truth}
    language = schema.LANGUAGES.get(category)
    if language is None or reference is None:
        tools = tuple(schema.tool(doc, types) for doc in entry.function)
    else:
        tools = tuple(schema.foreign(doc, types, language) for doc in entry.function)
        reference["docs"] = entry.function
    return Task(
        id=entry.id,
        item=entry.id,
        suite="bfcl",
        category=category,
        turns=(Turn(messages=messages),),
        tools=tools,
        reference=reference,
        limits=Limits(steps=1),
    )


def wording(root: Path) -> Wording:
    """Return the official prompt's sentences."""
    found = constants(root / _PROMPTS)
    return Wording(
        shapes=found["OUTPUT_FORMAT_MAPPING"],
        kinds=found["PARAM_TYPE_MAPPING"],
        styles=found["PROMPT_STYLE_TEMPLATES"],
        layouts={
            "plaintext": found["_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE"],
            "markdown": found["_MARKDOWN_SYSTEM_PROMPT_TEMPLATE"],
        },
    )


@lru_cache(maxsize=8)
def constants(path: Path) -> Mapping[str, Any]:
    """Return the literal constants that a module assigns, without running it."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError) as error:
        raise DataError(f"{path}: cannot read: {error}") from None
    found: dict[str, Any] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _literal(value):
                found[name] = ast.literal_eval(value)
    return found


def _literal(node: ast.expr) -> bool:
    plain = (ast.Dict, ast.List, ast.Tuple, ast.Constant, ast.Load)
    return all(isinstance(part, plain) for part in ast.walk(node))
