"""Folders of published BFCL results: which files are of which model and category.

Two layouts are known. That of 2024 has `result/MODEL/gorilla_openfunctions_v1_test_X_result.json`
next to `score/MODEL/X_score.json`. That of V3 and V4 has `result/MODEL/GROUP/BFCL_vN_X_result.json`
next to `score/MODEL/GROUP/BFCL_vN_X_score.json`. Only names are read here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from toolmark.core.data_files import DataRecord, read_table
from toolmark.core.errors import UsageError
from toolmark.official_bfcl import official_data

LayoutKind: TypeAlias = Literal["2024", "V3 and V4"]

MAX_FILES = 200_000  # of a folder, before it is refused
_RESULT_NAME = re.compile(r"(gorilla_openfunctions_v\d+_test|BFCL_v\d+)_(\w{1,60}?)_result\.json")
_SCORE_NAME = re.compile(r"(?:BFCL_v\d+_)?(\w{1,60}?)_score\.json")


class CategoryNames(DataRecord, frozen=True):
    """The names of categories in published files: their names today, and those that ended."""

    renamed: dict[str, str]
    retired_prefixes: list[str]


class PublishedModel(NamedTuple):
    """The files of one model, by the category's name today.

    `retired` are the names of categories with results that BFCL no longer has. `unknown` are result
    files of no category.
    """

    name: str
    kind: LayoutKind
    results: dict[str, Path]
    scores: dict[str, Path]
    retired: tuple[str, ...] = ()
    unknown: tuple[Path, ...] = ()


def category_names() -> CategoryNames:
    """Return the table of names."""
    return read_table(__file__, "category_names.toml", CategoryNames)


def current_category(name: str) -> str:
    """Return the name that a category has today, "" where it is no longer one."""
    table = category_names()
    name = table.renamed.get(name, name)
    if name.startswith(tuple(table.retired_prefixes)):
        return ""
    return name


def find_published_models(folder: Path) -> list[PublishedModel]:
    """Return the models with published results in a folder, by name.

    Raises UsageError where there are none, where the folder has several sets of results, or where
    it has more than `MAX_FILES` files.
    """
    roots: dict[Path, dict[str, list[Path]]] = {}
    for path in _list_files(folder):
        if _RESULT_NAME.fullmatch(path.name) is None:
            continue
        root, model = _result_root(folder, path)
        roots.setdefault(root, {}).setdefault(model, []).append(path)
    if not roots:
        raise UsageError(
            f"{folder}: no published results in it: no file BFCL_v4_*_result.json or "
            "gorilla_openfunctions_v1_test_*_result.json"
        )
    if len(roots) > 1:
        listed = ", ".join(str(root) for root in sorted(roots)[:6])
        raise UsageError(f"{folder}: several sets of results; name one of them: {listed}")
    ((root, models),) = roots.items()
    scores = _scores_by_model(root)
    return [
        _make_model(name, files, scores.get(name, {})) for name, files in sorted(models.items())
    ]


def _list_files(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder in a stable order; links to folders are not followed."""
    n_seen = 0
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            n_seen += 1
            if n_seen > MAX_FILES:
                raise UsageError(f"{folder}: more than {MAX_FILES} files; name a smaller folder")
            yield Path(parent) / name


def _result_root(folder: Path, path: Path) -> tuple[Path, str]:
    """Return the folder that has a folder for each model, and the model of a file.

    It is the folder whose name begins with "result"; without one, it is the folder itself.
    """
    parts = path.relative_to(folder).parts
    for index, part in enumerate(parts[:-2]):
        if part.startswith("result"):
            root = folder.joinpath(*parts[: index + 1])
            return root, parts[index + 1]
    if folder.name.startswith("result") and len(parts) > 1:
        return folder, parts[0]
    raise UsageError(
        f"{path}: not in a folder result/MODEL; next: name the folder that has `result` and `score`"
    )


def _scores_by_model(result_root: Path) -> dict[str, dict[str, Path]]:
    """Return the score files next to a folder of results, by model and category."""
    root = result_root.with_name(result_root.name.replace("result", "score", 1))
    found: dict[str, dict[str, Path]] = {}
    if not root.is_dir():
        return found
    for path in _list_files(root):
        named = _SCORE_NAME.fullmatch(path.name)
        parts = path.relative_to(root).parts
        if named is None or len(parts) < 2:
            continue
        if category := current_category(named[1]):
            found.setdefault(parts[0], {})[category] = path
    return found


def _make_model(name: str, files: list[Path], scores: dict[str, Path]) -> PublishedModel:
    known = {*official_data.category_sizes(), "format_sensitivity"}
    results: dict[str, Path] = {}
    retired: list[str] = []
    unknown: list[Path] = []
    kind: LayoutKind = "V3 and V4"
    for path in files:
        named = _RESULT_NAME.fullmatch(path.name)
        assert named is not None
        if named[1].startswith("gorilla"):
            kind = "2024"
        category = current_category(named[2])
        if not category or category.endswith("_prereq"):
            retired.append(named[2])
        elif category in known and category not in results:
            results[category] = path
        else:
            unknown.append(path)
    return PublishedModel(name, kind, results, scores, tuple(retired), tuple(unknown))
