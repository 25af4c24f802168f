"""Arguments of calls that a server sent as an object, as the text that they were."""

from __future__ import annotations

import json
import re

_UNQUOTED_ARGUMENTS = re.compile(r'(?<!\\)"arguments"\s*:\s*(?=[\[{])')
# a string without an end is one token too: a new search from each of its quotes would take time
# proportional to the square of its length
_TOKEN = re.compile(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"?|[\[\]{}]', re.DOTALL)


def quote_arguments(text: str) -> str:
    """Replace arguments that were sent as an object by a string of their unchanged JSON.

    A quote inside a JSON string always follows a backslash, so the pattern finds keys only.
    """
    pieces: list[str] = []
    position = 0
    while found := _UNQUOTED_ARGUMENTS.search(text, position):
        start = found.end()
        end = _value_end(text, start)
        pieces += (text[position:start], json.dumps(text[start:end]))
        position = end
    return "".join(pieces) + text[position:] if pieces else text


def _value_end(text: str, start: int) -> int:
    """Return where the value that begins at `start` ends.

    Iterative, because it may be nested deeply.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
            if depth == 0:
                return token.end()
    return len(text)
