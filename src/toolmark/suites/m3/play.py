"""How episodes of both M3 suites are played: by which agent, on which servers or which tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from toolmark import fetch
from toolmark.agents.executor import Executor
from toolmark.agents.loop import loop
from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.dialects.staged import STAGED
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.runs.suite import Agent
from toolmark.types import Dialect, Image, Site, Task
from toolmark.worlds import cassette as tapes
from toolmark.worlds.cassette import Cassette, Head
from toolmark.worlds.mcp import config, identity, sandbox
from toolmark.worlds.mcp.config import Server
from toolmark.worlds.mcp.site import Servers, unable
from toolmark.worlds.recorded import Mode, Recorded

MODES = ("replay", "record", "auto")
AGENTS: dict[str, Agent] = {"loop": loop, "executor": Executor()}


def agent(name: str) -> Agent:
    """Return the agent of that name. Raises UsageError."""
    if name not in AGENTS:
        raise UsageError(f"no agent {name!r}{near(name, AGENTS)}")
    return AGENTS[name]


def dialects(name: str) -> dict[str, Dialect]:
    """Return the dialects that the agent of that name can be asked in."""
    if name == "executor":
        return {STAGED.name: STAGED}
    return {"native": NATIVE, "prompt": Prompt()}


def start(task: Task) -> Any:
    """Return what the servers' answers to a task rest on: its pictures, and the files it has.

    Not how it is asked or scored: one recording serves every agent, prompt and encoder.
    """
    said = [part for turn in task.turns for message in turn.messages for part in message.parts]
    held = task.reference if isinstance(task.reference, Mapping) else {}
    pictures = [part.sha256 for part in said if isinstance(part, Image)]
    return [pictures, *(held.get(key) for key in ("images", "files", "repository"))]


@dataclass(frozen=True, slots=True)
class Stage:
    """Where episodes take place: among servers, on tape, or both.

    `prepare` fills a fresh workspace, `state` reads what is scored at its end. `head` is what the
    tasks are made of: a tape that holds others is refused. `instance` tells what of a task its
    recording rests on; None follows any recording of its id. `keys` are files that hold answers:
    no server sees them.
    """

    servers: tuple[Server, ...]
    cassette: str = ""
    mode: str = "replay"
    prepare: Callable[[Task, Path], None] | None = None
    state: Callable[[Task, Path], Any] | None = None
    head: Head | None = None
    instance: Callable[[Task], Any] | None = start
    keys: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"no mode {self.mode!r}{near(self.mode, MODES)}")
        if self.cassette and self.mode == "replay" and not Path(self.cassette).is_file():
            raise UsageError(f"{self.cassette}: no such cassette; -T mode=record makes one")
        if self.cassette and self.mode == "replay" and self.head is not None:
            tapes.check(Path(self.cassette), self.head)

    @property
    def live(self) -> bool:
        """Whether processes of servers may be started."""
        taped = self.cassette and self.mode == "replay"
        return not taped and any(not server.url for server in self.servers)

    def missing(self, tasks: Iterable[Task]) -> dict[str, str]:
        """Return what the servers that these tasks need lack to run; a tape may do without them."""
        return {} if self.cassette and self.mode != "record" else unable(self.servers, tasks)

    def hashes(self) -> dict[str, str]:
        """Return the hashes of what answers: the servers' configuration, a tape that is replayed.

        A tape that is recorded on changes with every episode, so it does not count.
        """
        found = {"servers": identity.digest(self.servers)} if self.servers else {}
        if self.cassette and self.mode == "replay":
            found["cassette"] = fetch.digest(Path(self.cassette))
        return found

    @asynccontextmanager
    async def site(self, media: Media) -> AsyncIterator[Site]:
        """Open the site of one run; a tape alone starts no server."""
        async with AsyncExitStack() as stack:
            live: Site | None = None
            if not (self.cassette and self.mode == "replay"):
                stack.enter_context(sandbox.hiding(*self.keys))
                servers = Servers(self.servers, media, prepare=self.prepare, state=self.state)
                live = await stack.enter_async_context(servers)
            yield live if live is not None and not self.cassette else self._recorded(live, media)

    def _recorded(self, live: Site | None, media: Media) -> Recorded:
        secrets = {text for server in self.servers for text in config.secrets(server)}
        return Recorded(
            live,
            Cassette(Path(self.cassette), tuple(sorted(secrets))),
            mode=cast(Mode, self.mode),
            media=media,
            stateful=[server.name for server in self.servers if server.stateful],
            instance=self.instance,
            head=self.head,
        )
