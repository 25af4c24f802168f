"""Generator of vision items: each is drawn from a fictional world and checked.

An item depends only on the seed, its number and the generation parameters. So items can be made in
any order and in any process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import count, islice
from random import Random
from typing import NamedTuple

from msgspec.structs import replace
from PIL import Image

from toolmark.core import seeds
from toolmark.core.errors import DataError
from toolmark.environments.page_corpus import PageCorpus
from toolmark.perturb.image.box_geometry import Box
from toolmark.suites.mfcl_vision import item_validation, picture_variants, prompts, scenes
from toolmark.suites.mfcl_vision.fiction import FictionalWorld
from toolmark.suites.mfcl_vision.generation_parameters import DEFAULT_PARTS, GenerationParameters
from toolmark.suites.mfcl_vision.item_records import (
    DOMAINS,
    QUERY_KINDS,
    Domain,
    ItemPlan,
    ItemTruth,
    QueryKind,
    Sign,
    SignMark,
)
from toolmark.suites.mfcl_vision.templates import Template, item_templates, scenes_by_domain

# Entities of a world: about a hundred of each kind.
WORLD_SIZE = 3_000
# Plans drawn for an item before it fails; most invalid plans are detected quickly.
MAX_PLANS = 400
# Pictures drawn for an item before it fails; a picture costs more than a plan.
MAX_PICTURES = 40
# Plans of one scene before the next scene is tried.
PLANS_PER_SCENE = 4


class GeneratedItem(NamedTuple):
    """A plan, its picture (RGB, long side at most 1,536 pixels), and the signs in it.

    `seed` is the seed of the set; variations draw from it.
    """

    seed: int
    plan: ItemPlan
    image: Image.Image
    marks: tuple[SignMark, ...]


class WorldSetup(NamedTuple):
    """What all items of a set share."""

    fictional_world: FictionalWorld
    corpus: PageCorpus


@lru_cache(maxsize=2)
def world_setup(seed: int, distractors: int) -> WorldSetup:
    """Return the world of a set and its indexed pages; a process draws them once."""
    world = FictionalWorld.draw_world(seed, size=WORLD_SIZE, distractors=distractors)
    return WorldSetup(world, PageCorpus(world.pages))


def generate_items(seed: int, n: int, parameters: GenerationParameters) -> Iterator[GeneratedItem]:
    """Return an iterator over the first n chosen items, evenly over domains and query types."""
    return (generate_item(seed, number, parameters) for number in item_numbers(n, parameters))


def item_numbers(n: int, parameters: GenerationParameters) -> Iterator[int]:
    """Return the numbers of the first n items whose domain and query type are chosen.

    Numbers count the items of all domains and query types, so a number always means the same item.
    """
    return islice(filter(lambda number: _is_chosen(number, parameters), count()), n)


def _is_chosen(number: int, parameters: GenerationParameters) -> bool:
    domain, kind = item_cell(number)
    return domain in parameters.domains and kind in parameters.kinds


def item_cell(number: int) -> tuple[Domain, QueryKind]:
    """Return the domain and query type of an item: domains change with every number."""
    lap, i = divmod(number % (len(DOMAINS) * len(QUERY_KINDS)), len(DOMAINS))
    return DOMAINS[i], QUERY_KINDS[(lap + i) % len(QUERY_KINDS)]


def generate_item(seed: int, number: int, parameters: GenerationParameters) -> GeneratedItem:
    """Return one item. Raises DataError if the parameters allow none."""
    shared = world_setup(seed, parameters.distractors)
    domain, kind = item_cell(number)
    item_parameters = draw_levels(seed, number, parameters)
    order = scene_order(seed, number, parameters)
    reason, n_drawn = "", 0
    for attempt in range(MAX_PLANS):
        rng = seeds.make_rng(seed, item_id(number), attempt, "vision")
        scene = order[attempt // PLANS_PER_SCENE % len(order)]
        template = seeds.draw_one(rng, fitting_templates(domain, kind, scene))
        try:
            plan = draw_plan(
                shared, template, replace(item_parameters, scenes=(scene,)), rng, item_id(number)
            )
            n_drawn += 1
            question = prompts.select_question_parts(
                plan.question, {**DEFAULT_PARTS, **parameters.parts}, seed, plan.id
            )
            return draw_picture(seed, replace(plan, question=question), shared.fictional_world, rng)
        except ValueError as error:
            reason = str(error)
        if n_drawn == MAX_PICTURES:
            break
    raise DataError(
        f"item {item_id(number)} ({domain}, {kind}): {attempt + 1} tries came to nothing, the last "
        f"because {reason}; allow other hops, clues, sizes of letters or fewer look-alikes"
    )


def fitting_templates(domain: Domain, kind: QueryKind, scene: str) -> list[Template]:
    """Return the templates of a domain and query type that a scene can show."""
    return [
        template
        for template in item_templates()
        if (template.domain, template.kind) == (domain, kind) and scene in template.scenes
    ]


def scene_order(seed: int, number: int, parameters: GenerationParameters) -> Sequence[str]:
    """Return the scenes for an item in the order in which they are tried.

    The scene is drawn before its subject, so that all scenes are equally frequent, however many
    subjects they can show. Raises DataError if no scene of the item's domain is chosen.
    """
    domain, _ = item_cell(number)
    order = [scene for scene in scenes_by_domain()[domain] if scene in parameters.scenes]
    if not order:
        raise DataError(f"item {item_id(number)} ({domain}): none of its scenes is chosen")
    seeds.shuffle_items(seeds.make_rng(seed, item_id(number), 0, "vision scenes"), order)
    return tuple(dict.fromkeys(order))


def draw_levels(seed: int, number: int, parameters: GenerationParameters) -> GenerationParameters:
    """Return the parameters with one level of each for an item.

    Levels are drawn before any attempt, so that levels that are hard to satisfy are as frequent as
    others. The kind of clue depends on the subject, so it is drawn later, with the subject.
    """
    rng = seeds.make_rng(seed, item_id(number), 0, "vision levels")
    return replace(
        parameters,
        hops=(seeds.draw_one(rng, parameters.hops),),
        lookalikes=(seeds.draw_one(rng, parameters.lookalikes),),
        sizes=(seeds.draw_one(rng, parameters.sizes),),
        depth=(seeds.draw_one(rng, parameters.depth),),
    )


def draw_plan(
    shared: WorldSetup, template: Template, parameters: GenerationParameters, rng: Random, id: str
) -> ItemPlan:
    """Return a plan that passes every check. Raises ValueError if the drawn plan does not."""
    plan = template.plan(shared.fictional_world, parameters, rng, id)
    if reason := item_validation.check_plan(plan, shared.corpus):
        raise ValueError(reason)
    return plan


def draw_picture(
    seed: int, plan: ItemPlan, fictional_world: FictionalWorld, rng: Random
) -> GeneratedItem:
    """Return the item with its picture. Raises ValueError if signs are not placed correctly."""
    scene = scenes.render_scene(plan.setting, rng)
    if reason := item_validation.check_sign_positions(plan.setting, scene.placed_signs):
        raise ValueError(reason)
    boxes = {placed.sign: placed.box for placed in scene.placed_signs}
    signs = enumerate(plan.setting.signs)
    marks = tuple(_sign_mark(sign, boxes[n], plan, fictional_world) for n, sign in signs)
    return GeneratedItem(seed, plan, scene.image, marks)


def _sign_mark(sign: Sign, box: Box, plan: ItemPlan, fictional_world: FictionalWorld) -> SignMark:
    """Return what graders know of a sign; the pages of the clue are those of all hops."""
    entity_hrefs = (fictional_world.page(sign.entity).href,) if sign.entity else ()
    return SignMark(
        role=sign.role,
        text=" ".join(sign.lines),
        symbol=sign.symbol,
        answer=sign.answer,
        hrefs=tuple(hop.href for hop in plan.hops) if sign.role == "clue" else entity_hrefs,
        box=box,
    )


def render_item(item: GeneratedItem, variation: str) -> picture_variants.PictureVariant:
    """Return an item's picture in a variation."""
    keep = picture_variants.required_roles(item.plan.kind)
    return picture_variants.render_variant(
        item.image, item.marks, variation, item.seed, item.plan.id, keep
    )


def item_truth(
    item: GeneratedItem, variation: str, variant: picture_variants.PictureVariant
) -> ItemTruth:
    """Return the reference of an item as shown in a variation."""
    return ItemTruth(
        answers=item.plan.answers,
        question=item.plan.question,
        marks=variant.marks,
        hops=item.plan.hops,
        variation=variation,
        settings=variant.settings,
        size=variant.size,
    )


def item_id(number: int) -> str:
    """Return the id of an item."""
    return f"g{number:05}"


def item_number(id: str) -> int:
    """Return the number of an item from its id."""
    return int(id.removeprefix("g"))
