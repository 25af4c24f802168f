"""Pages of many runs: names by the least that differs, equal readings once, a way to each run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.suites.multinet import made_tasks

from toolmark.reports import html_report, run_names
from toolmark.runs.run_store import Run

FAMILIES = ("piqa", "odinw", "sqa3d", "openx")
VLM = "http://localhost:8011/v1#vlm"


def made(folder: Path, *models: str) -> list[Run]:
    return [
        made_tasks.make(folder / f"{i}", family, 12, model=model)
        for i, model in enumerate(models)
        for family in FAMILIES
    ]


def test_names_hold_only_what_differs(tmp_path: Path) -> None:
    runs = made(tmp_path, VLM)
    suites = [run.info.plan.suite for run in runs]
    assert run_names.distinct_run_names(runs) == [f"vlm · {suite}" for suite in suites]
    other = made(tmp_path / "b", VLM.replace("8011", "8012"))
    both = [f"vlm · localhost:{port} · {suite}" for port in (8011, 8012) for suite in suites]
    assert run_names.distinct_run_names([*runs, *other]) == both
    assert run_names.distinct_run_names([runs[0], other[0]]) == [
        "vlm · localhost:8011",
        "vlm · localhost:8012",
    ]


def test_rules_of_equal_numbers_appear_once(tmp_path: Path) -> None:
    text = html_report.write_report(made(tmp_path, VLM), tmp_path / "r.html").read_text()
    titles = re.findall(r"<h3>(Scores on [^<]*)</h3>", text)
    assert len(titles) == len({*titles}) >= len(FAMILIES)
    assert "Scores on multinet-sqa3d, paper and reference readings" in titles
    alone = html_report.write_report(made(tmp_path / "b", VLM)[2:3], tmp_path / "s.html")
    head = alone.read_text().partition("<h3>Scores</h3>")[2].partition("</thead>")[0]
    assert "paper and reference readings" in head


@pytest.mark.parametrize("models", [(VLM,), (VLM, "test/noisy")])
def test_a_page_of_many_runs_leads_to_each_of_them(tmp_path: Path, models: tuple[str, ...]) -> None:
    runs = made(tmp_path, *models)
    text = html_report.write_report(runs, tmp_path / "r.html").read_text()
    linked = re.findall(r'<a href="#([^"]*)"', text)
    there = {*re.findall(r' id="([^"]*)"', text)}
    assert {*linked} <= there
    assert {f"{part}-{i}" for part in ("tables", "causes", "asked") for i in range(len(runs))} <= {
        *linked
    }
    assert ("all-multinet-piqa" in linked) == (len(models) > 1)
    few = html_report.write_report(runs[:3], tmp_path / "f.html").read_text()
    assert 'class="card contents"' not in few
