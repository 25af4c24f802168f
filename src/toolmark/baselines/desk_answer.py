"""The desk agent's final answer: the form that the question asks for, or else all that it found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from toolmark.baselines.desk_facts import Facts, Row, term_stems

_ANSWER_FORM = re.compile(r"^.*\bin the form\nAnswer: (.+)$", re.MULTILINE)
_MAX_RECORDS = 12  # records, where no form is asked for


def split_answer_form(question: str) -> tuple[str, list[str]]:
    """Return the question without the form of its answer, and the fields that the form names."""
    found = _ANSWER_FORM.search(question)
    if found is None:
        return question, []
    fields = [field.strip() for field in found[1].split(",")]
    return question[: found.start()] + question[found.end() :], fields


def fill_answer_form(fields: Sequence[str], facts: Facts, rows_done: Sequence[Row]) -> str:
    """Return the answer line in the requested form, "" where a field cannot be filled.

    Values of changed rows come before values that were read. No value of a changed row is used
    twice.
    """
    unused = [
        (column, value) for row in rows_done for column, value in row.items() if value is not None
    ]
    links, values = facts.linked_records(), []
    for field in fields:
        field_terms = term_stems(field)
        best = max(
            unused, key=lambda one: len(field_terms & term_stems(one[0])), default=("", None)
        )
        value: Any = None
        if field_terms & term_stems(best[0]):
            value = best[1]
            unused.remove(best)
        else:
            value = facts.best_value(field, links)
        if value is None:
            return ""
        values.append(format_value(value))
    return f"Answer: {', '.join(values)}"


def full_report(facts: Facts, rows_done: Sequence[Row]) -> str:
    """Return the changed rows, the records that the picture mentions, and the picture's text."""
    links = [link for link in facts.linked_records() if link.in_picture]
    lines = [_format_row(row) for row in rows_done]
    lines += [f"{link.table.name}: {_format_row(link.row)}" for link in links[:_MAX_RECORDS]]
    lines.append(f"The picture says: {' '.join((facts.picture_text.strip(), *facts.codes))}")
    return "\n".join(dict.fromkeys(lines))


def format_value(cell: Any) -> str:
    """Return a value as text: floats with two decimals."""
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def _format_row(row: Row) -> str:
    return ", ".join(f"{column} {format_value(value)}" for column, value in row.items())
