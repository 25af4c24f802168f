"""Failures whose reply has a call as text that nothing parsed: their cause is `format`.

The syntax is named in a label and in a part `foreign_call:SYNTAX`, which a run adds up.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.records import Cause, Label, Task, Trajectory, Verdict
from toolmark.formats.call_syntaxes import parser_step, syntax_by_name
from toolmark.formats.executor_json import ExecutorJsonFormat
from toolmark.formats.native_format import NativeFormat
from toolmark.formats.parse.foreign_calls import ForeignCall, find_foreign_call, may_have_call
from toolmark.formats.parse.reply_text import CALL_TAG

PART_PREFIX = "foreign_call:"

# what a prompt of toolmark or of BFCL may have asked for
_ASKED_MARKERS = ("", f"<{CALL_TAG}>")
_EXPLAINED_CAUSES: tuple[Cause, ...] = ("missing_call", "no_answer", "wrong_answer")


def label_foreign_calls(
    task: Task, trajectory: Trajectory, verdicts: Mapping[str, Verdict]
) -> dict[str, Verdict]:
    """Return the verdicts, with the syntax of a call that stands in a reply as text.

    An episode with native calls has the part in any verdict. With another tool format it has it
    only where a marked call explains a failure: there calls are text, and bare ones are asked for.
    """
    found = find_call_in_text(task, trajectory)
    is_native = trajectory.tool_format == NativeFormat.name
    if found is None or (not is_native and found.marker in _ASKED_MARKERS):
        return dict(verdicts)
    return {name: _add_syntax(verdict, found, is_native) for name, verdict in verdicts.items()}


def find_call_in_text(task: Task, trajectory: Trajectory) -> ForeignCall | None:
    """Return the first call of an offered tool in the text of a reply without calls."""
    if trajectory.tool_format == ExecutorJsonFormat.name:
        return None  # its replies are JSON, and name tools in plans as well
    steps = [
        step
        for step in trajectory.steps
        if not (step.calls or step.reply.calls)
        and (may_have_call(step.reply.text) or may_have_call(step.reply.reasoning))
    ]
    if not steps:
        return None
    tools = [
        *(trajectory.tools or task.tools),
        *(tool for turn in task.turns for tool in turn.tools),
    ]
    names = [tool.name for tool in tools]
    for step in steps:
        text = json_codec.restore_surrogates(step.reply.text)
        reasoning = json_codec.restore_surrogates(step.reply.reasoning)
        if found := find_foreign_call(text, names, reasoning):
            return found
    return None


def _add_syntax(verdict: Verdict, found: ForeignCall, is_native: bool) -> Verdict:
    name = f"{PART_PREFIX}{found.syntax.name}"
    is_explained = any(
        label.primary and label.cause in _EXPLAINED_CAUSES for label in verdict.labels
    )
    parts = verdict.parts | {name: 1.0} if is_native or is_explained else verdict.parts
    if not is_explained:
        return replace(verdict, parts=parts)
    place = "reasoning" if found.in_reasoning else "text"
    evidence = f"called {found.tool} in its {place}, as {found.syntax.name} writes it"
    note = Label(cause="format", suite_cause=name, evidence=evidence)
    labels = (
        replace(label, cause="format") if label.primary else label for label in verdict.labels
    )
    return replace(verdict, parts=parts, labels=(*labels, note))


def counted_syntax(verdict: Verdict) -> str:
    """Return the syntax of the call in an episode's text, "" without one."""
    return next(
        (name.removeprefix(PART_PREFIX) for name in verdict.parts if name.startswith(PART_PREFIX)),
        "",
    )


def describe_foreign_calls(counts: Mapping[str, int], n_run: int) -> str:
    """Say how many episodes have calls as text, and what to do; "" for none.

    `counts` are by syntax, `n_run` is the number of episodes that were run with native calls.
    """
    if not counts:
        return ""
    n = sum(counts.values())
    syntax = syntax_by_name()[max(counts, key=lambda each: counts[each])]
    shown = syntax.markers[0].strip() if syntax.markers else f"calls as {syntax.example}"
    found = f"{n} of {n_run} episodes have {shown} as text in a reply, which no parser read"
    return f"{found}: {parser_step(syntax)}"
