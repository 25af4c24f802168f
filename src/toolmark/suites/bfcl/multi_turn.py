"""The multi-turn categories: their tasks, the world they are played in, their test models."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from toolmark import fetch as packages
from toolmark import seeds
from toolmark.errors import DataError
from toolmark.media import Media
from toolmark.suites.bfcl import data, replay, schema, simulators, turns
from toolmark.suites.bfcl.execution import Act
from toolmark.types import (
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
from toolmark.worlds import objects

CATEGORIES = (
    "multi_turn_base",
    "multi_turn_miss_func",
    "multi_turn_miss_param",
    "multi_turn_long_context",
)

DONE = "Done."

_PROMPTS = "bfcl_eval/constants/default_prompts.py"
_FILES = "bfcl_eval/constants/executable_backend_config.py"
_TYPES = "bfcl_eval/constants/type_mappings.py"
_DOCS = "bfcl_eval/data/multi_turn_func_doc"


class _Entry(msgspec.Struct):
    id: str
    question: list[list[dict[str, str]]]
    initial_config: dict[str, Any]
    involved_classes: list[str]
    missed_function: dict[str, list[str]] = {}


class _Truth(msgspec.Struct):
    id: str
    ground_truth: list[list[str]]


_entry = msgspec.json.Decoder(_Entry)
_truth = msgspec.json.Decoder(_Truth)


# --- the tasks --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entries:
    """The tasks of some multi-turn categories: counted at once, made when gone through."""

    files: tuple[tuple[str, Sequence[bytes], Sequence[bytes]], ...]
    root: Path

    def __len__(self) -> int:
        """Return the number of entries."""
        return sum(len(lines) for _, lines, _ in self.files)

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks, in the order of the files."""
        for category, lines, truths in self.files:
            for line, truth in zip(lines, truths, strict=True):
                yield _task(category, line, truth, self.root)


def read(root: Path, categories: Sequence[str]) -> tuple[Entries, dict[str, str]]:
    """Return the tasks of the categories, and the SHA-256 of every file they come from."""
    files = []
    hashes: dict[str, str] = {}
    for category in categories:
        name = f"BFCL_v4_{category}.json"
        lines = data.lines(root / "bfcl_eval/data" / name, hashes)
        truths = data.lines(root / "bfcl_eval/data/possible_answer" / name, hashes)
        if len(truths) != len(lines):
            raise DataError(f"{name}: {len(lines)} entries but {len(truths)} answers")
        files.append((category, lines, truths))
    for path in sorted((root / _DOCS).glob("*.json")) if files else ():
        hashes[f"{path.parent.name}/{path.name}"] = packages.digest(path)
    return Entries(tuple(files), root), hashes


def _task(category: str, line: bytes, truth: bytes, root: Path) -> Task:
    try:
        entry, answer = _entry.decode(line), _truth.decode(truth)
    except msgspec.DecodeError as error:
        raise DataError(f"BFCL_v4_{category}.json: {line[:60]!r}...: {error}") from None
    if answer.id != entry.id:
        raise DataError(f"BFCL_v4_{category}.json: {entry.id} is paired with answer {answer.id}")
    offered, held = _offer(root, entry)
    limit: int = data.constants(root / _PROMPTS)["MAXIMUM_STEP_LIMIT"]
    involved = entry.involved_classes
    return Task(
        id=entry.id,
        item=entry.id,
        suite="bfcl",
        category=category,
        turns=tuple(_turn(root, said, held.get(at, ())) for at, said in enumerate(entry.question)),
        tools=offered,
        reference={
            "truth": answer.ground_truth,
            "classes": involved,
            "config": {k: v for k, v in entry.initial_config.items() if k in involved},
        },
        # the official loop stops when its count exceeds the limit, after that step was executed
        limits=Limits(steps=limit + 1),
    )


def _turn(root: Path, said: Sequence[Mapping[str, str]], tools: tuple[Tool, ...]) -> Turn:
    """Return a turn; the one in which tools appear says the official sentence and no other."""
    if tools:
        sentence = data.constants(root / _PROMPTS)["DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"]
        said = [{"role": "user", "content": sentence}]
    messages = tuple(
        Message(role=x["role"], parts=(Text(x["content"]),))  # type: ignore[arg-type]
        for x in said
    )
    return Turn(messages=messages, tools=tools)


def _offer(root: Path, entry: _Entry) -> tuple[tuple[Tool, ...], dict[int, tuple[Tool, ...]]]:
    """Return the tools on offer from the start, and those held back until a turn."""
    offered = [tool for name in entry.involved_classes for tool in tools(root, name)]
    held: dict[int, tuple[Tool, ...]] = {}
    for turn, names in entry.missed_function.items():
        late = []
        for name in names:
            tool = next((tool for tool in offered if tool.name == name), None)
            if tool is None:
                raise DataError(f"{entry.id}: holds back {name!r}, which no class offers")
            offered.remove(tool)
            late.append(_bare(tool))
        held[int(turn)] = tuple(late)
    return tuple(offered), held


def _bare(tool: Tool) -> Tool:
    """Return the tool without the language hint: the official loader hints before they appear."""
    return msgspec.structs.replace(tool, description=tool.source["description"])


@lru_cache(maxsize=64)
def tools(root: Path, name: str) -> tuple[Tool, ...]:
    """Return the tools of a simulator class, as its published docs describe them."""
    files = data.constants(root / _FILES)["MULTI_TURN_FUNC_DOC_FILE_MAPPING"]
    types = data.constants(root / _TYPES)["GORILLA_TO_OPENAPI"]
    if name not in files:
        raise DataError(f"no docs for class {name!r}; known: {', '.join(files)}")
    lines = data.lines(root / _DOCS / files[name], {})
    return tuple(schema.tool(msgspec.json.decode(line), types) for line in lines)


# --- the world --------------------------------------------------------------------------


class Site:
    """Gives each episode its own instances of the simulators; nothing is shared."""

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[objects.World]:
        """Return a fresh world."""
        check = replay.Check(task)
        yield objects.World(task, check.open(check.pool()), simulators.state)


@asynccontextmanager
async def site(media: Media) -> AsyncIterator[Site]:
    """Open the site; the simulators are read here, once."""
    replay.kit()
    yield Site()


# --- test models ------------------------------------------------------------------------


class Script:
    """A model that gives the replies of a list in turn, whatever it is asked."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = iter(replies)

    async def __call__(self, request: Request, /) -> Reply:
        """Give the next reply; after the last, words."""
        return next(self._replies, Reply(text=DONE))


Plays = list[list[Call]]


def right(task: Task) -> Plays:
    """Return the truth's calls, turn by turn, with positional arguments bound to names."""
    return [[_call(act) for act in acts] for acts in replay.Check(task).plain]


def script(plays: Plays) -> list[Reply]:
    """Return the replies of a model that makes a turn's calls at once, then says it is done."""
    replies: list[Reply] = []
    for calls in plays:
        if calls:
            replies.append(Reply(calls=tuple(calls)))
        replies.append(Reply(text=DONE))
    return replies


def trajectory(task: Task, plays: Plays) -> Trajectory:
    """Return what a native model's episode with these calls would be scored by."""
    made = []
    for turn, calls in enumerate(plays):
        replies = [Reply(calls=tuple(calls))] if calls else []
        for reply in (*replies, Reply(text=DONE)):
            made.append(Step(reply=reply, turn=turn, calls=reply.calls))
    return Trajectory(task=task.id, steps=tuple(made))


def _call(act: Act) -> Call:
    return Call(name=act.name, arguments=json.dumps(act.arguments, ensure_ascii=False))


def faulty(task: Task, repeat: int, kind: str, rate: float) -> Script:
    """Return the model that is right but for one fault of a kind, in a share of the tasks."""
    drawn = seeds.of(task.seed, task.item, repeat, f"faulty {kind}").random()
    spoilt = broken(task, kind) if drawn < rate else None
    return Script(script(spoilt or right(task)))


def broken(task: Task, kind: str) -> Plays | None:
    """Return the right calls but for one fault that fails the entry; None if there is no such.

    A wrong type is none of the faults: the simulators do not check types.
    """
    if kind not in FAULTS:
        return None
    plays = right(task)
    for turn in reversed(range(len(plays))):
        for at in reversed(range(len(plays[turn]))):
            for calls in FAULTS[kind](plays[turn], at):
                spoilt = [*plays[:turn], calls, *plays[turn + 1 :]]
                verdict = turns.score(task, trajectory(task, spoilt))["official"]
                if verdict.outcome == "incorrect":
                    return spoilt
    return None


def _unknown_tool(calls: list[Call], at: int) -> Iterator[list[Call]]:
    yield _swap(calls, at, name=f"{calls[at].name}_v2")


def _missing_call(calls: list[Call], at: int) -> Iterator[list[Call]]:
    yield calls[:at] + calls[at + 1 :]


def _extra_call(calls: list[Call], at: int) -> Iterator[list[Call]]:
    yield [*calls[: at + 1], calls[at], *calls[at + 1 :]]


def _swap(calls: list[Call], at: int, **changes: str) -> list[Call]:
    return [*calls[:at], msgspec.structs.replace(calls[at], **changes), *calls[at + 1 :]]


def _wrong_value(calls: list[Call], at: int) -> Iterator[list[Call]]:
    given = json.loads(calls[at].arguments)
    for name, value in given.items():
        other = f"not {value}" if isinstance(value, str) else 7919
        yield _swap(calls, at, arguments=json.dumps({**given, name: other}, ensure_ascii=False))


def _missing_argument(calls: list[Call], at: int) -> Iterator[list[Call]]:
    given = json.loads(calls[at].arguments)
    for name in given:
        rest = {key: value for key, value in given.items() if key != name}
        yield _swap(calls, at, arguments=json.dumps(rest, ensure_ascii=False))


def _unexpected_argument(calls: list[Call], at: int) -> Iterator[list[Call]]:
    given = json.loads(calls[at].arguments)
    yield _swap(calls, at, arguments=json.dumps({**given, "unasked": 1}, ensure_ascii=False))


def _format(calls: list[Call], at: int) -> Iterator[list[Call]]:
    yield _swap(calls, at, arguments=calls[at].arguments[:-1])


FAULTS: dict[str, Callable[[list[Call], int], Iterator[list[Call]]]] = {
    "unknown_tool": _unknown_tool,
    "missing_argument": _missing_argument,
    "unexpected_argument": _unexpected_argument,
    "wrong_value": _wrong_value,
    "missing_call": _missing_call,
    "extra_call": _extra_call,
    "format": _format,
}
