"""The parameters of MFCL Vision."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters

GENERATED_SOURCE = "generated"
"""The source of generated items; any other source is a folder."""
PAGES_ENGINE = "pages"
"""The engine that searches the pages of the items themselves."""
TABLE_2_VARIATIONS = (
    "base", "crop-16:9", "crop-4:3", "resize-16:9", "resize-4:3", "gray", "edges", "red-green",
)  # fmt: skip
_Levels = tuple[Literal["yes", "no"], ...] | None


class VisionParameters(SuiteParameters, frozen=True, kw_only=True):
    """Ask questions on pictures that need a web search, on damaged pictures and the whole ones.

    Pictures, questions and the pages to search are generated, or come from a folder of the user's.
    """

    items: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="How many items: 250 are generated, evenly over domains and query types; "
            "of a folder all are taken."
        ),
    ] = None
    variations: Annotated[
        tuple[str, ...],
        Meta(
            description="What is done to each picture; by default Table 2's eight. Also "
            "occlusion=0.5 (share of the clue), jitter=1 to 4, edges=50/150 (thresholds)."
        ),
    ] = TABLE_2_VARIATIONS
    domain: Annotated[
        tuple[str, ...],
        Meta(description="all, or some of places, events, media, sports, shopping."),
    ] = ("all",)
    kind: Annotated[
        tuple[str, ...],
        Meta(description="all, or some of locate, temporal, select, identify, quantify."),
    ] = ("all",)
    hops: Annotated[
        tuple[str, ...],
        Meta(
            description="Pages from the picture to the answer, 1 to 4; each item draws one "
            "of those named."
        ),
    ] = ("1", "2", "3")
    lookalikes: Annotated[
        tuple[str, ...],
        Meta(
            description="Signs near the clue that lead to other answers, 0 to 6; each item draws "
            "one of those named."
        ),
    ] = ("0", "1", "2")
    clue: Annotated[
        tuple[str, ...],
        Meta(description="What shows the way: text, symbol; each item draws one."),
    ] = ("text", "symbol")
    clue_size: Annotated[
        tuple[str, ...],
        Meta(description="Of its letters: small, medium, large; each item draws one."),
    ] = ("medium", "large")
    depth: Annotated[
        tuple[str, ...],
        Meta(
            description="Objects that stand nearer and lead elsewhere, 0 or 1; each item draws one."
        ),
    ] = ("0", "1")
    distractors: Annotated[
        Annotated[int, Meta(ge=0, le=8)],
        Meta(description="Pages without the answer, for each thing that there is."),
    ] = 1
    context: Annotated[
        _Levels,
        Meta(
            description="Whether a question says how the picture came about: yes, no, or yes,no: "
            "each item draws one of the two, and nothing else of it changes. Default yes; of a "
            "folder where it does."
        ),
    ] = None
    hint: Annotated[
        _Levels,
        Meta(
            description="Whether it has a hint how to begin: yes, no, or yes,no. Default no; of a "
            "folder where it has one."
        ),
    ] = None
    form: Annotated[
        _Levels,
        Meta(
            description="Whether it says in which form the answer is wanted: yes, no, or yes,no. "
            "Default yes; of a folder where it says."
        ),
    ] = None
    source: Annotated[
        str, Meta(description="generated, or a folder that holds items.jsonl and pictures.")
    ] = GENERATED_SOURCE
    search: Annotated[
        str,
        Meta(
            description="What answers searches: pages (those of the items), corpus:FOLDER, a "
            "provider that has a key (serpapi, brave, tavily, serper), record:FILE or replay:FILE."
        ),
    ] = PAGES_ENGINE
    snippets: Annotated[bool, Meta(description="Search results hold an excerpt of each page.")] = (
        True
    )
    structured: Annotated[
        bool,
        Meta(
            description="The search tool asks for words of the question, lettering and look apart."
        ),
    ] = False
    outages: Annotated[
        Annotated[float, Meta(ge=0, le=1)],
        Meta(
            description="Share of searches and pages that fail, 0 to 1; asked again they may not."
        ),
    ] = 0.0
    seed: Annotated[
        int | None,
        Meta(
            description="Same seed and parameters, same tasks. Default a fresh one; 0 for a folder."
        ),
    ] = None
