"""The families of m3-local: each a kind of picture, the servers it is worked with, templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolmark.suites.m3.local.families import (
    clock,
    darkroom,
    deck,
    labels,
    ledger,
    notes,
    repo,
    stock,
)
from toolmark.suites.m3.local.item import Template

FAMILIES: Mapping[str, Sequence[Template]] = {
    "clock": clock.TEMPLATES,
    "darkroom": darkroom.TEMPLATES,
    "deck": deck.TEMPLATES,
    "labels": labels.TEMPLATES,
    "ledger": ledger.TEMPLATES,
    "notes": notes.TEMPLATES,
    "repo": repo.TEMPLATES,
    "stock": stock.TEMPLATES,
}
