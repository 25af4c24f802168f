"""Reads a git repository as JSON values, with git, from a copy without its configuration.

The model may have written anything into `.git`. Hooks, filters, monitors and alternates are named
in files that are not copied. So git runs no other program and reads nothing outside the copy.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolmark.suites.m3.local.workspace_state.read_budget import (
    ReadBudget,
    Unreadable,
    folder_depth,
    read_contents,
)

TIME_LIMIT_S = 20.0
MAX_OUTPUT_BYTES = 2**22
MAX_COMMITS = 1_000
MAX_OBJECTS = 20_000
# Bytes of one file at HEAD.
MAX_HEAD_FILE_BYTES = 2**18
_COPIED_FILES = frozenset({"HEAD", "packed-refs", "index", "shallow"})
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def read_repository(folder: Path, budget: ReadBudget) -> dict[str, Any]:
    """Read the repository of a folder with `.git`: log, branches, files at HEAD, dirty paths.

    Raises Unreadable if git is missing, takes too long, prints too much, or cannot read it.
    """
    if shutil.which("git") is None:
        raise Unreadable("git is not installed")
    with tempfile.TemporaryDirectory() as spare:
        copy = Path(spare) / "git"
        _copy_repository(folder / ".git", copy, budget)
        git = _Git(copy, folder)
        has_commits = git.succeeds("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        heads = git.run(
            "for-each-ref", "--format=%(refname:lstrip=2) %(contents:subject)", "refs/heads"
        )
        tips = dict(line.split(" ", 1) for line in heads.splitlines())
        branch = "symbolic-ref", "--quiet", "--short", "HEAD"
        found = {
            "log": _commit_subjects(git) if has_commits else [],
            "branch": git.run(*branch).strip() if git.succeeds(*branch) else "",
            "branches": list(tips),
            "tips": tips,
            "files": _head_files(git) if has_commits else {},
            "dirty": _dirty_paths(git),
        }
        budget.spend_bytes(git.n_bytes)
        return found


class _Git:
    """Runs git on the copy, with the folder as working tree, and limits its time and output."""

    def __init__(self, copy: Path, folder: Path) -> None:
        self.copy, self.n_bytes = copy, 0
        self.command = [
            "git", "--git-dir", str(copy), "--work-tree", str(folder), "--no-pager",
            "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
        ]  # fmt: skip
        self.environment = {
            "PATH": os.environ.get("PATH", os.defpath), "HOME": str(copy), "LC_ALL": "C",
            "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0", "GIT_ATTR_NOSYSTEM": "1",
        }  # fmt: skip

    def run(self, *arguments: str, input_text: str = "") -> str:
        """Return the output of a git command as text; raises Unreadable if it fails."""
        code, output = self._run(arguments, input_text)
        if code:
            raise Unreadable(f"git {arguments[0]} could not read it")
        return output.decode("utf-8", "replace")

    def succeeds(self, *arguments: str) -> bool:
        """Tell whether the command succeeds."""
        return self._run(arguments, "")[0] == 0

    def run_bytes(self, *arguments: str, input_text: str = "") -> bytes:
        """Return the output of a git command as bytes; raises Unreadable if it fails."""
        code, output = self._run(arguments, input_text)
        if code:
            raise Unreadable(f"git {arguments[0]} could not read it")
        return output

    def _run(self, arguments: tuple[str, ...], input_text: str) -> tuple[int, bytes]:
        input_file = self.copy / "asked"
        input_file.write_text(input_text)
        with (
            input_file.open("rb") as source,
            subprocess.Popen(
                [*self.command, *arguments],
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environment,
                cwd=self.copy,
            ) as process,
        ):
            assert process.stdout is not None
            timer = threading.Timer(TIME_LIMIT_S, process.kill)
            timer.start()
            try:
                output = process.stdout.read(MAX_OUTPUT_BYTES + 1)
                if len(output) > MAX_OUTPUT_BYTES:
                    process.kill()
                    raise Unreadable(f"git {arguments[0]} says more than {MAX_OUTPUT_BYTES} bytes")
                code = process.wait()
            finally:
                timer.cancel()
        if code < 0:
            raise Unreadable(f"git {arguments[0]} took more than {TIME_LIMIT_S:.0f} s or crashed")
        self.n_bytes += len(output)
        return code, output


def _copy_repository(source: Path, copy: Path, budget: ReadBudget) -> None:
    """Copy the files of the history, without those that make git run or read anything else."""
    copy.mkdir()
    (copy / "config").write_text(_CONFIG)
    for needed in ("refs", "objects"):
        (copy / needed).mkdir()
    n = 0
    for root, folders, files, inside in os.fwalk(source):
        level = folder_depth(root, source)
        if level == 0:
            folders[:] = [name for name in folders if name in ("refs", "objects")]
            files = [name for name in files if name in _COPIED_FILES]
        folders[:] = [name for name in folders if level < 6 and name != "info"]
        here = copy / Path(root).relative_to(source)
        here.mkdir(exist_ok=True)
        n += len(files)
        if n > MAX_OBJECTS:
            raise Unreadable(f"more than {MAX_OBJECTS} files in .git")
        for name in files:
            (here / name).write_bytes(read_contents(name, budget, folder_fd=inside))
    if (copy / "index").exists():
        # An old time stamp makes git compare contents.
        os.utime(copy / "index", (1_000_000_000, 1_000_000_000))


def _commit_subjects(git: _Git) -> list[str]:
    return (
        git.run("log", f"-n{MAX_COMMITS}", "-z", "--format=%s", "HEAD")
        .removesuffix("\0")
        .split("\0")
    )


def _head_files(git: _Git) -> dict[str, Any]:
    """Return the text of every file at HEAD; for binary or large files only the size."""
    files: dict[str, Any] = {}
    wanted: list[tuple[str, str]] = []
    for line in git.run("ls-tree", "-r", "-z", "--long", "HEAD").split("\0"):
        if not line:
            continue
        about, path = line.split("\t", 1)
        _, kind, name, size = about.split()
        if kind != "blob":
            continue
        files[path] = {"size_bytes": int(size)}
        if int(size) <= MAX_HEAD_FILE_BYTES:
            wanted.append((path, name))
    output = git.run_bytes(
        "cat-file", "--batch", input_text="".join(f"{name}\n" for _, name in wanted)
    )
    begin = 0
    for path, _ in wanted:
        # Skips the line that names the object.
        begin = output.index(b"\n", begin) + 1
        end = begin + files[path]["size_bytes"]
        data, begin = output[begin:end], end + 1
        if b"\0" not in data:
            with suppress(UnicodeDecodeError):
                files[path] = data.decode()
    return files


def _dirty_paths(git: _Git) -> list[str]:
    """Return the paths that differ from HEAD: changed, staged, deleted or untracked."""
    output = git.run(
        "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all",
        "--no-renames",
    )  # fmt: skip
    return sorted(line[3:] for line in output.split("\0") if line)
