"""What the two speech suites share: scorer, tasks, environment factory, controls and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from msgspec import structs

from toolmark.core import lazy_collections, secrets
from toolmark.core.errors import UsageError
from toolmark.core.model import Model
from toolmark.core.records import Task
from toolmark.official_bfcl import bfcl_controls, entry_groups
from toolmark.perturb.speech.engines import engine_registry
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    EnvironmentSource,
    Presentation,
    Provenance,
    Scorer,
    Suite,
    TaskMaker,
)
from toolmark.suites.mfcl_speech import (
    condition_labels,
    published_speech_figures,
    speech_dataset,
    speech_episode_views,
    speech_items,
    speech_scoring,
    speech_tables,
    speech_task_maker,
)
from toolmark.suites.mfcl_speech.parameters import SpokenRequestParameters
from toolmark.suites.mfcl_speech.speech_environments import SpeechEnvironmentOpener
from toolmark.suites.mfcl_speech.speech_pipeline import SpeechPipeline, make_recipe

SCORER = Scorer(
    rules=speech_scoring.GRADING_RULES,
    score=speech_scoring.score_episode,
    metrics=speech_tables.speech_metrics,
    presentation=Presentation(
        tables=published_speech_figures.tables_with_published,
        views=speech_episode_views.episode_views,
        level_names={
            "condition": condition_labels.condition_label,
            "recogniser": lambda ear, _: condition_labels.recogniser_label(ear),
        },
        overview="mfcl-speech",
    ),
    prepare=speech_scoring.make_scoring,
    group=entry_groups.entry_group,
)
_MAX_NAMED_ENTRIES = 8


def build_suite(
    name: str, parameters: SpokenRequestParameters, form: speech_task_maker.RequestForm
) -> Suite:
    """Return a speech suite, asked by sound or by what recognisers wrote down of it.

    Raises UsageError for invalid input: unknown categories, no conditions, no recognisers.
    """
    recipe = make_recipe(parameters)
    chosen = speech_items.select_categories(parameters.category)
    conditions = tuple(dict.fromkeys(parameters.conditions))
    if not conditions:
        raise UsageError("no condition given; for example conditions=text,said,clean,noisy")
    asked_recognisers, extra_recognisers = _split_recognisers(form, parameters.recognisers)
    pipeline = SpeechPipeline(recipe)
    has_sound = form == "sound" and not {*conditions} <= {*speech_items.CONDITIONS_IN_WRITING}
    noises = {"noises": pipeline.recordings.digest} if recipe.noises else {}

    @cache  # an exported set asks its own tasks: BFCL's are not needed then
    def read_entries() -> tuple[list[Task], dict[str, str], dict[str, str]]:
        return speech_items.read_entries(chosen, parameters.items, recipe.seed)

    dropped = lazy_collections.LazyMapping(lambda: read_entries()[1])
    maker = speech_task_maker.SpeechTaskMaker(
        recipe=recipe,
        form=form,
        speech_folder=str(pipeline.speech_folder),
        prompt=speech_task_maker.system_prompt(parameters.hears),
        recognisers=extra_recognisers,
    )
    environments = SpeechEnvironmentOpener(
        parameters.judge, pipeline.media, recipe if has_sound else None
    )
    return Suite(
        name=name,
        tasks=speech_items.condition_tasks(
            lazy_collections.LazySequence(lambda: read_entries()[0]),
            name,
            conditions,
            asked_recognisers,
        ),
        environment=_environment_source(environments, parameters),
        scorer=SCORER,
        parameters=suite_parameters.recorded_values(parameters),
        controls={"oracle": make_oracle, "faulty": make_faulty},
        maker=TaskMaker(
            make=maker,
            draft=maker.draft,
            describe_work=speech_task_maker.effort_note,
            failure=speech_task_maker.failure_reason,
            makes_sound=has_sound,
        ),
        provenance=Provenance(
            data_label="MFCL-style, generated",
            seed=recipe.seed,
            hashes=lazy_collections.LazyMapping(lambda: read_entries()[2] | noises),
            notes=lazy_collections.LazySequence(lambda: _suite_notes(dropped, pipeline)),
            media=pipeline.media,
            referenced_media=speech_dataset.task_sounds,
            export=speech_dataset.make_export(dropped, pipeline),
        ),
    )


def _environment_source(
    environments: SpeechEnvironmentOpener, parameters: SpokenRequestParameters
) -> EnvironmentSource:
    return EnvironmentSource(
        environments,
        missing_parts=environments.missing_requirements,
        for_exported_set=lambda set_parameters, _: _environment_source(
            _environments_of_set(environments, set_parameters, parameters), parameters
        ),
        answers_replies=environments.judge != "off",
        asked_model=environments.judge if environments.judge not in ("rules", "off") else "",
    )


def _environments_of_set(
    environments: SpeechEnvironmentOpener,
    set_parameters: Mapping[str, Any],
    parameters: SpokenRequestParameters,
) -> SpeechEnvironmentOpener:
    """Return the environment factory for tasks made with these parameters: answers sound like them.

    A set may come from a third party: it chooses no folder, and no engine that sends data
    elsewhere. Raises UsageError where that would be needed.
    """
    if environments.recipe is None:
        return environments
    made_with = suite_parameters.read_known_parameters(
        type(parameters), set_parameters, suite="the exported set"
    )
    foreign_engines = [
        name
        for name in made_with.engines
        if name not in (*engine_registry.DEFAULT_ENGINES, *parameters.engines)
    ]
    if foreign_engines and parameters.judge != "off":
        raise UsageError(
            f"the set's requests were spoken by {', '.join(foreign_engines)}: say -T engines="
            f"{','.join(made_with.engines)} to have answers spoken so, or judge=off"
        )
    current = structs.replace(
        made_with,
        rewriter=parameters.rewriter,
        noises=parameters.noises,
        judge=parameters.judge,
        missing=parameters.missing,
        rewrite=True,
    )
    return replace(environments, recipe=make_recipe(current))


def _split_recognisers(
    form: speech_task_maker.RequestForm, names: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the recognisers by which models are asked, and those that only write a record."""
    unique = tuple(dict.fromkeys(names))
    for recogniser in unique:  # tasks are stored with the names
        secrets.check_no_key("recognisers", recogniser)
    if form == "sound":
        return (), unique
    if not unique:
        raise UsageError("no recogniser given; for example recognisers=simulated:a")
    return unique, ()


def _suite_notes(dropped: Mapping[str, str], pipeline: SpeechPipeline) -> tuple[str, ...]:
    return (*([_dropped_note(dropped)] if dropped else []), *pipeline.notes())


def _dropped_note(dropped: Mapping[str, str]) -> str:
    listed = ", ".join(
        f"{id} ({reason})" for id, reason in list(dropped.items())[:_MAX_NAMED_ENTRIES]
    )
    more = (
        f" and {len(dropped) - _MAX_NAMED_ENTRIES} more"
        if len(dropped) > _MAX_NAMED_ENTRIES
        else ""
    )
    n = "1 entry" if len(dropped) == 1 else f"{len(dropped)} entries"
    return f"left out, as nobody can say it: {n}: {listed}{more}"


def make_oracle(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that makes the expected calls, found in the truth."""
    return bfcl_controls.make_oracle(speech_items.original_task(task), repeat, options)


def make_faulty(task: Task, repeat: int, options: Mapping[str, str]) -> Model:
    """Return the model that is right except for one class of fault, in a share of the tasks."""
    return bfcl_controls.make_faulty(speech_items.original_task(task), repeat, options)
