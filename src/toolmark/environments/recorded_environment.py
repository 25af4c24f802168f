"""One episode's environment, recorded or replayed.

Replay follows the recordings whose answers so far equal those that were given, so that answers of
different environments are never mixed. Where the model asks a question that they do not have,
replay ends with an error, or the live environment is opened and brought to the state of the
episode.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.environment import (
    DelegatingEnvironment,
    Environment,
    EnvironmentFactory,
    read_final_state,
)
from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Part, Result, Task, Tool
from toolmark.core.redaction import replace_texts
from toolmark.environments.cassette import (
    AnsweredCall,
    Arguments,
    Cassette,
    EpisodeLine,
    EpisodeRecording,
    EpisodeStart,
    FinalState,
    Line,
    Opening,
    ToolList,
    call_arguments,
    question_key,
    server_name,
)
from toolmark.environments.environment_owner import EnvironmentOwner

T = TypeVar("T")
WORKSPACE_PLACEHOLDER = "${workspace}"
_MAX_SHOWN_CHARS = 300
_MAX_COMPARED = 500


class Episode(NamedTuple):
    """An episode that is recorded or replayed: its cassette, its task and what identifies it.

    `media` is the store that the run's messages refer to. `live_factory` opens the live
    environment, if that is allowed. The servers in `stateful` answer only in the recorded order.
    """

    cassette: Cassette
    media: MediaStore
    live_factory: EnvironmentFactory | None
    stateful: Collection[str]
    task: Task
    needed: Mapping[str, Any]
    needed_digest: str
    instance_digest: str


class _Answer(NamedTuple):
    """An answer of this episode as it is recorded, and what was asked; None for its tools."""

    line: EpisodeLine
    asked: Call | tuple[Message, ...] | None = None


class RecordedEnvironment(DelegatingEnvironment):
    """One episode: answered from recordings as long as they have the answers, then live.

    Every answer is stored as it is recorded, with a placeholder for the workspace, and given to the
    model with the path that the model knows. Without recordings that is the path of the live
    workspace, else `folder`.
    """

    def __init__(
        self,
        episode: Episode,
        recordings: Sequence[EpisodeRecording] = (),
        folder: Path | None = None,
    ) -> None:
        super().__init__(Environment())
        self._episode = episode
        self._is_live = False
        self._owner = EnvironmentOwner()
        self._call_lock = asyncio.Lock()
        self._answers: list[_Answer | None] = []
        self._n_asked: Counter[str] = Counter()
        self._n_asked_by_server: Counter[str] = Counter()
        self._tool_list: ToolList | None = None
        self._recordings: list[EpisodeRecording] = []
        if recordings:
            start = recordings[0].start
            self._recordings = [each for each in recordings if _are_similar(each.start, start)]
            self.max_parallel_calls = start.max_parallel_calls
            self.workspace = folder if start.has_workspace else None
        self._to_recorded = _path_replacements(self.workspace, WORKSPACE_PLACEHOLDER)

    # --- abilities

    def tools_changed(self) -> bool:
        """Return whether the tools may have changed since they were last listed."""
        if self._is_live:
            return super().tools_changed()
        now = self._recordings[0].tools_after(self._n_asked.total())
        return self._tool_list is not None and now is not None and now != self._tool_list

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools on offer now."""
        n_calls = self._n_asked.total()
        found = self._follow_recordings(lambda each: each.tools_after(n_calls))
        if found is None:
            await self._go_live("the list of tools")
            found = ToolList(self._as_recorded(await super().tools(), tuple[Tool, ...]))
        self._tool_list = found
        self._answers.append(_Answer(found))
        return self._as_shown(found.tools, tuple[Tool, ...])

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the opening messages. Where they are unchanged, nothing is recorded."""
        if not self._is_live and not any(each.openings for each in self._recordings):
            return messages
        asked = self._opening_digest(messages)
        found = self._follow_recordings(lambda each: each.openings.get(asked))
        if found is None:
            await self._go_live("these opening messages")
            opened = await super().opening(messages)
            if opened == messages:
                return messages
            found = Opening(asked, self._as_recorded(opened, tuple[Message, ...]))
        self._copy_media(part for message in found.messages for part in message.parts)
        self._answers.append(_Answer(found, messages))
        return self._as_shown(found.messages, tuple[Message, ...])

    async def call(self, call: Call, /) -> Result:
        """Return the recorded answer, or the live one."""
        async with self._call_lock:  # no call may overtake the one that goes live
            found = self._recorded_answer(call)
            if found is None:
                await self._go_live("", call)
            place = len(self._answers)  # calls are recorded in the order in which they began
            self._answers.append(None)
        if found is None:
            result = self._as_recorded(await self._call_live(call), Result)
            found = AnsweredCall(call.name, self._recorded_arguments(call), result)
        self._copy_media(found.result.parts)
        self._answers[place] = _Answer(found, call)
        return self._as_shown(found.result, Result)

    async def final_state(self) -> Any:
        """Return the final state."""
        found = self._follow_recordings(self._recorded_state)
        if found is None:
            await self._go_live("the final state after these calls")
            state = msgspec.to_builtins(await read_final_state(self.environment))
            found = FinalState(replace_texts(state, self._to_recorded))
            self._answers.append(_Answer(found))
        return replace_texts(found.state, self._to_shown)

    # --- from recordings

    def _follow_recordings(self, find: Callable[[EpisodeRecording], T | None]) -> T | None:
        """Return the first recorded answer, and drop the recordings that do not give it."""
        answers = [(each, find(each)) for each in self._recordings]
        found = next((answer for _, answer in answers if answer is not None), None)
        if found is not None:
            self._recordings = [each for each, answer in answers if answer == found]
        return found

    def _recorded_answer(self, call: Call) -> AnsweredCall | None:
        question, server = self._question_key(call), server_name(call.name)
        n_before_server, n_before = self._n_asked_by_server[server], self._n_asked[question]
        in_order = server in self._episode.stateful

        def find(recording: EpisodeRecording) -> AnsweredCall | None:
            if in_order and recording.question_at(server, n_before_server) != question:
                return None
            return recording.answer(question, n_before)

        found = self._follow_recordings(find)
        if found is not None:
            self._n_asked[question] += 1
            self._n_asked_by_server[server] += 1
        return found

    def _recorded_state(self, recording: EpisodeRecording) -> FinalState | None:
        """Return the final state, None if a call that may have changed it is missing or extra."""
        found = recording.final_state
        if found is None or found.state is None:
            return found
        recorded, asked = recording.n_questions, self._n_asked_by_server
        servers = self._episode.stateful or {*recorded, *asked}
        return found if all(recorded[name] == asked[name] for name in servers) else None

    def _question_key(self, call: Call) -> str:
        return question_key(
            call.name, self._episode.cassette.redact_secrets(self._recorded_arguments(call))
        )

    def _describe_missing_answer(self, what: str, call: Call | None) -> str:
        head = (
            f"{self._episode.cassette.path}: task {self._episode.task.id}: no recorded answer to "
        )
        if call is None:
            return f"{head}{what}; record it again"
        question = self._question_key(call)
        n_before = self._n_asked[question]
        times = f" when asked {n_before + 1} times" if n_before else ""
        recordings = self._episode.cassette.recordings(self._episode.task.id)
        known = {key[:_MAX_SHOWN_CHARS]: None for each in recordings for key in each.questions()}
        shown = question[:_MAX_SHOWN_CHARS]
        near = get_close_matches(shown, list(known)[:_MAX_COMPARED], n=1, cutoff=0.0)
        return f"{head}{shown}{times}; nearest recorded: {near[0] if near else 'none'}"

    # --- live

    async def _go_live(self, what: str, call: Call | None = None) -> None:
        """Open the live environment, unless it is open.

        Raises ToolEnvironmentError where the mode does not allow it, naming what was asked.
        """
        if self._is_live:
            return
        if self._episode.live_factory is None:
            raise ToolEnvironmentError(self._describe_missing_answer(what, call))
        await self.use_live(
            await self._owner.open(
                self._episode.live_factory, self._episode.task, self._episode.needed
            )
        )

    async def use_live(self, live: Environment) -> None:
        """Answer from a live environment from now on, after the episode so far is repeated in it.

        The recording has the answers that were given. Raises UsageError for an environment with a
        user, whose answers cannot be recorded.
        """
        if live.user is not None:
            raise UsageError("the answers of a simulated user cannot be recorded")
        if not self._recordings:
            self.max_parallel_calls, self.workspace = live.max_parallel_calls, live.workspace
        for folder in (self.workspace, live.workspace):
            self._to_recorded |= _path_replacements(folder, WORKSPACE_PLACEHOLDER)
        self.environment = live
        for answer in filter(None, self._answers):
            match answer.asked:
                case Call():
                    await self._call_live(answer.asked)
                case None:
                    await live.tools()
                case messages:
                    await live.opening(messages)
        self._recordings, self._is_live = [], True

    async def _call_live(self, call: Call) -> Result:
        """Execute a call in the live environment, with the path of its workspace."""
        live = self.environment.workspace
        if live == self.workspace:
            return await self.environment.call(call)
        arguments = call_arguments(call)
        replaced = replace_texts(arguments, _path_replacements(self.workspace, str(live)))
        if replaced != arguments:
            text = (
                replaced if isinstance(replaced, str) else json.dumps(replaced, ensure_ascii=False)
            )
            call = replace(call, arguments=json_codec.escape_surrogates(text))
        return await self.environment.call(call)

    def lines_to_write(self) -> list[Line]:
        """Return the lines of a new recording; there are none for an episode that was replayed."""
        if not self._is_live:
            return []
        start = EpisodeStart(
            self._episode.task.id,
            self._episode.needed_digest,
            self._episode.instance_digest,
            self.environment.max_parallel_calls,
            self.environment.workspace is not None,
        )
        lines: list[Line] = [start]
        tools: ToolList | None = None
        for answer in filter(None, self._answers):
            if answer.line != tools:  # a list of tools only where it has changed
                lines.append(answer.line)
            tools = answer.line if isinstance(answer.line, ToolList) else tools
        return lines

    async def close(self) -> None:
        """Close the live environment, if it is open."""
        await self._owner.close()

    # --- what a recording has in place of paths and pictures

    @property
    def _to_shown(self) -> dict[str, str]:
        return {} if self.workspace is None else {WORKSPACE_PLACEHOLDER: str(self.workspace)}

    def _as_recorded(self, value: T, kind: type[T]) -> T:
        return _replace_in_record(value, self._to_recorded, kind)

    def _as_shown(self, value: T, kind: type[T]) -> T:
        return _replace_in_record(value, self._to_shown, kind)

    def _recorded_arguments(self, call: Call) -> Arguments:
        arguments: Arguments = replace_texts(call_arguments(call), self._to_recorded)
        return arguments

    def _opening_digest(self, messages: tuple[Message, ...]) -> str:
        plain = replace_texts(msgspec.to_builtins(messages), self._to_recorded)
        return value_digest(self._episode.cassette.redact_secrets(plain))

    def _copy_media(self, parts: Iterable[Part]) -> None:
        """Copy what an answer refers to into the cassette, or from it into the store of the run.

        Raises ToolEnvironmentError where media are missing or damaged: only this task lacks them.
        """
        old, new = self._episode.cassette.media, self._episode.media
        if self._is_live:
            old, new = new, old
        try:
            new.copy_from(old, parts)
        except DataError as error:
            raise ToolEnvironmentError(f"task {self._episode.task.id}: {error}") from None


def value_digest(value: Any) -> str:
    """Return the SHA-256 of plain values, such as starting states; "" for an empty value."""
    if not value:
        return ""
    text = json.dumps(json_codec.to_plain_json(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _are_similar(one: EpisodeStart, other: EpisodeStart) -> bool:
    return replace(one, task_content_sha256=other.task_content_sha256) == other


def _path_replacements(folder: Path | None, new: str) -> dict[str, str]:
    """Return a mapping from the spellings of a folder's path, longest first, to `new`."""
    if folder is None:
        return {}
    spelled = {str(folder), str(folder.resolve())}
    return dict.fromkeys(sorted(spelled, key=len, reverse=True), new)


def _replace_in_record(value: T, replacements: Mapping[str, str], kind: type[T]) -> T:
    """Return a record with texts replaced."""
    if not replacements:
        return value
    return msgspec.convert(replace_texts(msgspec.to_builtins(value), replacements), kind)
