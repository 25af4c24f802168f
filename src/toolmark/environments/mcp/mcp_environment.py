"""MCP servers as environments: some are shared by the run, the others are per episode.

Every episode has its own folder. A model sees it as `/workspace`, whatever its real path is: paths
in calls are replaced by real ones, and real ones in results by those that the model sees, so that
two runs of the same episode have the same text. `/shared`, where the shared servers are, works in
the same way.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec.structs import replace

from toolmark.core import json_codec
from toolmark.core.environment import Environment, EnvironmentFactory
from toolmark.core.errors import (
    DataError,
    SandboxError,
    ToolEnvironmentError,
    UsageError,
    join_reasons,
)
from toolmark.core.media import MediaStore, task_pictures
from toolmark.core.records import Call, Result, Task, Text, Tool
from toolmark.environments.mcp import (
    resource_usage,
    result_content,
    sandbox,
    server_identity,
    server_launch,
)
from toolmark.environments.mcp.mcp_task_data import read_mcp_data
from toolmark.environments.mcp.sandbox_limits import SANDBOX_WATCH
from toolmark.environments.mcp.server_config import ServerConfig
from toolmark.environments.mcp.server_session import CallRefused
from toolmark.environments.mcp.server_supervisor import ServerStatus, ServerSupervisor

MODEL_WORKSPACE = "/workspace"
MODEL_SHARED = "/shared"  # the folder of the servers that all episodes share
_MODEL_PATH = re.compile(r"(?<![\w.~-])/(?:workspace|shared)(?![\w.~-])")
_FILE_NAME = re.compile(r"[\w][\w .()+-]{0,199}")
_MAX_NAMED_TASKS = 5  # ids of tasks that are not run because a server is missing
_SUFFIX = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


class McpServersFactory(EnvironmentFactory):
    """The environment factory. Open it with `async with`; servers start when first needed.

    `starts` is how many servers may be starting at once. `max_parallel_calls` is how many calls of
    one reply run at once. `prepare(task, workspace)` fills a new workspace. `state(task,
    workspace)` reads what is scored at the end of an episode. Both run in a thread. With `is_idle`
    no server is started, whatever a task names, and no tool is offered.
    """

    def __init__(
        self,
        servers: Sequence[ServerConfig],
        media: MediaStore,
        *,
        starts: int = 8,
        max_parallel_calls: int = 8,
        prepare: Callable[[Task, Path], None] | None = None,
        state: Callable[[Task, Path], Any] | None = None,
        is_idle: bool = False,
    ) -> None:
        self.is_idle = is_idle
        self.media = media
        self.max_parallel_calls = max_parallel_calls
        self.prepare = prepare
        self.state = state
        gate = asyncio.Semaphore(starts)
        self._statuses = {server.name: ServerStatus(server, gate) for server in servers}
        self._shared: dict[str, ServerSupervisor] = {}
        self._tool_tuples: dict[bytes, tuple[Tool, ...]] = {}
        self._folder: Path | None = None

    def incident_notes(self) -> dict[str, tuple[str, ...]]:
        """Return what happened to servers so far: failed starts, deaths, tools left out."""
        notes_by_server = {name: known.all_notes() for name, known in self._statuses.items()}
        return {name: notes for name, notes in notes_by_server.items() if notes}

    def part_descriptions(self) -> dict[str, tuple[str, ...]]:
        """Return what each started server reports it is: name, version, hash of its tools."""
        return {
            name: tuple(known.descriptions)
            for name, known in self._statuses.items()
            if known.descriptions
        }

    async def __aenter__(self) -> Self:
        """Make the folder of all workspaces. Raises UsageError without a required sandbox."""
        if any(not known.server.url for known in self._statuses.values()):
            sandbox.require_sandbox()
        self._folder = Path(tempfile.mkdtemp(prefix="toolmark-")).resolve()
        return self

    async def __aexit__(self, *fault: object) -> None:
        """End the shared servers and remove the folder."""
        try:
            await asyncio.gather(*(keeper.stop() for keeper in self._shared.values()))
        finally:
            self._shared.clear()
            if self._folder is not None:
                resource_usage.remove_folder(self._folder)
                self._folder = None

    @asynccontextmanager
    async def open_environment(
        self, task: Task, needed: Mapping[str, Any], /
    ) -> AsyncIterator[Environment]:
        """Give the task a workspace and its servers.

        Raises ToolEnvironmentError naming the servers that fail.
        """
        statuses = self._needed_servers(task)
        if self._folder is None:
            raise UsageError(
                "Servers: open the factory with `async with` before asking for an environment"
            )
        workspace = Path(tempfile.mkdtemp(prefix="episode-", dir=self._folder))
        supervisors = {
            ledger.server.name: self._supervisor(ledger, workspace) for ledger in statuses
        }
        try:
            await asyncio.to_thread(self._fill_workspace, task, workspace)
            await _start_servers(list(supervisors.values()))
            yield McpEnvironment(self, task, workspace, supervisors)
        finally:
            own_supervisors = [keeper for keeper in supervisors.values() if keeper.server.stateful]
            try:
                await asyncio.gather(*(keeper.stop() for keeper in own_supervisors))
            finally:
                resource_usage.remove_folder(workspace)

    @property
    def shared_folder(self) -> Path:
        """The folder of the servers that all episodes share."""
        assert self._folder is not None
        return self._folder / "shared"

    def shared_tools(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Return the one tuple that equals this one: models encode each tuple once."""
        return self._tool_tuples.setdefault(msgspec.json.encode(tools), tools)

    def _needed_servers(self, task: Task) -> list[ServerStatus]:
        if self.is_idle:
            return []
        names = _server_names(task, [known.server for known in self._statuses.values()])
        lacking = {
            name: self._statuses[name].missing if name in self._statuses else "not configured"
            for name in names
            if name not in self._statuses or self._statuses[name].missing
        }
        if lacking:
            reasons = join_reasons(lacking)
            raise ToolEnvironmentError(f"MCP servers that the task needs cannot run: {reasons}")
        return [self._statuses[name] for name in names]

    def _supervisor(self, status: ServerStatus, workspace: Path) -> ServerSupervisor:
        if status.server.stateful:
            return ServerSupervisor(status, workspace)
        name = status.server.name
        if name not in self._shared:
            self.shared_folder.mkdir(exist_ok=True)
            self._shared[name] = ServerSupervisor(status, self.shared_folder)
        return self._shared[name]

    def _fill_workspace(self, task: Task, workspace: Path) -> None:
        """Copy the task's pictures to `images/`, then call `prepare`."""
        names = read_mcp_data(task).images
        for index, picture in enumerate(task_pictures(task)):
            default_name = f"{index + 1}{_SUFFIX.get(picture.mime, '')}"
            name = names[index] if index < len(names) else default_name
            if not _FILE_NAME.fullmatch(name):
                raise ToolEnvironmentError(
                    f"task {task.id}: data.images: not a file name: {name!r}"
                )
            path = workspace / "images" / name
            path.parent.mkdir(exist_ok=True)
            try:
                path.write_bytes(self.media.read(picture))
            except DataError as error:  # specific to this task: the other tasks have their pictures
                raise ToolEnvironmentError(f"task {task.id}: {error}") from None
        if self.prepare is not None:
            self.prepare(task, workspace)


def servers_that_cannot_run(
    servers: Sequence[ServerConfig], tasks: Iterable[Task]
) -> dict[str, str]:
    """Return what the servers that these tasks need lack to run, by server.

    A second line says which tasks need it. No server is started for this.
    """
    wanted: dict[str, dict[str, None]] = {}
    for task in tasks:
        for name in _server_names(task, servers):
            wanted.setdefault(name, {})[task.id] = None
    known = {server.name: server for server in servers}
    found: dict[str, str] = {}
    for name, ids in wanted.items():
        if (
            why := server_launch.describe_missing(known[name])
            if name in known
            else "not configured"
        ):
            found[name] = f"{why}\n{_describe_tasks(list(ids))}"
    return found


def _describe_tasks(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MAX_NAMED_TASKS} more" if len(ids) > _MAX_NAMED_TASKS else ""
    head = "the task that needs it is" if len(ids) == 1 else f"{len(ids)} tasks that need it are"
    return f"{head} not run: {', '.join(ids[:_MAX_NAMED_TASKS])}{more}"


def _server_names(task: Task, servers: Sequence[ServerConfig]) -> list[str]:
    """Return the servers that a task needs: those that it names, else all that are enabled."""
    enabled = [server.name for server in servers if not server.disabled]
    named = read_mcp_data(task).servers
    return list(dict.fromkeys(enabled if named is None else named))


async def _start_servers(supervisors: Sequence[ServerSupervisor]) -> None:
    found = await asyncio.gather(
        *(keeper.running_session() for keeper in supervisors), return_exceptions=True
    )
    faults = [fault for fault in found if isinstance(fault, BaseException)]
    for fault in faults:
        if not isinstance(fault, ToolEnvironmentError):
            raise fault
    if faults:
        raised = next(
            (type(fault) for fault in faults if isinstance(fault, SandboxError)),
            ToolEnvironmentError,
        )
        raise raised(_join_reasons(dict.fromkeys(map(str, faults))))


def _join_reasons(reasons: Iterable[str]) -> str:
    """Return several reasons as one: their first lines joined, their other lines below."""
    parts = [reason.partition("\n") for reason in reasons]
    heads = "; ".join(head for head, _, _ in parts)
    return "\n".join([heads, *(rest for _, _, rest in parts if rest)])


class McpEnvironment(Environment):
    """The environment of one episode: its servers. `workspace` is the real folder."""

    def __init__(
        self,
        factory: McpServersFactory,
        task: Task,
        workspace: Path,
        supervisors: Mapping[str, ServerSupervisor],
    ) -> None:
        self.factory = factory
        self.task = task
        self.workspace: Path = workspace
        self.supervisors = supervisors
        self.max_parallel_calls = factory.max_parallel_calls
        self._tool_list: tuple[Tool, ...] = ()
        self._listed: dict[str, dict[str, Tool]] = {}

    def tools_changed(self) -> bool:
        """Return whether a server may have other tools since they were last listed."""
        return any(keeper.tools_may_differ for keeper in self.supervisors.values())

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers as `server/tool`, as they are listed now."""
        if self._tool_list and not self.tools_changed():
            return self._tool_list
        listed = [await self._server_tools(keeper) for keeper in self.supervisors.values()]
        self._tool_list = self.factory.shared_tools(
            tuple(tool for tools in listed for tool in tools.values())
        )
        return self._tool_list

    async def call(self, call: Call, /) -> Result:
        """Call a tool of a server. Raises ToolEnvironmentError when the server is lost."""
        server, _, name = call.name.partition("/")
        supervisor = self.supervisors.get(server)
        if supervisor is None or call.name not in await self._server_tools(supervisor):
            return result_content.error_result(
                f"Unknown tool: {json_codec.restore_surrogates(call.name)}"
            )
        arguments = _parse_arguments(call.arguments)
        if isinstance(arguments, str):
            return result_content.error_result(arguments)
        session = await supervisor.running_session()
        try:
            answer = await supervisor.call(
                json_codec.restore_surrogates(name), self._to_real_paths(arguments, supervisor)
            )
            result = result_content.convert_result(answer, self.factory.media)
            result = result_content.cut_result(result, supervisor.server.result_chars)
        except CallRefused as refused:
            result = result_content.error_result(str(refused))
        if result.is_error and (advice := session.denial_advice(result.text, call.arguments)):
            supervisor.status.add_note(session.launch.redact_secrets(advice))
        return self._to_model_result(result, session.launch.redact_secrets)

    async def final_state(self) -> Any:
        """Return what the suite reads from the workspace, or None.

        Raises SandboxError where a server was ended for a limit that it passed.
        """
        # the watch may not have measured since the last call
        await asyncio.to_thread(self._enforce_limits)
        for keeper in self.supervisors.values():
            keeper.check_limits()
        if self.factory.state is None:
            return None
        return await asyncio.to_thread(self.factory.state, self.task, self.workspace)

    def _enforce_limits(self) -> None:
        folders: dict[Any, tuple[int, int]] = {}
        for supervisor in self.supervisors.values():
            if supervisor.watched_sandbox is not None:
                SANDBOX_WATCH.enforce_limits(supervisor.watched_sandbox, folders)

    async def _server_tools(self, supervisor: ServerSupervisor) -> dict[str, Tool]:
        """Return the tools of one server by their full names, and note what is left out."""
        name = supervisor.server.name
        if name in self._listed and not supervisor.tools_may_differ:
            return self._listed[name]
        tools: dict[str, Tool] = {}
        listed = await supervisor.tools()
        session = await supervisor.running_session()
        redact = session.launch.redact_secrets
        if session.truncation_note:
            supervisor.status.add_note(session.truncation_note)
        names = result_content.listed_names(listed)
        for pattern in supervisor.server.unmatched_patterns(names):
            supervisor.status.add_note(f"no tool that it lists matches {pattern!r}")
        for entry in listed:
            tool = result_content.convert_tool(name, entry)
            if isinstance(tool, str):
                supervisor.status.add_note(redact(tool))
            elif not supervisor.server.offers_tool(tool.name.removeprefix(f"{name}/")):
                continue
            elif tool.name in tools:
                note = f"tool {tool.name!r} is listed twice; the first is offered"
                supervisor.status.add_note(redact(note))
            else:
                tools[tool.name] = self._to_model_tool(tool, redact)
        if name not in self._listed:  # a later list depends on what was done to the server
            supervisor.status.add_description(
                server_identity.describe_server(*session.server_info, tuple(tools.values()))
            )
        self._listed[name] = tools
        return tools

    def _to_real_paths(self, value: Any, supervisor: ServerSupervisor) -> Any:
        """Replace the folders that the model sees by the real ones."""
        real_folders = {MODEL_WORKSPACE: str(self.workspace)}
        if not supervisor.server.stateful:
            real_folders[MODEL_SHARED] = str(supervisor.workspace)
        return _map_texts(
            value, lambda text: _MODEL_PATH.sub(lambda at: real_folders.get(at[0], at[0]), text)
        )

    def _to_model_text(self, text: str, redact: Callable[[str], str]) -> str:
        text = text.replace(str(self.workspace), MODEL_WORKSPACE)
        return redact(text.replace(str(self.factory.shared_folder), MODEL_SHARED))

    def _to_model_result(self, result: Result, redact: Callable[[str], str]) -> Result:
        """Replace the real folders by those that the model sees, and blank secrets."""
        parts = tuple(
            Text(self._to_model_text(part.text, redact)) if isinstance(part, Text) else part
            for part in result.parts
        )
        return replace(
            result,
            parts=parts,
            structured=_map_texts(
                result.structured, lambda text: self._to_model_text(text, redact)
            ),
        )

    def _to_model_tool(self, tool: Tool, redact: Callable[[str], str]) -> Tool:
        """Do the same to a tool: a schema's defaults may contain paths and keys too.

        The name is not changed: the tool could not be called by another name.
        """
        return replace(
            tool,
            description=self._to_model_text(tool.description, redact),
            parameters=_map_texts(tool.parameters, lambda text: self._to_model_text(text, redact)),
        )


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list():
            return [_map_texts(item, change) for item in value]
        case dict():
            return {change(key): _map_texts(item, change) for key, item in value.items()}
        case _:
            return value


def _parse_arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments as an object that can be sent, or a text that says what is wrong."""
    if not text.strip():
        return {}
    try:
        found = json_codec.parse_json(json_codec.restore_surrogates(text))
    except json_codec.InvalidJson as error:
        return f"the arguments are not JSON: {error}"
    if found is None:
        return {}
    if not isinstance(found, dict):
        return "the arguments must be one JSON object"
    try:
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return "the arguments cannot be sent: a number is not finite, or a text is not Unicode"
    return found
