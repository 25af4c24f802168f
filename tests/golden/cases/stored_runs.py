"""Run folders and sets of tasks as files: whole, torn, damaged, foreign; and what selects tasks."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

from tests.golden.plain import plain, tried
from tests.golden.screens import Screen

import toolmark as tm
from toolmark.core.records import Record, Sampling, Score, Task
from toolmark.runs import (
    data_card,
    dataset_folder,
    record_files,
    run_lifecycle,
    run_plan,
    run_request,
    run_settings,
    task_selection,
)
from toolmark.runs.episode_records import EpisodeRecords
from toolmark.runs.record_files import RecordLocation
from toolmark.runs.run_store import Run
from toolmark.runs.suite import EnvironmentSource, Scorer, Suite

SMALL = {"core": 3, "depth": 2, "connected": 2, "graphs": 4, "seed": 5}
MODEL = "control/faulty?class=incorrect&rate=0.6"
AGAIN = ("run", "funcbench", "-T", "core=3", "-T", "depth=2", "-T", "connected=2", "-T",
         "graphs=4", "-T", "seed=5", "-m", MODEL, "--log-dir")  # fmt: skip

Change = Callable[[Path], object]


def record(folder: Path) -> dict[str, Any]:
    """Return what becomes of each folder when it is read, scored and continued."""
    base = tm.run(tm.load("funcbench", **SMALL), MODEL, log_dir=folder / "base").path
    made = folder / "made"
    dataset_folder.write_dataset(made, tm.load("funcbench", **SMALL))
    return {
        "folders": {name: _folder(folder / "runs", name, base, change)
                    for name, change in DAMAGES.items()},
        "attempts": _attempts(folder, base),
        "frozen": _frozen(base),
        "sets": {name: _set(folder / "sets", name, made, change) for name, change in SETS.items()},
        "lines": _lines(folder),
        "places": _places(base),
        "selection": _selection(),
        "requests": _requests(folder),
        "cards": _cards(),
        "signs": _signs(),
    }  # fmt: skip


def _text(name: str, change: Callable[[str], str]) -> Change:
    """Return what changes the text of one file of a folder."""

    def do(path: Path) -> None:
        file = path / name
        file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")

    return do


def _bytes(name: str, change: Callable[[bytes], bytes]) -> Change:
    def do(path: Path) -> None:
        (path / name).write_bytes(change((path / name).read_bytes()))

    return do


def _gone(*names: str) -> Change:
    def do(path: Path) -> None:
        for name in names:
            (path / name).unlink()

    return do


def _folder_for(name: str) -> Change:
    def do(path: Path) -> None:
        (path / name).unlink()
        (path / name).mkdir()

    return do


def _first(text: str, n: int = 1) -> str:
    return "".join(text.splitlines(keepends=True)[:n])


DAMAGES: dict[str, Change] = {
    "whole": lambda path: None,
    "no scores": _gone("scores.jsonl"),
    "no summary": _gone("summary.json"),
    "no scores and summary": _gone("scores.jsonl", "summary.json"),
    "no trajectories": _gone("trajectories.jsonl", "scores.jsonl", "summary.json"),
    "one episode left": _text("trajectories.jsonl", _first),
    "none left": _text("trajectories.jsonl", lambda text: ""),
    "last torn": _text("trajectories.jsonl", lambda text: text[:-20]),
    "last without a newline": _text("trajectories.jsonl", lambda text: text[:-1]),
    "first damaged": _text("trajectories.jsonl", lambda text: "{" + text[5:]),
    "an episode twice": _text("trajectories.jsonl", lambda text: text + _first(text)),
    "an unknown episode": _text(
        "trajectories.jsonl", lambda text: text.replace("k2-m0-g1", "k2-m0-g9")
    ),
    "no text": _bytes("trajectories.jsonl", lambda data: b"\xff\xfe\n" + data),
    "scores torn": _text("scores.jsonl", lambda text: text[:-30]),
    "scores damaged": _text("scores.jsonl", lambda text: "[]\n" + text),
    "scores without one": _text("scores.jsonl", lambda text: _first(text, 3)),
    "summary damaged": _text("summary.json", lambda text: text[:30]),
    "summary of a list": _text("summary.json", lambda text: "[]"),
    "attempts damaged": lambda path: (path / "attempts.jsonl").write_text("{}\n"),
    "no tasks": _gone("tasks.jsonl"),
    "tasks changed": _text(
        "tasks.jsonl", lambda text: text.replace("funcbench-c3", "funcbench-c4", 1)
    ),
    "tasks torn": _text("tasks.jsonl", lambda text: text[:-50]),
    "tasks are no text": _bytes("tasks.jsonl", lambda data: data[:80] + b"\xff" + data[81:]),
    "no run": _gone("run.json"),
    "run damaged": _text("run.json", lambda text: text.partition('"plan"')[0]),
    "run of no text": _bytes("run.json", lambda data: b"\xff" + data),
    "run of another format": _text(
        "run.json", lambda text: re.sub(r'"format": \d+', '"format": 99', text)
    ),
    "run of an older format": _text(
        "run.json",
        lambda text: re.sub(
            r'"format": \d+',
            '"format": 0, "command": "toolmark run funcbench -m control/null"',
            text,
        ),
    ),
    "run of another suite": _text(
        "run.json", lambda text: text.replace('"suite": "funcbench"', '"suite": "nobody"')
    ),
    "a folder for a file": _folder_for("trajectories.jsonl"),
    "a folder for the tasks": _folder_for("tasks.jsonl"),
    "a folder for the scores": _folder_for("scores.jsonl"),
}


def _folder(parent: Path, name: str, base: Path, change: Change) -> dict[str, Any]:
    """Return what each command says of a damaged copy, and what a reader of Python meets."""
    place = parent / name.replace(" ", "-") / base.name
    place.parent.mkdir(parents=True)
    shutil.copytree(base, place)
    change(place)
    screen = Screen(parent)
    found: dict[str, Any] = {"read": screen.tidy.value(_read(place))}
    screen("show", "show", str(place))
    screen("report", "report", str(place), "-o", str(place / "page.html"))
    screen("compare", "compare", str(place), str(place))
    screen("score", "score", str(place))
    screen("run again", *AGAIN, str(place.parent))
    found |= {each: _said(said) for each, said in screen.said.items()}
    found["folders"] = sorted(screen.tidy.text(path.name) for path in place.parent.iterdir())
    found["files"] = sorted(path.name for path in place.iterdir())
    return found


def _attempts(folder: Path, base: Path) -> dict[str, Any]:
    """Return what becomes of a run with an attempt without a repeat, and what its summary says."""
    found = _folder(folder / "runs", "unrepeated", base, _unrepeated)
    scored = Run(folder / "runs" / "unrepeated" / base.name)
    return found | {"failures": scored.summary()["failures"]}


def _unrepeated(path: Path) -> None:
    """Leave one episode out, with a line of why it was not run that does not say which repeat."""
    lines = (path / "trajectories.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    saved = "".join(each for each in lines if "k2-m0-g2" not in each)
    (path / "trajectories.jsonl").write_text(saved)
    for name in ("scores.jsonl", "summary.json", "state.json"):
        (path / name).unlink()
    why = {"stage": "model", "kind": "timeout", "message": "slow"}
    line = {"task": "funcbench-c3-d2-k2-m0-g2", "failure": why}
    (path / "attempts.jsonl").write_text(json.dumps(line) + "\n")


def _frozen(base: Path) -> str:
    """Return what is said to someone who changes what a run was asked with."""
    info: Any = Run(base).info
    try:
        info.seed = 5
    except AttributeError as error:
        return f"AttributeError: {error}"
    return "it was changed"


def _places(base: Path) -> dict[str, Any]:
    """Return what is read at places: those of the records, and others."""
    episodes = EpisodeRecords(base)
    places = episodes.locations("scores")
    first = next(iter(places.values()))
    wrong = {
        "late": RecordLocation(first.offset + 1, first.length),
        "short": RecordLocation(first.offset, 9),
        "beyond": RecordLocation(10**9, 5),
        "of nothing": RecordLocation(0, 0),
        "two": RecordLocation(0, 2 * first.length),
    }
    tidy = Screen(base.parent).tidy
    return {
        "n": len(places),
        "each": [
            tried(lambda: episodes.record_at("scores", each, Score).task)  # noqa: B023
            == task
            for (task, _), each in places.items()
        ],
        **{
            name: tidy.value(tried(lambda: episodes.record_at("scores", each, Score)))  # noqa: B023
            for name, each in wrong.items()
        },
    }


def _said(said: Any) -> Any:
    return {name: each for name, each in said.items() if name != "words"}


def _met(ask: Callable[[], Any]) -> Any:
    """Return what comes back or is raised, tracebacks included: some damage leads to these."""
    try:
        return tried(ask)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _read(place: Path) -> Any:
    def ask(run: Run) -> dict[str, Any]:
        return {
            "done": _met(lambda: sorted(run.completed_episodes())),
            "tasks": _met(lambda: [task.id for task in run.tasks()]),
            "one": _met(lambda: run.task("funcbench-c3-d2-k2-m0-g2").id),
            "verify": _met(run.verify_tasks),
            "trajectories": _met(lambda: [each.task for each in run.trajectories()]),
            "attempts": _met(lambda: [each.task for each in run.attempts()]),
            "scores": _met(lambda: [each.task for each in run.scores()]),
            "summary": _met(lambda: str(run.summary())),
            "planned": [run.info.n_planned, run.info.n_episodes],
        }

    return _met(lambda: ask(Run(place)))


# --- sets of tasks ----------------------------------------------------------------------


def _strange(path: Path) -> None:
    for file in path.iterdir():
        file.unlink()
    (path / "mine.txt").write_text("x")


SETS: dict[str, Change] = {
    "whole": lambda path: None,
    "no card": _gone("README.md"), "no manifest": _gone("manifest.json"),
    "manifest damaged": _text("manifest.json", lambda text: text[:20]),
    "manifest of another format": _text(
        "manifest.json", lambda text: text.replace('"format": 2', '"format": 7')),
    "tasks changed": _text("tasks.jsonl", lambda text: text + _first(text)),
    "tasks gone": _gone("tasks.jsonl"),
    "another file": lambda path: (path / "notes.txt").write_text("mine"),
    "of a run": lambda path: (path / "run.json").write_text("{}"),
    "a stranger's folder": lambda path: _strange(path),
    "a make died at the start": lambda path: _making(path, done=False),
    "a make died at the end": lambda path: _making(path, done=True),
    "card changed": lambda path: [file.write_text(file.read_text() + "x")
                                  for file in path.glob("*.md")],
}  # fmt: skip


def _making(path: Path, *, done: bool) -> None:
    """Leave a folder as a make that died does; `done`: all was written, and not moved yet."""
    (path / dataset_folder._STAGING_FOLDER).mkdir()
    if done:
        shutil.copy(path / "manifest.json", path / dataset_folder._STAGING_FOLDER / "manifest.json")
    else:
        (path / "tasks.jsonl").unlink()


def _set(parent: Path, name: str, made: Path, change: Change) -> dict[str, Any]:
    place = parent / name.replace(" ", "-").replace("'", "")
    shutil.copytree(made, place)
    try:
        change(place)
    except FileNotFoundError as error:
        return {"no such file": str(Path(str(error.filename)).name)}
    screen = Screen(parent)
    found: dict[str, Any] = {
        "read": screen.tidy.value(
            _met(lambda: sorted(_files(dataset_folder.read_manifest(place))))
        ),
        "verify": screen.tidy.value(
            _met(lambda: sorted(_files(dataset_folder.verify_dataset(place))))
        ),
        "write": screen.tidy.value(
            _met(lambda: dataset_folder.write_dataset(place, tm.load("funcbench", **SMALL)).n_tasks)
        ),
    }
    found["files"] = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    return found


def _files(manifest: Any) -> list[str]:
    return [] if manifest is None else list(manifest.files)


def _cards() -> dict[str, Any]:
    """Return how a card tells of parameters that hold places of the machine."""
    parameters: Mapping[str, Any] = {
        "a": "/home/me/x.json",
        "b": ["/tmp/y", "z"],
        "c": 5,
        "d": "plain",
    }
    blocks = [data_card._code_block(text) for text in ("a", "a `b` c", "``` x ````", "````", "")]
    return {"placeless": plain(data_card.strip_folders(parameters)), "blocks": blocks}


def _signs() -> dict[str, Any]:
    """Return which signs of life, of this machine and of others, are those of a living process."""
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    ages = ("2026-01-02T03:04:05+00:00", "2026-01-02T03:03:06+00:00", "2026-01-02T03:03:05+00:00",
            "2026-01-02T02:04:05+00:00", "2026-01-02T04:04:06+01:00", "2026-01-02T03:04:05",
            "soon", "")  # fmt: skip
    found = {
        f"{state} {pid} {at}": run_lifecycle.is_alive(
            run_lifecycle.Heartbeat(
                state=state, system="another", pid=pid, process_started="1", time=at
            ),
            now,
        )
        for state in get_args(run_lifecycle.RunState)
        for pid in (0, 5)
        for at in ages
    }
    here = run_lifecycle._machine_id()
    own: dict[str, dict[str, Any]] = {
        "": {}, "another process": {"process_started": "1"}, "no birth": {"process_started": ""},
        "no process": {"pid": 2**22 + 1}, "ended": {"state": "finished"},
        "old": {"time": "2000-01-01T00:00:00+00:00"},
    }  # fmt: skip
    for name, given in own.items():
        sign: dict[str, Any] = {
            "state": "running",
            "system": here,
            "pid": os.getpid(),
            "process_started": run_lifecycle._process_start(os.getpid()),
            "time": "soon",
        } | given
        found[f"own {name}"] = run_lifecycle.is_alive(run_lifecycle.Heartbeat(**sign))
    return found


# --- lines ------------------------------------------------------------------------------

WRITTEN: dict[str, bytes] = {
    "empty": b"", "one": b'{"task":"a"}\n', "no newline": b'{"task":"a"}\n{"task":"b"}',
    "torn": b'{"task":"a"}\n{"task":"b', "torn alone": b'{"ta', "blank": b"\n",
    "blank between": b'{"task":"a"}\n\n{"task":"b"}\n', "no object": b'5\n{"task":"a"}\n',
    "list at the end": b'{"task":"a"}\n[1]', "repeat": b'{"task":"a","repeat":3}\n',
    "odd repeat": b'{"task":"a","repeat":"x"}\n', "no text": b'\xff\n{"task":"a"}\n',
    "long": b'{"task":"' + b"x" * 200_000 + b'"}\n{"ta', "nested": b"[" * 5000 + b"\n",
}  # fmt: skip


class Key(Record, frozen=True, kw_only=True):
    """A line that says which episode it is."""

    task: str
    repeat: int = 0


def _lines(folder: Path) -> dict[str, Any]:
    """Return what is read of a file, and what is left of it when it is opened for writing."""
    found: dict[str, Any] = {}
    tidy = Screen(folder).tidy
    for name, data in WRITTEN.items():
        path = folder / f"{name}.lines"
        path.write_bytes(data)
        reported: dict[str, Any] = {
            "read": tried(lambda: [_short(x) for x in record_files.read_records(path, Key)]),  # noqa: B023
            "read whole": tried(
                lambda: [_short(x) for x in record_files.read_records(path, Key, strict=True)]  # noqa: B023
            ),
        }
        for hold in (0, 40):
            path.write_bytes(data)
            lines = record_files.RecordAppender(path, buffer_bytes=hold)
            reported[f"opened, {hold} held"] = path.stat().st_size
            lines.append(Key(task="z", repeat=1))
            reported[f"appended, {hold} held"] = path.stat().st_size
            lines.append(Key(task="z", repeat=2))
            lines.append(Key(task="z", repeat=3))
            reported[f"more, {hold} held"] = path.stat().st_size
            lines.close()
            reported[f"closed, {hold} held"] = [
                path.stat().st_size,
                path.read_bytes()[-60:].decode(),
            ]
        found[name] = tidy.value(reported)
    gone = folder / "gone.lines"
    found["missing"] = tidy.value(tried(lambda: list(record_files.read_records(gone, Key))))
    found["missing, allowed"] = tried(
        lambda: list(record_files.read_records(gone, Key, missing_ok=True))
    )
    found["a folder"] = tidy.value(tried(lambda: list(record_files.read_records(folder, Key))))
    found["nowhere"] = tidy.value(
        tried(record_files.RecordAppender, folder / "no" / "such" / "place")
    )
    return found


def _short(key: Key) -> str:
    return f"{key.task[:20]} {len(key.task)} {key.repeat}"


# --- what is asked ----------------------------------------------------------------------


def _tasks() -> list[Task]:
    """Return tasks of uneven categories, some of which need set-up tasks."""
    tasks = [Task(id=f"s{n}", suite="x", turns=(), category="setup", kind="setup",
                  needs=(f"s{n - 1}",) if n else ()) for n in range(3)]  # fmt: skip
    for n in range(17):
        category = "a" if n < 10 else "b" if n < 15 else "c"
        needs = ("s2",) if n == 4 else ("s0",) if n == 12 else ()
        tasks.append(
            Task(id=f"t{n}", suite="x", turns=(), item=f"i{n // 2}", category=category, needs=needs)
        )
    return tasks


def _suite() -> Suite:
    """Return a suite of the caller's, of which only the tasks matter here."""

    def never(*given: Any) -> Any:
        raise AssertionError("selection opens and scores nothing")

    return Suite(
        name="x",
        tasks=_tasks(),
        environment=EnvironmentSource(open=never),
        scorer=Scorer(rules=("official",), score=never, metrics=never),
        tool_formats={},
    )


def _selection() -> dict[str, Any]:
    cases: dict[str, dict[str, Any]] = {
        "all": {}, "limit 1": {"limit": 1}, "limit 5": {"limit": 5}, "limit 99": {"limit": 99},
        "limit 0": {"limit": 0}, "id": {"ids": ("t4",)}, "item": {"ids": ("i6",)},
        "ids": {"ids": ("t16", "t0", "i1")}, "ids and limit": {"ids": ("i0", "i1"), "limit": 3},
        "no such id": {"ids": ("t99",)}, "two missing": {"ids": ("u", "t", "t1")},
        **{f"sample {n}": {"sample": n} for n in (0, 1, 2, 3, 5, 7, 10, 16, 17, 40)},
        "sample and limit": {"sample": 7, "limit": 2},
        "sample and id": {"sample": 2, "ids": ("t1",)},
    }  # fmt: skip
    found: dict[str, Any] = {}
    suite = _suite()
    for name, given in cases.items():
        asked = run_plan.Plan(suite="x", model="m", tool_format="d", **given)
        for seed in (0, 7):
            found[f"{name}, seed {seed}"] = tried(
                lambda: [task.id for task in task_selection.select_tasks(suite, asked, seed)]  # noqa: B023
            )
        found[f"{name}, hash"] = asked.hash
    return found


def _requests(folder: Path) -> dict[str, Any]:
    body: tuple[Any, ...] = (None, {}, {"a": 1}, [], "x", {"model": "x"}, {"messages": []},
                             {"temperature": 1}, {"stream": True}, {"n": 2})  # fmt: skip
    settings: tuple[dict[str, Any], ...] = (
        {"temperature": 0.5}, {"temperature": "x"}, {"temperature": -1.0}, {"temperature": 3.0},
        {"top_p": 0.0}, {"top_p": 1.5}, {"max_tokens": 0}, {"max_tokens": 1.5},
        {"reasoning_effort": "low"}, {"reasoning_effort": 5}, {"nobody": 1},
    )  # fmt: skip
    lines: tuple[tuple[Any, dict[str, Any]], ...] = (
        ((), {}), ({"A": "b"}, {}), ([("A", "b")], {}), ("A: b", {}), (5, {}), ([("A",)], {}),
        ((), {"timeout_s": 0}), ((), {"timeout_s": 0.01}), ((), {"max_connections": 0}),
        ((), {"max_connections": 1.5}), ((), {"max_retries": -1}), ((), {"max_retries": 0}),
    )  # fmt: skip
    tidy = Screen(folder).tidy

    def sampling(**keywords: Any) -> Any:
        return run_settings.collect_settings(None, None, None, None, keywords).sampling

    def connection(**keywords: Any) -> Any:
        return run_settings.collect_settings(None, None, None, None, keywords).connection

    found: dict[str, Any] = {
        **{f"body {json.dumps(each)}": tried(sampling, extra_body=each) for each in body},
        **{f"settings {each}": tried(sampling, **each) for each in settings},
        **{
            f"line {first} {more}": tried(connection, headers=first, **more)
            for first, more in lines
        },
        **{
            f"time limit {x!r}": tried(run_settings.check_time_limit, x)
            for x in (None, 0, 0.001, 5, 1e8, 1.1e8, "5", -1)
        },
        **{
            f"place {x!r}": tried(lambda x=x: str(run_settings.check_path("log_dir", x)))
            for x in ("a", Path("b"), 5, None)
        },
    }
    suite = tm.load("funcbench", **SMALL)
    plans: dict[str, dict[str, Any]] = {
        "plain": {}, "repeats": {"repeats": 0}, "repeats of text": {"repeats": "2"},
        "ids of text": {"ids": "a"}, "limit": {"limit": "x"}, "sound": {"audio_format": "ogg"},
        "no tasks": {"tasks": str(folder / "none.jsonl")}, "tasks": {"tasks": str(folder / "made")},
        "a folder": {"tasks": str(folder)}, "temperature": {"sampling": Sampling(temperature=0.3)},
        "url": {"base_url": "http://h:1/v1", "model": "openai/m"},
    }  # fmt: skip

    def plan(model: str, sampling: Sampling, **keywords: Any) -> Any:
        chosen = run_settings.collect_settings(None, sampling, None, None, keywords)
        return run_request.make_plan(
            suite, model, "native", chosen.selection, chosen.sampling, chosen.connection
        )

    for name, given in plans.items():
        whole: dict[str, Any] = {"model": "control/null", "sampling": Sampling()} | given
        made = tried(plan, **whole)
        found[f"plan {name}"] = tidy.value(made)
    return found
