"""What a run did, as plain values: the one place where the goldens read toolmark's inside."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import msgspec
from rich.console import Console, ConsoleDimensions
from tests.golden import files
from tests.golden.normalise import Normaliser, digest, long, once
from tests.golden.paths import Json

from toolmark.cli import app
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Control, DelegatingModel, Model, ReplyFunction
from toolmark.core.records import Chart, Drawing, Reply, Request, Table, Task
from toolmark.core.svg import Markup
from toolmark.reports import (
    episode_block,
    html_report,
    page_sections,
    run_facts,
    run_names,
    score_tables,
    table_format,
)
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import (
    StoredViews,
    provisional_presentation,
    read_presentation,
)
from toolmark.suites import run_models

WIDTH = 100  # columns of the terminal
_VERSIONED = ("versions",)
_ANSWERING = ("servers", "cassette", "corpus", "items", "pages")  # digests of a plan
HARNESS = __package__
_CODE = ("modules", "model_modules")  # digests of a plan that change with every edit of a test


# --- requests -----------------------------------------------------------------------------


class Listener(DelegatingModel):
    """A model that notes what it is asked and what it replies."""

    def __init__(self, model: Model, heard: list[tuple[str, Request, Reply | None]]) -> None:
        super().__init__(model)
        self._heard = heard

    async def __call__(self, request: Request, /) -> Reply:
        return await _noted(self.model, request, self._heard, "")


class BoundListener(Control):
    """An instrument whose players note what they are asked."""

    def __init__(self, model: Control, heard: list[tuple[str, Request, Reply | None]]) -> None:
        self.name, self._model, self._heard = model.name, model, heard

    def bind(self, task: Task, repeat: int, /) -> ReplyFunction:
        player = self._model.bind(task, repeat)
        heard = self._heard

        async def play(request: Request, /) -> Reply:
            return await _noted(player, request, heard, f"{task.id} {repeat}")

        return play


async def _noted(
    model: Any, request: Request, heard: list[tuple[str, Request, Reply | None]], who: str
) -> Reply:
    place = len(heard)
    heard.append((who, request, None))
    reply: Reply = await model(request)
    heard[place] = (who, request, reply)
    return reply


@contextmanager
def listening() -> Iterator[list[tuple[str, Request, Reply | None]]]:
    """Note every request of the runs in this block, with its reply."""
    heard: list[tuple[str, Request, Reply | None]] = []
    resolve = vars(run_models)["make_model"]

    def resolved(*given: Any, **more: Any) -> Any:
        model = resolve(*given, **more)
        return (BoundListener if isinstance(model, Control) else Listener)(model, heard)

    with mock.patch.object(run_models, "make_model", resolved):
        yield heard


def requests(heard: Sequence[tuple[str, Request, Reply | None]], tidy: Normaliser) -> Json:
    """Return requests as sent to the model; messages and tools that repeat are held once."""
    asked = [msgspec.to_builtins(request) for _, request, _ in heard]
    messages = [tidy.value(message) for request in asked for message in request["messages"]]
    tools = [tidy.value(request.get("tools", [])) for request in asked]
    message_names, message_table = once(messages)
    tool_names, tool_table = once(tools)
    left = iter(message_names)
    return {
        "sent": [
            {
                **({"episode": who} if who else {}),
                "messages": [next(left) for _ in request["messages"]],
                "tools": name,
                **{k: v for k, v in request.items() if k not in ("messages", "tools")},
            }
            for (who, _, _), request, name in zip(heard, asked, tool_names, strict=True)
        ],
        "messages": message_table,
        "tools": tool_table,
    }


# --- runs ---------------------------------------------------------------------------------


def run(found: Run, tidy: Normaliser, *, tasks: bool = True) -> Json:
    """Return what a run folder holds: what was asked, what happened, what it was worth."""
    info = msgspec.to_builtins(found.info)
    for name in _VERSIONED:
        info[name] = dict.fromkeys(info.get(name, {}), "<version>")
    info.pop("tasks_sha256", None)  # the tasks themselves stand in the record
    info.setdefault("wall_s", 0.0)  # left out where a session took less than half a millisecond
    _number_digests(info, tidy)
    reported: dict[str, Json] = {
        "info": tidy.value(info),
        "endings": endings(found, tidy),
        "attempts": attempts(found, tidy),
        "scores": scores(found, tidy),
        "summary": summary(found, tidy),
    }
    if tasks:
        reported["tasks"] = [tidy.value(task) for task in found.tasks()]
    if judged := [tidy.value(each) for each in found.judgements()]:
        reported["judgements"] = sorted(judged, key=repr)
    return reported


def _number_digests(info: Mapping[str, Any], tidy: Normaliser) -> None:
    """Number the digests of a run: of what answers, then of the data; of code the names count."""
    plan = info["plan"]
    read = plan.get("environment_hashes", {})
    for each in [plan.get("tasks_sha256", ""), *(read[name] for name in _ANSWERING if name in read),
                 *info.get("hashes", {}).values()]:  # fmt: skip
        tidy.text(each)
    for name in _CODE:
        if name in plan:
            plan[name] = dict.fromkeys(map(_owner, plan[name]), "<sha256>")


def _owner(module: str) -> str:
    """Return the name of a module; the harness's own are one, whatever it is made of."""
    return HARNESS if module.startswith(f"{HARNESS}.") else module


def endings(found: Run, tidy: Normaliser) -> Json:
    """Return how each episode ended: steps with calls, results and faults, answer and state."""
    return [
        {
            "episode": f"{each.task} {each.repeat}",
            "ending": each.ending,
            "answer": _cut(tidy.text(each.answer)),
            "state": _state(each.state, tidy),
            "usage": msgspec.to_builtins(each.usage),
            "steps": [_step(step, tidy) for step in each.steps],
        }
        for each in sorted(found.trajectories(), key=lambda each: (each.task, each.repeat))
    ]


def _cut(text: str) -> str:
    return long(text, 400)


def _state(state: Any, tidy: Normaliser) -> Json:
    """Return a final state; of a large one the ends of its text, and its digest."""
    reported = tidy.value(state)
    text = files.dumps(reported)
    return reported if len(text) <= 800 else long(" ".join(text.split()), 800)


def _step(step: Any, tidy: Normaliser) -> Json:
    made = {
        "turn": step.turn,
        "stop": step.reply.stop,
        "text": _cut(tidy.text(step.reply.text)),
        "calls": [_cut(tidy.text(f"{call.name}({call.arguments})")) for call in step.calls],
        "results": [
            _cut(tidy.text(("error: " if each.is_error else "") + each.text))
            for each in step.results
        ],
        "fault": step.fault,
        "phase": step.phase,
        "ruling": tidy.value(step.ruling),
    }
    return {name: value for name, value in made.items() if value not in ("", [], None, 0)}


def attempts(found: Run, tidy: Normaliser) -> Json:
    """Return the episodes that were not run, in a fixed order."""
    listed = [
        {"episode": f"{each.task} {each.repeat}", "failure": each.failure,
         "steps": [_step(step, tidy) for step in each.steps]}
        for each in found.attempts()
    ]  # fmt: skip
    made = [tidy.value(each) for each in listed]
    return sorted(made, key=lambda each: (each["episode"], *_failed(each["failure"])))


def _failed(failure: Mapping[str, str]) -> tuple[str, str]:
    return failure["stage"], failure.get("message", "")


def scores(found: Run, tidy: Normaliser) -> Json:
    """Return every verdict with value, parts and labels."""
    listed = sorted(found.scores(), key=lambda each: (each.task, each.repeat))
    return [tidy.value(each) for each in listed]


def summary(found: Run, tidy: Normaliser) -> Json:
    """Return the summary; the order of its readings and parts is kept beside it."""
    try:
        reported = dict(found.summary())
    except UsageError as error:  # a run that ended before it was scored has none
        return {"raised": tidy.text(str(error))}
    return {
        **tidy.value(reported),
        "order": {"keys": [*reported], "parts": [*reported.get("parts", {})]},
    }


# --- reports ------------------------------------------------------------------------------


def report(runs: Sequence[Run], tidy: Normaliser, *, episodes: int = 4) -> Json:
    """Return what the page over these runs is made from: tables, charts, facts, episodes.

    Of each run the first `episodes` episodes are taken in full, in the order of their ids; without
    any, tables are not taken as the text of a terminal either.
    """
    shown = [read_presentation(each) or provisional_presentation(each) for each in runs]
    reported = run_names.distinct_run_names(runs)
    gathered = [
        run_facts.gather_run_facts(i, each, own, name)
        for i, (each, own, name) in enumerate(zip(runs, shown, reported, strict=True))
    ]
    sides = [side for side, _ in gathered]
    columns = [found for _, found in gathered]
    return tidy.value(
        {
            "title": html_report._page_title(sides),
            "sides": [_side(side) for side in sides],
            "own": [[_plain(each) for each in own.tables] for own in shown],
            "parts": [
                _plain(html_report._score_grid(table, runs, sides))
                for table in score_tables.score_tables(sides)
            ],
            "overviews": _plain(page_sections.suite_overviews(runs, reported, shown, columns)),
            "profiles": _plain(page_sections.suite_profiles(runs, reported, shown, columns)),
            "comparisons": [_plain(each) for each in html_report._comparison_sections(runs)],
            "cautions": run_facts.runs_by_caution(sides),
            "terminal": [
                table_format.render_text(each)
                for own in shown
                for each in own.tables
                if isinstance(each, Table) and episodes
            ],
            "episodes": [
                each for i, one in enumerate(runs) for each in _episodes(i, one, episodes)
            ],
        }
    )


def _side(side: Any) -> Json:
    made = _plain(side)
    hidden = {"created", "took", "folder"}
    made["settings"] = [
        [key, f"<{key}>" if key in hidden else value] for key, value in made["settings"]
    ]
    made["origins"] = [key for key, _ in made["origins"]]
    replies = made.pop("replies")
    for rule in made["rules"]:
        del rule["episodes_by_name"]  # the links of the page's own table have it
    measured = ("Times of replies", "Speed of output")
    if shown := [each["title"] if each["title"] in measured else each for each in replies]:
        made["replies"] = shown
    return made


def _plain(value: Any) -> Json:
    """Return a table, a chart or a dataclass of the page as plain values; drawings by digest."""
    match value:
        case Markup():
            return digest(str(value).encode())
        case Drawing():
            return {"is": "Drawing", **_fields(value), "svg": _drawn(value.svg)}
        case Table() | Chart():
            return {"is": type(value).__name__, **_fields(value)}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {
                each.name: _plain(getattr(value, each.name)) for each in dataclasses.fields(value)
            }
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return msgspec.to_builtins(value)


def _drawn(svg: str) -> Json:
    return digest(svg.encode()) if svg else ""


def _fields(value: Any) -> dict[str, Json]:
    return {name: _plain(each) for name, each in msgspec.structs.asdict(value).items()}


def _episodes(index: int, found: Run, most: int) -> Iterator[Json]:
    verdicts = {(each.task, each.repeat): each.verdicts for each in found.scores()}
    listed = sorted(found.trajectories(), key=lambda each: (each.task, each.repeat))
    media, stored = MediaStore(found.path / "media"), StoredViews(found)
    for each in [each for each in listed if (each.task, each.repeat) in verdicts][:most]:
        task = found.task(each.task)
        views = stored[each.task, each.repeat]
        made = episode_block.completed_block(
            index, task, each, verdicts[each.task, each.repeat], views, media, found.path
        )
        yield {
            "line": msgspec.json.decode(made.list_entry),
            "body": msgspec.json.decode(made.details),
            "drawn": sorted(made.pictures),
            "views": [_plain(view) for view in views],
        }


# --- the command line ---------------------------------------------------------------------


def command(words: Sequence[str], tidy: Normaliser) -> Json:
    """Run a command line in this process; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        mock.patch.object(sys, "argv", ["toolmark", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(Console, "size", ConsoleDimensions(WIDTH, 50)),
        mock.patch.object(Console, "width", WIDTH),
    ):
        try:
            app.main()
        except SystemExit as ended:
            code = ended.code
    return {
        "words": [tidy.text(word) for word in words],
        "exit": code if isinstance(code, int) else 0 if code is None else str(code),
        "out": lines(out.getvalue(), tidy),
        "err": lines(err.getvalue(), tidy),
    }


def lines(printed: str, tidy: Normaliser) -> list[str]:
    """Return printed text line by line, ends stripped."""
    return [line.rstrip() for line in tidy.text(printed).splitlines()]
