"""Which file was meant where a path that the user typed leads to none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from toolmark.core.errors import MAX_SUGGESTED_NAMES, suggest_names

MAX_DEPTH = 3  # of folders below the working directory
MAX_ENTRIES = 5_000  # files and folders that are looked at


def suggest_file(path: Path) -> str:
    """Return "; did you mean: PATH" for a file that is not there, "" where none is near.

    First come files of the same name below the working directory and in the folders above it, then
    files with a similar name in the same folder.
    """
    found = list(_same_name_below(path.name)) + list(_same_path_above(path))
    if found:
        return f"; did you mean: {', '.join(found[:MAX_SUGGESTED_NAMES])}"
    folder = path.parent
    if not folder.is_dir():
        return f"; there is no folder {folder}"
    siblings = sorted(str(each) for each in folder.glob(f"*{path.suffix}") if each.is_file())
    return suggest_names(str(path), siblings) if siblings else ""


def _same_name_below(name: str) -> Iterator[str]:
    """Yield the paths of files of this name, nearest first; hidden folders are not searched."""
    n_entries = 0
    folders = [Path()]
    for _ in range(MAX_DEPTH + 1):
        deeper: list[Path] = []
        for folder in folders:
            for entry in _list_folder(folder):
                n_entries += 1
                if n_entries > MAX_ENTRIES:
                    return
                place = folder / entry.name
                if entry.name == name and entry.is_file():
                    yield str(place)
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    deeper.append(place)
        folders = [each for each in deeper if not (each / "pyvenv.cfg").exists()]


def _list_folder(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:  # a folder of somebody else
        return []


def _same_path_above(path: Path) -> Iterator[str]:
    """Yield the same relative path from the folders above the working directory."""
    if path.is_absolute():
        return
    for parent in Path.cwd().parents:
        if (parent / path).is_file():
            yield os.path.relpath(parent / path)
