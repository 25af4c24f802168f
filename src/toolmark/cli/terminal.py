"""What the command line shows: progress, summaries, tables, episodes. Writes to a rich console."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from toolmark.models.doctor import Check
from toolmark.report import names, tables
from toolmark.report.tables import visible
from toolmark.runs.runner import Progress
from toolmark.runs.store import Run
from toolmark.stats import figures
from toolmark.stats.interval import wilson
from toolmark.suites import Knob
from toolmark.types import Drawing, Estimate, Score, Step, Task, Trajectory
from toolmark.types import Table as Data

PLAIN_EVERY_S = 10.0
WIDTH = 2_000  # characters of one text that `show` prints
LISTED = 50  # episodes that `show` lists
NARROW = 12  # characters that a title keeps, however narrow the terminal
DIALECTS = {
    "bfcl": "native, prompt; with category=format_sensitivity those that the knob formats names",
    "funcbench": "native, prompt",
    "m3": "executor; with agent=loop native and prompt",
    "m3-local": "native, prompt; with agent=executor its own",
}
PLAYERS = {
    "baselines": "baseline/planner, baseline/eager, baseline/lexical, baseline/desk: agents that "
    "need no key",
    "test instruments": "test/null, test/always-call, test/dead for any suite; test/oracle, "
    "test/faulty?class=... where a suite has them",
    "dialects": "--dialect native (tool calling by the endpoint) or prompt (calls as text)",
}


def interval(progress: Progress) -> str:
    """Return the headline so far with its interval; episodes are taken as independent."""
    n = progress.n_scored
    if not n:
        return "-"
    mean = progress.value / n
    if math.isclose(progress.value, progress.squares):
        low, high = wilson(round(progress.value), n)
    else:
        half = 1.96 * math.sqrt(max(progress.squares / n - mean * mean, 0.0) / n)
        low, high = max(0.0, mean - half), min(1.0, mean + half)
    return figures.plain(figures.share(Estimate(name="", value=mean, low=low, high=high)))


def line(progress: Progress, title: str = "", width: int | None = None) -> str:
    """Return one line of progress: done, rate, score so far, tokens, not run, time left.

    Where it is wider than `width`, tokens go first, then the rate, the title's end, the score,
    all of the title. What was not run and the time left stay whole.
    """
    parts = _parts(progress, title)
    for name, room in (("tokens", 0), ("rate", 0), ("title", NARROW), ("score", 0), ("title", 0)):
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
    }


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
        yield _plain(console, title)
        return
    with Live(console=console, refresh_per_second=8, transient=True) as live:
        last = 0.0

        def show(progress: Progress) -> None:
            nonlocal last
            if time.monotonic() - last >= 0.1:
                last = time.monotonic()
                told = line(progress, title, console.width)
                live.update(Text(told, overflow="ellipsis", no_wrap=True))

        yield show


def _plain(console: Console, title: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            console.print(line(progress, title), markup=False, highlight=False, soft_wrap=True)

    return show


def estimate(fields: Mapping[str, Any]) -> str:
    """Return `38.2 % [26.1, 52.4]` from the fields of an estimate."""
    return figures.plain(figures.share(Estimate(**fields)))


def summary(console: Console, found: Mapping[str, Any]) -> None:
    """Print the headline of a run, its parts and the next commands."""
    head = found["score"]
    console.print(
        f"[bold]{escape(found['suite'])}[/]  {escape(found['model'])}  {escape(found['dialect'])}",
        highlight=False,
    )
    console.print(
        f"  {escape(head['name'])} [bold]{escape(estimate(head))}[/]  "
        f"n={found['n_run']}, not run {found['n_not_run']}" + _bounds(found),
        highlight=False,
    )
    if drawn := names.sampled(found.get("sample")):
        console.print(f"  {drawn}", style="dim", highlight=False)
    parts = [part for part in found["parts"].values() if part["value"] is not None]
    for part in parts:
        console.print(
            f"  [dim]{escape(part['name']):32}[/] {escape(estimate(part))}  n={part['n']}",
            highlight=False,
        )
    if missing := len(found["parts"]) - len(parts):
        told = f"  {tables.plural(missing, 'part')} without a result not shown"
        console.print(told, style="dim", highlight=False)
    console.print(f"  [dim]{escape(found['run_dir'])}[/]", highlight=False, soft_wrap=True)


def _bounds(found: Mapping[str, Any]) -> str:
    head = found["score"]
    if not found["n_not_run"] or head["worst"] is None:
        return ""
    return escape(
        f"; with those {figures.percent(head['worst'])} to {figures.percent(head['best'])}"
    )


def suites(console: Console, found: Mapping[str, str]) -> None:
    """Print the suites with a sentence each, then who can play and how they are asked."""
    table = Table.grid(padding=(0, 2))
    for name, about in found.items():
        table.add_row(f"[bold]{escape(name)}[/]", escape(_sentence(about)))
    table.add_row("", "")
    for name, about in PLAYERS.items():
        table.add_row(f"[dim]{name}[/]", escape(about))
    console.print(table, highlight=False)
    console.print("next: toolmark list SUITE shows its knobs", highlight=False)


def dialects(console: Console, suite: str) -> None:
    """Print a built-in suite's dialects; those of others are known only once they are loaded."""
    if suite in DIALECTS:
        console.print(f"--dialect: {DIALECTS[suite]}", markup=False, highlight=False)


def outcomes(console: Console, run: Run) -> None:
    """List the first tasks of a run: outcome and primary cause in the headline reading."""
    console.print(f"{names.short(run.info.plan.model)} on {run.info.plan.suite}",
                  markup=False, highlight=False)  # fmt: skip
    rows: list[tuple[str, str, str]] = []
    n = 0
    for n, score in enumerate(run.scores(), 1):
        if n <= LISTED:
            rows.append(_outcome(score))
    width = max((len(row[0]) for row in rows), default=0)
    for name, outcome, why in rows:
        told = f"  {name:{width}}  {outcome:9}  {why}".rstrip()
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if n > LISTED:
        console.print(f"... and {n - LISTED:,} more", highlight=False)
    console.print(
        f"next: toolmark show {run.path} ID", highlight=False, markup=False, soft_wrap=True
    )


def _outcome(score: Score) -> tuple[str, str, str]:
    name = visible(f"{score.task} #{score.repeat}" if score.repeat else score.task)
    if not score.readings:
        return name, "not run", visible(score.not_run.partition("\n")[0][:100])
    verdict = next(iter(score.readings.values()))
    label = next((label for label in verdict.labels if label.primary), None)
    return name, verdict.outcome, visible(f"{label.cause}  {label.native}") if label else ""


def _sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def knobs(console: Console, about: str, found: Sequence[Knob]) -> None:
    """Print the knobs of a suite as a table."""
    console.print(about, highlight=False, markup=False)
    table = Table.grid(padding=(0, 2))
    for knob in found:
        kind = str(getattr(knob.kind, "__name__", knob.kind)).removesuffix(" | None")
        many = isinstance(knob.default, tuple)
        default = ",".join(knob.default) if many else knob.default
        table.add_row(
            f"[bold]-T {knob.name}=[/]{escape('' if default is None else str(default))}",
            "[dim]list[/]" if many else f"[dim]{escape(kind)}[/]",
            escape(knob.help),
        )
    console.print(table, highlight=False)


def checks(console: Console, found: Sequence[Check]) -> None:
    """Print what the doctor found, and what to do about it."""
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    for check in found:
        console.print(
            f"[{colours[check.status]}]{check.status:4}[/]  [bold]{escape(check.name):18}[/] "
            f"{escape(visible(check.detail))}",
            highlight=False,
            soft_wrap=True,
        )
        if check.step:
            console.print(f"      next: {check.step}", markup=False, highlight=False)


def episode(
    console: Console,
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    views: Sequence[Data | Drawing],
) -> None:
    """Print one episode step by step, then what it was worth and why."""
    console.rule(escape(f"{trajectory.task}  repeat {trajectory.repeat}"))
    for number_, step in enumerate(trajectory.steps, 1):
        _step(console, number_, step)
    console.print(f"[bold]ending[/] {trajectory.ending}")
    if trajectory.answer:
        console.print("[bold]answer[/] ", end="")
        console.print(_short(trajectory.answer), markup=False, highlight=False)
    for reading, verdict in (score.readings if score else {}).items():
        console.print(f"[bold]{escape(reading)}[/] {verdict.outcome} {verdict.value:.3f}")
        for label in verdict.labels:
            mark = "*" if label.primary else " "
            told = filter(None, (label.cause, label.native, label.evidence))
            console.print(_short(f"  {mark} {'  '.join(told)}"), markup=False, highlight=False)
    for each in views:
        if isinstance(each, Data):
            console.print("\n" + tables.text(each), markup=False, highlight=False, soft_wrap=True)


def _step(console: Console, number_: int, step: Step) -> None:
    for message in step.said:
        console.print(f"[cyan]{message.role}[/] ", end="")
        console.print(_short(message.text), markup=False, highlight=False)
    console.print(f"[green]model[/] step {number_}", end=" " if step.reply.text else "\n")
    if step.reply.text:
        console.print(_short(step.reply.text), markup=False, highlight=False)
    if step.fault:
        console.print(_short(f"  not read: {step.fault}"), markup=False, highlight=False)
    for index, call in enumerate(step.calls):
        console.print(_short(f"  {call.name} {call.arguments}"), markup=False, highlight=False)
        if index < len(step.results):
            result = step.results[index]
            if not result.text and not result.is_error:
                continue  # a world in which nothing happens: there is nothing to show
            sign = "!" if result.is_error else "="
            console.print(_short(f"    {sign} {result.text}"), markup=False, highlight=False)


def _short(text: str) -> str:
    """Cut long text, and show control characters instead of sending them to the terminal."""
    shown = visible(text[:WIDTH])
    return shown if len(text) <= WIDTH else f"{shown} ... ({len(text):,} characters)"
