"""What the tests over MCP share: models by name, episodes played together, a site that stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from toolmark.agents.loop import loop
from toolmark.dialects.native import NATIVE
from toolmark.media import Media
from toolmark.models.baselines.eager import Eager
from toolmark.models.baselines.planner import Planner
from toolmark.suites.funcbench import instruments, remote
from toolmark.suites.funcbench.suite import load
from toolmark.types import Model, Sampling, Site, Task, Trajectory

Make = Callable[[Task], Model]


def faulty(fault: str, task: Task) -> Model:
    return instruments.faulty(task, 0, {"class": fault, "rate": "0.4"})


MODELS: dict[str, Make] = {
    "oracle": lambda task: instruments.oracle(task, 0, {}),
    "oracle, one by one": lambda task: instruments.oracle(task, 0, {"order": "call"}),
    "planner": lambda task: Planner(),
    "eager": lambda task: Eager(),
    **{fault: partial(faulty, fault) for fault in instruments.FAULTS},
}


def some(**knobs: Any) -> list[Task]:
    sizes = {"core": 6, "depth": 3, "connected": 3, "disconnected": 2, "graphs": 3, "seed": 4}
    return list(load(**(sizes | knobs)))


async def play(site: Site, tasks: Iterable[Task], make: Make, n: int = 8) -> list[Trajectory]:
    queue, found = iter(tasks), dict[str, Trajectory]()

    async def work() -> None:
        for task in queue:
            async with site.world(task, {}) as world:
                found[task.id] = await loop(task, make(task), NATIVE, world, Sampling())

    await asyncio.gather(*(work() for _ in range(n)))
    return [found[id] for id in sorted(found)]


class Stage:
    """A site over MCP that stays open, in an event loop of its own thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.site: Site
        self.over = asyncio.Event()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self._open(),))
        self.thread.start()
        assert self.ready.wait(60)

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(120)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join(60)
        self.loop.close()

    async def _open(self) -> None:
        async with remote.site(Media(self.folder)) as self.site:
            self.ready.set()
            await self.over.wait()
