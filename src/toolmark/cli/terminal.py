"""What the command line shows of runs and suites: summaries, lists. Writes to a rich console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from toolmark.cli import advice, screen
from toolmark.failure import Failure, grouped
from toolmark.report import names, spent, tables
from toolmark.report.tables import visible
from toolmark.runs.store import Run
from toolmark.stats import figures
from toolmark.suites import Knob, told
from toolmark.suites import dialects as known
from toolmark.suites import players as baselines
from toolmark.suites.multinet import families
from toolmark.types import (
    Attempt,
    Check,
    Estimate,
    Score,
)

WIDTH = 2_000  # characters of one text that `show` prints
NOT_RUN = "not run"
NAMED = 32  # characters kept for the names of a summary's parts
LISTED = 50  # episodes that `show` lists
REASONS = 3  # why tasks fail, or could not be made
MESSAGES = 2  # further ones of one cause of not being run
PLAYERS = {
    "baselines": "baseline/planner, baseline/eager, baseline/lexical, baseline/desk, "
    "baseline/listener, baseline/ocr-search, baseline/blind: agents that need no key",
    "baselines of MultiNet": ", ".join(f"baseline/{name}" for name in families.GUESSES)
    + ": what needs no look; a suite tells those it has",
    "test instruments": "test/null, test/always-call, test/dead for any suite; test/oracle, "
    "test/faulty?class=... where a suite has them",
    "dialects": "--dialect native (tool calling by the endpoint) or prompt (calls as text)",
}


def lacking(console: Console, missing: Mapping[str, str]) -> None:
    """Print what parts of the site lack to run: a line for each part."""
    parts(console, {name: (why.replace("\n", "; "),) for name, why in missing.items()})


def parts(console: Console, found: Mapping[str, Sequence[str]]) -> None:
    """Print what parts of the site lack, or what happened to them: a line for each part."""
    for name, notes in found.items():
        more = f" (and {len(notes) - 1} more: `toolmark report`)" if len(notes) > 1 else ""
        told = short(f"  {name}: {notes[0].partition(chr(10))[0]}{more}")
        console.print(told, markup=False, highlight=False, soft_wrap=True)


def estimate(fields: Mapping[str, Any]) -> str:
    """Return `38.2 % [26.1, 52.4]` or `0.879 [0.81, 0.95]` from the fields of an estimate."""
    return figures.plain(figures.value(_fields(fields)))


def _fields(fields: Mapping[str, Any]) -> Estimate:
    return Estimate(**{name: fields[name] for name in Estimate.__struct_fields__ if name in fields})


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
    model = escape(visible(names.short(found["model"])))
    console.print(
        f"[bold]{escape(found['suite'])}[/]  {model}  {escape(found['dialect'])}", highlight=False
    )
    read = f", {found['reading']} reading" if len(found.get("readings", ())) > 1 else ""
    console.print(
        f"  {escape(_told(head)[0] + read)} [bold]{escape(estimate(head))}[/]  "
        f"{_counts(found)}, not run {found['n_not_run']}" + _bounds(found),
        highlight=False,
        soft_wrap=True,
    )
    if caution := found.get("caution"):
        console.print(f"  {visible(caution)}", markup=False, highlight=False, soft_wrap=True)
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
    if any(figures.bare(_fields(part)) for part in parts):
        console.print(f"  {figures.BARE}", style="dim", highlight=False, soft_wrap=True)
    if took := spent.told(found):
        console.print(f"  {took}", style="dim", highlight=False, soft_wrap=True)
    console.print(f"  [dim]{escape(visible(found['run_dir']))}[/]", highlight=False, soft_wrap=True)


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
        step = screen.command("report", folder)
        told = f"  report.html tells the scores from before; next: {step}"
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
    """Print a suite's dialects, where its module tells them."""
    if said := known(suite):
        console.print(f"--dialect: {said}", markup=False, highlight=False)


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
    step = f"next: {screen.command('show', run.path, 'ID')}"
    console.print(step, highlight=False, markup=False, soft_wrap=True)


def outcome(score: Score) -> str:
    """Return what became of an episode in the headline reading."""
    if score.failure or not score.readings:
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


def not_run(console: Console, run: Run) -> None:
    """Print why episodes are not run, by kind, and what to do."""
    left, played = pending(run), unjudged(run)
    failures = [*(attempt.failure for attempt in left), *played]
    # what only waited for another episode tells least: it comes last
    groups = sorted(grouped(failures), key=lambda x: x[1][0].kind == "needs")
    _failures(console, "not run", [x for x in groups if x[1][0].kind != "scorer"])
    _failures(console, "not scored", [x for x in groups if x[1][0].kind == "scorer"])
    lines = [
        f"  next: {screen.command('show', run.path, each.task)}  (one of them, whole)"
        for each in left[:1]
    ]
    n_unreached = run.info.n_episodes - len(run.done()) - len(left)
    lines += [f"  {step}" for step in advice.steps(run, failures, n_unreached)]
    for line_ in lines:
        console.print(visible(line_), markup=False, highlight=False, soft_wrap=True)


def unjudged(run: Run) -> list[Failure]:
    """Return why episodes that were played have no score."""
    failed = {(s.task, s.repeat): s.failure for s in run.scores() if s.failure is not None}
    return [failed[key] for key in sorted(failed.keys() & run.done())] if failed else []


def unscored(console: Console, run: Run) -> None:
    """Print why episodes that were played have no score, and how to score them: nobody is asked."""
    failures = unjudged(run)
    _failures(console, "not scored", grouped(failures))
    plan = run.info.plan
    wanted = [failure for failure in failures if not advice.step(failure, plan).again]
    for step in advice.steps(run, wanted):
        console.print(visible(f"  {step}"), markup=False, highlight=False, soft_wrap=True)


def _failures(console: Console, what: str, groups: Sequence[tuple[int, Sequence[Failure]]]) -> None:
    """Print how many failed for each cause, and what some of them say."""
    for n, (first, *more) in groups:
        others = tables.plural(len(more) - MESSAGES, "other message")
        for line_ in (
            f"  {what}, {tables.plural(n, 'episode')}: {short(first.line)}",
            *(f"    also: {short(each.first)}" for each in more[:MESSAGES]),
            *([f"    also: {others}"] if len(more) > MESSAGES else []),
        ):
            console.print(line_, markup=False, highlight=False, soft_wrap=True)


def why(console: Console, what: str, unit: str, reasons: Sequence[tuple[str, int]]) -> None:
    """Print the first reasons with their counts, and how many are not told."""
    told = [f"{tables.plural(n, unit)}: {short(reason)}" for reason, n in reasons[:REASONS]]
    if rest := reasons[REASONS:]:
        others = tables.plural(len(rest), "other reason")
        told.append(f"{tables.plural(sum(n for _, n in rest), unit)}: {others}")
    for line_ in told:
        console.print(f"  {what}, {line_}", markup=False, highlight=False, soft_wrap=True)


def _outcome(score: Score, natives: Mapping[str, str]) -> tuple[str, str, str]:
    name = visible(f"{score.task} #{score.repeat}" if score.repeat else score.task)
    if score.failure or not score.readings:
        return name, NOT_RUN, short(score.failure.line) if score.failure else ""
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
        told = f"  {tables.plural(n, 'failure')}: {short(why_)}"
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


def short(text: str, more: str = "") -> str:
    """Cut long text in its middle, and show control characters instead of sending them.

    What is asked mostly stands at the end. `more` is told beside how long it is.
    """
    if len(text) <= WIDTH:
        return visible(text)
    head, tail = visible(text[: WIDTH // 2]), visible(text[-WIDTH // 2 :])
    return f"{head} ... ({len(text):,} characters{more}) ... {tail}"
