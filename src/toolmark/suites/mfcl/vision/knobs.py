"""What a generated vision set is made of, as far as one can choose it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from toolmark.errors import UsageError
from toolmark.suites.mfcl.vision import scenes
from toolmark.suites.mfcl.vision.item import DOMAINS, KINDS, Domain, Kind
from toolmark.types import Record

Clue: TypeAlias = Literal["text", "symbol"]
Size: TypeAlias = Literal["small", "medium", "large"]

CLUES: tuple[Clue, ...] = ("text", "symbol")
SHARES: dict[Size, float] = {"small": 0.028, "medium": 0.04, "large": 0.055}
"""The height of the clue's letters by size, as a share of the picture's height."""
SIZES: tuple[Size, ...] = tuple(SHARES)
SCENES: tuple[str, ...] = tuple(scenes.KINDS)
MAX_HOPS = 4
MAX_LOOKALIKES = 6
MAX_DISTRACTORS = 8
GENERATED = "generated"
"""The source of items that are made here; any other is a folder."""

PARTS = ("context", "hint", "form")
"""Of a question, beside the request."""
DEFAULT: dict[str, tuple[bool, ...]] = {"context": (True,), "hint": (False,), "form": (True,)}


def folder(source: object) -> Path | None:
    """Return the folder that items come from, None where they are generated."""
    return None if source == GENERATED else Path(str(source))


class Knobs(Record, frozen=True, kw_only=True):
    """Choices; where several are named, each item draws one of them.

    `lookalikes`: signs of the clue's kind that lead to other answers; questions that choose among
    what is seen hold at least two, whatever is said here. `depth`: how many objects stand nearer
    and larger and lead elsewhere. `distractors`: pages without the answer, per thing of the world.
    `parts`: of a question beside the request, each with whether it is there, else
    as in DEFAULT.
    """

    domains: tuple[Domain, ...] = DOMAINS
    kinds: tuple[Kind, ...] = KINDS
    hops: tuple[int, ...] = (1, 2, 3)
    lookalikes: tuple[int, ...] = (0, 1, 2)
    clue: tuple[Clue, ...] = CLUES
    sizes: tuple[Size, ...] = ("medium", "large")
    depth: tuple[int, ...] = (0, 1)
    scenes: tuple[str, ...] = SCENES
    distractors: int = 1
    parts: dict[str, tuple[bool, ...]] = {}

    def __post_init__(self) -> None:
        """Raise UsageError for a choice that is none."""
        for name, given, known in (
            ("domains", self.domains, DOMAINS),
            ("kinds", self.kinds, KINDS),
            ("clue", self.clue, CLUES),
            ("sizes", self.sizes, SIZES),
            ("scenes", self.scenes, SCENES),
            ("hops", self.hops, range(1, MAX_HOPS + 1)),
            ("lookalikes", self.lookalikes, range(MAX_LOOKALIKES + 1)),
            ("depth", self.depth, range(2)),
            ("parts", tuple({**DEFAULT, **self.parts}), PARTS),
        ):
            wrong = [value for value in given if value not in known]
            if wrong or not given:
                said = f"{wrong[0]!r}" if wrong else "nothing"
                raise UsageError(f"{name}: {said}; try: {', '.join(map(str, known))}")
        if not all(self.parts.values()):
            raise UsageError("parts: say of each whether it is there")
        if not 0 <= self.distractors <= MAX_DISTRACTORS:
            raise UsageError(f"distractors: {self.distractors}; 0 to {MAX_DISTRACTORS}")
