"""What the two speech suites share: scorer, tasks, site, test models and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.errors import UsageError
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.bfcl import instruments
from toolmark.suites.mfcl import items, making, paper, score, speech_report
from toolmark.suites.mfcl.booth import Booth, Recipe
from toolmark.suites.mfcl.site import Opening
from toolmark.types import Model, Task

SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=speech_report.metrics,
    tables=paper.tables,
    across=paper.across,
    views=speech_report.views,
    gather=score.gather,
)
_NAMED = 8  # of the entries left out, in a note


def suite(
    name: str,
    recipe: Recipe,
    knobs: Mapping[str, Any],
    *,
    prompt: str,
    recognisers: Sequence[str] = (),
) -> Suite:
    """Return a speech suite: asked by transcript where there are recognisers, else by sound.

    Raises UsageError for what cannot be: unknown categories, no conditions, no voices.
    """
    chosen = items.named(knobs["category"])
    conditions = tuple(dict.fromkeys(knobs["conditions"]))
    if not conditions:
        raise UsageError("no condition given; for example conditions=text,clean,noisy")
    entries, dropped, hashes = items.read(chosen, knobs["items"], recipe.seed)
    booth = Booth(recipe)
    if set(conditions) - {items.TEXT}:
        booth.voices  # noqa: B018 - what is missing is told now
    form: making.Form = "transcript" if recognisers else "sound"
    return Suite(
        name=name,
        tasks=items.Items(entries, name, conditions, tuple(dict.fromkeys(recognisers))),
        scorer=SCORER,
        site=Opening(knobs["judge"], booth.media, None if recognisers else recipe),
        dialects={"native": NATIVE, "prompt": Prompt()},
        knobs=knobs,
        seed=recipe.seed,
        instruments={"oracle": oracle, "faulty": faulty},
        hashes=hashes,
        media=booth.media,
        notes=(_left_out(dropped),) if dropped else (),
        make=making.Maker(recipe=recipe, form=form, home=str(booth.home), prompt=prompt),
        hears=form == "sound" and conditions != (items.TEXT,),
    )


def _left_out(dropped: Mapping[str, str]) -> str:
    shown = ", ".join(f"{id} ({why})" for id, why in list(dropped.items())[:_NAMED])
    more = f" and {len(dropped) - _NAMED} more" if len(dropped) > _NAMED else ""
    return f"{len(dropped)} entries cannot be said and are left out: {shown}{more}"


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that makes the expected calls, found in the truth."""
    return instruments.oracle(items.plain(task), repeat, options)


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that is right but for one class of fault, in a share of the tasks."""
    return instruments.faulty(items.plain(task), repeat, options)
