"""Names of runs on a page and in a terminal: the shortest that distinguish them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import PurePath
from typing import Any

import msgspec

from toolmark.core import json_codec
from toolmark.core.model import NO_MODEL
from toolmark.core.number_format import format_count
from toolmark.core.text_excerpt import shorten_text
from toolmark.reports.table_format import visible_text
from toolmark.runs.run_store import Run, RunInfo

MAX_SETTING_LENGTH = 30  # characters of a setting in a name


def short_model_name(model: str) -> str:
    """Return the part after the '#' of an address, any other model name in full."""
    address, _, name = model.partition("#")
    return name if name and address.startswith(("http://", "https://")) else model


def player_name(agent: str, model: str) -> str:
    """Return who plays: the model, the user's agent, or "AGENT with MODEL"."""
    if not agent:
        return short_model_name(model)
    file, _, name = agent.rpartition(":")
    agent = ":".join(filter(None, (PurePath(file).name, name)))
    return agent if model == NO_MODEL else f"{agent} with {short_model_name(model)}"


def model_host(model: str) -> str:
    """Return the host and port of an address, "" for any other model name."""
    scheme, sign, address = model.partition("://")
    return re.split("[/?#]", address)[0] if sign and scheme.startswith("http") else ""


def distinct_run_names(runs: Sequence[Run]) -> list[str]:
    """Name each run by its model; add host, suite and tool format where these distinguish runs.

    A part that is equal in all runs is omitted. Runs that are equal in all these parts also get
    the settings that differ between them, such as "mode=probs". If the names are still not
    distinct, all runs are named by their folders.
    """
    plans = [run.info.plan for run in runs]
    models = [player_name(plan.agent, plan.model) for plan in plans]
    hosts = [model_host(plan.model) for plan in plans]
    suites, tool_formats = [plan.suite for plan in plans], [plan.tool_format for plan in plans]
    more = [each for each in (hosts, suites, tool_formats) if len(set(each)) > 1]
    name_columns = [[models, *some] for n in range(len(more) + 1) for some in combinations(more, n)]
    candidates = [
        [" · ".join(filter(None, row)) for row in zip(*columns, strict=True)]
        for columns in name_columns
    ]
    for candidate in (*candidates, *(_extend_names(runs, names) for names in candidates)):
        if len(set(candidate)) == len(candidate):
            return [visible_text(name) for name in candidate]
    return [visible_text(run.path.name) for run in runs]


def distinct_model_names(runs: Sequence[Run]) -> list[str]:
    """Name each run's model, with its host where models at several hosts have the same name."""
    names_and_hosts = [
        (player_name(plan.agent, plan.model), model_host(plan.model))
        for plan in (run.info.plan for run in runs)
    ]
    hosts = {
        name: {at for other_name, at in names_and_hosts if other_name == name}
        for name, _ in names_and_hosts
    }
    return [
        visible_text(" · ".join(filter(None, (name, at if len(hosts[name]) > 1 else ""))))
        for name, at in names_and_hosts
    ]


def distinguishing_settings(runs: Sequence[Run], run_labels: Sequence[str]) -> list[dict[str, str]]:
    """Return for each run the settings that differ from runs of its suite with the same name."""
    keys = [(name, run.info.plan.suite) for name, run in zip(run_labels, runs, strict=True)]
    settings_by_run = [_run_settings(run) for run in runs]
    differences = []
    for key, settings in zip(keys, settings_by_run, strict=True):
        same_name = [
            other
            for other, other_key in zip(settings_by_run, keys, strict=True)
            if other_key == key
        ]
        differing = (n for n in settings if any(other.get(n) != settings[n] for other in same_name))
        differences.append(
            {visible_text(name): visible_text(_setting_text(settings[name])) for name in differing}
        )
    return differences


def _extend_names(runs: Sequence[Run], run_labels: Sequence[str]) -> list[str]:
    """Add to each name the settings that distinguish it."""
    settings = (
        ", ".join(f"{k}={v}" for k, v in each.items())
        for each in distinguishing_settings(runs, run_labels)
    )
    return [" · ".join(filter(None, pair)) for pair in zip(run_labels, settings, strict=True)]


def _run_settings(run: Run) -> dict[str, Any]:
    """Return a run's settings, the most informative first; unset ones are omitted."""
    plan = run.info.plan
    sampling = msgspec.to_builtins(plan.sampling)
    found = {
        **plan.parameters, **sampling, "tool_format": plan.tool_format, "agent": plan.agent,
        "user_model": plan.user.get("model", ""), "seed": run.info.seed,
        "repeats": plan.repeats, "limit": plan.limit, "sample": plan.sample, "tasks": plan.tasks,
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in _UNSET}


THOUGHT_SETTINGS = ("encrypted_reasoning", "reasoning_history")
"""The settings without which a model's thoughts do not go back to it."""
_UNSET: tuple[Any, ...] = (None, "", [], (), {})


def _setting_text(value: Any) -> str:
    text = (
        value
        if isinstance(value, str)
        else json_codec.encode_record(json_codec.to_plain_json(value)).decode()
    )
    return shorten_text(text, MAX_SETTING_LENGTH)


def suite_cause_label(suite_cause: str, failure_names: Mapping[str, str]) -> str:
    """Return a suite's own failure class, with the suite's description where it has one."""
    return visible_text(" ".join(filter(None, (suite_cause, failure_names.get(suite_cause, "")))))


def label_suite(suite: str, data_label: str) -> str:
    """Return a suite's name, and in brackets what its tasks are where they are not published."""
    return f"{suite} ({visible_text(data_label)})" if data_label else suite


def left_out_settings(info: RunInfo) -> Iterator[str]:
    """Yield a line each on settings and on thoughts that the server refused, and on unsent ones."""
    thoughts = [name for name in info.refused_settings if name in THOUGHT_SETTINGS]
    settings = [name for name in info.refused_settings if name not in THOUGHT_SETTINGS]
    if settings:
        yield f"the server refused {', '.join(settings)}: its own default was used"
    if thoughts:
        yield f"the server refused {', '.join(thoughts)}: no thoughts went back to the model"
    if info.unsent_settings:
        names = ", ".join(info.unsent_settings)
        yield f"not sent: {names}: this provider's profile leaves it out; its own default was used"


def sample_label(n: int | None) -> str:
    """Return how a sample of n was drawn, "" where all tasks were asked."""
    return f"a sample of {format_count(n)}, every category in proportion" if n else ""
