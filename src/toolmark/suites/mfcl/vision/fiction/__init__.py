"""A world that is drawn per seed: who and what there is, what is told of them, on which pages."""

from toolmark.suites.mfcl.vision.fiction.entity import Entity, Fact
from toolmark.suites.mfcl.vision.fiction.kinds import KINDS, Field, Kind, Sort
from toolmark.suites.mfcl.vision.fiction.world import World
from toolmark.worlds.corpus import Page

__all__ = ["KINDS", "Entity", "Fact", "Field", "Kind", "Page", "Sort", "World"]
