"""Records of templates: a subject, the words for it, and the scenes that can show it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from toolmark.suites.mfcl_vision.fiction import FictionalWorld
from toolmark.suites.mfcl_vision.generation_parameters import GenerationParameters
from toolmark.suites.mfcl_vision.item_records import Domain, ItemPlan, QueryKind


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureSubject:
    """A kind of entity as pictures of a domain show it.

    `scenes` can show its name, or its emblem if it has one. `contexts` state how the picture was
    taken. They contain nothing of the answer, and are true of every scene.
    """

    domain: Domain
    entity_kind: str
    noun: str
    plural: str
    scenes: tuple[str, ...]
    contexts: tuple[str, ...]


Planner: TypeAlias = Callable[[FictionalWorld, GenerationParameters, Random, str], ItemPlan]


@dataclass(frozen=True, slots=True)
class Template:
    """A template for items of one domain and query type.

    `scenes` can show its subject. `plan` draws an item's plan, and raises ValueError if the result
    is not a fair item: the generator then draws again.
    """

    name: str
    domain: Domain
    kind: QueryKind
    scenes: tuple[str, ...]
    plan: Planner
