"""Runs as official files: results that the official evaluator accepts, scores, leaderboard."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.core.files import atomic_file
from toolmark.core.records import Call, Reply, Score, Step, Task, Trajectory
from toolmark.core.token_counts import sum_usage
from toolmark.official_bfcl import prompt_formats, reply_decoding
from toolmark.official_bfcl.handler_replies import ArgumentShape
from toolmark.official_bfcl.handler_views import TrajectoryView
from toolmark.statistics.score_columns import Columns
from toolmark.studio.bfcl_interchange import result_rows, score_rows
from toolmark.studio.bfcl_interchange.inference_log import TurnResults, make_log
from toolmark.studio.bfcl_interchange.leaderboard_files import format_sensitivity
from toolmark.studio.bfcl_interchange.result_files import result_categories
from toolmark.suites.bfcl import bfcl_scorer
from toolmark.suites.bfcl.leaderboard import UNSCORED

_ENTRY_NUMBER = re.compile(r".*_(\d{1,9})(?:-[^_]*)?", re.DOTALL)


def model_folder_name(model: str) -> str:
    """Return a model's folder name. Raises UsageError if the name cannot be a folder."""
    name = model.replace("/", "_")
    if name in ("", ".", "..") or "\\" in name or not name.isprintable():
        raise UsageError(f"a model named {model!r} has no folder; name another: --model NAME")
    return name


def category_folder(category: str) -> Path:
    """Return the folder of a category below the model's, as in the official layout.

    Raises DataError for a category that BFCL does not have: a run folder is untrusted, so its text
    is not used as a path.
    """
    if category.removesuffix("_prereq") not in result_categories():
        raise DataError(f"no category {category!r} in BFCL V4; nothing was written")
    if category == UNSCORED:
        return Path(UNSCORED)
    if category.startswith("memory_"):
        return Path("agentic/memory") / category.removeprefix("memory_").removesuffix("_prereq")
    if category.startswith("web_search_"):
        return Path("agentic")
    if category.startswith("multi_turn_"):
        return Path("multi_turn")
    return Path("live" if category.startswith("live_") else "non_live")


class EpisodeRows(NamedTuple):
    """The file content of an episode: the result row, and the score file's line on failure."""

    category: str
    number: int
    result: dict[str, Any]
    failure: dict[str, Any] | None


def make_episode_rows(
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    *,
    model: str,
    underscores_for_dots: bool,
    argument_shape: ArgumentShape = "text",
    view: TrajectoryView | None = None,
) -> EpisodeRows:
    """Return the file content of an episode of a model; set-up episodes have their own category.

    `underscores_for_dots` writes dots of tool names in structured calls as underscores, as
    endpoints that do not allow dots return them. `argument_shape` is the shape of the arguments.
    A result is the reply as it came, also where a handler's `view` of the episode was judged.
    """
    category = f"{task.category}_prereq" if task.kind == "setup" else task.category
    result = make_result_row(
        task, trajectory, underscores_for_dots=underscores_for_dots, argument_shape=argument_shape
    )
    verdict = score.verdicts.get("official") if score else None
    failed = verdict is not None and verdict.outcome == "incorrect"
    failure = (
        score_rows.failure_row(
            task, view(task, trajectory) if view else trajectory, verdict, result, model
        )
        if verdict and failed
        else None
    )
    return EpisodeRows(category, _entry_number(task.id), result, failure)


def _entry_number(id: str) -> int:
    """Return an entry's number in its category: the digits before any dash.

    Raises DataError for an id that is not one of BFCL.
    """
    found = _ENTRY_NUMBER.match(id.partition(":")[0])
    if found is None:
        raise DataError(f"{id!r} is not an id of a BFCL entry; nothing was written")
    return int(found[1])


def make_result_row(
    task: Task,
    trajectory: Trajectory,
    *,
    underscores_for_dots: bool,
    argument_shape: ArgumentShape = "text",
) -> dict[str, Any]:
    """Return one episode as a line of a result file.

    Turns are lists of steps. A conversation that exceeded the context length has an error as its
    result, as in the official files.
    """
    if bfcl_scorer.is_error_row(trajectory):
        return {
            "id": task.id,
            "result": json_codec.restore_surrogates(trajectory.answer),
            "traceback": "",
        }
    native = prompt_formats.variant_of_format(trajectory.tool_format) is None
    names = (
        {t.name: t.name.replace(".", "_") for t in task.tools}
        if native and underscores_for_dots
        else {}
    )
    names |= {underscored: name for name, underscored in names.items() if underscored not in names}
    steps = [
        (step, _stored_result(step, names, argument_shape if native else ""))
        for step in trajectory.steps
    ]
    if task.category.startswith(bfcl_scorer.NESTED_PREFIXES):
        return {"id": task.id} | _nested_fields(task, trajectory, steps)
    step, result = steps[0] if steps else (Step(reply=Reply()), "")
    reasoning = json_codec.restore_surrogates(step.reply.reasoning)
    return {"id": task.id, "result": result} | _usage_fields(step) | _reasoning_field(reasoning)


def _nested_fields(task: Task, trajectory: Trajectory, steps: TurnResults) -> dict[str, Any]:
    if trajectory.ending == "over_long":
        return {"result": f"{bfcl_scorer.INFERENCE_ERROR}: the context length is exceeded"}
    turns = [
        [(step, result) for step, result in steps if step.turn == turn]
        for turn in range(steps[-1][0].turn + 1 if steps else 0)
    ]
    found: dict[str, Any] = {"result": [[result for _, result in turn] for turn in turns]}
    log_entries = make_log(task, trajectory, turns)
    if log_entries is not None:
        found["inference_log"] = log_entries
    usage = [[_usage_fields(step) for step, _ in turn] for turn in turns]
    found |= {
        name: [[each[name] for each in turn] for turn in usage] for name in result_rows.USAGE_FIELDS
    }
    reasoning = [
        [json_codec.restore_surrogates(step.reply.reasoning) for step, _ in turn] for turn in turns
    ]
    return found | _reasoning_field(reasoning if any(map(any, reasoning)) else "")


def _reasoning_field(reasoning: Any) -> dict[str, Any]:
    return {"reasoning_content": reasoning} if reasoning else {}


def _usage_fields(step: Step) -> dict[str, float]:
    """Return tokens and seconds of a step; of an agent under test those of all that it asked."""
    replies = step.model_replies
    usage = sum_usage([reply.usage for reply in replies])
    seconds = sum(reply.latency_s for reply in replies)
    return dict(zip(result_rows.USAGE_FIELDS, (usage.input, usage.output, seconds), strict=True))


def _stored_result(step: Step, names: Mapping[str, str], argument_shape: ArgumentShape) -> Any:
    """Return the stored form of a reply; an imported reply without text keeps its old form."""
    reply = step.reply
    if argument_shape and (
        reply.calls or (step.fault == reply_decoding.HANDLER_READS_EMPTY and not reply.text)
    ):
        return [_stored_call(call, names, argument_shape) for call in reply.calls]
    if step.fault == reply_decoding.HANDLER_FAILS and not reply.text:
        return None
    return json_codec.restore_surrogates(reply.text)


def _stored_call(
    call: Call, names: Mapping[str, str], argument_shape: ArgumentShape
) -> dict[str, Any]:
    """Return a call; arguments that are not an object stay text, which no other shape reads."""
    name = json_codec.restore_surrogates(names.get(call.name, call.name))
    arguments: Any = json_codec.restore_surrogates(call.arguments)
    if argument_shape != "text":
        with suppress(json_codec.InvalidJson):
            found = json_codec.parse_json(arguments)
            arguments = found if isinstance(found, dict) else arguments
    return (
        {"tool_name": name, "parameters": arguments}
        if argument_shape == "parameters"
        else {name: arguments}
    )


def score_header(category: str, columns: Columns) -> dict[str, Any]:
    """Return a score file's first line, {} where no entry was judged."""
    judged = columns.where((columns.category == category) & columns.run)
    n, n_correct = len(judged), int(judged.correct.sum())
    if not n:
        return {}
    counts = {"accuracy": n_correct / n, "correct_count": n_correct, "total_count": n}
    return counts | (format_sensitivity(judged) if category == UNSCORED else {})


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines in ASCII: the official evaluator reads in the machine's default encoding."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as draft, draft.open("w", encoding="ascii") as file:
            file.writelines(json.dumps(line) + "\n" for line in rows)
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None
