"""A new package with a suite: `toolmark new suite` writes it from the templates of a kind.

A template is a file below `data/new_suite`: those of `common` and those of the kind. In their paths
`__name__` stands for the name and `dot_` for a leading dot. What ends in `.j2` is rendered.
"""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias

import jinja2

from toolmark.core.errors import UsageError
from toolmark.suites import suite_registry

Kind: TypeAlias = Literal["rows", "environment"]
TEMPLATE_FOLDER = Path(__file__).parent / "data" / "new_suite"
TEMPLATE_SUFFIX = ".j2"
DESCRIPTION_BY_KIND: Mapping[Kind, str] = {
    "rows": "Calls that a home assistant must make.",
    "environment": "Changes of a pantry by request.",
}
_NAME = re.compile("[a-z][a-z0-9_]*")


def write_suite_package(name: str, kind: Kind, folder: Path) -> list[Path]:
    """Write a package with a suite of this name into a new folder; returns the paths of its files.

    Raises UsageError for a name that is taken or cannot be imported, and for a folder that exists.
    """
    _check_name(name)
    if folder.exists():
        raise UsageError(f"{folder} exists; next: choose another name, or -o DIR")
    texts = dict(_render_files(name, kind))
    try:
        for path, text in texts.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder}: cannot write there: {error.strerror}") from None
    return [folder / path for path in texts]


def _check_name(name: str) -> None:
    """Raise UsageError for a name that cannot be that of a package and of a suite."""
    if not _NAME.fullmatch(name):
        words = re.findall("[a-z0-9]+", name.lower())
        nearest = "_".join(words).lstrip("0123456789_")
        hint = f"; next: toolmark new suite {nearest}" if _NAME.fullmatch(nearest) else ""
        raise UsageError(f"{name!r}: a name has small letters, digits and underscores{hint}")
    if name in suite_registry.SUITES:
        raise UsageError(f"{name!r} is a built-in suite; choose another name")
    if (other := suite_registry.find_installed_suite(name)) is not None:
        raise UsageError(f"{name!r} is a suite of package {other.source}; choose another name")
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        raise UsageError(f"{name!r} is a word of Python; choose another name")
    if name in sys.stdlib_module_names or _is_module(name):
        raise UsageError(f"{name!r} is a module of Python that is installed; choose another name")


def _is_module(name: str) -> bool:
    """Return whether a module of this name is installed; a folder without code is none."""
    found = find_spec(name)
    return found is not None and found.origin is not None


def _render_files(name: str, kind: Kind) -> Iterator[tuple[Path, str]]:
    """Yield the path of each file of a package, and its text."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    values = {"name": name, "description": DESCRIPTION_BY_KIND[kind]}
    for folder in (TEMPLATE_FOLDER / "common", TEMPLATE_FOLDER / kind):
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            text = path.read_text(encoding="utf-8")
            if path.suffix == TEMPLATE_SUFFIX:
                text = environment.from_string(text).render(values)
            yield _target_path(path.relative_to(folder), name), text


def _target_path(path: Path, name: str) -> Path:
    parts = [re.sub("^dot_", ".", part.replace("__name__", name)) for part in path.parts]
    return Path(*parts[:-1], parts[-1].removesuffix(TEMPLATE_SUFFIX))
