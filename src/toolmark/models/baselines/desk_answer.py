"""What the desk says at the end: what the question's form asks for, or else all that it found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from toolmark.models.baselines.desk_facts import Facts, Row, terms

_FORM = re.compile(r"^.*\bin the form\nAnswer: (.+)$", re.MULTILINE)
_SHOWN = 12  # records, where no form is asked for


def split(question: str) -> tuple[str, list[str]]:
    """Return the question without the form of its answer, and the fields that the form names."""
    found = _FORM.search(question)
    if found is None:
        return question, []
    fields = [field.strip() for field in found[1].split(",")]
    return question[: found.start()] + question[found.end() :], fields


def filled(fields: Sequence[str], facts: Facts, told: Sequence[Row]) -> str:
    """Return the line that is asked for; "" where a field cannot be filled.

    What was done goes before what was read, and no value is told twice.
    """
    left = [(column, value) for row in told for column, value in row.items() if value is not None]
    links, said = facts.links(), []
    for field in fields:
        asked = terms(field)
        best = max(left, key=lambda one: len(asked & terms(one[0])), default=("", None))
        value: Any = None
        if asked & terms(best[0]):
            value = best[1]
            left.remove(best)
        else:
            value = facts.look(field, links)
        if value is None:
            return ""
        said.append(shown(value))
    return f"Answer: {', '.join(said)}"


def whole(facts: Facts, told: Sequence[Row]) -> str:
    """Return what was done, the records that the picture speaks of, and what it says itself."""
    links = [link for link in facts.links() if link.seen]
    lines = [_line(row) for row in told]
    lines += [f"{link.table.name}: {_line(link.row)}" for link in links[:_SHOWN]]
    lines.append(f"The picture says: {' '.join((facts.seen.strip(), *facts.codes))}")
    return "\n".join(dict.fromkeys(lines))


def shown(cell: Any) -> str:
    """Return a value as it is told: amounts with two decimals."""
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def _line(row: Row) -> str:
    return ", ".join(f"{column} {shown(value)}" for column, value in row.items())
