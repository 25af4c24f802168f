"""The parameters of FuncBenchGen."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters


class FuncbenchParameters(SuiteParameters, frozen=True, kw_only=True):
    """Generate tasks of one size, or those of one of the paper's experiments."""

    preset: Annotated[
        str,
        Meta(
            description="main, by-kind, by-depth, main-caption, no-extra, core40, effort, restate5 "
            "or restate10. It sets core, depth, connected and disconnected, which must then be "
            "left out; by-kind and by-depth are other names for main."
        ),
    ] = ""
    core: Annotated[
        int | None, Meta(description="Functions that are needed; at least 2. Default 10.")
    ] = None
    depth: Annotated[
        int | None,
        Meta(description="Longest path to the target in edges; from 1 to core - 1. Default 5."),
    ] = None
    connected: Annotated[
        int | None,
        Meta(description="Irrelevant functions that take core variables; at least 0. Default 0."),
    ] = None
    disconnected: Annotated[
        int | None,
        Meta(description="Irrelevant functions apart from the core; at least 0. Default 0."),
    ] = None
    graphs: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(description="Graphs per setting. Default 20; 5, as in the paper, with a preset."),
    ] = None
    types: Annotated[
        int | None,
        Meta(
            description="Number of variable types; from 1 to the number of functions. Default a "
            "quarter of the variables, rounded up."
        ),
    ] = None
    max_inputs: Annotated[
        int | None,
        Meta(
            description="Most inputs of any function; at least root_inputs, and large enough for "
            "core functions to fit into the depth. Default no limit."
        ),
    ] = None
    root_inputs: Annotated[
        int,
        Meta(description="Given variables per function that no other function feeds; at least 1."),
    ] = 1
    known_distractor_inputs: Annotated[
        bool, Meta(description="Give values for the inputs of disconnected functions too.")
    ] = True
    branches: Annotated[
        int,
        Meta(
            ge=0,
            description="Variables that two functions are said to compute; a result names the one "
            "that does. At most depth - 1.",
        ),
    ] = 0
    loops: Annotated[
        int,
        Meta(
            ge=0,
            description="Needed functions that return their output in 2 to 4 pages, a call each; "
            "at most core.",
        ),
    ] = 0
    surface: Annotated[
        Literal["random", "realistic"],
        Meta(description="What names look like: random letters, or words as interfaces have."),
    ] = "random"
    link: Annotated[
        Literal["types", "names"],
        Meta(
            description="What links a parameter to its variable: type and subtype, or the "
            "variable's name, which is then the parameter's; names is easier."
        ),
    ] = "types"
    restate: Annotated[
        bool,
        Meta(
            description="Every result also repeats all values known so far. The restate presets "
            "ask each task both ways."
        ),
    ] = False
    efforts: Annotated[
        tuple[str, ...],
        Meta(
            description="Reasoning efforts to ask each task with, out of minimal, low, medium and "
            "high. Default the model's own; minimal,medium for the preset effort."
        ),
    ] = ()
    wording: Annotated[
        tuple[str, ...],
        Meta(
            description="Wordings to ask each task with: plain states types and subtypes as the "
            "paper does, guided explains how functions are linked. plain,guided asks both, in "
            "pairs."
        ),
    ] = ("plain",)
    cap: Annotated[
        str,
        Meta(
            description="Calls after which an episode ends: 2n is twice the needed ones, as in the "
            "paper; minimum+K the needed ones and K more; none has no limit."
        ),
    ] = "2n"
    transport: Annotated[
        Literal["", "mcp"],
        Meta(
            description="mcp plays every episode against a real server process that speaks MCP, "
            "and scores the alignment with the ideal schedule too. Default inside this process."
        ),
    ] = ""
    seed: Annotated[
        int | None, Meta(description="Same seed and parameters, same tasks. Default a fresh one.")
    ] = None
