"""What README and docs tell to type exists: commands, flags, suites, parameters and values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from toolmark.authoring import row_file_names
from toolmark.cli import app, preparation_commands
from toolmark.core import user_modules
from toolmark.core.errors import UsageError
from toolmark.suites import model_registry, suite_registry
from toolmark.suites.multinet import multinet_families
from toolmark.suites.multinet.openx.morphologies import MORPHOLOGIES, OWN_MORPHOLOGY

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    if "_build" not in path.parts
}
LEVELS = {"morphology": {*MORPHOLOGIES, OWN_MORPHOLOGY, "all"}}
ANY = re.compile(r"[A-Z_.\d]+|\.\.\.|…|RUN.*|<.*>")  # stands for something of the reader's
COMMANDS: Any = typer.main.get_command(app.app)


def lines(text: str) -> Iterator[str]:
    """Go through what is to be typed; loops of the shell are gone through."""
    for block in re.findall(r"^```[a-z]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        block = block.replace("\\\n", " ")
        for name, words, body in re.findall(r"for (\w+) in (.*?); do\n(.*?)done", block, re.DOTALL):
            reported = (body.replace(f"${name}", word) for word in words.split())
            block = block.replace(body, "\n".join(reported))
        yield from block.splitlines()
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"^    (.*)", rest, re.MULTILINE)
    yield from (" ".join(code.split()) for code in re.findall(r"`([^`]*)`", rest))


def commands(text: str) -> Iterator[list[str]]:
    """Go through the words after `toolmark` of each line that begins so."""
    for line in lines(text):
        found = re.match(r"\s*(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/)?toolmark (.*)", line)
        if found and not found[1].startswith(("(", "-")):
            yield shlex.split(re.sub(r"(^|\s)#.*", "", found[1]))


def wrong(words: Sequence[str]) -> Iterator[str]:
    """Go through what there is not in a command line."""
    command, at = COMMANDS, 0
    while at < len(words) and words[at] in getattr(command, "commands", {}):
        command, at = command.commands[words[at]], at + 1
    if at == 0:
        yield f"command {words[0]}"
        return
    options = {name: each for each in command.params for name in (*each.opts, *each.secondary_opts)}
    given: dict[str, list[str]] = {}
    places: list[str] = []
    rest = iter(words[at:])
    for word in rest:
        name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if not word.startswith("-"):
            places.append(word)
        elif name not in options and name != "--help":
            yield f"{name} of {words[0]}"
        elif name != "--help" and not options[name].is_flag:
            given.setdefault(options[name].name, []).append(value if equals else next(rest, ""))
    yield from _words(words[0], places[0] if places else "", given)


def _words(command: str, first: str, given: dict[str, list[str]]) -> Iterator[str]:
    if (
        command == "fetch"
        and first not in preparation_commands.FETCHERS
        and not ANY.fullmatch(first)
    ):
        yield f"data {first}"
    if command not in ("run", "make", "serve", "tune", "author", "list") or ANY.fullmatch(first):
        return
    if first not in suite_registry.SUITES:
        if first and ":" not in first and not row_file_names.is_row_file(first):
            yield f"suite {first}"
        return
    for reported in given.get("parameters", ()):
        yield from _parameter(first, *reported.partition("=")[::2])
    for model in given.get("model", ()):
        yield from _model(first, model)


def _parameter(suite: str, parameter: str, value: str) -> Iterator[str]:
    if ANY.fullmatch(value) and value.upper() == value and not value.isdigit():
        value = ""  # a folder, a file: any text
    known = {each.name for each in suite_registry.list_parameters(suite)}
    try:
        if parameter in known and value:
            suite_registry.convert_known_parameters(suite, {parameter: value})
    except UsageError as error:
        yield f"{suite}: {error}"
    if parameter not in known or (
        parameter in LEVELS and not set(value.split(",")) <= LEVELS[parameter]
    ):
        yield f"{suite}: -T {parameter}={value}"


def _model(suite: str, model: str) -> Iterator[str]:
    kind, _, name = model.partition("/")
    family: Any = suite.removeprefix("multinet-")
    own = (
        multinet_families.BASELINES_BY_FAMILY.get(family, ())
        if family != suite
        else tuple(model_registry._BASELINE_SPECS)
    )
    if kind == "baseline" and name not in own and not ANY.fullmatch(name):
        yield f"{suite}: {model}"


@pytest.mark.parametrize("page", PAGES)
def test_every_documented_command_exists(page: str) -> None:
    reported = list(commands(PAGES[page].read_text("utf-8")))
    found = {" ".join(words): list(wrong(words)) for words in reported if words}
    assert {line: faults for line, faults in found.items() if faults} == {}


@pytest.mark.parametrize(
    "line",
    [
        "runn bfcl -m MODEL", "run bcfl -m MODEL", "run multinet-piqa -m MODEL -T item=5",
        "run multinet-piqa -m MODEL -T form=words", "run multinet-openx -m M -T morphology=legs",
        "run multinet-piqa -m baseline/stay", "run bfcl --modell M", "fetch bcfl",
        "run multinet-overcooked -m MODEL -T history=few",
    ],
)  # fmt: skip
def test_what_is_not_there_is_found(line: str) -> None:
    (words,) = commands(f"```\ntoolmark {line}   # a remark\n```")
    assert list(wrong(words))


def test_all_data_that_can_be_named_have_something_that_fetches_them() -> None:
    assert preparation_commands.FETCHERS.keys() >= {
        multinet_families.suite_name(family) for family in multinet_families.FAMILIES
    }
    for place in preparation_commands.FETCHERS.values():
        assert callable(user_modules.import_attribute(place))


def test_every_family_is_documented() -> None:
    reported = [*commands(PAGES["docs/suites/multinet.md"].read_text("utf-8"))]
    asked = {words[1] for words in reported if words[:1] == ["run"]}
    assert asked >= {multinet_families.suite_name(family) for family in multinet_families.FAMILIES}
