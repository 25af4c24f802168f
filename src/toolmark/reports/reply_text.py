"""Who answered, how fast, and what was changed of requests, as short text for terminal and page."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.core import number_format
from toolmark.core.number_format import format_count, format_duration
from toolmark.core.records import Reply
from toolmark.core.text_excerpt import shorten_text
from toolmark.reports import run_names
from toolmark.runs.reply_cautions import LOSSES, NAME_KINDS
from toolmark.runs.reply_facts import AnsweredNames, CountedTexts, ReplyFacts
from toolmark.runs.value_sample import Times

MIN_FOR_P95 = 20  # times, below which the longest one is the 95th percentile
MIN_FOR_P99 = 100
_MAX_EXAMPLE_CHARS = 60


def summary_lines(facts: ReplyFacts, model: str) -> Iterator[str]:
    """Yield the lines that the summary of a run has of its replies; `model` was asked.

    What is a caution of the run is not repeated, nor is the name under which the model was asked.
    """
    if answered := answered_text(facts, model):
        yield f"answered: {answered}"
    if speed := speed_text(facts):
        yield speed
    if noted := noted_text(facts):
        yield noted


def answered_text(facts: ReplyFacts, model: str = "") -> str:
    """Return the version, fingerprint and provider that answered, each where there is only one."""
    parts = []
    for field, label in NAME_KINDS.items():
        names: AnsweredNames = getattr(facts, field)
        if names.n_names == 1 and not _is_name_of(names.names[0].name, model):
            parts.append(f"{label} {names.names[0].name}")
    return ", ".join(parts)


def _is_name_of(name: str, model: str) -> bool:
    """Return whether an endpoint calls a model as the user does: openai/NAME, http://host#NAME."""
    return run_names.short_model_name(model) == name or model.endswith(f"/{name}")


def speed_text(facts: ReplyFacts) -> str:
    """Return the times and the rate of replies, "" where none was measured."""
    parts = []
    if facts.latency_s is not None:
        parts.append(f"latency {times_text(facts.latency_s)}")
    for label, times in (("token", facts.first_token_s), ("call", facts.first_call_s)):
        if times is not None:
            parts.append(f"first {label} p50 {format_duration(times.p50)}")
    if facts.streamed_tokens_per_s is not None:
        rate = rate_text(facts.streamed_tokens_per_s.p50)
        parts.append(f"{rate} output tokens/s after the first token")
    elif facts.tokens_per_s is not None:
        parts.append(f"{rate_text(facts.tokens_per_s.p50)} output tokens/s")
    return "; ".join(parts)


def times_text(times: Times) -> str:
    """Return "p50 0.4 s, p95 1.2 s, p99 3 s (n = 400)"; of few the longest one instead."""
    found = {"p50": times.p50, "p95": times.p95, "p99": times.p99}
    if times.n < MIN_FOR_P99:
        del found["p99"]
        found["longest"] = times.max
    if times.n < MIN_FOR_P95:
        del found["p95"]
    texts = (f"{name} {format_duration(seconds)}" for name, seconds in found.items())
    return f"{', '.join(texts)} (n = {format_count(times.n)})"


def rate_text(tokens_per_s: float) -> str:
    """Return a rate with three digits."""
    return number_format.format_short(tokens_per_s, 3)


def noted_text(facts: ReplyFacts) -> str:
    """Return what was changed of requests, and what was wrong with replies, with an example each.

    Lost thoughts are a caution, so that they are not repeated here.
    """
    parts = [
        f"{kind} changed in {_counted_text(found, facts.n_replies)}"
        for kind, found in facts.adaptations.items()
        if kind not in LOSSES
    ]
    if facts.defects is not None:
        parts.append(f"defects in {_counted_text(facts.defects, facts.n_replies)}")
    if facts.finish:
        words = (f"{word} {format_count(n)}" for word, n in facts.finish.items())
        parts.append(f"ended as {', '.join(words)}")
    return "; ".join(parts)


def _counted_text(found: CountedTexts, n_replies: int) -> str:
    example = next(iter(found.examples), "")
    counts = f"{format_count(found.n_replies)} of {format_count(n_replies)}"
    return f"{counts} ({shorten_text(example, _MAX_EXAMPLE_CHARS)})" if example else counts


def step_facts(reply: Reply) -> Iterator[tuple[str, str]]:
    """Yield what is known of one reply and shown small: a label and its text."""
    facts = {
        "answered by": reply.model,
        "fingerprint": reply.fingerprint,
        "provider": reply.upstream,
        "first token": _seconds_text(reply.first_token_s),
        "first call": _seconds_text(reply.first_call_s),
        "finish": reply.finish,
        "request": reply.request_id,
        "from": "the cache" if reply.from_cache else "",
    }
    yield from ((label, text) for label, text in facts.items() if text)


def change_lines(reply: Reply) -> list[str]:
    """Return what was changed of the request that a reply answers, a line for each change."""
    return [f"{each.kind}: {each.detail}" for each in reply.adaptations]


def _seconds_text(seconds: float | None) -> str:
    return "" if seconds is None else format_duration(seconds)
