"""Runs of small sums on a local server whose tokens have a price."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.runs import mini
from tests.servers import fake

import toolmark as tm
from toolmark.runs.costs import run_usage
from toolmark.runs.costs.run_costs import RunCost
from toolmark.runs.run_store import Run

PRICE = "1000,2000,100"  # US$ per million tokens
USAGE = {
    "prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4},
}  # fmt: skip
COST = (6 * 1000 + 4 * 100 + 5 * 2000) / 1e6


def endpoint(**usage: Any) -> fake.Behaviour:
    """Answer every sum whose number is even, with this usage."""

    async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> bool | None:
        number = int(asked.json["messages"][-1]["content"].split()[2])
        body = fake.reply({"role": "assistant", "content": str(number + 1 - number % 2)})
        return await fake.answer(200, body | {"usage": USAGE | usage})(asked, writer)

    return behave


def ask(server: fake.Server, log_dir: Path, n: int = 20, **settings: Any) -> Run:
    return tm.run(mini.load(n=n), f"{server.url}#m", log_dir=log_dir, **settings)


def cost_of(run: Run) -> RunCost:
    found = run_usage.run_usage(run).cost
    assert found is not None
    return found
