"""From what can be seen and what is asked to a plan: clue, look-alikes, question, steps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from toolmark import seeds
from toolmark.suites.mfcl.vision import forms
from toolmark.suites.mfcl.vision.fiction import KINDS, Entity, World
from toolmark.suites.mfcl.vision.fiction.pages import article
from toolmark.suites.mfcl.vision.item import Asked, Hop, Kind, Plan, Role, Setting, Sign
from toolmark.suites.mfcl.vision.knobs import SHARES, Clue, Knobs
from toolmark.suites.mfcl.vision.scenes import KINDS as SCENES
from toolmark.suites.mfcl.vision.templates.paths import Path, follow, paths
from toolmark.suites.mfcl.vision.templates.phrases import EXTREMES, FORMS, FRAMES, phrase
from toolmark.suites.mfcl.vision.templates.sight import Sight

MARKS = ("left", "right")  # both stay true where a crop takes others away
CLUTTER = (
    "NO SMOKING", "EXIT", "PUSH", "MIND THE STEP", "NO PARKING", "WET PAINT", "THANK YOU",
    "KEEP LEFT", "QUIET PLEASE", "NO DOGS", "CASH ONLY", "INFORMATION", "THIS WAY", "SOLD OUT",
)  # fmt: skip
MOST_CLUTTER = 1
COMMON = 0.02  # of those that may be seen lead to one answer at most: others could be guessed
RIVALS = 2  # at least as many others are seen where the question chooses among them
_FILLER = re.compile(r"\b(?:an?|on)\b")


@dataclass(frozen=True, slots=True)
class Cast:
    """Who is seen: the clue's entity, its look-alikes, who stands nearer."""

    clue: Entity
    alike: tuple[Entity, ...]
    near: tuple[Entity, ...]

    @property
    def all(self) -> tuple[Entity, ...]:
        """Everybody, the clue's first."""
        return (self.clue, *self.alike, *self.near)


def plan(sight: Sight, kind: Kind, world: World, knobs: Knobs, rng: Random, id: str) -> Plan:
    """Draw a plan, its question with all parts. Raises ValueError where it makes no fair item."""
    clue = _clue(sight, knobs, rng)
    path = _path(sight, kind, knobs, rng)
    cast, extreme = _cast(sight, kind, world, knobs, rng, path)
    along, fact = follow(world, cast.clue, path)
    if _share(world, sight, path, fact.value) > COMMON:
        raise ValueError("too many that may be seen lead to the answer")
    mark = "" if extreme or not cast.alike else seeds.choice(rng, MARKS)
    scene = seeds.choice(rng, _roomy(sight, cast, knobs))
    seen = f"that {sight.noun}" if extreme else _seen(sight, clue, scene, mark, rng)
    opening = _choosing(sight, clue, extreme, rng) if extreme else ""
    return Plan(
        id=id,
        domain=sight.domain,
        kind=kind,
        template=name(sight, kind),
        asked=Asked(
            request=opening + _request(sight.sees, path, seen, rng),
            context=seeds.choice(rng, sight.contexts),
            hint=_hint(clue, path, rng),
            form=seeds.choice(rng, FORMS[fact.sort]),
        ),
        answers=forms.accepted(fact.value, fact.unit, fact.text),
        setting=Setting(
            scene=scene,
            signs=(*_signs(world, cast, clue, path, mark), *_clutter(scene, rng)),
            clue_share=SHARES[seeds.choice(rng, knobs.sizes)],
        ),
        hops=_hops(world, along, path, words(cast.clue, clue)),
    )


def name(sight: Sight, kind: Kind) -> str:
    """Return a template's name."""
    return f"{sight.domain}-{kind}-{sight.sees}"


def words(entity: Entity, clue: Clue) -> str:
    """Return what to search with for something seen: its name, or the words of its emblem."""
    return entity.name if clue == "text" else " ".join(_FILLER.sub(" ", entity.emblem).split())


def _clue(sight: Sight, knobs: Knobs, rng: Random) -> Clue:
    shown = [clue for clue in knobs.clue if clue == "text" or KINDS[sight.sees].emblem]
    if not shown:
        raise ValueError(f"a {sight.noun} has no emblem")
    return seeds.choice(rng, shown)


def _path(sight: Sight, kind: Kind, knobs: Knobs, rng: Random) -> Path:
    """Draw a way; the facts at its end are drawn first, so that those with few ways come too."""
    found = paths(sight.sees, kind, seeds.choice(rng, knobs.hops))
    if not found:
        raise ValueError(f"no way leads from a {sight.noun} to what is asked")
    ends = sorted({path[-1] for path in found})
    end = seeds.choice(rng, ends)
    return seeds.choice(rng, [path for path in found if path[-1] == end])


def _share(world: World, sight: Sight, path: Path, answer: str) -> float:
    """Return the share of those that may be seen from whom the way leads to an answer."""
    found = [follow(world, entity, path)[1].value for entity in world.of(sight.sees)]
    return found.count(answer) / len(found)


def _roomy(sight: Sight, cast: Cast, knobs: Knobs) -> list[str]:
    """Return the scenes that are chosen and hold so many."""
    found = [
        scene
        for scene in sight.scenes
        if scene in knobs.scenes
        and SCENES[scene].lookalikes >= len(cast.alike)
        and SCENES[scene].foreground >= len(cast.near)
    ]
    if not found:
        raise ValueError(f"no scene of a {sight.noun} holds so much")
    return found


# --- who is seen ------------------------------------------------------------------------


def _cast(
    sight: Sight, kind: Kind, world: World, knobs: Knobs, rng: Random, path: Path
) -> tuple[Cast, str]:
    """Draw who is seen; for a choice among them also the words that tell the clue."""
    first = seeds.choice(rng, world.of(sight.sees))
    n = seeds.choice(rng, knobs.lookalikes)
    rivals = max(n, RIVALS) if kind == "select" else n
    alike = tuple(world.alike(first, rng, rivals)) if rivals else ()
    others = [each for each in world.of(sight.sees) if each not in (first, *alike)]
    depth = seeds.choice(rng, knobs.depth)
    near = tuple(others[i] for i in seeds.sample(rng, len(others), depth))
    cast = Cast(first, alike, near)
    return _chosen(cast, rng, path) if kind == "select" else (cast, "")


def _chosen(cast: Cast, rng: Random, path: Path) -> tuple[Cast, str]:
    """Make the clue whoever has the least or the most of something, and say so."""
    named = [fact for fact in cast.clue.facts if fact in EXTREMES and fact != path[0]]
    fact = seeds.choice(rng, sorted(named))
    greatest = seeds.below(rng, 2)
    seen = sorted(cast.all, key=lambda entity: entity.facts[fact].order)
    best, second = seen[-1:-3:-1] if greatest else seen[:2]
    if best.facts[fact].order == second.facts[fact].order:
        raise ValueError("two of those seen share what tells the right one")
    if best in cast.near:
        raise ValueError("the right one stands in front")
    alike = tuple(entity for entity in (cast.clue, *cast.alike) if entity != best)
    return Cast(best, alike, cast.near), EXTREMES[fact][greatest]


def _signs(world: World, cast: Cast, clue: Clue, path: Path, mark: str) -> tuple[Sign, ...]:
    """Return the signs: the clue, its look-alikes, who stands nearer."""
    roles: list[Role] = ["clue"]
    roles += ["lookalike" for _ in cast.alike]
    roles += ["foreground" for _ in cast.near]
    return tuple(
        Sign(
            role=role,
            lines=(entity.name,) if clue == "text" else (),
            symbol="" if clue == "text" else entity.emblem,
            entity=entity.id,
            answer=follow(world, entity, path)[1].value,
            mark=mark if role == "clue" else "",
        )
        for role, entity in zip(roles, cast.all, strict=True)
    )


def _clutter(scene: str, rng: Random) -> list[Sign]:
    """Draw lettering that leads nowhere."""
    n = seeds.below(rng, 1 + min(MOST_CLUTTER, SCENES[scene].clutter))
    said = seeds.sample(rng, len(CLUTTER), n)
    return [Sign(role="clutter", lines=(CLUTTER[i],)) for i in said]


# --- what is asked ----------------------------------------------------------------------


def _seen(sight: Sight, clue: Clue, scene: str, mark: str, rng: Random) -> str:
    """Speak of the clue's entity by its name or emblem, and by the thing that shows it.

    A place is said of names and emblems, not of the things: others of the kind may bear none.
    """
    noun, what = sight.noun, "name" if clue == "text" else "emblem"
    thing = article(SCENES[scene].bears)
    ways: tuple[str, ...] = (f"the {noun} whose {what} is on {thing}",)
    if mark:
        ways = (
            f"the {noun} whose {what} is furthest to the {mark}",
            f"the {noun} whose {what} on {thing} is furthest to the {mark}",
            f"the {noun} with the {mark}most {what}",
        )
    elif clue == "text":
        ways += (f"the {noun} named on {thing}", f"the {noun} whose name you can read on {thing}")
    return seeds.choice(rng, ways)


def _request(at: str, path: Path, told: str, rng: Random) -> str:
    brief = len(path) == 1 and told.startswith("that ")
    for fact in path[:-1]:
        told = phrase(at, fact).noun.format(x=told)
        at = next(field.link for field in KINDS[at].fields if field.name == fact)
    last = phrase(at, path[-1])
    # long phrases stand at the end only
    if (brief or last.ask.endswith("{x}?")) and seeds.below(rng, 2):
        return last.ask.format(x=told)
    return seeds.choice(rng, FRAMES).format(noun=last.noun.format(x=told))


def _choosing(sight: Sight, clue: Clue, extreme: str, rng: Random) -> str:
    many, what = sight.plural, "names" if clue == "text" else "emblems"
    openings = (
        f"Of all the {many} whose {what} can be seen here, take the one that {extreme}. ",
        f"Several {many} can be told by their {what}. I mean the one that {extreme}. ",
        f"Look at the {many} whose {what} are in the picture and pick the one that {extreme}. ",
    )
    return seeds.choice(rng, openings)


def _hint(clue: Clue, path: Path, rng: Random) -> str:
    hints = {
        "text": ("Begin with the name that you read.", "The lettering tells what to search for."),
        "symbol": ("Say in words what the emblem shows and search for that.",),
    }
    hint = seeds.choice(rng, hints[clue])
    return f"{hint} One page will not be enough." if len(path) > 1 else hint


def _hops(world: World, along: Sequence[Entity], path: Path, query: str) -> tuple[Hop, ...]:
    hops = []
    for entity, fact in zip(along, path, strict=True):
        found = entity.facts[fact].value
        hops.append(Hop(query=query, href=world.page(entity.id).href, finds=found))
        query = found
    return tuple(hops)
