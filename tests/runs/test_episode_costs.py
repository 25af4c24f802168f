"""What single episodes cost: shown, seen by scorers, and compared between two runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from tests.runs.priced_runs import COST, PRICE, ask, endpoint
from tests.servers import fake
from typer.testing import CliRunner

import toolmark as tm
from toolmark.cli import app
from toolmark.core.number_format import format_usd
from toolmark.core.records import Audio, Message, Turn
from toolmark.reports import cost_text, markdown_summary
from toolmark.runs.costs import run_usage
from toolmark.runs.run_store import Run
from toolmark.scoring.episode import Episode


def test_an_episode_is_shown_with_its_tokens_its_cost_and_whose_price_it_is(tmp_path: Path) -> None:
    with fake.in_thread(endpoint(completion_tokens_details={"reasoning_tokens": 3})) as server:
        run = ask(server, tmp_path, n=2, price=PRICE)
    shown = CliRunner().invoke(app.app, ["show", str(run.path), "sum-0"]).output
    assert "tokens 10 in (4 = 40.0 % cached), 5 out (3 reasoning)" in shown
    assert f"cost {format_usd(COST)}; prices: --price, {run.info.prices['model'].date}" in shown


def test_sound_with_a_price_of_its_own_makes_the_cost_of_its_episode_unknown(
    tmp_path: Path,
) -> None:
    with fake.in_thread(endpoint()) as server:
        run = ask(server, tmp_path, n=1, price=PRICE)
    task, trajectory = next(run.tasks()), next(run.trajectories())
    price = replace(run.info.prices["model"], priced_apart={"sound": 40.0})
    assert Episode(task, trajectory, price).cost == pytest.approx(COST)
    clip = Audio(sha256="0" * 64, mime="audio/wav", size_bytes=1)
    spoken = replace(task, turns=(Turn(messages=(Message(role="user", parts=(clip,)),)),))
    assert Episode(spoken, trajectory, price).cost is None
    used = run_usage.measure_episode_usage(spoken, trajectory.steps, {"model": price})
    assert used.cost is not None and "sound" in used.cost.unknown


def priced_tasks(run: Run) -> dict[str, list[float]]:
    """Return the costs of each task's episodes, as their replies say and the price counts."""
    price = run.info.prices["model"]
    found: dict[str, list[float]] = {}
    for trajectory in run.trajectories():
        cost = Episode(run.task(trajectory.task), trajectory, price).cost
        assert cost is not None
        found.setdefault(trajectory.task, []).append(cost)
    return found


def test_the_cost_per_task_is_compared_on_the_tasks_that_both_runs_have(tmp_path: Path) -> None:
    with fake.in_thread(endpoint()) as server:
        a = ask(server, tmp_path / "a", n=30, price=PRICE)
    counts = iter(range(1, 1000))

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        usage = {"prompt_tokens": 10, "completion_tokens": next(counts)}
        return await endpoint(**usage)(asked, writer)

    with fake.in_thread(behave) as server:
        b = ask(server, tmp_path / "b", n=20, price="500,1000", repeats=2)
    found = tm.compare(a, b)
    assert found.costs is not None and found.costs.n_pairs == 20
    costs_a, costs_b = priced_tasks(a), priced_tasks(b)
    differences = [np.mean(costs_a[task]) - np.mean(costs_b[task]) for task in costs_b]
    difference = found.costs.difference
    assert difference.value == pytest.approx(np.mean(differences))
    assert difference.value is not None
    assert difference.low is not None and difference.high is not None
    assert difference.low < difference.value < difference.high and not difference.is_share
    turned = tm.compare(b, a).costs
    assert turned is not None and turned.difference.value == pytest.approx(-difference.value)
    row = cost_text.usd_difference(difference)
    assert row in str(found) and row.count("$") == 3
    markdown_summary.append_comparison(found, tmp_path / "summary.md")
    assert row in (tmp_path / "summary.md").read_text()
    same = tm.compare(a, a).costs
    assert same is not None
    assert (same.difference.value, same.difference.low, same.difference.high) == (0, None, None)
