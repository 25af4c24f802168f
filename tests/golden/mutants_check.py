"""Compare one golden case with its record: exit 1 where anything differs, accepted or not."""

from __future__ import annotations

import sys

from tests.golden import checking, recording

if __name__ == "__main__":
    name = sys.argv[1]
    found, _ = checking.compare(name, recording.record(recording.load(name)))
    sys.exit(1 if found else 0)
