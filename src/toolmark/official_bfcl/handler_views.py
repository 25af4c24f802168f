"""Episodes of an entry of the official list as its handler reads them.

What judges an episode decodes its replies as the default handlers do. A handler that reads a text
otherwise has a view of the episode here, in which the default decoders read what it reads. Other
episodes are judged as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.records import Step, Task, Trajectory
from toolmark.formats.native_format import NativeFormat
from toolmark.formats.prompt_format import DEFAULT_NAME
from toolmark.official_bfcl import agentic_scoring, handler_formats, handler_settings
from toolmark.official_bfcl.handler_replies import (
    MalformedResult,
    StoredReply,
    read_cleaned_text,
    remove_code_fences,
)
from toolmark.official_bfcl.reply_decoding import HANDLER_FAILS, HANDLER_READS_EMPTY

TrajectoryView: TypeAlias = Callable[[Task, Trajectory], Trajectory]


def view_of_entry(name: str) -> TrajectoryView | None:
    """Return the view of an entry's handler, None where it reads as the default handlers do.

    "" is no entry. Raises UsageError for an entry as which no model can be asked.
    """
    if not name:
        return None
    entry = handler_settings.find_entry(name)
    settings = handler_settings.settings_of_entry(entry)
    match settings.own_format:
        case "nemotron":
            return view_tagged_calls
        case "dm_cito":
            return view_listed_calls
    is_fenced = settings.removes_fences and not entry.is_native
    return view_without_fences if is_fenced else None


def view_without_fences(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode with its texts as Gemini's handler reads them."""

    def view(step: Step) -> Step:
        text = json_codec.restore_surrogates(step.reply.text)
        found = read_cleaned_text(remove_code_fences, text, not _is_single(task))
        return _with_reply(step, found, step.fault)

    return replace(trajectory, steps=tuple(map(view, trajectory.steps)))


def view_tagged_calls(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode with what stands between the tags of Nemotron as its texts.

    An answer is searched in all of a reply's text, so there the calls are those that were read.
    """
    if task.category in agentic_scoring.CATEGORIES:
        return replace(trajectory, tool_format=NativeFormat.name)

    def view(step: Step) -> Step:
        inner = handler_formats.tagged_text(json_codec.restore_surrogates(step.reply.text))
        if inner is not None:
            return _with_reply(step, StoredReply(inner), step.fault)
        if _is_single(task):
            return replace(step, fault=HANDLER_READS_EMPTY)
        return _with_reply(step, StoredReply(), step.fault)

    steps = tuple(map(view, trajectory.steps))
    return replace(trajectory, tool_format=DEFAULT_NAME, steps=steps)


def view_listed_calls(task: Task, trajectory: Trajectory) -> Trajectory:
    """Return the episode with the calls that DM-Cito's handler reads as structured calls."""

    def view(step: Step) -> Step:
        text = json_codec.restore_surrogates(step.reply.text)
        is_executed = not _is_single(task)
        try:
            found = handler_formats.read_listed_reply(text, is_executed)
        except MalformedResult:
            found = StoredReply(text, handler_fault=HANDLER_FAILS)
        return _with_reply(step, found, step.fault if is_executed else found.handler_fault)

    steps = tuple(map(view, trajectory.steps))
    return replace(trajectory, tool_format=NativeFormat.name, steps=steps)


def _is_single(task: Task) -> bool:
    """Return whether a task's one reply is judged, and nothing of it executed."""
    return not (
        task.category.startswith("multi_turn_") or task.category in agentic_scoring.CATEGORIES
    )


def _with_reply(step: Step, found: StoredReply, fault: str) -> Step:
    text = json_codec.escape_surrogates(found.text)
    reply = replace(step.reply, text=text, calls=found.calls)
    return replace(step, reply=reply, fault=fault)
