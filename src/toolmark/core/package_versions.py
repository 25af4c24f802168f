"""Versions of Python, the platform and the packages on which results depend."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

TRACKED_PACKAGES = ("toolmark", "mcp", "msgspec", "numpy", "pyreqwest", "scipy", "uvloop")


def installed_versions(packages: Sequence[str] = TRACKED_PACKAGES) -> dict[str, str]:
    """Return the versions by name; a package that is not installed is marked as such."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions
