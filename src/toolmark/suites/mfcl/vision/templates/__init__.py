"""Templates of items: every sight of every domain, asked in each of the five ways."""

from __future__ import annotations

from functools import partial

from toolmark.suites.mfcl.vision.item import KINDS
from toolmark.suites.mfcl.vision.templates import events, media, places, shopping, sports, weave
from toolmark.suites.mfcl.vision.templates.sight import Sight, Template

__all__ = ["SIGHTS", "TEMPLATES", "Sight", "Template"]

SIGHTS: tuple[Sight, ...] = (
    *places.SIGHTS, *events.SIGHTS, *media.SIGHTS, *sports.SIGHTS, *shopping.SIGHTS,
)  # fmt: skip

TEMPLATES: tuple[Template, ...] = tuple(
    Template(weave.name(sight, kind), sight.domain, kind, partial(weave.plan, sight, kind))
    for sight in SIGHTS
    for kind in KINDS
)
