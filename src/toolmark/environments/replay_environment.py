"""Recording of any environment factory, and replay without it.

Each episode is one recording of its task. Replay follows the recordings whose answers so far equal
those that were given, so that answers of different environments are never mixed. Where the model
asks a question that they do not have, replay ends with an error. In mode `auto` the live
environment is opened instead and brought to the state of the episode.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec.structs import replace

from toolmark.core.environment import DelegatingFactory, Environment, EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Message, Result, Task, Tool
from toolmark.environments import cassette as tapes
from toolmark.environments import recording_environment
from toolmark.environments.cassette import (
    Cassette,
    CassetteHeader,
    EnvironmentHeader,
    EpisodeRecording,
)
from toolmark.environments.environment_owner import EnvironmentOwner
from toolmark.environments.recording_environment import (
    WORKSPACE_PLACEHOLDER,
    EpisodeRecorder,
    RecordingEnvironment,
)

ReplayMode: TypeAlias = Literal["record", "replay", "auto"]
T = TypeVar("T")
_MAX_SHOWN_CHARS = 300
_MAX_COMPARED = 500


class RecordingFactory(DelegatingFactory):
    """An environment factory that records the answers of another one's environments, or replays.

    Mode `record` opens the live environment and adds a recording per episode. Mode `replay` needs
    no live factory; a question without a recorded answer raises ToolEnvironmentError. Mode `auto`
    opens the live environment for such a question, and records.

    `media` is the store that the run's messages refer to, by default that of the cassette. An
    answer of a `stateful` server is used only if all earlier questions to that server were the
    same, in the same order. A final state is used only if the number of questions to each of these
    servers (to every server where none is named) is equal. `instance` returns, as plain values,
    what the environment of a task depends on; recordings of the same task id with other values are
    ignored. With None no recording is ignored. `head` is the header to write before recordings.
    """

    def __init__(
        self,
        live_factory: EnvironmentFactory | None,
        cassette: Cassette,
        *,
        mode: ReplayMode = "replay",
        media: MediaStore | None = None,
        stateful: Collection[str] = (),
        instance: Callable[[Task], Any] | None = recording_environment.task_content,
        head: CassetteHeader | None = None,
    ) -> None:
        if live_factory is None and mode != "replay":
            raise UsageError(f"mode {mode!r} needs a site to record; without one use 'replay'")
        super().__init__(*([] if live_factory is None else [live_factory]))
        self.live_factory = live_factory
        self.cassette = cassette
        self.mode = mode
        self.media = media or cassette.media
        self.stateful = frozenset(stateful)
        self.instance = instance
        self.head = head
        self._n_opened: Counter[str] = Counter()

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[Environment]:
        """Yield an episode's environment: a live one that is recorded, or a replayed one."""
        recordings = [] if self.mode == "record" else self._matching_recordings(task, needed)
        if self.live_factory is not None and not recordings and self.mode != "replay":
            async with self.live_factory.world(task, needed) as environment:
                recorder = self.begin_recording(
                    task,
                    needed,
                    environment,
                    environment.workspace,
                )
                try:
                    yield recorder
                finally:
                    recorder.recorder.recording.running = False
            return
        if not recordings:
            raise ToolEnvironmentError(self._describe_missing(task, needed))
        with tempfile.TemporaryDirectory(prefix="toolmark-") as folder:
            replay = ReplayEnvironment(self, task, needed, recordings, Path(folder))
            try:
                yield replay
            finally:
                await replay.close()

    def begin_recording(
        self,
        task: Task,
        needed: Mapping[str, Any],
        environment: Environment,
        model_workspace: Path | None,
    ) -> RecordingEnvironment:
        """Begin a recording of the live environment.

        `model_workspace` is the path of the workspace that the model knows.
        """
        if self.head is not None:
            self.cassette.write_header(self.head)
        recorder = EpisodeRecorder(self.cassette, self.media, task.id)
        return RecordingEnvironment(
            recorder,
            environment,
            model_workspace,
            needed=recording_environment.value_digest(dict(needed)),
            instance=self._instance_digest(task),
        )

    def _instance_digest(self, task: Task) -> str:
        return (
            "" if self.instance is None else recording_environment.value_digest(self.instance(task))
        )

    def _matching_recordings(self, task: Task, needed: Mapping[str, Any]) -> list[EpisodeRecording]:
        """Return the recordings to follow, the k-th one first for the k-th episode of the task.

        Incomplete recordings come last.
        """
        digest = recording_environment.value_digest(dict(needed))
        instance = self._instance_digest(task)
        recordings = [
            recording
            for recording in self.cassette.recordings(task.id)
            if recording.environment_header is not None
            and not recording.running
            and recording.environment_header.needed == digest
            and (self.instance is None or recording.environment_header.instance == instance)
        ]
        complete = [recording for recording in recordings if recording.states]
        first = self._n_opened[task.id] % max(1, len(complete))
        self._n_opened[task.id] += 1
        return (
            complete[first:]
            + complete[:first]
            + [recording for recording in recordings if not recording.states]
        )

    def _describe_missing(self, task: Task, needed: Mapping[str, Any]) -> str:
        """Return the reason why there is no recording to follow."""
        path, instance = self.cassette.path, self._instance_digest(task)
        opened = [
            take.environment_header
            for take in self.cassette.recordings(task.id)
            if take.environment_header is not None
        ]
        headers = ", ".join(map(str, self.cassette.headers))
        if opened and self.instance is not None and instance not in {o.instance for o in opened}:
            note = f" (it holds {headers})" if headers else ""
            return (
                f"{path}: task {task.id} was recorded for another instance; "
                f"give --seed and knobs of the recording{note}, or record it again"
            )
        after = " after these states of the tasks it needs" if needed else ""
        note = f"; it holds {headers}" if headers else ""
        return f"{path} holds no recording of task {task.id}{after}{note}"


# --- replaying --------------------------------------------------------------------------


class ReplayEnvironment(Environment):
    """A replayed environment; in mode `auto` the live one replaces it for unrecorded questions."""

    def __init__(
        self,
        factory: RecordingFactory,
        task: Task,
        needed: Mapping[str, Any],
        recordings: list[EpisodeRecording],
        folder: Path,
    ) -> None:
        self.factory = factory
        self.task = task
        self.needed = needed
        self.header = recordings[0].environment_header or EnvironmentHeader()
        self.candidates = [
            take for take in recordings if _are_equal_headers(take.environment_header, self.header)
        ]
        self.max_parallel_calls = self.header.at_once
        self.workspace = folder if self.header.workspace else None
        self._to_recorded = recording_environment.path_replacements(
            self.workspace, WORKSPACE_PLACEHOLDER
        )
        self._from_recorded = {WORKSPACE_PLACEHOLDER: str(folder)} if self.workspace else {}
        self._n_asked: Counter[str] = Counter()
        self._n_asked_by_server: Counter[str] = Counter()
        self._answered: list[tuple[Call, Result]] = []
        self._listed_tools: list[tuple[int, tuple[Tool, ...]]] = []
        self._opening: tuple[tuple[Message, ...], tuple[Message, ...]] | None = None
        self._live_environment: RecordingEnvironment | None = None
        self._owner: EnvironmentOwner | None = None
        self._call_lock = asyncio.Lock()

    def tools_changed(self) -> bool:
        """Return whether the tools may have changed since they were last listed."""
        if self._live_environment is not None:
            return self._live_environment.tools_changed()
        current = self.candidates[0].tools_at(len(self._answered)) if self._listed_tools else None
        return current is not None and current != self._listed_tools[-1][1]

    async def tools(self) -> tuple[Tool, ...]:
        """Return the recorded tools."""
        if self._live_environment is None:
            n = len(self._answered)
            found = self._follow_recordings(lambda take: _as_single(take.tools_at(n)))
            if found is not None:
                self._listed_tools.append((n, found[0]))
                return recording_environment.replace_record_texts(
                    found[0], self._from_recorded, tuple[Tool, ...]
                )
        return await (await self._go_live("the list of tools")).tools()

    async def opening(self, messages: tuple[Message, ...], /) -> tuple[Message, ...]:
        """Return the recorded opening messages."""
        if self._live_environment is None:
            if not self.header.opener:
                return messages
            question = tapes.question_key(
                "",
                self.factory.cassette.redact(
                    recording_environment.opening_question(messages, self._to_recorded)
                ),
            )
            found = self._follow_recordings(lambda take: _as_single(take.openings.get(question)))
            if found is not None:
                messages_with_media = tuple(self._copy_media(message) for message in found[0])
                self._opening = (messages, found[0])
                return recording_environment.replace_record_texts(
                    messages_with_media, self._from_recorded, tuple[Message, ...]
                )
        return await (await self._go_live("these opening messages")).opening(messages)

    async def call(self, call: Call, /) -> Result:
        """Return the recorded answer."""
        async with self._call_lock:  # no call may overtake the one that goes live
            if self._live_environment is None:
                result = self._recorded_answer(call)
                if result is not None:
                    self._answered.append((call, result))
                    return recording_environment.replace_record_texts(
                        self._copy_media(result), self._from_recorded, Result
                    )
            live = await self._go_live("", call)
        return await live.call(call)

    async def final_state(self) -> Any:
        """Return the recorded state."""
        if self._live_environment is None:
            found = self._follow_recordings(self._recorded_state)
            if found is not None:
                return tapes.replace_texts(found[0], self._from_recorded)
        return await (await self._go_live("the final state after these calls")).final_state()

    async def close(self) -> None:
        """Close the live environment, if there is one."""
        if self._live_environment is not None:
            self._live_environment.recorder.recording.running = False
        if self._owner is not None:
            await self._owner.close()

    def _recorded_answer(self, call: Call) -> Result | None:
        question = self._question_key(call)
        server = tapes.server_name(call.name)
        n_before_server, n_before = self._n_asked_by_server[server], self._n_asked[question]

        def answer_of(recording: EpisodeRecording) -> tuple[Result] | None:
            if (
                server in self.factory.stateful
                and recording.question_at(server, n_before_server) != question
            ):
                return None
            answers = recording.answers(question)
            return (answers[n_before],) if n_before < len(answers) else None

        found = self._follow_recordings(answer_of)
        if found is None:
            return None
        self._n_asked[question] += 1
        self._n_asked_by_server[server] += 1
        return found[0]

    def _recorded_state(self, recording: EpisodeRecording) -> tuple[Any] | None:
        """Return the final state, None if a call that may have changed it is missing or extra."""
        if not recording.states:
            return None
        recorded_counts, current_counts = recording.question_counts(), self._n_asked_by_server
        changing = self.factory.stateful or {*recorded_counts, *current_counts}
        equal_counts = all(
            recorded_counts.get(name, 0) == current_counts[name] for name in changing
        )
        return (recording.states[-1],) if equal_counts or recording.states[-1] is None else None

    def _question_key(self, call: Call) -> str:
        call_arguments = tapes.replace_texts(tapes.call_arguments(call), self._to_recorded)
        return tapes.question_key(call.name, self.factory.cassette.redact(call_arguments))

    def _follow_recordings(
        self, find: Callable[[EpisodeRecording], tuple[T] | None]
    ) -> tuple[T] | None:
        """Return the first recorded answer, and drop the recordings that do not give it."""
        answers = [(take, find(take)) for take in self.candidates]
        found = next((answer for _, answer in answers if answer is not None), None)
        if found is not None:
            self.candidates = [take for take, answer in answers if answer == found]
        return found

    def _copy_media(self, value: T) -> T:
        return recording_environment.copy_media(
            value, self.factory.cassette.media, self.factory.media, self.task.id
        )

    async def _go_live(self, what: str, call: Call | None = None) -> RecordingEnvironment:
        """Return the live environment in the state of the episode.

        Raises ToolEnvironmentError where the mode or a missing live factory does not allow it.
        """
        if self._live_environment is not None:
            return self._live_environment
        if self.factory.mode != "auto" or self.factory.live_factory is None:
            raise ToolEnvironmentError(self._describe_missing_answer(what, call))
        self._owner = EnvironmentOwner()
        environment = await self._owner.open(self.factory.live_factory, self.task, self.needed)
        self._live_environment = await self._catch_up(environment)
        return self._live_environment

    async def _catch_up(self, environment: Environment) -> RecordingEnvironment:
        """Repeat the episode so far in the live environment.

        The new recording has the answers that the model saw.
        """
        recorded_environment = self.factory.begin_recording(
            self.task, self.needed, environment, self.workspace
        )
        recorder = recorded_environment.recorder
        await self._repeat_tool_list(recorder, environment, 0)
        if self._opening is not None:
            await environment.opening(self._opening[0])
            recorder.write_answer(
                "opening",
                self._opening[1],
                arguments=recording_environment.opening_question(
                    self._opening[0], self._to_recorded
                ),
            )
        for n, (call, result) in enumerate(self._answered):
            await environment.call(
                recording_environment.replace_call_paths(call, recorded_environment.model_to_actual)
            )
            call_arguments = tapes.replace_texts(tapes.call_arguments(call), self._to_recorded)
            recorder.write_answer("call", result, call.name, call_arguments, n)
            await self._repeat_tool_list(recorder, environment, n + 1)
        return recorded_environment

    async def _repeat_tool_list(
        self, recorder: EpisodeRecorder, environment: Environment, n: int
    ) -> None:
        """List the tools at the same points as before, in case the environment depends on it."""
        recorder.n_calls = n
        for at, tools in self._listed_tools:
            if at == n:
                await environment.tools()
                recorder.write_tools(tools)

    def _describe_missing_answer(self, what: str, call: Call | None) -> str:
        head = f"{self.factory.cassette.path}: task {self.task.id}: no recorded answer to "
        if call is None:
            return f"{head}{what}; record it again"
        missing_question = self._question_key(call)
        times_asked = (
            f" when asked {self._n_asked[missing_question] + 1} times"
            if self._n_asked[missing_question]
            else ""
        )
        recordings = self.factory.cassette.recordings(self.task.id)
        known = {
            question[:_MAX_SHOWN_CHARS]: None
            for take in recordings
            for question in take.questions()
        }
        near = get_close_matches(
            missing_question[:_MAX_SHOWN_CHARS], list(known)[:_MAX_COMPARED], n=1, cutoff=0.0
        )
        return (
            f"{head}{missing_question[:_MAX_SHOWN_CHARS]}{times_asked}; nearest recorded: "
            f"{near[0] if near else 'none'}"
        )


def _are_equal_headers(one: EnvironmentHeader | None, other: EnvironmentHeader) -> bool:
    return one is not None and replace(one, instance="") == replace(other, instance="")


def _as_single(value: T | None) -> tuple[T] | None:
    return None if value is None else (value,)
