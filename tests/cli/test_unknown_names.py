"""An unknown name is one line with the nearest few, whatever it should have named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runs import mini
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.errors import MAX_LISTED_NAMES, MAX_SUGGESTED_NAMES, UsageError, suggest_names

FUNCBENCH = ("run", "funcbench", "-m", "baseline/planner", "-T", "graphs=40", "--seed", "7")
MAX_LINE_CHARS = 400

NEAREST = [
    (("run", "bfc", "-m", "baseline/planner"), "no suite 'bfc'; did you mean: bfcl"),
    (("run", "BFCL", "-m", "baseline/planner"), "no suite 'BFCL'; did you mean: bfcl"),
    (("run", "zzz", "-m", "baseline/planner"), "no suite 'zzz'; nearest of "),
    (("run", "funcbench", "-m", "opnai/gpt"), "no model 'opnai/gpt'; did you mean: openai/"),
    (("run", "funcbench", "-m", "zzz"), "no model 'zzz'; nearest of "),
    (("run", "funcbench", "-m", "baseline/plannr"), "no baseline 'plannr'; did you mean: planner"),
    (("run", "funcbench", "-m", "control/oracel"), "'oracel'; did you mean: oracle"),
    ((*FUNCBENCH, "-T", "corre=3"), "'corre'; did you mean: core"),
    ((*FUNCBENCH, "-T", "zzzzz=3"), "'zzzzz'; nearest of "),
    ((*FUNCBENCH, "--tool-format", "nativ"), "'nativ'; did you mean: native"),
    ((*FUNCBENCH, "--tool-format", "zzz"), "'zzz'; known: native, prompt"),
    ((*FUNCBENCH, "--tempereture", "1"), "no option --tempereture; did you mean: --temperature;"),
    ((*FUNCBENCH, "--zzz"), "no option --zzz; nearest of "),
    ((*FUNCBENCH, "--ids", "zzz"), "no task 'zzz'; nearest of 40: "),
    (("rnu",), "no command 'rnu'; did you mean: run"),
    (("perturb", "speach"), "no command 'speach'; did you mean: speech"),
    (("perturb", "speech", "x", "--condition", "nosy"), "'nosy'; did you mean: noisy"),
    (("fetch", "bfc"), "no data 'bfc'; did you mean: bfcl"),
    (("import", "bfc", "x"), "no files of 'bfc'; did you mean: bfcl"),
    (("serve", "funcbnch"), "no server for 'funcbnch'; did you mean: funcbench"),
    (("tune", "mfcl-visoin", "-o", "x"), "'mfcl-visoin'; did you mean: mfcl-vision"),
]


@pytest.mark.parametrize(("words", "said"), NEAREST, ids=lambda each: " ".join(each))
def test_an_unknown_name_is_one_line_with_the_nearest(
    toolmark: Command, words: tuple[str, ...], said: str
) -> None:
    ended = toolmark(*words)
    (line,) = [each for each in ended.err.splitlines() if each.startswith("toolmark: ")]
    assert ended.code == 2 and said in line
    assert len(line) <= MAX_LINE_CHARS
    assert not [*Path("runs").glob("*")]


@pytest.fixture
def many(tmp_path: Path) -> tm.Run:
    return tm.run(mini.load(n=300), "control/null", log_dir=tmp_path / "many")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sum_29", "did you mean: sum-29"),
        ("?", "nearest of 300: sum-0, sum-1, sum-10"),
        ("299", "did you mean: sum-299"),
        ("SUM-7", "did you mean: sum-7"),
    ],
)
def test_an_unknown_id_names_three_at_most(
    toolmark: Command, many: tm.Run, name: str, said: str
) -> None:
    with pytest.raises(UsageError) as refused:
        tm.run(mini.load(n=300), "control/null", ids=[name], log_dir="elsewhere")
    shown = toolmark("show", str(many.path), name)
    for line in (str(refused.value), shown.err):
        assert said in line and line.count("sum-") <= MAX_SUGGESTED_NAMES + 1
    assert shown.code == 2 and shown.err.rstrip().endswith(f"next: toolmark show {many.path}")


def test_few_names_are_all_known_and_many_are_counted() -> None:
    few = [f"name{i}" for i in range(MAX_LISTED_NAMES)]
    assert suggest_names("xyz", few) == f"; known: {', '.join(few)}"
    assert suggest_names("xyz", [*few, "one more"]) == "; nearest of 9: name0, name1, name2"
    assert suggest_names("xyz", []) == "; none is known"


def test_a_long_name_is_cut_and_a_part_of_a_name_is_near() -> None:
    long = "part-" + 200 * "x"
    assert len(suggest_names("part", [long, "other"])) < 120
    assert suggest_names("simple", ["live_simple_3-2-0", "other"]) == (
        "; did you mean: live_simple_3-2-0"
    )


def test_where_all_can_be_listed_is_said_only_where_not_all_are() -> None:
    many = [f"n{i}" for i in range(50)]
    assert suggest_names("zzz", many, listing="toolmark list").endswith("; next: toolmark list")
    assert "toolmark list" not in suggest_names("zzz", ["a", "b"], listing="toolmark list")


def test_an_outcome_and_an_axis_are_suggested_too(toolmark: Command, many: tm.Run) -> None:
    assert (
        "did you mean: incorrect" in toolmark("show", str(many.path), "--outcome", "incorect").err
    )
    rows = json.loads(toolmark("show", str(many.path), "--json").out)["episodes"]
    assert len(rows) == 300
