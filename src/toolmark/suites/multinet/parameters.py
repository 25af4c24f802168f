"""The parameters of MultiNet's seven families, which share most of them."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters

AUTO_ENCODER = "auto"
ALL = "all"
Items = Annotated[int, Meta(ge=1)] | Literal["all"]
Sample = Literal["fifth", "all"]
Similarity = Annotated[
    str,
    Meta(
        description="The encoder that measures how alike texts are: auto (all-MiniLM-L6-v2 where "
        "the extra embed is installed), none, a hub's name, a folder or an installed package."
    ),
]
_FRESH_SEED = (
    "Same seed and parameters, same tasks. Default a fresh one where rows are generated, else 0."
)
_SYNTHETIC_OR_FOLDER = "synthetic (a generated stand-in), or a folder in the published layout."


class FamilyParameters(SuiteParameters, frozen=True, kw_only=True):
    """What every family can be asked with."""

    data: Annotated[str, Meta(description=_SYNTHETIC_OR_FOLDER)] = "synthetic"
    items: Annotated[
        Items,
        Meta(description="How many rows are asked, drawn by the seed; all: every row of a folder."),
    ] = 200
    form: Annotated[
        Literal["text", "tool", "both"],
        Meta(
            description="text (a reply in the published form), tool (a tool call), or both, paired."
        ),
    ] = "text"
    seed: Annotated[int | None, Meta(description=_FRESH_SEED)] = None


class PictureParameters(FamilyParameters, frozen=True, kw_only=True):
    """What a family with pictures can be asked with."""

    pictures: Annotated[bool, Meta(description="Whether the pictures are sent.")] = True


class EncodedPictureParameters(PictureParameters, frozen=True, kw_only=True):
    """What a family with pictures whose answers are compared by meaning can be asked with."""

    similarity: Similarity = AUTO_ENCODER


class PiqaParameters(FamilyParameters, frozen=True, kw_only=True):
    """Ask which of two solutions works in the physical world (PIQA), in MultiNet's way."""

    items: Annotated[
        Items,
        Meta(
            description="How many rows are asked, drawn by the seed; all: every row of the sample."
        ),
    ] = 200
    sample: Annotated[
        Sample,
        Meta(
            description="Of PIQA's whole training file: the fifth that MultiNet asks, or all. Of "
            "any other folder all rows are the sample."
        ),
    ] = "fifth"


class Sqa3dParameters(EncodedPictureParameters, frozen=True, kw_only=True):
    """Ask about a room seen from above, from where a situation puts one (SQA3D)."""


class RobovqaParameters(EncodedPictureParameters, frozen=True, kw_only=True):
    """Ask what a robot should do, or has done, from what its camera sees (RoboVQA)."""


class OdinwParameters(PictureParameters, frozen=True, kw_only=True):
    """Ask which object a picture shows, of the classes of its sub-set (ODinW)."""

    subset: Annotated[tuple[str, ...], Meta(description="all, or some of the sub-sets.")] = (ALL,)


class BfclParameters(FamilyParameters, frozen=True, kw_only=True):
    """Ask for function calls turn by turn, none of them executed (BFCL v3), in MultiNet's way.

    The published prompt shows the path of calls that is wanted; it is never sent here.
    """

    data: Annotated[
        str,
        Meta(
            description="official (the package that `toolmark fetch bfcl` stores), or a folder in "
            "the published layout."
        ),
    ] = "official"
    items: Annotated[
        Items,
        Meta(
            description="How many conversations are asked, drawn by the seed; all: every one of "
            "the sample."
        ),
    ] = 200
    sample: Annotated[
        Sample,
        Meta(
            description="Of the 200 official conversations: a fifth, as MultiNet, drawn by the "
            "seed, or all. Of any other folder all are the sample."
        ),
    ] = "fifth"
    form: Annotated[
        Literal["text", "tool", "both"],
        Meta(
            description="text (a reply in the published form), tool (the functions as tools), or "
            "both, paired."
        ),
    ] = "text"
    similarity: Similarity = AUTO_ENCODER
    seed: Annotated[int | None, Meta(description="Draws the sample, and from it.")] = 0


class OvercookedParameters(PictureParameters, frozen=True, kw_only=True):
    """Ask what two cooks do next in a game that people played (Overcooked), in MultiNet's way."""

    data: Annotated[
        str,
        Meta(
            description="real (games of 2019, fetched on first use), synthetic (generated, "
            "offline), or a folder in the published layout."
        ),
    ] = "real"
    items: Annotated[
        Items,
        Meta(
            description="How many steps are asked, drawn by the seed; all: every step that people "
            "played."
        ),
    ] = 200
    mode: Annotated[
        Literal["action", "probs"],
        Meta(description="action (the joint action) or probs (a probability for each of the 36)."),
    ] = "action"
    history: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="How many joint actions before the step the prompt names."),
    ] = 0
    pictures: Annotated[
        bool,
        Meta(
            description="Whether frames are sent; else the kitchen is described in words, where "
            "data have any."
        ),
    ] = True
    frames: Annotated[
        Annotated[int, Meta(ge=1, le=100)],
        Meta(description="How many frames up to the step are sent, oldest first; at most 100."),
    ] = 1


class OpenxParameters(PictureParameters, frozen=True, kw_only=True):
    """Ask for the action that a robot takes next, as a vector (Open X-Embodiment)."""

    items: Annotated[
        Items,
        Meta(
            description="How many steps are asked, evenly over the morphologies, drawn by the "
            "seed; all: every step of a folder's test split, without one of a tenth of its "
            "episodes."
        ),
    ] = 200
    morphology: Annotated[
        tuple[str, ...],
        Meta(
            description="all, or some of single_arm, bimanual, mobile, wheeled, quadrupedal; own: "
            "a robot of any shape, in a folder."
        ),
    ] = (ALL,)
    history: Annotated[
        Annotated[int, Meta(ge=0)],
        Meta(description="How many actions before the step the prompt names."),
    ] = 0
