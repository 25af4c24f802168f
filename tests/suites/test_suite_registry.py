"""Suites are found by name, and their parameters are classes."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta

from toolmark.core import user_modules
from toolmark.core.errors import UsageError
from toolmark.runs import suite_parameters
from toolmark.runs.suite_parameters import SuiteParameters
from toolmark.suites import suite_registry
from toolmark.suites.m3.episode_environments import AGENTS, CASSETTE_MODES


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_every_parameter_of_every_suite_is_explained(name: str) -> None:
    assert suite_registry.suite_summary(name).endswith(".")
    for parameter in suite_registry.list_parameters(name):
        assert parameter.description, f"{name}: -T {parameter.name} has no description"


def test_the_two_suites_of_m3_describe_what_they_share_in_the_same_words() -> None:
    m3, local = (
        {each.name: each._replace(default=None) for each in suite_registry.list_parameters(name)}
        for name in ("m3", "m3-local")
    )
    for name, values in {"mode": CASSETTE_MODES, "agent": AGENTS, "cassette": ["text"]}.items():
        assert m3[name] == local[name]
        assert m3[name].kind.split(" | ") == sorted(values)


def test_who_writes_transcripts_may_be_nobody_where_the_model_hears_the_sound() -> None:
    read = suite_registry.convert_known_parameters("mfcl-speech", {"recognisers": ""})
    assert read == {"recognisers": ()}
    described = {
        name: {each.name: each.description for each in suite_registry.list_parameters(name)}
        for name in ("mfcl-speech", "mfcl-transcripts")
    }
    assert "none, if empty" in described["mfcl-speech"]["recognisers"]
    assert "none, if empty" not in described["mfcl-transcripts"]["recognisers"]


@pytest.mark.parametrize("name", ["context", "hint", "form"])
def test_every_value_that_vision_describes_of_a_part_is_accepted(name: str) -> None:
    (part,) = [x for x in suite_registry.list_parameters("mfcl-vision") if x.name == name]
    for text, value in {"yes": ("yes",), "no": ("no",), "yes,no": ("yes", "no")}.items():
        assert re.search(rf"\b{text}[,.:]", part.description)
        read = suite_registry.convert_known_parameters("mfcl-vision", {name: text})
        assert read == {name: value}
    with pytest.raises(UsageError):
        suite_registry.convert_known_parameters("mfcl-vision", {name: "both"})


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_every_suite_can_be_scored_without_its_tasks(name: str) -> None:
    assert suite_registry.load_scorer(name).rules


@pytest.mark.parametrize(
    ("words", "core", "restate"),
    [
        ({"core": "6", "depth": "2", "restate": "true"}, 6, True),
        ({"core": 6, "depth": 2}, 6, False),
    ],
)
def test_words_are_read_as_the_type_of_the_parameter(
    words: dict[str, Any], core: int, restate: bool
) -> None:
    loaded = suite_registry.load_suite("funcbench", **words)
    assert (loaded.parameters["core"], loaded.parameters["restate"]) == (core, restate)


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
    with pytest.raises(UsageError, match=r"parameter missing: expected error \| skip, got 'foo'"):
        suite_registry.load_suite("mfcl-speech", missing="foo")


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_the_parameters_of_a_suite_need_no_extra(name: str) -> None:
    """Their module imports nothing but the standard library, msgspec and light rooms of ours."""
    module = suite_registry.SUITES[name].parameters.partition(":")[0]
    heavy = {"numpy", "PIL", "mcp", "pyarrow", "soundfile", "lxml", "bs4", "cv2"}
    command = f"import sys, {module}; print(sorted({heavy!r} & {{*sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_a_suite_is_made_with_the_defaults_of_its_parameters(name: str) -> None:
    kind = suite_registry.parameters_of(name)
    assert kind() == msgspec.convert({}, kind)
    assert msgspec.json.schema(kind)


@pytest.mark.parametrize(
    ("word", "value"),
    [("yes", True), ("Yes", True), ("on", True), ("true", True), ("no", False), ("off", False),
     ("false", False), ("0", False)],
)  # fmt: skip
def test_a_switch_takes_the_words_of_a_switch(word: str, value: bool) -> None:
    assert suite_registry.convert_known_parameters("funcbench", {"restate": word}) == {
        "restate": value
    }


class _Sample(SuiteParameters, frozen=True, kw_only=True):
    words: tuple[str, ...] | None = None
    n: Annotated[
        Annotated[int, Meta(ge=1, lt=9)] | Literal["all"], Meta(description="How many.")
    ] = 2
    mode: Literal["replay", "record"] = "replay"
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    strict: bool | None = None


def test_types_and_bounds_are_shown_in_words() -> None:
    assert {each.name: each.kind for each in suite_parameters.list_fields(_Sample)} == {
        "words": "words, separated by commas",
        "n": "whole number >= 1 and < 9 | all",
        "mode": "record | replay",
        "share": "number > 0 and <= 1",
        "strict": "yes or no",
    }
    assert suite_parameters.list_fields(_Sample)[1].description == "How many."


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"n": "0"},
            "suite 's': parameter n: expected a whole number >= 1 and < 9 | all, got '0'",
        ),
        (
            {"mode": "recrod"},
            "suite 's': parameter mode: expected record | replay, got 'recrod'; "
            "did you mean: record",
        ),
        ({"strict": "maybe"}, "suite 's': parameter strict: expected yes or no, got 'maybe'"),
        ({"moed": "x"}, "suite 's' has no parameter 'moed'; did you mean: mode"),
    ],
)
def test_a_wrong_parameter_is_refused_in_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refused:
        suite_parameters.read_parameters(_Sample, given, suite="s")
    assert str(refused.value).startswith(message) and "\n" not in str(refused.value)


@given(n=st.integers(1, 8), words=st.lists(st.text("abc", min_size=1)), strict=st.booleans())
def test_text_is_read_as_the_value_that_it_shows(n: int, words: list[str], strict: bool) -> None:
    typed = {"n": str(n), "words": ",".join(words), "strict": "yes" if strict else "no"}
    read = suite_parameters.read_parameters(_Sample, typed, suite="s")
    assert read == _Sample(n=n, words=tuple(words), strict=strict)
    assert (
        suite_parameters.read_parameters(_Sample, suite_parameters.recorded_values(read), suite="s")
        == read
    )


def test_a_function_says_its_parameters_by_signature_and_docstring() -> None:
    def make(*, path: str = "rows.jsonl", n: Annotated[int, Meta(ge=1)] = 3) -> None:
        """Calls of a shop.

        Args:
            path: The file of rows,
                one a line.
            n: How many.
        """

    kind = suite_parameters.parameters_of_function(make)
    assert [each[:] for each in suite_parameters.list_fields(kind)] == [
        ("path", "text", "rows.jsonl", "The file of rows, one a line."),
        ("n", "whole number >= 1", 3, "How many."),
    ]
    assert suite_parameters.first_paragraph(kind.__doc__) == "Calls of a shop."


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
    ("place", "extra"),
    [
        ("environments.mcp.server_session", "m3"),
        ("suites.m3.local.m3_local_suite", "m3"),
        ("suites.funcbench.mcp_task_server", "m3"),
        ("perturb.speech.audio_clip", "speech"),
        ("perturb.image.picture_file", "vision"),
        ("suites.mfcl_speech.speech_suite", "speech"),
        ("suites.mfcl_vision.suite", "vision"),
        ("studio.vision_tuning.tuning_loop", "vision"),
        ("suites.multinet.multinet_suites", "multinet"),
        ("generation.drawing.canvas", ""),
        ("suites.bfcl.bfcl_suite", ""),
        ("elsewhere.m3", ""),
    ],
)
def test_a_failed_import_names_the_extra_of_its_package(place: str, extra: str) -> None:
    module = place if place.startswith("elsewhere.") else f"toolmark.{place}"
    if module.startswith("toolmark."):
        import_module(module.rpartition(".")[0])
    with pytest.raises(ModuleNotFoundError) as failed:
        exec("import no_such_library", {"__name__": module})  # noqa: S102
    command = user_modules.error_install_command(failed.value)
    assert command.endswith(f"[{extra}]'") if extra else command == ""
