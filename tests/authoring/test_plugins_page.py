"""The parts of docs/how-to/plugins.md work as they stand there."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.authoring.installed_packages import install_package

import toolmark as tm
from toolmark.core.entry_points import KIND_BY_GROUP
from toolmark.perturb.text.text_perturbations import load_perturbation

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to/plugins.md").read_text()
REFERENCE = (DOCS / "reference/entry-points.md").read_text()
TOOL = {"name": "wave", "description": "Wave.", "parameters": {"type": "object", "properties": {}}}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The package of the page, installed."""
    (project,) = blocks("toml")
    groups = tomllib.loads(project)["project"]["entry-points"]
    install_package(
        monkeypatch,
        tmp_path,
        "my-parts",
        files={"my_parts.py": "\n\n".join(blocks("python"))},
        entry_points={group.removeprefix("toolmark."): group_ for group, group_ in groups.items()},
    )
    monkeypatch.chdir(tmp_path)
    row = {"question": "Wave, please.", "tools": [TOOL], "expected": [{"name": "wave"}]}
    Path("rows.jsonl").write_text(json.dumps(row) + "\n")
    yield
    sys.modules.pop("my_parts", None)


def test_the_reference_names_every_group() -> None:
    assert {*re.findall(r"^\| `toolmark\.(\w+)` \|", REFERENCE, re.MULTILINE)} == {*KIND_BY_GROUP}


def test_the_perturbation_of_the_page() -> None:
    assert load_perturbation("shouting").apply("Book a table.", 7) == "BOOK A TABLE."


def test_the_tool_format_of_the_page() -> None:
    run = tm.run(tm.load("rows.jsonl"), "control/oracle", tool_format="numbered")
    assert run.summary()["score"]["value"] == 1
    (trajectory,) = run.trajectories()
    texts = [message.text for message in trajectory.steps[0].new_messages]
    assert any(re.fullmatch(r"\d\. Wave, please\.", text) for text in texts)


def test_the_wire_of_the_page() -> None:
    run = tm.run(tm.load("rows.jsonl"), "echo/large", base_url="http://localhost:1/v1")
    assert run.info.plan.base_url == "http://localhost:1/v1"
    (trajectory,) = run.trajectories()
    assert trajectory.steps[0].reply.text == "Wave, please."


def test_the_agent_of_the_page() -> None:
    seen: list[float | None] = []

    async def note(request: tm.Request) -> tm.Reply:
        seen.append(request.sampling.temperature)
        return tm.Reply()

    tm.run(tm.load("rows.jsonl"), note, agent="varied", repeats=2)
    assert {*seen} == {0.0, 1.0} and len(seen) == 2
