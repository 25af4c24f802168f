"""What ran: versions of Python, the platform and the packages that results hang on."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib import metadata

PACKAGES = ("toolmark", "mcp", "msgspec", "numpy", "pyreqwest", "scipy", "uvloop")


def found(packages: Sequence[str] = PACKAGES) -> dict[str, str]:
    """Return the versions by name; a package that is not here says so."""
    known = {"python": platform.python_version(), "platform": platform.platform()}
    for package in packages:
        try:
            known[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            known[package] = "not installed"
    return known
