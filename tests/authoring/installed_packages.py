"""Packages as an installer leaves them: modules and metadata in a folder `site-packages`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest


def install_package(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    name: str,
    *,
    files: Mapping[str, str],
    entry_points: Mapping[str, Mapping[str, str]],
    version: str = "1.0",
) -> Path:
    """Write a package and put its folder on the search path; returns the folder.

    `entry_points` has a value for each name in each group, without the prefix `toolmark.`.
    """
    site = folder / name / "site-packages"
    metadata = site / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = []
    for group, values in entry_points.items():
        lines += [f"[toolmark.{group}]", *(f"{key} = {value}" for key, value in values.items()), ""]
    (metadata / "entry_points.txt").write_text("\n".join(lines))
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    monkeypatch.syspath_prepend(site)
    return site
