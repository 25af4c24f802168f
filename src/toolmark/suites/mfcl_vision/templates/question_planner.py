"""Plans of items from a subject and a query type: clue, look-alikes, question, hops."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from toolmark.core import seeds
from toolmark.suites.mfcl_vision import answer_spellings
from toolmark.suites.mfcl_vision.fiction import Entity, FictionalWorld, entity_kinds
from toolmark.suites.mfcl_vision.fiction.entity_pages import with_article
from toolmark.suites.mfcl_vision.generation_parameters import (
    LETTER_HEIGHT_SHARES,
    ClueKind,
    GenerationParameters,
)
from toolmark.suites.mfcl_vision.item_records import (
    Hop,
    ItemPlan,
    QueryKind,
    QuestionParts,
    SceneSetting,
    Sign,
    SignRole,
)
from toolmark.suites.mfcl_vision.scenes import SCENE_KINDS
from toolmark.suites.mfcl_vision.templates.fact_paths import FactPath, find_paths, follow_path
from toolmark.suites.mfcl_vision.templates.question_phrases import (
    extreme_clauses,
    question_phrase,
    request_phrases,
)
from toolmark.suites.mfcl_vision.templates.template_records import PictureSubject

# Both remain true if a crop removes other signs.
SIGN_POSITIONS = ("left", "right")
MAX_CLUTTER = 1
# Largest share of visible candidates with the same answer; a more common one can be guessed.
MAX_ANSWER_SHARE = 0.02
# Minimum number of other visible entities in a question that chooses among them.
MIN_RIVALS = 2
_FILLER_WORDS = re.compile(r"\b(?:an?|on)\b")


@dataclass(frozen=True, slots=True)
class VisibleEntities:
    """The visible entities: the clue's entity, its look-alikes, those in the foreground."""

    clue: Entity
    lookalikes: tuple[Entity, ...]
    foreground: tuple[Entity, ...]

    @property
    def everyone(self) -> tuple[Entity, ...]:
        """All visible entities, the clue's first."""
        return (self.clue, *self.lookalikes, *self.foreground)


def draw_plan(
    subject: PictureSubject,
    kind: QueryKind,
    fictional_world: FictionalWorld,
    parameters: GenerationParameters,
    rng: Random,
    id: str,
) -> ItemPlan:
    """Return a plan with all parts of its question. Raises ValueError if the item is not fair."""
    clue = _draw_clue_kind(subject, parameters, rng)
    path = _draw_path(subject, kind, parameters, rng)
    visible, extreme = _draw_visible_entities(subject, kind, fictional_world, parameters, rng, path)
    entities, fact = follow_path(fictional_world, visible.clue, path)
    if _answer_share(fictional_world, subject, path, fact.value) > MAX_ANSWER_SHARE:
        raise ValueError("too many that may be seen lead to the answer")
    mark = "" if extreme or not visible.lookalikes else seeds.draw_one(rng, SIGN_POSITIONS)
    scene = seeds.draw_one(rng, _scenes_with_room(subject, visible, parameters))
    clue_phrase = (
        f"that {subject.noun}" if extreme else _describe_clue(subject, clue, scene, mark, rng)
    )
    opening = _write_choice_opening(subject, clue, extreme, rng) if extreme else ""
    return ItemPlan(
        id=id,
        domain=subject.domain,
        kind=kind,
        template=template_name(subject, kind),
        question=QuestionParts(
            request=opening + _write_request(subject.entity_kind, path, clue_phrase, rng),
            context=seeds.draw_one(rng, subject.contexts),
            hint=_draw_hint(clue, path, rng),
            form=seeds.draw_one(rng, request_phrases().answer_forms[fact.sort]),
        ),
        answers=answer_spellings.accepted_spellings(fact.value, fact.unit, fact.text),
        setting=SceneSetting(
            scene=scene,
            signs=(
                *_make_signs(fictional_world, visible, clue, path, mark),
                *_draw_clutter(scene, rng),
            ),
            clue_share=LETTER_HEIGHT_SHARES[seeds.draw_one(rng, parameters.sizes)],
        ),
        hops=_make_hops(fictional_world, entities, path, clue_query(visible.clue, clue)),
    )


def template_name(subject: PictureSubject, kind: QueryKind) -> str:
    """Return a template's name."""
    return f"{subject.domain}-{kind}-{subject.entity_kind}"


def clue_query(entity: Entity, clue: ClueKind) -> str:
    """Return the search query for a visible entity: its name, or the words of its emblem."""
    return (
        entity.name if clue == "text" else " ".join(_FILLER_WORDS.sub(" ", entity.emblem).split())
    )


def _draw_clue_kind(
    subject: PictureSubject, parameters: GenerationParameters, rng: Random
) -> ClueKind:
    possible = [
        clue
        for clue in parameters.clue
        if clue == "text" or entity_kinds()[subject.entity_kind].emblem
    ]
    if not possible:
        raise ValueError(f"a {subject.noun} has no emblem")
    return seeds.draw_one(rng, possible)


def _draw_path(
    subject: PictureSubject, kind: QueryKind, parameters: GenerationParameters, rng: Random
) -> FactPath:
    """Return a path; its last fact is drawn first, so that facts with few paths are not rare."""
    found = find_paths(subject.entity_kind, kind, seeds.draw_one(rng, parameters.hops))
    if not found:
        raise ValueError(f"no way leads from a {subject.noun} to what is asked")
    ends = sorted({path[-1] for path in found})
    end = seeds.draw_one(rng, ends)
    return seeds.draw_one(rng, [path for path in found if path[-1] == end])


def _answer_share(
    fictional_world: FictionalWorld, subject: PictureSubject, path: FactPath, answer: str
) -> float:
    """Return the share of possible subjects from which the path leads to an answer."""
    found = [
        follow_path(fictional_world, entity, path)[1].value
        for entity in fictional_world.entities_of_kind(subject.entity_kind)
    ]
    return found.count(answer) / len(found)


def _scenes_with_room(
    subject: PictureSubject, visible: VisibleEntities, parameters: GenerationParameters
) -> list[str]:
    """Return the chosen scenes with enough room. Raises ValueError if there are none."""
    found = [
        scene
        for scene in subject.scenes
        if scene in parameters.scenes
        and SCENE_KINDS[scene].lookalikes >= len(visible.lookalikes)
        and SCENE_KINDS[scene].foreground >= len(visible.foreground)
    ]
    if not found:
        raise ValueError(f"no scene of a {subject.noun} holds so much")
    return found


# --- who is seen ------------------------------------------------------------------------


def _draw_visible_entities(
    subject: PictureSubject,
    kind: QueryKind,
    fictional_world: FictionalWorld,
    parameters: GenerationParameters,
    rng: Random,
    path: FactPath,
) -> tuple[VisibleEntities, str]:
    """Return the visible entities; for a choice among them also the criterion as text."""
    clue_entity = seeds.draw_one(rng, fictional_world.entities_of_kind(subject.entity_kind))
    n = seeds.draw_one(rng, parameters.lookalikes)
    rivals = max(n, MIN_RIVALS) if kind == "select" else n
    lookalikes = tuple(fictional_world.draw_lookalikes(clue_entity, rng, rivals)) if rivals else ()
    others = [
        entity
        for entity in fictional_world.entities_of_kind(subject.entity_kind)
        if entity not in (clue_entity, *lookalikes)
    ]
    depth = seeds.draw_one(rng, parameters.depth)
    foreground = tuple(others[i] for i in seeds.sample_indices(rng, len(others), depth))
    visible = VisibleEntities(clue_entity, lookalikes, foreground)
    return _choose_by_extreme(visible, rng, path) if kind == "select" else (visible, "")


def _choose_by_extreme(
    visible: VisibleEntities, rng: Random, path: FactPath
) -> tuple[VisibleEntities, str]:
    """Return the entities with the least or greatest of some fact as the clue, and the criterion.

    Raises ValueError if two candidates are equal, or if the clue would be in the foreground.
    """
    comparable_facts = [
        fact for fact in visible.clue.facts if fact in extreme_clauses() and fact != path[0]
    ]
    fact = seeds.draw_one(rng, sorted(comparable_facts))
    greatest = seeds.draw_below(rng, 2)
    by_value = sorted(visible.everyone, key=lambda entity: entity.facts[fact].order)
    best, second = by_value[-1:-3:-1] if greatest else by_value[:2]
    if best.facts[fact].order == second.facts[fact].order:
        raise ValueError("two of those seen share what tells the right one")
    if best in visible.foreground:
        raise ValueError("the right one stands in front")
    lookalikes = tuple(entity for entity in (visible.clue, *visible.lookalikes) if entity != best)
    clause = extreme_clauses()[fact]
    extreme = clause.greatest if greatest else clause.least
    return VisibleEntities(best, lookalikes, visible.foreground), extreme


def _make_signs(
    fictional_world: FictionalWorld,
    visible: VisibleEntities,
    clue: ClueKind,
    path: FactPath,
    mark: str,
) -> tuple[Sign, ...]:
    """Return the signs: the clue, its look-alikes, those in the foreground."""
    roles: list[SignRole] = ["clue"]
    roles += ["lookalike" for _ in visible.lookalikes]
    roles += ["foreground" for _ in visible.foreground]
    return tuple(
        Sign(
            role=role,
            lines=(entity.name,) if clue == "text" else (),
            symbol="" if clue == "text" else entity.emblem,
            entity=entity.id,
            answer=follow_path(fictional_world, entity, path)[1].value,
            mark=mark if role == "clue" else "",
        )
        for role, entity in zip(roles, visible.everyone, strict=True)
    )


def _draw_clutter(scene: str, rng: Random) -> list[Sign]:
    """Return lettering that leads nowhere."""
    texts = request_phrases().clutter_texts
    n = seeds.draw_below(rng, 1 + min(MAX_CLUTTER, SCENE_KINDS[scene].clutter))
    indices = seeds.sample_indices(rng, len(texts), n)
    return [Sign(role="clutter", lines=(texts[i],)) for i in indices]


# --- what is asked ----------------------------------------------------------------------


def _describe_clue(
    subject: PictureSubject, clue: ClueKind, scene: str, mark: str, rng: Random
) -> str:
    """Return a phrase for the clue's entity: its name or emblem, and the object that shows it.

    A position describes names and emblems, not objects: other objects of the kind may have none.
    """
    phrases = request_phrases().clue_phrases
    phrasings = phrases.plain
    if mark:
        phrasings = phrases.placed
    elif clue == "text":
        phrasings += phrases.lettered
    return seeds.draw_one(rng, phrasings).format(
        noun=subject.noun,
        clue="name" if clue == "text" else "emblem",
        thing=with_article(SCENE_KINDS[scene].sign_carrier),
        mark=mark,
    )


def _write_request(kind: str, path: FactPath, subject_phrase: str, rng: Random) -> str:
    is_brief = len(path) == 1 and subject_phrase.startswith("that ")
    for fact in path[:-1]:
        subject_phrase = question_phrase(kind, fact).noun.format(x=subject_phrase)
        kind = next(field.link for field in entity_kinds()[kind].fields if field.name == fact)
    last = question_phrase(kind, path[-1])
    # A long phrase fits only at the end of a question.
    if (is_brief or last.question.endswith("{x}?")) and seeds.draw_below(rng, 2):
        return last.question.format(x=subject_phrase)
    return seeds.draw_one(rng, request_phrases().request_frames).format(
        noun=last.noun.format(x=subject_phrase)
    )


def _write_choice_opening(
    subject: PictureSubject, clue: ClueKind, extreme: str, rng: Random
) -> str:
    return seeds.draw_one(rng, request_phrases().choice_openings).format(
        plural=subject.plural, clues="names" if clue == "text" else "emblems", extreme=extreme
    )


def _draw_hint(clue: ClueKind, path: FactPath, rng: Random) -> str:
    phrases = request_phrases()
    hint = seeds.draw_one(rng, phrases.hints[clue])
    return f"{hint} {phrases.long_path_hint}" if len(path) > 1 else hint


def _make_hops(
    fictional_world: FictionalWorld, entities: Sequence[Entity], path: FactPath, query: str
) -> tuple[Hop, ...]:
    hops = []
    for entity, fact in zip(entities, path, strict=True):
        found = entity.facts[fact].value
        hops.append(Hop(query=query, href=fictional_world.page(entity.id).href, finds=found))
        query = found
    return tuple(hops)
