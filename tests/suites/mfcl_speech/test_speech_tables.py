"""The tables of a speech run, and one episode's views: what is averaged, paired, and marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from toolmark.core import number_format, seeds
from toolmark.core.failure import NOT_REACHED
from toolmark.core.records import (
    Audio,
    Chart,
    Drawing,
    Estimate,
    Label,
    Message,
    Reply,
    Ruling,
    Score,
    Step,
    Table,
    Task,
    Text,
    Trajectory,
    Turn,
    Verdict,
)
from toolmark.reports.svg_sanitizer import sanitize_svg
from toolmark.reports.table_format import make_grid
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.mfcl_speech import (
    category_columns,
    condition_labels,
    published_speech_figures,
    speech_episode_views,
    speech_tables,
)
from toolmark.suites.mfcl_speech.category_columns import COLUMN_LABELS

SVG = "{http://www.w3.org/2000/svg}"
EARS = ("pocketsphinx", "simulated:a", "simulated:b")


def answer(
    item: str, category: str, condition: str, right: bool, ear: str = "", mode: str = "FM3",
    **parts: float,
) -> Score:  # fmt: skip
    label = Label(cause="perception", suite_cause=mode, primary=True)
    verdict = Verdict(outcome="correct" if right else "incorrect", value=float(right), parts=parts,
                      labels=() if right else (label,))  # fmt: skip
    axes = {"condition": condition} | ({"recogniser": ear} if ear else {})
    return Score(task="@".join((item, *axes.values())), item=item, category=category, axes=axes,
                 verdicts={"official": verdict})  # fmt: skip


def rows(scores: Sequence[Score]) -> Columns:
    return gather_columns(scores, "official")


def titled(found: Columns) -> dict[str, Table | Chart]:
    return {made.title: made for made in speech_tables.run_tables({"official": found})}


def table(found: Columns, title: str) -> dict[str, Mapping[str, Any]]:
    made = titled(found)[title]
    assert isinstance(made, Table)
    return {str(row[0]): dict(zip(made.head, row, strict=True)) for row in made.rows}


def first(found: Columns, condition: str) -> dict[str, Any]:
    """Table 1's column of a condition."""
    made = table(found, MAIN)
    return {name: row[condition] for name, row in made.items()}


def whole(
    share: Mapping[str, float], n: int = 20, ears: Sequence[str] = ("simulated:a",)
) -> Columns:
    """Every column of Table 1 in each condition, this share of n items right."""
    return rows([
        answer(f"{category}-{i}", category, condition, i < round(n * right),
               ear if condition != "text" else "", wer=0.2, entity_wer=0.3)
        for condition, right in share.items() for category in COLUMN_LABELS for i in range(n)
        for ear in (ears if condition != "text" else ("",))
    ])  # fmt: skip


MAIN = speech_tables.table_title("official")


def test_overall_is_the_mean_of_four_groups_with_the_community_weighted() -> None:
    scores = []
    for category in COLUMN_LABELS:
        n = 30 if category == "live_multiple" else 10
        right = {"live_multiple": 30, "simple_python": 4, "live_relevance": 10}.get(category, 0)
        scores += [answer(f"{category}{i}", category, "clean", i < right) for i in range(n)]
    expert, community, multi, hallucination = 0.4 / 4, 30 / 60, 0.0, 0.5
    found = category_columns.measure_group(category_columns.OVERALL, rows(scores))
    assert found.value is not None and not found.partial
    assert math.isclose(found.value, (expert + community + multi + hallucination) / 4)
    line = first(rows(scores), "clean")
    assert line["overall"].startswith(f"{100 * found.value:.1f} ")
    assert line["expert simple"].startswith("40.0 ") and line["n"] == len(scores)


def _bounded(lost: Mapping[str, int], put: str) -> Columns:
    """Ten answers of each category, the first so many not run, or put as right or wrong."""
    made = [
        answer(f"{name}{i}", name, "clean", put == "right" if i < lost.get(name, 0) else i % 2 == 0)
        for name in COLUMN_LABELS for i in range(10)
    ]  # fmt: skip
    if put == "not run":
        gone = {f"{name}{i}" for name, n in lost.items() for i in range(n)}
        made = [replace(x, verdicts={}, failure=NOT_REACHED) if x.item in gone else x for x in made]
    return rows(made)


def test_bounds_count_what_was_not_run_as_right_and_as_wrong_in_every_category() -> None:
    lost = {"simple_python": 10, "parallel": 3, "multi_turn_base": 10, "irrelevance": 9}
    for group in (category_columns.OVERALL, *category_columns.GROUPS):
        found, worst, best = (
            category_columns.measure_group(group, _bounded(lost, put))
            for put in ("not run", "wrong", "right")
        )
        assert found.worst is not None and found.best is not None
        assert math.isclose(found.worst, worst.value or 0.0)
        assert math.isclose(found.best, best.value or 0.0)


def test_a_missing_column_leaves_no_overall_and_no_paper() -> None:
    found = rows([answer(f"{i}", "multiple", "clean", i % 2 == 0) for i in range(10)])
    assert "overall" not in first(found, "clean")
    made = published_speech_figures.tables_with_published({"official": found})
    assert isinstance(made[0], Table) and "every column" in made[0].note
    assert not any("paper's models" in each.title for each in made[1:])


def test_columns_of_table_1_align_as_numbers() -> None:
    made = titled(whole({"text": 0.5, "clean": 0.25}))[MAIN]
    assert isinstance(made, Table)
    assert made.head == ("", "text", "clean (simulated)")
    assert tuple(row[0] for row in made.rows) == ("n", "overall", *COLUMN_LABELS.values())
    assert set(make_grid(made).numeric[1:]) == {True}


def test_half_widths_stand_only_where_they_are_true() -> None:
    for right, n in ((0, 4), (4, 4), (1, 8), (20, 40), (200, 400)):
        found = rows([answer(f"{i}", "multiple", "clean", i < right) for i in range(n)])
        reported = first(found, "clean")["expert multiple"]
        seen = category_columns.column_mean(found, "multiple")
        assert seen.value is not None and seen.low is not None and seen.high is not None
        assert ("±" in reported) is (right * 2 == n), reported
        if "±" in reported:
            half = float(reported.split("±")[1])
            assert abs(100 * (seen.value - seen.low) - half) <= 1.05
        else:
            assert reported.split(maxsplit=1)[1] == number_format.format_percent_interval(
                seen.low, seen.high
            ), reported
    last = rows([answer("0", "multiple", "clean", True)])
    assert speech_tables._format_wide(Estimate(name="", value=0.5)) == "50.0"
    assert "within a point" in speech_tables.main_table("official", last).note


def test_rules_that_agree_share_tables_and_others_have_table_1_alone() -> None:
    found = whole({"text": 0.9, "clean": 0.5})
    other = whole({"text": 0.9, "clean": 0.4})
    alike = speech_tables.run_tables({"official": found, "fair": found})
    assert alike[0].title.endswith("(official and fair)")
    titles = [each.title for each in speech_tables.run_tables({"official": found, "fair": other})]
    assert [title for title in titles if "fair" in title] == [speech_tables.table_title("fair")]


def test_community_irrelevance_counts_in_its_column() -> None:
    kinds = ("irrelevance", "live_irrelevance")
    found = rows([answer(f"{kind}{i}", kind, "clean", kind == kinds[0])
                  for kind in kinds for i in range(10)])  # fmt: skip
    assert first(found, "clean")["irrelevance"].startswith("50.0 ± ")


def test_transcripts_of_one_item_do_not_count_as_items() -> None:
    one = whole({"noisy": 0.5}, ears=("simulated:a",))
    three = whole({"noisy": 0.5}, ears=("simulated:a", "simulated:b", "simulated:c"))
    measures = [partial(category_columns.column_mean, name=name) for name in COLUMN_LABELS]
    for measure in (*measures, partial(category_columns.measure_group, category_columns.OVERALL)):
        a, b = measure(one), measure(three)
        assert a.value == b.value and b.n == 3 * a.n
        assert (b.high or 0) - (b.low or 0) > 0.85 * ((a.high or 0) - (a.low or 0))


def test_conditions_are_compared_item_by_item() -> None:
    found = whole({"text": 0.9, "clean": 0.7, "noisy": 0.4}, n=20)
    made = titled(found)["Text, clean and noisy audio, item by item (official)"]
    assert isinstance(made, Table)
    lines: list[dict[str, Any]] = [dict(zip(made.head, row, strict=True)) for row in made.rows]
    every = [line for line in lines if line["items of"] == "all"]
    assert [round(line["points"]) for line in every] == [-20, -50, -30]
    for line in lines:
        assert line["low"] < line["points"] < line["high"]
        assert (line["won"], line["lost"]) == (0, round(-line["points"] / 100 * line["items"]))
    assert {line["items of"] for line in lines} == {"all", "expert", "community", "multi-turn",
                                                    "hallucination"}  # fmt: skip


def test_levels_are_lines_and_modules_bars_each_with_its_interval() -> None:
    shares = {"snr=10": 0.3, "snr=40": 0.9, "clean": 0.9, "snr=20": 0.5, "network": 0.7,
              "device": 0.8}  # fmt: skip
    found = whole(shares)
    assert condition_labels.present_conditions(found)[:3] == ["clean", "network", "device"]
    assert condition_labels.present_conditions(found)[3:] == ["snr=40", "snr=20", "snr=10"]
    charts = [made for made in titled(found).values() if isinstance(made, Chart)]
    bars = next(
        chart for chart in charts if chart.title.startswith("What each condition costs, drawn")
    )
    (bar,) = bars.series
    assert (
        bars.ticks == ("network", "device")
        and bars.title.endswith("(simulated)")
        and round(bar.y[0]) == -20
    )
    lines = next(chart for chart in charts if "each level" in chart.title)
    (line,) = lines.series
    costs = dict(zip(line.x, line.y, strict=True))
    assert {x: round(y) for x, y in costs.items()} == {40: 0, 20: -40, 10: -60}
    for chart in (bar, line):
        assert all(a <= y <= b for a, y, b in zip(chart.low, chart.y, chart.high, strict=True))
    assert "simulated" in lines.title


def test_conditions_run_from_weak_to_strong() -> None:
    names = ["text", "clean", "noisy", "mild", "harsh", "environment", "device", "cafe", "mu-law",
             "loss@1", "loss@3", "snr=40", "snr=10", "snr=20:babble", "snr=0:babble"]  # fmt: skip
    found = rows([answer("a", "multiple", name, True) for name in reversed(names)])
    assert condition_labels.present_conditions(found) == names
    levels = [
        condition_labels.split_level(name) for name in ("snr=0:babble", "loss@3", "mu-law", "a@3+b")
    ]
    assert levels == [("snr:babble", 0), ("loss", 3), None, None]


def test_true_audio_has_its_acoustics_reported_without_recognisers() -> None:
    found = rows([answer(f"{i}", "multiple", "noisy", True, stoi=0.8 + i / 100, snr_db=12.0)
                  for i in range(9)])  # fmt: skip
    made = titled(found)
    sound = made["The sound"]
    assert isinstance(sound, Table) and "Word error rate by condition" not in made
    assert sound.head == ("condition", "n", "STOI", "SNR dB"), "no column of dashes"
    assert sound.rows[0][:2] == ("noisy", 9) and str(sound.rows[0][2])[:4] == "0.84"


def test_every_failed_answer_has_one_mode_and_the_control_none() -> None:
    natives = ["FM1", "FM1", "FM6", "other", "other", "unexplained"]
    found = rows([
        *(answer(f"{i}", "multiple", "noisy", False, mode=mode) for i, mode in enumerate(natives)),
        answer("9", "multiple", "noisy", True), answer("0", "multiple", "text", False),
    ])  # fmt: skip
    lines = table(found, "Failure modes")
    assert list(lines) == ["noisy"]
    reported = lines["noisy"]
    assert (reported["FM1 intent blending"], reported["FM6 named-entity error"]) == (2, 1)
    assert (reported["other: same on text"], reported["no rule fits"], reported["all"]) == (2, 1, 6)
    chart = titled(found)["Failure modes, by share of failed answers"]
    assert isinstance(chart, Chart) and chart.kind == "stack"
    assert math.isclose(sum(series.y[0] for series in chart.series), 100)


def test_simulated_recognisers_are_marked_wherever_their_numbers_are() -> None:
    found = whole({"text": 0.9, "clean": 0.7, "noisy": 0.4, "snr=10": 0.3, "snr=20": 0.35})
    for made in titled(found).values():
        if made.title == MAIN:
            assert isinstance(made, Table)
            assert all("simulated" in name for name in made.head[2:])
            continue
        if isinstance(made, Chart):
            assert "simulated" in " ".join([made.title, *(series.name for series in made.series)])
            continue
        for row in made.rows:
            reported = " ".join(map(str, row))
            heard = any(name in reported for name in ("clean", "noisy", "snr="))
            assert "simulated" in reported or not heard, made.title
    assert "(simulated)" in speech_tables.speech_metrics(found)[0].title
    assert (
        "simulated"
        not in next(m for m in speech_tables.speech_metrics(found) if "text" in m.name).title
    )
    adjacent = published_speech_figures.tables_with_published({"official": found})[1]
    assert isinstance(adjacent, Table) and "this run" not in str(adjacent.rows)
    mixed = whole({"clean": 0.5}, ears=EARS)
    assert condition_labels.condition_label("clean", mixed) == "clean (2/3 simulated)"
    real = whole({"clean": 0.5}, ears=("pocketsphinx",))
    assert condition_labels.condition_label("clean", real) == "clean"
    assert "simulated" not in str(titled(real)).lower()


def test_conditions_that_pocketsphinx_cannot_hear_are_marked() -> None:
    def heard(ear: str, wer: float) -> Columns:
        return rows([answer(f"{i}", "multiple", "snr=10", False, ear, wer=wer) for i in range(4)])

    assert (
        condition_labels.condition_label("snr=10", heard("pocketsphinx", 0.86))
        == "snr=10 (saturated)"
    )
    assert condition_labels.condition_label("snr=10", heard("pocketsphinx", 0.85)) == "snr=10"
    assert condition_labels.condition_label("snr=10", heard("whisper:base", 0.99)) == "snr=10"
    assert (
        "above 85\u00a0%" in speech_tables.main_table("official", heard("pocketsphinx", 0.9)).note
    )


def test_error_rates_are_reported_by_condition_recogniser_and_engine() -> None:
    rng = seeds.make_rng(0, "wer", 0, "test")
    found = rows([
        answer(f"{i}", "multiple", condition, True, ear, "", **{
            "wer": base + rng.random() / 10, "entity_wer": base, "stoi": 0.9, "snr_db": 20.0,
            f"engine:{'flite' if i % 2 else 'espeak-ng'}": 1.0,
        })
        for i in range(12) for ear in EARS for condition, base in (("clean", 0.1), ("noisy", 1.2))
    ])  # fmt: skip
    made = titled(found)["The sound, and what recognisers made of it"]
    assert isinstance(made, Table)
    assert [row[:3] for row in made.rows] == [
        (condition, ear, 12) for condition in ("clean", "noisy")
        for ear in ("pocketsphinx", "a (simulated)", "b (simulated)")
    ]  # fmt: skip
    assert [row[-1] for row in made.rows] == ["", "", "", "saturated", "", ""]
    assert "120.0" in str(made.rows[3][4]), "rates may pass 100 %"
    voices = titled(found)["Voice engines"]
    assert isinstance(voices, Table) and len(voices.rows) == 4
    assert {(row[0], row[2]) for row in voices.rows} == {("espeak-ng", 18), ("flite", 18)}


def test_the_headline_is_table_1s_overall_of_the_noisy_condition() -> None:
    found = whole({"text": 0.9, "clean": 0.6, "noisy": 0.3, "snr=10": 0.2}, ears=EARS)
    headline, *parts = speech_tables.speech_metrics(found)
    seen = headline.measure(found)
    assert (headline.name, seen.n) == ("overall/noisy", 3 * 20 * len(COLUMN_LABELS))
    assert seen.value == pytest.approx(0.3) and "overall, noisy" in headline.title
    assert headline.filters and set(headline.select_rows(found).axis("condition")) == {"noisy"}
    assert first(found, next(n for n in table(found, MAIN)["n"] if "noisy" in n))[
        "overall"].startswith(f"{100 * (seen.value or 0):.1f} ")  # fmt: skip
    names = [metric.name for metric in parts]
    assert names[:3] == ["overall/clean", "overall/snr=10", "overall/text"]
    assert names[3:7] == [f"{group}/noisy" for group in
                          ("expert", "community", "multi_turn", "hallucination")]  # fmt: skip
    assert len(set(names)) == len(names) and {"wer", "entity_wer"} <= set(names)
    for metric in parts:
        seen = metric.measure(found)
        assert seen.value is not None and seen.name == metric.name


@pytest.mark.parametrize(
    ("conditions", "lead"),
    [(("text", "clean"), "clean"), (("text", "snr=10"), "snr=10"), (("text",), "text"),
     (("noisy", "harsh"), "noisy")],
)  # fmt: skip
def test_the_condition_that_leads(conditions: Sequence[str], lead: str) -> None:
    assert (
        speech_tables.speech_metrics(whole(dict.fromkeys(conditions, 0.5)))[0].name
        == f"overall/{lead}"
    )


EXPERT = [name for name, reported in COLUMN_LABELS.items() if reported.startswith("expert")]


@pytest.mark.parametrize(
    ("categories", "parts"),
    [(EXPERT, ["expert/noisy", "expert/text", *EXPERT]),
     (EXPERT[:2], ["accuracy/noisy", "accuracy/text", *EXPERT[:2]]),
     (EXPERT[:1], ["accuracy/noisy", "accuracy/text"]),
     ([*EXPERT, "live_simple"],
      ["accuracy/noisy", "accuracy/text", "expert/noisy", *EXPERT, "live_simple"])],
)  # fmt: skip
def test_the_same_answers_stand_under_one_name_only(
    categories: Sequence[str], parts: Sequence[str]
) -> None:
    found = rows([answer(f"{c}{i}", c, condition, i < 3) for c in categories for i in range(9)
                  for condition in ("text", "noisy")])  # fmt: skip
    metrics = speech_tables.speech_metrics(found)
    assert [metric.name for metric in metrics] == parts
    for metric in metrics:
        seen = metric.measure(found)
        assert seen.n == (
            9
            if metric.name in COLUMN_LABELS
            else 9 * len(EXPERT)
            if "expert" in metric.name
            else 9 * len(categories)
        )


def test_questions_are_counted_by_condition() -> None:
    found = rows([
        *(answer(f"{i}", "multiple", "noisy", True, asked=2.0, answered=1.0) for i in range(3)),
        answer("9", "multiple", "noisy", False, asked=0.0, answered=0.0),
        answer("9", "multiple", "text", True, asked=0.0, answered=0.0),
    ])  # fmt: skip
    lines = table(found, "Asking back")
    reported = lines["noisy"]
    assert (reported["answers"], reported["of these asked"]) == (4, 3)
    assert (reported["questions"], reported["answered"], reported["refused"]) == (6, 3, 3)
    assert "Asking back" not in titled(rows([answer("9", "multiple", "text", True, asked=0.0)]))


def test_a_single_bar_is_no_chart() -> None:
    found = whole({"clean": 0.9, "noisy": 0.5})
    charts = [made.title for made in titled(found).values() if isinstance(made, Chart)]
    assert not any("What each condition costs" in title for title in charts)


def test_the_paper_is_compared_with_a_whole_run_and_several() -> None:
    found = whole({"text": 0.9, "clean": 0.7})
    adjacent = published_speech_figures.tables_with_published({"official": found})[1]
    assert isinstance(adjacent, Table)
    assert all(str(row[0]).endswith("(paper)") for row in adjacent.rows)
    assert ("GPT-4o-audio (paper)", 0.589, 0.604, 0.509) in adjacent.rows
    several = published_speech_figures.tables_across_runs(
        {"official": {"a": found, "b": whole({"noisy": 0.4})}}
    )
    assert isinstance(several[0], Table) and [row[0] for row in several[0].rows] == ["a", "a", "b"]
    assert len(several) == 2 and not published_speech_figures.tables_across_runs(
        {"official": {"a": found}}
    )


def test_nothing_ran_is_no_table() -> None:
    lost = Score(
        task="a", item="a", category="multiple", axes={"condition": "clean"}, failure=NOT_REACHED
    )
    assert not speech_tables.run_tables({"official": rows([lost])})
    assert not published_speech_figures.tables_with_published({"official": rows([lost])})


# --- one episode ------------------------------------------------------------------------

SPEECH: dict[str, Any] = {
    "rewritten": "book a flight from austin to new york on july fifth",
    "uttered": "um book a flight from austin to new york on july fifth please",
    "changes": [["filled pause", 0, "", "um"]],
    "voice": {"engine": "flite", "name": "rms", "speaker": "rms", "accent": "us", "rate": 1.1},
    "timeline": [
        {"module": "environment", "name": "door_slam", "start_s": 1.0, "end_s": 1.4, "severity": 3,
         "detail": {"snr_db": 4.5}},
        {"module": "talkers", "name": "double talk", "start_s": 0.2, "end_s": 9.0, "severity": 9,
         "detail": {"text": "<script>alert(1)</script>"}},
    ],
    "stoi": 0.81, "snr_db": 12.0, "wer": 0.25, "entity_wer": 0.5,
    "transcript": "Book a flight from Boston to york on, July 5th please now.",
    "recogniser": "simulated:a", "simulated": True,
}  # fmt: skip


def spoken(*turns: dict[str, Any], **more: Any) -> Task:
    written = [f"Written {i} </svg><script>" for i in range(len(turns))]
    data = {"bfcl": None, "written": written, "speech": {"turns": list(turns)},
                 "whitelist": {"origin": "Austin"}, **more}  # fmt: skip
    return Task(id="i@noisy", suite="mfcl-transcripts", data=data,
                turns=tuple(Turn(messages=(Message(role="user", parts=(Text(text="x"),)),))
                            for _ in turns))  # fmt: skip


QUIET = Trajectory(task="i@noisy")


def drawings(task: Task) -> dict[str, ElementTree.Element]:
    found = [
        view
        for view in speech_episode_views.episode_views(Episode(task, QUIET))
        if isinstance(view, Drawing)
    ]
    assert all(sanitize_svg(view.svg) == view.svg for view in found)
    return {view.title: ElementTree.fromstring(view.svg) for view in found}


def classed(root: ElementTree.Element, kind: str) -> list[str]:
    words = [e for e in root.iter(f"{SVG}text") if e.get("y") != "16"]  # that is the legend's
    return [str(e.text) for e in words if kind in (e.get("class") or "").split()]


def test_errors_are_distinguished_by_shape() -> None:
    root = drawings(spoken(SPEECH))["What was said, what was heard"]
    assert classed(root, "substitute") == ["boston"] and classed(root, "u") == ["austin"]
    assert classed(root, "delete") == ["new"] and classed(root, "insert") == ["now"]
    right = " ".join(classed(root, "e"))
    assert right == "book a flight from to york on july fifth please"
    assert classed(root, "v") == ["austin"]
    boxes = [e.get("class") for e in root.iter(f"{SVG}rect") if e.get("y") != "3"]
    assert sorted(filter(None, boxes)) == ["insert", "substitute"]
    assert len(list(root.iter(f"{SVG}path"))) == 1, "the gap where a word was not heard"


def test_values_that_may_be_revealed_are_bold_in_their_own_turn() -> None:
    lists = [{"origin": "Austin"}, {"day": "July 5"}]
    root = drawings(spoken(SPEECH, SPEECH, whitelist=lists))["What was said, what was heard"]
    assert classed(root, "v") == ["austin", "july"]
    views = speech_episode_views.episode_views(
        Episode(spoken(SPEECH, SPEECH, whitelist=lists), QUIET)
    )
    [way] = [view for view in views if view.title == "From the written to the heard"]  # type: ignore[union-attr]
    reported = [row for row in way.rows if row[1] == "given when asked"]  # type: ignore[union-attr]
    assert [row[::2] for row in reported] == [("1", "origin: Austin"), ("2", "day: July 5")]


def test_transcripts_stored_with_the_sound_are_drawn_for_each_recogniser() -> None:
    heard = {ear: {"text": f"book {ear}", "simulated": ear != "pocketsphinx"} for ear in EARS}
    saved = {k: v for k, v in SPEECH.items() if k not in ("transcript", "recogniser", "simulated")}
    views = speech_episode_views.episode_views(
        Episode(spoken({**saved, "transcripts": heard}), QUIET)
    )
    made = {view.title: view.note for view in views if isinstance(view, Drawing)}
    titles = [f"What was said, what was heard by {ear}" for ear in EARS]
    assert list(made)[:3] == titles
    assert ["simulated" in made[title] for title in titles] == [False, True, True]


@pytest.mark.parametrize("text", ["", "one", "a " * 2000, "x" * 10_000, "\x00\ud800</svg>&<b>"])
@pytest.mark.parametrize("side", ["uttered", "transcript"])
def test_any_words_stay_inside_the_drawing(text: str, side: str) -> None:
    for root in drawings(spoken({**SPEECH, side: text}, SPEECH)).values():
        width, height = float(root.get("width", 0)), float(root.get("height", 0))
        for each in root.iter():
            if each.get("x") is not None:
                assert 0 <= float(each.get("x", 0)) + float(each.get("width", 0)) <= width + 4
                assert 0 <= float(each.get("y", 0)) <= height
        assert not any(each.tag.endswith("script") for each in root.iter())


def test_effects_are_drawn_over_their_times() -> None:
    root = drawings(spoken(SPEECH, SPEECH))["What was done to the sound"]
    bars = [e for e in root.iter(f"{SVG}rect")]
    assert len(bars) == 4
    starts = [float(e.get("x", 0)) for e in bars]
    assert starts[0] > starts[1] and float(bars[1].get("width", 0)) > float(bars[0].get("width", 0))
    reported = [str(e.text) for e in root.iter(f"{SVG}text")]
    assert "1. environment: door slam" in reported and "●●●○" in reported and "●●●●" in reported


def test_the_way_to_the_transcript_is_shown_turn_by_turn() -> None:
    made = {
        view.title: view
        for view in speech_episode_views.episode_views(Episode(spoken(SPEECH, SPEECH), QUIET))
        if isinstance(view, Table)
    }
    reported = {(row[0], row[1]): str(row[2]) for row in made["From the written to the heard"].rows}
    assert reported["2", "written"] == "Written 1 </svg><script>"
    assert reported["1", "recogniser"] == "simulated:a (simulated)"
    assert reported["1", "changed"] == "filled pause at word 0: (nothing) → um"
    assert reported["1", "voice"] == "flite, rms, us, rate 1.10"
    assert reported["1", "word error rate"].startswith("25.0") and reported["1", "STOI"] == "0.81"
    effects = made["Effects one by one"].rows
    assert len(effects) == 4 and effects[0][-1] == "SNR 4.5 dB"


def test_a_written_task_shows_the_dialogue_alone() -> None:
    ruling = Ruling(allowed=True, reply="A-U-S-T-I-N", topics=("origin",), reason="spelling",
                    judge="rules")  # fmt: skip
    steps = (Step(reply=Reply(text="How is that spelled?"), ruling=ruling), Step(reply=Reply()))
    task = Task(
        id="i@text", suite="mfcl-transcripts", turns=(), data={"bfcl": None, "written": ["x"]}
    )
    (only,) = speech_episode_views.episode_views(
        Episode(task, Trajectory(task="i@text", steps=steps))
    )
    assert isinstance(only, Table)
    assert only.rows == ((1, "How is that spelled?", "answered", "A-U-S-T-I-N", "origin",
                          "spelling", "rules"),)  # fmt: skip


def test_recordings_stand_first_and_single_effects_are_folded() -> None:
    audio = {"sha256": "a" * 64, "mime": "audio/wav", "size_bytes": 10}
    task = spoken({**SPEECH, "audio": audio})
    collected = Turn(messages=(Message(role="user", parts=(Audio(**audio),)),))  # type: ignore[arg-type]
    for asked in (task, replace(task, turns=(collected,))):
        first, second, *rest = speech_episode_views.episode_views(Episode(asked, QUIET))
        assert first == Audio(**audio)  # type: ignore[arg-type]
        assert isinstance(second, Drawing) and second.title == "What was said, what was heard"
        [effects] = [
            view for view in rest if isinstance(view, Table) and "one by one" in view.title
        ]
        assert effects.is_collapsed
