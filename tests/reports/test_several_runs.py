"""Pages of many runs: names by the least that differs, equal readings once, a way to each run."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reports.page_reader import read_page
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
    result = read_page(html_report.write_report(made(tmp_path, VLM), tmp_path / "r.html")).section(
        "result"
    )
    titles = [each.text for each in result.find("h3") if "multinet-" in each.text]
    assert len(titles) == len({*titles}) >= len(FAMILIES)
    (shared,) = (title for title in titles if "multinet-sqa3d" in title)
    assert "paper and reference" in shared
    alone = html_report.write_report(made(tmp_path / "b", VLM)[2:3], tmp_path / "s.html")
    heads = [table.rows[0] for table in read_page(alone).section("result").find("table")]
    assert any("paper and reference" in cell for head in heads for cell in head)


@pytest.mark.parametrize("models", [(VLM,), (VLM, "test/noisy")])
def test_a_page_of_many_runs_leads_to_each_of_them(tmp_path: Path, models: tuple[str, ...]) -> None:
    runs = made(tmp_path, *models)
    page = read_page(html_report.write_report(runs, tmp_path / "r.html"))
    linked = {link.removeprefix("#") for link in page.links}
    assert linked <= page.ids
    parts = {f"{part}-{i}" for part in ("tables", "causes", "asked") for i in range(len(runs))}
    assert parts <= linked
    assert ("all-multinet-piqa" in linked) == (len(models) > 1)
    few = read_page(html_report.write_report(runs[:3], tmp_path / "f.html"))
    assert page.root.find(kind="contents") and not few.root.find(kind="contents")
