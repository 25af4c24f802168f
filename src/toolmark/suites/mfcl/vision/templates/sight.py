"""What templates are made of: what can be seen, how it is spoken of, and where it may be seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from toolmark.suites.mfcl.vision.fiction import World
from toolmark.suites.mfcl.vision.item import Domain, Kind, Plan
from toolmark.suites.mfcl.vision.knobs import Knobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """A kind of entity as pictures of a domain show it.

    `scenes` can show its name, or its emblem where it has one. `contexts` say how the picture came
    about; they tell nothing of what is asked, and are true of every scene.
    """

    domain: Domain
    sees: str
    noun: str
    plural: str
    scenes: tuple[str, ...]
    contexts: tuple[str, ...]


Planner: TypeAlias = Callable[[World, Knobs, Random, str], Plan]


@dataclass(frozen=True, slots=True)
class Template:
    """A way to make items of one domain and query type.

    `scenes` can show what is seen. `plan` draws an item's plan; raises ValueError where what it
    drew makes no fair item: the generator draws again.
    """

    name: str
    domain: Domain
    kind: Kind
    scenes: tuple[str, ...]
    plan: Planner
