"""Linear-time search in untrusted text, in place of backtracking regular expressions.

The official converters use patterns whose time can grow with a power of the length. The functions
here find the same positions and read each character a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from re import Pattern


def find_line_end(text: str, start: int) -> int:
    """Return the end of the line that contains `start`."""
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def skip_blanks(text: str, start: int) -> int:
    """Return the first position from `start` on that is not white space."""
    end = len(text)
    while start < end and text[start].isspace():
        start += 1
    return start


def find_between(text: str, head: Pattern[str], tail: str, *, least: int) -> Iterator[str]:
    """Yield the text between `head` and `tail` of the shortest matches on one line, leftmost first.

    The text has at least `least` characters. It equals a search for `head(.{least,}?)tail`.
    """
    done = dead = 0
    end = -1
    for found in head.finditer(text):
        start = found.end()
        # inside the previous match, or on a line that is known to have no further tail
        if found.start() < done or start <= dead:
            continue
        end = find_line_end(text, start) if start > end else end
        at = text.find(tail, start + least, end)
        if at < 0:
            dead = end
            continue
        yield text[start:at]
        done = at + len(tail)
