"""What a run took, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.report import tables
from toolmark.runs.spent import Spent, read
from toolmark.stats import figures
from toolmark.types import Usage

SHORTEST_S = 0.1  # less is not worth telling
_BESIDE = {"not_run": "episodes not run", "user": "the simulated user", "judges": "judges"}


def told(summary: Mapping[str, Any]) -> str:
    """Say what a run took, out of its summary; "" where that does not tell."""
    return line(read(summary))


def line(spent: Spent) -> str:
    """Say what the model took, then what others took beside; "" where nothing was asked."""
    if not spent.n_requests and not any(_beside(spent)):
        return ""
    asked = tables.plural(spent.n_requests, "request")
    if spent.n_kept:
        asked += f" ({figures.count(spent.n_kept)} answered from the cache)"
    model = f"{asked}, {_tokens(spent.tokens)}"
    return "; ".join([model, *_times(spent), *_beside(spent)])


def both(a: Spent, b: Spent) -> str:
    """Return the tokens per complete episode of two runs, "" where neither tells any."""
    if a.each is None and b.each is None:
        return ""
    told = (figures.DASH if x.each is None else figures.count(round(x.each)) for x in (a, b))
    return "A {}, B {}".format(*told)


def _tokens(found: Usage) -> str:
    if found == Usage():
        return "no tokens told"
    kept = f" ({figures.count(found.cached)} cached)" if found.cached else ""
    thought = f" ({figures.count(found.reasoning)} reasoning)" if found.reasoning else ""
    sent, said = figures.count(found.input), figures.count(found.output)
    return f"tokens {sent} in{kept}, {said} out{thought}"


def _times(spent: Spent) -> Iterator[str]:
    if spent.wall_s >= SHORTEST_S:
        yield f"{span(spent.wall_s)} in all"
    if spent.n_episodes and spent.reply_s >= SHORTEST_S * spent.n_episodes:
        yield f"replies {spent.reply_s / spent.n_episodes:.1f} s per episode"


def _beside(spent: Spent) -> Iterator[str]:
    for name, who in _BESIDE.items():
        found: Usage = getattr(spent, name)
        if found != Usage():
            yield f"beside that {who}: {_tokens(found)}"


def span(seconds: float) -> str:
    """Word a stretch of time in its two greatest units."""
    if round(seconds, 1) < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
