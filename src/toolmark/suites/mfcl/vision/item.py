"""What passes between the parts of the vision suite: plans, pictures and what is known of them."""

from __future__ import annotations

from typing import Literal, TypeAlias

from toolmark.perturb.image.box import Box
from toolmark.types import Record

Domain: TypeAlias = Literal["places", "events", "media", "sports", "shopping"]
Kind: TypeAlias = Literal["locate", "temporal", "select", "identify", "quantify"]
Role: TypeAlias = Literal["clue", "lookalike", "foreground", "clutter"]
BASE = "base"
"""The variation that changes nothing."""

DOMAINS: tuple[Domain, ...] = ("places", "events", "media", "sports", "shopping")
KINDS: tuple[Kind, ...] = ("locate", "temporal", "select", "identify", "quantify")
SELECT: Kind = "select"
"""Chooses among what is seen: the page of every candidate must be read, not the clue's alone."""


class Sign(Record, frozen=True, kw_only=True):
    """Something in a scene that says something: lettering, or a symbol drawn from words.

    Only the `clue` leads to the answer. A `lookalike` is of its kind and leads to another answer, a
    `foreground` object is nearer, larger and leads elsewhere, `clutter` leads nowhere. `entity` is
    whom it names, `answer` what the question's answer would be if it were the clue.
    """

    role: Role
    lines: tuple[str, ...] = ()
    symbol: str = ""
    entity: str = ""
    answer: str = ""
    # where it stands, said in the question where several alike are seen: "left" or "right"
    mark: str = ""


class Setting(Record, frozen=True, kw_only=True):
    """A scene to draw: its kind, what it holds, and how large its letters are.

    `clue_share`: height of letters as a share of the picture's height, aimed at by the clue and its
    look-alikes as one row. Sizes vary a little about it, and where the row would not fit all of it
    is drawn smaller alike: a clue comes out at most a fifth smaller.
    """

    scene: str
    signs: tuple[Sign, ...]
    clue_share: float = 0.05


class Seen(Record, frozen=True, kw_only=True):
    """Where a sign of the setting came to lie, in pixels: left, top, right, bottom."""

    sign: int
    box: Box


class Asked(Record, frozen=True, kw_only=True):
    """A question in its parts (B6): auxiliary context, request, hint, form of the answer."""

    request: str
    context: str = ""
    hint: str = ""
    form: str = ""


class Hop(Record, frozen=True, kw_only=True):
    """One step of the shortest way: words to search with, the page they lead to, what it gives."""

    query: str
    href: str
    finds: str


class Plan(Record, frozen=True, kw_only=True):
    """An item before it is drawn."""

    id: str
    domain: Domain
    kind: Kind
    template: str
    asked: Asked
    answers: tuple[str, ...]
    setting: Setting
    hops: tuple[Hop, ...]


class Mark(Record, frozen=True, kw_only=True):
    """A sign as a grader knows it, with its box in the picture that was shown (none if unknown)."""

    role: Role
    text: str = ""
    symbol: str = ""
    answer: str = ""
    hrefs: tuple[str, ...] = ()
    box: Box | None = None


class Truth(Record, frozen=True, kw_only=True):
    """The reference of a vision task. Published items may know the answers only.

    `variation` and `settings` say what was done to the picture, `size` is its (width, height).
    """

    answers: tuple[str, ...]
    asked: Asked
    marks: tuple[Mark, ...] = ()
    hops: tuple[Hop, ...] = ()
    variation: str  # no default: one that equals it would be written now and then, bytes differ
    settings: dict[str, str | float | int] = {}
    size: tuple[int, int] = (0, 0)


def candidates(truth: Truth, kind: str) -> list[tuple[str, str]]:
    """Return what else may be chosen, and its page, for a question that chooses; else nothing."""
    others = (mark for mark in truth.marks if kind == SELECT and mark.role != "clue")
    return [(mark.text or mark.symbol, href) for mark in others for href in mark.hrefs]
