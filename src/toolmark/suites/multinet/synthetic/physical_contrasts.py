"""Properties of things: pairs of opposite goals, and things with which one of them fails.

Each contrast names one physical property. One goal needs things that have it, the opposite goal
needs things that lack it; the rest of the text is the same.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table

SolutionTemplate: TypeAlias = Annotated[str, Meta(pattern=placeholders("x"))]
QuestionTemplate: TypeAlias = Annotated[str, Meta(pattern=placeholders("goal"))]


class PhysicalContrast(DataRecord, frozen=True):
    """A property: the goals that need and forbid it, ways to use a thing, things of both kinds."""

    name: str
    goal: str
    opposite_goal: str
    solution_templates: tuple[SolutionTemplate, ...]
    things_with: tuple[str, ...]
    things_without: tuple[str, ...]


class ContrastTable(DataRecord, frozen=True):
    """The data file: how a goal is asked for, and the contrasts in order."""

    question_templates: tuple[QuestionTemplate, ...]
    contrasts: tuple[PhysicalContrast, ...]


def contrast_table() -> ContrastTable:
    """Return the content of the data file."""
    return read_table(__file__, "physical_contrasts.toml", ContrastTable)


def physical_contrasts() -> tuple[PhysicalContrast, ...]:
    """Return the contrasts in order."""
    return contrast_table().contrasts
