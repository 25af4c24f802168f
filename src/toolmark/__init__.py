"""toolmark: measure how well models act. Public names load on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolmark.agents.agent_session import AgentSession as AgentSession
    from toolmark.agents.simulated_user import simulated_user as simulated_user
    from toolmark.api import arun as arun
    from toolmark.api import compare as compare
    from toolmark.api import load as load
    from toolmark.api import open_run as open_run
    from toolmark.api import rejudge as rejudge
    from toolmark.api import rescore as rescore
    from toolmark.api import run as run
    from toolmark.api import write_report as write_report
    from toolmark.authoring.rows_suite import expected_calls as expected_calls
    from toolmark.authoring.rows_suite import read_jsonl as read_jsonl
    from toolmark.authoring.scorers import answer_matches as answer_matches
    from toolmark.authoring.scorers import match_calls as match_calls
    from toolmark.authoring.scorers import state_equals as state_equals
    from toolmark.authoring.suite_functions import suite as suite
    from toolmark.authoring.task_rows import read_tasks as read_tasks
    from toolmark.core.environment import Environment as Environment
    from toolmark.core.environment import EnvironmentFactory as EnvironmentFactory
    from toolmark.core.errors import ToolError as ToolError
    from toolmark.core.function_tools import tool as tool
    from toolmark.core.model import Control as Control
    from toolmark.core.model import Model as Model
    from toolmark.core.records import Call as Call
    from toolmark.core.records import Chart as Chart
    from toolmark.core.records import Label as Label
    from toolmark.core.records import Message as Message
    from toolmark.core.records import Reply as Reply
    from toolmark.core.records import Request as Request
    from toolmark.core.records import Result as Result
    from toolmark.core.records import Sampling as Sampling
    from toolmark.core.records import Score as Score
    from toolmark.core.records import Table as Table
    from toolmark.core.records import Task as Task
    from toolmark.core.records import Text as Text
    from toolmark.core.records import Tool as Tool
    from toolmark.core.records import Trajectory as Trajectory
    from toolmark.core.records import Turn as Turn
    from toolmark.core.records import Verdict as Verdict
    from toolmark.judging.rubric_scorer import judge as judge
    from toolmark.judging.scripted_judge import ScriptedJudge as ScriptedJudge
    from toolmark.runs.run_settings import Connection as Connection
    from toolmark.runs.run_settings import Selection as Selection
    from toolmark.runs.run_settings import Storage as Storage
    from toolmark.runs.suite import Suite as Suite
    from toolmark.scoring.episode import Episode as Episode
    from toolmark.scoring.episode_scorer import mean as mean
    from toolmark.scoring.episode_scorer import share as share
    from toolmark.scoring.score_rows import Row as Row
    from toolmark.scoring.score_rows import bar_chart as bar_chart
    from toolmark.scoring.score_rows import table as table

    __version__: str

_MODULE_BY_NAME = {
    "AgentSession": "toolmark.agents.agent_session",
    "answer_matches": "toolmark.authoring.scorers",
    "arun": "toolmark.api",
    "bar_chart": "toolmark.scoring.score_rows",
    "Call": "toolmark.core.records",
    "Chart": "toolmark.core.records",
    "check": "toolmark.api",
    "compare": "toolmark.api",
    "Connection": "toolmark.runs.run_settings",
    "Control": "toolmark.core.model",
    "Environment": "toolmark.core.environment",
    "EnvironmentFactory": "toolmark.core.environment",
    "Episode": "toolmark.scoring.episode",
    "expected_calls": "toolmark.authoring.rows_suite",
    "judge": "toolmark.judging.rubric_scorer",
    "Label": "toolmark.core.records",
    "load": "toolmark.api",
    "match_calls": "toolmark.authoring.scorers",
    "mean": "toolmark.scoring.episode_scorer",
    "Message": "toolmark.core.records",
    "Model": "toolmark.core.model",
    "open_run": "toolmark.api",
    "read_jsonl": "toolmark.authoring.rows_suite",
    "read_tasks": "toolmark.authoring.task_rows",
    "Reply": "toolmark.core.records",
    "Request": "toolmark.core.records",
    "rejudge": "toolmark.api",
    "rescore": "toolmark.api",
    "Result": "toolmark.core.records",
    "Row": "toolmark.scoring.score_rows",
    "run": "toolmark.api",
    "Sampling": "toolmark.core.records",
    "Score": "toolmark.core.records",
    "ScriptedJudge": "toolmark.judging.scripted_judge",
    "Selection": "toolmark.runs.run_settings",
    "share": "toolmark.scoring.episode_scorer",
    "simulated_user": "toolmark.agents.simulated_user",
    "state_equals": "toolmark.authoring.scorers",
    "Storage": "toolmark.runs.run_settings",
    "Suite": "toolmark.runs.suite",
    "suite": "toolmark.authoring.suite_functions",
    "Table": "toolmark.core.records",
    "table": "toolmark.scoring.score_rows",
    "Task": "toolmark.core.records",
    "Text": "toolmark.core.records",
    "Tool": "toolmark.core.records",
    "tool": "toolmark.core.function_tools",
    "ToolError": "toolmark.core.errors",
    "Trajectory": "toolmark.core.records",
    "Turn": "toolmark.core.records",
    "Verdict": "toolmark.core.records",
    "write_report": "toolmark.api",
}
__all__ = [  # noqa: RUF022 - the order of use
    "load",
    "run",
    "arun",
    "open_run",
    "rescore",
    "rejudge",
    "compare",
    "write_report",
    "check",
    "Selection",
    "Sampling",
    "Connection",
    "Storage",
    "suite",
    "Suite",
    "read_jsonl",
    "expected_calls",
    "read_tasks",
    "Environment",
    "tool",
    "ToolError",
    "EnvironmentFactory",
    "simulated_user",
    "state_equals",
    "match_calls",
    "answer_matches",
    "judge",
    "ScriptedJudge",
    "mean",
    "share",
    "table",
    "bar_chart",
    "Row",
    "Table",
    "Chart",
    "Model",
    "Control",
    "AgentSession",
    "Episode",
    "Task",
    "Turn",
    "Message",
    "Text",
    "Tool",
    "Call",
    "Request",
    "Reply",
    "Result",
    "Verdict",
    "Label",
    "Trajectory",
    "Score",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("toolmark.core.version").TOOLMARK_VERSION
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module 'toolmark' has no attribute {name!r}")
    return getattr(import_module(_MODULE_BY_NAME[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
