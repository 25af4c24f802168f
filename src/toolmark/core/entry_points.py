"""What other installed packages add to toolmark: their entry points, by group and name.

The group `suites` is the section `toolmark.suites` of a package's entry points, and so on.

Reading them imports nothing. The code of an entry point is imported when the user uses its name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from email.parser import HeaderParser
from functools import cache
from importlib import metadata
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from toolmark.core import user_modules
from toolmark.core.errors import ToolmarkError, UsageError, describe_error

Group: TypeAlias = Literal[
    "suites",
    "wires",
    "tool_formats",
    "agents",
    "perturbations",
]
KIND_BY_GROUP: Mapping[Group, str] = {
    "suites": "suite",
    "wires": "wire",
    "tool_formats": "tool format",
    "agents": "agent",
    "perturbations": "perturbation",
}
"""The groups, and what an entry point of each is called."""
_GROUP_BY_SECTION: Mapping[str, Group] = {f"toolmark.{group}": group for group in KIND_BY_GROUP}
T = TypeVar("T")


class EntryPoint(NamedTuple):
    """One entry point: `value` is `module:attribute`, `package` the distribution that has it."""

    group: Group
    name: str
    value: str
    package: str
    version: str

    @property
    def source(self) -> str:
        """The package with its version."""
        return f"{self.package} {self.version}"

    @property
    def title(self) -> str:
        """What messages call it: package, kind and name; code of the user is in no package."""
        thing = f"{KIND_BY_GROUP[self.group]} {self.name!r}"
        return f"package {self.source}: {thing}" if self.package else thing

    @property
    def import_name(self) -> str:
        """The top package of its module."""
        return self.value.partition(":")[0].partition(".")[0]


def list_entry_points(group: Group) -> list[EntryPoint]:
    """Return the entry points of a group, by name and then by package."""
    return [each for each in _installed_entry_points(tuple(sys.path)) if each.group == group]


def entry_point_names(group: Group) -> list[str]:
    """Return the names in a group, each once."""
    return list(dict.fromkeys(each.name for each in list_entry_points(group)))


def find_entry_point(group: Group, name: str) -> EntryPoint | None:
    """Return the entry point of a name, None where there is none.

    Raises UsageError where several packages have the name.
    """
    found = [each for each in list_entry_points(group) if each.name == name]
    if len(found) > 1:
        kind = KIND_BY_GROUP[group]
        packages = " and ".join(each.source for each in found)
        raise UsageError(
            f"{kind} {name!r} is in several packages, {packages}; next: uninstall all but one"
        )
    return found[0] if found else None


def import_entry_point(entry: EntryPoint) -> Any:
    """Return the object that an entry point names; UsageError says what is wrong with it."""
    if not user_modules.is_module_spec(entry.value) and entry.package:
        raise UsageError(f"{entry.title}: expected module:attribute, got {entry.value!r}")
    try:
        return user_modules.import_attribute(entry.value)
    except ToolmarkError as error:
        raise UsageError(f"{entry.title}: {error}") from error


def make_object(entry: EntryPoint, is_wanted: Callable[[object], bool], expected: str) -> Any:
    """Return the object of an entry point, or the instance that its class makes.

    Raises UsageError where `is_wanted` does not hold for it; `expected` says what it has to be.
    """
    found = import_entry_point(entry)
    if isinstance(found, type):
        found = call_entry_point(entry, found)
    if not is_wanted(found):
        got = getattr(found, "__qualname__", type(found).__name__)
        raise UsageError(f"{entry.title}: expected {expected}, got {got}")
    return found


def call_entry_point(entry: EntryPoint, function: Callable[..., T], *args: Any) -> T:
    """Return what the function or class of an entry point returns; its faults are UsageErrors."""
    try:
        return function(*args)
    except ToolmarkError as error:
        raise UsageError(f"{entry.title}: {error}") from error
    except Exception as error:
        raise UsageError(f"{entry.title}: {describe_error(error)}") from error


def is_registered(group: Group, value: str) -> bool:
    """Return whether an installed package has this `module:attribute` in a group."""
    return any(each.value == value for each in list_entry_points(group))


def import_names() -> frozenset[str]:
    """Return the top packages of all entry points."""
    return frozenset(each.import_name for each in _installed_entry_points(tuple(sys.path)))


def package_versions(modules: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages with entry points that have one of these modules."""
    wanted = {name.partition(":")[0].partition(".")[0] for name in modules if name}
    return {
        each.package: each.version
        for each in _installed_entry_points(tuple(sys.path))
        if each.import_name in wanted
    }


@cache
def _installed_entry_points(search_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """Return the entry points of all groups; of two copies of a package the first one counts.

    The packages are read one by one: the damaged file of one does not hide the others.
    """
    found: list[EntryPoint] = []
    seen: set[str] = set()
    for distribution in metadata.distributions():
        text = _read_metadata_file(distribution, "entry_points.txt")
        if "toolmark." not in text:
            continue
        # the second name is that of packages installed from a checkout by setuptools
        described = _read_metadata_file(distribution, "METADATA", "PKG-INFO")
        head = HeaderParser().parsestr(described)
        package = str(head.get("Name", "without a name"))
        if package in seen:
            continue
        seen.add(package)
        found += _read_entry_points(text, package, str(head.get("Version", "without a version")))
    return tuple(sorted(found, key=lambda each: (each.group, each.name, each.package)))


def _read_metadata_file(distribution: metadata.Distribution, *names: str) -> str:
    """Return the text of the first of these files of a package's metadata, "" without one."""
    try:
        return next(filter(None, map(distribution.read_text, names)), "")
    except (OSError, UnicodeError):
        return ""


def _read_entry_points(text: str, package: str, version: str) -> Iterator[EntryPoint]:
    """Yield the entry points of one package; what is neither section nor `name = value` is not."""
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
            continue
        name, equals, value = line.partition("=")
        if not equals or line.startswith(("#", ";")):
            continue
        group = _GROUP_BY_SECTION.get(section)
        if group is not None:
            bare_value = value.partition("[")[0].strip()  # extras are no longer in use
            yield EntryPoint(group, name.strip(), bare_value, package, version)
