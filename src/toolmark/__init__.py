"""toolmark: measure how well models act. Public names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolmark.api import arun, compare, load, open_run, rescore, run, write_report
    from toolmark.core.environment import Environment, EnvironmentFactory
    from toolmark.core.model import Control, Model
    from toolmark.core.records import Sampling, Score, Task, Trajectory
    from toolmark.runs.run_settings import Connection, Selection, Storage
    from toolmark.runs.suite import Suite

__version__ = "0.1.0"

_MODULE_BY_NAME = {
    "Connection": "toolmark.runs.run_settings",
    "Control": "toolmark.core.model",
    "Environment": "toolmark.core.environment",
    "EnvironmentFactory": "toolmark.core.environment",
    "Model": "toolmark.core.model",
    "Sampling": "toolmark.core.records",
    "Score": "toolmark.core.records",
    "Selection": "toolmark.runs.run_settings",
    "Storage": "toolmark.runs.run_settings",
    "Suite": "toolmark.runs.suite",
    "Task": "toolmark.core.records",
    "Trajectory": "toolmark.core.records",
    "arun": "toolmark.api",
    "compare": "toolmark.api",
    "load": "toolmark.api",
    "open_run": "toolmark.api",
    "rescore": "toolmark.api",
    "run": "toolmark.api",
    "write_report": "toolmark.api",
}
__all__ = [  # noqa: RUF022 - the order of use
    "load",
    "run",
    "arun",
    "open_run",
    "rescore",
    "compare",
    "write_report",
    "Selection",
    "Sampling",
    "Connection",
    "Storage",
    "Suite",
    "Environment",
    "EnvironmentFactory",
    "Model",
    "Control",
    "Task",
    "Trajectory",
    "Score",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'toolmark' has no attribute {name!r}")
    return getattr(import_module(_MODULE_BY_NAME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
