"""The multi-turn categories: their tasks, their environment and their controls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from toolmark.core import seeds
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import DataError
from toolmark.core.files import file_sha256
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import (
    Call,
    Limits,
    Message,
    Reply,
    Request,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
)
from toolmark.environments import object_environment
from toolmark.official_bfcl import (
    multi_turn_scoring,
    official_data,
    simulators,
    tool_schemas,
    truth_replay,
)
from toolmark.official_bfcl.bfcl_task_data import MultiTurnTaskData
from toolmark.official_bfcl.executable_calls import ExecutableCall

CATEGORIES = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)

DONE_REPLY = "Done."

_PROMPTS_FILE = "bfcl_eval/constants/default_prompts.py"
_CONFIG_FILE = "bfcl_eval/constants/executable_backend_config.py"
_TYPES_FILE = "bfcl_eval/constants/type_mappings.py"
_DOCS_FOLDER = "bfcl_eval/data/multi_turn_func_doc"


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    initial_config: dict[str, Any]
    involved_classes: list[str]
    missed_function: dict[str, list[str]] = {}


class _GroundTruth(msgspec.Struct):
    id: str
    ground_truth: list[list[str]]


_entry_decoder = msgspec.json.Decoder(_Entry)
_truth_decoder = msgspec.json.Decoder(_GroundTruth)


# --- the tasks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MultiTurnTasks:
    """The tasks of some multi-turn categories: counted at once, made during iteration."""

    files: tuple[tuple[str, Sequence[bytes], Sequence[bytes]], ...]
    root: Path

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(len(lines) for _, lines, _ in self.files)

    def __iter__(self) -> Iterator[Task]:
        """Yield the tasks, in the order of the files."""
        for category, lines, truths in self.files:
            for line, truth in zip(lines, truths, strict=True):
                yield _make_task(category, line, truth, self.root)


def read_tasks(root: Path, categories: Sequence[str]) -> tuple[MultiTurnTasks, dict[str, str]]:
    """Return the tasks of the categories, and the SHA-256 of every file they come from."""
    files = []
    hashes: dict[str, str] = {}
    for category in categories:
        name = f"BFCL_v4_{category}.json"
        lines = official_data.read_lines(root / "bfcl_eval/data" / name, hashes)
        truths = official_data.read_lines(root / "bfcl_eval/data/possible_answer" / name, hashes)
        if len(truths) != len(lines):
            raise DataError(f"{name}: {len(lines)} entries but {len(truths)} answers")
        files.append((category, lines, truths))
    for path in sorted((root / _DOCS_FOLDER).glob("*.json")) if files else ():
        hashes[f"{path.parent.name}/{path.name}"] = file_sha256(path)
    return MultiTurnTasks(tuple(files), root), hashes


def _make_task(category: str, line: bytes, truth: bytes, root: Path) -> Task:
    try:
        entry, answer = _entry_decoder.decode(line), _truth_decoder.decode(truth)
    except msgspec.DecodeError as error:
        raise DataError(
            f"BFCL_v4_{category}.json: {line[:60]!r}...: {describe_decode_error(error)}"
        ) from None
    if answer.id != entry.id:
        raise DataError(f"BFCL_v4_{category}.json: {entry.id} is paired with answer {answer.id}")
    offered, withheld_tools = _split_tools(root, entry)
    limit: int = official_data.read_constants(root / _PROMPTS_FILE)["MAXIMUM_STEP_LIMIT"]
    involved = entry.involved_classes
    return Task(
        id=entry.id,
        item=entry.id,
        suite="bfcl",
        category=category,
        turns=tuple(
            _make_turn(root, messages, withheld_tools.get(index, ()))
            for index, messages in enumerate(entry.question)
        ),
        tools=offered,
        data=msgspec.to_builtins(
            MultiTurnTaskData(
                truth=answer.ground_truth,
                classes=involved,
                config={k: v for k, v in entry.initial_config.items() if k in involved},
            )
        ),
        # the official loop stops when its count exceeds the limit, after that step was executed
        limits=Limits(steps=limit + 1),
    )


def _make_turn(
    root: Path, spoken_messages: Sequence[Mapping[str, str]], tools: tuple[Tool, ...]
) -> Turn:
    """Return a turn; the one in which tools appear has only the official sentence."""
    if tools:
        sentence = official_data.read_constants(root / _PROMPTS_FILE)[
            "DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"
        ]
        spoken_messages = [{"role": "user", "content": sentence}]
    messages = tuple(
        Message(role=x["role"], parts=(Text(x["content"]),))  # type: ignore[arg-type]
        for x in spoken_messages
    )
    return Turn(messages=messages, tools=tools)


def _split_tools(root: Path, entry: _Entry) -> tuple[tuple[Tool, ...], dict[int, tuple[Tool, ...]]]:
    """Return the tools offered from the start, and those withheld until a later turn."""
    offered = [tool for name in entry.involved_classes for tool in read_class_tools(root, name)]
    withheld_tools: dict[int, tuple[Tool, ...]] = {}
    for turn, names in entry.missed_function.items():
        withheld = []
        for name in names:
            tool = next((tool for tool in offered if tool.name == name), None)
            if tool is None:
                raise DataError(f"{entry.id}: holds back {name!r}, which no class offers")
            offered.remove(tool)
            withheld.append(_remove_language_hint(tool))
        withheld_tools[int(turn)] = tuple(withheld)
    return tuple(offered), withheld_tools


def _remove_language_hint(tool: Tool) -> Tool:
    """Return the tool without the hint: the official loader adds hints before such tools appear."""
    return msgspec.structs.replace(tool, description=tool.source["description"])


@lru_cache(maxsize=64)
def read_class_tools(root: Path, name: str) -> tuple[Tool, ...]:
    """Return the tools of a simulator class, as its published docs describe them."""
    files = official_data.read_constants(root / _CONFIG_FILE)["MULTI_TURN_FUNC_DOC_FILE_MAPPING"]
    types = official_data.read_constants(root / _TYPES_FILE)["GORILLA_TO_OPENAPI"]
    if name not in files:
        raise DataError(f"no docs for class {name!r}; known: {', '.join(files)}")
    lines = official_data.read_lines(root / _DOCS_FOLDER / files[name], {})
    return tuple(tool_schemas.make_tool(msgspec.json.decode(line), types) for line in lines)


# --- the environment --------------------------------------------------------------------


class MultiTurnEnvironments(EnvironmentFactory):
    """Gives each episode its own instances of the simulators; nothing is shared."""

    @asynccontextmanager
    async def open_environment(
        self, task: Task, states: Mapping[str, Any], /
    ) -> AsyncIterator[object_environment.ObjectEnvironment]:
        """Return a fresh environment."""
        check = truth_replay.TruthCheck(task)
        yield object_environment.ObjectEnvironment(
            task, check.make_instances(check.copy_shared()), simulators.final_state
        )


@asynccontextmanager
async def open_environments(media: MediaStore) -> AsyncIterator[MultiTurnEnvironments]:
    """Open the environment factory; the simulators are read here, once."""
    truth_replay.load_simulators()
    yield MultiTurnEnvironments()


# --- controls ---------------------------------------------------------------------------


class ScriptedModel(Model):
    """A model that returns the replies of a list in order, whatever it is asked."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = iter(replies)

    async def __call__(self, request: Request, /) -> Reply:
        """Return the next reply; after the last, plain text."""
        return next(self._replies, Reply(text=DONE_REPLY))


CallsPerTurn = list[list[Call]]


def expected_calls(task: Task) -> CallsPerTurn:
    """Return the truth's calls, turn by turn, with positional arguments bound to names."""
    return [
        [_make_call(call) for call in turn_calls]
        for turn_calls in truth_replay.TruthCheck(task).plain_truth
    ]


def make_replies(calls_per_turn: CallsPerTurn) -> list[Reply]:
    """Return the replies of a model that makes a turn's calls at once, then says it is done."""
    replies: list[Reply] = []
    for calls in calls_per_turn:
        if calls:
            replies.append(Reply(calls=tuple(calls)))
        replies.append(Reply(text=DONE_REPLY))
    return replies


def make_trajectory(task: Task, calls_per_turn: CallsPerTurn) -> Trajectory:
    """Return a trajectory with these calls, as scoring sees it for a native model."""
    steps = []
    for turn, calls in enumerate(calls_per_turn):
        replies = [Reply(calls=tuple(calls))] if calls else []
        for reply in (*replies, Reply(text=DONE_REPLY)):
            steps.append(Step(reply=reply, turn=turn, calls=reply.calls))
    return Trajectory(task=task.id, steps=tuple(steps))


def _make_call(call: ExecutableCall) -> Call:
    return Call(name=call.name, arguments=json.dumps(call.arguments, ensure_ascii=False))


def make_faulty(task: Task, repeat: int, kind: str, rate: float) -> ScriptedModel:
    """Return the model that is right except for one fault of a kind, in a share of the tasks."""
    draw = seeds.make_rng(task.seed, task.item, repeat, f"faulty {kind}").random()
    faulty_calls = find_failing_calls(task, kind) if draw < rate else None
    return ScriptedModel(make_replies(faulty_calls or expected_calls(task)))


def find_failing_calls(task: Task, kind: str) -> CallsPerTurn | None:
    """Return the right calls except for one fault that fails the entry; None if there is none.

    A wrong type is none of the faults: the simulators do not check types.
    """
    if kind not in FAULT_MAKERS:
        return None
    calls_per_turn = expected_calls(task)
    for turn in reversed(range(len(calls_per_turn))):
        for index in reversed(range(len(calls_per_turn[turn]))):
            for calls in FAULT_MAKERS[kind](calls_per_turn[turn], index):
                faulty_calls = [*calls_per_turn[:turn], calls, *calls_per_turn[turn + 1 :]]
                verdict = multi_turn_scoring.score_episode(
                    task, make_trajectory(task, faulty_calls)
                )["official"]
                if verdict.outcome == "incorrect":
                    return faulty_calls
    return None


def _make_unknown_tool(calls: list[Call], index: int) -> Iterator[list[Call]]:
    yield _replace_call(calls, index, name=f"{calls[index].name}_v2")


def _make_missing_call(calls: list[Call], index: int) -> Iterator[list[Call]]:
    yield calls[:index] + calls[index + 1 :]


def _make_extra_call(calls: list[Call], index: int) -> Iterator[list[Call]]:
    yield [*calls[: index + 1], calls[index], *calls[index + 1 :]]


def _replace_call(calls: list[Call], index: int, **changes: str) -> list[Call]:
    return [*calls[:index], msgspec.structs.replace(calls[index], **changes), *calls[index + 1 :]]


def _make_wrong_value(calls: list[Call], index: int) -> Iterator[list[Call]]:
    arguments = json.loads(calls[index].arguments)
    for name, value in arguments.items():
        other = f"not {value}" if isinstance(value, str) else 7919
        yield _replace_call(
            calls, index, arguments=json.dumps({**arguments, name: other}, ensure_ascii=False)
        )


def _make_missing_argument(calls: list[Call], index: int) -> Iterator[list[Call]]:
    arguments = json.loads(calls[index].arguments)
    for name in arguments:
        remaining = {key: value for key, value in arguments.items() if key != name}
        yield _replace_call(calls, index, arguments=json.dumps(remaining, ensure_ascii=False))


def _make_unexpected_argument(calls: list[Call], index: int) -> Iterator[list[Call]]:
    arguments = json.loads(calls[index].arguments)
    yield _replace_call(
        calls, index, arguments=json.dumps({**arguments, "unasked": 1}, ensure_ascii=False)
    )


def _make_format_fault(calls: list[Call], index: int) -> Iterator[list[Call]]:
    yield _replace_call(calls, index, arguments=calls[index].arguments[:-1])


FAULT_MAKERS: dict[str, Callable[[list[Call], int], Iterator[list[Call]]]] = {
    "unknown_tool": _make_unknown_tool,
    "missing_argument": _make_missing_argument,
    "unexpected_argument": _make_unexpected_argument,
    "wrong_value": _make_wrong_value,
    "missing_call": _make_missing_call,
    "extra_call": _make_extra_call,
    "format": _make_format_fault,
}
