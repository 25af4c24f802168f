"""Every command on every damaged file: one line that names the file, and nothing is changed.

The whole table takes minutes and is `long`; of it, every command and every damage is tried always.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.cli import damaged_files

from toolmark.cli import app
from toolmark.studio.review_server import ReviewServer

OPENED = ("run.json", "tasks.jsonl", "trajectories.jsonl")
ALL = (*OPENED, "attempts.jsonl", "scores.jsonl", "summary.json")
SHOWN = (*ALL, "presentation.json")
FUNCBENCH = "funcbench -T core=3 -T depth=2 --seed 7"
NOBODY = "http://127.0.0.1:9/v1"  # nobody listens there, and nobody is to be asked
JUDGES = " ".join(f"-j {NOBODY}#{name}" for name in "xyz")


@dataclass(frozen=True)
class Opens:
    """A command, the folder that is damaged (by its link's name), and the files that it must read.

    `derived` files it only writes: where something else than a file is in their place it says so.
    `lists`: it tells of all that is wrong in a file of others, each on its own line.
    """

    words: str
    folder: str = "a"
    reads: tuple[str, ...] = OPENED
    derived: tuple[str, ...] = ()
    lists: bool = False


COMMANDS = {
    "report": Opens("report {a} -o page.html", reads=SHOWN),
    "report of two": Opens("report {b} {a} -o page.html", reads=SHOWN),
    "compare A": Opens("compare {a} {b}", reads=("run.json", "tasks.jsonl", "scores.jsonl")),
    "compare B": Opens("compare {b} {a}", reads=("run.json", "scores.jsonl")),
    "show": Opens("show {a}", reads=("run.json", "scores.jsonl")),
    "show, JSON": Opens("show {a} --json", reads=("run.json", "scores.jsonl")),
    "show, one": Opens("show {a} {id}", reads=(*OPENED, "attempts.jsonl", "scores.jsonl")),
    "score": Opens("score {a}", reads=(*OPENED, "attempts.jsonl"), derived=ALL[4:]),
    "run": Opens(
        "run {funcbench} --limit 3 -m baseline/planner --log-dir a",
        reads=(*OPENED, "attempts.jsonl"), derived=ALL[4:],
    ),
    "judge": Opens(
        "judge {d} {judges} --max-retries 0", folder="d", derived=ALL[3:],
    ),
    "review": Opens("review {a} --no-open"),
    "review, blind": Opens("review --blind {a} {b} --no-open"),
    "review, export": Opens("review {d} --export truth.json", folder="d"),
    "export bfcl": Opens("export bfcl {c} -o out", folder="c"),
    "export m3": Opens("export m3 {d} -o out.json", folder="d"),
    "replay": Opens("replay {d} --cassette nowhere.jsonl", folder="d", reads=("run.json",)),
    "make": Opens("make {funcbench} -T graphs=2 -o set", folder="set", reads=("manifest.json",)),
    "run --tasks": Opens(
        "run funcbench --tasks set -m baseline/planner --log-dir new --limit 1",
        folder="set", reads=("manifest.json", "tasks.jsonl"),
    ),
    "calibrate": Opens("calibrate pairs.jsonl", folder=".", reads=("pairs.jsonl",)),
    "import m3": Opens(
        "import m3 results.json --truths truths.json --similarity exact --log-dir new", folder=".",
        reads=("results.json", "truths.json"), lists=True,
    ),
    "import bfcl": Opens(
        "import bfcl results --log-dir new", folder="results/some_model/live",
        reads=("BFCL_v4_live_relevance_result.json",), lists=True,
    ),
    "tune": Opens("tune mfcl-vision -o tuned", folder="tuned", reads=("tune.json",)),
    "review, tuned": Opens("review tuned --no-open", folder="tuned", reads=("tune.json",)),
    "author": Opens(
        "author m3 -m {j}#p --judge-model {j}#q -T truths=truths.json -T servers=mcp.json -o {d}",
        folder="d", reads=("run.json",),
    ),
}  # fmt: skip

# what may be no damage: these files may be empty, absent, or hold what is passed over
MAYBE = {
    ("trajectories.jsonl", "empty"), ("trajectories.jsonl", "missing"),
    ("attempts.jsonl", "empty"), ("attempts.jsonl", "missing"), ("attempts.jsonl", "huge number"),
    ("summary.json", "missing"), ("summary.json", "foreign"), ("summary.json", "huge number"),
    ("results.json", "huge number"), ("manifest.json", "missing"),
}  # fmt: skip
# what a command does not need: it lists what is scored, or begins another run
NEEDLESS = {
    *product(("show", "show, JSON", "show, one"), ("scores.jsonl",), ("empty", "missing")),
    # it shows what is stored, and says what finishes the run
    *product(("report", "report of two"), ("scores.jsonl",), ("empty", "missing")),
    *product(("report", "report of two"), ("presentation.json",), ("empty", "missing")),
    *product(("run",), ("run.json",), ("missing", "symlink loop")),
}
# a command that shows one episode shows it whatever other lines are damaged, and names those
TOLERATED = {
    *product(("show, one",), ("trajectories.jsonl", "attempts.jsonl", "scores.jsonl")),
}
# where the file is not there the folder may be named in its place, and what to do
ABSENT = (
    "no scores", "no completed episode", "nothing of it is stored", "not a run folder", "next: ",
    "choose another", "no file", "nothing begun",
)  # fmt: skip


def cases() -> Iterator[tuple[str, str, str]]:
    """Go through command, file and damage."""
    for name, opens in COMMANDS.items():
        for file, kind in product(opens.reads, damaged_files.DAMAGES):
            yield name, file, kind
        for file in opens.derived:
            yield name, file, "a folder"


CASES = list(cases())
QUICK = set(CASES[::9])


def _called() -> int | str:
    """Run the command line; return its exit code, or the error that left it."""
    try:
        app.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BaseException as error:
        return repr(error)[:300]
    return 0


def _call(*words: str) -> tuple[int | str, str]:
    """Return how a command line ended, and its standard error."""
    err = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["toolmark", *words])
        with redirect_stdout(io.StringIO()), redirect_stderr(err):
            return _called(), err.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Make the folders once; return where, and what the words of a command stand for."""
    root = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        names: dict[str, str] = damaged_files.make(root, lambda *words: _call(*words)[0])  # type: ignore[arg-type]
    first = (root / names["a"] / "tasks.jsonl").read_text().splitlines()[0]
    more = {"funcbench": FUNCBENCH, "judges": JUDGES, "id": json.loads(first)["id"], "j": NOBODY}
    return root, names | more


def _refusing(path: Path, real: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `open` that may not read one file; root may read all, so that it must be told."""
    place = os.path.abspath(path)

    def opens(file: Any, *args: Any, **more: Any) -> Any:
        if not isinstance(file, int) and os.path.abspath(os.fspath(file)) == place:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
        return real(file, *args, **more)

    return opens


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        pytest.param(*case, marks=[] if case in QUICK else pytest.mark.long, id=" - ".join(case))
        for case in CASES
    ],
)
def test_damage_is_one_line_and_changes_nothing(
    name: str,
    file: str,
    kind: str,
    made: tuple[Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, names = made
    opens = COMMANDS[name]
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ReviewServer, "serve_forever", lambda self: None)
    path = tmp_path / names.get(opens.folder, opens.folder) / file
    if kind == "unreadable":
        monkeypatch.setattr(os, "open", _refusing(path, os.open))
        monkeypatch.setattr(io, "open", _refusing(path, io.open))
    else:
        damaged_files.DAMAGES[kind](path)
    before = damaged_files.tree(tmp_path) if kind != "unreadable" else None
    code, err = _call(*shlex.split(opens.words.format(**names)))
    maybe = (file, kind) in MAYBE or (name, file, kind) in NEEDLESS
    if maybe and code in (0, 1, 3):
        unfinished = name.startswith("report") and (name, file, kind) in NEEDLESS
        assert not unfinished or "next: toolmark score" in err
        return
    tolerated = (name, file) in TOLERATED and code == 0
    assert code == 2 or tolerated, (code, err)
    assert "Traceback" not in err
    lines = err.strip().splitlines()
    assert len(lines) == 1 or opens.lists or tolerated, err
    named = file in err or (kind in ("missing", "empty", "symlink loop") and _steps(err))
    assert named, err
    if before is not None:
        assert damaged_files.tree(tmp_path) == before


def _steps(err: str) -> bool:
    return any(words in err for words in ABSENT)


def test_of_every_command_and_damage_some_are_always_tried() -> None:
    assert {name for name, *_ in QUICK} == set(COMMANDS)
    assert {kind for *_, kind in QUICK} == set(damaged_files.DAMAGES)


def test_the_folders_themselves_are_fine(
    made: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, names = made
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ReviewServer, "serve_forever", lambda self: None)
    for name in (
        *list(COMMANDS)[:8],
        "review",
        "export bfcl",
        "export m3",
        "calibrate",
        "import bfcl",
    ):
        assert _call(*shlex.split(COMMANDS[name].words.format(**names)))[0] == 0, name


@pytest.mark.parametrize(("written", "age"), [(1, "an older"), (99, "a newer")])
@pytest.mark.parametrize(
    "name", [name for name, opens in COMMANDS.items() if "run.json" in opens.reads]
)
def test_a_folder_of_another_version_says_so_and_how_to_go_on(
    name: str,
    written: int,
    age: str,
    made: tuple[Path, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root, names = made
    opens = COMMANDS[name]
    shutil.copytree(root, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / names[opens.folder] / "run.json"
    info = json.loads(path.read_text()) | {"format": written, "command": "toolmark run x -m y"}
    path.write_text(json.dumps({**info, "plan": {"of": "another form"}}))
    before = damaged_files.tree(tmp_path)
    code, err = _call(*shlex.split(opens.words.format(**names)))
    assert code == 2 and len(err.splitlines()) == 1
    assert f"run.json: written by {age} version of toolmark (format {written}" in err
    assert "make a new run: toolmark run x -m y --fresh" in err or written == 99
    assert damaged_files.tree(tmp_path) == before


@pytest.mark.parametrize(
    ("command", "reported"),
    [
        ("", "the command that made it, with --fresh"),
        ("toolmark run x --fresh -m http://h:1/v1#m", "toolmark run x --fresh -m http://h:1/v1#m"),
        ("toolmark import bfcl DIR", "toolmark import bfcl DIR"),
        ("toolmark run x -m 'a; b & c'", "toolmark run x -m 'a; b & c' --fresh"),
        ("toolmark run x --header ... -m y", "the command that made it, with --fresh"),
        ("toolmark run x -m '[key-0123abcd]'", "the command that made it, with --fresh"),
        ("toolmark run x; curl y | sh", "the command that made it, with --fresh"),
        ("toolmark run 'x", "the command that made it, with --fresh"),
        ("toolmark run $(curl y)", "the command that made it, with --fresh"),
        ("toolmark run x\nsh", "the command that made it, with --fresh"),
        ("sh x", "the command that made it, with --fresh"),
    ],
)
def test_a_strangers_folder_has_nothing_pasted_that_a_shell_obeys(
    command: str, reported: str, tmp_path: Path
) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "command": command}))
    code, err = _call("report", str(tmp_path))
    assert code == 2 and err.strip().endswith(f"make a new run: {reported}")
