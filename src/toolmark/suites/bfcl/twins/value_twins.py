"""The twin of an entry: new values in the question and in the truth, drawn from a seed."""

from __future__ import annotations

from toolmark.core import seeds
from toolmark.core.records import Task
from toolmark.suites.bfcl.twins.date_values import change_dates
from toolmark.suites.bfcl.twins.entry_parts import Changes, apply_changes, read_entry
from toolmark.suites.bfcl.twins.number_values import change_numbers
from toolmark.suites.bfcl.twins.word_values import change_words

CATEGORIES = (
    "simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple",
    "live_parallel", "live_parallel_multiple",
)  # fmt: skip


NO_TRUTH = "twins are made of single-turn entries with a truth, in Python"
IN_DOUBT = "no value of the truth can be replaced without doubt"


def make_value_twin(task: Task, seed: int) -> Task | str:
    """Return the entry with new values, or why none can be replaced without doubt.

    Values that stand in the question are replaced there and in the truth; all others stay.
    """
    if task.category not in CATEGORIES or task.data is None:
        return NO_TRUTH
    entry = read_entry(task)
    changes = Changes()
    for change in (change_numbers, change_dates, change_words):
        rng = seeds.make_rng(seed, task.id, 0, f"twin {change.__name__}")
        found = change(entry, rng)
        if not _have_common_place(changes, found):
            changes.add(found)
    return apply_changes(entry, changes) if changes else IN_DOUBT


def _have_common_place(one: Changes, other: Changes) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in one.edits for b in other.edits)
