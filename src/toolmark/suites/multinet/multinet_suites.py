"""MultiNet v1.0: seven families of data under one set of metrics (perception, reasoning, action).

Each family is a suite; its keyword-only signature is the table of its suite parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from toolmark.core import files
from toolmark.core.media import MediaStore
from toolmark.core.records import Result, Text, Tool
from toolmark.environments import no_op_environment
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.official_bfcl import multi_turn_tasks
from toolmark.official_bfcl import official_data as official
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.multinet import (
    answer_parsing,
    answer_scoring,
    control_models,
    data_provenance,
    episode_views,
    multinet_families,
    paper_comparison,
    report_tables,
    task_making,
)
from toolmark.suites.multinet import row_sources as sources
from toolmark.suites.multinet.frame_records import Form, Frame
from toolmark.suites.multinet.multinet_families import Family
from toolmark.suites.multinet.row_sources import ALL, OFFICIAL_DATA, REAL_DATA, SYNTHETIC_DATA

DIALECTS = "native; how answers are given: -T form"
SCORER = Scorer(
    readings=answer_parsing.GRADING_RULES,
    score=answer_scoring.score_episode,
    metrics=report_tables.build_metrics,
    tables=paper_comparison.run_tables,
    views=episode_views.episode_views,
    across="multinet",
    profile="multinet",
    caution=report_tables.synthetic_caution,
    gather=answer_scoring.encode_run,
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


def piqa(
    *,
    data: str = SYNTHETIC_DATA,
    items: int | Literal["all"] = 200,
    sample: Literal["fifth", "all"] = "fifth",
    form: Literal["text", "tool", "both"] = "text",
    seed: int | None = None,
) -> Suite:
    """Ask which of two solutions works in the physical world (PIQA), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of the sample.
        sample: Of PIQA's whole training file: the fifth that MultiNet asks, or all. Of any other
            folder all rows are the sample.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """
    parameters: dict[str, Any] = dict(locals())
    return _build_suite("piqa", parameters, options=sources.sample_option(sample, data))


def sqa3d(
    *,
    data: str = SYNTHETIC_DATA,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    pictures: bool = True,
    similarity: str = answer_scoring.AUTO_ENCODER,
    seed: int | None = None,
) -> Suite:
    """Ask about a room seen from above, from where a situation puts one (SQA3D), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        pictures: Whether the pictures are sent.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    parameters: dict[str, Any] = dict(locals())
    return _build_suite("sqa3d", parameters)


def robovqa(
    *,
    data: str = SYNTHETIC_DATA,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    pictures: bool = True,
    similarity: str = answer_scoring.AUTO_ENCODER,
    seed: int | None = None,
) -> Suite:
    """Ask what a robot should do, or has done, from what its camera sees (RoboVQA).

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        pictures: Whether the pictures are sent.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    parameters: dict[str, Any] = dict(locals())
    return _build_suite("robovqa", parameters)


def odinw(
    *,
    data: str = SYNTHETIC_DATA,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    subset: tuple[str, ...] = (ALL,),
    pictures: bool = True,
    seed: int | None = None,
) -> Suite:
    """Ask which object a picture shows, of the classes of its sub-set (ODinW), in MultiNet's way.

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many rows are asked, drawn by the seed; all: every row of a folder.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        subset: all, or some of the sub-sets.
        pictures: Whether the pictures are sent.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    parameters: dict[str, Any] = dict(locals())
    return _build_suite("odinw", parameters, options=sources.subset_option(subset))


def bfcl(
    *,
    data: str = OFFICIAL_DATA,
    items: int | Literal["all"] = 200,
    sample: Literal["fifth", "all"] = "fifth",
    form: Literal["text", "tool", "both"] = "text",
    similarity: str = answer_scoring.AUTO_ENCODER,
    seed: int = 0,
) -> Suite:
    """Ask for function calls turn by turn, none of them executed (BFCL v3), in MultiNet's way.

    The published prompt shows the path of calls that is wanted; it is never sent here.

    Args:
        data: official (the package that `toolmark fetch bfcl` keeps), or a folder in the published
            layout.
        items: How many conversations are asked, drawn by the seed; all: every one of the sample.
        sample: Of the 200 official conversations: a fifth, as MultiNet, drawn by the seed, or all.
            Of any other folder all are the sample.
        form: text (a reply in the published form), tool (the functions as tools), or both, paired.
        similarity: The encoder that says how alike texts are: auto (all-MiniLM-L6-v2 where the
            extra embed is installed), none, a hub's name, a folder or an installed package.
        seed: Draws the sample, and among it.

    """
    parameters: dict[str, Any] = dict(locals())
    options = sources.sample_option(sample, data)
    return _build_suite(
        "bfcl", parameters, options=options, functions=InvolvedFunctions(official.fetch_wheel())
    )


def overcooked(
    *,
    data: str = REAL_DATA,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    mode: Literal["action", "probs"] = "action",
    history: int = 0,
    pictures: bool = True,
    frames: int = 1,
    seed: int | None = None,
) -> Suite:
    """Ask what two cooks do next in a game that people played (Overcooked), in MultiNet's way.

    Args:
        data: real (games of 2019, fetched on first use), synthetic (generated, offline), or a
            folder in the published layout.
        items: How many steps are asked, drawn by the seed; all: every step that people played.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        mode: action (the joint action) or probs (a probability for each of the 36).
        history: So many joint actions before the step are told.
        pictures: Whether frames are sent; else the kitchen is told in words, where data have any.
        frames: So many frames up to the step are sent, oldest first; at most 100.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    parameters: dict[str, Any] = dict(locals())
    return _build_suite(
        "overcooked", parameters, options={"mode": mode, "history": history, "pictures": frames}
    )


def openx(
    *,
    data: str = SYNTHETIC_DATA,
    items: int | Literal["all"] = 200,
    form: Literal["text", "tool", "both"] = "text",
    morphology: tuple[str, ...] = (ALL,),
    history: int = 0,
    pictures: bool = True,
    seed: int | None = None,
) -> Suite:
    """Ask for the action that a robot takes next, as a vector (Open X-Embodiment).

    Args:
        data: synthetic (a generated stand-in), or a folder in the published layout.
        items: How many steps are asked, evenly over the morphologies, drawn by the seed; all:
            every step of a folder's test split, without one of a tenth of its episodes.
        form: text (a reply in the published form), tool (a tool call), or both, paired.
        morphology: all, or some of single_arm, bimanual, mobile, wheeled, quadrupedal; own: a robot
            of any shape, in a folder.
        history: So many actions before the step are told.
        pictures: Whether the pictures are sent.
        seed: Same seed and knobs, same tasks. Default a fresh one where rows are generated, else 0.

    """  # fmt: skip
    parameters: dict[str, Any] = dict(locals())
    row_sets = tuple({"morphology": name} for name in sources.select_morphologies(data, morphology))
    return _build_suite("openx", parameters, row_sets, options={"history": history})


# --- shared by all families -------------------------------------------------------------


def _build_suite(
    family: Family,
    parameters: dict[str, Any],
    row_sets: Sequence[Mapping[str, str]] = ({},),
    *,
    options: Mapping[str, Any] = {},
    functions: task_making.FunctionProvider = task_making.no_functions,
) -> Suite:
    """Return the suite of a family; `row_sets` are further options for each of its sets of rows."""
    source = str(parameters["data"])
    similarity = str(parameters.get("similarity", answer_scoring.NO_ENCODER))
    answer_scoring.check_encoder(similarity)
    seed = sources.resolve_seed(source, parameters)
    rows = sources.load_rows(family, source, seed, parameters["items"], row_sets, options)
    with_pictures = bool(parameters.get("pictures", False))
    media = MediaStore(files.cache_folder() / "media")
    maker = (
        task_making.PictureMaker(rows=rows, home=str(media.folder), root=source)
        if with_pictures
        else None
    )
    return Suite(
        name=multinet_families.suite_name(family),
        tasks=task_making.TaskList(
            rows,
            seed,
            _FORMS_BY_PARAMETER[parameters["form"]],
            with_pictures,
            functions,
            similarity,
        ),
        scorer=SCORER,
        site=_ENVIRONMENT_FACTORY,
        dialects={"native": NATIVE_FORMAT},
        knobs=parameters,
        seed=seed,
        instruments={
            "oracle": control_models.oracle_control,
            "faulty": control_models.faulty_control,
        },
        hashes=sources.combine_hashes(rows),
        notes=(*rows.notes, *filter(None, [answer_scoring.missing_encoder_note(similarity)])),
        media=media,
        make=maker or _return_unchanged,
        draft=maker.draft if maker else _return_unchanged,
        effort=task_making.describe_picture_work if with_pictures else _return_empty_text,
        broken=task_making.picture_failure,
        publisher=data_provenance.describe_data(family, source),
    )


# endpoints require a result for every call
_CALL_ACKNOWLEDGEMENT = Result(parts=(Text("Noted; calls are not executed here."),))
_ENVIRONMENT_FACTORY = partial(no_op_environment.open_no_op_factory, result=_CALL_ACKNOWLEDGEMENT)


def _return_unchanged(tasks: Any) -> Any:
    return tasks


def _return_empty_text(tasks: Any) -> str:
    return ""
