"""What the marker `toolmark_suite` asks for: a suite, a model, and the settings of `tm.run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from toolmark import api
from toolmark.core import user_modules
from toolmark.core.errors import UsageError
from toolmark.runs import run_preparation, run_request, run_settings
from toolmark.runs.run_plan import Plan
from toolmark.runs.suite import Suite
from toolmark.runs.task_selection import select_tasks
from toolmark.suites import exported_sets

SuiteMaker: TypeAlias = Callable[..., Suite]
_PATH_SETTINGS = ("cache", "log_dir", "tasks")
# settings of `tm.run` that are not fields of its groups of settings
_OTHER_SETTINGS = (
    "tool_format", "selection", "sampling", "connection", "storage", "time_limit_s", "sandbox",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """One marked suite as it is run once in a session.

    - `key`: equal for equal requests, in every process of the session.
    - `settings`: the keywords of `tm.run`; paths are absolute.
    - `episodes`: the task ids and repeats that are scored.
    """

    key: str
    suite: Suite
    model: Any
    settings: Mapping[str, Any]
    episodes: tuple[tuple[str, int], ...]

    def selecting(self, ids: Collection[str]) -> Mapping[str, Any]:
        """Return the settings with which only these tasks are asked."""
        dropped = ("limit", "sample", "ids")
        others = {name: value for name, value in self.settings.items() if name not in dropped}
        return others | {"ids": tuple(ids)}


def make_request(
    suite: str | Suite | SuiteMaker,
    *,
    root: Path,
    model: Any,
    parameters: Mapping[str, Any] | None = None,
    **settings: Any,
) -> SuiteRequest:
    """Return the request of a marker; the suite is loaded, and no model is asked.

    `FILE.py:NAME` and other paths are relative to `root`. Raises UsageError for what no run can be
    asked with, and where tasks or model would differ from process to process.
    """
    if model is None:
        raise UsageError("toolmark_suite: no model; give model=MODEL, or pytest --toolmark-model")
    for name in _PATH_SETTINGS:
        if settings.get(name) is not None:
            settings[name] = str(root / os.fspath(settings[name]))
    settings.setdefault("log_dir", str(root / run_settings.DEFAULT_LOG_DIR))
    loaded = _load_suite(suite, root, parameters or {})
    loaded = exported_sets.adopt_exported_set(loaded, settings.get("tasks") or "")
    plan = _make_plan(loaded, model, settings)
    tasks = [
        task.id
        for task in select_tasks(loaded, plan, loaded.provenance.seed)
        if task.kind == "scored"
    ]
    return SuiteRequest(
        key=plan.hash,
        suite=loaded,
        model=model,
        settings=settings,
        episodes=tuple((task, repeat) for task in tasks for repeat in range(plan.repeats)),
    )


def _load_suite(
    suite: str | Suite | SuiteMaker, root: Path, parameters: Mapping[str, Any]
) -> Suite:
    if isinstance(suite, str):
        if user_modules.is_file_spec(suite):
            path, _, name = suite.rpartition(":")
            suite = f"{root / path}:{name}"
        return api.load(suite, **parameters)
    if isinstance(suite, Suite):
        if parameters:
            raise UsageError("toolmark_suite: parameters are for a suite that is loaded by name")
        return suite
    made: object = suite(**parameters)
    if not isinstance(made, Suite):
        raise UsageError(f"toolmark_suite: expected a suite, got {type(made).__name__}")
    return made


def _make_plan(suite: Suite, model: Any, settings: Mapping[str, Any]) -> Plan:
    """Return the plan of a request. Raises UsageError where processes would not agree on it."""
    flat = {name: value for name, value in settings.items() if name not in _OTHER_SETTINGS}
    chosen = run_settings.collect_settings(
        settings.get("selection"),
        settings.get("sampling"),
        settings.get("connection"),
        settings.get("storage"),
        flat,
    )
    plan, is_unique = run_request.make_plan(
        suite,
        model,
        run_preparation.tool_format_of(suite, settings.get("tool_format")),
        chosen.selection,
        chosen.sampling,
        chosen.connection,
    )
    if not is_unique:
        raise UsageError(
            f"toolmark_suite: {plan.model} has no name that other tests could know it by; give it "
            "a `.name`, or name it as module:attribute"
        )
    if plan.parameters.get("seed", 0) is None:
        raise UsageError(
            "toolmark_suite: the tasks would be drawn anew in each process; "
            "give parameters={'seed': 7}"
        )
    return plan
