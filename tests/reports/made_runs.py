"""Made-up runs with every shape that a page and a terminal show, hostile text included."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolmark.core import json_codec, seeds, svg
from toolmark.core.failure import Failure
from toolmark.core.records import (
    Attempt,
    Call,
    Cause,
    Chart,
    Drawing,
    Label,
    Message,
    Reply,
    Result,
    Sampling,
    Series,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
    Turn,
    Usage,
    Verdict,
)
from toolmark.runs import run_finalization, run_folders, run_scoring
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_plan import Plan
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Presentation, Scorer
from toolmark.scoring.episode import Episode
from toolmark.statistics.confidence_intervals import wilson
from toolmark.statistics.metric_formulas import FilteredFormula, Mean, Metric
from toolmark.statistics.row_filters import RowFilter
from toolmark.statistics.score_columns import Columns

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!-- <script>alert(1)</script>"
ODD = (
    HOSTILE,
    "العربية من اليمين إلى اليسار 123 \u202eevil\u202c",
    "🧪👩‍🔬 emoji, and a lone surrogate " + json_codec.escape_surrogates("\ud83d") + " in the text",
    "line\u2028separator and \x00 control \x1b[31m",
    "one_very_long_word_" * 40,
)
CAUSES: tuple[tuple[Cause, str], ...] = (
    ("wrong_value", "4 incorrect value"),
    ("value_not_known", "3 not yet known"),
    ("wrong_value", "type_error:nested"),
    ("over_limit", "calls"),
)
CATEGORIES = ("core 5", "core 10", "core 20")

Maker = Callable[..., Run]

LIMITED = Failure(stage="model", kind="rate_limited", status=429, message="429 after 5 tries")


def message(text: str, role: str = "user") -> Message:
    return json_codec.decode_record(
        json_codec.encode_record({"role": role, "parts": [Text(text)]}), Message
    )


def task(index: int) -> Task:
    category = CATEGORIES[index % 3]
    tools = tuple(
        Tool(
            name=f"lookup_{name}",
            description="Looks a value up.",
            parameters={
                "type": "object",
                "properties": {"key": {"type": "integer"}, "unit": {"type": "string"}},
                "required": ["key"],
            },
        )
        for name in ("alpha", "beta", "gamma")
    )
    said = (message("You may call tools.", "system"), message(f"Find value {index}. {_odd(index)}"))
    return Task(
        id=f"lab-{index}",
        item=f"lab-{index}",
        suite="lab",
        category=category,
        turns=(Turn(messages=said),),
        tools=tools,
        data={"answer": 412 + index},
        axes={"core": category.split()[1], "irrelevant": str(10 * (index % 4))},
    )


def _odd(index: int) -> str:
    return ODD[index % len(ODD)] if index % 7 == 0 else ""


def trajectory(index: int, repeat: int, *, right: bool, long: int = 0) -> Trajectory:
    rng = seeds.make_rng(1, str(index), repeat, "trajectory")
    said = task(index).turns[0].messages
    steps = []
    for n in range(1 + seeds.draw_below(rng, 4)):
        calls = tuple(
            Call(name=f"lookup_{name}", arguments=f'{{"key": {100 * n + i}}}', id=f"c{n}{i}")
            for i, name in enumerate(("alpha", "beta", "gamma")[: 1 + seeds.draw_below(rng, 3)])
        )
        results = tuple(
            Result(parts=(Text('{"fizul": 412}'),), is_error=i == 2) for i in range(len(calls))
        )
        reply = Reply(
            text=_odd(index + 7 * n), calls=calls, usage=Usage(input=900 + 40 * n, output=35),
            latency_s=0.4 + 0.1 * n, reasoning="First alpha, then beta." if n else "",
        )  # fmt: skip
        steps.append(
            Step(reply=reply, new_messages=said if n == 0 else (), calls=calls, results=results)
        )
    answer = f"bujxye = {412 + index if right else 7}" + "x" * long
    steps.append(Step(reply=Reply(text=answer, usage=Usage(input=1200, output=12), latency_s=0.7)))
    return Trajectory(
        task=f"lab-{index}", repeat=repeat, steps=tuple(steps), answer=answer,
        usage=Usage(input=4000, output=120), latency_s=2.5 + 0.01 * index,
    )  # fmt: skip


def score(episode: Episode) -> Mapping[str, Verdict]:
    task, trajectory = episode.task, episode.trajectory
    right = trajectory.answer.startswith(f"bujxye = {task.data['answer']}")
    if right:
        return {name: Verdict(outcome="correct", value=1.0) for name in ("official", "fair")}
    cause, native = CAUSES[int(task.id.split("-")[1]) % len(CAUSES)]
    evidence = f"step 2, call 1: key = 100, should be 7 {_odd(int(task.id.split('-')[1]))}"
    labels = (
        Label(cause=cause, suite_cause=native, evidence=evidence, primary=True),
        Label(cause="extra_call", suite_cause="irrelevant", evidence="step 1, call 2"),
    )
    failed = Verdict(outcome="incorrect", value=0.0, parts={"calls": 6.0}, labels=labels)
    fair = Verdict(outcome="correct", value=1.0) if cause == "over_limit" else failed
    return {"official": failed, "fair": fair}


def metrics(columns: Columns) -> Sequence[Metric]:
    def level(name: str) -> Metric:
        return Metric(
            name,
            FilteredFormula(
                filters=(RowFilter(column="category", values=(name,)),), formula=Mean()
            ),
        )

    return [Metric("success"), *map(level, CATEGORIES)]


def tables(by_reading: Mapping[str, Columns]) -> Sequence[Table | Chart]:
    table = by_reading["official"]
    rows, low, high, value = [], [], [], []
    for name in CATEGORIES:
        mine = table.where(table.category == name)
        n, k = int(mine.run.sum()), int(mine.correct.sum())
        rows.append((name, n, k / n if n else None, 5.4321 if n else None, "this run"))
        ends = wilson(k, n)
        low.append(ends[0])
        high.append(ends[1])
        value.append(k / n if n else float("nan"))
    ours = Series(name="this run", x=(5, 10, 20), y=tuple(value), low=tuple(low), high=tuple(high))
    paper = Series(name="a published model", x=(5, 10, 20), y=(0.725, 0.382, 0.15))
    bars = tuple(
        Series(name=s.name, x=(0, 1, 2), y=s.y, low=s.low, high=s.high) for s in (ours, paper)
    )
    cloud = Series(
        name="episodes",
        x=tuple(float(i % 17) + 0.3 for i in range(60)),
        y=tuple(float((i * 7) % 23) for i in range(60)),
    )
    head = ("setting", "n", "success", "calls per trial", "source")
    return [
        Table(title="Success by size", head=head, rows=tuple(rows), note="Shares, not per cent."),
        Table(
            title="Success by size and source", head=("setting", "this run", "a published model"),
            rows=tuple(zip(CATEGORIES, value, paper.y, strict=True)), n_shaded_columns=2,
        ),
        Chart(
            title="Success by core size", kind="line", series=(ours, paper),
            x_label="core functions", y_label="success",
        ),
        Chart(
            title="Success by size, as bars", kind="bar", series=bars, ticks=CATEGORIES,
            y_label="success", note="Whiskers are 95 % intervals.",
        ),
        Chart(
            title="Calls over depth", kind="scatter", series=(cloud,),
            x_label="depth", y_label="calls",
        ),
    ]  # fmt: skip


def views(episode: Episode) -> Sequence[Table | Drawing]:
    task, trajectory = episode.task, episode.trajectory
    drawn = svg.svg_element(
        200, 60,
        svg.element("circle", cx=30, cy=30, r=18, fill="none", stroke="currentColor"),
        svg.element("text", task.id, x=60, y=35, fill="currentColor", class_="drawn"),
        label="A graph", css=".drawn{font:12px monospace}",
    )  # fmt: skip
    rows = tuple(
        (n + 1, call.name, call.arguments)
        for n, step in enumerate(trajectory.steps)
        for call in step.calls
    )
    listing = Table(title="Calls", head=("step", "function", "arguments"), rows=rows)
    return [Drawing(title="Graph of calls", svg=drawn, note="Circles are calls."), listing]


SCORER = Scorer(
    rules=("official", "fair"),
    score=score,
    metrics=metrics,
    presentation=Presentation(tables=tables, views=views),
)


def make(
    parent: Path,
    *,
    n: int = 30,
    model: str = "test/lab",
    luck: int = 45,
    repeats: int = 1,
    absent: int = 0,
    long: int = 0,
    parameters: Mapping[str, object] | None = None,
    offset: int = 0,
) -> Run:
    """Make a scored run: `luck` per cent succeed, the last `absent` tasks are not run."""
    plan = Plan(
        suite="lab", model=model, tool_format="native", repeats=repeats,
        parameters=dict(parameters or {"core": 10}), sampling=Sampling(temperature=0.0),
    )  # fmt: skip
    path = run_folders.claim_folder(parent, plan)
    run_folders.write_run(
        path, plan, (task(i + offset) for i in range(n)), seed=7,
        command=f"toolmark run lab -m {model} --seed 7", created="2026-01-02T03:04:05+00:00",
        hashes={"items": "0" * 64}, versions={"python": "3.11.2", "toolmark": "0.1.0"},
        served_models=("lab-2026-01",),
    )  # fmt: skip
    done = RecordAppender(path / "trajectories.jsonl")
    missing = RecordAppender(path / "attempts.jsonl")
    for repeat in range(repeats):
        for i in range(offset, n + offset):
            if i >= n + offset - absent:
                partial = trajectory(i, repeat, right=False).steps[:1]
                missing.append(
                    Attempt(task=f"lab-{i}", repeat=repeat, failure=LIMITED, steps=partial)
                )
                continue
            rng = seeds.make_rng(3, f"{model}{i}", repeat, "luck")
            right = seeds.draw_below(rng, 100) < luck
            done.append(trajectory(i, repeat, right=right, long=long if i == offset else 0))
    done.close()
    missing.close()
    run = Run(path)
    run_finalization.rescore_run(run, SCORER)
    return Run(path)


def presented(run: Run, scorer: Scorer) -> Run:
    """Store how this scorer shows a run's scores, which stay as they are."""
    run_scoring.write_summary(run, scorer)
    return run
