"""What a command loads before it does anything: help and the list of suites need no library."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from toolmark.suites import suite_registry
from toolmark.suites.suite_names import LIBRARY_BY_EXTRA, SUITES

HEAVY = {
    "aiohttp", "asyncio", "cv2", "datasets", "jinja2", "lxml", "mcp", "multiprocessing", "numpy",
    "PIL", "pyarrow", "pyreqwest", "scipy", "sentence_transformers", "ssl", "torch", "uvloop",
}  # fmt: skip


def loaded_modules(*words: str) -> set[str]:
    """Return the modules that a process has loaded after a command."""
    code = (
        "import contextlib, io, json, sys\n"
        f"sys.argv = ['toolmark', *{words!r}]\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    from toolmark.cli.app import main\n"
        "    main()\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*json.loads(done.stdout)}


@pytest.mark.parametrize("words", [("--help",), ("run", "--help"), ("show", "--help"), ("list",)])
def test_no_heavy_library_is_loaded(words: tuple[str, ...]) -> None:
    loaded = loaded_modules(*words)
    assert loaded & HEAVY == set()
    assert "toolmark.cli.app" in loaded and "toolmark.api" not in loaded


def test_what_is_looked_for_is_seen() -> None:
    words = ("run", "funcbench", "-m", "baseline/planner", "--dry-run")
    assert {"numpy", "scipy"} <= loaded_modules(*words) & HEAVY


@pytest.mark.parametrize("name", SUITES)
def test_the_list_looks_for_a_library_that_the_suite_loads(name: str) -> None:
    code = (
        "import sys\n"
        "from toolmark.suites import suite_registry\n"
        f"suite_registry.load_scorer({name!r})\n"
        f"print(*{{*sys.modules}} & {{*{[*LIBRARY_BY_EXTRA.values()]!r}}})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    extra = SUITES[name].extra
    assert (LIBRARY_BY_EXTRA[extra] in done.stdout.split()) if extra else not done.stdout.strip()


def test_a_library_that_is_not_there_is_named_by_its_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suite_registry, "find_spec", lambda name: None)
    missing = {name: suite_registry.missing_requirement(name) for name in SUITES}
    for name, entry in SUITES.items():
        assert missing[name].endswith(f"[{entry.extra}]'") if entry.extra else not missing[name]
    assert {entry.extra for entry in SUITES.values()} - {""} == LIBRARY_BY_EXTRA.keys()
