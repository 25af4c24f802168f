"""`compare` and pages of several runs: equal, different, partial, foreign and repeated runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden import screens
from tests.golden.plain import tried
from tests.golden.screens import Screen

import toolmark as tm
from toolmark import api
from toolmark.runs.run_store import Run

MARKERS = ("slow",)

GRAMMARS = True
SMALL = {"core": 3, "depth": 2, "connected": 2, "graphs": 12, "seed": 5}
SPOILT = "control/faulty?class={kind}&rate={rate}"
GRADED = {"items": 30, "seed": 3}

Plays = dict[str, tuple[str, dict[str, Any], str, dict[str, Any]]]
FUNCBENCH: Plays = {
    "good": ("funcbench", SMALL, "baseline/planner", {}),
    "good again": ("funcbench", SMALL, "baseline/planner", {}),
    "spoilt": ("funcbench", SMALL, SPOILT.format(kind="incorrect", rate=0.5), {}),
    "spoilt otherwise": ("funcbench", SMALL, SPOILT.format(kind="not_found", rate=0.7), {}),
    "spoilt three times": (
        "funcbench", SMALL, SPOILT.format(kind="incorrect", rate=0.5), {"repeats": 3}),
    "silent": ("funcbench", SMALL, "control/null", {}),
    "part": ("funcbench", SMALL, SPOILT.format(kind="incorrect", rate=0.6), {"limit": 5}),
    "other tasks": ("funcbench", {**SMALL, "seed": 6}, "baseline/planner", {}),
    "other parameters": ("funcbench", {**SMALL, "core": 4, "depth": 3}, "baseline/eager", {}),
    "in a prompt": ("funcbench", SMALL, "baseline/planner", {"tool_format": "prompt"}),
    "warmer": ("funcbench", SMALL, SPOILT.format(kind="wrong_inputs", rate=0.4),
               {"temperature": 0.7, "max_tokens": 100}),
    "dead": ("funcbench", SMALL, "control/dead", {"max_retries": 0}),
}  # fmt: skip
SINGLE = {"category": ["simple_python", "simple_java", "parallel", "live_multiple", "irrelevance"]}
SHAPED = {"category": ["format_sensitivity"], "formats": [
    f"ret_fmt={form}&tool_call_tag={tag}&func_doc_fmt=json&prompt_fmt=plaintext&style=classic"
    for form, tag in (("python", False), ("json", True), ("concise_xml", False))
]}  # fmt: skip
BFCL: Plays = {
    "oracle": ("bfcl", SINGLE, "control/oracle", {"sample": 30}),
    "words": ("bfcl", SINGLE, "baseline/lexical", {"sample": 30}),
    "wrong": ("bfcl", SINGLE, SPOILT.format(kind="wrong_value", rate=0.5), {"sample": 30}),
    "wrong of others": ("bfcl", SINGLE, SPOILT.format(kind="format", rate=0.5), {"sample": 50}),
    "shapes": ("bfcl", SHAPED, SPOILT.format(kind="wrong_type", rate=0.4), {"limit": 30}),
    "shapes otherwise": ("bfcl", SHAPED, SPOILT.format(kind="missing_argument", rate=0.4),
                         {"limit": 30}),
    "turns": ("bfcl", {"category": ["multi_turn_base"]},
              SPOILT.format(kind="missing_call", rate=0.5), {"limit": 6}),
    "turns right": ("bfcl", {"category": ["multi_turn_base"]}, "control/oracle", {"limit": 6}),
}  # fmt: skip
MULTINET: Plays = {
    "mean": ("multinet-openx", GRADED, "baseline/mean", {}),
    "spoilt mean": ("multinet-openx", GRADED, SPOILT.format(kind="invalid", rate=0.5), {}),
    "majority": ("multinet-piqa", GRADED, "baseline/majority", {}),
    "uniform": ("multinet-piqa", GRADED, "baseline/uniform", {}),
    "both forms": ("multinet-piqa", {**GRADED, "form": "both"}, "baseline/uniform", {}),
    "stays": ("multinet-overcooked", {**GRADED, "data": "synthetic"}, "baseline/stay", {}),
    "goes on": ("multinet-overcooked", {**GRADED, "data": "synthetic"}, "baseline/previous", {}),
    "odds": ("multinet-overcooked", {**GRADED, "data": "synthetic", "mode": "probs"},
             SPOILT.format(kind="sum", rate=0.3), {}),
}  # fmt: skip
PAIRS: dict[str, tuple[tuple[str, str], ...]] = {
    "funcbench": (
        ("good", "good"), ("good", "good again"), ("good", "spoilt"), ("spoilt", "good"),
        ("spoilt", "spoilt otherwise"), ("spoilt", "spoilt three times"),
        ("spoilt three times", "warmer"), ("good", "silent"), ("good", "part"), ("part", "spoilt"),
        ("good", "other tasks"), ("good", "other parameters"), ("good", "in a prompt"),
        ("spoilt", "warmer"), ("good", "dead"), ("dead", "dead"), ("dead", "spoilt"),
    ),
    "bfcl": (
        ("oracle", "words"), ("words", "wrong"), ("wrong", "wrong of others"),
        ("oracle", "wrong of others"), ("shapes", "shapes otherwise"), ("shapes", "wrong"),
        ("turns", "turns right"), ("turns", "words"),
    ),
    "multinet": (
        ("mean", "spoilt mean"), ("majority", "uniform"), ("uniform", "both forms"),
        ("stays", "goes on"), ("stays", "odds"), ("mean", "majority"),
    ),
}  # fmt: skip
PAGES = {
    "one": ("spoilt",), "repeats": ("spoilt three times",), "several": ("good", "spoilt", "warmer"),
    "unlike": ("good", "part", "other parameters", "dead", "in a prompt"),
    "formats": ("shapes", "shapes otherwise"), "bfcl": ("oracle", "words", "wrong"),
    "turns": ("turns", "turns right"), "openx": ("mean", "spoilt mean"),
    "overcooked": ("stays", "odds"),
    "suites": ("spoilt", "words", "majority", "mean", "stays"),
}  # fmt: skip


def record(folder: Path) -> dict[str, Any]:
    """Return comparisons as printed and as data, and what pages of several runs say."""
    runs: dict[str, Run] = {}
    for plays in (FUNCBENCH, BFCL, MULTINET):
        for name, (suite, parameters, model, settings) in plays.items():
            where = folder / name.replace(" ", "-")
            runs[name] = tm.run(tm.load(suite, **parameters), model, log_dir=where, **settings)
    found: dict[str, Any] = {name: _compared(folder, runs, pairs) for name, pairs in PAIRS.items()}
    found["foreign"] = _foreign(folder, runs)
    for name, listed in PAGES.items():
        found[f"page-{name}"] = _page(folder, [runs[each] for each in listed])
    return found


def _compared(folder: Path, runs: Mapping[str, Run], pairs: tuple[tuple[str, str], ...]) -> Any:
    screen = Screen(folder)
    for one, other in pairs:
        a, b = str(runs[one].path), str(runs[other].path)
        name = f"{one} | {other}"
        screen(name, "compare", a, b)
        screen(f"{name}, JSON", "compare", a, b, "--json")
        for rule in runs[one].summary().get("rules", ())[1:]:
            screen(f"{name}, {rule}", "compare", a, b, "--rule", rule, "--json")
        if "other" in other or one == "good":
            screen(f"{name}, differing", "compare", a, b, "--differing", "--json")
    return screen.said


def _foreign(folder: Path, runs: Mapping[str, Run]) -> Any:
    """Return what is said of runs that share nothing."""
    screen = Screen(folder)
    for one, other in (("good", "words"), ("mean", "stays"), ("good", "turns")):
        screen(f"{one} | {other}", "compare", str(runs[one].path), str(runs[other].path))
    screen.said["no rule"] = screen.tidy.value(
        tried(api.compare, runs["oracle"], runs["words"], rule="none")
    )
    return screen.said


def _page(folder: Path, runs: list[Run]) -> Any:
    screen = Screen(folder)
    path = tm.write_report(*runs, path=folder / "page.html")
    return screens.page(path, screen.tidy)
