"""The version of toolmark; `pyproject.toml` has the same."""

from __future__ import annotations

TOOLMARK_VERSION = "0.1.0"
