"""Runs whose scores are gone or half replaced: what is read, continued, and left on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

from tests.golden import observe
from tests.golden.normalise import Normaliser
from tests.golden.plain import tried
from tests.runs import mini

import toolmark as tm
from toolmark.runs import finishing, jsonl
from toolmark.runs.store import Run
from toolmark.types import Record


class Key(Record, frozen=True, kw_only=True):
    """A line of a file."""

    task: str


SCORED = ("scores.jsonl", "summary.json", "scorer.json", "presentation.json", "views.jsonl")


def record(folder: Path) -> dict[str, Any]:
    return {
        "unscored-failures": _unscored(folder / "dead"),
        "chain-without-scores": _continued(folder / "chain"),
        "died-while-replaced": _died(folder / "died"),
        "disk-fails": _fails(folder / "fails"),
    }


def _unscored(folder: Path) -> Any:
    """Return why episodes were not run, where only the attempts tell it."""
    made = tm.run(mini.load(n=3), "test/dead", log_dir=folder, repeats=2, max_retries=0)
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
    with mock.patch.object(finishing, "write", side_effect=KeyboardInterrupt):
        try:
            finishing.rescore(made, suite.scorer)
        except KeyboardInterrupt:
            return sorted(each.name for each in made.path.iterdir())
    return "it did not die"


def _fails(folder: Path) -> Any:
    """Return what is said of a disk that does not take what was appended, at once and later."""
    folder.mkdir()
    path = folder / "lines.jsonl"
    file = jsonl.Lines(path)
    line = Key(task="a")
    said = [tried(file.append, line), tried(file.sync)]
    said.append(tried(file.append, line))
    with mock.patch.object(jsonl, "sync", side_effect=OSError(5, "Input/output error")):
        said.append(tried(file.sync))
    said += [tried(file.append, line), tried(file.flush)]
    return Normaliser(folder).value({"said": said, "stored": path.read_text(encoding="utf-8")})


def _forget(path: Path) -> None:
    for name in SCORED:
        (path / name).unlink(missing_ok=True)
