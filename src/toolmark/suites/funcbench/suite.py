"""FuncBenchGen: hidden graphs of functions, generated fresh (arXiv 2509.26553)."""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from types import ModuleType
from typing import Any

from msgspec.structs import replace

from toolmark import seeds
from toolmark.dialects.native import NATIVE
from toolmark.dialects.prompt import Prompt
from toolmark.errors import UsageError, near
from toolmark.media import Media
from toolmark.runs.suite import Scorer, Suite
from toolmark.score import align, alike, assign, structure
from toolmark.suites.funcbench import (
    answer,
    data,
    graph,
    instruments,
    mcp,
    presets,
    report,
    score,
    views,
)
from toolmark.suites.funcbench.data import SUITE, Variant, tasks
from toolmark.suites.funcbench.graph import Knobs, check
from toolmark.types import Sampling, Site, Task
from toolmark.worlds import dag
from toolmark.worlds.dag import Dags

SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=report.metrics,
    tables=report.tables,
    views=views.views,
)
_GRAPHS = 20
_SIZE = {"core": 10, "depth": 5, "connected": 0, "disconnected": 0}


def load(
    *,
    preset: str = "",
    core: int | None = None,
    depth: int | None = None,
    connected: int | None = None,
    disconnected: int | None = None,
    graphs: int | None = None,
    types: int | None = None,
    max_inputs: int | None = None,
    root_inputs: int = 1,
    known_distractor_inputs: bool = True,
    restate: bool = False,
    efforts: tuple[str, ...] = (),
    cap: bool = True,
    over: str = "",
    seed: int | None = None,
) -> Suite:
    """Generate tasks of one size, or those of one of the paper's experiments.

    Args:
        preset: main, by-kind, by-depth, main-caption, no-extra, core40, effort, restate5 or
            restate10. It sets core, depth, connected and disconnected, which must then be left
            out; by-kind and by-depth are other names for main.
        core: functions that are needed; at least 2. Default 10.
        depth: longest path to the target in edges; from 1 to core - 1. Default 5.
        connected: irrelevant functions that take core variables; at least 0. Default 0.
        disconnected: irrelevant functions apart from the core; at least 0. Default 0.
        graphs: graphs per setting; at least 1. Default 20; 5, as in the paper, with a preset.
        types: number of variable types; from 1 to the number of functions. Default a quarter of
            the variables, rounded up.
        max_inputs: most inputs of any function; at least root_inputs, and large enough for core
            functions to fit into the depth. Default no limit.
        root_inputs: given variables per function that no other function feeds; at least 1.
        known_distractor_inputs: give values for the inputs of disconnected functions too.
        restate: every result also repeats all values known so far. The restate presets ask each
            task both ways.
        efforts: reasoning efforts to ask each task with, separated by commas, out of minimal,
            low, medium and high. Default the model's own; minimal,medium for the preset effort.
        cap: end an episode after 2 * core calls, as the paper does.
        over: mcp plays every episode against a real server process that speaks MCP, and scores
            the alignment with the ideal schedule too. Default inside this process.
        seed: same seed and knobs, same tasks. Default a fresh one.
    """
    knobs = dict(locals())
    _check_over(over)
    chosen = presets.find(preset) if preset else None
    given = {name: knobs[name] for name in _SIZE if knobs[name] is not None}
    if chosen and given:
        raise UsageError("a preset sets core, depth, connected and disconnected: leave them out")
    sizes = _SIZE | given
    if chosen:
        # what the preset sets must not be on record with a value it did not use
        knobs = {name: value for name, value in knobs.items() if name not in _SIZE}
    else:
        knobs |= sizes
    size = Knobs(
        **sizes,
        types=types,
        max_inputs=max_inputs,
        root_inputs=root_inputs,
        known_distractor_inputs=known_distractor_inputs,
    )
    if graphs is None:
        graphs = presets.GRAPHS if chosen else _GRAPHS
    if graphs < 1:
        raise UsageError(f"graphs must be at least 1; got {graphs}")
    generated = Generated(
        _settings(chosen, size),
        graphs,
        _variants(chosen, efforts, restate),
        secrets.randbits(32) if seed is None else seed,
        cap=cap,
        over=over,
    )
    return _suite(generated, knobs | {"graphs": graphs})


def _suite(generated: Generated, knobs: dict[str, Any]) -> Suite:
    return Suite(
        name=SUITE,
        tasks=generated,
        scorer=SCORER,
        site=_remote if generated.over else _site,
        dialects={"native": NATIVE, "prompt": Prompt()},
        knobs=knobs,
        seed=generated.seed,
        sampling=Sampling(temperature=0.0, top_p=1.0),
        instruments={"oracle": instruments.oracle, "faulty": instruments.faulty},
        hashes=_hashes(),
    )


@cache
def _hashes() -> dict[str, str]:
    """Return the SHA-256 of the wording, and of the sources that score and that generate."""
    parts = {
        "prompt": data.WORDING,
        "scorer": _sources(score, answer, dag, mcp, align, alike, assign, structure),
        "generator": _sources(data, graph, presets, seeds),
    }
    return {
        name: hashlib.sha256("\0".join(texts).encode()).hexdigest() for name, texts in parts.items()
    }


def _sources(*modules: ModuleType) -> tuple[str, ...]:
    return tuple(inspect.getsource(module) for module in modules)


class Generated:
    """Tasks made as they are asked for: nothing grows with their number."""

    def __init__(
        self,
        settings: tuple[Knobs, ...],
        graphs: int,
        variants: tuple[Variant, ...],
        seed: int,
        *,
        cap: bool,
        over: str = "",
    ) -> None:
        self.settings = settings
        self.graphs = graphs
        self.variants = variants
        self.seed = seed
        self.cap = cap
        self.over = over

    def __len__(self) -> int:
        """Return the number of tasks."""
        return len(self.settings) * self.graphs * len(self.variants)

    def __iter__(self) -> Iterator[Task]:
        """Make the tasks: settings, then graphs, the variants of an item one after another."""
        for setting in self.settings:
            for number in range(self.graphs):
                made = tasks(setting, number, self.variants, self.seed, cap=self.cap)
                yield from map(_over_mcp, made) if self.over else made


def _settings(chosen: presets.Preset | None, size: Knobs) -> tuple[Knobs, ...]:
    """Return the sizes to generate, each of them possible."""
    sizes = presets.settings(chosen, size) if chosen else (size,)
    settings = tuple(sizes)
    for setting in settings:
        check(setting)
    return settings


def _variants(
    chosen: presets.Preset | None, efforts: tuple[str, ...], restate: bool
) -> tuple[Variant, ...]:
    """Cross the ways to restate with the efforts; what the preset fixes comes from it."""
    listed = presets.efforts(efforts or (chosen.efforts if chosen else ()))
    protocols = chosen.protocols if chosen else ("",)
    if restate and len(protocols) > 1:
        raise UsageError("this preset asks each task plain and restated: leave restate out")
    if restate:
        protocols = ("restate",)
    return tuple(
        Variant(effort=effort, protocol=protocol)
        for effort in listed or ("",)
        for protocol in protocols
    )


def _check_over(over: str) -> None:
    if over not in ("", mcp.OVER):
        raise UsageError(f"over: no way {over!r}{near(over, (mcp.OVER,))}")
    if over:
        mcp.require()


def _over_mcp(task: Task) -> Task:
    """Return the same task, id included, that says how it is played and of which kind it is."""
    return replace(task, axes=task.axes | mcp.axes(task))


@asynccontextmanager
async def _site(media: Media) -> AsyncIterator[Site]:
    yield Dags()


@asynccontextmanager
async def _remote(media: Media) -> AsyncIterator[Site]:
    from toolmark.suites.funcbench import remote  # needs the extra

    async with remote.site(media) as found:
        yield found
