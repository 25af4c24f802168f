"""Damaged run folders: what is lost with a file, and what to do about it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import placeholders, read_table
from toolmark.core.errors import DataError

AdviceText: TypeAlias = Annotated[str, Meta(pattern=placeholders("score"))]

_DEFAULT_ADVICE = {
    "line": "nothing was changed; correct or remove the line",
    "file": "next: put the file back",
}


def advice_by_file() -> Mapping[str, Mapping[Literal["line", "file"], AdviceText]]:
    """Return what is lost with one line of a file, and with the complete file, and what to do."""
    return read_table(
        __file__, "damaged_files.toml", dict[str, dict[Literal["line", "file"], AdviceText]]
    )


def damage_advice(path: Path, *, line: bool = True) -> str:
    """Say what is lost with a file, or one `line` of it, that cannot be read, and what to do."""
    advice = advice_by_file().get(path.name, _DEFAULT_ADVICE)
    score = shlex.join(["toolmark", "score", str(path.parent)])
    return advice.get("line" if line else "file", "").format(score=score)


def has_content(path: Path) -> bool:
    """Return whether the path exists and is not an empty file.

    It may also be something other than a file, which its reader refuses.
    """
    return os.path.lexists(path) and not (path.is_file() and not path.stat().st_size)


def check_files(folder: Path, names: Iterable[str]) -> None:
    """Raise DataError where one of these names exists but is not a file.

    Check this early: a file that is written last would fail last, after everything was asked.
    """
    for name in names:
        path = folder / name
        if os.path.lexists(path) and not path.is_file():
            raise DataError(f"{path}: not a file; nothing was changed; next: remove it")
