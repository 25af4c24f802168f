"""Tables of who answered, how fast, and what was changed of requests: of one run, or of two."""

from __future__ import annotations

from collections.abc import Iterator

from toolmark.core import number_format
from toolmark.core.number_format import format_count
from toolmark.core.records import Cell, Table
from toolmark.core.text_excerpt import shorten_text
from toolmark.reports import reply_text
from toolmark.reports.table_format import visible_text
from toolmark.runs.reply_cautions import MAX_NAMED, NAME_KINDS, describe_change
from toolmark.runs.reply_facts import AnsweredName, AnsweredNames, ReplyFacts
from toolmark.runs.value_sample import Rates, Times

_TIME_LABELS = {
    "latency_s": "latency",
    "first_token_s": "first token",
    "first_call_s": "first call",
}
_RATE_LABELS = {
    "tokens_per_s": "of the latency",
    "streamed_tokens_per_s": "after the first token",
}
MAX_SHARE_DIFFERENCE = 0.05  # of changed requests, up to which two runs were asked alike
MAX_EXAMPLE_CHARS = 80
_QUANTILE_NOTE = "Percentiles by nearest rank, without replies from the cache."


def run_tables(facts: ReplyFacts) -> Iterator[Table]:
    """Yield the tables of one run; none where nothing is known of its replies."""
    yield from filter(
        lambda table: table.rows,
        (_answered_table(facts), _times_table(facts), _rates_table(facts), _noted_table(facts)),
    )


def _answered_table(facts: ReplyFacts) -> Table:
    rows: list[tuple[Cell, ...]] = []
    n_more = 0
    for field, label in NAME_KINDS.items():
        names: AnsweredNames = getattr(facts, field)
        n_more += names.n_names - len(names.names)
        rows += [
            (label, each.name, each.n_replies, each.n_from_cache or "", *_span_cells(names, each))
            for each in names.names
        ]
    return Table(
        title="What answered",
        head=("", "as the endpoint reports it", "replies", "from the cache", "first", "last"),
        rows=tuple(rows),
        note=f"{number_format.pluralize(n_more, 'further name')} not shown" if n_more else "",
    )


def _span_cells(names: AnsweredNames, found: AnsweredName) -> tuple[str, str]:
    """Return between which episodes a name answered, where it is one of several."""
    return (found.first_episode, found.last_episode) if names.n_names > 1 else ("", "")


def _times_table(facts: ReplyFacts) -> Table:
    rows = [
        (label, times.n, *_quantile_cells(times))
        for field, label in _TIME_LABELS.items()
        if (times := getattr(facts, field)) is not None
    ]
    head = ("in seconds", "replies", "p50", "p95", "p99", "max")
    return Table(title="Times of replies", head=head, rows=tuple(rows), note=_QUANTILE_NOTE)


def _quantile_cells(times: Times) -> tuple[Cell, ...]:
    """Return the percentiles that are not merely the longest time, then the longest time."""
    return (
        times.p50,
        times.p95 if times.n >= reply_text.MIN_FOR_P95 else "",
        times.p99 if times.n >= reply_text.MIN_FOR_P99 else "",
        times.max,
    )


def _rates_table(facts: ReplyFacts) -> Table:
    rows = [
        (label, rates.n, rates.p5, rates.p50, rates.p95)
        for field, label in _RATE_LABELS.items()
        if (rates := getattr(facts, field)) is not None
    ]
    head = ("output tokens per second", "replies", "p5", "p50", "p95")
    return Table(title="Speed of output", head=head, rows=tuple(rows))


def _noted_table(facts: ReplyFacts) -> Table:
    found = {kind.replace("_", " "): texts for kind, texts in facts.adaptations.items()}
    if facts.defects is not None:
        found["defects"] = facts.defects
    rows: list[tuple[Cell, ...]] = [
        (label, texts.n_replies, "; ".join(texts.examples)) for label, texts in found.items()
    ]
    if facts.n_cut:
        rows.append(("cut at the limit of tokens", facts.n_cut, ""))
    rows += [("ended as", n, word) for word, n in facts.finish.items()]
    return Table(
        title="What was changed of requests, and noted of replies",
        head=(
            "what",
            f"of {number_format.pluralize(facts.n_replies, 'reply', 'replies')}",
            "such as",
        ),
        rows=tuple(rows),
    )


def comparison_tables(a: ReplyFacts, b: ReplyFacts) -> Iterator[Table]:
    """Yield a table of the times and rates of two runs, where any was measured."""
    times = [
        (label, _times_cell(getattr(a, field)), _times_cell(getattr(b, field)))
        for field, label in _TIME_LABELS.items()
    ]
    rates = [
        (
            f"output tokens/s {label}",
            _rates_cell(getattr(a, field)),
            _rates_cell(getattr(b, field)),
        )
        for field, label in _RATE_LABELS.items()
    ]
    rows = tuple(row for row in (*times, *rates) if any(row[1:]))
    if rows:
        yield Table(title="Speed of the replies", head=("", "A", "B"), rows=rows)


def _times_cell(times: Times | None) -> str | None:
    return None if times is None else reply_text.times_text(times)


def _rates_cell(rates: Rates | None) -> str | None:
    if rates is None:
        return None
    return f"p50 {reply_text.rate_text(rates.p50)} (n = {format_count(rates.n)})"


def difference_warnings(a: ReplyFacts, b: ReplyFacts, *, is_same_model: bool) -> Iterator[str]:
    """Yield where several names answered within a run, and where the two runs differ in that.

    Runs of different models differ in their names: that is no warning. They also differ in what was
    changed of their requests. The names are foreign text.
    """
    yield from map(visible_text, _difference_texts(a, b, is_same_model))


def _difference_texts(a: ReplyFacts, b: ReplyFacts, is_same_model: bool) -> Iterator[str]:
    for field, label in NAME_KINDS.items():
        names_a: AnsweredNames = getattr(a, field)
        names_b: AnsweredNames = getattr(b, field)
        for side, names in (("A", names_a), ("B", names_b)):
            if names.n_names > 1:
                yield f"in {side}, {describe_change(names, label)}"
        found_a, found_b = ({each.name for each in names.names} for names in (names_a, names_b))
        if is_same_model and found_a and found_b and found_a != found_b:
            texts = (_joined_names(found_a, names_a), _joined_names(found_b, names_b))
            yield "the {}s of the runs differ: A {}; B {}".format(label, *texts)
    for kind in sorted({**a.adaptations, **b.adaptations}):
        shares = [_changed_share(facts, kind) for facts in (a, b)]
        if round(abs(shares[0] - shares[1]), 6) > MAX_SHARE_DIFFERENCE:
            texts = (_changed_text(a, kind), _changed_text(b, kind))
            yield "requests were changed otherwise ({}): A in {}; B in {}".format(kind, *texts)


def _changed_share(facts: ReplyFacts, kind: str) -> float:
    """Return the share of the requests of a run that were changed in a way."""
    found = facts.adaptations.get(kind)
    return found.n_replies / facts.n_replies if found is not None and facts.n_replies else 0.0


def _changed_text(facts: ReplyFacts, kind: str) -> str:
    found = facts.adaptations.get(kind)
    if found is None:
        return "none"
    counts = f"{format_count(found.n_replies)} of {format_count(facts.n_replies)}"
    return f"{counts} ({shorten_text(next(iter(found.examples), ''), MAX_EXAMPLE_CHARS)})"


def _joined_names(found: set[str], names: AnsweredNames) -> str:
    listed = sorted(found)[:MAX_NAMED]
    n_more = names.n_names - len(listed)
    return ", ".join([*listed, *([f"and {format_count(n_more)} more"] if n_more else [])])
