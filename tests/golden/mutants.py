"""Draw mutants, and let goldens and parity tests hunt them.

    python -m tests.golden.mutants --n 150 --seed 1 --work DIR [--workers 2] [--limit-s 900]
                                  [--hunters PATTERN...]

A mutant runs in a copy of the sources below DIR. It is asked of the golden cases that run its line,
the cheapest first, then of the parity tests that do; the first that differs, fails or does not end
in time has caught it. Which lines they run is recorded once per state of the sources, in DIR too.
`mutants.json` and `mutants.md` in DIR are written after each mutant; those done are not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tests.golden import mutation, recording
from tests.golden.mutants_check import CASE
from tests.golden.mutation import Mutant

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "toolmark"
PARITY = ROOT / "tests" / "parity"
NO_TESTS = 5  # pytest's exit code: all of a file are long
SHOWN = 600  # characters of what differs
SLACK_S, SLOWER = 20.0, 5.0  # CPU time that a case may take: seconds, and times its usual ones
_TOO_LONG = (-signal.SIGKILL, -signal.SIGPROF)
Map = dict[str, dict[str, Any]]  # by hunter: how long it takes, the lines that it runs


def main() -> int:
    """Hunt the mutants; exit 1 where one survived."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.mutants")
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=Path, required=True, help="a folder for copies and results")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit-s", type=float, default=900.0, help="of all cases, or of one test")
    parser.add_argument("--hunters", nargs="*", default=["*"], help="patterns of cases and files")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    known = touched(given.work, given.workers, patterns=given.hunters)
    chosen = mutation.drawn(SOURCE, given.n, given.seed)
    rows = _earlier(given.work, chosen)
    left = [(n, mutant) for n, mutant in enumerate(chosen, 1) if str(n) not in rows]
    trees: SimpleQueue[Path] = SimpleQueue()
    for k in range(given.workers):
        trees.put(_tree(given.work / f"tree-{k}"))

    def one(numbered: tuple[int, Mutant]) -> dict[str, Any]:
        tree = trees.get()
        try:
            return hunted(*numbered, tree, known, given.limit_s)
        finally:
            trees.put(tree)

    with ThreadPoolExecutor(given.workers) as pool:
        for row in pool.map(one, left):
            rows[str(row["n"])] = row
            _write(given.work, rows)
            print(f"{row['n']}: {row['file']}:{row['line']} {row['kind']}: {row['verdict']} "
                  f"{row['caught_by']} ({row['seconds']} s)", flush=True)  # fmt: skip
    _write(given.work, rows)
    return _reported(list(rows.values()))


def _reported(rows: list[dict[str, Any]]) -> int:
    caught = sum(row["verdict"] == "caught" for row in rows)
    seconds = sum(row["seconds"] for row in rows) / max(1, len(rows))
    print(f"{caught} of {len(rows)} caught, {seconds:.1f} s per mutant")
    return 0 if caught == len(rows) else 1


def _earlier(work: Path, chosen: list[Mutant]) -> dict[str, dict[str, Any]]:
    """Return the rows of mutants that were hunted before, where they are these."""
    path = work / "mutants.json"
    rows = json.loads(path.read_text()) if path.exists() else []
    mine = {str(n): mutant for n, mutant in enumerate(chosen, 1)}
    return {
        str(row["n"]): row
        for row in rows
        if (mutant := mine.get(str(row["n"])))
        and (mutant.file, mutant.line, mutant.new) == (row["file"], row["line"], row["new"])
    }


def _write(work: Path, rows: dict[str, dict[str, Any]]) -> None:
    listed = sorted(rows.values(), key=lambda row: row["n"])
    (work / "mutants.json").write_text(json.dumps(listed, indent=1, ensure_ascii=False))
    (work / "mutants.md").write_text(mutation.table(listed))


# --- hunting ------------------------------------------------------------------------------


def hunted(n: int, mutant: Mutant, tree: Path, known: Map, limit_s: float) -> dict[str, Any]:
    """Hunt one mutant in a tree and return its row."""
    began = time.monotonic()
    path = tree / "src" / "toolmark" / mutant.file
    source = path.read_text(encoding="utf-8")
    hunters = hunters_of(mutant, known)
    cases = {name: known[name]["seconds"] for name in hunters if "/" not in name}
    caught = shown = ""
    try:
        _put(path, mutant.applied(source))
        caught, shown = _search_by_cases(
            {name: known[name]["seconds"] for name in cases}, tree, limit_s
        )
        for test in hunters[len(cases) :]:
            caught = caught or _search_by_test(test, tree, limit_s)
    finally:
        _put(path, source)
    lines = range(mutant.line, mutant.end_line + 1)
    return {
        "n": n, "file": mutant.file, "line": mutant.line, "kind": mutant.kind, "old": mutant.old,
        "new": mutant.new, "verdict": "caught" if caught else "survived" if hunters else
        "no case runs it", "caught_by": caught, "shown": shown, "hunters": hunters,
        "n_lines": len(lines),
        "seconds": round(time.monotonic() - began, 1),
    }  # fmt: skip


def hunters_of(mutant: Mutant, known: Map) -> list[str]:
    """Return who runs the mutant's lines, goldens before parity tests, the cheapest first.

    Lines that run when the module is loaded are run by all who load it.
    """
    mine = set(range(mutant.line, mutant.end_line + 1))
    found = [name for name, each in known.items() if mine & set(each["lines"].get(mutant.file, ()))]
    if not found:
        found = [name for name, each in known.items() if mutant.file in each["lines"]]
    return sorted(found, key=lambda name: ("/" in name, known[name]["seconds"]))


def _search_by_cases(cases: dict[str, float], tree: Path, limit_s: float) -> tuple[str, str]:
    """Return which case caught the mutant and how, and a difference; "" where none did."""
    if not cases:
        return "", ""
    words = [f"{name}={SLACK_S + SLOWER * seconds:.0f}" for name, seconds in cases.items()]
    said, code = _run(["-m", "tests.golden.mutants_check", *words], tree, limit_s)
    if not code:
        return "", ""
    before, _, shown = said.rpartition(CASE)
    name, _, shown = shown.partition("\n") if before or shown else ("loading", "", "")
    return f"{name} ({_how(code)})", shown[:SHOWN]


def _search_by_test(test: str, tree: Path, limit_s: float) -> str:
    """Return how a file of tests caught the mutant, "" where it did not."""
    words = ["-m", "pytest", test, "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
    _, code = _run(words, tree, limit_s)
    return f"{test} ({_how(code)})" if code else ""


def _how(code: int) -> str:
    return "differs" if code == 1 else "did not end" if code in _TOO_LONG else "fails"


def _run(words: list[str], tree: Path, limit_s: float) -> tuple[str, int]:
    """Run Python on the mutated sources; return what it printed and how it ended."""
    with subprocess.Popen(
        [sys.executable, *words], cwd=tree, env=_environment(tree), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True, text=True,
    ) as started:  # fmt: skip
        timer = threading.Timer(limit_s, os.killpg, (started.pid, signal.SIGKILL))
        timer.start()
        try:
            said, _ = started.communicate()
        finally:
            timer.cancel()
            with suppress(ProcessLookupError):  # what it started ends with it
                os.killpg(started.pid, signal.SIGKILL)
    return said, started.returncode


def _environment(tree: Path) -> dict[str, str]:
    return {
        **os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}", "CI": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


def _tree(path: Path) -> Path:
    """Make a copy of the sources, beside links to what stays as it is."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    shutil.copytree(ROOT / "src", path / "src")
    for name in ("tests", "docs", "benchmarks", "pyproject.toml", "README.md"):
        (path / name).symlink_to(ROOT / name)
    return path


_moment = time.time()


def _put(path: Path, text: str) -> None:
    """Write a source file with a time of its own, so that no compiled file passes for it."""
    global _moment
    _moment += 2
    path.write_text(text, encoding="utf-8")
    os.utime(path, (_moment, _moment))


# --- who runs what ------------------------------------------------------------------------


def touched(work: Path, workers: int, *, patterns: Sequence[str]) -> Map:
    """Return the lines that each golden case and parity test file runs, recorded once."""
    hunters = [name for name in recording.names() if not recording.load(name).long]
    hunters += [f"tests/parity/{path.name}" for path in sorted(PARITY.glob("test_*.py"))]
    hunters = [name for name in hunters if any(fnmatchcase(name, each) for each in patterns)]
    state = hashlib.sha256()
    for path in mutation.sources(SOURCE):
        state.update(path.read_bytes())
    folder = work / f"map-{state.hexdigest()[:12]}"
    folder.mkdir(exist_ok=True)
    with ThreadPoolExecutor(workers) as pool:
        return dict(
            zip(hunters, pool.map(lambda name: _traced(name, folder), hunters), strict=True)
        )


def _traced(hunter: str, folder: Path) -> dict[str, Any]:
    """Return what one hunter runs, out of the folder where that is known already.

    Raises RuntimeError where it differs or fails without any mutant.
    """
    path = folder / f"{Path(hunter).stem}.json"
    if path.exists():
        found: dict[str, Any] = json.loads(path.read_text())
        return found
    draft = path.with_suffix(".draft")
    began = time.monotonic()
    if "/" in hunter:
        words = ["pytest", hunter, "-q", "-n", "0", "-p", "tests.golden.touched", "--timeout", "0"]
        _sound(hunter, [*words, "-p", "no:cacheprovider"], TOUCHED=str(draft))
    else:
        _sound(hunter, ["tests.golden.mutants_check", f"{hunter}=900"])
    seconds = round(time.monotonic() - began, 1)
    if "/" not in hunter:
        _sound(hunter, ["tests.golden.touched", hunter, str(draft)])
    lines = json.loads(draft.read_text()) if draft.exists() else {}
    made = {"seconds": seconds, "lines": lines}
    path.write_text(json.dumps(made))
    print(f"traced {hunter}: {seconds} s, {sum(map(len, lines.values()))} lines", flush=True)
    return made


def _sound(hunter: str, words: Sequence[str], **more: str) -> None:
    """Run a module on the sources as they are. Raises RuntimeError where that fails."""
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env=_environment(ROOT) | more, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    if done.returncode not in (0, NO_TESTS):
        raise RuntimeError(f"{hunter}, without a mutant: {done.stdout[-2_000:]}")


if __name__ == "__main__":
    sys.exit(main())
