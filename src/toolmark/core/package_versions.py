"""Versions of Python, the platform and the packages on which results depend."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib import metadata

TRACKED_PACKAGES = ("toolmark", "mcp", "msgspec", "numpy", "pyreqwest", "scipy", "uvloop")


def installed_versions(packages: Sequence[str] = TRACKED_PACKAGES) -> dict[str, str]:
    """Return the versions by name; a package that is not installed is marked as such."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    return versions | {package: _package_version(package) for package in packages}


@cache  # reading takes as long as some twenty requests
def _package_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
