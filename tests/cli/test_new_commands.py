"""A new package with a suite works: its tests pass, and each command that it names ends well."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.authoring.installed_packages import install_package
from tests.servers.planning_endpoint import Command

import toolmark as tm

ROOT = Path(__file__).parents[2]
NAME = "new_shop"
KINDS = ("rows", "environment")


@pytest.fixture(params=KINDS)
def package(
    request: pytest.FixtureRequest,
    toolmark: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Path]:
    """The folder of a package that was written, and installed as its project file says."""
    assert toolmark("new", "suite", NAME, "--kind", request.param).code == 0
    folder = tmp_path / NAME
    project = read_project(folder)
    groups = {
        group.removeprefix("toolmark."): values for group, values in project["entry-points"].items()
    }
    source = folder / "src"
    files = {
        str(path.relative_to(source)): path.read_text()
        for path in source.rglob("*")
        if path.is_file()
    }
    site = install_package(
        monkeypatch,
        tmp_path,
        project["name"],
        version=project["version"],
        files=files,
        entry_points=groups,
    )
    python_path = os.pathsep.join([str(site), str(ROOT / "src")])
    monkeypatch.setenv("PYTHONPATH", python_path)
    yield folder
    for name in [each for each in sys.modules if each.partition(".")[0] == NAME]:
        del sys.modules[name]


def read_project(folder: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return project


def test_its_own_tests_pass(package: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(package)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout


def test_each_command_of_its_pages_ends_well(package: Path, toolmark: Command) -> None:
    pages = (package / "README.md", package / ".github" / "workflows" / "check.yml")
    commands = {
        line
        for page in pages
        for line in re.findall(r"^(?:.*run: )?toolmark (.*)$", page.read_text(), re.MULTILINE)
    }
    assert len(commands) >= 4
    for line in commands:
        words = line.replace("openai/gpt-5-mini", "control/oracle").split()
        said = toolmark(*words)
        assert said.code == 0, (line, said.err)


def test_its_run_is_scored_again_by_its_name_and_without_it(
    package: Path, toolmark: Command
) -> None:
    run = tm.run(tm.load(NAME), "control/oracle")
    assert run.info.versions["new-shop"] == "0.1.0"
    for words in ((), ("--suite", NAME)):
        said = toolmark("score", str(run.path), *words, "--json")
        assert said.code == 0, said.err
        assert json.loads(said.out)["score"]["value"] == 1


def test_the_licence_is_left_to_the_author(package: Path) -> None:
    assert "license" not in read_project(package)
    assert not [path for path in package.rglob("*") if "licen" in path.name.lower()]


def test_the_next_commands_name_the_folder(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("new", "suite", NAME, "-o", "some folder/shop", "--json")
    assert said.code == 0, said.err
    found = json.loads(said.out)
    assert all((tmp_path / path).is_file() for path in found["files"])
    install, tests, *others = found["next"]
    assert install.endswith("-m pip install -e 'some folder/shop[dev]'")
    assert tests.endswith("-m pytest 'some folder/shop'")
    assert [line.split()[:3] for line in others] == [
        ["toolmark", "check", NAME],
        ["toolmark", "run", NAME],
        ["toolmark", "run", NAME],
    ]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("my-shop", "next: toolmark new suite my_shop"),
        ("My Shop", "next: toolmark new suite my_shop"),
        ("3shop", "next: toolmark new suite shop"),
        ("../shop", "next: toolmark new suite shop"),
        ("", "small letters"),
        ("été", "small letters"),
        ("funcbench", "is a built-in suite"),
        ("lambda", "is a word of Python"),
        ("match", "is a word of Python"),
        ("json", "is a module of Python"),
        ("toolmark", "is a module of Python"),
        ("numpy", "is a module of Python"),
    ],
)
def test_a_name_that_cannot_be_used_is_one_line_and_writes_nothing(
    name: str, reason: str, toolmark: Command, tmp_path: Path
) -> None:
    said = toolmark("new", "suite", name)
    assert said.code == 2 and reason in said.err
    assert "\n" not in said.err.strip()
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_another_packages_suite_is_refused(
    toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"suites": {"taken": "taken_suites:suite"}}
    install_package(monkeypatch, tmp_path, "taken-suites", files={}, entry_points=points)
    said = toolmark("new", "suite", "taken")
    assert said.code == 2 and "taken-suites 1.0" in said.err


def test_a_folder_that_exists_is_left_as_it_is(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / NAME).mkdir()
    for words in ((), ("-o", NAME)):
        said = toolmark("new", "suite", NAME, *words)
        assert said.code == 2 and f"{NAME} exists" in said.err
    assert list((tmp_path / NAME).iterdir()) == []
    (tmp_path / "file").write_text("")
    said = toolmark("new", "suite", NAME, "-o", "file/deeper")
    assert said.code == 2 and "cannot write there" in said.err
