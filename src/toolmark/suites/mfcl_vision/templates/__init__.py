"""Templates of items: every subject of every domain, with each of the five query types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache, partial

from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS, Domain
from toolmark.suites.mfcl_vision.templates import question_planner
from toolmark.suites.mfcl_vision.templates.picture_subjects import picture_subjects
from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject, Template

__all__ = ["PictureSubject", "Template", "item_templates", "picture_subjects", "scenes_by_domain"]


@cache
def item_templates() -> tuple[Template, ...]:
    """Return the templates in order."""
    return tuple(
        Template(
            question_planner.template_name(subject, kind),
            subject.domain,
            kind,
            subject.scenes,
            partial(question_planner.draw_plan, subject, kind),
        )
        for subject in picture_subjects()
        for kind in QUERY_KINDS
    )


@cache
def scenes_by_domain() -> Mapping[Domain, tuple[str, ...]]:
    """Return the scenes of each domain; those of one domain only are listed twice, for balance."""
    scenes_of = {
        domain: sorted({scene for subject in picture_subjects() if subject.domain == domain
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
