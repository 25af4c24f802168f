"""Progress of a run: live on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from toolmark.cli.terminal import lacking
from toolmark.report import names, tables
from toolmark.report.tables import visible
from toolmark.runs.runner import Progress
from toolmark.stats import figures
from toolmark.stats.interval import moments
from toolmark.types import Estimate

PLAIN_EVERY_S = 10.0
REASON = 100  # characters of one in the line of progress
NARROW = 12  # characters that a title keeps, however narrow the terminal
_CUTS = (
    ("tokens", 0), ("rate", 0), ("waits", 2 * NARROW), ("title", NARROW), ("score", 0),
    ("waits", 0), ("title", 0),
)  # fmt: skip


def interval(progress: Progress) -> str:
    """Return the headline so far with its interval; episodes are taken as independent."""
    n = progress.n_scored
    if not n:
        return "-"
    mean, (low, high) = progress.value / n, moments(n, progress.value, progress.squares)
    return figures.plain(figures.share(Estimate(name="", value=mean, low=low, high=high)))


def line(progress: Progress, title: str = "", width: int | None = None) -> str:
    """Return one line of progress: done, rate, score so far, tokens, not run, time left.

    Where requests wait to be asked again, how many and why comes last. Where the line is wider than
    `width`, tokens go first, then the rate, the ends of reason and title, the score, all of the
    reason and the title. What was not run and the time left stay whole.
    """
    if progress.n_to_make:
        rate = progress.n_made / max(progress.elapsed_s, 1e-9)
        left = duration((progress.n_to_make - progress.n_made) / rate) if rate else "?"
        told = f"tasks made: {progress.n_made:,} of {progress.n_to_make:,}"
        return f"{title}  {told}  {rate:.1f}/s  left {left}"[: width or None]
    parts = _parts(progress, title)
    for name, room in _CUTS:
        over = len("  ".join(filter(None, parts.values()))) - (width or math.inf)
        if over <= 0:
            break
        kept = max(room, len(parts[name]) - int(over) - 1)
        parts[name] = f"{parts[name][:kept]}…" if room and kept < len(parts[name]) else ""
    return "  ".join(filter(None, parts.values()))


def _parts(progress: Progress, title: str) -> dict[str, str]:
    done = progress.n_run + progress.n_not_run
    total = progress.n_planned - progress.n_done_before
    rate = done / max(progress.elapsed_s, 1e-9)
    left = duration((total - done) / rate) if done else "?"
    tokens = f"{progress.input_tokens:,} in {progress.output_tokens:,} out"
    return {
        "title": title,
        "done": f"{done + progress.n_done_before}/{progress.n_planned}",
        "rate": f"{rate:.1f}/s",
        "score": f"score {interval(progress)}",
        "tokens": f"tokens {tokens}",
        "not run": f"not run {progress.n_not_run}",
        "left": f"left {left}",
        "waits": _waiting(progress.waits),
    }


def _waiting(waits: Collection[str]) -> str:
    """Say how many requests wait to be asked again, and why most of them do."""
    if not waits:
        return ""
    ((reason, _),) = Counter(waits).most_common(1)
    return visible(f"retrying {len(waits)}: {reason.partition(chr(10))[0][:REASON]}")


def duration(seconds: float) -> str:
    """Return seconds as 5 s, 3:20 or 2:03:20."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def watching(console: Console, title: str) -> Iterator[Callable[[Progress], None]]:
    """Show progress live on a terminal, as a plain line every ten seconds elsewhere.

    The title is a suite and a model; of a model's address only its name is shown.
    """
    title = " ".join(names.short(word) for word in title.split(" "))
    if not console.is_terminal:
        yield _warned(console, _plain(console, title))
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        last = 0.0

        def show(progress: Progress) -> None:
            nonlocal last
            if time.monotonic() - last >= 0.1:
                last = time.monotonic()
                told = line(progress, title, console.width)
                live.update(Text(told, overflow="ellipsis", no_wrap=True))

        yield _warned(console, show)


def _warned(console: Console, show: Callable[[Progress], None]) -> Callable[[Progress], None]:
    """Say why this run goes on or begins, what there is to make, what the site lacks; then show."""
    told: set[bool] = set()

    def first(progress: Progress) -> None:
        making = bool(progress.n_to_make)
        for line_ in () if told else progress.begun:
            console.print(visible(line_), markup=False, highlight=False, soft_wrap=True)
        if making not in told and progress.effort:
            work = f"  {tables.plural(progress.n_to_make, 'task')} to make: {progress.effort}"
            console.print(work, markup=False, highlight=False, soft_wrap=True)
        elif making not in told:
            lacking(console, progress.missing)
        told.add(making)
        show(progress)

    return first


def _plain(console: Console, title: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            console.print(line(progress, title), markup=False, highlight=False, soft_wrap=True)

    return show
