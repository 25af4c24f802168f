"""Parameters of a generated vision set."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.records import Record
from toolmark.suites.mfcl_vision import scenes
from toolmark.suites.mfcl_vision.item_records import DOMAINS, QUERY_KINDS, Domain, QueryKind
from toolmark.suites.mfcl_vision.parameters import GENERATED_SOURCE

ClueKind: TypeAlias = Literal["text", "symbol"]
ClueSize: TypeAlias = Literal["small", "medium", "large"]

CLUE_KINDS: tuple[ClueKind, ...] = ("text", "symbol")
LETTER_HEIGHT_SHARES: dict[ClueSize, float] = {"small": 0.028, "medium": 0.04, "large": 0.055}
"""The letter height of the clue by size, as a share of the picture's height."""
CLUE_SIZES: tuple[ClueSize, ...] = tuple(LETTER_HEIGHT_SHARES)
SCENE_NAMES: tuple[str, ...] = tuple(scenes.SCENE_KINDS)
MAX_HOPS = 4
MAX_LOOKALIKES = 6
MAX_DISTRACTORS = 8

QUESTION_PARTS = ("context", "hint", "form")
"""The parts of a question other than its request."""
DEFAULT_PARTS: dict[str, tuple[bool, ...]] = {"context": (True,), "hint": (False,), "form": (True,)}


def source_folder(source: object) -> Path | None:
    """Return the folder of the items, None if they are generated."""
    return None if source == GENERATED_SOURCE else Path(str(source))


class GenerationParameters(Record, frozen=True, kw_only=True):
    """The generation parameters; where a field has several values, each item draws one.

    `lookalikes` is the number of signs of the clue's kind that lead to other answers. Questions
    that choose among candidates have at least two, whatever this number is. `depth` is the number
    of objects that are nearer, larger and lead elsewhere. `distractors` is the number of pages
    without the answer per entity. `parts` states for a part of the question whether it is present;
    parts without an entry are as in `DEFAULT_PARTS`.
    """

    domains: tuple[Domain, ...] = DOMAINS
    kinds: tuple[QueryKind, ...] = QUERY_KINDS
    hops: tuple[int, ...] = (1, 2, 3)
    lookalikes: tuple[int, ...] = (0, 1, 2)
    clue: tuple[ClueKind, ...] = CLUE_KINDS
    sizes: tuple[ClueSize, ...] = ("medium", "large")
    depth: tuple[int, ...] = (0, 1)
    scenes: tuple[str, ...] = SCENE_NAMES
    distractors: int = 1
    parts: dict[str, tuple[bool, ...]] = {}

    def __post_init__(self) -> None:
        """Raise UsageError for a value that is not allowed."""
        for name, chosen, known in (
            ("domains", self.domains, DOMAINS),
            ("kinds", self.kinds, QUERY_KINDS),
            ("clue", self.clue, CLUE_KINDS),
            ("sizes", self.sizes, CLUE_SIZES),
            ("scenes", self.scenes, SCENE_NAMES),
            ("hops", self.hops, range(1, MAX_HOPS + 1)),
            ("lookalikes", self.lookalikes, range(MAX_LOOKALIKES + 1)),
            ("depth", self.depth, range(2)),
            ("parts", tuple({**DEFAULT_PARTS, **self.parts}), QUESTION_PARTS),
        ):
            wrong = [value for value in chosen if value not in known]
            if wrong or not chosen:
                got = f"{wrong[0]!r}" if wrong else "nothing"
                nearest = suggest_names(str(wrong[0]) if wrong else "", map(str, known))
                raise UsageError(f"{name}: {got}{nearest}")
        if not all(self.parts.values()):
            raise UsageError("parts: say of each whether it is there")
        if not 0 <= self.distractors <= MAX_DISTRACTORS:
            raise UsageError(f"distractors: {self.distractors}; 0 to {MAX_DISTRACTORS}")
