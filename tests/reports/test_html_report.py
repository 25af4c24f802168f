from __future__ import annotations

import base64
import itertools
import json
import re
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs
from tests.reports.made_runs import presented
from tests.reports.page_reader import read_page

from toolmark.core import json_codec, number_format
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Call,
    Chart,
    Image,
    Message,
    Result,
    Table,
    Verdict,
)
from toolmark.reports import episode_block, html_report, run_facts
from toolmark.reports.comparison_report import Comparison, verdict_sentence
from toolmark.reports.embedded_pictures import MAX_EMBEDDED_BYTES
from toolmark.reports.episode_block import MAX_EPISODE_BYTES, MAX_TEXT_LENGTH
from toolmark.reports.run_comparison import adjust_comparisons, compare_runs
from toolmark.runs import run_finalization
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation
from toolmark.runs.suite import Scorer
from toolmark.scoring.episode import Episode
from toolmark.statistics.metric_formulas import Metric
from toolmark.statistics.score_columns import Columns
from toolmark.suites import suite_registry

Maker = Callable[..., Run]


def test_a_page_needs_nothing_else(make_run: Maker, tmp_path: Path) -> None:
    found = read_page(html_report.write_report([make_run()], tmp_path / "r.html"))
    assert all(link.startswith("#") for link in found.links)
    assert not found.names & {"link", "img", "iframe", "object", "embed", "base"}
    assert found.policy["default-src"] == ["'none'"]
    (script,) = found.policy["script-src"]
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", script)


def test_every_episode_is_there_with_its_steps(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=20, absent=3)
    found = read_page(html_report.write_report([run], tmp_path / "r.html"))
    lines = found.blocks["index"]
    assert len(lines) == 20
    assert sum(line["outcome"]["official"] == "not run" for line in lines) == 3
    by_id = {line["id"]: found.blocks[f"e{i}"] for i, line in enumerate(lines)}
    for trajectory in run.trajectories():
        shown = by_id[trajectory.task]["steps"]
        assert [len(step["calls"]) for step in shown] == [len(s.calls) for s in trajectory.steps]
    assert by_id["lab-19"]["reason"] == "model: rate_limited: 429 after 5 tries"


def test_hostile_text_never_leaves_its_block(make_run: Maker, tmp_path: Path) -> None:
    found = read_page(html_report.write_report([make_run(n=60)], tmp_path / "r.html"))
    said = [
        message["text"]
        for name, block in found.blocks.items()
        if name.startswith("e")
        for step in block["steps"]
        for message in step["new_messages"]
    ]
    assert any("</script><img src=x" in text for text in said)
    assert any("\\ud83d" in text for text in said)
    assert any("\\u2028" in text for text in said)
    assert "img" not in found.names
    raw = (tmp_path / "r.html").read_bytes()
    assert b"\xe2\x80\xa8" not in raw
    assert json_codec.SURROGATE_MARK.encode() not in raw


def test_the_headline_has_its_interval_and_what_was_not_run(
    make_run: Maker, tmp_path: Path
) -> None:
    found = read_page(
        html_report.write_report([make_run(n=30, absent=5, luck=100)], tmp_path / "r.html")
    )
    assert found.section("headline").text == "100.0 %"
    result = found.section("result")
    assert [each.text for each in result.find("strong")] == ["[86.7, 100.0]"]
    (note,) = (each for each in result.find(kind="scale")[0].notes if "not run" in each)
    assert re.findall(r"\d+(?:\.\d+)?", note) == ["5", "30", "83.3", "100.0"]
    reasons = found.section("missing").find("table")[0].rows
    assert {"rate_limited", "429 after 5 tries", "5"} <= {*reasons[1]}


def test_the_page_says_what_was_run(make_run: Maker, tmp_path: Path) -> None:
    settings = read_page(html_report.write_report([make_run()], tmp_path / "r.html")).settings
    assert settings["command"] == "toolmark run lab -m test/lab --seed 7"
    said = {*settings.values()}
    assert said >= {"core = 10", "temperature = 0.0", "lab-2026-01", "0" * 64, "3.11.2"}


def test_what_is_unset_is_not_shown(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(
        parameters={"core": 10, "preset": "", "types": None, "efforts": [], "limit_calls": False}
    )
    settings = read_page(html_report.write_report([run], tmp_path / "r.html")).settings
    assert "core = 10, limit_calls = false" in settings.values()


def test_a_long_selection_is_a_count(make_run: Maker, tmp_path: Path) -> None:
    run = make_run()
    info = json.loads((run.path / "run.json").read_text())
    info["plan"]["ids"] = [f"lab-{i}" for i in range(30)]
    (run.path / "run.json").write_text(json.dumps(info))
    settings = read_page(html_report.write_report([Run(run.path)], tmp_path / "r.html")).settings
    (ids,) = (value for value in settings.values() if "lab-0" in value)
    assert re.findall(r"lab-\d+", ids) == ["lab-0", "lab-1", "lab-2", "lab-3"] and "30" in ids


def test_a_table_that_repeats_the_scores_is_left_out(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def doubled(by: Mapping[str, Columns]) -> Sequence[Table | Chart]:
        found = [metric.measure(by["official"]) for metric in scorer.metrics(by["official"])]
        rows = tuple((x.name, x.value, x.low, x.high, x.n) for x in found)
        head = ("category", "accuracy", "low", "high", "n")
        other = tuple((name, 0.5, 0.4, 0.6, 1) for name, *_ in rows)
        return [
            Table(title="Said again", head=head, rows=rows, note="95 % intervals. Weighted so."),
            Table(title="Other numbers", head=head, rows=other),
        ]

    own = replace(scorer, presentation=replace(scorer.presentation, tables=doubled))
    found = read_page(html_report.write_report([presented(make_run(), own)], tmp_path / "r.html"))
    tables = found.section("tables").tables
    assert "Said again" not in found.root.headings
    assert any(note.endswith("Weighted so.") for note in found.root.notes)
    assert all(row[1] == "50.0 % [40.0, 60.0]" for row in tables["Other numbers"][1:])


def test_rules_that_fail_alike_share_a_table(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def alike(episode: Episode) -> Mapping[str, Verdict]:
        found = scorer.score(episode)["official"]
        return dict.fromkeys(("official", "fair"), found) | {"kind": right}

    right = Verdict(outcome="correct", value=1.0)
    own = replace(scorer, score=alike, rules=("official", "fair", "kind"))
    run = make_run()
    run_finalization.rescore_run(run, own)
    causes = read_page(html_report.write_report([run], tmp_path / "r.html")).section("causes")
    titles = [each.text for each in causes.find("h3")]
    assert [re.findall("official|fair|kind", each) for each in titles] == [
        ["official", "fair"],
        ["kind"],
    ]


def test_the_headline_rule_is_stored_first(make_run: Maker, scorer: Scorer) -> None:
    run = make_run(n=3)
    run_finalization.rescore_run(run, replace(scorer, rules=("fair", "official")))
    assert all([*score.verdicts] == ["fair", "official"] for score in run.scores())


def test_numbers_have_titles_that_say_what_they_count(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def metrics(columns: Columns) -> Sequence[Metric]:
        head, part, *_ = scorer.metrics(columns)
        return [head, structs.replace(part, name="sim_cov", title="similarity", unit="calls made")]

    own = replace(scorer, metrics=metrics)
    found = read_page(
        html_report.write_report([presented(make_run(n=12), own)], tmp_path / "r.html")
    )
    rows = [row for table in found.section("result").find("table") for row in table.rows]
    (row,) = (row for row in rows if row[0] == "similarity")
    assert any("4 calls made" in cell for cell in row)
    assert "sim_cov" not in {cell for row in rows for cell in row}
    assert found.blocks["runs"][0]["words"] == {"sim_cov": "similarity"}


def test_evidence_of_the_suite_is_on_the_page(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    reported = Table(title="Who judged", head=("judge", "n"), rows=(("one/judge", 3),))
    own = replace(
        scorer, presentation=replace(scorer.presentation, evidence=lambda run: [reported])
    )
    found = read_page(
        html_report.write_report([presented(make_run(n=3), own)], tmp_path / "r.html")
    )
    assert found.root.tables["Who judged"] == [["judge", "n"], ["one/judge", "3"]]


def test_calls_are_those_executed_and_the_rest_is_said(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=1)
    line = json.loads((run.path / "trajectories.jsonl").read_text())
    made = sum(len(step.get("calls", ())) for step in line["steps"])
    line["steps"][0]["results"] = []
    (run.path / "trajectories.jsonl").write_text(json.dumps(line) + "\n")
    cut = len(line["steps"][0]["calls"])
    found = read_page(html_report.write_report([Run(run.path)], tmp_path / "r.html"))
    (reported,) = found.blocks["index"]
    assert (reported["calls"], reported["skipped"]) == (made - cut, cut)


def test_repeats_tell_the_noise_floor(make_run: Maker, tmp_path: Path) -> None:
    def noise(run: Run) -> str:
        presentation = read_presentation(run)
        assert presentation is not None
        return run_facts.gather_run_facts(0, run, presentation, "a")[0].noise_note

    thrice = make_run(repeats=3)
    assert noise(make_run()) == ""
    found = read_page(html_report.write_report([thrice], tmp_path / "b.html"))
    assert noise(thrice) in found.section("result").notes


def test_several_runs_stand_side_by_side_and_are_compared(make_run: Maker, tmp_path: Path) -> None:
    runs = [make_run(model="good", luck=95), make_run(model="poor", luck=10)]
    found = read_page(html_report.write_report(runs, tmp_path / "r.html"))
    assert [row[0].split()[0] for row in found.section("headline").rows[1:]] == ["good", "poor"]
    (lead,) = found.section("compare").find(kind="lead")
    assert lead.text == " ".join(verdict_sentence(compare_runs(runs[0], runs[1])).split())


def test_pairs_of_one_page_are_tested_together(make_run: Maker, tmp_path: Path) -> None:
    runs = [make_run(model=name, luck=luck) for name, luck in (("a", 90), ("b", 20), ("c", 20))]

    def leads(runs: Sequence[Run]) -> list[str]:
        found = read_page(html_report.write_report(runs, tmp_path / "page.html"))
        return [each.text for each in found.section("compare").find(kind="lead")]

    def sentences(pairs: Sequence[Comparison]) -> list[str]:
        return [" ".join(verdict_sentence(each).split()) for each in pairs]

    pairs = [compare_runs(a, b) for a, b in itertools.combinations(runs, 2)]
    assert leads(runs) == sentences(adjust_comparisons(pairs))
    assert leads(runs) != sentences(pairs)
    assert leads(runs[:2]) == sentences(pairs[:1])


def test_runs_without_a_common_item_are_shown_uncompared(make_run: Maker, tmp_path: Path) -> None:
    runs = [make_run(model="a", n=5), make_run(model="b", n=5, offset=50)]
    assert "compare" not in read_page(html_report.write_report(runs, tmp_path / "r.html")).ids


def count_episodes(readings: Mapping[str, Mapping[str, Columns]]) -> Sequence[Table | Chart]:
    """Count the episodes of each run in each reading."""
    rows: list[tuple[str | int, ...]] = [
        (name, *map(len, runs.values())) for name, runs in readings.items()
    ]
    names = next(iter(readings.values()))
    return [Table(title="Episodes of each run", head=("rule", *names), rows=tuple(rows))]


@pytest.fixture
def overseen(scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> Scorer:
    """A scorer whose runs are shown side by side by what toolmark has under a name."""
    overview = f"{count_episodes.__module__}:{count_episodes.__name__}"
    monkeypatch.setitem(suite_registry.OVERVIEWS, "lab", overview)
    return replace(scorer, presentation=replace(scorer.presentation, overview="lab"))


def test_a_suite_can_show_its_runs_together(
    make_run: Maker, overseen: Scorer, tmp_path: Path
) -> None:
    runs = [presented(make_run(model=f"m-{n}", n=n), overseen) for n in (11, 12, 13)]
    found = read_page(html_report.write_report(runs, tmp_path / "r.html"))
    headings = found.root.headings
    assert headings.index("All runs of lab") < headings.index("Episodes of each run")
    assert headings.count("Episodes of each run") == 1
    assert found.root.tables["Episodes of each run"] == [
        ["rule", "m-11", "m-12", "m-13"],
        ["official", "11", "12", "13"],
        ["fair", "11", "12", "13"],
    ]


def test_a_run_alone_is_not_shown_together(
    make_run: Maker, overseen: Scorer, tmp_path: Path
) -> None:
    run = presented(make_run(), overseen)
    for runs in ([run], [make_run(), make_run(model="other")]):
        found = read_page(html_report.write_report(runs, tmp_path / "r.html"))
        assert "all-lab" not in found.ids


def test_a_note_appears_once_with_the_runs_that_it_is_about(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    def noted(by: Mapping[str, Columns]) -> Sequence[Table | Chart]:
        found = [metric.measure(by["official"]) for metric in scorer.metrics(by["official"])]
        rows = tuple((x.name, x.value, x.low, x.high, x.n) for x in found)
        note = "Many of them." if len(by["official"]) > 20 else "95 % intervals."
        return [Table(title="", head=("", "x", "low", "high", "n"), rows=rows, note=note)]

    own = replace(scorer, presentation=replace(scorer.presentation, tables=noted))
    runs = [make_run(model="a"), make_run(model="b"), make_run(model="c", n=9)]
    found = read_page(
        html_report.write_report([presented(run, own) for run in runs], tmp_path / "r.html")
    )
    notes = found.section("result").notes
    assert len([note for note in notes if "a, b: Many of them." in note]) == 2  # one for each rule
    assert not any("c: " in note for note in notes)


def test_a_page_stays_below_its_limit_and_says_what_it_leaves_out(
    make_run: Maker, tmp_path: Path
) -> None:
    run = make_run(n=300, luck=85, absent=10)
    failed = sum(score.verdicts["official"].outcome == "incorrect" for score in run.scores()
                 if score.verdicts)  # fmt: skip
    path = html_report.write_report([run], tmp_path / "r.html", limit_bytes=600_000)
    found = read_page(path)
    outcomes = [line["outcome"]["official"] for line in found.blocks["index"]]
    assert path.stat().st_size <= 600_000
    assert outcomes.count("incorrect") == failed
    assert 0 < outcomes.count("correct") < 290 - failed
    shown = [int(n) for n in re.findall(r"\d+", found.section("shown").text)]
    assert shown[:4] == [failed, failed, outcomes.count("correct"), 290 - failed]
    again = html_report.write_report([run], tmp_path / "again.html", limit_bytes=600_000)
    assert again.read_bytes() == path.read_bytes()


def test_failures_beyond_the_limit_leave_room_for_successes(
    make_run: Maker, tmp_path: Path
) -> None:
    path = html_report.write_report(
        [make_run(n=300, luck=10)], tmp_path / "r.html", limit_bytes=600_000
    )
    outcomes = [line["outcome"]["official"] for line in read_page(path).blocks["index"]]
    assert path.stat().st_size <= 600_000
    assert outcomes.count("incorrect") > outcomes.count("correct") > 0


def test_a_giant_reply_is_cut_and_says_so(make_run: Maker, tmp_path: Path) -> None:
    path = html_report.write_report([make_run(long=1_000_000)], tmp_path / "r.html")
    found = read_page(path)
    texts = [
        block["steps"][-1]["text"] for name, block in found.blocks.items() if name[1:].isdigit()
    ]
    longest = max(texts, key=len)
    assert MAX_TEXT_LENGTH < len(longest) < MAX_TEXT_LENGTH + 100
    assert longest.endswith("more characters in the run folder]")


def test_a_giant_episode_does_not_crowd_out_the_others(
    make_run: Maker, scorer: Scorer, tmp_path: Path
) -> None:
    wide = Table(title="wide", head=("x",), rows=tuple(("y" * 900,) for _ in range(3000)))
    presentation = replace(scorer.presentation, views=lambda *_: [wide])
    heavy = presented(make_run(n=4), replace(scorer, presentation=presentation))
    found = read_page(html_report.write_report([heavy], tmp_path / "r.html"))
    assert len(found.blocks["index"]) == 4
    assert "long" in found.blocks["e0"]["cut"]
    assert len(json.dumps(found.blocks["e0"])) < 2 * MAX_EPISODE_BYTES


def test_memory_is_bounded_by_the_limit(make_run: Maker, tmp_path: Path) -> None:
    peaks = []
    for n in (100, 800):
        run = make_run(n=n)
        tracemalloc.start()
        html_report.write_report([run], tmp_path / "r.html", limit_bytes=400_000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 2_000_000  # the columns of 700 more scores, not their episodes


def test_pictures_are_on_the_page_unless_large_missing_or_no_picture(
    make_run: Maker, tmp_path: Path
) -> None:
    found = make_run(n=1)
    store = MediaStore(found.path / "media")
    small = store.add_image(b"small", "image/png")
    others = [
        store.add_image(b"x" * (MAX_EMBEDDED_BYTES + 1), "image/png"),
        store.add_image(b"t", "text/html"),
    ]
    lost = Image(sha256="0" * 64, mime="image/png", size_bytes=4)
    parts = (small, *others, lost)
    task, (only,) = next(found.tasks()), found.trajectories()
    first = structs.replace(
        only.steps[0],
        new_messages=(Message(role="user", parts=parts),),
        calls=(Call(name="look"),),
        results=(Result(parts=parts),),
    )
    seen = structs.replace(only, steps=(first,))
    made = episode_block.completed_block(0, task, seen, {}, (), store)
    body = json.loads(made.details)["steps"][0]
    ((name, collected),) = made.pictures.items()
    assert json.loads(collected) == f"data:image/png;base64,{base64.b64encode(b'small').decode()}"
    shown = [{"src": f"#{name}"}]
    assert body["new_messages"][0]["pictures"] == body["results"][0]["pictures"] == shown
    assert all(part.sha256 in body["new_messages"][0]["text"] for part in parts)


def test_an_unscored_run_is_shown_as_far_as_it_is_stored(make_run: Maker, tmp_path: Path) -> None:
    run = make_run(n=5, absent=1)
    (run.path / "scores.jsonl").unlink()
    found = read_page(html_report.write_report([run], tmp_path / "r.html"))
    assert f"toolmark score {run.path}" in found.root.text
    lines = found.blocks["index"]
    assert {line["id"] for line in lines} >= {"lab-0", "lab-1", "lab-2", "lab-3"}
    assert {*(line["outcome"].get("score") for line in lines)} == {episode_block.NOT_RUN_LABEL}


def test_an_unwritable_place_is_a_clear_error(make_run: Maker, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot write the report"):
        html_report.write_report([make_run()], tmp_path / "none" / "r.html")


def test_nothing_ran_is_no_score(make_run: Maker, tmp_path: Path) -> None:
    found = read_page(html_report.write_report([make_run(n=4, absent=4)], tmp_path / "r.html"))
    assert found.section("headline").text == number_format.DASH
