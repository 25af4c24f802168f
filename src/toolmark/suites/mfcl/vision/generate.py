"""Items of a generated vision set: drawn from a fictional world, and checked.

An item hangs on the seed, its number and the knobs alone, so that items may be made in any order
and in any process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, islice
from random import Random
from typing import NamedTuple

from msgspec.structs import replace
from PIL import Image

from toolmark import seeds
from toolmark.errors import DataError
from toolmark.perturb.image.box import Box
from toolmark.suites.mfcl.vision import laws, pictures, scenes, wording
from toolmark.suites.mfcl.vision.fiction import World
from toolmark.suites.mfcl.vision.item import (
    DOMAINS,
    KINDS,
    Domain,
    Kind,
    Mark,
    Plan,
    Sign,
    Truth,
)
from toolmark.suites.mfcl.vision.knobs import DEFAULT, Knobs
from toolmark.suites.mfcl.vision.templates import SHOWN, TEMPLATES, Template
from toolmark.worlds.corpus import Corpus

SIZE = 3_000  # entities of a world: about a hundred of each kind
PLANS = 400  # that are drawn for an item before it is given up: most that fail fail at once
PICTURES = 40  # the same of pictures, which cost more
TURN = 4  # plans of one scene before the next one is tried


class Item(NamedTuple):
    """A plan, its picture (RGB, long side at most 1,536 pixels), and the signs in it.

    `seed` is the set's: variations draw from it.
    """

    seed: int
    plan: Plan
    image: Image.Image
    marks: tuple[Mark, ...]


class Setup(NamedTuple):
    """What all items of a set share."""

    world: World
    corpus: Corpus


@lru_cache(maxsize=2)
def setup(seed: int, distractors: int) -> Setup:
    """Return the world of a set and its pages, indexed; drawn once in a process."""
    world = World.draw(seed, size=SIZE, distractors=distractors)
    return Setup(world, Corpus(world.pages))


def items(seed: int, n: int, knobs: Knobs) -> Iterator[Item]:
    """Make the first n items that the knobs leave, evenly over domains and query types."""
    return (item(seed, number, knobs) for number in numbers(n, knobs))


def numbers(n: int, knobs: Knobs) -> Iterator[int]:
    """Return the numbers of the first n items whose domain and query type are chosen.

    Items are numbered over all of them, so that a number means the same item whatever is chosen.
    """
    return islice(filter(lambda number: _chosen(number, knobs), count()), n)


def _chosen(number: int, knobs: Knobs) -> bool:
    domain, kind = cell(number)
    return domain in knobs.domains and kind in knobs.kinds


def cell(number: int) -> tuple[Domain, Kind]:
    """Return the domain and query type of an item: all in turn, the domains one by one."""
    lap, at = divmod(number % (len(DOMAINS) * len(KINDS)), len(DOMAINS))
    return DOMAINS[at], KINDS[(lap + at) % len(KINDS)]


def item(seed: int, number: int, knobs: Knobs) -> Item:
    """Make one item. Raises DataError where the knobs leave no way to."""
    held = setup(seed, knobs.distractors)
    domain, kind = cell(number)
    own = settled(seed, number, knobs)
    order = staged(seed, number, knobs)
    why, drawn = "", 0
    for attempt in range(PLANS):
        rng = seeds.of(seed, named(number), attempt, "vision")
        scene = order[attempt // TURN % len(order)]
        template = seeds.choice(rng, fitting(domain, kind, scene))
        try:
            plan = planned(held, template, replace(own, scenes=(scene,)), rng, named(number))
            drawn += 1
            asked = wording.parted(plan.asked, {**DEFAULT, **knobs.parts}, seed, plan.id)
            return pictured(seed, replace(plan, asked=asked), held.world, rng)
        except ValueError as error:
            why = str(error)
        if drawn == PICTURES:
            break
    raise DataError(
        f"item {named(number)} ({domain}, {kind}): {attempt + 1} tries came to nothing, the last "
        f"because {why}; allow other hops, clues, sizes of letters or fewer look-alikes"
    )


def fitting(domain: Domain, kind: Kind, scene: str) -> list[Template]:
    """Return the templates of a domain and query type that a scene can show."""
    return [
        each
        for each in TEMPLATES
        if (each.domain, each.kind) == (domain, kind) and scene in each.scenes
    ]


def staged(seed: int, number: int, knobs: Knobs) -> Sequence[str]:
    """Return the scenes for an item in the order in which they are tried.

    The scene is drawn before the thing that is seen, so that scenes come alike often whatever
    many or few can be seen in them.
    """
    domain, _ = cell(number)
    order = [scene for scene in SHOWN[domain] if scene in knobs.scenes]
    if not order:
        raise DataError(f"item {named(number)} ({domain}): none of its scenes is chosen")
    seeds.shuffle(seeds.of(seed, named(number), 0, "vision scenes"), order)
    return tuple(dict.fromkeys(order))


def settled(seed: int, number: int, knobs: Knobs) -> Knobs:
    """Return the knobs with one level of each for an item.

    They are drawn before anything is tried: levels that are hard to fill come as often as others.
    What a clue can be hangs on the thing that is seen, so that is drawn with the thing.
    """
    rng = seeds.of(seed, named(number), 0, "vision levels")
    return replace(
        knobs,
        hops=(seeds.choice(rng, knobs.hops),),
        lookalikes=(seeds.choice(rng, knobs.lookalikes),),
        sizes=(seeds.choice(rng, knobs.sizes),),
        depth=(seeds.choice(rng, knobs.depth),),
    )


def planned(held: Setup, template: Template, knobs: Knobs, rng: Random, id: str) -> Plan:
    """Draw a plan that keeps the laws. Raises ValueError where what was drawn does not."""
    plan = template.plan(held.world, knobs, rng, id)
    if why := laws.broken(plan, held.corpus):
        raise ValueError(why)
    return plan


def pictured(seed: int, plan: Plan, world: World, rng: Random) -> Item:
    """Draw the plan's picture. Raises ValueError where it does not come out right."""
    drawn = scenes.render(plan.setting, rng)
    if why := laws.misplaced(plan.setting, drawn.seen):
        raise ValueError(why)
    boxes = {seen.sign: seen.box for seen in drawn.seen}
    signs = enumerate(plan.setting.signs)
    marks = tuple(_mark(sign, boxes[n], plan, world) for n, sign in signs)
    return Item(seed, plan, drawn.image, marks)


def _mark(sign: Sign, box: Box, plan: Plan, world: World) -> Mark:
    """Return a sign as a grader knows it; the clue's pages are those of all steps."""
    own = (world.page(sign.entity).href,) if sign.entity else ()
    return Mark(
        role=sign.role,
        text=" ".join(sign.lines),
        symbol=sign.symbol,
        answer=sign.answer,
        hrefs=tuple(hop.href for hop in plan.hops) if sign.role == "clue" else own,
        box=box,
    )


def vary(item: Item, name: str) -> pictures.Shown:
    """Show an item's picture in a variation."""
    keep = pictures.needed(item.plan.kind)
    return pictures.show(item.image, item.marks, name, item.seed, item.plan.id, keep)


def truth(item: Item, name: str, shown: pictures.Shown) -> Truth:
    """Return what a grader knows of an item as it is shown in a variation."""
    return Truth(
        answers=item.plan.answers,
        asked=item.plan.asked,
        marks=shown.marks,
        hops=item.plan.hops,
        variation=name,
        settings=shown.settings,
        size=shown.size,
    )


def named(number: int) -> str:
    """Return the id of an item."""
    return f"g{number:05}"


def numbered(id: str) -> int:
    """Return the number of an item by its id."""
    return int(id.removeprefix("g"))
