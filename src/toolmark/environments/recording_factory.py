"""Recording of any environment factory into a cassette, and replay without it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from toolmark.core.environment import DelegatingFactory, Environment, EnvironmentFactory
from toolmark.core.errors import ToolEnvironmentError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.environments.cassette import Cassette, CassetteHeader, EpisodeRecording
from toolmark.environments.recorded_environment import Episode, RecordedEnvironment, value_digest

ReplayMode: TypeAlias = Literal["record", "replay", "auto"]


def task_content(task: Task) -> Any:
    """Return the parts of a task that an environment may depend on: turns, tools and data."""
    return msgspec.to_builtins((task.turns, task.tools, task.data))


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
    ignored. With None no recording is ignored. `header` is written before recordings.
    """

    def __init__(
        self,
        live_factory: EnvironmentFactory | None,
        cassette: Cassette,
        *,
        mode: ReplayMode = "replay",
        media: MediaStore | None = None,
        stateful: Collection[str] = (),
        instance: Callable[[Task], Any] | None = task_content,
        header: CassetteHeader | None = None,
    ) -> None:
        if live_factory is None and mode != "replay":
            raise UsageError(
                f"mode {mode!r} needs an environment to record; without one use 'replay'"
            )
        super().__init__(*([] if live_factory is None else [live_factory]))
        self.live_factory = live_factory
        self.cassette = cassette
        self.mode = mode
        self.media = media or cassette.media
        self.stateful = frozenset(stateful)
        self.instance = instance
        self.header = header
        self._n_opened: Counter[str] = Counter()

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        """Open a live environment that is recorded, or one that replays.

        An episode that breaks off is not recorded. Raises ToolEnvironmentError where there is no
        recording to follow.
        """
        episode = self._identify_episode(task, needed)
        recordings = [] if self.mode == "record" else self._matching_recordings(episode)
        if recordings:
            with tempfile.TemporaryDirectory(prefix="toolmark-") as folder:
                replay = RecordedEnvironment(episode, recordings, Path(folder))
                try:
                    yield replay
                    self._write_lines(replay)
                finally:
                    await replay.close()
        elif episode.live_factory is not None:
            async with episode.live_factory.open_environment(task, needed) as live:
                recorded = RecordedEnvironment(episode)
                await recorded.use_live(live)
                yield recorded
                self._write_lines(recorded)
        else:
            raise ToolEnvironmentError(self._describe_missing(episode))

    def _identify_episode(self, task: Task, needed: Mapping[str, Any]) -> Episode:
        return Episode(
            self.cassette,
            self.media,
            None if self.mode == "replay" else self.live_factory,
            self.stateful,
            task,
            needed,
            value_digest(dict(needed)),
            "" if self.instance is None else value_digest(self.instance(task)),
        )

    def _write_lines(self, environment: RecordedEnvironment) -> None:
        lines = environment.lines_to_write()
        if lines and self.header is not None:
            self.cassette.write_header(self.header)
        if lines:
            self.cassette.write_lines(lines)

    def _matching_recordings(self, episode: Episode) -> list[EpisodeRecording]:
        """Return the recordings to follow, the k-th one first for the k-th episode of the task.

        Recordings without a final state are followed only where there are no others.
        """
        found = [
            each
            for each in self.cassette.recordings(episode.task.id)
            if each.start.needed_states_sha256 == episode.needed_digest
            and (self.instance is None or each.start.task_content_sha256 == episode.instance_digest)
        ]
        complete = [each for each in found if each.final_state is not None]
        found = complete or found
        first = self._n_opened[episode.task.id] % max(1, len(found))
        self._n_opened[episode.task.id] += 1
        return found[first:] + found[:first]

    def _describe_missing(self, episode: Episode) -> str:
        """Return the reason why there is no recording to follow."""
        path, id = self.cassette.path, episode.task.id
        headers = ", ".join(map(str, self.cassette.headers))
        instances = {each.start.task_content_sha256 for each in self.cassette.recordings(id)}
        if instances and self.instance is not None and episode.instance_digest not in instances:
            note = f" (it holds {headers})" if headers else ""
            return (
                f"{path}: task {id} was recorded for another instance; "
                f"give --seed and the suite parameters of the recording{note}, or record it again"
            )
        after = " after these states of the tasks it needs" if episode.needed else ""
        note = f"; it holds {headers}" if headers else ""
        return f"{path} holds no recording of task {id}{after}{note}"
