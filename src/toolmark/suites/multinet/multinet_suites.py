"""MultiNet v1.0: seven families of data under one set of metrics (perception, reasoning, action).

Each family is a suite; `parameters` says what it can be asked with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolmark.core import files
from toolmark.core.media import MediaStore
from toolmark.core.records import Result, Text, Tool
from toolmark.environments.no_op_environment import NoOpEnvironment
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.generation.variant_tasks import VariantTasks
from toolmark.official_bfcl import multi_turn_tasks, official_data
from toolmark.runs import suite_parameters
from toolmark.runs.suite import (
    Defaults,
    Presentation,
    Provenance,
    Scorer,
    Suite,
    TaskMaker,
)
from toolmark.suites.multinet import (
    answer_parsing,
    answer_scoring,
    control_models,
    data_provenance,
    episode_views,
    multinet_families,
    paper_comparison,
    report_tables,
    row_sources,
    surface_agents,
    task_making,
)
from toolmark.suites.multinet.frame_records import Form, Frame, Rows
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.parameters import (
    BfclParameters,
    EncodedPictureParameters,
    FamilyParameters,
    OdinwParameters,
    OpenxParameters,
    OvercookedParameters,
    PictureParameters,
    PiqaParameters,
    RobovqaParameters,
    Sqa3dParameters,
)
from toolmark.suites.multinet.row_sources import SYNTHETIC_DATA

SCORER = Scorer(
    rules=answer_parsing.GRADING_RULES,
    score=answer_scoring.score_episode,
    metrics=report_tables.build_metrics,
    presentation=Presentation(
        tables=paper_comparison.run_tables,
        views=episode_views.episode_views,
        caution=lambda columns, run: report_tables.synthetic_caution(columns),
        overview="multinet",
        profile="multinet",
    ),
    prepare=answer_scoring.encode_run,
)
_FORMS_BY_PARAMETER: Mapping[str, tuple[Form, ...]] = {
    "text": ("text",), "tool": ("tool",), "both": task_making.ALL_FORMS,
}  # fmt: skip


@dataclass(frozen=True)
class InvolvedFunctions:
    """The functions of the classes that a conversation involves, from the official docs."""

    root: Path

    def __call__(self, frame: Frame) -> tuple[Tool, ...]:
        """Return the functions as tools."""
        names = frame.fields["classes"].split(", ")
        return tuple(
            tool for name in names for tool in multi_turn_tasks.read_class_tools(self.root, name)
        )


# --- the families -----------------------------------------------------------------------


def piqa(parameters: PiqaParameters) -> Suite:
    """Return the suite of PIQA: two solutions of a physical task."""
    options = row_sources.sample_option(parameters.sample, parameters.data)
    return _build_suite("piqa", parameters, options=options)


def sqa3d(parameters: Sqa3dParameters) -> Suite:
    """Return the suite of SQA3D: questions in a room."""
    return _build_suite("sqa3d", parameters)


def robovqa(parameters: RobovqaParameters) -> Suite:
    """Return the suite of RoboVQA: questions on what a robot's camera sees."""
    return _build_suite("robovqa", parameters)


def odinw(parameters: OdinwParameters) -> Suite:
    """Return the suite of ODinW: the class of an object in a picture."""
    return _build_suite("odinw", parameters, options=row_sources.subset_option(parameters.subset))


def bfcl(parameters: BfclParameters) -> Suite:
    """Return the suite of BFCL v3 as MultiNet asks it: calls turn by turn, none executed."""
    return _build_suite(
        "bfcl",
        parameters,
        options=row_sources.sample_option(parameters.sample, parameters.data),
        functions=InvolvedFunctions(official_data.fetch_wheel()),
    )


def overcooked(parameters: OvercookedParameters) -> Suite:
    """Return the suite of Overcooked: the next joint action of two cooks."""
    options = {
        "mode": parameters.mode,
        "history": parameters.history,
        "pictures": parameters.frames,
    }
    return _build_suite("overcooked", parameters, options=options)


def openx(parameters: OpenxParameters) -> Suite:
    """Return the suite of Open X-Embodiment: a robot's next action as a vector."""
    names = row_sources.select_morphologies(parameters.data, parameters.morphology)
    row_sets = tuple({"morphology": name} for name in names)
    return _build_suite("openx", parameters, row_sets, options={"history": parameters.history})


# --- shared by all families -------------------------------------------------------------


def _build_suite(
    family: Family,
    parameters: FamilyParameters,
    row_sets: Sequence[Mapping[str, str]] = ({},),
    *,
    options: Mapping[str, Any] = {},
    functions: task_making.FunctionProvider = task_making.no_functions,
) -> Suite:
    """Return the suite of a family; `row_sets` are further options for each of its sets of rows."""
    source = parameters.data
    similarity = answer_scoring.NO_ENCODER
    if isinstance(parameters, EncodedPictureParameters | BfclParameters):
        similarity = parameters.similarity
    answer_scoring.check_encoder(similarity)
    seed = row_sources.resolve_seed(source, parameters.seed)
    rows = row_sources.load_rows(family, source, seed, parameters.items, row_sets, options)
    with_pictures = isinstance(parameters, PictureParameters) and parameters.pictures
    media = MediaStore(files.cache_folder() / "media")
    builder = task_making.TaskBuilder(rows.clustered, seed, with_pictures, functions, similarity)
    recorded = {} if source == SYNTHETIC_DATA else {"seed": seed}
    return Suite(
        name=multinet_families.suite_name(family),
        tasks=VariantTasks(rows, _FORMS_BY_PARAMETER[parameters.form], builder.build_task),
        environment=partial(NoOpEnvironment, result=_CALL_ACKNOWLEDGEMENT),
        scorer=SCORER,
        tool_formats={"native": NATIVE_FORMAT},
        parameters=suite_parameters.recorded_values(parameters, **recorded),
        controls={
            "oracle": control_models.oracle_control,
            "faulty": control_models.faulty_control,
            **surface_agents.surface_controls(family, rows),
        },
        maker=_task_maker(rows, media, source) if with_pictures else TaskMaker(),
        defaults=Defaults(
            floors=multinet_families.list_floors(family),
            shortcuts=surface_agents.list_surface_agents(family),
        ),
        provenance=Provenance(
            data_label="MultiNet-style, synthetic" if source == SYNTHETIC_DATA else "",
            seed=seed,
            hashes=row_sources.combine_hashes(rows),
            notes=(*rows.notes, *filter(None, [answer_scoring.missing_encoder_note(similarity)])),
            media=media,
            export=data_provenance.describe_data(family, source),
        ),
    )


def _task_maker(rows: Rows, media: MediaStore, source: str) -> TaskMaker:
    maker = task_making.PictureMaker(rows, media, root=source)
    return TaskMaker(
        make=maker,
        draft=maker.draft,
        describe_work=task_making.describe_picture_work,
        failure=task_making.picture_failure,
    )


# endpoints require a result for every call
_CALL_ACKNOWLEDGEMENT = Result(parts=(Text("Noted; calls are not executed here."),))
