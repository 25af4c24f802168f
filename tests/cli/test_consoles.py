"""What is printed is what was said and what was measured, however odd or large it is."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import msgspec
import pytest
from rich.table import Table
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.cli import consoles
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Reply, Request
from toolmark.runs.run_store import Run

SAID = "the ratio is 1:100:2, map {a:x:b}, [bold]no[/] :warning:"
HUGE = (
    "run",
    "multinet-openx",
    "-m",
    "control/faulty?class=out_of_range&rate=0.5",
    "-T",
    "items=30",
    "-T",
    "pictures=no",
    "--seed",
    "7",
)


@pytest.fixture
def endless(toolmark: Command) -> tuple[str, str]:
    """What a run says whose relative error is larger than numbers go, and its folder."""
    ended = toolmark(*HUGE)
    assert ended.code == 0, ended.err
    (folder,) = Path("runs").glob("multinet-openx-*")
    return ended.out, str(folder)


def test_a_number_without_end_is_shown_and_stored(
    toolmark: Command, endless: tuple[str, str]
) -> None:
    said, folder = endless
    assert any("RelMSE" in line and "∞" in line for line in said.splitlines())
    again = toolmark("score", folder)
    assert again.code == 0 and "∞" in again.out
    found = json.loads(toolmark("score", folder, "--json").out)
    assert found == json.loads((Path(folder) / "summary.json").read_bytes())
    assert found["parts"]["rel_mse"]["value"] == "inf"
    assert toolmark("report", folder).code == 0
    read = tm.open_run(Path(folder)).summary()
    assert read["parts"]["rel_mse"]["value"] == math.inf and str(read).startswith("closer")


def test_a_summary_with_words_for_numbers_is_refused(endless: tuple[str, str]) -> None:
    path = Path(endless[1]) / "summary.json"
    for wrong in (b"[]", b'{"score": {"value": "much"}}', b'{"parts": 3}'):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match=r"summary\.json"):
            Run(path.parent).summary()


def test_what_a_model_said_is_shown_letter_by_letter(toolmark: Command) -> None:
    async def model(request: Request) -> Reply:
        return Reply(text=SAID)

    run = tm.run(tm.load("multinet-piqa", items=3, seed=7), model, log_dir=Path("runs"))
    item = next(run.tasks()).id
    shown = toolmark("show", str(run.path), item)
    assert shown.code == 0 and SAID in " ".join(shown.out.split())
    for console in (consoles.stdout_console(), consoles.stderr_console()):
        with console.capture() as caught:
            console.print(":x: :100:")
        assert caught.get() == ":x: :100:\n"


def test_every_console_is_made_in_one_place() -> None:
    source = Path(consoles.__file__).parents[1]
    made = {path.relative_to(source).as_posix() for path in source.rglob("*.py")
            if re.search(r"\b(Console|SafeConsole)\(", path.read_text("utf-8"))}  # fmt: skip
    assert made == {"cli/consoles.py"}


def test_an_episode_is_dumped_as_it_is_stored(toolmark: Command, endless: tuple[str, str]) -> None:
    run = Run(Path(endless[1]))
    stored = next(run.trajectories())
    (found,) = json.loads(toolmark("show", endless[1], stored.task, "--json").out)["episodes"]
    assert json.loads(msgspec.json.encode(stored)) in found.values()


def test_no_text_commands_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever prints it, and as whatever: names in a run folder are foreign too."""
    evil = "a\x1b]0;b\x07\x9b31m\r\u202ec"
    table = Table(evil, title=evil)
    table.add_row(evil)
    for console in (consoles.stdout_console(), consoles.stderr_console()):
        console.print(evil)
        console.print(f"[bold]{evil}[/]", evil, markup=False)
        console.print(table)
        console.rule(evil)
        consoles.print_error(console, UsageError(evil))
    said = "".join(capsys.readouterr())
    assert not {"\x1b", "\x07", "\x9b", "\r", "\u202e"} & {*said}
    assert said.count("\u241b]0;b\u2407") >= 12
