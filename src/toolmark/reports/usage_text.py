"""The usage of a run, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from toolmark.core import number_format
from toolmark.core.records import Usage
from toolmark.runs.costs.run_usage import RunUsage, usage_from_summary

MIN_SHOWN_S = 0.1  # shorter times are not shown
OTHER_LABELS = {
    "not_run": "episodes not run",
    "user": "the simulated user",
    "judges": "judges",
    "others": "requests that belong to no episode",
}
"""The parts of a run's usage and cost that are not the model's complete episodes."""


def summary_usage_line(summary: Mapping[str, Any]) -> str:
    """Return the usage of a run from its summary, "" where the summary has none."""
    return usage_line(usage_from_summary(summary))


def usage_line(usage: RunUsage) -> str:
    """Return the usage of the model, then of others; "" where no request was made."""
    if not usage.n_requests and not usage.n_unanswered and not any(_other_usage_texts(usage)):
        return ""
    requests_label = number_format.pluralize(usage.n_requests, "request")
    if usage.n_from_cache:
        requests_label += (
            f" ({number_format.format_count(usage.n_from_cache)} answered from the cache)"
        )
    model = f"{requests_label}, {_tokens_text(usage.tokens)}"
    others = *_other_usage_texts(usage), *_unanswered_texts(usage)
    return "; ".join([model, *_time_texts(usage), *others])


def tokens_per_episode(a: RunUsage, b: RunUsage) -> str:
    """Return the tokens per complete episode of two runs, "" where both are unknown."""
    if a.tokens_per_episode is None and b.tokens_per_episode is None:
        return ""
    labels = (
        number_format.DASH
        if x.tokens_per_episode is None
        else number_format.format_count(round(x.tokens_per_episode))
        for x in (a, b)
    )
    return "A {}, B {}".format(*labels)


def _tokens_text(usage: Usage) -> str:
    if usage == Usage():
        return "no token counts"
    cache_notes = []
    if usage.cached:
        share = (
            f" = {number_format.format_percent(usage.cached / usage.input)}" if usage.input else ""
        )
        cache_notes.append(f"{number_format.format_count(usage.cached)}{share} cached")
    if usage.cache_written:
        cache_notes.append(f"{number_format.format_count(usage.cache_written)} put in the cache")
    cached_note = f" ({', '.join(cache_notes)})" if cache_notes else ""
    reasoning_note = (
        f" ({number_format.format_count(usage.reasoning)} reasoning)" if usage.reasoning else ""
    )
    n_input = number_format.format_count(usage.input)
    n_output = number_format.format_count(usage.output)
    return f"tokens {n_input} in{cached_note}, {n_output} out{reasoning_note}"


def _time_texts(usage: RunUsage) -> Iterator[str]:
    if usage.wall_s >= MIN_SHOWN_S:
        yield f"{number_format.format_duration(usage.wall_s)} in all"
    if usage.n_episodes and usage.reply_s >= MIN_SHOWN_S * usage.n_episodes:
        reply_time = number_format.format_duration(usage.reply_s / usage.n_episodes)
        yield f"replies {reply_time} per episode"


def _unanswered_texts(usage: RunUsage) -> Iterator[str]:
    if usage.n_unanswered:
        requests = number_format.pluralize(usage.n_unanswered, "request")
        yield f"{requests} without a usable answer may have been charged too"


def _other_usage_texts(usage: RunUsage) -> Iterator[str]:
    for name, label in OTHER_LABELS.items():
        found: Usage = getattr(usage, name)
        if found != Usage():
            yield f"in addition {label}: {_tokens_text(found)}"
