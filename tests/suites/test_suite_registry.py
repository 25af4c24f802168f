"""Suites are found by name, knobs by signature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolmark.core import user_modules
from toolmark.core.errors import UsageError
from toolmark.suites import suite_registry


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_every_parameter_of_every_suite_is_explained(name: str) -> None:
    assert suite_registry.suite_summary(name).endswith(".")
    for knob in suite_registry.list_parameters(name):
        assert knob.help, f"{name}: -T {knob.name} has no help"


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_every_suite_can_be_scored_without_its_tasks(name: str) -> None:
    assert suite_registry.load_scorer(name).readings


@pytest.mark.parametrize(
    ("given", "core", "restate"),
    [
        ({"core": "6", "depth": "2", "restate": "true"}, 6, True),
        ({"core": 6, "depth": 2}, 6, False),
    ],
)
def test_words_are_read_as_the_parameters_type(
    given: dict[str, Any], core: int, restate: bool
) -> None:
    loaded = suite_registry.load_suite("funcbench", **given)
    assert (loaded.knobs["core"], loaded.knobs["restate"]) == (core, restate)


@pytest.mark.parametrize(
    "name", ["os:system", "toolmark.suites.suite_registry:nope", "json:dumps.nope"]
)
def test_what_is_no_suite_is_refused(name: str) -> None:
    with pytest.raises((UsageError, TypeError)):
        suite_registry.load_scorer(name)


def test_only_plain_identifiers_name_an_attribute() -> None:
    assert user_modules.is_module_spec("a.b:c.d")
    assert not any(map(user_modules.is_module_spec, ["http://x:1/v1#m", "a:", ":b", "a b:c", "a"]))


def test_a_choice_is_described_by_its_words() -> None:
    with pytest.raises(UsageError, match=r"knob missing: expected error \| skip, got 'foo'"):
        suite_registry.load_suite("mfcl-speech", missing="foo")


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_parameters_read_from_the_source_are_those_of_the_function(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = suite_registry.list_parameters(name)
    monkeypatch.setattr(suite_registry, "missing_requirement", lambda name: "an extra")
    read = suite_registry.list_parameters(name)
    assert [(k.name, k.help) for k in read] == [(k.name, k.help) for k in known]
    for found, true in zip(read, known, strict=True):
        assert found.default in (true.default, None)
        assert suite_registry.describe_type(found.kind) == suite_registry.describe_type(true.kind)


@pytest.mark.parametrize(
    ("word", "value"),
    [("yes", True), ("Yes", True), ("on", True), ("true", True), ("no", False), ("off", False),
     ("false", False), ("0", False)],
)  # fmt: skip
def test_a_switch_takes_the_words_of_a_switch(word: str, value: bool) -> None:
    assert suite_registry.convert_known_parameters("funcbench", {"restate": word}) == {
        "restate": value
    }


def test_types_are_described_in_words() -> None:
    assert suite_registry.describe_type(tuple[str, ...]) == "words, separated by commas"
    assert suite_registry.describe_type(tuple[str, ...] | None) == "words, separated by commas"
    with pytest.raises(UsageError, match=r"knob restate: expected yes \| no, got 'maybe'"):
        suite_registry.convert_known_parameters("funcbench", {"restate": "maybe"})


def test_an_extra_goes_where_the_package_came_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(user_modules.__file__).parents[3]
    monkeypatch.chdir(home)
    assert user_modules.install_command("m3").endswith("-m pip install -e '.[m3]'")
    monkeypatch.chdir(tmp_path)
    assert user_modules.install_command("m3").endswith(f"-m pip install -e '{home}[m3]'")
    monkeypatch.setattr(
        user_modules, "__file__", str(tmp_path / "lib/site/toolmark/core/user_modules.py")
    )
    assert user_modules.install_command("m3").endswith("-m pip install 'toolmark[m3]'")


@pytest.mark.parametrize(
    ("module", "extra"),
    [
        ("toolmark.cli.m3_commands", "m3"),
        ("toolmark.studio.m3_replay", "m3"),
        ("toolmark.environments.mcp.server_session", "m3"),
        ("toolmark.cli.perturb_commands", "speech"),
        ("toolmark.suites.mfcl_speech.speech_suite", "speech"),
        ("toolmark.suites.mfcl_vision.suite", "vision"),
        ("toolmark.studio.vision_tuning.tuning_loop", "vision"),
        ("toolmark.suites.multinet.published.hub_download", "multinet-hub"),
        ("toolmark.suites.multinet.multinet_suites", "multinet"),
        ("toolmark.generation.drawing.canvas", ""),
        ("toolmark.suites.bfcl.bfcl_suite", ""),
        ("elsewhere.m3", ""),
    ],
)
def test_a_module_knows_the_extra_it_needs(module: str, extra: str) -> None:
    command = user_modules.module_install_command(module)
    assert command.endswith(f"[{extra}]'") if extra else command == ""
