"""A git repository as JSON values, by git itself, from a copy without its configuration.

The model may have written anything into `.git`. Hooks, filters, monitors and alternates are all
named in files that are not copied, so git runs nothing but itself and reads nothing outside.
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

from toolmark.suites.m3.local.state.purse import Purse, Unreadable, contents, depth

LIMIT_S = 20.0
OUTPUT_BYTES = 2**22
COMMITS = 1_000
OBJECTS = 20_000
FILE_BYTES = 2**18  # of one file at HEAD
_TOP = frozenset({"HEAD", "packed-refs", "index", "shallow"})
_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"


def repository(folder: Path, purse: Purse) -> dict[str, Any]:
    """Read the repository of a folder with `.git`: log, branches, files at HEAD, what is dirty.

    Raises Unreadable where git is missing, takes too long, says too much, or cannot read it.
    """
    if shutil.which("git") is None:
        raise Unreadable("git is not installed")
    with tempfile.TemporaryDirectory() as spare:
        copy = Path(spare) / "git"
        _copy(folder / ".git", copy, purse)
        git = _Git(copy, folder)
        born = git.works("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        heads = git.run(
            "for-each-ref", "--format=%(refname:lstrip=2) %(contents:subject)", "refs/heads"
        )
        tips = dict(line.split(" ", 1) for line in heads.splitlines())
        branch = "symbolic-ref", "--quiet", "--short", "HEAD"
        found = {
            "log": _log(git) if born else [],
            "branch": git.run(*branch).strip() if git.works(*branch) else "",
            "branches": list(tips),
            "tips": tips,
            "files": _files(git) if born else {},
            "dirty": _dirty(git),
        }
        purse.pay(git.n_bytes)
        return found


class _Git:
    """Runs git on the copy, with the folder as its working tree, bounded in time and output."""

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

    def run(self, *arguments: str, given: str = "") -> str:
        """Return what git says; raises Unreadable where it fails."""
        code, said = self._run(arguments, given)
        if code:
            raise Unreadable(f"git {arguments[0]} could not read it")
        return said.decode("utf-8", "replace")

    def works(self, *arguments: str) -> bool:
        """Say whether the command ends well."""
        return self._run(arguments, "")[0] == 0

    def raw(self, *arguments: str, given: str = "") -> bytes:
        """Return what git says as bytes; raises Unreadable where it fails."""
        code, said = self._run(arguments, given)
        if code:
            raise Unreadable(f"git {arguments[0]} could not read it")
        return said

    def _run(self, arguments: tuple[str, ...], given: str) -> tuple[int, bytes]:
        asked = self.copy / "asked"
        asked.write_text(given)
        with (
            asked.open("rb") as source,
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
            clock = threading.Timer(LIMIT_S, process.kill)
            clock.start()
            try:
                said = process.stdout.read(OUTPUT_BYTES + 1)
                if len(said) > OUTPUT_BYTES:
                    process.kill()
                    raise Unreadable(f"git {arguments[0]} says more than {OUTPUT_BYTES} bytes")
                code = process.wait()
            finally:
                clock.cancel()
        if code < 0:
            raise Unreadable(f"git {arguments[0]} took more than {LIMIT_S:.0f} s or crashed")
        self.n_bytes += len(said)
        return code, said


def _copy(source: Path, copy: Path, purse: Purse) -> None:
    """Copy what holds the history, and none of what makes git run or read anything else."""
    copy.mkdir()
    (copy / "config").write_text(_CONFIG)
    for needed in ("refs", "objects"):
        (copy / needed).mkdir()
    n = 0
    for root, folders, files, inside in os.fwalk(source):
        level = depth(root, source)
        if level == 0:
            folders[:] = [name for name in folders if name in ("refs", "objects")]
            files = [name for name in files if name in _TOP]
        folders[:] = [name for name in folders if level < 6 and name != "info"]
        here = copy / Path(root).relative_to(source)
        here.mkdir(exist_ok=True)
        n += len(files)
        if n > OBJECTS:
            raise Unreadable(f"more than {OBJECTS} files in .git")
        for name in files:
            (here / name).write_bytes(contents(name, purse, inside=inside))
    if (copy / "index").exists():
        # so old that git compares contents, and trusts no time stamp
        os.utime(copy / "index", (1_000_000_000, 1_000_000_000))


def _log(git: _Git) -> list[str]:
    return (
        git.run("log", f"-n{COMMITS}", "-z", "--format=%s", "HEAD").removesuffix("\0").split("\0")
    )


def _files(git: _Git) -> dict[str, Any]:
    """Return the text of every file at HEAD, the size alone of what is not text or is large."""
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
        if int(size) <= FILE_BYTES:
            wanted.append((path, name))
    said = git.raw("cat-file", "--batch", given="".join(f"{name}\n" for _, name in wanted))
    begin = 0
    for path, _ in wanted:
        begin = said.index(b"\n", begin) + 1  # past the line that names the object
        end = begin + files[path]["size_bytes"]
        data, begin = said[begin:end], end + 1
        if b"\0" not in data:
            with suppress(UnicodeDecodeError):
                files[path] = data.decode()
    return files


def _dirty(git: _Git) -> list[str]:
    """Return the paths that are not as at HEAD: changed, staged, deleted or untracked."""
    said = git.run(
        "status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all",
        "--no-renames",
    )  # fmt: skip
    return sorted(line[3:] for line in said.split("\0") if line)
