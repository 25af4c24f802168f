"""What pictures of each domain show: the kinds of entities, their nouns, scenes and contexts."""

from __future__ import annotations

from functools import cache

from toolmark.core.data_files import DataRecord, read_table
from toolmark.suites.mfcl_vision.item_records import Domain
from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject


class SubjectRow(DataRecord, frozen=True):
    """A subject in the data file; `contexts` are those that no other subject of its domain has."""

    entity_kind: str
    noun: str
    plural: str
    scenes: tuple[str, ...]
    contexts: tuple[str, ...]


class DomainSubjects(DataRecord, frozen=True):
    """The subjects of a domain, and the contexts that they share."""

    name: Domain
    contexts: tuple[str, ...]
    subjects: tuple[SubjectRow, ...]


class SubjectTable(DataRecord, frozen=True):
    """The data file: subjects by domain."""

    domains: tuple[DomainSubjects, ...]


@cache
def picture_subjects() -> tuple[PictureSubject, ...]:
    """Return the subjects in order, each with all its contexts."""
    table = read_table(__file__, "picture_subjects.toml", SubjectTable)
    return tuple(
        PictureSubject(
            domain=domain.name,
            entity_kind=row.entity_kind,
            noun=row.noun,
            plural=row.plural,
            scenes=row.scenes,
            contexts=(*domain.contexts, *row.contexts),
        )
        for domain in table.domains
        for row in domain.subjects
    )
