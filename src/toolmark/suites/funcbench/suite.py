"""FuncBenchGen: hidden graphs of functions, generated fresh (arXiv 2509.26553)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from toolmark.dialects.native import Native
from toolmark.errors import UsageError
from toolmark.runs.suite import Scorer, Suite
from toolmark.suites.funcbench import instruments, presets, report, score, views
from toolmark.suites.funcbench.data import SUITE, Variant, tasks
from toolmark.suites.funcbench.graph import Knobs, check
from toolmark.types import Sampling, Site, Task
from toolmark.worlds.dag import Dags

SCORER = Scorer(
    readings=score.READINGS,
    score=score.score,
    metrics=report.metrics,
    tables=report.tables,
    views=views.views,
)
_CORE, _DEPTH, _GRAPHS = 10, 5, 20


def load(
    *,
    preset: str = "",
    core: int = _CORE,
    depth: int = _DEPTH,
    connected: int = 0,
    disconnected: int = 0,
    graphs: int | None = None,
    types: int | None = None,
    max_inputs: int | None = None,
    root_inputs: int = 1,
    known_distractor_inputs: bool = True,
    restate: bool = False,
    efforts: str = "",
    cap: bool = True,
    seed: int = 0,
) -> Suite:
    """Generate tasks of one size, or those of one of the paper's experiments.

    Args:
        preset: main, by-kind, by-depth, main-caption, no-extra, core40, effort, restate5 or
            restate10. It sets core, depth, connected and disconnected, which must then be left
            out; by-kind and by-depth are other names for main.
        core: functions that are needed; at least 2.
        depth: longest path to the target in edges; from 1 to core - 1.
        connected: irrelevant functions that take core variables; at least 0.
        disconnected: irrelevant functions apart from the core; at least 0.
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
        seed: same seed and knobs, same tasks.
    """
    given = Knobs(core=core, depth=depth, connected=connected, disconnected=disconnected)
    if preset and given != Knobs(core=_CORE, depth=_DEPTH):
        raise UsageError(
            f"preset {preset!r} sets core, depth, connected and disconnected: leave them out"
        )
    chosen = presets.find(preset) if preset else None
    sizes = tuple(presets.settings(chosen)) if chosen else (given,)
    settings = tuple(
        msgspec.structs.replace(
            size,
            types=types,
            max_inputs=max_inputs,
            root_inputs=root_inputs,
            known_distractor_inputs=known_distractor_inputs,
        )
        for size in sizes
    )
    for setting in settings:
        check(setting)
    if graphs is None:
        graphs = presets.GRAPHS if preset else _GRAPHS
    if graphs < 1:
        raise UsageError(f"graphs must be at least 1; got {graphs}")
    variants = _variants(chosen, efforts, restate)
    generated = Generated(settings, graphs, variants, seed, cap=cap)
    return _suite(generated, {k: v for k, v in locals().items() if k in load.__kwdefaults__})
