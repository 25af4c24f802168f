"""What a run used: requests, tokens and time, from its own files.

Only answered requests are counted. A request that was repeated counts once, with its last answer. A
reply from `--cache` counts with the usage that was reported when it was new. Nothing is known of an
episode that was in progress when a run was killed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core.errors import UsageError
from toolmark.core.records import Record, Step, Task, UnusedReply, Usage
from toolmark.models.token_prices import ModelPrice, uncounted_media_in
from toolmark.runs import reply_facts
from toolmark.runs.costs import run_costs
from toolmark.runs.costs.run_costs import REFUSALS, CostEstimator, CostMeter, EpisodeCosts, RunCost
from toolmark.runs.record_files import read_records
from toolmark.runs.reply_facts import NO_FACTS, ReplyFacts
from toolmark.runs.run_store import Run


class RunUsage(Record, frozen=True, kw_only=True):
    """What the model used over all complete episodes, with those that set others up.

    Reasoning tokens are part of output, cached tokens part of input. `reply_s` is the total time of
    replies, `wall_s` the total time of all sessions of work on the run, both in seconds. Counted
    separately are the tokens of episodes that were broken off (`not_run`), of a simulated user, of
    judges, where these are models, and of requests that belong to no episode (`others`): checks of
    sound, and models that a suite asks itself. `n_unanswered` requests were sent and have no usable
    answer: they may have been charged. Of their cost and of what else is not known `--max-cost`
    counts `unanswered_usd`. `n_from_cache` of the requests were answered from the cache.
    `cost` is what all that cost; None where nothing has a price.
    `replies` says who answered and how fast.
    """

    n_episodes: int = 0
    n_requests: int = 0
    n_from_cache: int = 0
    tokens: Usage = Usage()
    reply_s: float = 0.0
    wall_s: float = 0.0
    not_run: Usage = Usage()
    user: Usage = Usage()
    judges: Usage = Usage()
    others: Usage = Usage()
    n_unanswered: int = 0
    unanswered_usd: float = 0.0
    cost: RunCost | None = None
    replies: ReplyFacts = NO_FACTS

    @property
    def tokens_per_episode(self) -> float | None:
        """Tokens in and out per complete episode; None where no usage was reported."""
        n = self.tokens.input + self.tokens.output
        return n / self.n_episodes if n else None


class _UserReply(Record, frozen=True, kw_only=True):
    usage: Usage = Usage()
    from_cache: bool = False


class _Step(Record, frozen=True, kw_only=True):
    reply: reply_facts.ReplyLine = reply_facts.ReplyLine()
    ruling: _UserReply | None = None
    opening: _UserReply | None = None
    asked: tuple[reply_facts.ReplyLine, ...] | None = None

    @property
    def model_replies(self) -> tuple[reply_facts.ReplyLine, ...]:
        return (self.reply,) if self.asked is None else self.asked


class _UsageLine(Record, frozen=True, kw_only=True):
    """The usage fields of an episode, an attempt or a judgement: the rest is not decoded."""

    task: str = ""
    repeat: int = 0
    usage: Usage = Usage()
    steps: tuple[_Step, ...] = ()
    unused: tuple[UnusedReply, ...] = ()
    latency_s: float = 0.0
    judge: str = ""
    from_cache: bool = False


class _UsageSum:
    """Sums tokens; costs are summed apart (`CostMeter`)."""

    def __init__(self) -> None:
        self._n_input = self._n_output = self._n_reasoning = self._n_cached = self._n_written = 0

    def add(self, usage: Usage) -> None:
        """Add what one reply, or a complete episode, used."""
        self._n_input += usage.input
        self._n_output += usage.output
        self._n_reasoning += usage.reasoning
        self._n_cached += usage.cached
        self._n_written += usage.cache_written

    def total(self) -> Usage:
        """Return the total."""
        return Usage(
            input=self._n_input,
            output=self._n_output,
            reasoning=self._n_reasoning,
            cached=self._n_cached,
            cache_written=self._n_written,
        )


def measure_run_usage(run: Run, estimate: CostEstimator | None = None) -> RunUsage:
    """Sum what a run used. Raises DataError for a damaged file.

    `estimate` makes costs per task and per success (`cost_estimates`).
    """
    prices = run.info.prices
    meter = CostMeter(prices, uncounted_media_in(run.tasks(), prices))
    model, not_run, user, judges, others = (_UsageSum() for _ in range(5))
    n_episodes = n_requests = n_from_cache = 0
    reply_s = 0.0
    facts = reply_facts.ReplyFactsCounter()
    has_prices = meter.has_prices
    for line in run.episodes.records("trajectories", _UsageLine):
        n_episodes += 1
        n_replies = 0
        reply_s += line.latency_s
        model.add(line.usage)
        episode = (line.task, line.repeat)
        may_cost = has_prices
        for step in line.steps:
            if step.opening is not None or step.ruling is not None:
                _add_user_usage(step, user)
                may_cost = True
            for reply in step.model_replies:
                n_replies += 1
                n_from_cache += reply.from_cache
                facts.add_reply(reply, episode)
                if reply.usage.cost is not None or reply.stop in REFUSALS:
                    may_cost = True
        n_requests += n_replies
        if may_cost:
            meter.by_episode[episode] = _add_costs(meter, "model", line.steps)
        else:
            has_counts = bool(line.usage.input or line.usage.output)
            meter.add_unpriced_episode(episode, n_replies, has_counts=has_counts)
    for line in run.episodes.records("attempts", _UsageLine):
        for step in line.steps:
            for reply in step.model_replies:
                not_run.add(reply.usage)
            _add_user_usage(step, user)
        _add_costs(meter, "not_run", line.steps)
        for each in line.unused:
            (user if each.by == "user" else not_run).add(each.usage)
            part = "user" if each.by == "user" else "not_run"
            meter.add_reply(part, each.by, each.usage, from_cache=each.from_cache, stop=each.stop)
    for line in read_records(run.path / "judgements.jsonl", _UsageLine, missing_ok=True):
        judges.add(line.usage)
        role = f"judge {line.judge}"
        if line.usage != Usage():
            meter.add_reply("judges", role, line.usage, from_cache=line.from_cache)
    unrecorded = run.info.unrecorded
    for found in unrecorded.others.values():
        others.add(found.usage)
        meter.add_others(found)
    return RunUsage(
        n_episodes=n_episodes,
        n_requests=n_requests,
        n_from_cache=n_from_cache,
        tokens=model.total(),
        reply_s=round(reply_s, 3),
        wall_s=run.info.wall_s,
        not_run=not_run.total(),
        user=user.total(),
        judges=judges.total(),
        others=others.total(),
        n_unanswered=unrecorded.n_unanswered,
        unanswered_usd=unrecorded.unanswered_usd,
        cost=meter.measure(estimate),
        replies=facts.count_facts(),
    )


def read_episode_costs(run: Run) -> EpisodeCosts:
    """Return what the model cost new in each complete episode. Raises DataError."""
    prices = run.info.prices
    meter = CostMeter(prices, uncounted_media_in(run.tasks(), prices))
    return {
        (line.task, line.repeat): _add_costs(meter, "model", line.steps)
        for line in run.episodes.records("trajectories", _UsageLine)
    }


def measure_episode_usage(
    task: Task, steps: Sequence[Step], prices: Mapping[str, ModelPrice]
) -> RunUsage:
    """Return what one episode used, and what that cost by the prices of its run."""
    meter = CostMeter(prices, uncounted_media_in([task], prices))
    model, user = _UsageSum(), _UsageSum()
    for step in steps:
        for reply in step.model_replies:
            model.add(reply.usage)
        _add_user_usage(step, user)
    _add_costs(meter, "model", steps)
    replies = [reply for step in steps for reply in step.model_replies]
    return RunUsage(
        n_episodes=1,
        n_requests=len(replies),
        n_from_cache=sum(reply.from_cache for reply in replies),
        tokens=model.total(),
        user=user.total(),
        cost=meter.measure(),
    )


def summary_fields(usage: RunUsage) -> dict[str, Any]:
    """Return the usage as in `summary.json`: the model's in full, others where there are any."""
    others = {name: getattr(usage, name) for name in ("not_run", "user", "judges", "others")}
    counts = {"n_unanswered": usage.n_unanswered, "unanswered_usd": usage.unanswered_usd}
    return {
        "n_episodes": usage.n_episodes,
        "n_requests": usage.n_requests,
        **({"n_from_cache": usage.n_from_cache} if usage.n_from_cache else {}),
        "tokens": _token_fields(usage.tokens),
        "reply_s": usage.reply_s,
        "wall_s": usage.wall_s,
        **{k: _token_fields(found) for k, found in others.items() if found != Usage()},
        **{name: n for name, n in counts.items() if n},
        **({"cost": run_costs.summary_fields(usage.cost)} if usage.cost is not None else {}),
    }


def _token_fields(usage: Usage) -> dict[str, int]:
    """Return the counts; what they cost is a field of its own."""
    return {name: n for name, n in msgspec.structs.asdict(usage).items() if name != "cost"}


def usage_from_summary(summary: Mapping[str, Any]) -> RunUsage:
    """Return the usage in a summary; zeros for a summary written before usage was recorded."""
    used = msgspec.convert(summary.get("spent", {}), RunUsage)
    return msgspec.structs.replace(used, replies=reply_facts.facts_from_summary(summary))


def run_usage(run: Run) -> RunUsage:
    """Return what a run used, from its summary where that has it, else from its files."""
    try:
        summary = run.summary()
    except UsageError:
        return measure_run_usage(run)
    return usage_from_summary(summary) if "spent" in summary else measure_run_usage(run)


def _add_user_usage(step: _Step | Step, user: _UsageSum) -> None:
    for said in (step.opening, step.ruling):
        if said is not None:
            user.add(said.usage)


def _add_costs(meter: CostMeter, part: str, steps: Sequence[_Step | Step]) -> float | None:
    """Count the replies of an episode, and those of its user; return what the model cost new."""
    total: float | None = 0.0
    for step in steps:
        for reply in step.model_replies:
            cost = meter.add_reply(
                part, "model", reply.usage, from_cache=reply.from_cache, stop=reply.stop
            )
            total = None if cost is None or total is None else total + cost
        for said in (step.opening, step.ruling):
            if said is not None and said.usage != Usage():
                meter.add_reply("user", "user", said.usage, from_cache=said.from_cache)
    return total
