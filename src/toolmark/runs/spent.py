"""What a run took: requests, tokens and time, out of its own files.

Counted is what was answered. A request that was asked again counts once, with its last answer;
a reply out of `--cache` counts as it was told when it was new. Of an episode that was under way
when a run was killed nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from toolmark.errors import UsageError
from toolmark.runs.jsonl import records
from toolmark.runs.store import Run
from toolmark.types import Record, Usage


class Spent(Record, frozen=True, kw_only=True):
    """What the model took over all complete episodes, those that set others up included.

    Of its `tokens` reasoning is part of output, cached of input. `reply_s` sums how long replies
    took, `wall_s` how long the sittings lasted. On top of all that come the tokens of episodes
    that were broken off (`not_run`), of a simulated user and of judges, where these are models.
    `n_kept` of the requests were answered out of the cache.
    """

    n_episodes: int = 0
    n_requests: int = 0
    n_kept: int = 0
    tokens: Usage = Usage()
    reply_s: float = 0.0
    wall_s: float = 0.0
    not_run: Usage = Usage()
    user: Usage = Usage()
    judges: Usage = Usage()

    @property
    def each(self) -> float | None:
        """Tokens in and out per complete episode; None where nobody told any."""
        n = self.tokens.input + self.tokens.output
        return n / self.n_episodes if n else None


class _Ruling(Record, frozen=True, kw_only=True):
    usage: Usage = Usage()


class _Reply(Record, frozen=True, kw_only=True):
    usage: Usage = Usage()
    kept: bool = False


class _Step(Record, frozen=True, kw_only=True):
    reply: _Reply = _Reply()
    ruling: _Ruling | None = None


class _Line(Record, frozen=True, kw_only=True):
    """What an episode, an attempt or a judgement says of its cost: the rest is not decoded."""

    usage: Usage = Usage()
    steps: tuple[_Step, ...] = ()
    latency_s: float = 0.0


class _Sum:
    """Tokens on their way to a total."""

    def __init__(self) -> None:
        self.n = [0, 0, 0, 0]

    def add(self, used: Usage) -> None:
        """Add what one reply, or a whole episode, took."""
        found = (used.input, used.output, used.reasoning, used.cached)
        self.n = [have + more for have, more in zip(self.n, found, strict=True)]

    def told(self) -> Usage:
        """Return the total."""
        sent, said, thought, kept = self.n
        return Usage(input=sent, output=said, reasoning=thought, cached=kept)


def of(run: Run) -> Spent:
    """Sum what a run took. Raises DataError for a damaged file."""
    model, lost, user, judges = _Sum(), _Sum(), _Sum(), _Sum()
    n_episodes = n_requests = n_kept = 0
    reply_s = 0.0
    for line in run.episodes.records("trajectories", _Line):
        n_episodes += 1
        n_requests += len(line.steps)
        n_kept += sum(step.reply.kept for step in line.steps)
        reply_s += line.latency_s
        model.add(line.usage)
        _rulings(line, user)
    for line in run.episodes.records("attempts", _Line):
        for step in line.steps:
            lost.add(step.reply.usage)
        _rulings(line, user)
    for line in records(run.path / "judgements.jsonl", _Line, missing_ok=True):
        judges.add(line.usage)
    return Spent(
        n_episodes=n_episodes,
        n_requests=n_requests,
        n_kept=n_kept,
        tokens=model.told(),
        reply_s=round(reply_s, 3),
        wall_s=run.info.wall_s,
        not_run=lost.told(),
        user=user.told(),
        judges=judges.told(),
    )


def fields(spent: Spent) -> dict[str, Any]:
    """Return it as `summary.json` has it: the model's own in full, others where there are any."""
    others = {name: getattr(spent, name) for name in ("not_run", "user", "judges")}
    return {
        "n_episodes": spent.n_episodes,
        "n_requests": spent.n_requests,
        **({"n_kept": spent.n_kept} if spent.n_kept else {}),
        "tokens": msgspec.structs.asdict(spent.tokens),
        "reply_s": spent.reply_s,
        "wall_s": spent.wall_s,
        **{k: msgspec.structs.asdict(found) for k, found in others.items() if found != Usage()},
    }


def read(summary: Mapping[str, Any]) -> Spent:
    """Return what a summary says of it; nothing of one that was written before it did."""
    return msgspec.convert(summary.get("spent", {}), Spent)


def known(run: Run) -> Spent:
    """Return what a run took, from its summary where that tells it, else from its files."""
    try:
        summary = run.summary()
    except UsageError:
        return of(run)
    return read(summary) if "spent" in summary else of(run)


def _rulings(line: _Line, user: _Sum) -> None:
    for step in line.steps:
        if step.ruling is not None:
            user.add(step.ruling.usage)
