"""The parameters of BFCL."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters

DEFAULT_ENCODER = "all-MiniLM-L6-v2"


class BfclParameters(SuiteParameters, frozen=True, kw_only=True):
    """Ask entries of BFCL version 4; the official wheel is fetched on first use."""

    category: Annotated[
        tuple[str, ...],
        Meta(
            description="Categories or groups of them: all (for a model that makes structured "
            "calls, what is scored), all_scoring (without format_sensitivity), single_turn, live, "
            "non_live, python, non_python, multi_turn, memory, web_search, agentic, "
            "format_sensitivity. What cannot be played here is not run."
        ),
    ] = ("all",)
    formats: Annotated[
        tuple[str, ...],
        Meta(
            description="Prompt formats: official (26), all (96), or names such as "
            "ret_fmt=json&tool_call_tag=True&func_doc_fmt=xml&prompt_fmt=plaintext&style=classic."
        ),
    ] = ("official",)
    entries: Annotated[
        str, Meta(description="For format_sensitivity, the published 200 entries or all 2,351.")
    ] = "200"
    wording: Annotated[
        Literal["official", "own"],
        Meta(description="The sentences of prompts: official, read from the wheel, or own."),
    ] = "official"
    search: Annotated[
        str,
        Meta(
            description="What answers web_search: serpapi (needs SERPAPI_API_KEY), brave, tavily, "
            "serper, corpus:FOLDER of pages, record:FILE (serpapi, stored in the file) or "
            "replay:FILE."
        ),
    ] = "serpapi"
    encoder: Annotated[
        str,
        Meta(
            description="The sentence encoder of memory_vector: a folder, an installed package, or "
            "a hub's name."
        ),
    ] = DEFAULT_ENCODER
    ask_as: Annotated[
        str,
        Meta(
            description="Ask and read as the handler of this entry of the official list does, such "
            "as gpt-4.1-2025-04-14-FC; --as NAME is short for it. Without one, as the handler that "
            "the official harness has for the wire."
        ),
    ] = ""
    loop: Annotated[
        Literal["official", "lenient"],
        Meta(
            description="What a reply does in which a structured call cannot be read: official "
            "ends the turn and executes nothing of it; lenient executes the other calls and tells "
            "the model. No official rule judges the lenient loop."
        ),
    ] = "official"
    seed: Annotated[
        int, Meta(description="Recorded with the run; published entries do not depend on it.")
    ] = 0
