"""MCP servers as the surroundings of episodes: shared ones for the run, the others per episode.

Every episode has a folder of its own. A model sees it as `/workspace`, whatever its real place is:
paths in calls are turned into real ones, and real ones in results back, so that two runs of the
same episode read the same. So it is with `/shared`, where the shared servers are.
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

from toolmark import codec
from toolmark.errors import DataError, SandboxError, UsageError, WorldError, alike
from toolmark.media import Media
from toolmark.types import Call, Image, Result, Task, Text, Tool, World
from toolmark.worlds.mcp import config, content, identity, sandbox, usage
from toolmark.worlds.mcp.config import Server
from toolmark.worlds.mcp.keeper import Keeper, Ledger
from toolmark.worlds.mcp.limits import WATCH
from toolmark.worlds.mcp.session import Refused

SHOWN = "/workspace"
SHARED = "/shared"  # the folder of the servers that all episodes share
_PLACE = re.compile(r"(?<![\w.~-])/(?:workspace|shared)(?![\w.~-])")
_NAME = re.compile(r"[\w][\w .()+-]{0,199}")
_NAMED = 5  # ids of tasks that are not run for want of a server
_SUFFIX = {"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", "image/webp": ".webp"}


class Servers:
    """The site. Open it with `async with`; servers start when an episode first needs them.

    `starts`: how many may be starting at once; `at_once`: how many calls of one reply run at once.
    `prepare(task, workspace)` fills a fresh workspace, `state(task, workspace)` reads what is
    scored at its end; both run in a thread.
    """

    def __init__(
        self,
        servers: Sequence[Server],
        media: Media,
        *,
        starts: int = 8,
        at_once: int = 8,
        prepare: Callable[[Task, Path], None] | None = None,
        state: Callable[[Task, Path], Any] | None = None,
    ) -> None:
        self.media = media
        self.at_once = at_once
        self.prepare = prepare
        self.state = state
        gate = asyncio.Semaphore(starts)
        self._ledgers = {server.name: Ledger(server, gate) for server in servers}
        self._shared: dict[str, Keeper] = {}
        self._kits: dict[bytes, tuple[Tool, ...]] = {}
        self._home: Path | None = None

    def notes(self) -> dict[str, tuple[str, ...]]:
        """Return what happened to servers so far: failed starts, deaths, tools left out."""
        told = {name: known.told() for name, known in self._ledgers.items()}
        return {name: notes for name, notes in told.items() if notes}

    def known(self) -> dict[str, tuple[str, ...]]:
        """Return what each server that was started says it is: name, version, hash of its tools."""
        return {name: tuple(known.met) for name, known in self._ledgers.items() if known.met}

    async def __aenter__(self) -> Self:
        """Make the folder that all workspaces are in. Raises UsageError without a sandbox."""
        if any(not known.server.url for known in self._ledgers.values()):
            sandbox.require()
        self._home = Path(tempfile.mkdtemp(prefix="toolmark-")).resolve()
        return self

    async def __aexit__(self, *fault: object) -> None:
        """End the shared servers and remove the folder."""
        try:
            await asyncio.gather(*(keeper.stop() for keeper in self._shared.values()))
        finally:
            self._shared.clear()
            if self._home is not None:
                usage.remove(self._home)
                self._home = None

    @asynccontextmanager
    async def world(self, task: Task, needed: Mapping[str, Any], /) -> AsyncIterator[World]:
        """Give the task a workspace and its servers. Raises WorldError naming those that fail."""
        ledgers = self._needed(task)
        if self._home is None:
            raise UsageError("Servers: open the site with `async with` before asking for a world")
        workspace = Path(tempfile.mkdtemp(prefix="episode-", dir=self._home))
        keepers = {ledger.server.name: self._keeper(ledger, workspace) for ledger in ledgers}
        try:
            await asyncio.to_thread(self._fill, task, workspace)
            await _started(list(keepers.values()))
            yield Hosted(self, task, workspace, keepers)
        finally:
            own = [keeper for keeper in keepers.values() if keeper.server.stateful]
            try:
                await asyncio.gather(*(keeper.stop() for keeper in own))
            finally:
                usage.remove(workspace)

    @property
    def shared(self) -> Path:
        """The folder of the servers that all episodes share."""
        assert self._home is not None
        return self._home / "shared"

    def kit(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        """Return the one tuple that equals this one: models encode each tuple once."""
        return self._kits.setdefault(msgspec.json.encode(tools), tools)

    def _needed(self, task: Task) -> list[Ledger]:
        names = _names(task, [known.server for known in self._ledgers.values()])
        lacking = {
            name: self._ledgers[name].missing if name in self._ledgers else "not configured"
            for name in names
            if name not in self._ledgers or self._ledgers[name].missing
        }
        if lacking:
            told = alike(lacking)
            raise WorldError(f"MCP servers that the task needs cannot run: {told}")
        return [self._ledgers[name] for name in names]

    def _keeper(self, ledger: Ledger, workspace: Path) -> Keeper:
        if ledger.server.stateful:
            return Keeper(ledger, workspace)
        name = ledger.server.name
        if name not in self._shared:
            self.shared.mkdir(exist_ok=True)
            self._shared[name] = Keeper(ledger, self.shared)
        return self._shared[name]

    def _fill(self, task: Task, workspace: Path) -> None:
        """Copy the task's pictures to `images/`, then let the suite add what it wants."""
        names = tuple(_reference(task).get("images", ()))
        parts = [part for turn in task.turns for message in turn.messages for part in message.parts]
        pictures = [part for part in parts if isinstance(part, Image)]
        for index, picture in enumerate(pictures):
            plain = f"{index + 1}{_SUFFIX.get(picture.mime, '')}"
            name = names[index] if index < len(names) else plain
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise WorldError(f"task {task.id}: reference.images: not a file name: {name!r}")
            path = workspace / "images" / name
            path.parent.mkdir(exist_ok=True)
            try:
                path.write_bytes(self.media.read(picture))
            except DataError as error:  # this task's affair: the others have their pictures
                raise WorldError(f"task {task.id}: {error}") from None
        if self.prepare is not None:
            self.prepare(task, workspace)


def unable(servers: Sequence[Server], tasks: Iterable[Task]) -> dict[str, str]:
    """Return what the servers that these tasks need lack to run, by server.

    A second line says which tasks need it. Nothing is started for it.
    """
    wanted: dict[str, dict[str, None]] = {}
    for task in tasks:
        for name in _names(task, servers):
            wanted.setdefault(name, {})[task.id] = None
    known = {server.name: server for server in servers}
    found: dict[str, str] = {}
    for name, ids in wanted.items():
        if why := config.missing(known[name]) if name in known else "not configured":
            found[name] = f"{why}\n{_unmet(list(ids))}"
    return found


def _unmet(ids: Sequence[str]) -> str:
    rest = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    head = "the task that needs it is" if len(ids) == 1 else f"{len(ids)} tasks that need it are"
    return f"{head} not run: {', '.join(ids[:_NAMED])}{rest}"


def _names(task: Task, servers: Sequence[Server]) -> list[str]:
    """Return the servers that a task needs: those that it names, else all that are enabled."""
    enabled = [server.name for server in servers if not server.disabled]
    return list(dict.fromkeys(_reference(task).get("servers", enabled)))


def _reference(task: Task) -> Mapping[str, Any]:
    return task.reference if isinstance(task.reference, Mapping) else {}


async def _started(keepers: Sequence[Keeper]) -> None:
    found = await asyncio.gather(*(keeper.session() for keeper in keepers), return_exceptions=True)
    faults = [fault for fault in found if isinstance(fault, BaseException)]
    for fault in faults:
        if not isinstance(fault, WorldError):
            raise fault
    if faults:
        raised = next(
            (type(fault) for fault in faults if isinstance(fault, SandboxError)), WorldError
        )
        raise raised(_together(dict.fromkeys(map(str, faults))))


def _together(reasons: Iterable[str]) -> str:
    """Return several reasons as one: their first lines side by side, what more they say below."""
    parts = [reason.partition("\n") for reason in reasons]
    heads = "; ".join(head for head, _, _ in parts)
    return "\n".join([heads, *(rest for _, _, rest in parts if rest)])


class Hosted:
    """One episode among its servers. `workspace` is the real folder."""

    def __init__(
        self, site: Servers, task: Task, workspace: Path, keepers: Mapping[str, Keeper]
    ) -> None:
        self.site = site
        self.task = task
        self.workspace = workspace
        self.keepers = keepers
        self.at_once = site.at_once
        self._kit: tuple[Tool, ...] = ()
        self._listed: dict[str, dict[str, Tool]] = {}

    @property
    def changed(self) -> bool:
        """Whether the tools may have changed since they were last asked for; costs nothing."""
        return any(keeper.stale for keeper in self.keepers.values())

    async def tools(self) -> tuple[Tool, ...]:
        """Return the tools of all servers as `server/tool`, as they are listed now."""
        if self._kit and not self.changed:
            return self._kit
        listed = [await self._tools(keeper) for keeper in self.keepers.values()]
        self._kit = self.site.kit(tuple(tool for tools in listed for tool in tools.values()))
        return self._kit

    async def call(self, call: Call, /) -> Result:
        """Call a tool of a server. Raises WorldError when the server is lost for good."""
        server, _, name = call.name.partition("/")
        keeper = self.keepers.get(server)
        if keeper is None or call.name not in await self._tools(keeper):
            return content.failed(f"Unknown tool: {codec.restore(call.name)}")
        arguments = _arguments(call.arguments)
        if isinstance(arguments, str):
            return content.failed(arguments)
        session = await keeper.session()
        try:
            said = await keeper.call(codec.restore(name), self._inward(arguments, keeper))
            result = content.result(said, self.site.media)
        except Refused as refused:
            result = content.failed(str(refused))
        if result.is_error and (told := session.denied(result.text, call.arguments)):
            keeper.ledger.note(session.launch.clean(told))
        return self._outward(result, session.launch.clean)

    async def final_state(self) -> Any:
        """Return what the suite reads from the workspace, or nothing.

        Raises SandboxError where a server was ended for a limit that it passed.
        """
        await asyncio.to_thread(self._measure)  # the watch may not have looked since the last call
        for keeper in self.keepers.values():
            keeper.check_limits()
        if self.site.state is None:
            return None
        return await asyncio.to_thread(self.site.state, self.task, self.workspace)

    def _measure(self) -> None:
        folders: dict[Any, tuple[int, int]] = {}
        for keeper in self.keepers.values():
            if keeper.watched is not None:
                WATCH.look(keeper.watched, folders)

    async def _tools(self, keeper: Keeper) -> dict[str, Tool]:
        """Return the tools of one server by their full names, noting what is left out."""
        name = keeper.server.name
        if name in self._listed and not keeper.stale:
            return self._listed[name]
        tools: dict[str, Tool] = {}
        listed = await keeper.tools()
        session = await keeper.session()
        clean = session.launch.clean
        if session.cut:
            keeper.ledger.note(session.cut)
        for said in listed:
            tool = content.tool(name, said)
            if isinstance(tool, str):
                keeper.ledger.note(clean(tool))
            elif tool.name in tools:
                told = f"tool {tool.name!r} is listed twice; the first is offered"
                keeper.ledger.note(clean(told))
            else:
                tools[tool.name] = self._outward_tool(tool, clean)
        if name not in self._listed:  # what it lists later, it lists for what was done to it
            keeper.ledger.meet(identity.met(*session.about, tuple(tools.values())))
        self._listed[name] = tools
        return tools

    def _inward(self, value: Any, keeper: Keeper) -> Any:
        """Put the real folder where the model wrote the one it sees."""
        places = {SHOWN: str(self.workspace)}
        if not keeper.server.stateful:
            places[SHARED] = str(keeper.workspace)
        return _mapped(value, lambda text: _PLACE.sub(lambda at: places.get(at[0], at[0]), text))

    def _shown(self, text: str, clean: Callable[[str], str]) -> str:
        text = text.replace(str(self.workspace), SHOWN)
        return clean(text.replace(str(self.site.shared), SHARED))

    def _outward(self, result: Result, clean: Callable[[str], str]) -> Result:
        """Put the folder that the model sees where the real one stands, and blank secrets."""
        parts = tuple(
            Text(self._shown(part.text, clean)) if isinstance(part, Text) else part
            for part in result.parts
        )
        return replace(
            result,
            parts=parts,
            structured=_mapped(result.structured, lambda text: self._shown(text, clean)),
        )

    def _outward_tool(self, tool: Tool, clean: Callable[[str], str]) -> Tool:
        """Do the same to a tool: a schema's defaults may hold paths and keys too.

        Its name stays: by another one it could not be called.
        """
        return replace(
            tool,
            description=self._shown(tool.description, clean),
            parameters=_mapped(tool.parameters, lambda text: self._shown(text, clean)),
        )


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    match value:
        case str():
            return change(value)
        case list():
            return [_mapped(item, change) for item in value]
        case dict():
            return {change(key): _mapped(item, change) for key, item in value.items()}
        case _:
            return value


def _arguments(text: str) -> dict[str, Any] | str:
    """Return the arguments as an object that can be sent, or what is wrong with them."""
    if not text.strip():
        return {}
    try:
        found = codec.loads(codec.restore(text))
    except codec.BadJson as error:
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
