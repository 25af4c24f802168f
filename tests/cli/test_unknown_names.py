"""An unknown name is one line with the nearest few, whatever it should have named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.runs import mini
from tests.servers.planning_endpoint import Command

import toolmark as tm
from toolmark.core.errors import MAX_LISTED_NAMES, MAX_SUGGESTED_NAMES, UsageError, suggest_names
from toolmark.official_bfcl.prompt_formats import all_variants
from toolmark.suites.suite_names import SUITES

FUNCBENCH = ("run", "funcbench", "-m", "baseline/planner", "-T", "graphs=40", "--seed", "7")
MAX_LINE_CHARS = 400

NEAREST = [
    (("run", "bfc", "-m", "baseline/planner"), "no suite 'bfc'; did you mean: bfcl"),
    (("run", "BFCL", "-m", "baseline/planner"), "no suite 'BFCL'; did you mean: bfcl"),
    (("run", "zzz", "-m", "baseline/planner"), "no suite 'zzz'; 14 are known, such as: bfcl,"),
    (("run", "funcbench", "-m", "opnai/gpt"), "no model 'opnai/gpt'; did you mean: openai/"),
    (("run", "funcbench", "-m", "gpt-5"), "no model 'gpt-5'; did you mean: openai/gpt-5; your own"),
    (("run", "funcbench", "-m", "gemini-3-pro"), "; did you mean: gemini/gemini-3-pro;"),
    (("run", "funcbench", "-m", "qwen3-32b"), "no model 'qwen3-32b'; 15 are known, such as:"),
    (("run", "funcbench", "-m", "gpu:8000/v1#m"), "; did you mean: http://gpu:8000/v1#m;"),
    (("run", "funcbench", "-m", "zzz"), "no model 'zzz'; 15 are known, such as: openai/,"),
    (("run", "funcbench", "-m", "baseline/plannr"), "no baseline 'plannr'; did you mean: planner"),
    (("run", "funcbench", "-m", "control/oracel"), "'oracel'; did you mean: oracle"),
    ((*FUNCBENCH, "-T", "corre=3"), "'corre'; did you mean: core"),
    ((*FUNCBENCH, "-T", "zzzzz=3"), "'zzzzz'; 20 are known, such as: "),
    ((*FUNCBENCH, "--tool-format", "nativ"), "'nativ'; did you mean: native"),
    ((*FUNCBENCH, "--tool-format", "zzz"), "'zzz'; 19 are known, such as: native, prompt"),
    ((*FUNCBENCH, "--wire", "antropic"), "no wire 'antropic'; did you mean: anthropic"),
    ((*FUNCBENCH, "--dry-run", "--wire", "antropic"), "'antropic'; did you mean: anthropic"),
    ((*FUNCBENCH, "--dry-run", "--wire", "zz"), "known: chat, responses, anthropic, gemini"),
    ((*FUNCBENCH, "--tempereture", "1"), "no option --tempereture; did you mean: --temperature;"),
    ((*FUNCBENCH, "--zzz"), "next: toolmark run --help"),
    ((*FUNCBENCH, "--ids", "zzz"), "next: toolmark make funcbench -o DIR"),
    (("run", "bfcl", "-m", "control/null", "--tool-format", "zz"), "next: toolmark list bfcl"),
    (("run", "bfcl", "-m", "control/null", "-T", "category=liev"), "'liev'; did you mean: live"),
    (("run", "funcbench", "-m", "zzz"), "next: toolmark run --help"),
    ((*FUNCBENCH, "--ids", "zzz"), "no task 'zzz'; 40 are known, such as: "),
    (("rnu",), "no command 'rnu'; did you mean: run"),
    (("perturb", "speach"), "no command 'speach'; did you mean: speech"),
    (("perturb", "speech", "x", "--condition", "nosy"), "'nosy'; did you mean: noisy"),
    (("perturb", "speech", "x", "--condition", "zz"), "next: read docs/reference/acoustics.md"),
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
        ("?", "300 are known, such as: sum-0, sum-1, sum-2"),
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
    assert suggest_names("xyz", ["z one", *few]) == "; 9 are known, such as: z one, name0, name1"
    assert suggest_names("xyz", []) == "; none is known"


PROVIDERS = (
    "openai/",
    "anthropic/",
    "gemini/",
    "groq/",
    "mistral/",
    "deepseek/",
    "xai/",
    "http://",
)
MODELS = (
    "gemini-3",
    "groq-fast",
    "o4",
    "gpt-5",
    "chatgpt-4o",
    "gpt-5-mini",
    "claude",
    "qwen",
    "glm",
)
SUITE_NAMES = tuple(SUITES)
FLAGS = ("--temperature", "--tool-format", "--max-tokens", "--model", "--repeats", "--reasoning")

TYPOS = [
    # one letter too many, too few, another, or two exchanged
    ("openaii/", PROVIDERS, ["openai/"]),
    ("opnai/", PROVIDERS, ["openai/"]),
    ("antropic/", PROVIDERS, ["anthropic/"]),
    ("mistrol/", PROVIDERS, ["mistral/"]),
    ("deepseke/", PROVIDERS, ["deepseek/"]),
    ("funcbnech", SUITE_NAMES, ["funcbench"]),
    ("mfcl-visoin", SUITE_NAMES, ["mfcl-vision"]),
    ("m3-locl", SUITE_NAMES, ["m3-local"]),
    ("multinet-piqua", SUITE_NAMES, ["multinet-piqa"]),
    ("--tempreature", FLAGS, ["--temperature"]),
    ("--toolformat", FLAGS, ["--tool-format"]),
    ("--modle", FLAGS, ["--model"]),
    ("rnu", ("run", "report", "rank"), ["run"]),
    # case and separators
    ("BFCL", SUITE_NAMES, ["bfcl"]),
    ("mfcl_vision", SUITE_NAMES, ["mfcl-vision"]),
    ("--max_tokens", FLAGS, ["--max-tokens"]),
    # the begin of a name comes first, then a part of one
    ("gpt", MODELS, ["gpt-5", "gpt-5-mini", "chatgpt-4o"]),
    ("func", SUITE_NAMES, ["funcbench"]),
    ("vision", SUITE_NAMES, ["mfcl-vision"]),
    ("simple", ("live_simple_3-2-0", "other"), ["live_simple_3-2-0"]),
    # equally near names are in the order of the list
    ("ba", ("bac", "baa", "bad", "bab"), ["bac", "baa", "bad"]),
    ("item-x", ("item-9", "item-1", "item-5"), ["item-9", "item-1", "item-5"]),
    # few letters in common are not a likeness
    ("gpt", PROVIDERS, []),
    ("plan", ("replay", "compare", "perturb"), []),
    ("zzz", SUITE_NAMES, []),
]


@pytest.mark.parametrize(("word", "known", "near"), TYPOS, ids=lambda each: str(each)[:20])
def test_typical_typos_find_what_was_meant(
    word: str, known: tuple[str, ...], near: list[str]
) -> None:
    text = suggest_names(word, known)
    _, is_near, names = text.partition("; did you mean: ")
    assert (names.split(", ") if is_near else []) == near


def test_names_of_formats_are_whole_and_a_name_without_end_is_cut() -> None:
    formats = tuple(all_variants())
    names = suggest_names("ret_fmt", formats).removeprefix("; did you mean: ").split(", ")
    assert len(names) == MAX_SUGGESTED_NAMES and {*names} <= {*formats}
    assert len(suggest_names("part", ["part-" + 10_000 * "x", "other"])) < 300


def test_the_names_of_a_set_are_in_one_order() -> None:
    names = {f"{letter}{letter}" for letter in "zyxwvutsr"}
    assert suggest_names("1", names) == "; 9 are known, such as: rr, ss, tt"


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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--limit", "a"), "--limit: expected a whole number, got 'a'"),
        (("--limit", "0"), "--limit: expected a number >= 1, got '0'"),
        (("--timeout", "soon"), "--timeout: expected a number, got 'soon'"),
        (("--fail-under", "2"), "--fail-under 2: expected a share from 0 to 1"),
        (
            ("--reasoning-effort", "medum"),
            "--reasoning-effort: no value 'medum'; did you mean: med",
        ),
        (("--sandbox", "yes"), "--sandbox: no value 'yes'; known: required, off"),
        (("--max-cost", "0"), "--max-cost 0 lets no request be sent; next: --dry-run"),
        (("--as", "gpt-5"), "--as names an entry of BFCL's official list, and funcbench is not"),
    ],
)
def test_a_wrong_value_of_a_flag_names_the_flag_and_what_is_expected(
    toolmark: Command, words: tuple[str, ...], said: str
) -> None:
    ended = toolmark("run", "funcbench", "-m", "control/null", *words)
    assert ended.code == 2 and ended.err.startswith(f"toolmark: {said}")
