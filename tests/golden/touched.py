"""Which lines of the mutated packages a golden case, or a test, runs.

As a plugin of pytest (`-p tests.golden.touched`) it writes the lines of each test file to the file
that TOUCHED names. Processes that a case starts are not followed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.golden.mutation import PACKAGES

import toolmark

Lines = dict[str, list[int]]
_ROOT = Path(toolmark.__file__).parent
_HEADS = tuple(f"{_ROOT / each}{os.sep}" for each in PACKAGES)


@contextmanager
def tracing() -> Iterator[dict[str, set[int]]]:
    """Note every line of the mutated packages that runs in this block, in any thread.

    A function all of whose lines have run is not followed any more.
    """
    seen: dict[str, set[int]] = {}
    left: dict[CodeType, set[int]] = {}

    def entered(frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code not in left:
            mine = code.co_filename.startswith(_HEADS)
            left[code] = {n for _, _, n in code.co_lines() if n} if mine else set()
        waiting = left[code]
        if not waiting:
            return None
        lines = seen.setdefault(code.co_filename[len(str(_ROOT)) + 1 :], set())

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            lines.add(frame.f_lineno)
            waiting.discard(frame.f_lineno)
            return line

        return line(frame, event, argument)

    before = sys.gettrace()
    threading.settrace(entered)
    sys.settrace(entered)
    try:
        yield seen
    finally:
        sys.settrace(before)
        threading.settrace(None)


def plain(seen: dict[str, set[int]]) -> Lines:
    """Return lines by file, sorted."""
    return {name: sorted(lines) for name, lines in sorted(seen.items())}


def pytest_runtestloop(session: Any) -> bool | None:
    """Trace all tests, then let nobody else run them."""
    if not (path := os.environ.get("TOUCHED")):
        return None
    with tracing() as seen:
        for i, item in enumerate(session.items):
            following = session.items[i + 1] if i + 1 < len(session.items) else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    Path(path).write_text(json.dumps(plain(seen)))
    return True


if __name__ == "__main__":  # python -m tests.golden.touched CASE FILE
    from tests.golden import recording

    with tracing() as found:
        recording.record(recording.load(sys.argv[1]))
    Path(sys.argv[2]).write_text(json.dumps(plain(found)))
