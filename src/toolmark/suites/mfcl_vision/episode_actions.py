"""Actions of an episode: its searches with their results, opened pages, and final message."""

from __future__ import annotations

from typing import NamedTuple

from toolmark.core import json_codec
from toolmark.core.records import Call, Result, Trajectory
from toolmark.environments.search_environment import (
    FETCH_TOOL,
    QUERY_PARTS,
    SEARCH_TOOL,
    join_query_parts,
)
from toolmark.suites.mfcl_vision import final_answer
from toolmark.suites.mfcl_vision.final_answer import FinalMessage

KEYWORDS_ARGUMENT = "keywords"
_MAX_QUOTED_CHARS = 160


class SearchQuery(NamedTuple):
    """A search: its step, its query, and the page addresses found, in order."""

    step: int
    text: str
    hrefs: tuple[str, ...]


class OpenedPage(NamedTuple):
    """A page that the model asked for; `text` is "" if it could not be fetched."""

    step: int
    href: str
    text: str


class EpisodeActions(NamedTuple):
    """The actions of an episode in order; `final_message` is the parsed last message.

    `failed_calls` are searches that failed because the call was wrong, and calls of tools that do
    not exist. Each is stored as written, with its result.
    """

    queries: tuple[SearchQuery, ...]
    opened_pages: tuple[OpenedPage, ...]
    failed_calls: tuple[str, ...]
    final_message: FinalMessage
    n_steps: int
    asked_back: bool


def extract_actions(trajectory: Trajectory) -> EpisodeActions:
    """Return the actions of an episode. Calls that were not executed are ignored."""
    queries: list[SearchQuery] = []
    opened: list[OpenedPage] = []
    failed_calls: list[str] = []
    for number, step in enumerate(trajectory.steps):
        for call, result in zip(step.calls, step.results, strict=False):
            arguments = _parse_arguments(call)
            if call.name == FETCH_TOOL and isinstance(url := arguments.get("url"), str):
                opened.append(_opened_page(number, url, result))
            elif (
                call.name == SEARCH_TOOL
                and (query_parts := _query_parts(arguments))
                and not result.is_error
            ):
                found = tuple(_result_hrefs(json_codec.restore_surrogates(result.text)))
                queries.append(SearchQuery(number, join_query_parts(*query_parts), found))
            elif call.name != FETCH_TOOL:
                failed_calls.append(
                    f"{call.name[:_MAX_QUOTED_CHARS]} {call.arguments[:_MAX_QUOTED_CHARS]}: "
                    f"{result.text[:_MAX_QUOTED_CHARS]}"
                )
    last = trajectory.steps[-1] if trajectory.steps else None
    last_text = "" if last is None or last.calls or last.reply.calls else last.reply.text
    final = final_answer.parse_final_message(last_text)
    replied = any(step.ruling and step.ruling.allowed for step in trajectory.steps)
    return EpisodeActions(
        tuple(queries),
        tuple(opened),
        tuple(failed_calls),
        final,
        len(trajectory.steps),
        replied or final.kind == "asks",
    )


def _parse_arguments(call: Call) -> dict[str, object]:
    try:
        arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
    except json_codec.InvalidJson:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _query_parts(arguments: dict[str, object]) -> list[str]:
    """Return the query texts of a search: from one argument, or from several by their source."""
    values = (arguments.get(name) for name in (KEYWORDS_ARGUMENT, *QUERY_PARTS))
    return [part for part in values if isinstance(part, str)]


def _result_hrefs(text: str) -> list[str]:
    """Return the addresses of the result rows of a search, without those inside snippets."""
    return [href for row in json_codec.parse_rows(text) if isinstance(href := row.get("href"), str)]


def _opened_page(number: int, url: str, result: Result) -> OpenedPage:
    text = json_codec.restore_surrogates(result.text)
    is_missing = result.is_error or text.startswith('{"error"')
    return OpenedPage(number, url, "" if is_missing else text)
