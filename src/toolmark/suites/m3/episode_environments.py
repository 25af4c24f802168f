"""Agents, servers and cassettes with which both M3 suites play their episodes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from toolmark.agents.agent import Agent
from toolmark.agents.executor import Executor
from toolmark.agents.tool_loop import TOOL_LOOP
from toolmark.core import files
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.errors import UsageError, suggest_names
from toolmark.core.media import MediaStore, task_pictures
from toolmark.core.records import Task, ToolFormat
from toolmark.core.task_data import read_task_data
from toolmark.environments import cassette as cassette_files
from toolmark.environments.cassette import Cassette, CassetteHeader
from toolmark.environments.mcp import sandbox, server_identity, server_launch
from toolmark.environments.mcp.mcp_environment import McpServersFactory, servers_that_cannot_run
from toolmark.environments.mcp.server_config import ServerConfig
from toolmark.environments.recording_factory import RecordingFactory, ReplayMode
from toolmark.formats.executor_json import EXECUTOR_JSON_FORMAT
from toolmark.runs.suite import EnvironmentSource, default_tool_formats
from toolmark.suites.m3.m3_task_data import M3TaskData

CASSETTE_MODES = ("replay", "record", "auto")
AGENTS: dict[str, Agent] = {"loop": TOOL_LOOP, "executor": Executor()}


def find_agent(name: str) -> Agent:
    """Return the agent of that name. Raises UsageError for an unknown name."""
    if name not in AGENTS:
        raise UsageError(f"no agent {name!r}{suggest_names(name, AGENTS)}")
    return AGENTS[name]


def agent_tool_formats(name: str) -> dict[str, ToolFormat]:
    """Return the tool formats that the agent of that name supports."""
    if name == "executor":
        return {EXECUTOR_JSON_FORMAT.name: EXECUTOR_JSON_FORMAT}
    return dict(default_tool_formats())


def recording_identity(task: Task) -> Any:
    """Return what the servers' answers to a task depend on: its pictures, files and repository.

    Prompt, agent and scoring are not part of it, so one recording serves every agent, prompt and
    encoder.
    """
    data = read_task_data(task, M3TaskData)
    pictures = [picture.sha256 for picture in task_pictures(task)]
    return [pictures, data.images or None, data.files, data.repository]


@dataclass(frozen=True, slots=True)
class McpEnvironments:
    """Environments of MCP servers, of a cassette, or of both.

    `prepare_workspace` fills a fresh workspace. `read_state` reads the final state that is scored.
    `header` describes what the tasks are made of: a cassette for other tasks is refused.
    `recorded_content` returns the part of a task on which its recording depends; with None, any
    recording of the same task id is replayed. `hidden_files` are files that contain answers: they
    are hidden from every server.
    """

    servers: tuple[ServerConfig, ...]
    cassette: str = ""
    mode: str = "replay"
    prepare_workspace: Callable[[Task, Path], None] | None = None
    read_state: Callable[[Task, Path], Any] | None = None
    header: CassetteHeader | None = None
    recorded_content: Callable[[Task], Any] | None = recording_identity
    hidden_files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in CASSETTE_MODES:
            raise UsageError(f"no mode {self.mode!r}{suggest_names(self.mode, CASSETTE_MODES)}")
        if self.cassette and self.mode == "replay" and not Path(self.cassette).is_file():
            raise UsageError(f"{self.cassette}: no such cassette; -T mode=record makes one")
        if self.cassette and self.mode == "replay" and self.header is not None:
            cassette_files.check_header(Path(self.cassette), self.header)

    def source(self) -> EnvironmentSource:
        """Return these environments as the part of a suite."""
        return EnvironmentSource(
            self.open_environments,
            missing_parts=self.missing_servers,
            starts_processes=self.may_start_servers,
            open_idle=self.open_idle_environments,
        )

    @property
    def may_start_servers(self) -> bool:
        """Whether server processes may be started."""
        is_replayed = self.cassette and self.mode == "replay"
        return not is_replayed and any(not server.url for server in self.servers)

    def missing_servers(self, tasks: Iterable[Task]) -> dict[str, str]:
        """Return what the servers of these tasks lack to run, by server.

        The result is empty with a cassette, unless the mode is `record`.
        """
        return (
            {}
            if self.cassette and self.mode != "record"
            else servers_that_cannot_run(self.servers, tasks)
        )

    def hashes(self) -> dict[str, str]:
        """Return the hashes of the servers' configuration and of a cassette that is replayed.

        A cassette in another mode changes with every episode, so it is not hashed.
        """
        found = {"servers": server_identity.servers_digest(self.servers)} if self.servers else {}
        if self.cassette and self.mode == "replay":
            found["cassette"] = files.file_sha256(Path(self.cassette))
        return found

    @asynccontextmanager
    async def open_environments(self, media: MediaStore) -> AsyncIterator[EnvironmentFactory]:
        """Open the environment factory of one run. Replaying a cassette starts no server."""
        async with AsyncExitStack() as stack:
            live_environments: EnvironmentFactory | None = None
            if not (self.cassette and self.mode == "replay"):
                stack.enter_context(sandbox.hide_paths(*self.hidden_files))
                servers = McpServersFactory(
                    self.servers, media, prepare=self.prepare_workspace, state=self.read_state
                )
                live_environments = await stack.enter_async_context(servers)
            yield (
                live_environments
                if live_environments is not None and not self.cassette
                else self._recorded_environments(live_environments, media)
            )

    @asynccontextmanager
    async def open_idle_environments(self, media: MediaStore) -> AsyncIterator[EnvironmentFactory]:
        """Open environments with the workspaces of the tasks and without any server."""
        async with McpServersFactory(
            (), media, prepare=self.prepare_workspace, state=self.read_state, is_idle=True
        ) as idle_environments:
            yield idle_environments

    def _recorded_environments(
        self, live: EnvironmentFactory | None, media: MediaStore
    ) -> RecordingFactory:
        secrets = {text for server in self.servers for text in server_launch.server_secrets(server)}
        return RecordingFactory(
            live,
            Cassette(Path(self.cassette), tuple(sorted(secrets))),
            mode=cast(ReplayMode, self.mode),
            media=media,
            stateful=[server.name for server in self.servers if server.stateful],
            instance=self.recorded_content,
            header=self.header,
        )
