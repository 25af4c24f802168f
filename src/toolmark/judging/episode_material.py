"""An episode as judges see it: question, executed calls, results; texts have a bounded size."""

from __future__ import annotations

import json
from typing import Any

from toolmark.core import json_codec
from toolmark.core.records import Image, Result, Task, Text, Trajectory

# Characters of one text: a very long result must not make an episode impossible to judge.
MAX_RESULT_CHARS = 20_000


def question_text(task: Task) -> str:
    """Return the user's messages of all turns as one text."""
    messages = (message for turn in task.turns for message in turn.messages)
    return json_codec.restore_surrogates(
        "\n\n".join(each.text for each in messages if each.role == "user")
    )


def task_pictures(task: Task) -> tuple[Image, ...]:
    """Return the pictures of a task."""
    messages = (message for turn in task.turns for message in turn.messages)
    return tuple(part for each in messages for part in each.parts if isinstance(part, Image))


def executed_steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Return the executed calls with their results, in the published layout."""
    found: list[dict[str, Any]] = []
    for step in trajectory.steps:
        calls = [
            {
                "name": json_codec.restore_surrogates(call.name),
                "arguments": parse_arguments(call.arguments),
                "result": result_text(call_result),
            }
            for call, call_result in zip(step.calls, step.results, strict=False)
        ]
        if calls:
            found.append({"step": len(found) + 1, "calls": calls})
    return found


def parse_arguments(text: str) -> Any:
    """Return the JSON value of a call's arguments; text that is not JSON is returned unchanged."""
    unescaped = json_codec.restore_surrogates(text)
    try:
        return json_codec.parse_json(unescaped)
    except json_codec.InvalidJson:
        return unescaped


def result_text(call_result: Result) -> str:
    """Return a result as text.

    Errors are marked as in the published files, pictures are replaced by their MIME type, and text
    over `MAX_RESULT_CHARS` is cut.
    """
    content = "\n".join(p.text if isinstance(p, Text) else f"[{p.mime}]" for p in call_result.parts)
    if not content and call_result.structured is not None:
        content = json.dumps(json_codec.to_plain_json(call_result.structured), ensure_ascii=False)
    full_text = ("[Tool error] " if call_result.is_error else "") + json_codec.restore_surrogates(
        content
    )
    return clip_text(full_text)


def clip_text(text: str) -> str:
    """Return a text, cut at `MAX_RESULT_CHARS` characters with their number."""
    n_hidden = len(text) - MAX_RESULT_CHARS
    return f"{text[:MAX_RESULT_CHARS]} [{n_hidden} more characters]" if n_hidden > 0 else text
