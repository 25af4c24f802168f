"""What the command line shows of runs and suites: summaries, lists. Writes to a rich console."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from toolmark.cli import consoles, failure_advice
from toolmark.core import number_format
from toolmark.core.failure import Failure, group_failures
from toolmark.core.records import Attempt, Check, Estimate, Score
from toolmark.reports import (
    cost_text,
    floor_text,
    reply_text,
    run_names,
    run_series,
    usage_text,
)
from toolmark.reports.run_series import RunSeries
from toolmark.reports.table_format import visible_text
from toolmark.runs.reply_facts import facts_from_summary
from toolmark.runs.run_store import Run
from toolmark.runs.suite_parameters import ParameterField
from toolmark.statistics import interval_limits
from toolmark.suites.suite_registry import SUITES, baseline_names, tool_format_note

MAX_TEXT_CHARS = 2_000  # characters of one text that `show` prints
NOT_RUN = "not run"
LABEL_WIDTH = 32  # characters reserved for the names of a summary's parts
MAX_LISTED_EPISODES = 50  # episodes that `show` lists
MAX_REASONS = 3  # why tasks fail, or could not be made
MAX_FURTHER_MESSAGES = 2  # further ones of one cause of not being run
AGENT_DESCRIPTIONS = {
    "baselines": "baseline/planner, baseline/eager, baseline/lexical, "
    "baseline/listener, baseline/ocr-search, baseline/blind: agents that need no key; "
    "baseline/none: no model, for --agent",
    "baselines of a suite": ", ".join(
        dict.fromkeys(f"baseline/{name}" for entry in SUITES.values() for name in entry.baselines)
    )
    + "; `toolmark list SUITE` names those of a suite",
    "controls": "control/null, control/always-call, control/dead for any suite; control/oracle, "
    "control/faulty?class=... where a suite has them",
    "tool formats": "--tool-format native (tool calling by the endpoint) or prompt (calls as text)",
}


def print_missing_parts(console: Console, missing: Mapping[str, str]) -> None:
    """Print what parts of the environment lack to run: a line for each part."""
    print_part_notes(console, {name: (why.replace("\n", "; "),) for name, why in missing.items()})


def print_part_notes(console: Console, found: Mapping[str, Sequence[str]]) -> None:
    """Print what parts of the environment lack, or what happened to them: a line for each part."""
    for name, notes in found.items():
        more = f" (and {len(notes) - 1} more: `toolmark report`)" if len(notes) > 1 else ""
        line = shorten_text(f"  {name}: {notes[0].partition(chr(10))[0]}{more}")
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def format_estimate(fields: Mapping[str, Any]) -> str:
    """Return `38.2 % [26.1, 52.4]` or `0.879 [0.81, 0.95]` from the fields of an estimate."""
    return number_format.replace_special_spaces(number_format.format_estimate(_to_estimate(fields)))


def _to_estimate(fields: Mapping[str, Any]) -> Estimate:
    return Estimate(**{name: fields[name] for name in Estimate.__struct_fields__ if name in fields})


def _label_and_size(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Return what a number is called, and how many of what it rests on."""
    return fields.get("title") or fields["name"], _sample_size_text(fields)


def _sample_size_text(fields: Mapping[str, Any]) -> str:
    """Say how many of what a number rests on, and of how many items and groups where known."""
    n, unit = number_format.format_count(fields["n"]), fields.get("unit", "")
    of = (
        f" in {number_format.pluralize(fields['n_groups'], 'group')}"
        if fields.get("n_groups")
        else ""
    )
    if fields.get("n_items"):
        return f"{n} {unit or 'answers'}, {number_format.pluralize(fields['n_items'], 'item')}{of}"
    return f"{n} {unit or 'answers'}{of}" if of else f"n={n} {unit}".strip()


def print_summary(console: Console, found: Mapping[str, Any]) -> None:
    """Print the headline of a run, its parts and the next commands."""
    from toolmark.statistics.interval_warnings import warned_numbers_note

    head = found["score"]
    model = escape(visible_text(run_names.player_name(found.get("agent", ""), found["model"])))
    console.print(
        f"[bold]{escape(run_names.label_suite(found['suite'], found.get('data_label', '')))}[/]"
        f"  {model}  {escape(found['tool_format'])}",
        highlight=False,
    )
    rule_note = f", {found['rule']} rule" if len(found.get("rules", ())) > 1 else ""
    console.print(
        f"  {escape(_label_and_size(head)[0] + rule_note)} "
        f"[bold]{escape(format_estimate(head))}[/]  {_episode_counts_text(found)}, not run "
        f"{number_format.format_count(found['n_not_run'])}" + _bounds_text(found),
        highlight=False,
        soft_wrap=True,
    )
    for line in floor_text.summary_lines(found.get("floors")):
        shown = number_format.replace_special_spaces(line)
        console.print(f"  {shown}", markup=False, highlight=False, soft_wrap=True)
    for rule, fields in found.get("other_rules", {}).items():
        name, size = _label_and_size(fields)
        console.print(
            f"  {escape(f'{name}, {rule} rule')} {escape(format_estimate(fields))}  {escape(size)}",
            highlight=False,
            soft_wrap=True,
        )
    if caution := found.get("caution"):
        console.print(f"  {visible_text(caution)}", markup=False, highlight=False, soft_wrap=True)
    if sample_note := run_names.sample_label(found.get("sample")):
        console.print(f"  {sample_note}", style="dim", highlight=False)
    parts = [
        part for part in found["parts"].values() if part["value"] is not None or part.get("partial")
    ]
    width = max((len(_label_and_size(part)[0]) for part in parts), default=0)
    for part in parts:
        has_same_groups = part.get("n_groups") == head.get("n_groups")  # printed above
        name, size = _label_and_size({**part, "n_groups": 0} if has_same_groups else part)
        console.print(
            f"  [dim]{escape(name.ljust(max(width, LABEL_WIDTH)))}[/] "
            f"{escape(format_estimate(part))}  {escape(size)}",
            highlight=False,
            soft_wrap=True,
        )
    _print_variations(console, found.get("variations", ()))
    missing = len(found["parts"]) - len(parts)
    if missing and found["n_run"]:
        hidden_note = f"  {number_format.pluralize(missing, 'part')} without a result not shown"
        console.print(hidden_note, style="dim", highlight=False)
    if any(number_format.lacks_interval(_to_estimate(part)) for part in parts):
        console.print(
            f"  {interval_limits.NO_INTERVAL_NOTE}", style="dim", highlight=False, soft_wrap=True
        )
    if note := warned_numbers_note(
        replace(_to_estimate(part), name=_label_and_size(part)[0]) for part in parts
    ):
        console.print(f"  {note}", style="dim", markup=False, highlight=False, soft_wrap=True)
    if cost_note := usage_text.summary_usage_line(found):
        console.print(f"  {cost_note}", style="dim", highlight=False, soft_wrap=True)
    if money_note := cost_text.summary_cost_line(found):
        console.print(
            f"  {visible_text(money_note)}",
            style="dim",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    _print_reply_facts(console, found)
    console.print(
        f"  [dim]{escape(visible_text(found['run_dir']))}[/]", highlight=False, soft_wrap=True
    )


def print_series(console: Console, series: RunSeries | None) -> None:
    """Print which of several runs this is, with all scores, and what is wrong with the logbook."""
    lines = (run_series.describe_series(series), *(series.faults if series else ()))
    for line in filter(None, lines):
        shown = number_format.replace_special_spaces(visible_text(f"  {line}"))
        console.print(shown, markup=False, highlight=False, soft_wrap=True)


def _print_variations(console: Console, effects: Sequence[Mapping[str, Any]]) -> None:
    """Print the effect of each kind of variation: the headline as asked minus varied."""
    if effects:
        title = "as asked minus varied, over the tasks asked both ways:"
        console.print(f"  [dim]{title}[/]", highlight=False, soft_wrap=True)
    width = max((len(effect["kind"]) for effect in effects), default=0)
    for effect in effects:
        is_share = effect.get("is_share", True)
        difference = Estimate(
            name="",
            value=effect["difference"],
            low=effect["low"],
            high=effect["high"],
            is_share=is_share,
        )
        values = [
            number_format.format_estimate(Estimate(name="", value=value, is_share=is_share))
            for value in (effect["as_asked"], effect["varied"])
        ]
        p = "" if effect["p"] is None else f", p {number_format.format_p_value(effect['p'])}"
        if (adjusted := effect.get("p_adjusted")) is not None:
            p += f", for all kinds {number_format.format_p_value(adjusted)}"
        line = (
            f"    {effect['kind'].ljust(max(width, LABEL_WIDTH - 2))} "
            f"{number_format.format_difference(difference)}  ({values[0]} and {values[1]}, "
            f"{number_format.pluralize(effect['n'], 'task')}{p})"
        )
        shown = number_format.replace_special_spaces(line)
        console.print(shown, markup=False, highlight=False, soft_wrap=True)


def _print_reply_facts(console: Console, found: Mapping[str, Any]) -> None:
    """Print who answered, how fast, and what was changed of requests, where that is known."""
    for line in reply_text.summary_lines(facts_from_summary(found), found["model"]):
        shown = number_format.replace_special_spaces(shorten_text(f"  {line}"))
        console.print(shown, style="dim", markup=False, highlight=False, soft_wrap=True)


def _episode_counts_text(found: Mapping[str, Any]) -> str:
    """Say on how many episodes the headline rests, and of how many, where that is not all."""
    n, n_run = found["score"]["n"], found["n_run"] - found.get("n_run_varied", 0)
    # what a headline with a name of its own rests on are answers, whatever its unit is called
    names_answers = found["score"].get("title") or not found["score"].get("unit")
    if names_answers and 0 < n < n_run:
        n_shown, n_all = number_format.format_count(n), number_format.format_count(n_run)
        return f"{n_shown} of all {n_all} answers"
    return _sample_size_text({**found["score"], "n": n_run})


def print_stale_report_note(console: Console, folder: Path) -> None:
    """Say that the report of the run shows the earlier scores, where there is a report."""
    page, scores = folder / "report.html", folder / "scores.jsonl"
    if page.exists() and scores.exists() and page.stat().st_mtime_ns < scores.stat().st_mtime_ns:
        step = consoles.shell_command("report", folder)
        note = f"  report.html shows the earlier scores; next: {step}"
        console.print(note, markup=False, highlight=False, soft_wrap=True)


def _bounds_text(found: Mapping[str, Any]) -> str:
    head = found["score"]
    if not found["n_not_run"] or head["worst"] is None:
        return ""
    return escape(
        f"; with those {number_format.format_percent(head['worst'])} to "
        f"{number_format.format_percent(head['best'])}"
    )


def print_suites(console: Console, found: Mapping[str, tuple[str, str]]) -> None:
    """Print the suites with a sentence each and what they still need, who plays, who asks."""
    table = Table.grid(padding=(0, 2))
    for name, (about, needs) in found.items():
        needs_note = f" [yellow]needs: {escape(needs)}[/]" if needs else ""
        table.add_row(f"[bold]{escape(name)}[/]", escape(_first_sentence(about)) + needs_note)
    table.add_row("", "")
    for name, about in AGENT_DESCRIPTIONS.items():
        table.add_row(f"[dim]{name}[/]", escape(about))
    console.print(table, highlight=False)


def print_baselines(console: Console, suite: str) -> None:
    """Print who plays a suite without a key, where it has baselines of its own."""
    if available := baseline_names(suite):
        listed = ", ".join(f"baseline/{name}" for name in available)
        controls = ", ".join(
            f"control/{name}"
            for name in ("oracle", "null", "faulty?class=...", "always-call", "dead")
        )
        for line in (f"baselines: {listed}", f"controls: {controls}"):
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def print_tool_formats(console: Console, suite: str) -> None:
    """Print a suite's tool formats, where its module names them."""
    if description := tool_format_note(suite):
        console.print(f"--tool-format: {description}", markup=False, highlight=False)


def print_outcomes(
    console: Console,
    run: Run,
    fits: Callable[[Score], bool] = lambda score: True,
    *,
    list_all: bool = False,
    failure_names: Mapping[str, str] = {},
) -> None:
    """List the tasks of a run that fit: outcome and primary cause in the headline rule.

    The first of them only, unless the `whole` list is wanted.
    """
    suite = run_names.label_suite(run.info.plan.suite, run.info.data_label)
    console.print(f"{run_names.player_name(run.info.plan.agent, run.info.plan.model)} on {suite}",
                  markup=False, highlight=False)  # fmt: skip
    rows: list[tuple[str, str, str]] = []
    n = 0
    for n, score in enumerate(filter(fits, run.scores()), 1):
        if list_all or n <= MAX_LISTED_EPISODES:
            rows.append(_outcome_row(score, failure_names))
    width = max((len(row[0]) for row in rows), default=0)
    for name, outcome, why in rows:
        line = f"  {name:{width}}  {outcome:9}  {why}".rstrip()
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if not n:
        console.print("  no episode fits")
    if n > len(rows):
        n_more = number_format.format_count(n - len(rows))
        note = f"... and {n_more} more: --all lists them, --outcome and --axis choose"
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    step = f"next: {consoles.shell_command('show', run.path, 'ID')}"
    console.print(step, highlight=False, markup=False, soft_wrap=True)


def headline_outcome(score: Score) -> str:
    """Return what became of an episode in the headline rule."""
    if score.failure or not score.verdicts:
        return NOT_RUN
    return next(iter(score.verdicts.values())).outcome


def incomplete_attempts(
    attempts: Iterable[Attempt], done: Collection[tuple[str, int]]
) -> list[Attempt]:
    """Return the latest attempt at each episode that is not complete, oldest first."""
    latest: dict[tuple[str, int], Attempt] = {}
    for attempt in attempts:
        latest.pop((attempt.task, attempt.repeat), None)
        latest[attempt.task, attempt.repeat] = attempt
    return [attempt for episode, attempt in latest.items() if episode not in done]


def print_not_run(console: Console, run: Run) -> None:
    """Print why episodes are not run, by kind, and what to do."""
    done = run.completed_episodes()
    incomplete, scoring_failures = incomplete_attempts(run.attempts(), done), unscored_failures(run)
    failures = [*(attempt.failure for attempt in incomplete), *scoring_failures]
    # what only waited for another episode tells least: it comes last
    groups = sorted(group_failures(failures), key=lambda x: x[1][0].kind == "needs")
    _print_failure_groups(console, "not run", [x for x in groups if x[1][0].kind != "scorer"])
    _print_failure_groups(console, "not scored", [x for x in groups if x[1][0].kind == "scorer"])
    lines = [
        f"  next: see one of them whole: {consoles.shell_command('show', run.path, each.task)}"
        for each in incomplete[:1]
    ]
    n_unreached = run.info.n_episodes - len(done) - len(incomplete)
    lines += [f"  {step}" for step in failure_advice.next_steps(run, failures, n_unreached)]
    for line_ in lines:
        console.print(visible_text(line_), markup=False, highlight=False, soft_wrap=True)


def not_run_reason(found: Mapping[str, Any]) -> str:
    """Say how many episodes of a summary were not run, "" where all were."""
    if not found["n_not_run"]:
        return ""
    n_not_run = number_format.format_count(found["n_not_run"])
    planned = number_format.pluralize(found["n_planned"], "episode")
    return f"{n_not_run} of {planned} not run"


def unscored_failures(run: Run) -> list[Failure]:
    """Return why episodes that were played have no score."""
    failed = {(s.task, s.repeat): s.failure for s in run.scores() if s.failure is not None}
    return (
        [failed[key] for key in sorted(failed.keys() & run.completed_episodes())] if failed else []
    )


def print_unscored(console: Console, run: Run) -> None:
    """Print why episodes that were played have no score, and how to score them: nobody is asked."""
    failures = unscored_failures(run)
    _print_failure_groups(console, "not scored", group_failures(failures))
    plan = run.info.plan
    wanted = [
        failure for failure in failures if not failure_advice.find_step(failure, plan).if_repeated
    ]
    for step in failure_advice.next_steps(run, wanted):
        console.print(visible_text(f"  {step}"), markup=False, highlight=False, soft_wrap=True)


def _print_failure_groups(
    console: Console, what: str, groups: Sequence[tuple[int, Sequence[Failure]]]
) -> None:
    """Print how many failed for each cause, and what some of them say."""
    for n, (first, *more) in groups:
        others = number_format.pluralize(len(more) - MAX_FURTHER_MESSAGES, "other message")
        for line_ in (
            f"  {what}, {number_format.pluralize(n, 'episode')}: {shorten_text(first.summary)}",
            *(f"    also: {shorten_text(each.first_line)}" for each in more[:MAX_FURTHER_MESSAGES]),
            *([f"    also: {others}"] if len(more) > MAX_FURTHER_MESSAGES else []),
        ):
            console.print(line_, markup=False, highlight=False, soft_wrap=True)


def print_reasons(
    console: Console, what: str, unit: str, reasons: Sequence[tuple[str, int]]
) -> None:
    """Print the first reasons with their counts, and how many are not shown."""
    lines = [
        f"{number_format.pluralize(n, unit)}: {shorten_text(reason)}"
        for reason, n in reasons[:MAX_REASONS]
    ]
    if others_left := reasons[MAX_REASONS:]:
        others = number_format.pluralize(len(others_left), "other reason")
        lines.append(f"{number_format.pluralize(sum(n for _, n in others_left), unit)}: {others}")
    for line_ in lines:
        console.print(f"  {what}, {line_}", markup=False, highlight=False, soft_wrap=True)


def _outcome_row(score: Score, failure_names: Mapping[str, str]) -> tuple[str, str, str]:
    name = visible_text(f"{score.task} #{score.repeat}" if score.repeat else score.task)
    if score.failure or not score.verdicts:
        return name, NOT_RUN, shorten_text(score.failure.summary) if score.failure else ""
    return name, headline_outcome(score), _failure_text(score, failure_names)


def _failure_text(score: Score, failure_names: Mapping[str, str]) -> str:
    """Return the primary cause in the headline rule and the suite's class, "" for none."""
    verdict = next(iter(score.verdicts.values()), None)
    label = next((each for each in verdict.labels if each.primary), None) if verdict else None
    return (
        f"{label.cause}  {run_names.suite_cause_label(label.suite_cause, failure_names)}".strip()
        if label
        else ""
    )


def print_failures(console: Console, run: Run, failure_names: Mapping[str, str]) -> None:
    """Print the commonest primary causes of failure in the headline rule."""
    from toolmark.statistics.score_columns import without_variations  # lists need no numpy

    scores = without_variations(run.scores())
    counts = Counter(filter(None, (_failure_text(score, failure_names) for score in scores)))
    for reason, n in counts.most_common(MAX_REASONS):
        line = f"  {number_format.pluralize(n, 'failure')}: {shorten_text(reason)}"
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)
    if n_left := counts.total() - sum(n for _, n in counts.most_common(MAX_REASONS)):
        causes = number_format.pluralize(len(counts) - MAX_REASONS, "other cause")
        line = f"  {number_format.pluralize(n_left, 'failure')} of {causes}"
        console.print(line, style="dim", markup=False, highlight=False, soft_wrap=True)


def _first_sentence(text: str) -> str:
    head, stop, _ = text.partition(". ")
    return head + "." if stop else text


def print_parameters(console: Console, about: str, found: Sequence[ParameterField]) -> None:
    """Print the parameters of a suite: a line with name, default and values, then what it is.

    Of a default nothing is cut, so that it can be copied.
    """
    console.print(about, highlight=False, markup=False)
    for parameter in found:
        console.print(
            f"[bold]-T {parameter.name}=[/]{escape(_default_text(parameter.default))}"
            f"  [dim]{escape(parameter.kind)}[/]",
            highlight=False,
            soft_wrap=True,
        )
        console.print(Padding(escape(parameter.description), (0, 0, 0, 4)), highlight=False)


def _default_text(default: object) -> str:
    """Return a default as -T takes it, "" for none."""
    match default:
        case None:
            return ""
        case bool():
            return "yes" if default else "no"
        case tuple():
            return ",".join(map(str, default))
    return str(default)


def print_checks(console: Console, found: Sequence[Check]) -> None:
    """Print what the doctor found, and what to do about it."""
    colours = {"ok": "green", "warn": "yellow", "fail": "red"}
    for check in found:
        console.print(
            f"[{colours[check.status]}]{check.status:4}[/]  [bold]{escape(check.name):18}[/] "
            f"{escape(visible_text(check.detail))}",
            highlight=False,
            soft_wrap=True,
        )
        if check.next_step:
            note = f"      next: {check.next_step}"
            console.print(note, markup=False, highlight=False, soft_wrap=True)


def shorten_text(text: str, more: str = "") -> str:
    """Cut long text in its middle, and show control characters instead of sending them.

    What is asked mostly stands at the end. `more` is printed next to its length.
    """
    if len(text) <= MAX_TEXT_CHARS:
        return visible_text(text)
    head = visible_text(text[: MAX_TEXT_CHARS // 2])
    tail = visible_text(text[-MAX_TEXT_CHARS // 2 :])
    return f"{head} ... ({number_format.format_count(len(text))} characters{more}) ... {tail}"
