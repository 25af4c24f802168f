"""Records shared by the parts of the vision suite: plans, pictures, and facts about items."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolmark.core.records import Record
from toolmark.perturb.image.box_geometry import Box

Domain: TypeAlias = Literal["places", "events", "media", "sports", "shopping"]
QueryKind: TypeAlias = Literal["locate", "temporal", "select", "identify", "quantify"]
SignRole: TypeAlias = Literal["clue", "lookalike", "foreground", "clutter"]
BASE_VARIATION = "base"
"""The variation that changes nothing."""

DOMAINS: tuple[Domain, ...] = ("places", "events", "media", "sports", "shopping")
QUERY_KINDS: tuple[QueryKind, ...] = ("locate", "temporal", "select", "identify", "quantify")
SELECT_KIND: QueryKind = "select"
"""A question that chooses among candidates in the picture.

The page of every candidate must be read, not only the page of the clue.
"""


class Sign(Record, frozen=True, kw_only=True):
    """An object in a scene with a meaning: lettering, or a symbol drawn from a description.

    Only the `clue` leads to the answer. A `lookalike` is of the same kind as the clue and leads to
    another answer. A `foreground` object is nearer and larger, and leads elsewhere. `clutter` leads
    nowhere. `entity` is the entity that the sign names. `answer` is what the question's answer
    would be if this sign were the clue.
    """

    role: SignRole
    lines: tuple[str, ...] = ()
    symbol: str = ""
    entity: str = ""
    answer: str = ""
    # Position that the question states if several similar signs are visible: "left" or "right".
    mark: str = ""


class SceneSetting(Record, frozen=True, kw_only=True):
    """A scene to draw: its kind, its signs, and the size of its letters.

    `clue_share` is the letter height as a share of the picture's height. The clue and its
    look-alikes, as one row, aim at it. Sizes vary a little around it. If the row does not fit, the
    whole row is drawn smaller by one factor: a clue is at most a fifth smaller.
    """

    scene: str
    signs: tuple[Sign, ...]
    clue_share: float = 0.05


class PlacedSign(Record, frozen=True, kw_only=True):
    """Where a sign of the setting lies in the picture, in pixels: left, top, right, bottom.

    `sign` is its index in the setting.
    """

    sign: int
    box: Box


class QuestionParts(Record, frozen=True, kw_only=True):
    """A question in its parts (B6): auxiliary context, request, hint, form of the answer."""

    request: str
    context: str = ""
    hint: str = ""
    form: str = ""


class Hop(Record, frozen=True, kw_only=True):
    """One step of the shortest path: the search query, the page that it finds, the fact on it."""

    query: str
    href: str
    finds: str


class ItemPlan(Record, frozen=True, kw_only=True):
    """An item before it is drawn."""

    id: str
    domain: Domain
    kind: QueryKind
    template: str
    question: QuestionParts
    answers: tuple[str, ...]
    setting: SceneSetting
    hops: tuple[Hop, ...]


class SignMark(Record, frozen=True, kw_only=True):
    """What graders know of a sign, with its box in the picture as shown (None if unknown)."""

    role: SignRole
    text: str = ""
    symbol: str = ""
    answer: str = ""
    hrefs: tuple[str, ...] = ()
    box: Box | None = None


class ItemTruth(Record, frozen=True, kw_only=True):
    """What a vision task stores in `data`. Published items may have answers only.

    `variation` and `settings` describe the changes to the picture. `size` is (width, height) in
    pixels.
    """

    answers: tuple[str, ...]
    question: QuestionParts
    marks: tuple[SignMark, ...] = ()
    hops: tuple[Hop, ...] = ()
    # No default: a value equal to the default is sometimes not written, so bytes would differ.
    variation: str
    settings: dict[str, str | float | int] = {}
    size: tuple[int, int] = (0, 0)


def choice_candidates(truth: ItemTruth, kind: str) -> list[tuple[str, str]]:
    """Return the other candidates of a question that chooses, as (text, page address).

    For any other question the list is empty.
    """
    others = (mark for mark in truth.marks if kind == SELECT_KIND and mark.role != "clue")
    return [(mark.text or mark.symbol, href) for mark in others for href in mark.hrefs]
