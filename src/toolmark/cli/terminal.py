"""What the command line shows: progress, summaries, tables, episodes. Writes to a rich console."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from toolmark.media import Media
from toolmark.report import names, tables
from toolmark.report.tables import visible
from toolmark.runs.runner import Progress
from toolmark.runs.store import Run
from toolmark.stats import figures
from toolmark.stats.interval import wilson
from toolmark.suites import Knob, told
from toolmark.suites import players as baselines
from toolmark.suites.multinet import families
from toolmark.types import (
    Attempt,
    Audio,
    Check,
    Drawing,
    Estimate,
    Label,
    Message,
    Part,
    Score,
    Step,
    Task,
    Trajectory,
    Verdict,
)
from toolmark.types import Table as Data
from toolmark.types import Text as Words

PLAIN_EVERY_S = 10.0
WIDTH = 2_000  # characters of one text that `show` prints
NOT_RUN = "not run"
NAMED = 32  # characters kept for the names of a summary's parts
LISTED = 50  # episodes that `show` lists
REASON = 100  # characters of one in the line of progress
REASONS = 3  # why episodes are not run
NARROW = 12  # characters that a title keeps, however narrow the terminal
_CUTS = (
    ("tokens", 0), ("rate", 0), ("waits", 2 * NARROW), ("title", NARROW), ("score", 0),
    ("waits", 0), ("title", 0),
)  # fmt: skip
DIALECTS = {
    "bfcl": "native, prompt; with category=format_sensitivity those that the knob formats names",
    "funcbench": "native, prompt",
    "m3": "executor; with agent=loop native and prompt",
    "m3-local": "native, prompt; with agent=executor its own",
    "mfcl-speech": "native, prompt",
    "mfcl-transcripts": "native, prompt",
    "mfcl-vision": "native, prompt",
    **dict.fromkeys(
        map(families.suite, families.FAMILIES), "native; how answers are given: -T form"
    ),
}
PLAYERS = {
    "baselines": "baseline/planner, baseline/eager, baseline/lexical, baseline/desk, "
    "baseline/listener, baseline/ocr-search, baseline/blind: agents that need no key",
    "baselines of MultiNet": ", ".join(f"baseline/{name}" for name in families.GUESSES)
    + ": what needs no look; a suite tells those it has",
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
    """Say what there is to make, and before the first question what the site lacks; then show."""
    told: set[bool] = set()

    def first(progress: Progress) -> None:
        making = bool(progress.n_to_make)
        if making not in told and progress.effort:
            work = f"  {tables.plural(progress.n_to_make, 'task')} to make: {progress.effort}"
            console.print(work, markup=False, highlight=False, soft_wrap=True)
        elif making not in told:
            lacking(console, progress.missing)
        told.add(making)
        show(progress)

    return first


def lacking(console: Console, missing: Mapping[str, str]) -> None:
    """Print what parts of the site lack to run: a line for each part."""
    parts(console, {name: (why.replace("\n", "; "),) for name, why in missing.items()})


def parts(console: Console, found: Mapping[str, Sequence[str]]) -> None:
    """Print what parts of the site lack, or what happened to them: a line for each part."""
    for name, notes in found.items():
        more = f" (and {len(notes) - 1} more: `toolmark report`)" if len(notes) > 1 else ""
        told = _short(f"  {name}: {notes[0].partition(chr(10))[0]}{more}")
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def _plain(console: Console, title: str) -> Callable[[Progress], None]:
    last = time.monotonic()

    def show(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= PLAIN_EVERY_S:
            last = time.monotonic()
            console.print(line(progress, title), markup=False, highlight=False, soft_wrap=True)

    return show


def estimate(fields: Mapping[str, Any]) -> str:
    """Return `38.2 % [26.1, 52.4]` or `0.879 [0.81, 0.95]` from the fields of an estimate."""
    known = {name: fields[name] for name in Estimate.__struct_fields__ if name in fields}
    return figures.plain(figures.value(Estimate(**known)))


def _told(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a number is called, and how many of what it rests on."""
    return fields.get("told") or fields["name"], _size(fields)


def _size(fields: Mapping[str, Any]) -> str:
    """Say how many of what a number rests on, and of how many items and groups where known."""
    n, unit = fields["n"], fields.get("unit", "")
    of = f" in {tables.plural(fields['n_groups'], 'group')}" if fields.get("n_groups") else ""
    if fields.get("n_items"):
        return f"{n} {unit or 'answers'}, {tables.plural(fields['n_items'], 'item')}{of}"
    return f"{n} {unit or 'answers'}{of}" if of else f"n={n} {unit}".strip()


def summary(console: Console, found: Mapping[str, Any]) -> None:
    """Print the headline of a run, its parts and the next commands."""
    head = found["score"]
    console.print(
        f"[bold]{escape(found['suite'])}[/]  {escape(found['model'])}  {escape(found['dialect'])}",
        highlight=False,
    )
    read = f", {found['reading']} reading" if len(found.get("readings", ())) > 1 else ""
    console.print(
        f"  {escape(_told(head)[0] + read)} [bold]{escape(estimate(head))}[/]  "
        f"{_counts(found)}, not run {found['n_not_run']}" + _bounds(found),
        highlight=False,
        soft_wrap=True,
    )
    if drawn := names.sampled(found.get("sample")):
        console.print(f"  {drawn}", style="dim", highlight=False)
    parts = [part for part in found["parts"].values() if part["value"] is not None]
    width = max((len(_told(part)[0]) for part in parts), default=0)
    for part in parts:
        same = part.get("n_groups") == head.get("n_groups")  # told above
        name, size = _told({**part, "n_groups": 0} if same else part)
        console.print(
            f"  [dim]{escape(name.ljust(max(width, NAMED)))}[/] {escape(estimate(part))}  "
            f"{escape(size)}", highlight=False, soft_wrap=True,
        )  # fmt: skip
    missing = len(found["parts"]) - len(parts)
    if missing and found["n_run"]:
        told = f"  {tables.plural(missing, 'part')} without a result not shown"
        console.print(told, style="dim", highlight=False)
    console.print(f"  [dim]{escape(found['run_dir'])}[/]", highlight=False, soft_wrap=True)


def _counts(found: Mapping[str, Any]) -> str:
    """Say on how many episodes the headline rests, and of how many, where that is not all."""
    n, n_run = found["score"]["n"], found["n_run"]
    told = found["score"].get("told")  # of a suite whose headline names what it rests on
    if told and 0 < n < n_run:
        return f"{n} of all {n_run} answers"
    return _size({**found["score"], "n": n_run})


def stale(console: Console, folder: Path) -> None:
    """Say that a report of the run tells the scores from before, where there is one."""
    page, scores = folder / "report.html", folder / "scores.jsonl"
    if page.exists() and scores.exists() and page.stat().st_mtime_ns < scores.stat().st_mtime_ns:
        told = f"  report.html tells the scores from before; next: toolmark report {folder}"
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def _bounds(found: Mapping[str, Any]) -> str:
    head = found["score"]
    if not found["n_not_run"] or head["worst"] is None:
        return ""
    return escape(
        f"; with those {figures.percent(head['worst'])} to {figures.percent(head['best'])}"
    )


def suites(console: Console, found: Mapping[str, tuple[str, str]]) -> None:
    """Print the suites with a sentence each and what they still need, who plays, who asks."""
    table = Table.grid(padding=(0, 2))
    for name, (about, needs) in found.items():
        lack = f" [yellow]needs: {escape(needs)}[/]" if needs else ""
        table.add_row(f"[bold]{escape(name)}[/]", escape(_sentence(about)) + lack)
    table.add_row("", "")
    for name, about in PLAYERS.items():
        table.add_row(f"[dim]{name}[/]", escape(about))
    console.print(table, highlight=False)
    console.print("next: toolmark list SUITE shows its knobs", highlight=False)


def players(console: Console, suite: str) -> None:
    """Print who plays one of MultiNet's suites without a key."""
    if there := baselines(suite):
        told = ", ".join(f"baseline/{name}" for name in there)
        known = "test/oracle, test/null, test/faulty?class=..., test/always-call, test/dead"
        for line in (f"baselines: {told}", f"test instruments: {known}"):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def dialects(console: Console, suite: str) -> None:
    """Print a built-in suite's dialects; those of others are known only once they are loaded."""
    if suite in DIALECTS:
        console.print(f"--dialect: {DIALECTS[suite]}", markup=False, highlight=False)


def outcomes(
    console: Console,
    run: Run,
    fits: Callable[[Score], bool] = lambda score: True,
    *,
    whole: bool = False,
    natives: Mapping[str, str] = {},
) -> None:
    """List the tasks of a run that fit: outcome and primary cause in the headline reading.

    The first of them only, unless the `whole` list is wanted.
    """
    console.print(f"{names.short(run.info.plan.model)} on {run.info.plan.suite}",
                  markup=False, highlight=False)  # fmt: skip
    rows: list[tuple[str, str, str]] = []
    n = 0
    for n, score in enumerate(filter(fits, run.scores()), 1):
        if whole or n <= LISTED:
            rows.append(_outcome(score, natives))
    width = max((len(row[0]) for row in rows), default=0)
    for name, outcome, why in rows:
        told = f"  {name:{width}}  {outcome:9}  {why}".rstrip()
        console.print(told, markup=False, highlight=False, soft_wrap=True)
    if not n:
        console.print("  no episode fits")
    if n > len(rows):
        console.print(f"... and {n - len(rows):,} more: --all lists them, --outcome and --axis "
                      "choose", markup=False, highlight=False, soft_wrap=True)  # fmt: skip
    console.print(
        f"next: toolmark show {run.path} ID", highlight=False, markup=False, soft_wrap=True
    )


def outcome(score: Score) -> str:
    """Return what became of an episode in the headline reading."""
    if score.not_run or not score.readings:
        return NOT_RUN
    return next(iter(score.readings.values())).outcome


def pending(run: Run) -> list[Attempt]:
    """Return the latest attempt at each episode that is not complete, oldest first."""
    done = run.done()
    latest: dict[tuple[str, int], Attempt] = {}
    for attempt in run.attempts():
        latest.pop((attempt.task, attempt.repeat), None)
        latest[attempt.task, attempt.repeat] = attempt
    return [attempt for episode, attempt in latest.items() if episode not in done]


def not_run(console: Console, run: Run, lost: Collection[str] = ()) -> None:
    """Print the commonest reasons why episodes are not run, and what to do.

    `lost` are the tasks that a made set could not make: to ask them again mends nothing.
    """
    left = pending(run)
    # what only waited for another episode tells least: it comes last
    reasons = Counter((a.stage == "needs", a.reason.partition("\n")[0]) for a in left)
    common = sorted(reasons.items(), key=lambda x: (x[0][0], -x[1]))
    why(console, "not run", "episode", [(reason, n) for (_, reason), n in common])
    lines = (
        [f"  next: toolmark show {run.path} {left[0].task}  (one of them, whole)"] if left else []
    )
    n_lost = sum(attempt.task in lost for attempt in left)
    if n_lost:
        could = f"  next: make the set again: {tables.plural(n_lost, 'episode')} of it "
        lines.append(f"{could}could not be made, and no run mends that")
    if not left or n_lost < len(left):
        lines.append("  next: give the same command again to run what is missing")
    for line_ in lines:
        console.print(visible(line_), markup=False, highlight=False, soft_wrap=True)


def why(console: Console, what: str, unit: str, reasons: Sequence[tuple[str, int]]) -> None:
    """Print the first reasons with their counts, and how many are not told."""
    told = [f"{tables.plural(n, unit)}: {_short(reason)}" for reason, n in reasons[:REASONS]]
    if rest := reasons[REASONS:]:
        others = tables.plural(len(rest), "other reason")
        told.append(f"{tables.plural(sum(n for _, n in rest), unit)}: {others}")
    for line_ in told:
        console.print(f"  {what}, {line_}", markup=False, highlight=False, soft_wrap=True)


def _outcome(score: Score, natives: Mapping[str, str]) -> tuple[str, str, str]:
    name = visible(f"{score.task} #{score.repeat}" if score.repeat else score.task)
    if score.not_run or not score.readings:
        return name, NOT_RUN, _short(score.not_run.partition("\n")[0])
    return name, outcome(score), _failure(score, natives)


def _failure(score: Score, natives: Mapping[str, str]) -> str:
    """Return the primary cause in the headline reading and the suite's class, "" for none."""
    verdict = next(iter(score.readings.values()), None)
    label = next((each for each in verdict.labels if each.primary), None) if verdict else None
    return f"{label.cause}  {names.failure(label.native, natives)}".strip() if label else ""


def failures(console: Console, run: Run, natives: Mapping[str, str]) -> None:
    """Print the commonest primary causes of failure in the headline reading."""
    counts = Counter(filter(None, (_failure(score, natives) for score in run.scores())))
    for why_, n in counts.most_common(REASONS):
        told = f"  {tables.plural(n, 'failure')}: {_short(why_)}"
        console.print(told, style="dim", markup=False, highlight=False, soft_wrap=True)


def _sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def knobs(console: Console, about: str, found: Sequence[Knob]) -> None:
    """Print the knobs of a suite as a table."""
    console.print(about, highlight=False, markup=False)
    table = Table.grid(padding=(0, 2))
    for knob in found:
        many = isinstance(knob.default, tuple)
        default = ",".join(knob.default) if many else knob.default
        table.add_row(
            f"[bold]-T {knob.name}=[/]{escape('' if default is None else str(default))}",
            f"[dim]{escape(told(knob.kind))}[/]",
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
            told = f"      next: {check.step}"
            console.print(told, markup=False, highlight=False, soft_wrap=True)


def episode(
    console: Console,
    task: Task,
    trajectory: Trajectory,
    score: Score | None,
    views: Sequence[Data | Drawing | Audio],
    natives: Mapping[str, str] = {},
) -> None:
    """Print one episode step by step, then what it was worth and why, evidence only once."""
    console.rule(escape(f"{trajectory.task}  repeat {trajectory.repeat}"))
    heard = speech(task)
    for number_, step in enumerate(trajectory.steps, 1):
        _step(console, number_, step, heard)
    console.print(f"[bold]ending[/] {trajectory.ending}")
    if trajectory.answer:
        console.print("[bold]answer[/] ", end="")
        console.print(_short(trajectory.answer), markup=False, highlight=False)
    _verdicts(console, score.readings if score else {}, natives)
    for each in views:
        if isinstance(each, Data):
            console.print("\n" + tables.text(each), markup=False, highlight=False, soft_wrap=True)


def _verdicts(
    console: Console, readings: Mapping[str, Verdict], natives: Mapping[str, str]
) -> None:
    """Print every reading's value, the evidence of the first, and how the others' differs."""
    for reading, verdict in readings.items():
        console.print(f"[bold]{escape(reading)}[/] {verdict.outcome} {verdict.value:.3f}")
    first: list[str] = []
    for at, (reading, verdict) in enumerate(readings.items()):
        told = [_label(label, natives) for label in verdict.labels]
        lines = [f"  {line}" for line in told]
        if at == 0:
            first = told
        else:
            lines = [f"  {reading} also: {line.strip()}" for line in told if line not in first]
            lines += [f"  {reading} not: {line.strip()}" for line in first if line not in told]
        for line in lines:
            console.print(_short(line), markup=False, highlight=False)


def _label(label: Label, natives: Mapping[str, str]) -> str:
    told = filter(None, (label.cause, names.failure(label.native, natives), label.evidence))
    return f"{'*' if label.primary else ' '} {'  '.join(told)}"


def speech(task: Task) -> dict[str, Mapping[str, Any]]:
    """Return what is known of a task's recordings, by their digest: `said`, `seconds`."""
    held = task.reference.get("speech") if isinstance(task.reference, Mapping) else None
    turns = held.get("turns") if isinstance(held, Mapping) else None
    known = [turn for turn in turns or () if isinstance(turn, Mapping)]
    return {
        str(turn["audio"].get("sha256")): turn
        for turn in known
        if isinstance(turn.get("audio"), Mapping)
    }


def asked(message: Message, media: Media | None) -> str:
    """Return a message for a reader: who says it, its words, and its media by their files."""
    parts = [
        part.text
        if isinstance(part, Words)
        else f"[{part.mime}, {media.path(part) if media else part.sha256}]"
        for part in message.parts
    ]
    calls = [f"{call.name} {call.arguments}" for call in message.calls]
    return f"{message.role}: " + "\n".join([*parts, *calls])


def _spoken(part: Part, heard: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a part of a message as a line: a recording by its length, its file and its words."""
    if isinstance(part, Words):
        return part.text
    if not isinstance(part, Audio):
        return f"[{part.mime}, media/{part.sha256[:2]}/{part.sha256}]"
    known = heard.get(part.sha256, {})
    long = known.get("seconds")
    length = f"{long:.1f} s" if isinstance(long, int | float) else f"{part.size_bytes:,} bytes"
    words = f' "{known["said"]}"' if known.get("said") else ""
    return f"[sound {length}, media/{part.sha256[:2]}/{part.sha256}]{words}"


def _step(
    console: Console, number_: int, step: Step, heard: Mapping[str, Mapping[str, Any]]
) -> None:
    for message in step.said:
        console.print(f"[cyan]{message.role}[/] ", end="")
        told = " ".join(_spoken(part, heard) for part in message.parts)
        console.print(_short(told), markup=False, highlight=False, soft_wrap=True)
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
