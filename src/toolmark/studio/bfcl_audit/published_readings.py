"""How a model's published replies are read: the reading that the publication itself supports.

A score file says of each failure which calls the evaluator of that time read. The readings are
tried in order, and the one is chosen that finds these calls. A model of today's list in today's
layout is read as its official handler does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from toolmark.core import json_codec
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Task, ToolFormat, Trajectory
from toolmark.official_bfcl import (
    handler_structured_calls,
    handler_text_calls,
    official_data,
    official_models,
    reply_decoding,
)
from toolmark.official_bfcl.handler_replies import (
    MalformedResult,
    ReplyReader,
    StoredReply,
    format_json,
)
from toolmark.studio.bfcl_audit import reply_cleaning as cleaning
from toolmark.studio.bfcl_audit.published_rows import PublishedFailure
from toolmark.studio.bfcl_interchange import official_handlers
from toolmark.studio.bfcl_interchange.official_handlers import HandlerFormat
from toolmark.studio.bfcl_interchange.result_rows import ResultRow, RowReader

MAX_SAMPLE = 150  # failures, and successes, by which a reading is chosen
_DECODER_ERRORS = ("ast_decoder", "relevance_error:decoder_failed")


class Reading(NamedTuple):
    """One way to read replies; `values_are_text`: values in Java and JavaScript become text."""

    name: str
    handler: HandlerFormat
    values_are_text: bool = False


class ChosenReading(NamedTuple):
    """The reading of a model, and how many of the published readings it finds."""

    reading: Reading
    n_agreeing: int
    n_compared: int
    from_handler: bool = False


class EntryEvidence(NamedTuple):
    """A row with its task, and what was published about how it was read: None for a success."""

    task: Task
    row: ResultRow
    failure: PublishedFailure | None


# --- readings ---------------------------------------------------------------------------


def _forgive_malformed(read_reply: ReplyReader) -> ReplyReader:
    """Return a reader that fails as a handler where it would refuse the row."""

    def read(stored: Any, is_executed: bool) -> StoredReply:
        try:
            return read_reply(stored, is_executed)
        except MalformedResult:
            text = stored if isinstance(stored, str) else format_json(stored)
            return StoredReply(text, handler_fault=reply_decoding.HANDLER_FAILS)

    return read


def _handler_reading(name: str, handler: HandlerFormat) -> Reading:
    return Reading(name, handler._replace(read_reply=_forgive_malformed(handler.read_reply)))


def _text_reading(name: str, *cleaners: cleaning.TextCleaner) -> Reading:
    reader = _forgive_malformed(cleaning.make_text_reader(*cleaners))
    return Reading(name, HandlerFormat("prompt", reader, reads_formats=True))


def _named_reading(name: str, find_items: Callable[[str, bool], Iterable[Any]]) -> Reading:
    read_call = partial(handler_text_calls.read_named_call, "arguments")
    reader = partial(handler_text_calls.read_calls_in_text, find_items, read_call)
    return Reading(name, HandlerFormat("native", _forgive_malformed(reader)))


def _find_quoted_tag_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls on lines between tags, after single quotes became double ones."""
    is_inside = False
    found = []
    for line in text.split("\n"):
        if line in ("<tool_call>", "</tool_call>"):
            is_inside = line == "<tool_call>"
        elif is_inside:
            found.append(_parse_call(line.replace("'", '"')))
    return found


def _find_listed_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the calls of a JSON list, or of the list `tool_calls` of an object."""
    found = _parse_call(text)
    if isinstance(found, dict):
        found = found.get("tool_calls", [])
    return found if isinstance(found, list) else []


def _find_marked_calls(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the JSON behind each `<function_call>`; one without a tool is left out."""
    parts = text.split("<function_call>")[1:]
    found = [_parse_call(part.strip()) for part in parts]
    return [
        each for each in found if not (isinstance(each, dict) and each.get("name") == "no_function")
    ]


def _find_named_line_call(text: str, is_executed: bool) -> Iterable[Any]:
    """Return the call whose name is on the first line and whose arguments follow as JSON."""
    name, _, arguments = text.partition("\n")
    return [{"name": name, "arguments": _parse_call(arguments)}]


def _parse_call(text: str) -> Any:
    try:
        return json_codec.parse_json(text)
    except json_codec.InvalidJson:
        raise handler_text_calls.DecodeFailure from None


def _native_reading(name: str, *, values_are_text: bool) -> Reading:
    reader = _forgive_malformed(handler_structured_calls.read_any_reply)
    return Reading(name, HandlerFormat("native", reader), values_are_text)


def all_readings() -> tuple[Reading, ...]:
    """Return the readings of models that are not listed, in the order in which they are tried."""
    return (
        _text_reading("text"),
        _native_reading("structured calls", values_are_text=False),
        _native_reading("structured calls, values as text", values_are_text=True),
        _text_reading("text without fences", cleaning.refuse_fences),
        _text_reading("text in brackets", cleaning.refuse_fences, cleaning.refuse_missing_brackets),
        _text_reading("bracketed text", cleaning.refuse_missing_brackets),
        _text_reading("quoted calls", cleaning.remove_list_quotes),
        _text_reading("single-quoted calls", cleaning.remove_single_quotes),
        _text_reading(
            "single-quoted calls in brackets",
            cleaning.remove_single_quotes,
            cleaning.refuse_missing_brackets,
        ),
        _text_reading(
            "quoted calls in brackets",
            cleaning.refuse_missing_brackets,
            cleaning.remove_list_quotes,
        ),
        _text_reading("escaped text", cleaning.unescape_underscores),
        _text_reading(
            "escaped text in brackets",
            cleaning.unescape_underscores,
            cleaning.refuse_missing_brackets,
        ),
        _text_reading(
            "escaped quoted calls", cleaning.unescape_underscores, cleaning.remove_list_quotes
        ),
        _text_reading("fenced text", cleaning.keep_first_fence),
        _text_reading(
            "fenced quoted calls", cleaning.keep_first_fence, cleaning.remove_list_quotes
        ),
        _text_reading("first brackets", cleaning.keep_first_brackets),
        _text_reading("statements", cleaning.join_statements),
        _handler_reading("tagged JSON", official_handlers.TAGGED_CALLS),
        _named_reading("tagged JSON, quotes doubled", _find_quoted_tag_calls),
        _named_reading("JSON list", _find_listed_calls),
        _named_reading("marked JSON", _find_marked_calls),
        _named_reading("name, then JSON", _find_named_line_call),
    )


# --- the choice -------------------------------------------------------------------------


def choose_reading(
    model: str,
    *,
    is_current: bool,
    evidence: Sequence[EntryEvidence],
    tool_formats: Mapping[str, ToolFormat],
) -> ChosenReading:
    """Return how a model's replies are read.

    `is_current`: the files are of today's layout, so that the official list names the handler.
    Without evidence, the shape of the replies decides.
    """
    sample = _choose_sample(evidence)
    if is_current and (listed := _listed_reading(model)) is not None:
        n = sum(_reads_as_published(listed, each, tool_formats) for each in sample)
        return ChosenReading(listed, n, len(sample), from_handler=True)
    readings = all_readings()
    if not sample:
        is_native = any(_has_structured_call(each.row.result) for each in evidence)
        return ChosenReading(readings[1] if is_native else readings[0], 0, 0)
    best: ChosenReading | None = None
    for reading in readings:
        n = sum(_reads_as_published(reading, each, tool_formats) for each in sample)
        if best is None or n > best.n_agreeing:
            best = ChosenReading(reading, n, len(sample))
        if n == len(sample):
            break
    assert best is not None
    return best


def _listed_reading(model: str) -> Reading | None:
    name, listed = official_models.find_model(official_data.fetch_wheel(), model)
    if listed is None:
        return None
    try:
        handler = official_handlers.handler_format(name, listed)
    except UsageError:
        return None
    return _handler_reading(f"{listed.handler}Handler", handler)


def _choose_sample(evidence: Sequence[EntryEvidence]) -> list[EntryEvidence]:
    """Return failures and successes of single turns whose reading is known, spread evenly."""
    single = [each for each in evidence if len(each.task.turns) == 1 and not each.task.needs]
    failures = [
        each
        for each in single
        if each.failure is not None
        and (
            each.failure.decoded is not None or each.failure.error_type.startswith(_DECODER_ERRORS)
        )
    ]
    successes = [each for each in single if each.failure is None]
    return _spread_evenly(failures) + _spread_evenly(successes)


def _spread_evenly(evidence: list[EntryEvidence]) -> list[EntryEvidence]:
    stride = max(1, len(evidence) // MAX_SAMPLE)
    return list(islice(evidence[::stride], MAX_SAMPLE))


def _has_structured_call(result: Any) -> bool:
    return isinstance(result, list) and any(isinstance(each, dict) for each in result)


def _reads_as_published(
    reading: Reading, evidence: EntryEvidence, tool_formats: Mapping[str, ToolFormat]
) -> bool:
    """Tell whether a reading finds the calls that were published, or their absence."""
    trajectory = read_trajectory(reading, evidence.task, evidence.row, tool_formats)
    decoded = reply_decoding.decode_reply(evidence.task, trajectory)
    failure = evidence.failure
    if failure is None:
        return bool(decoded.calls) != ("irrelevance" in evidence.task.category)
    if failure.decoded is None:
        return bool(decoded.error_type) or not decoded.calls
    return not decoded.error_type and same_calls(decoded.calls, failure.decoded)


def same_calls(calls: Sequence[tuple[str, Any]], published: Sequence[Any]) -> bool:
    """Tell whether calls are those that were published; dots and underscores are the same."""
    return _plain_calls([{name: arguments} for name, arguments in calls]) == _plain_calls(published)


def _plain_calls(calls: Sequence[Any]) -> str:
    renamed = [
        {str(name).replace(".", "_"): arguments for name, arguments in each.items()}
        if isinstance(each, dict)
        else each
        for each in calls
    ]
    try:
        return json.dumps(renamed, sort_keys=True, default=str)
    except (ValueError, TypeError, RecursionError):
        return str(renamed)[:10_000]


def read_trajectory(
    reading: Reading,
    task: Task,
    row: ResultRow,
    tool_formats: Mapping[str, ToolFormat],
    *,
    underscores_for_dots: bool | None = None,
) -> Trajectory:
    """Return the episode of a row; counts and times are not read. Raises MalformedResult."""
    reader = RowReader(tool_formats, reading.handler, underscores_for_dots=underscores_for_dots)
    plain = ResultRow(
        id=row.id,
        result=row.result,
        traceback=row.traceback,
        reasoning_content=row.reasoning_content,
    )
    trajectory = reader.read_trajectory(task, plain)
    if reading.values_are_text and task.category in official_data.NON_PYTHON:
        return _values_as_text(trajectory)
    return trajectory


def _values_as_text(trajectory: Trajectory) -> Trajectory:
    steps = tuple(
        msgspec.structs.replace(
            step,
            reply=msgspec.structs.replace(
                step.reply, calls=tuple(map(_call_as_text, step.reply.calls))
            ),
            calls=tuple(map(_call_as_text, step.calls)),
        )
        for step in trajectory.steps
    )
    return msgspec.structs.replace(trajectory, steps=steps)


def _call_as_text(call: Call) -> Call:
    try:
        arguments = json_codec.parse_json(call.arguments)
        as_text = {name: str(value) for name, value in arguments.items()}
        return msgspec.structs.replace(call, arguments=json.dumps(as_text))
    except (json_codec.InvalidJson, AttributeError, ValueError, RecursionError):
        return call
