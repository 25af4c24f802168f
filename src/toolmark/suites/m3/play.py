"""How episodes of both M3 suites are played: by which agent, on which servers or which tape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from toolmark.agents.executor import Executor
from toolmark.agents.loop import loop
from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.dialects.staged import STAGED
from toolmark.errors import DataError, UsageError, near
from toolmark.media import Media
from toolmark.runs.suite import Agent
from toolmark.types import Dialect, Site, Task
from toolmark.worlds.cassette import Cassette
from toolmark.worlds.mcp import config
from toolmark.worlds.mcp.config import Server
from toolmark.worlds.mcp.site import Servers
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


@dataclass(frozen=True, slots=True)
class Stage:
    """Where episodes take place: among servers, on tape, or both.

    `prepare` fills a fresh workspace, `state` reads what is scored at its end.
    """

    servers: tuple[Server, ...]
    cassette: str = ""
    mode: str = "replay"
    prepare: Callable[[Task, Path], None] | None = None
    state: Callable[[Task, Path], Any] | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UsageError(f"no mode {self.mode!r}{near(self.mode, MODES)}")
        if self.cassette and self.mode == "replay" and not Path(self.cassette).is_file():
            raise UsageError(f"{self.cassette}: no such cassette; -T mode=record makes one")

    @asynccontextmanager
    async def site(self, media: Media) -> AsyncIterator[Site]:
        """Open the site of one run; a tape alone starts no server."""
        async with AsyncExitStack() as stack:
            live: Site | None = None
            if not (self.cassette and self.mode == "replay"):
                servers = Servers(self.servers, media, prepare=self.prepare, state=self.state)
                live = await stack.enter_async_context(servers)
            if not self.cassette:
                assert live is not None
                yield live
                return
            secrets = {text for server in self.servers for text in _secrets(server)}
            yield Recorded(
                live,
                Cassette(Path(self.cassette), tuple(sorted(secrets))),
                mode=cast(Mode, self.mode),
                media=media,
                stateful=[server.name for server in self.servers if server.stateful],
            )


def _secrets(server: Server) -> Sequence[str]:
    try:
        return config.launch(server, Path("/")).secrets
    except DataError:  # a server that cannot be started says nothing that could be recorded
        return ()
