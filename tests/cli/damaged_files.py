"""Folders of every kind that commands open, and the ways in which their files can be damaged."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tests.servers.mcp_fault import PNG
from tests.suites.m3 import endpoints
from tests.suites.m3.test_prediction_files import ID, prediction, truth

from toolmark.official_bfcl import official_data
from toolmark.runs import record_files
from toolmark.runs.run_plan import Plan
from toolmark.studio.vision_tuning.tuning_records import TuningRequest

DEEP = 500_000
FOREIGN = {"version": 2, "status": "success", "eval": {"task": "x"}, "samples": [{"id": 1}]}
REST = b"\n"


# --- damages ----------------------------------------------------------------------------


def _bad_utf8(path: Path) -> None:
    data = path.read_bytes()
    text = data.replace(b'":"', b'":"\xff\xfe', 1).replace(b'": "', b'": "\xff\xfe', 1)
    path.write_bytes(text if text != data else data[:1] + b"\xff" + data[1:])


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inside").write_text("x")


def _deep(path: Path) -> None:
    """Nest a field that readers keep as it is, in the first record."""
    first, _, rest = path.read_bytes().partition(b"\n")
    deep = b'{"data":' + b"[" * DEEP + b"]" * DEEP + b","
    path.write_bytes(deep + (first + b"\n" + rest).lstrip()[1:])


def _brackets(path: Path) -> None:
    path.write_bytes(b"[" * DEEP + REST + path.read_bytes())


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _cut(path: Path) -> None:
    """Cut a line in the middle of the file, as a disk that was full leaves it."""
    data = path.read_bytes()
    end = data.index(b"\n") if path.suffix == ".jsonl" else len(data)
    path.write_bytes(data[: end // 2] + data[end:])


def _nuls(path: Path) -> None:
    """Fill the file with NULs of its length, as a machine that lost power leaves it."""
    path.write_bytes(b"\0" * path.stat().st_size + REST)


def _huge(path: Path) -> None:
    """Put a whole number of 400 digits in the place of the first field that is none so large."""
    data = path.read_text()
    for key in ("repeat", "format", "n_run", "created", "category", "similarity", "result"):
        for sign in ('":', '": '):
            head, found, tail = data.partition(f'"{key}{sign}')
            if found:
                stop = min(n for n in (tail.find(","), tail.find("}")) if n >= 0)
                path.write_text(f"{head}{found}{'9' * 400}{tail[stop:]}")
                return
    path.write_text("9" * 400 + "\n")


def _types(path: Path) -> None:
    """Say that what should be a record is a list."""
    path.write_bytes(b'["a", 1]\n' + (path.read_bytes() if path.suffix == ".jsonl" else b""))


def _foreign(path: Path) -> None:
    path.write_text(json.dumps(FOREIGN) + "\n")


def _missing(path: Path) -> None:
    path.unlink()


def _loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def _pipe(path: Path) -> None:
    """Put a pipe there: whoever opens it without care waits for ever."""
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "bad UTF-8": _bad_utf8, "a folder": _folder, "deep field": _deep, "brackets": _brackets,
    "empty": _empty, "cut line": _cut, "NULs": _nuls, "huge number": _huge, "a list": _types,
    "foreign": _foreign, "missing": _missing, "symlink loop": _loop, "a pipe": _pipe,
    "unreadable": lambda path: None,  # root may read all: its opening is refused by the test
}  # fmt: skip


# --- folders ----------------------------------------------------------------------------


def make(root: Path, toolmark: Callable[..., int]) -> dict[str, str]:
    """Make all that commands open, in the folder that is the current one; return runs by name."""
    small = ("funcbench", "-T", "core=3", "-T", "depth=2", "--seed", "7")
    for name, model in (("a", "planner"), ("b", "eager")):
        asked = ("run", *small, "--limit", "3", "-m", f"baseline/{model}", "--log-dir", name)
        assert toolmark(*asked) == 0
        _shorten(next((root / name).glob("*/")))
    simple = ("run", "bfcl", "-T", "category=simple_python", "--limit", "3")
    assert toolmark(*simple, "-m", "baseline/eager", "--log-dir", "c") == 0
    (endpoints.run(root / "d", 2).path / "attempts.jsonl").touch()
    assert toolmark("make", *small[:5], "-T", "graphs=2", "--seed", "7", "-o", "set") == 0
    pairs = [{"same": n % 2 == 0, "similarity": n / 30} for n in range(30)]
    (root / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    _published(root)
    runs = {name: next((root / name).glob("*-*-*")) for name in "abcd"}
    return {name: str(path.relative_to(root)) for name, path in runs.items()}


def _shorten(run: Path) -> None:
    """Take the last episode away, so that the run would be continued, and let one be not run."""
    lines = (run / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
    (run / "trajectories.jsonl").write_bytes(b"".join(lines[:-1]))
    (run / "state.json").unlink()  # which tells how many were stored
    key = {name: json.loads(lines[-1]).get(name, 0) for name in ("task", "repeat")}
    attempt = key | {"failure": {"stage": "model", "kind": "timeout", "message": "x"}}
    (run / "attempts.jsonl").write_text(json.dumps(attempt) + "\n")


def _published(root: Path) -> None:
    """Write result files as others publish them, and the request of a tuning."""
    (root / "truths.json").write_text(json.dumps([truth()]))
    server = {"command": sys.executable, "args": ["-c", "0"]}  # never started
    (root / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
    (root / "new").mkdir()
    (root / "images").mkdir()
    (root / "images" / f"{ID}.png").write_bytes(PNG)
    (root / "results.json").write_text(json.dumps([prediction()]))
    folder = root / "results/some_model/live"
    folder.mkdir(parents=True)
    known = official_data.fetch_wheel() / "bfcl_eval/data/BFCL_v4_live_relevance.json"
    ids = [json.loads(line)["id"] for line in known.read_text().splitlines()]
    rows = (json.dumps({"id": id, "result": "[f()]"}) + "\n" for id in ids)
    (folder / "BFCL_v4_live_relevance_result.json").write_text("".join(rows))
    asked = TuningRequest(
        plan=Plan(suite="mfcl-vision", model="m", tool_format="native"), models=("m",), edits=(),
        rounds=1, seed=1, hashes={},
    )  # fmt: skip
    (root / "tuned").mkdir()
    record_files.write_document(root / "tuned/tune.json", asked)


def tree(root: Path) -> dict[str, str]:
    """Return what lies in a folder: every file with its hash, every link, folder and pipe."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = "link"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "folder" if path.is_dir() else "pipe"
    return found
