"""What the tests over MCP share: models by name, episodes played together, a site that stays."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import toolmark as tm
from toolmark.agents.tool_loop import run_tool_loop
from toolmark.baselines.backward_planner import BackwardPlanner
from toolmark.baselines.eager_caller import EagerCaller
from toolmark.core.environment import EnvironmentFactory
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Sampling, Task, Trajectory
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.suites.funcbench import funcbench_controls, mcp_environment

Make = Callable[[Task], Model]


def faulty(fault: str, task: Task) -> Model:
    return funcbench_controls.make_faulty(task, 0, {"class": fault, "rate": "0.4"})


MODELS: dict[str, Make] = {
    "oracle": lambda task: funcbench_controls.make_oracle(task, 0, {}),
    "oracle, one by one": lambda task: funcbench_controls.make_oracle(task, 0, {"order": "call"}),
    "planner": lambda task: BackwardPlanner(),
    "eager": lambda task: EagerCaller(),
    **{fault: partial(faulty, fault) for fault in funcbench_controls.FAULT_CLASSES},
}


def some(**parameters: Any) -> list[Task]:
    sizes = {"core": 6, "depth": 3, "connected": 3, "disconnected": 2, "graphs": 3, "seed": 4}
    return list(tm.load("funcbench", **(sizes | parameters)))


async def play(
    site: EnvironmentFactory, tasks: Iterable[Task], make: Make, n: int = 8
) -> list[Trajectory]:
    queue, found = iter(tasks), dict[str, Trajectory]()

    async def work() -> None:
        for task in queue:
            async with site.open_environment(task, {}) as world:
                found[task.id] = await run_tool_loop(
                    task, make(task), NATIVE_FORMAT, world, Sampling()
                )

    await asyncio.gather(*(work() for _ in range(n)))
    return [found[id] for id in sorted(found)]


class Stage:
    """A site over MCP that stays open, in an event loop of its own thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.site: EnvironmentFactory
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
        async with mcp_environment.open_mcp_environments(MediaStore(self.folder)) as self.site:
            self.ready.set()
            await self.over.wait()
