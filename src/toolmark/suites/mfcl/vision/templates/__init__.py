"""Templates of items: every sight of every domain, asked in each of the five ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

from toolmark.suites.mfcl.vision.item import DOMAINS, KINDS, Domain
from toolmark.suites.mfcl.vision.templates import events, media, places, shopping, sports, weave
from toolmark.suites.mfcl.vision.templates.sight import Sight, Template

__all__ = ["SHOWN", "SIGHTS", "TEMPLATES", "Sight", "Template"]

SIGHTS: tuple[Sight, ...] = (
    *places.SIGHTS, *events.SIGHTS, *media.SIGHTS, *sports.SIGHTS, *shopping.SIGHTS,
)  # fmt: skip

TEMPLATES: tuple[Template, ...] = tuple(
    Template(
        weave.name(sight, kind), sight.domain, kind, sight.scenes, partial(weave.plan, sight, kind)
    )
    for sight in SIGHTS
    for kind in KINDS
)


def _shown() -> dict[Domain, tuple[str, ...]]:
    held = {
        domain: sorted({scene for sight in SIGHTS if sight.domain == domain
                        for scene in sight.scenes})
        for domain in DOMAINS
    }  # fmt: skip
    among = Counter(scene for scenes in held.values() for scene in scenes)
    return {
        domain: tuple(scene for scene in scenes for _ in range(1 if among[scene] > 1 else 2))
        for domain, scenes in held.items()
    }


SHOWN: Mapping[Domain, tuple[str, ...]] = _shown()
"""The scenes of each domain, those twice that no other domain has: so all come about as often."""
