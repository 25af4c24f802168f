"""What could not be read or used of traces: lines that name file, place and fix, and counts."""

from __future__ import annotations

from collections import Counter

MAX_LISTED_FAULTS = 20


class Unusable(Exception):
    """A reply that is well formed and cannot become a row; the text is the reason."""


class Malformed(Exception):
    """A record that is not what its format says; the text says what is wrong, and the fix."""


class TraceFaults:
    """Collects what was left out while traces are read.

    `lines` are the first malformed records, one line each; `n_malformed` counts all of them.
    `reasons` counts the replies that are well formed and were left out.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.n_malformed = 0
        self.reasons: Counter[str] = Counter()

    def add_malformed(self, file: str, place: str, text: str) -> None:
        """Note a malformed record."""
        self.n_malformed += 1
        if len(self.lines) < MAX_LISTED_FAULTS:
            self.lines.append(f"{file}, {place}: {text}" if place else f"{file}: {text}")

    def listed_lines(self) -> list[str]:
        """Return the lines to show; the last one counts those that are not listed."""
        n_more = self.n_malformed - len(self.lines)
        return [*self.lines, f"and {n_more} more malformed records"] if n_more else self.lines
