"""Recording: every case runs in a scratch folder and an environment that says nothing."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from tests.golden import files
from tests.golden.paths import Json

CASES = files.FOLDER / "cases"
# what would change how toolmark runs or what it prints; the rest, such as PATH, stays
_UNSET = (
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FORCE_COLOR", "CI", "XDG_RUNTIME_DIR",
)  # fmt: skip
_SET = {"NO_COLOR": "1", "COLUMNS": "100", "LINES": "50", "TZ": "UTC", "LC_ALL": "C.UTF-8",
        "TERM": "dumb", "PYTHONHASHSEED": "0"}  # fmt: skip


class Case(NamedTuple):
    """A module of cases. `long`: it is recorded and checked only when that is asked for.

    `grammars`: its record needs the pinned grammars of Java and JavaScript. `markers`: the names of
    the pytest markers of its test.
    """

    name: str
    long: bool
    record: Callable[[Path], dict[str, Json]]
    grammars: bool = False
    markers: tuple[str, ...] = ()


def names() -> list[str]:
    """Return the names of all cases."""
    return sorted(path.stem for path in CASES.glob("*.py") if not path.stem.startswith("_"))


def load(name: str) -> Case:
    """Return a case by name."""
    module = importlib.import_module(f"tests.golden.cases.{name}")
    marks = [getattr(module, mark, False) is True for mark in ("LONG", "GRAMMARS")]
    return Case(name, marks[0], module.record, marks[1], getattr(module, "MARKERS", ()))


def record(case: Case) -> dict[str, Json]:
    """Run a case and return its scenarios as plain values, as they come back from a file."""
    with tempfile.TemporaryDirectory(prefix="toolmark-golden-") as scratch:
        folder = Path(scratch).resolve()
        with _quiet(folder):
            made = case.record(folder)
    found: dict[str, Json] = {}
    for name, value in made.items():
        if not name or Path(name).name != name:
            raise ValueError(f"{case.name}: {name!r} is no name of a scenario")
        found[name] = files.loads(files.dumps(files.plain(value)))
    return found


def record_all(chosen: Sequence[str], workers: int) -> Iterator[tuple[str, dict[str, Json]]]:
    """Record cases, each in a process of its own; go through them in the order they end."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        waiting = {pool.submit(_record_by_name, name): name for name in chosen}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def _record_by_name(name: str) -> dict[str, Json]:
    return record(load(name))


@contextmanager
def _quiet(folder: Path) -> Iterator[None]:
    """Work in the folder, with no key, proxy or setting of the caller's."""
    before, here = dict(os.environ), Path.cwd()
    for name in before:
        if name.upper() in _UNSET or name.endswith("_API_KEY") or name.startswith("TOOLMARK_"):
            del os.environ[name]
    os.environ.update(_SET)
    os.chdir(folder)
    argv = sys.argv
    sys.argv = ["toolmark"]
    try:
        # usage lines name the package of a program that was started by `python -m`
        with mock.patch.object(sys.modules["__main__"], "__package__", None, create=True):
            yield
    finally:
        sys.argv = argv
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)
