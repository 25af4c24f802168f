"""The floors of a run in words: what agents without a key score on the same tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from toolmark.core import number_format
from toolmark.core.records import Cell, Estimate, Table
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.runs.floors.floor_numbers import FloorNumber, FloorNumbers

FLOOR_NOTE = (
    "What agents without a model score on the same tasks; the difference is paired, with a 95 % "
    "interval."
)


def summary_lines(found: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield the lines of a summary's `floors`: the highest, and those that are not computed."""
    if not found:
        return
    if "highest" in found:
        name = found["highest"]
        above = Estimate(
            name="", **{key: found["above"][key] for key in ("value", "low", "high", "n")},
            is_share=found["above"].get("is_share", True),
        )  # fmt: skip
        value = Estimate(name="", value=found["value"], is_share=above.is_share)
        yield visible_text(
            f"floor {number_format.format_estimate(value)}: {name} "
            f"{found['agents'][name]['description']}; "
            f"above it {describe_difference(above)}"
        )
    by_reason: dict[str, list[str]] = {}
    for name, fields in found["agents"].items():
        if "not_computed" in fields:
            by_reason.setdefault(fields["not_computed"], []).append(name)
    for reason, names in by_reason.items():
        yield visible_text(f"floor not computed, {', '.join(names)}: {reason}")


def floors_lines(found: FloorNumbers) -> list[str]:
    """Return the lines of floors as they were measured."""
    # loads numpy, which a terminal needs not
    from toolmark.runs.floors.floor_numbers import floor_fields

    return list(summary_lines(floor_fields(found)))


def floor_cells(found: FloorNumbers | None) -> tuple[str, str]:
    """Return the highest floor with its agent, and what a run is above it; dashes without one."""
    highest = found.highest if found is not None else None
    if highest is None:
        return number_format.DASH, number_format.DASH
    value = Estimate(name="", value=highest.value, is_share=highest.above.is_share)
    shown = f"{number_format.format_estimate(value)} ({visible_text(highest.name)})"
    return shown, number_format.format_difference(highest.above)


def describe_difference(above: Estimate) -> str:
    """Return a difference as text with its unit and interval."""
    unit = " points" if above.is_share else ""
    return f"{number_format.format_difference(above)}{unit}"


def floors_table(found: FloorNumbers) -> Table:
    """Return the table of all floors, the highest first."""
    listed = sorted(found.floors, key=_sort_key)
    return Table(
        title="Floors",
        head=("agent", "what it does", "value", "above it [95 % interval]", "n"),
        rows=tuple(_floor_row(each) for each in listed),
        note=FLOOR_NOTE,
    )


def _sort_key(floor: FloorNumber) -> tuple[bool, float]:
    return floor.value is None, -(floor.value or 0.0)


def _floor_row(floor: FloorNumber) -> tuple[Cell, ...]:
    if floor.reason:
        reason = f"not computed: {visible_text(floor.reason)}"
        return floor.name, floor.description, None, reason, None
    value = Estimate(name="", value=floor.value, is_share=floor.above.is_share)
    return (
        floor.name,
        visible_text(floor.description),
        number_format.format_estimate(value),
        number_format.format_difference(floor.above),
        floor.above.n,
    )
