"""A fictional world drawn from a seed: its entities, their facts, and their pages."""

from toolmark.environments.page_corpus import MemoryPage
from toolmark.suites.mfcl_vision.fiction.entity_kinds import (
    EntityKind,
    FactField,
    ValueSort,
    entity_kinds,
)
from toolmark.suites.mfcl_vision.fiction.entity_records import Entity, EntityFact
from toolmark.suites.mfcl_vision.fiction.fictional_world import FictionalWorld

__all__ = [
    "Entity",
    "EntityFact",
    "EntityKind",
    "FactField",
    "FictionalWorld",
    "MemoryPage",
    "ValueSort",
    "entity_kinds",
]
