"""Searching text of strangers in one pass: what a backtracking pattern would do slowly.

The official converters use patterns whose time can grow with a power of the length. The helpers
here find the same places, each character looked at a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import Pattern


def line(text: str, start: int) -> int:
    """Return where the line that holds `start` ends."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def skip(text: str, start: int) -> int:
    """Return the first place from `start` on that is no blank."""
    end = len(text)
    while start < end and text[start].isspace():
        start += 1
    return start


def between(text: str, head: Pattern[str], tail: str, *, least: int) -> Iterator[str]:
    """Go through the shortest `head ... tail` stretches that stay on one line, leftmost first.

    What lies between has at least `least` characters. As a search for `head(.{least,}?)tail`.
    """
    done = dead = 0
    end = -1
    for found in head.finditer(text):
        start = found.end()
        # inside the stretch before, or on a line already known to hold no further tail
        if found.start() < done or start <= dead:
            continue
        end = line(text, start) if start > end else end
        at = text.find(tail, start + least, end)
        if at < 0:
            dead = end
            continue
        yield text[start:at]
        done = at + len(tail)
