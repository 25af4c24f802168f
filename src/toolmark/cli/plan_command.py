"""`toolmark plan`: how many items and repeats a run needs, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from toolmark.cli import command_options as options
from toolmark.cli import consoles
from toolmark.core.errors import UsageError
from toolmark.reports.table_format import visible_text

if TYPE_CHECKING:
    from toolmark.core.records import Sampling
    from toolmark.runs.planning.pilot_runs import Pilot
    from toolmark.runs.planning.study_plan import PilotRecord
    from toolmark.runs.planning.study_planning import StudyForecast

out, err = consoles.stdout_console(), consoles.stderr_console()


def plan(
    suite: options.SuiteName,
    parameters: options.Parameters = None,
    seed: options.Seed = None,
    tool_format: options.ToolFormatName = None,
    pilot: Annotated[
        list[Path] | None,
        options.option(
            "--pilot",
            metavar="RUN",
            help="A stored run of the suite. Twice: two models, for their difference.",
        ),
    ] = None,
    expect: Annotated[
        float | None,
        options.option("--expect", metavar="SHARE", help="An expected score, without a pilot."),
    ] = None,
    half_width: Annotated[
        float | None,
        options.option(
            "--half-width", metavar="SHARE", help="Wanted: an interval of plus and minus so much."
        ),
    ] = None,
    difference: Annotated[
        float | None,
        options.option(
            "--difference", metavar="SHARE", help="Wanted: a difference of two runs that is found."
        ),
    ] = None,
    power: Annotated[
        float, options.option("--power", help="How often the difference is to be found.")
    ] = 0.8,
    correlation: Annotated[
        float | None,
        options.option("--correlation", help="Of single answers of two runs. Default: 0."),
    ] = None,
    model: Annotated[
        str | None,
        options.option(
            "-m", "--model", metavar="MODEL", help="Whose price counts. Default: the pilot's costs."
        ),
    ] = None,
    price: options.Prices = None,
    tokens: Annotated[
        str | None,
        options.option(
            "--tokens",
            metavar="INPUT,OUTPUT",
            help="Tokens of an episode, for the price. Default: the pilot's.",
        ),
    ] = None,
    draw_seed: Annotated[
        int, options.option("--draw-seed", help="Seed of the items that are drawn.", min=0)
    ] = 0,
    output: Annotated[
        Path | None,
        options.option(
            "-o", "--output", metavar="PLAN.json", help="Write the plan, for run --plan."
        ),
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Plan a run: items and repeats for an interval or a difference, from a pilot, with its cost.

    Nothing is asked. The items of the pilot are left out of the run that follows.
    """
    from toolmark.reports import study_plan_text
    from toolmark.runs.planning import pilot_runs, planned_prices, study_plan, study_planning
    from toolmark.runs.planning.study_plan import StudyGoal

    paths = pilot or []
    _check_sources(paths, expect, half_width, correlation)
    goal = StudyGoal(
        half_width=half_width, difference=difference, power=power, correlation=correlation
    )
    study_planning.check_goal(goal, is_share=False)
    if output is not None and output.exists():
        raise UsageError(f"{output}: exists already; next: another name with -o")
    loaded = options.load_suite(suite, parameters, seed, with_notes=False)
    loaded = pilot_runs.adapt_to_pilot(loaded, paths, model, tool_format)
    pilots = [pilot_runs.read_pilot(path, loaded) for path in paths]
    cost = planned_prices.find_episode_cost(pilots, model, price, tokens)
    request = study_planning.StudyRequest(goal, pilots, expect, cost.usd, draw_seed)
    with consoles.divert_stdout():
        forecast = study_planning.plan_study(loaded, request)
    sha256 = study_plan.write_study_plan(output, forecast.plan) if output is not None else ""
    if as_json:
        fields = msgspec.to_builtins(forecast)
        written = {"path": str(output), "sha256": sha256} if output is not None else {}
        options.print_json({**fields, "cost_note": cost.note, **written})
        return
    for text in study_plan_text.describe_forecast(forecast, cost.note):
        out.print(visible_text(text), markup=False, highlight=False, soft_wrap=True)
    words = ["run", suite, *(word for each in parameters or () for word in ("-T", each))]
    asked_in = pilots[0].run.info.plan.tool_format if pilots else tool_format
    if asked_in is not None and asked_in != next(iter(loaded.tool_formats)):
        words += ["--tool-format", asked_in]
    if len(pilots) == 1:
        words += _words_as_asked(pilots[0].record, loaded.defaults.sampling)
    _print_next_step(words, forecast, pilots, output, sha256)


def _words_as_asked(pilot: PilotRecord, own: Sampling) -> list[str]:
    """Return the flags that ask a run as its pilot was asked: its agent and its sampling."""
    words = ["--agent", pilot.agent] if pilot.agent else []
    for name, value in msgspec.structs.asdict(pilot.sampling).items():
        if value in (None, {}) or value == getattr(own, name):
            continue
        is_extra = name == "extra"
        flag = "--extra-body" if is_extra else f"--{name.replace('_', '-')}"
        words += [flag, json.dumps(value) if is_extra else str(value)]
    return words


def _check_sources(
    paths: Sequence[Path],
    expect: float | None,
    half_width: float | None,
    correlation: float | None,
) -> None:
    """Raise UsageError unless there is one source of the variance that fits the goal."""
    if bool(paths) == (expect is not None):
        raise UsageError(
            "a plan needs a pilot or an expected score, and not both; next: --pilot RUN, or "
            "--expect 0.6"
        )
    if len(paths) > 2 or (len(paths) == 2 and half_width is not None):
        raise UsageError(
            f"{len(paths)} pilots: an interval has one, a difference one or two; next: leave out "
            "the others"
        )
    if len(paths) == 2 and correlation is not None:
        raise UsageError("two pilots show their correlation; next: leave out --correlation")


def _print_next_step(
    words: Sequence[str],
    forecast: StudyForecast,
    pilots: Sequence[Pilot],
    output: Path | None,
    sha256: str,
) -> None:
    if output is None:
        line = "next: the same command with -o plan.json, then toolmark run ... --plan plan.json"
    else:
        has_seed = any(word.startswith("seed=") for word in words)  # after -T
        is_drawn = "seed" in forecast.plan.parameters and not has_seed
        seed = ("--seed", str(forecast.plan.suite_seed)) if is_drawn else ()
        model = pilots[0].record.model if len(pilots) == 1 else "MODEL"
        step = consoles.shell_command(*words, *seed, "-m", model, "--plan", output)
        line = f"{output}: sha256 {sha256}\nnext: {step}"
    out.print(visible_text(line), markup=False, highlight=False, soft_wrap=True)
