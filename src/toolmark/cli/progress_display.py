"""Progress of a run: live on a terminal, a plain line every ten seconds elsewhere."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from toolmark.cli.console_output import print_missing_parts
from toolmark.core import number_format
from toolmark.reports import run_names
from toolmark.reports.table_format import visible_text
from toolmark.runs.runner import Progress

PLAIN_EVERY_S = 10.0
QUIET_EVERY_S = 600.0  # while a batch stands as it stood: it may take a day
MAX_REASON_CHARS = 100  # characters of one in the line of progress
MIN_TITLE_CHARS = 12  # characters that a title keeps, however narrow the terminal
_SHORTENING_STEPS = (
    ("tokens", 0),
    ("rate", 0),
    ("waits", 2 * MIN_TITLE_CHARS),
    ("title", MIN_TITLE_CHARS),
    ("score", 0),
    ("waits", 0),
    ("title", 0),
    ("activity", 0),
)


def progress_line(progress: Progress, title: str = "", width: int | None = None) -> str:
    """Return one line of progress: done, rate, score so far, tokens, not run, time left.

    Then how far the batches are that are waited for. Where requests wait to be asked again, how
    many and why comes last. Where the line is wider than `width`, tokens go first, then the rate,
    the ends of reason and title, the score, all of the reason and the title, the batches. What was
    not run and the time left stay whole.
    """
    if progress.n_to_make:
        rate = progress.n_made / max(progress.elapsed_s, 1e-9)
        n_finished = progress.n_made_before + progress.n_made
        time_left = _time_left_text(progress.n_to_make - n_finished, rate)
        n_made, n_all = map(number_format.format_count, (n_finished, progress.n_to_make))
        line = f"{title}  tasks made: {n_made} of {n_all}  {_rate_text(rate)}  left {time_left}"
        return number_format.replace_special_spaces(line)[: width or None]
    parts = {
        name: number_format.replace_special_spaces(text)
        for name, text in _line_parts(progress, title).items()
    }
    for name, min_chars in _SHORTENING_STEPS:
        over = len("  ".join(filter(None, parts.values()))) - (width or math.inf)
        if over <= 0:
            break
        n_chars = max(min_chars, len(parts[name]) - int(over) - 1)
        parts[name] = (
            f"{parts[name][:n_chars]}…" if min_chars and n_chars < len(parts[name]) else ""
        )
    return "  ".join(filter(None, parts.values()))


def _line_parts(progress: Progress, title: str) -> dict[str, str]:
    done = progress.n_run + progress.n_not_run
    total = progress.n_planned - progress.n_done_before
    rate = done / max(progress.elapsed_s, 1e-9)
    n_done, n_planned = map(
        number_format.format_count, (done + progress.n_done_before, progress.n_planned)
    )
    n_input, n_output = map(
        number_format.format_count, (progress.input_tokens, progress.output_tokens)
    )
    return {
        "title": title,
        "done": f"{n_done} of {n_planned}",
        "rate": _rate_text(rate),
        "score": f"score {number_format.format_estimate(progress.headline)}",
        "tokens": f"tokens {n_input} in {n_output} out",
        "not run": f"not run {number_format.format_count(progress.n_not_run)}",
        "left": f"left {_time_left_text(total - done, rate)}",
        "activity": visible_text(progress.activity),
        "waits": _retry_note(progress.wait_reasons),
    }


def _retry_note(wait_reasons: Collection[str]) -> str:
    """Say how many requests wait to be asked again, and why most of them do."""
    if not wait_reasons:
        return ""
    ((reason, _),) = Counter(wait_reasons).most_common(1)
    return visible_text(
        f"retrying {len(wait_reasons)}: {reason.partition(chr(10))[0][:MAX_REASON_CHARS]}"
    )


def _rate_text(rate_hz: float) -> str:
    return f"{number_format.format_fixed(rate_hz, 1)}/s"


def _time_left_text(n_left: int, rate_hz: float) -> str:
    """Return how long so many more take, in whole seconds; "?" while nothing is done."""
    return number_format.format_duration(int(n_left / rate_hz)) if rate_hz else "?"


@contextmanager
def show_progress(
    console: Console, title: str, notes: Sequence[str] = ()
) -> Iterator[Callable[[Progress], None]]:
    """Show progress live on a terminal, as a plain line every ten seconds elsewhere.

    The title is a suite and a model; of a model's address only its name is shown. The notes are
    printed when there is progress.
    """
    title = " ".join(run_names.short_model_name(word) for word in title.split(" "))
    if not console.is_terminal:
        yield _with_start_notes(console, _plain_progress(console, title), notes)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        last = 0.0

        def show(progress: Progress) -> None:
            nonlocal last
            if time.monotonic() - last >= 0.1:
                last = time.monotonic()
                text = progress_line(progress, title, console.width)
                live.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield _with_start_notes(console, show, notes)


def _with_start_notes(
    console: Console, show: Callable[[Progress], None], notes: Sequence[str]
) -> Callable[[Progress], None]:
    """Say why this run continues or begins, what is to be made and what is missing; then show."""
    announced: set[bool] = set()
    printed: set[str] = set()

    def show_with_notes(progress: Progress) -> None:
        making = bool(progress.n_to_make)
        for line_ in (*notes, *progress.start_notes):
            if line_ not in printed:  # what was asked first is known when the tasks are made
                printed.add(line_)
                console.print(visible_text(line_), markup=False, highlight=False, soft_wrap=True)
        if making not in announced and progress.work_description:
            n_left = progress.n_to_make - progress.n_made_before
            work = (
                f"  {number_format.pluralize(n_left, 'task')} to make: {progress.work_description}"
            )
            console.print(work, markup=False, highlight=False, soft_wrap=True)
        elif making not in announced:
            print_missing_parts(console, progress.missing_parts)
        announced.add(making)
        show(progress)

    return show_with_notes


def _plain_progress(console: Console, title: str) -> Callable[[Progress], None]:
    last = time.monotonic()
    last_activity = ""

    def show(progress: Progress) -> None:
        nonlocal last, last_activity
        is_quiet = progress.activity and progress.activity == last_activity
        if time.monotonic() - last >= (QUIET_EVERY_S if is_quiet else PLAIN_EVERY_S):
            last, last_activity = time.monotonic(), progress.activity
            console.print(
                progress_line(progress, title), markup=False, highlight=False, soft_wrap=True
            )

    return show
