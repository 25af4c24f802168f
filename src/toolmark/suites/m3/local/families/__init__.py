"""The task families of m3-local: a kind of picture, the servers used, and templates each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.suites.m3.local.families import (
    clock_tasks,
    darkroom_tasks,
    deck_tasks,
    label_tasks,
    ledger_tasks,
    note_tasks,
    repository_tasks,
    stock_tasks,
)
from toolmark.suites.m3.local.task_item import Template

FAMILIES: Mapping[str, Sequence[Template]] = {
    "clock": clock_tasks.TEMPLATES,
    "darkroom": darkroom_tasks.TEMPLATES,
    "deck": deck_tasks.TEMPLATES,
    "labels": label_tasks.TEMPLATES,
    "ledger": ledger_tasks.TEMPLATES,
    "notes": note_tasks.TEMPLATES,
    "repo": repository_tasks.TEMPLATES,
    "stock": stock_tasks.TEMPLATES,
}
