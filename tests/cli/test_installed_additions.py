"""What other packages add is used by name: list, tool formats, wires, agents, perturbations."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from tests.authoring.installed_packages import install_package
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.agents.agent import Agent
from toolmark.cli import installed_additions
from toolmark.core.errors import UsageError
from toolmark.models import installed_wires, model_resolver
from toolmark.reports import run_names
from toolmark.runs import run_preparation
from toolmark.runs.suite import Defaults, default_tool_formats

MODULE = """
import sys

from toolmark.agents import tool_loop
from toolmark.agents.agent import Agent
from toolmark.core.model import Model
from toolmark.core.records import Reply
from toolmark.formats.prompt_format import PromptFormat
from toolmark.perturb.text.text_perturbations import TextPerturbation

SETTINGS = []


class Loud(PromptFormat):
    name = "loud"

    def render_opening(self, messages, tools):
        SETTINGS.append("rendered")
        return super().render_opening(messages, tools)


class Yes(Model):
    def __init__(self, name, settings):
        SETTINGS.append((name, settings.base_url, settings.headers, settings.timeout_s))
        self.name = name

    async def __call__(self, request):
        return Reply(text="yes")


class Careful(Agent):
    def __call__(self, *args, **kwargs):
        SETTINGS.append("played")
        return tool_loop.TOOL_LOOP(*args, **kwargs)


class Backwards(TextPerturbation):
    name = "backwards"
    description = "writes the words from the last to the first"

    def apply(self, text, seed):
        return " ".join(text.split()[::-1]) + "!" * seed


class Silent(TextPerturbation):
    def apply(self, text, seed):
        return None


class Failing(TextPerturbation):
    def apply(self, text, seed):
        return 1 / 0


def no_model(name, settings):
    return "yes"
"""
POINTS = {
    "suites": {"funcbench": "more_parts:suite", "lost": "no_module_of_theirs:suite"},
    "tool_formats": {"loud": "more_parts:Loud", "half": "more_parts:Yes", "text": "more_parts:sys"},
    "wires": {"yes": "more_parts:Yes", "none": "more_parts:no_model", "openai": "more_parts:Yes"},
    "agents": {"careful": "more_parts:Careful", "model": "more_parts:Yes"},
    "perturbations": {
        "backwards": "more_parts:Backwards",
        "silent": "more_parts:Silent",
        "failing": "more_parts:Failing",
        "slang": "more_parts:Backwards",
        "wrong": "more_parts:Careful",
    },
}
FUNCBENCH = ("funcbench", "-T", "core=3", "-T", "depth=2", "-T", "graphs=2", "--seed", "7")


@pytest.fixture
def parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an installed package with a part of each kind."""
    yield install_package(
        monkeypatch, tmp_path, "more-parts", files={"more_parts.py": MODULE}, entry_points=POINTS
    )
    sys.modules.pop("more_parts", None)


def seen() -> list[object]:
    """Return what the package noted since it was imported."""
    found: list[object] = sys.modules["more_parts"].SETTINGS
    return found


def test_list_names_each_part_with_its_package_and_imports_none(
    parts: Path, toolmark: Command
) -> None:
    said = toolmark("list")
    assert said.code == 0
    assert "tool format loud, from more-parts 1.0: --tool-format loud" in said.out
    assert "wire yes, from more-parts 1.0: -m yes/NAME" in said.out
    assert "suite lost, from more-parts 1.0: toolmark run lost" in said.out
    assert said.out.splitlines()[-1].startswith("next: ")
    entries = json.loads(toolmark("list", "--json").out)["installed"]
    by_name = {(each["kind"], each["name"]): each for each in entries}
    assert len(entries) == sum(map(len, POINTS.values()))
    hidden = {name for name, each in by_name.items() if each["fault"]}
    assert hidden == {("suite", "funcbench"), ("wire", "openai"), ("perturbation", "slang")}
    assert by_name["suite", "lost"]["fault"] == ""
    assert "more_parts" not in sys.modules


@pytest.mark.parametrize("command", [(), ("run",), ("list",), ("perturb",), ("perturb", "text")])
def test_help_does_not_even_look_for_packages(
    command: tuple[str, ...], toolmark: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("the installed packages were read")

    monkeypatch.setattr(metadata, "distributions", refuse)
    assert toolmark(*command, "--help").code == 0


def test_a_broken_part_is_one_line_and_stops_no_other_command(
    parts: Path, toolmark: Command
) -> None:
    said = toolmark("list", "lost")
    assert said.code == 2
    line = said.err.strip()
    assert "package more-parts 1.0: suite 'lost': cannot import" in line and "\n" not in line
    assert toolmark("run", *FUNCBENCH, "-m", "control/oracle").code == 0


# --- tool formats ------------------------------------------------------------------------


def test_a_tool_format_is_used_by_its_name(parts: Path, toolmark: Command) -> None:
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--tool-format", "loud", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["score"]["value"] == 1
    assert "rendered" in seen()
    (run,) = (tm.open_run(path) for path in Path("runs").glob("*/"))
    assert run.info.plan.tool_format == "loud"
    assert "more_parts" in run.info.plan.modules
    assert run.info.versions["more-parts"] == "1.0"
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--tool-format", "loud", "--dry-run")
    assert said.code == 0, said.err


@pytest.mark.parametrize(("name", "got"), [("half", "Yes"), ("text", "module")])
def test_what_is_no_tool_format_is_refused(
    name: str, got: str, parts: Path, toolmark: Command
) -> None:
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--tool-format", name)
    assert said.code == 2
    assert f"package more-parts 1.0: tool format {name!r}: " in said.err


def test_an_unknown_tool_format_is_answered_with_installed_ones(
    parts: Path, toolmark: Command
) -> None:
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--tool-format", "load")
    assert said.code == 2 and "did you mean: loud" in said.err
    assert "more_parts" not in sys.modules


def test_a_suite_with_tool_formats_of_its_own_gets_no_other(parts: Path) -> None:
    suite = tm.load("funcbench", graphs=1)
    only_native = {"native": suite.tool_formats["native"]}
    own = tm.Suite(name="own", tasks=[], scorer=suite.scorer, tool_formats=only_native)
    assert run_preparation.add_installed_parts(own, "loud").tool_formats == only_native
    assert "loud" in run_preparation.add_installed_parts(suite, "loud").tool_formats


def test_the_names_that_list_calls_taken_are_those_of_the_default_tool_formats() -> None:
    assert {*installed_additions._own_names("tool_formats")} == {*default_tool_formats()}


# --- wires -------------------------------------------------------------------------------


def test_a_wire_answers_the_models_of_its_name(parts: Path, toolmark: Command) -> None:
    said = toolmark(
        "run", *FUNCBENCH, "-m", "yes/large", "--base-url", "http://localhost:9/v1/",
        "--header", "X: 1", "--timeout", "7", "--json",
    )  # fmt: skip
    assert said.code == 0, said.err
    assert json.loads(said.out)["score"]["value"] == 0
    assert seen() == [("large", "http://localhost:9/v1", (("X", "1"),), 7.0)]
    (run,) = (tm.open_run(path) for path in Path("runs").glob("*/"))
    plan = run.info.plan
    assert (plan.model, plan.base_url) == ("yes/large", "http://localhost:9/v1")
    assert "more_parts" in plan.model_modules


def test_replies_of_a_wire_are_cached_for_this_model_and_address(
    parts: Path, toolmark: Command, tmp_path: Path
) -> None:
    sizes = []
    for model, url in (("yes/a", "http://h/1"), ("yes/b", "http://h/1"), ("yes/b", "http://h/2")):
        arguments = ("-m", model, "--base-url", url, "--cache", str(tmp_path / "cache"), "--fresh")
        assert toolmark("run", *FUNCBENCH, *arguments).code == 0
        sizes.append(sum(1 for path in (tmp_path / "cache").rglob("*") if path.is_file()))
    assert sizes[0] < sizes[1] < sizes[2]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("none/x", "package more-parts 1.0: wire 'none': expected a Model, got str"),
        ("yes/", "name the model: yes/NAME"),
        ("yas/x", "did you mean: yes/"),
    ],
)
def test_what_is_no_model_of_a_wire_is_refused(
    model: str, reason: str, parts: Path, toolmark: Command
) -> None:
    said = toolmark("run", *FUNCBENCH, "-m", model)
    assert said.code == 2 and reason in said.err
    assert not list(Path("runs").glob("*"))


def test_the_names_of_providers_and_controls_are_never_a_packages(parts: Path) -> None:
    assert installed_wires.find_wire("openai/gpt-5") is None
    assert installed_wires.find_wire("control/oracle") is None
    assert installed_wires.find_wire("http://localhost/v1#x") is None
    assert "more_parts" not in sys.modules


def test_a_name_that_looks_like_a_key_reaches_no_wire(parts: Path) -> None:
    with pytest.raises(UsageError):
        model_resolver.resolve_model("yes/sk-" + "a1B2" * 10)
    assert "more_parts" not in sys.modules


def test_doctor_says_that_a_wire_is_no_endpoint_it_probes(parts: Path, toolmark: Command) -> None:
    said = toolmark("doctor", "-m", "yes/large")
    assert said.code == 2 and "toolmark run SUITE -m yes/large --limit 1" in said.err


# --- agents ------------------------------------------------------------------------------


def test_an_agent_plays_the_episodes_and_is_part_of_the_request(
    parts: Path, toolmark: Command
) -> None:
    for arguments in ((), ("--agent", "careful")):
        said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", *arguments, "--json")
        assert said.code == 0, said.err
        assert json.loads(said.out)["score"]["value"] == 1
    assert seen().count("played") == 2
    runs = [tm.open_run(path) for path in Path("runs").glob("*/")]
    plans = [run.info.plan for run in runs]
    assert sorted(plan.agent for plan in plans) == ["", "careful"]
    assert sorted(run_names.distinct_run_names(runs)) == [
        "careful with control/oracle",
        "control/oracle",
    ]
    (plan,) = (plan for plan in plans if plan.agent)
    assert "more_parts" in plan.modules


def test_an_agent_may_be_in_a_file_of_the_user(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / "agents.py").write_text(MODULE)
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--agent", "agents.py:Careful")
    assert said.code == 0, said.err
    (run,) = (tm.open_run(path) for path in Path("runs").glob("*/"))
    assert run.info.plan.agent == "agents.py:Careful"
    assert "agents" in run.info.plan.modules


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("model", "package more-parts 1.0: agent 'model': "),
        ("carefull", "did you mean: careful"),
        ("more_parts:Silent", "agent 'more_parts:Silent': expected an `async def agent(session)`"),
    ],
)
def test_what_is_no_agent_is_refused(
    name: str, reason: str, parts: Path, toolmark: Command
) -> None:
    said = toolmark("run", *FUNCBENCH, "-m", "control/oracle", "--agent", name)
    assert said.code == 2 and reason in said.err


def test_a_suite_with_an_agent_of_its_own_gets_no_other(parts: Path) -> None:
    suite = tm.Suite(tasks=[], scorer=lambda episode: True, defaults=Defaults(agent=Agent()))
    with pytest.raises(UsageError):
        run_preparation.add_installed_parts(suite, None, "careful")


# --- perturbations -----------------------------------------------------------------------


def test_perturbations_are_listed_and_applied_in_their_order(
    parts: Path, toolmark: Command, tmp_path: Path
) -> None:
    said = toolmark("perturb", "text", "--json")
    found = {each["name"]: each["package"] for each in json.loads(said.out)["perturbations"]}
    assert found["backwards"] == "more-parts 1.0" and found["slang"] == "toolmark"
    assert "more_parts" not in sys.modules
    (tmp_path / "texts.txt").write_text("one two\n\nthree four\n")
    said = toolmark("perturb", "text", "texts.txt", "x y", "--with", "backwards", "--seed", "1")
    assert said.out.splitlines() == ["two one!", "four three!", "y x!"]
    said = toolmark(
        "perturb", "text", "a b", "--with", "backwards", "--with", "backwards", "--json"
    )
    (record,) = json.loads(said.out)
    assert (record["text"], record["changed"]) == ("a b", "a b")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("x", "--with", "wrong"), "package more-parts 1.0: perturbation 'wrong': expected"),
        (("x", "--with", "silent"), "returned NoneType, no text"),
        (("x", "--with", "failing"), "ZeroDivisionError"),
        (("x", "--with", "backward"), "did you mean: backwards"),
        (("x",), "--with NAME"),
        (("--with", "backwards"), "no text to change"),
    ],
)
def test_a_wrong_perturbation_is_one_line(
    words: tuple[str, ...], reason: str, parts: Path, toolmark: Command
) -> None:
    said = toolmark("perturb", "text", *words)
    assert said.code == 2 and reason in said.err and "Traceback" not in said.err
