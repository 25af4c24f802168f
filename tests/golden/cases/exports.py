"""What a module hands out to `from ... import *`, where it lists that itself."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path
from typing import Any

PACKAGES = ("scoring", "statistics", "formats", "runs")


def record(folder: Path) -> dict[str, Any]:
    return {"star": {name: _names(name) for package in PACKAGES for name in _modules(package)}}


def _modules(package: str) -> list[str]:
    """Return the modules of a package, itself included, that list what they hand out."""
    root = importlib.import_module(f"toolmark.{package}")
    found = [each.name for each in pkgutil.walk_packages(root.__path__, f"{root.__name__}.")]
    return [name for name in (root.__name__, *found)
            if hasattr(importlib.import_module(name), "__all__")]  # fmt: skip


def _names(module: str) -> list[str] | str:
    got: dict[str, Any] = {}
    try:
        exec(f"from {module} import *", got)  # noqa: S102
    except AttributeError as error:
        return f"AttributeError: {error}"
    return sorted(got.keys() - {"__builtins__"})
