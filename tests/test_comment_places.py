"""A comment never makes ruff spread a value over several lines."""

from __future__ import annotations

import re
from pathlib import Path

import toolmark

TRAILING = re.compile(r"^[ \t]*[])}]+[,:]?[ \t]+# (?!fmt|noqa|type)", re.MULTILINE)


def test_no_comment_trails_a_closing_bracket() -> None:
    source = Path(toolmark.__file__).parent
    found = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if TRAILING.search(path.read_text("utf-8"))
    ]
    assert found == []
