"""The tested versions in constraints.txt are within the bounds of pyproject.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
NOT_TESTED = {"embed", "bench"}  # extras that the tests run without
SDK_INTERNALS = {"mcp", "typer", "python-barcode"}


def project_requirements() -> Iterator[Requirement]:
    """Yield the requirements of the package and of the extras that the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lists = [project["dependencies"]]
    extras = project["optional-dependencies"]
    lists += [texts for name, texts in extras.items() if name not in NOT_TESTED]
    for text in (each for texts in lists for each in texts):
        if (requirement := Requirement(text)).name != project["name"]:
            yield requirement


def constrained_versions() -> dict[str, str]:
    """Return the versions of constraints.txt by the name of the package."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = (line.split("==") for line in lines if not line.startswith("#"))
    return {name: version for name, version in pairs}


def test_every_requirement_has_a_tested_version_within_its_bounds() -> None:
    versions = constrained_versions()
    wrong = [
        str(each)
        for each in project_requirements()
        if not each.specifier.contains(versions.get(canonicalize_name(each.name), "0"))
    ]
    assert wrong == []


def test_names_are_sorted_and_the_package_itself_is_not_among_them() -> None:
    names = list(constrained_versions())
    assert names == sorted(names) and "toolmark" not in names


def test_packages_whose_internals_are_used_have_an_upper_bound() -> None:
    bounded = {
        each.name
        for each in project_requirements()
        if any(part.operator in ("<", "<=", "==") for part in each.specifier)
    }
    assert bounded >= SDK_INTERNALS
