"""Write the versions with which the tests passed: `make constraints`, after `make test` passed.

Goes through the requirements of pyproject.toml, all extras included, and theirs in turn, and prints
the version that is installed of each. What is not installed here (of `embed` and `bench`, unless
they are set up) is left out: pip is free to choose it.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
HEADER = """\
# The versions with which the tests passed; setup.sh installs these. Made by `make constraints`.
"""


def project_requirements(pyproject: Path) -> Iterator[Requirement]:
    """Yield the requirements of the project and of all of its extras."""
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = project["optional-dependencies"].values()
    for text in [*project["dependencies"], *(each for extra in extras for each in extra)]:
        requirement = Requirement(text)
        if canonicalize_name(requirement.name) != canonicalize_name(project["name"]):
            yield requirement


def installed_versions(requirements: Iterable[Requirement]) -> dict[str, str]:
    """Return the installed versions of these requirements and of all that they require."""
    found: dict[str, str] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    open_requirements = list(requirements)
    while open_requirements:
        requirement = open_requirements.pop()
        name = canonicalize_name(requirement.name)
        extras = frozenset(requirement.extras)
        if (name, extras) in seen or not applies(requirement, {""}):
            continue
        seen.add((name, extras))
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found[name] = package.version
        for text in package.requires or ():
            needed = Requirement(text)
            if applies(needed, extras | {""}):
                needed.marker = None
                open_requirements.append(needed)
    return found


def applies(requirement: Requirement, extras: Iterable[str]) -> bool:
    """Return whether a requirement counts here, with one of these extras."""
    marker = requirement.marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)


def main() -> int:
    """Print the constraints, one a line, by name."""
    found = installed_versions(project_requirements(ROOT / "pyproject.toml"))
    lines = [f"{name}=={version}\n" for name, version in sorted(found.items())]
    sys.stdout.write(HEADER + "".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
