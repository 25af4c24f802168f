"""Every cell that rests on episodes links to them: as many as the n of its row, in every suite."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.reports.interrupted_runs import run_suite
from tests.reports.link_filters import is_listed
from tests.reports.page_reader import read_page

from toolmark.reports import html_report, run_facts, score_tables
from toolmark.reports.table_format import Grid
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation

Settings = tuple[str, dict[str, Any], dict[str, Any]]
COUNT_HEADS = {"n", "trials", "episodes", "conversations", "failed", "answers with a query"}
# the numbers of these tables rest on no episodes of the run alone, or each row lists its own below
WITHOUT_LINKS = ("Why the rules differ",)
# these count answers by a number of the verdict, for which a page has no filter: the link lists
# those of the form, the condition or the category
BASELINE = re.compile(r"(majority|uniform|stay|previous|mean|linear|training mean)\b")
"""The rows of agents that answered no episode of the run: they have no link."""
WIDER = (
    "Probabilities by confidence",
    "Faults of the simulated user",
    "Where the words of queries come from",
)
WIDER_ROWS = ("exact match of valid answers",)
COUNT = re.compile(r"([\d\u202f]+)( answers)?( in .*)?")


def list_grids(run: Run) -> Iterator[Grid]:
    """Yield the tables of a run's page that have links: the scores, and those of its suite."""
    presentation = read_presentation(run)
    assert presentation is not None
    facts, _ = run_facts.gather_run_facts(0, run, presentation, "a")
    for table in score_tables.score_tables([facts]):
        yield html_report._score_grid(table, [run], [facts])
    for section in facts.groups:
        if section.table is not None:
            yield section.table


def check_links(run: Run, folder: Path) -> int:
    """Check every table of a run's page; return the number of counts that were compared."""
    page = read_page(html_report.write_report([run], folder / "page.html"))
    episodes, rules = page.blocks["index"], page.blocks["runs"][0]["rules"]
    n_compared = 0
    for grid in list_grids(run):
        if grid.title.startswith(WITHOUT_LINKS) or "paper" in grid.title.split(" (")[0]:
            continue
        for at, row in enumerate(grid.rows):
            links = grid.links[at] if grid.links else ("",) * len(row)
            if any(BASELINE.match(cell) for cell in row[:2]):
                continue
            numbers = [
                i
                for i, cell in enumerate(row)
                if i and has_number(cell) and (grid.numeric[i] or grid.head[i] in COUNT_HEADS)
            ]
            assert not numbers or any(links[i] for i in numbers), (grid.title, grid.head, row)
            for i in numbers:
                if not links[i]:
                    continue
                assert len(links[i]) < 1000
                if grid.head[i] not in COUNT_HEADS:
                    continue
                count = COUNT.fullmatch(row[i])
                if count is None:  # of calls, or of other answers under each rule
                    continue
                n = int(count[1].replace("\u202f", ""))
                found = [x for x in episodes if is_listed(x, json.loads(links[i]), rules)]
                if grid.title.startswith(WIDER) or row[0].startswith(WIDER_ROWS):
                    assert len(found) >= n, (grid.title, row)
                else:
                    assert len(found) == n, (grid.title, row, links[i])
                n_compared += 1
    return n_compared


def has_number(cell: str) -> bool:
    return bool(re.search(r"\d", cell)) and not re.match(r"0($|\D)", cell)


SYNTHETIC = {"items": 30, "pictures": False}
FAST: list[Settings] = [
    ("bfcl", {"category": ["single_turn"]}, {"sample": 60}),
    ("bfcl", {"category": ["multi_turn"]}, {"sample": 16}),
    ("bfcl", {"category": ["memory_kv", "memory_rec_sum"]}, {"sample": 12}),
    ("funcbench", {"preset": "main", "graphs": 1, "seed": 2}, {}),
    ("multinet-piqa", {"items": 40, "form": "both"}, {}),
    ("multinet-robovqa", {"items": 40, "form": "both", "similarity": "none"}, {}),
    ("multinet-bfcl", {"items": 20, "form": "both", "similarity": "none"}, {}),
    ("bfcl", {"category": ["format_sensitivity"]}, {"sample": 104}),
    ("multinet-odinw", SYNTHETIC, {}),
    ("multinet-sqa3d", {**SYNTHETIC, "similarity": "none"}, {}),
    ("multinet-openx", SYNTHETIC, {}),
    ("multinet-overcooked", {**SYNTHETIC, "data": "synthetic"}, {}),
    ("multinet-overcooked", {**SYNTHETIC, "data": "synthetic", "mode": "probs"}, {}),
]
SLOW: list[Settings] = [
    ("m3-local", {"family": "notes,labels", "instances": 1}, {}),
    ("mfcl-vision", {"items": 5, "seed": 7, "variations": ["base", "crop-16:9"]}, {"repeats": 2}),
    (
        "mfcl-transcripts",
        {"items": 1, "conditions": ["text", "noisy"], "recognisers": ["simulated:a"]},
        {},
    ),
]


@pytest.mark.parametrize(
    ("suite", "parameters", "settings"),
    [*FAST, *(pytest.param(*each, marks=pytest.mark.long) for each in SLOW)],
)
def test_every_number_links_to_its_episodes(
    suite: str, parameters: dict[str, Any], settings: dict[str, Any], tmp_path: Path
) -> None:
    run = run_suite(tmp_path / "runs", suite, parameters, **settings)
    assert check_links(run, tmp_path)


def test_links_leave_out_varied_tasks_but_those_of_their_effect(tmp_path: Path) -> None:
    settings = {"sample": 20, "vary": "tool_order,names"}
    run = run_suite(tmp_path / "runs", "bfcl", {"category": ["single_turn"]}, **settings)
    assert check_links(run, tmp_path)
    effects = next(grid for grid in list_grids(run) if grid.title.startswith("Effect of"))
    page = read_page(html_report.write_report([run], tmp_path / "page.html"))
    rules = page.blocks["runs"][0]["rules"]
    not_run = {x["id"] for x in page.blocks["index"] if x["outcome"][rules[0]] == "not run"}
    for row, links in zip(effects.rows, effects.links, strict=True):
        found = [x for x in page.blocks["index"] if is_listed(x, json.loads(links[1]), rules)]
        assert {x["axes"]["vary"] for x in found} == {row[0]}
        alone = [x for x in found if x["id"].removesuffix(f"@{row[0]}") in not_run]
        assert len(found) - len(alone) == int(row[1])
