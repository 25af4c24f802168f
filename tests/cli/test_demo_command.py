"""What the demo prints as next steps works in the order in which it is printed."""

from __future__ import annotations

import shlex

import pytest
import typer

from toolmark.cli.app import app
from toolmark.cli.demo_command import next_steps
from toolmark.cli.preparation_commands import FETCHERS
from toolmark.core.user_modules import install_command
from toolmark.suites import suite_registry
from toolmark.suites.suite_names import SUITES

COMMANDS = [shlex.split(line) for line in next_steps() if not line.startswith("#")]
OWN = [words[1:] for words in COMMANDS if words[0].endswith("toolmark")]


def test_the_extra_of_a_suite_is_installed_before_the_suite_is_named() -> None:
    needing = {"mcp-servers": "m3"} | {name: entry.extra for name, entry in SUITES.items()}
    installed: set[str] = set()
    for words in COMMANDS:
        installed |= {
            extra
            for extra in {*needing.values()} - {""}
            if words == shlex.split(install_command(extra))
        }
        assert {needing[word] for word in words if word in needing} <= installed | {""}
    assert installed == {"m3", "vision"}


@pytest.mark.parametrize("words", OWN, ids=" ".join)
def test_each_step_is_a_command_with_known_names(words: list[str]) -> None:
    command = typer.main.get_command(app)
    assert words[0] in command.commands  # type: ignore[attr-defined]
    if words[0] == "fetch":
        assert words[1] in FETCHERS
    if words[0] == "run":
        given = [words[i + 1].partition("=")[0] for i, word in enumerate(words) if word == "-T"]
        assert {*given} <= {each.name for each in suite_registry.list_parameters(words[1])}
