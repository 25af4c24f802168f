"""Reads the files in `tests/data`; its README names their origins and licences."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "data"

M3_TASKS = "m3/tasks_fuzzy.json"
M3_TRUTHS = "m3/test_mcp_GT.json"
M3_ALIGNMENT = "m3/alignment_vectors.json"
MULTINET_PREDICTIONS = "multinet/recorded_predictions.json"
MULTINET_METRICS = "multinet/metric_vectors.json"


def read_bytes(name: str) -> bytes:
    """Return the uncompressed content of a file of `tests/data`."""
    return gzip.decompress((FOLDER / f"{name}.gz").read_bytes())


def read_json(name: str) -> Any:
    """Return the value that a file of `tests/data` holds."""
    return json.loads(read_bytes(name))


def unpack(name: str, folder: Path) -> Path:
    """Write a file of `tests/data` uncompressed into a folder; return its path."""
    path = folder / Path(name).name
    path.write_bytes(read_bytes(name))
    return path
