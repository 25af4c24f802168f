"""Templates of items: every subject of every domain, with each of the five query types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import partial

from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS, Domain
from toolmark.suites.mfcl_vision.templates import (
    event_subjects,
    media_subjects,
    place_subjects,
    question_planner,
    shopping_subjects,
    sports_subjects,
)
from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject, Template

__all__ = ["PICTURE_SUBJECTS", "SCENES_BY_DOMAIN", "TEMPLATES", "PictureSubject", "Template"]

PICTURE_SUBJECTS: tuple[PictureSubject, ...] = (
    *place_subjects.PLACE_SUBJECTS,
    *event_subjects.EVENT_SUBJECTS,
    *media_subjects.MEDIA_SUBJECTS,
    *sports_subjects.SPORTS_SUBJECTS,
    *shopping_subjects.SHOPPING_SUBJECTS,
)

TEMPLATES: tuple[Template, ...] = tuple(
    Template(
        question_planner.template_name(sight, kind),
        sight.domain,
        kind,
        sight.scenes,
        partial(question_planner.draw_plan, sight, kind),
    )
    for sight in PICTURE_SUBJECTS
    for kind in QUERY_KINDS
)


def _balanced_scenes() -> dict[Domain, tuple[str, ...]]:
    scenes_of = {
        domain: sorted({scene for subject in PICTURE_SUBJECTS if subject.domain == domain
                        for scene in subject.scenes})
        for domain in DOMAINS
    }  # fmt: skip
    domain_counts = Counter(scene for scenes in scenes_of.values() for scene in scenes)
    return {
        domain: tuple(
            scene for scene in scenes for _ in range(1 if domain_counts[scene] > 1 else 2)
        )
        for domain, scenes in scenes_of.items()
    }


SCENES_BY_DOMAIN: Mapping[Domain, tuple[str, ...]] = _balanced_scenes()
"""The scenes of each domain; those of one domain only are listed twice, to balance them."""
