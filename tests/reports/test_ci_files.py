"""JUnit XML and the Markdown summary: what they hold, and that foreign text stays text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from defusedxml import ElementTree
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from tests.reports import made_runs
from tests.reports.made_runs import Maker

from toolmark.core.errors import DataError, UsageError
from toolmark.core.failure import Failure
from toolmark.core.records import Attempt
from toolmark.reports import junit_report, markdown_summary, run_comparison
from toolmark.reports.episode_outcomes import read_scored_run
from toolmark.reports.gates import Gate
from toolmark.reports.table_format import visible_text
from toolmark.runs import run_finalization
from toolmark.runs.record_files import RecordAppender
from toolmark.runs.run_store import Run

PASSED = Gate(name="fail-under", limit="10 %", passed=True, observed="the score is 40 %")
FAILED = Gate(
    name="fail-under-low", limit="90 %", passed=False, observed="", reason="too low | bad"
)
ATTRIBUTES = {  # what the common schemas of JUnit XML know
    "testsuites": {"name", "tests", "failures", "errors", "time"},
    "testsuite": {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"},
    "properties": set(),
    "property": {"name", "value"},
    "testcase": {"name", "classname", "time"},
    **{name: {"type", "message"} for name in ("failure", "error", "skipped")},
}
CHILDREN = {
    "testsuites": ["testsuite"],
    "testsuite": ["properties", "testcase"],
    "properties": ["property"],
    "testcase": ["failure", "error", "skipped"],
}


def junit(run: Run, path: Path, *gates: Gate) -> Element:
    junit_report.write_junit(read_scored_run(run), path, gates)
    root: Element = ElementTree.fromstring(path.read_bytes())
    return root


def markdown(run: Run, path: Path, *gates: Gate) -> SyntaxTreeNode:
    markdown_summary.append_markdown(read_scored_run(run), path, gates)
    return SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8")))


def cells(table: SyntaxTreeNode) -> list[list[str]]:
    return [
        ["".join(leaf.content for leaf in cell.walk() if leaf.type in ("text", "code_inline"))
         for cell in row.children]
        for row in table.walk() if row.type == "tr"
    ]  # fmt: skip


def test_each_episode_is_a_case_and_the_counts_are_those_of_the_cases(
    make_run: Maker, tmp_path: Path
) -> None:
    run = make_run(n=30, absent=4, repeats=2)
    root = junit(run, tmp_path / "junit.xml")
    (suite,) = root
    cases = suite.findall("testcase")
    summary = run.summary()
    assert len(cases) == summary["n_planned"] == 60
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == 60
    assert {case.get("classname") for case in cases} == {
        f"lab.{name}" for name in made_runs.CATEGORIES
    }
    found = Counter(child.tag for case in cases for child in case)
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name) or -1) == found[tag]
    assert found["error"] == summary["n_not_run"] == 8
    assert 60 - sum(found.values()) == round(summary["score"]["value"] * 52)
    for case in cases:
        for failure in case.iter("failure"):
            assert failure.get("type") in dict(made_runs.CAUSES)
            assert "should be 7" in (failure.text or "") and failure.get("message")
        for error in case.iter("error"):
            assert error.get("type") == "rate_limited" and "429" in (error.text or "")


def test_the_file_has_only_what_the_common_schemas_know(make_run: Maker, tmp_path: Path) -> None:
    root = junit(make_run(n=30, absent=4), tmp_path / "junit.xml", PASSED)
    for element in root.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag]
        tags = [child.tag for child in element]
        assert set(tags) <= set(CHILDREN.get(element.tag, ()))
        assert tags == sorted(tags, key=CHILDREN.get(element.tag, ()).index)  # in their sequence


def test_headline_interval_and_gates_are_properties(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=30)
    root = junit(run, tmp_path / "junit.xml", PASSED, FAILED)
    found = {each.get("name"): each.get("value") or "" for each in root.iter("property")}
    score = run.summary()["score"]
    assert {name: float(found[name]) for name in ("value", "low", "high")} == {
        name: score[name] for name in ("value", "low", "high")
    }
    assert found["gate.fail-under"] == PASSED.summary
    assert found["gate.fail-under-low"] == FAILED.summary


def test_what_was_never_begun_is_skipped(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=6, absent=2)
    missing = RecordAppender(run.path / "attempts.jsonl")
    stopped = Failure(stage="run", kind="stopped", message="stopped\x00 before it")
    missing.append(Attempt(task="lab-5", repeat=0, failure=stopped))
    missing.close()
    run_finalization.rescore_run(run, made_runs.SCORER)
    root = junit(Run(run.path), tmp_path / "junit.xml")
    tags = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert tags["lab-4"] == ["error"] and tags["lab-5"] == ["skipped"]


@given(st.text(st.characters(), max_size=30))
def test_any_text_becomes_text_that_xml_may_hold(text: str) -> None:
    shown = junit_report._xml_text(text)
    assert ElementTree.fromstring(f"<a>{shown.replace('&', '').replace('<', '')}</a>") is not None
    shown.encode("utf-8")


def test_the_summary_has_headline_gates_causes_evidence_and_reasons(
    make_run: Maker, tmp_path: Path
) -> None:
    run = make_run(n=60, absent=3)
    tree = markdown(run, tmp_path / "summary.md", PASSED, FAILED)
    gates, causes, reasons = [cells(each) for each in tree.walk() if each.type == "table"]
    assert [row[1] for row in gates[1:]] == ["passed", "failed"]
    assert gates[2][2] == "too low | bad"
    n_wrong = sum(outcome.primary_label is not None
                  for outcome in read_scored_run(run).iterate_outcomes())  # fmt: skip
    assert sum(int(row[1]) for row in causes[1:]) == n_wrong > 0
    assert reasons[1:] == [["rate_limited: 429 after 5 tries", "3"]]
    evidence = [node for node in tree.walk() if node.type == "list_item"]
    assert len(evidence) == markdown_summary.MAX_EVIDENCE_LINES
    commands = [node.content for node in tree.walk() if node.type == "code_block"]
    assert str(run.path) in commands[0] and "toolmark show" in commands[0]


def test_foreign_text_is_neither_markup_nor_html(make_run: Maker, tmp_path: Path) -> None:
    tree = markdown(make_run(n=60, luck=0), tmp_path / "summary.md")
    types = {node.type for node in tree.walk()}
    assert not types & {"html_block", "html_inline", "link", "image"}
    assert any("should be 7" in node.content for node in tree.walk() if node.type == "code_inline")


@given(st.text(max_size=60))
def test_a_code_span_holds_one_line_of_any_text(text: str) -> None:
    for in_table in (False, True):
        source = markdown_summary.code_span(text, in_table=in_table)
        if in_table:
            source = f"| a | b |\n| --- | --- |\n| {source} | c |"
        tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(source))
        spans = [node.content for node in tree.walk() if node.type == "code_inline"]
        assert len(spans) == 1
        shown = "".join(spans[0].replace("\\", "").split())
        expected = visible_text(text).replace("\\", "").split()
        assert shown == "".join(expected) or not expected


def test_a_summary_is_added_to_what_a_file_holds(make_run: Maker, tmp_path: Path) -> None:
    path = tmp_path / "new" / "summary.md"
    path.parent.mkdir()
    path.write_text("# of another step\n\n")
    run = make_run(n=3)
    markdown(run, path)
    tree = markdown(run, path)
    assert [node.tag for node in tree.walk() if node.type == "heading"] == ["h1", "h2", "h2"]


def test_a_run_without_scores_and_a_file_that_cannot_be_written_are_named(
    make_run: Maker, tmp_path: Path
) -> None:
    run = make_run(n=3)
    (tmp_path / "file").write_text("")
    for write in (junit_report.write_junit, markdown_summary.append_markdown):
        with pytest.raises(DataError, match="cannot write"):
            write(read_scored_run(run), tmp_path / "file" / "below", ())
    (run.path / "presentation.json").unlink()
    with pytest.raises(UsageError, match="next: toolmark score"):
        read_scored_run(run)


def test_a_comparison_is_added_with_its_gates(make_run: Maker, tmp_path: Path) -> None:
    found = run_comparison.compare_runs(make_run(n=20), make_run(n=20, model="a|b <b>"))
    path = tmp_path / "summary.md"
    markdown_summary.append_comparison(found, path, (FAILED,))
    tree = SyntaxTreeNode(MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8")))
    (gates,) = (cells(each) for each in tree.walk() if each.type == "table")
    assert gates[1][1] == "failed"
    spans = [node.content for node in tree.walk() if node.type == "code_inline"]
    assert {found.a, found.b} <= set(spans)
