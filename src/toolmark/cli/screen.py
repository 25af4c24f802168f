"""Where commands write: consoles that show what was said, letter by letter."""

from __future__ import annotations

import shlex

from rich.console import Console

from toolmark.report.tables import visible


def out() -> Console:
    """Return the standard output: `:x:` in a text stays what it is, not the sign it may spell."""
    return Console(emoji=False)


def error(console: Console, said: Exception) -> None:
    """Print an error as one line."""
    line = f"toolmark: {visible(str(said))}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def command(*words: object) -> str:
    """Return a command of toolmark such that a shell takes each word as it is."""
    return shlex.join(["toolmark", *map(str, words)])


def err() -> Console:
    """Return the standard error, for progress and remarks; as `out`."""
    return Console(stderr=True, emoji=False)
