"""What `toolmark list` says of other installed packages; none of their code is imported."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from rich.console import Console

from toolmark.core import entry_points
from toolmark.core.entry_points import KIND_BY_GROUP, EntryPoint, Group
from toolmark.models.installed_wires import RESERVED_SCHEMES
from toolmark.models.provider_table import providers
from toolmark.reports.table_format import visible_text
from toolmark.suites.suite_names import SUITES

USE_BY_GROUP: Mapping[Group, str] = {
    "suites": "toolmark run {name}",
    "wires": "-m {name}/NAME",
    "tool_formats": "--tool-format {name}",
    "agents": "--agent {name}",
    "perturbations": "toolmark perturb text --with {name}",
}


def list_additions() -> list[dict[str, Any]]:
    """Return each entry point as `--json` shows it: kind, name, package, version, fault."""
    return [
        {
            "kind": KIND_BY_GROUP[each.group],
            "name": each.name,
            "package": each.package,
            "version": each.version,
            "fault": _find_fault(each),
        }
        for group in KIND_BY_GROUP
        for each in entry_points.list_entry_points(group)
    ]


def print_additions(console: Console) -> None:
    """Print what other packages add, one line each, with the package and how it is used."""
    for group in KIND_BY_GROUP:
        for each in entry_points.list_entry_points(group):
            fault = _find_fault(each)
            use = fault or USE_BY_GROUP[group].format(name=each.name)
            line = f"{KIND_BY_GROUP[group]} {each.name}, from {each.source}: {use}"
            console.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)


def _find_fault(entry: EntryPoint) -> str:
    """Return why the name of an entry point does not reach it, "" where it does."""
    if entry.name in _own_names(entry.group):
        return f"not used: this is the name of a {KIND_BY_GROUP[entry.group]} of toolmark"
    others = [
        each.source
        for each in entry_points.list_entry_points(entry.group)
        if each.name == entry.name and each != entry
    ]
    return f"not used: {' and '.join(others)} has this name too" if others else ""


def _own_names(group: Group) -> Collection[str]:
    """Return the names of toolmark in a group, which come before those of other packages."""
    from toolmark.perturb.text.text_perturbations import PERTURBATIONS
    from toolmark.runs.suite import default_tool_formats

    match group:
        case "suites":
            return SUITES
        case "wires":
            return {*providers(), *RESERVED_SCHEMES}
        case "tool_formats":
            return default_tool_formats()
        case "perturbations":
            return PERTURBATIONS
    return ()
