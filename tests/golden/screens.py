"""The command line as a user meets it: what a command printed, and how it ended."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.golden import observe, pages
from tests.golden.normalise import Normaliser
from tests.golden.paths import Json
from tests.golden.plain import digest

import toolmark

_SOURCE = str(Path(toolmark.__file__).parents[1])
_START = "import sys; sys.argv[0] = 'toolmark'; from toolmark.cli.app import main; main()"
_RULES = (
    (re.compile(r";? ?[\d.,]+ (?:ms|s|min|h)(?: \d+ (?:s|min))? in all\b"), ""),  # if it took long
    (re.compile(r"(?<=\bseed )\d{5,}|(?<=--seed )\d{5,}"), "<seed>"),
)
_PROGRESS = re.compile(r"<rate>/s  |\d/s  left")  # lines that come by the clock
_SECONDS = frozenset(("latency_s", "wall_s", "reply_s", "seconds", "wait_s"))
_LINES = 120  # of one command
_FRAME = re.compile(r"^[╭╰]─+( Error )?─+[╮╯]$|^│ | +│$")  # drawn by another library
# what a page says of the machine, by the first cell of its row
_OWN = frozenset(
    ("python", "platform", "toolmark", "mcp", "msgspec", "numpy", "pyreqwest", "scipy", "uvloop",
     "created", "took", "folder", "pillow", "soundfile", "pocketsphinx", "pyroomacoustics",
     "latency", "first token", "first call", "of the latency", "after the first token")
)  # fmt: skip
_HASH = "sha256 "


class Screen:
    """Runs commands of one case and notes each under a name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tidy = Normaliser(folder)
        self.said: dict[str, Json] = {}

    def __call__(self, name: str, *words: str) -> Any:
        """Run a command in this process. Returns what it printed as JSON, if that was asked for."""
        try:
            found = observe.command(words, self.tidy)
        except Exception as error:  # a traceback: recorded as such
            raised = self.tidy.text(f"{type(error).__name__}: {error}")
            self.said[name] = {"words": [self.tidy.text(word) for word in words], "raised": raised}
            return None
        found = {key: _timeless(each) for key, each in found.items()}
        made = None
        if "--json" in words and found["exit"] != 2 and found["out"]:
            made = json.loads("\n".join(found["out"]))
            found["out"] = _clockless(self.tidy.value(made))
        self.said[name] = found
        return made

    def process(self, name: str, *words: str, home: bool = False) -> None:
        """Run a command in a process of its own, in a home that is empty unless asked."""
        saved = {key: os.environ[key] for key in ("PATH", "COLUMNS", "LINES", "TZ", "LC_ALL",
                                                 "TERM",
                                                 "NO_COLOR") if key in os.environ}  # fmt: skip
        bare = self.folder / "home"
        bare.mkdir(exist_ok=True)
        saved |= {"HOME": os.environ["HOME"] if home else str(bare), "PYTHONPATH": _SOURCE}
        done = subprocess.run(
            [sys.executable, "-c", _START, *words], capture_output=True, text=True, check=False,
            cwd=self.folder, env=saved, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        found = {
            "words": [self.tidy.text(word) for word in words],
            "exit": done.returncode,
            "out": observe.lines(done.stdout, self.tidy),
            "err": observe.lines(done.stderr, self.tidy),
            "left at home": sorted(str(x.relative_to(bare)) for x in bare.rglob("*")),
        }
        self.said[name] = {key: _timeless(each) for key, each in found.items()}


def _timeless(value: Any) -> Any:
    if isinstance(value, list):
        lines = [_timeless(each) for each in value if not _passing(each)]
        if len(lines) <= _LINES:
            return lines
        reported = f"... {len(lines)} lines, {digest(repr(lines))} ..."
        return [*lines[: _LINES // 2], reported, *lines[-5:]]
    if isinstance(value, str):
        value = _FRAME.sub("", value)
        for pattern, word in _RULES:
            value = pattern.sub(word, value)
    return value


def _clockless(value: Json) -> Json:
    """Return a value in which no number of seconds stands, not even 0: it is rounded."""
    if isinstance(value, list):
        return [_clockless(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: "<seconds>" if key in _SECONDS and each is not None else _clockless(each)
        for key, each in value.items()
    }


def _passing(line: Any) -> bool:
    return isinstance(line, str) and _PROGRESS.search(line) is not None


def page(path: Path, tidy: Normaliser) -> Json:
    """Return what a page says, without what it says of the machine."""
    found = pages.outline(path.read_text(encoding="utf-8"))
    found["lines"] = [
        [line[0], "<own>"] if _machine(line) else _timeless(line) for line in found["lines"]
    ]
    return _clockless(tidy.value(found))


def _machine(line: Any) -> bool:
    return (
        isinstance(line, list) and len(line) == 2 and (line[0] in _OWN or line[0].startswith(_HASH))
    )
