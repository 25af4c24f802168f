"""The log of an episode in the shape of the official result files, for human readers.

The official evaluator does not use it; it copies it into its score files with a failure. A
turn is a dict of its first messages and its steps; the simulators' states are between turns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from toolmark.core import json_codec
from toolmark.core.records import Step, Task, Trajectory
from toolmark.environments import object_environment
from toolmark.formats.parse import python_calls
from toolmark.official_bfcl import simulators, truth_replay

LogEntry: TypeAlias = dict[str, Any]
TurnResults: TypeAlias = Sequence[tuple[Step, Any]]  # a turn's steps, each with its row's result

_ENDING_NOTES = {
    "steps": "the limit of replies per turn was reached",
    "calls": "the limit of calls was reached",
    "length": "the reply was cut at the token limit",
    "refused": "the model refused",
    "malformed": "the reply was malformed",
}


def make_log(task: Task, trajectory: Trajectory, turns: Sequence[TurnResults]) -> list[Any] | None:
    """Return the log; None for an episode with only the replies recorded, such as an imported one.

    States come from a replay of the calls. From the first turn with a result that differs from the
    recorded one, states are omitted.
    """
    if not any(step.new_messages for step in trajectory.steps):
        return None
    states = _replay_states(task, turns) if task.category.startswith("multi_turn_") else iter(())
    found: list[Any] = [state] if (state := next(states, None)) else []
    for index, turn in enumerate(turns):
        entry = _turn_entry(turn)
        if index + 1 == len(turns) and trajectory.ending in _ENDING_NOTES:
            last = entry[f"step_{len(turn) - 1}"]
            last.append(_make_note(f"the episode was ended: {_ENDING_NOTES[trajectory.ending]}"))
        found.append(entry)
        if state := next(states, None):
            found.append(state)
    return found


def _turn_entry(turn: TurnResults) -> LogEntry:
    messages = [message for step, _ in turn for message in step.new_messages]
    query = [{"role": x.role, "content": json_codec.restore_surrogates(x.text)} for x in messages]
    steps = {f"step_{index}": _step_entries(*pair) for index, pair in enumerate(turn)}
    return {"begin_of_turn_query": query, **steps}


def _step_entries(step: Step, result: Any) -> list[LogEntry]:
    reply: LogEntry = {"role": "assistant", "content": result}
    if step.reply.reasoning:
        reply["reasoning_content"] = json_codec.restore_surrogates(step.reply.reasoning)
    tool_messages = [
        {"role": "tool", "content": json_codec.restore_surrogates(tool_result.text)}
        for tool_result in step.results
    ]
    return [reply, _decoding_note(step), *tool_messages]


def _decoding_note(step: Step) -> LogEntry:
    """Return the note on a reply: the calls as source, or why there are none."""
    if not step.calls:
        return _make_note("no call was read; the turn ends") | {
            "error": json_codec.restore_surrogates(step.fault)
        }
    calls = [
        _call_source(
            json_codec.restore_surrogates(x.name), json_codec.restore_surrogates(x.arguments)
        )
        for x in step.calls
    ]
    return _make_note("calls were read") | {"model_response_decoded": calls}


def _call_source(name: str, arguments: str) -> str:
    try:
        parsed = json_codec.parse_json(arguments)
        return (
            python_calls.executor_strings([(name, parsed)])[0]
            if isinstance(parsed, dict)
            else arguments
        )
    except (json_codec.InvalidJson, python_calls.UnreadableCalls):
        return f"{name}: {arguments}"


def _make_note(text: str) -> LogEntry:
    return {"role": "handler_log", "content": text}


# --- states -----------------------------------------------------------------------------


def _replay_states(task: Task, turns: Sequence[TurnResults]) -> Iterator[list[LogEntry]]:
    """Yield the state at the start and after each turn, while results equal the recorded ones."""
    check = truth_replay.find_check(task)
    instances = check.make_instances(check.copy_shared())
    yield _state_entries(instances)
    for turn in turns:
        for step, _ in turn:
            for call, result in zip(step.calls, step.results, strict=False):
                if object_environment.answer_call(instances, call) != result:
                    return
        yield _state_entries(instances)


def _state_entries(instances: object_environment.EpisodeObjects) -> list[LogEntry]:
    return [
        {"role": "state_info", "class_name": name, "content": fields}
        for name, fields in simulators.final_state(instances).items()
        if fields  # the calculator has none
    ]
