"""Runs whose scores are gone or half replaced: what is read, continued, and left on disk."""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from tests.golden import observe
from tests.golden.normalise import Normaliser
from tests.golden.plain import tried
from tests.runs import mini

import toolmark as tm
from toolmark.core.records import Record, Reply, Request, Verdict
from toolmark.runs import code_hashes, record_files, run_finalization, task_files
from toolmark.runs.run_store import Run
from toolmark.runs.runner import Progress


class _Stuck(mini.Adder):
    """Waits for ever at the fourth sum, as long as it is stuck."""

    stuck = True

    async def __call__(self, request: Request, /) -> Reply:
        if self.stuck and "What is 3" in request.messages[0].text:
            await asyncio.Event().wait()
        return await super().__call__(request)


class Key(Record, frozen=True, kw_only=True):
    """A line of a file."""

    task: str


_DRAFT = re.compile(r"^\.(.+\.\w+)\..+$")
SCORED = ("scores.jsonl", "summary.json", "scorer.json", "presentation.json", "views.jsonl")


def record(folder: Path) -> dict[str, Any]:
    return {
        "unscored-failures": _unscored(folder / "dead"),
        "chain-without-scores": _continued(folder / "chain"),
        "died-while-replaced": _died(folder / "died"),
        "disk-fails": _fails(folder / "fails"),
        "pushed-to-disk": _pushed(folder / "pushed"),
        "hashes-of-a-file": _hashed(folder / "hashed"),
        "scores-of-whole-numbers": _whole(folder / "whole"),
    }


def _unscored(folder: Path) -> Any:
    """Return why episodes were not run, where only the attempts tell it."""
    made = tm.run(mini.load(n=3), "control/dead", log_dir=folder, repeats=2, max_retries=0)
    _forget(made.path)
    return observe.scores(Run(made.path), Normaliser(folder))


def _continued(folder: Path) -> Any:
    """Return the scores of a finished run with set-up tasks that lost them, and was continued."""
    suite = mini.load(n=4, chain=True)
    adder = mini.Adder(lambda i, r: "no" if i == 3 else None)
    made = tm.run(suite, adder, log_dir=folder, repeats=2)
    _forget(made.path)
    again = tm.run(suite, adder, log_dir=folder, repeats=2)
    tidy = Normaliser(folder)
    summary: Any = observe.summary(again, tidy)
    del summary["run_dir"]
    return {"scores": observe.scores(again, tidy), "summary": summary}


def _died(folder: Path) -> Any:
    """Return which files say who scored, where the process died while scores were replaced."""
    suite = mini.load(n=3)
    made = tm.run(suite, mini.Adder(), log_dir=folder)
    with mock.patch.object(run_finalization, "write_document", side_effect=KeyboardInterrupt):
        try:
            run_finalization.rescore_run(made, suite.scorer)
        except KeyboardInterrupt:
            return sorted(each.name for each in made.path.iterdir())
    return "it did not die"


def _fails(folder: Path) -> Any:
    """Return what is said of a disk that does not take what was appended, at once and later."""
    folder.mkdir()
    path = folder / "lines.jsonl"
    file = record_files.RecordAppender(path)
    line = Key(task="a")
    said = [tried(file.append, line), tried(file.sync)]
    said.append(tried(file.append, line))
    with mock.patch.object(
        record_files, "sync_descriptor", side_effect=OSError(5, "Input/output error")
    ):
        said.append(tried(file.sync))
    said += [tried(file.append, line), tried(file.flush)]
    return Normaliser(folder).value({"said": said, "stored": path.read_text(encoding="utf-8")})


def _whole(folder: Path) -> Any:
    """Return the lines of scores before and after a run went on that was killed before its end.

    The verdicts hold a whole number: a line that was read and written again shows a fraction.
    """
    one = {"exact": Verdict(outcome="correct", value=1)}
    suite = replace(mini.load(n=4), scorer=replace(mini.SCORER, score=lambda _: one))

    adder = _Stuck()

    async def main() -> Run:
        stop = asyncio.Event()

        def watch(progress: Progress) -> None:
            if progress.n_run == 3:
                stop.set()

        return await tm.arun(
            suite, adder, log_dir=folder, stop=stop, watch=watch, max_connections=1
        )

    path = asyncio.run(main()).path
    lines = (path / "scores.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    asked = [line for line in lines if "not_reached" not in line]
    for name in ("summary.json", "presentation.json", "views.jsonl"):
        (path / name).unlink(missing_ok=True)
    (path / "scores.jsonl").write_text("".join(asked), encoding="utf-8")  # as a killed one does
    adder.stuck = False
    again = tm.run(suite, adder, log_dir=folder)
    after = (again.path / "scores.jsonl").read_text(encoding="utf-8")
    return {"killed": asked, "went on": [after.splitlines(keepends=True), again.path == path]}


def _pushed(folder: Path) -> Any:
    """Return which files and folders of a run are pushed to the disk itself, and when at first."""
    met: list[str] = []

    def note(fd: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{fd}")).name
        name = _DRAFT.sub(r"\1", name)
        met.extend([name] if name not in met else [])

    with (
        mock.patch.object(record_files, "sync_descriptor", note),
        mock.patch.object(task_files, "sync_descriptor", note),
    ):
        run = tm.run(mini.load(n=3), mini.Adder(), log_dir=folder)
        run_finalization.rescore_run(run, mini.SCORER)
        record_files.write_document(folder / "durable.json", Key(task="a"))
        record_files.write_document(folder / "brief.json", Key(task="a"), durable=False)
    tidy = Normaliser(folder)
    return [tidy.text(name) for name in met]


def _hashed(folder: Path) -> Any:
    """Return which modules count for a suite of a file: what it imports, by any name it gives."""
    (folder / "x").mkdir(parents=True)
    for name in ("helper", "other", "x/__init__", "x/helper", "x/other"):
        (folder / f"{name}.py").write_text("y = 1\n")
    (folder / "mine.py").write_text(
        "import other\ntry:\n    from .helper import y\nexcept ImportError:\n    y = 2\n"
    )
    return sorted(code_hashes.spec_hashes(f"{folder / 'mine.py'}:load"))


def _forget(path: Path) -> None:
    for name in SCORED:
        (path / name).unlink(missing_ok=True)
