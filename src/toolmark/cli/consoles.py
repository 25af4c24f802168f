"""Where commands write: consoles that show what was said, letter by letter."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from toolmark.core.number_format import replace_special_spaces
from toolmark.reports.table_format import visible_text


class SafeConsole(Console):
    """A console that a text cannot command: control characters are shown, whoever prints them.

    The special spaces of formatted numbers become plain ones, which can be searched and copied.
    """

    def render_str(self, text: str, **how: Any) -> Text:
        """Return a text as it is shown."""
        return super().render_str(replace_special_spaces(visible_text(text)), **how)


def stdout_console() -> Console:
    """Return the standard output: `:x:` in a text stays what it is, not the sign it may spell."""
    return SafeConsole(emoji=False)


@contextmanager
def divert_stdout() -> Iterator[None]:
    """Send what the user's code prints to stderr: stdout is the command's own, as with --json.

    What its child processes print goes there too.
    """
    before = sys.stdout
    before.flush()
    saved = _exchange_descriptor(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        before.flush()  # the user's code may still write to the object
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


def _exchange_descriptor(source: int, target: int) -> int | None:
    """Make a descriptor write where another does; return the old one, None if either is closed."""
    with suppress(OSError):
        saved = os.dup(target)
        try:
            os.dup2(source, target)
        except OSError:
            os.close(saved)
            return None
        return saved
    return None


def print_error(console: Console, exception: Exception) -> None:
    """Print an error as one line."""
    line = f"toolmark: {visible_text(str(exception))}"
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def shell_command(*arguments: object) -> str:
    """Return a command of toolmark such that a shell takes each word as it is."""
    return shlex.join(["toolmark", *map(str, arguments)])


def stderr_console() -> Console:
    """Return the standard error, for progress and remarks; as `out`."""
    return SafeConsole(stderr=True, emoji=False)
