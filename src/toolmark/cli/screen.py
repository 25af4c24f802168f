"""Where commands write: consoles that show what was said, letter by letter."""

from __future__ import annotations

import shlex
from typing import Any

from rich.console import Console
from rich.text import Text

from toolmark.report.tables import visible


class Screen(Console):
    """A console that a text cannot command: control characters are shown, whoever prints them."""

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a text as it is shown."""
        return super().render_str(visible(text), **how)


def out() -> Console:
    """Return the standard output: `:x:` in a text stays what it is, not the sign it may spell."""
    return Screen(emoji=False)


def error(console: Console, said: Exception) -> None:
    """Print an error as one line."""
    line = f"toolmark: {visible(str(said))}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def command(*words: object) -> str:
    """Return a command of toolmark such that a shell takes each word as it is."""
    return shlex.join(["toolmark", *map(str, words)])


def err() -> Console:
    """Return the standard error, for progress and remarks; as `out`."""
    return Screen(stderr=True, emoji=False)
