"""What the two speech suites share: scorer, tasks, site, test models and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from toolmark import private
from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.errors import UsageError
from toolmark.perturb.speech import engines
from toolmark.runs import later
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.bfcl import instruments
from toolmark.suites.mfcl import dataset, items, making, paper, score, speech_marks, speech_report
from toolmark.suites.mfcl.booth import Booth, recipe
from toolmark.suites.mfcl.site import Opening
from toolmark.types import Model, Task

SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=speech_report.metrics,
    tables=paper.tables,
    across="mfcl-speech",
    views=speech_report.views,
    gather=score.gather,
    axes={"condition": speech_marks.named, "recogniser": lambda ear, _: speech_marks.ear(ear)},
)
_NAMED = 8  # of the entries left out, in a note


def suite(
    name: str,
    knobs: Mapping[str, Any],
    *,
    prompt: str,
    form: making.Form,
    recognisers: Sequence[str],
) -> Suite:
    """Return a speech suite, asked by sound or by what recognisers wrote down of it.

    Raises UsageError for what cannot be: unknown categories, no conditions, no recognisers.
    """
    made = recipe(knobs)
    chosen = items.named(knobs["category"])
    conditions = tuple(dict.fromkeys(knobs["conditions"]))
    if not conditions:
        raise UsageError("no condition given; for example conditions=text,clean,noisy")
    asked, aside = _ears(form, recognisers)
    booth = Booth(made)
    spoken = conditions != (items.TEXT,)
    noises = {"noises": booth.recordings.digest} if made.noises else {}

    @cache  # a set that was made asks its own tasks: BFCL's are not needed then
    def read() -> tuple[list[Task], dict[str, str], dict[str, str]]:
        return items.read(chosen, knobs["items"], made.seed)

    dropped = later.Names(lambda: read()[1])
    maker = making.Maker(recipe=made, form=form, home=str(booth.home), prompt=prompt, ears=aside)
    site = Opening(knobs["judge"], booth.media, made if form == "sound" and spoken else None)
    return Suite(
        name=name,
        tasks=items.Items(later.Rows(lambda: read()[0]), name, conditions, asked),
        scorer=SCORER,
        site=site,
        missing=site.missing,
        dialects={"native": NATIVE, "prompt": Prompt()},
        knobs=knobs,
        seed=made.seed,
        instruments={"oracle": oracle, "faulty": faulty},
        hashes=later.Names(lambda: read()[2] | noises),
        media=booth.media,
        notes=later.Rows(lambda: _notes(dropped, booth)),
        make=maker,
        draft=maker.headed,
        effort=making.effort,
        hears=form == "sound" and spoken,
        refers=dataset.sounds,
        publisher=dataset.publisher(dropped, booth),
        broken=making.broken,
        asking=("judge", "missing"),
        standing=(),
        reopen=lambda own, _: _reopened(site, own, knobs),
    )


def _reopened(site: Opening, made: Mapping[str, Any], asked: Mapping[str, Any]) -> Opening:
    """Return the site for tasks made with these knobs: answers are spoken as those were.

    A set may be a stranger's: it chooses no folder, and no engine that asks elsewhere. Raises
    UsageError where that would be needed.
    """
    if site.recipe is None:
        return site
    own = [name for name in made["engines"] if name not in (*engines.DEFAULT, *asked["engines"])]
    if own and asked["judge"] != "off":
        raise UsageError(
            f"the set's requests were spoken by {', '.join(own)}: say -T engines="
            f"{','.join(made['engines'])} to have answers spoken so, or judge=off"
        )
    kept = {name: asked[name] for name in ("rewriter", "noises", "judge", "missing")}
    return replace(site, recipe=recipe({**made, **kept, "rewrite": True}))


def _ears(form: making.Form, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the recognisers by which models are asked, and those that only write along."""
    ears = tuple(dict.fromkeys(names))
    for ear in ears:  # tasks are stored with the names
        private.check_stored("recognisers", ear)
    if form == "sound":
        return (), ears
    if not ears:
        raise UsageError("no recogniser given; for example recognisers=simulated:a")
    return ears, ()


def _notes(dropped: Mapping[str, str], booth: Booth) -> tuple[str, ...]:
    return (*([_left_out(dropped)] if dropped else []), *booth.notes())


def _left_out(dropped: Mapping[str, str]) -> str:
    shown = ", ".join(f"{id} ({why})" for id, why in list(dropped.items())[:_NAMED])
    more = f" and {len(dropped) - _NAMED} more" if len(dropped) > _NAMED else ""
    n = "1 entry" if len(dropped) == 1 else f"{len(dropped)} entries"
    return f"left out, as nobody can say it: {n}: {shown}{more}"


def oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that makes the expected calls, found in the truth."""
    return instruments.oracle(items.plain(task), repeat, options)


def faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that is right but for one class of fault, in a share of the tasks."""
    return instruments.faulty(items.plain(task), repeat, options)
