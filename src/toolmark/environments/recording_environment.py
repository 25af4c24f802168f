"""Recording a live environment's answers, and rewriting paths and media for its recordings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.environment import DelegatingEnvironment, Environment, read_final_state
from toolmark.core.errors import DataError, ToolEnvironmentError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Result, Task, Tool
from toolmark.environments import cassette as tapes
from toolmark.environments.cassette import Cassette, CassetteLine, EnvironmentHeader, LineKind

T = TypeVar("T")
WORKSPACE_PLACEHOLDER = "${workspace}"


class EpisodeRecorder:
    """Writes one recording of an episode into a cassette."""

    def __init__(self, cassette: Cassette, media: MediaStore, task: str) -> None:
        self.cassette = cassette
        self.media = media
        self.task = task
        self.recording = cassette.begin_recording(task)
        self.n_calls = 0
        self.last_tools: tuple[Tool, ...] | None = None

    def write_answer(
        self,
        kind: LineKind,
        result: Any,
        tool: str = "",
        arguments: tapes.Arguments = "",
        n: int = 0,
    ) -> None:
        """Write one answer."""
        plain = msgspec.to_builtins(result)
        line = CassetteLine(
            tool, arguments, plain, kind=kind, task=self.task, take=self.recording.number, n=n
        )
        self.cassette.write_line(line)

    def write_tools(self, tools: tuple[Tool, ...]) -> None:
        """Write the tools on offer if they have changed."""
        if tools != self.last_tools:
            self.last_tools = tools
            self.write_answer("tools", tools, n=self.n_calls)


class RecordingEnvironment(DelegatingEnvironment):
    """A live environment whose answers are recorded.

    `model_workspace` is the path of the workspace that the model knows.
    """

    def __init__(
        self,
        recorder: EpisodeRecorder,
        environment: Environment,
        model_workspace: Path | None,
        *,
        needed: str = "",
        instance: str = "",
    ) -> None:
        super().__init__(environment)
        self.recorder = recorder
        self.workspace = model_workspace
        actual = environment.workspace
        self._model_to_recorded = path_replacements(model_workspace, WORKSPACE_PLACEHOLDER)
        self._actual_to_recorded = path_replacements(actual, WORKSPACE_PLACEHOLDER)
        self.model_to_actual = (
            {} if model_workspace == actual else path_replacements(model_workspace, str(actual))
        )
        self._actual_to_model = (
            {} if model_workspace == actual else path_replacements(actual, str(model_workspace))
        )
        header = EnvironmentHeader(
            self.max_parallel_calls,
            type(environment).opening is not Environment.opening,
            actual is not None,
            needed,
            instance,
        )
        recorder.write_answer("open", header)

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools on offer now."""
        tools = await self.environment.tools()
        self.recorder.write_tools(
            replace_record_texts(tools, self._actual_to_recorded, tuple[Tool, ...])
        )
        return replace_record_texts(tools, self._actual_to_model, tuple[Tool, ...])

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the opening messages of the live environment."""
        if type(self.environment).opening is Environment.opening:
            return messages
        opening_messages: tuple[Message, ...] = await self.environment.opening(messages)
        recorded_messages = tuple(self._copy_media(message) for message in opening_messages)
        arguments = opening_question(messages, self._model_to_recorded)
        self.recorder.write_answer(
            "opening",
            replace_record_texts(recorded_messages, self._actual_to_recorded, tuple[Message, ...]),
            arguments=arguments,
        )
        return replace_record_texts(opening_messages, self._actual_to_model, tuple[Message, ...])

    async def call(self, call: Call, /) -> Result:
        """Execute the call in the live environment and record the answer."""
        n = self.recorder.n_calls
        self.recorder.n_calls += 1
        arguments = tapes.replace_texts(tapes.call_arguments(call), self._model_to_recorded)
        result = await self.environment.call(replace_call_paths(call, self.model_to_actual))
        recorded_result = replace_record_texts(
            self._copy_media(result), self._actual_to_recorded, Result
        )
        self.recorder.write_answer("call", recorded_result, call.name, arguments, n)
        return replace_record_texts(result, self._actual_to_model, Result)

    async def final_state(self) -> Any:
        """Return the final state of the live environment."""
        state = msgspec.to_builtins(await read_final_state(self.environment))
        self.recorder.write_answer("state", tapes.replace_texts(state, self._actual_to_recorded))
        return tapes.replace_texts(state, self._actual_to_model)

    def _copy_media(self, value: T) -> T:
        return copy_media(
            value, self.recorder.media, self.recorder.cassette.media, self.recorder.task
        )


def task_content(task: Task) -> Any:
    """Return the parts of a task that an environment may depend on: turns, tools and reference."""
    return msgspec.to_builtins((task.turns, task.tools, task.reference))


def value_digest(value: Any) -> str:
    """Return the SHA-256 of plain values, such as starting states; "" for an empty value."""
    if not value:
        return ""
    text = json.dumps(json_codec.to_plain_json(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def path_replacements(folder: Path | None, new: str) -> dict[str, str]:
    """Return a mapping from the spellings of a folder's path, longest first, to `new`."""
    if folder is None:
        return {}
    spelled = {str(folder), str(folder.resolve())}
    return dict.fromkeys(sorted(spelled, key=len, reverse=True), new)


def replace_record_texts(value: T, replacements: Mapping[str, str], kind: type[T]) -> T:
    """Return a record with texts replaced."""
    if not replacements:
        return value
    return msgspec.convert(tapes.replace_texts(msgspec.to_builtins(value), replacements), kind)


def opening_question(
    messages: tuple[Message, ...], replacements: Mapping[str, str]
) -> dict[str, Any]:
    """Return opening messages as the arguments of a question, with texts replaced."""
    return {"messages": tapes.replace_texts(msgspec.to_builtins(messages), replacements)}


def replace_call_paths(call: Call, replacements: Mapping[str, str]) -> Call:
    """Return the call with the paths of the live environment."""
    if not replacements:
        return call
    arguments = tapes.call_arguments(call)
    replaced = tapes.replace_texts(arguments, replacements)
    if replaced == arguments:
        return call
    text = (
        replaced
        if isinstance(replaced, str)
        else json_codec.escape_surrogates(json.dumps(replaced, ensure_ascii=False))
    )
    return replace(call, arguments=text)


def copy_media(value: T, old: MediaStore, new: MediaStore, task: str) -> T:
    """Copy the media that a result or message refers to into another store; return the value.

    Raises ToolEnvironmentError where media are missing or damaged, which concerns this task only.
    """
    if isinstance(value, Result | Message):
        try:
            new.copy_from(old, value.parts)
        except DataError as error:
            raise ToolEnvironmentError(f"task {task}: {error}") from None
    return value
