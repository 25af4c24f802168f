"""The lines of official score files: one for each entry that the official rule finds wrong.

A line has the keys that the official evaluator writes for such an entry. Its words on an error are
not repeated: `error` names the error type, and what toolmark found is under `toolmark`.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.records import Step, Task, Trajectory, Verdict
from toolmark.core.task_data import read_task_data
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import (
    agentic_scoring,
    multi_turn_scoring,
    multi_turn_tasks,
    official_data,
    prompt_formats,
    reply_decoding,
    tool_schemas,
)
from toolmark.official_bfcl.bfcl_task_data import BfclTaskData
from toolmark.official_bfcl.tool_schemas import PYTHON_HINT
from toolmark.suites.bfcl.bfcl_scorer import NESTED_PREFIXES

EVIDENCE_KEY = "toolmark"
_DATA_FOLDER = "bfcl_eval/data"


def failure_row(
    task: Task, trajectory: Trajectory, verdict: Verdict, row: dict[str, Any], model: str
) -> dict[str, Any]:
    """Return the line of a wrong entry; `row` is its line of the result file."""
    label = next(each for each in verdict.labels if each.primary)
    found = {"id": task.id, "model_name": model, "test_category": task.category, "valid": False}
    evidence = json_codec.restore_surrogates(label.evidence)
    own = {EVIDENCE_KEY: {"cause": label.cause, "evidence": evidence}}
    error_type = label.suite_cause
    if task.category.startswith(NESTED_PREFIXES):
        fields = _nested_fields(task, trajectory, error_type, row["result"])
        log = {"inference_log": row.get("inference_log", "")}
        return found | {"error": _nested_error(error_type)} | fields | log | own
    errors = {"error": [error_type], "error_type": error_type}
    if error_type.startswith(("irrelevance_error", "relevance_error")):
        return found | _relevance_fields(task, trajectory, row["result"]) | errors | own
    return found | errors | _ast_fields(task, trajectory, error_type, row["result"]) | own


# --- one turn ---------------------------------------------------------------------------


def _ast_fields(task: Task, trajectory: Trajectory, error_type: str, result: Any) -> dict[str, Any]:
    decoded: Any = [{name: arguments} for name, arguments in _decoded_calls(task, trajectory)]
    found = {"prompt": _single_prompt(task), "model_result_raw": result}
    if error_type == reply_decoding.WRONG_OUTPUT_FORMAT:
        found |= {"model_result_raw": str(result), "model_result_decoded": str(decoded)}
    elif error_type != reply_decoding.DECODER_FAILED:
        found["model_result_decoded"] = json_codec.to_plain_json(decoded)
    return found | {"possible_answer": _truth(task)}


def _relevance_fields(task: Task, trajectory: Trajectory, result: Any) -> dict[str, Any]:
    calls = _decoded_calls(task, trajectory)
    decoded = json_codec.to_plain_json([{name: arguments} for name, arguments in calls])
    return {
        "prompt": _single_prompt(task),
        "model_result": result,
        "decoded_result": decoded if calls else None,
    }


def _decoded_calls(task: Task, trajectory: Trajectory) -> list[tuple[str, dict[Any, Any]]]:
    found = reply_decoding.decode_reply(task, trajectory)
    if prompt_formats.variant_of_format(trajectory.tool_format) is not None:
        return found.calls
    return [(name.replace(".", "_"), arguments) for name, arguments in found.calls]


def _single_prompt(task: Task) -> dict[str, Any]:
    docs = tool_schemas.published_docs(task)
    if task.category == prompt_formats.CATEGORY:  # loaded with the hint, unlike all others
        docs = [{**doc, "description": doc["description"] + PYTHON_HINT} for doc in docs]
    return {"id": task.id, "question": _question(task), "function": docs}


def _question(task: Task) -> list[list[dict[str, str]]]:
    return [[{"role": x.role, "content": x.text} for x in turn.messages] for turn in task.turns]


def _truth(task: Task) -> Any:
    return None if task.data is None else read_task_data(task, BfclTaskData).truth


# --- several steps ----------------------------------------------------------------------


def _nested_error(error_type: str) -> dict[str, Any]:
    is_ended = error_type.endswith(("inference_error", "force_terminated", "no_last_message"))
    message: Any = [error_type] if is_ended else error_type
    return {"error_message": message, "error_type": error_type}


def _nested_fields(
    task: Task, trajectory: Trajectory, error_type: str, result: Any
) -> dict[str, Any]:
    answer = {"possible_answer": _truth(task)}
    if task.category in agentic_scoring.CATEGORIES:
        prompt = _agentic_prompt(task)
        match error_type:
            case agentic_scoring.INFERENCE_ERROR:
                return {"prompt": prompt, "model_result": result, **answer}
            case agentic_scoring.NO_LAST_MESSAGE:
                decoded = [x for turn in _decoded_turns(trajectory) for x in turn]
                found = {"model_result": result, "model_result_decoded": decoded}
                return {"prompt": prompt, **found, **answer}
        last = {"last_non_fc_message": agentic_scoring.last_message(trajectory)}
        return {"prompt": prompt["question"], "model_result_raw": result, **last, **answer}
    entry = {"prompt": _multi_turn_prompt(task)}
    if error_type in (multi_turn_scoring.INFERENCE_ERROR, multi_turn_scoring.FORCE_TERMINATED):
        return {**entry, "model_result": result, **answer}
    found = {"model_result_raw": result, "model_result_decoded": _decoded_turns(trajectory)}
    return {**entry, **found, **answer}


def _agentic_prompt(task: Task) -> dict[str, Any]:
    """Return the entry as it is loaded to be judged: before a memory is shown."""
    question = _question(task)
    for message in question[0] if question else ():
        if message["role"] == "system":
            message["content"] = message["content"].rpartition("\n\n")[2]
    if task.category in agentic_scoring.WEB_CATEGORIES:
        return {"id": task.id, "question": question, "involved_classes": ["WebSearchAPI"]}
    return {
        "id": task.id,
        "question": question,
        "involved_classes": [f"MemoryAPI_{task.category.removeprefix('memory_')}"],
        "scenario": task.id.partition("-")[2].partition("-")[0],
        "depends_on": list(task.needs),
    }


def _multi_turn_prompt(task: Task) -> dict[str, Any]:
    """Return the published entry, with the docs of the tools that appear later.

    A run folder is not trusted: a category that there is not is no name of a file.
    """
    if task.category not in multi_turn_tasks.CATEGORIES:
        return {"id": task.id}
    entry = _published_entries(task.category).get(task.id, {"id": task.id})
    later = {
        str(number): [tool.source for tool in turn.tools]
        for number, turn in enumerate(task.turns)
        if turn.tools
    }
    return {**entry, "missed_function": later} if later else entry


@lru_cache(maxsize=8)
def _published_entries(category: str) -> dict[str, dict[str, Any]]:
    path: Path = official_data.fetch_wheel() / _DATA_FOLDER / f"BFCL_v4_{category}.json"
    rows = map(msgspec.json.decode, official_data.read_lines(path, {}))
    return {row["id"]: row for row in rows}


def _decoded_turns(trajectory: Trajectory) -> list[list[list[str]]]:
    """Return the calls that the official decoder finds, as source, by turn and step."""
    n_turns = max((step.turn for step in trajectory.steps), default=-1) + 1
    turns: list[list[list[str]]] = [[] for _ in range(n_turns)]
    is_native = prompt_formats.variant_of_format(trajectory.tool_format) is None
    for step in trajectory.steps:
        if sources := _structured_sources(step) if is_native else _text_sources(step):
            turns[step.turn].append(sources)
    return turns


def _structured_sources(step: Step) -> list[str]:
    sources = []
    for call in step.reply.calls:
        try:
            arguments = json_codec.parse_json(json_codec.restore_surrogates(call.arguments))
            pairs = ",".join(f"{key}={value!r}" for key, value in arguments.items())
        except (json_codec.InvalidJson, AttributeError, ValueError):
            return []
        sources.append(f"{json_codec.restore_surrogates(call.name)}({pairs})")
    return sources


def _text_sources(step: Step) -> list[str]:
    text = json_codec.restore_surrogates(step.reply.text)
    try:
        return python_calls.executor_strings(python_calls.parse_reply(text))
    except python_calls.UnreadableCalls:
        return []
