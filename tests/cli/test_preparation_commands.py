"""What `list` and `make` tell programs."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from tests.servers.planning_endpoint import Command

from toolmark.suites import suite_registry


def test_the_list_names_every_suite_once(toolmark: Command) -> None:
    found = json.loads(toolmark("list", "--json").out)
    assert [each["name"] for each in found["suites"]] == list(suite_registry.SUITES)
    assert all(each["about"] and isinstance(each["needs"], str) for each in found["suites"])


def test_what_is_listed_of_a_suite_is_enough_to_ask_it(toolmark: Command) -> None:
    for name in suite_registry.SUITES:
        found = json.loads(toolmark("list", name, "--json").out)
        assert [parameter["name"] for parameter in found["parameters"]] == [
            k.name for k in suite_registry.list_parameters(name)
        ]
        assert found["tool_formats"] == suite_registry.tool_format_note(name)
        assert found["baselines"] == list(suite_registry.baseline_names(name))
    parameters = json.loads(toolmark("list", "funcbench", "--json").out)["parameters"]
    given = {
        parameter["name"]: parameter["default"]
        for parameter in parameters
        if parameter["name"] != "seed"
    }
    assert (
        json.loads(json.dumps(suite_registry.convert_known_parameters("funcbench", given))) == given
    )


@pytest.mark.parametrize("name", suite_registry.SUITES)
def test_a_default_is_listed_whole_and_as_it_can_be_given(toolmark: Command, name: str) -> None:
    expected = {
        each.name: each.default
        for each in suite_registry.list_parameters(name)
        if each.default is not None
    }
    listed = {}
    for line in toolmark("list", name).out.splitlines():
        if line.startswith("-T "):
            key, _, rest = line.removeprefix("-T ").partition("=")
            listed[key] = rest.partition("  ")[0]
    assert listed.keys() >= expected.keys()
    given = {key: listed[key] for key in expected}
    assert suite_registry.convert_known_parameters(name, given) == expected


def test_a_user_suite_shows_its_parameters(toolmark: Command, tmp_path: Path) -> None:
    (tmp_path / "mine_told.py").write_text(
        '"""Mine."""\n\n\ndef load(*, n: int = 3):\n    """My suite."""\n'
    )
    found = json.loads(toolmark("list", "mine_told:load", "--json").out)
    assert found["needs"] == ""
    assert [parameter["default"] for parameter in found["parameters"]] == [3]


def test_what_was_made_is_printed_as_it_lies_there(toolmark: Command, tmp_path: Path) -> None:
    said = toolmark("make", "funcbench", "-T", "core=4", "-T", "depth=2", "-T", "graphs=3",
                    "--seed", "7", "-o", "made", "--json")  # fmt: skip
    found = json.loads(said.out)
    data = Path(found["tasks"]).read_bytes()
    assert (said.code, found["suite"], found["seed"]) == (0, "funcbench", 7)
    assert found["n_tasks"] == len(data.splitlines())
    assert found["sha256"] == hashlib.sha256(data).hexdigest()
    assert (found["n_failed"], found["n_failed_by_reason"]) == (0, {})
