"""The tables of a speech run, and one episode's views: what is averaged, paired, and marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from toolmark import seeds
from toolmark.report.tables import grid
from toolmark.stats.columns import Columns, columns
from toolmark.suites.mfcl import paper, speech_report, speech_views
from toolmark.suites.mfcl.speech_report import TOLD
from toolmark.types import (
    Audio,
    Chart,
    Drawing,
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

SVG = "{http://www.w3.org/2000/svg}"
EARS = ("pocketsphinx", "simulated:a", "simulated:b")


def answer(
    item: str, category: str, condition: str, right: bool, ear: str = "", mode: str = "FM3",
    **parts: float,
) -> Score:  # fmt: skip
    label = Label(cause="perception", native=mode, primary=True)
    verdict = Verdict(outcome="correct" if right else "incorrect", value=float(right), parts=parts,
                      labels=() if right else (label,))  # fmt: skip
    axes = {"condition": condition} | ({"recogniser": ear} if ear else {})
    return Score(task="@".join((item, *axes.values())), item=item, category=category, axes=axes,
                 readings={"official": verdict})  # fmt: skip


def rows(scores: Sequence[Score]) -> Columns:
    return columns(scores, "official")


def titled(found: Columns) -> dict[str, Table | Chart]:
    return {made.title: made for made in speech_report.tables({"official": found})}


def table(found: Columns, title: str) -> dict[str, Mapping[str, Any]]:
    made = titled(found)[title]
    assert isinstance(made, Table)
    return {str(row[0]): dict(zip(made.head, row, strict=True)) for row in made.rows}


def whole(
    share: Mapping[str, float], n: int = 20, ears: Sequence[str] = ("simulated:a",)
) -> Columns:
    """Every column of Table 1 in each condition, this share of n items right."""
    return rows([
        answer(f"{category}-{i}", category, condition, i < round(n * right),
               ear if condition != "text" else "", wer=0.2, entity_wer=0.3)
        for condition, right in share.items() for category in TOLD for i in range(n)
        for ear in (ears if condition != "text" else ("",))
    ])  # fmt: skip


MAIN = speech_report.title("official")


def test_overall_is_the_mean_of_four_groups_with_the_community_weighted() -> None:
    scores = []
    for category in TOLD:
        n = 30 if category == "live_multiple" else 10
        right = {"live_multiple": 30, "simple_python": 4, "live_relevance": 10}.get(category, 0)
        scores += [answer(f"{category}{i}", category, "clean", i < right) for i in range(n)]
    expert, community, multi, hallucination = 0.4 / 4, 30 / 60, 0.0, 0.5
    found = speech_report.measure(speech_report.OVERALL, rows(scores))
    assert found.value is not None and not found.partial
    assert math.isclose(found.value, (expert + community + multi + hallucination) / 4)
    line = table(rows(scores), MAIN)["clean"]
    half = ((found.high or 0) - (found.low or 0)) / 2
    assert line["overall"] == f"{100 * found.value:.1f} ± {100 * half:.1f}"
    assert line["expert simple"].startswith("40.0 ± ") and line["n"] == len(scores)


def test_a_missing_column_leaves_no_overall_and_no_paper() -> None:
    found = rows([answer(f"{i}", "multiple", "clean", i % 2 == 0) for i in range(10)])
    assert table(found, MAIN)["clean"]["overall"] is None
    made = paper.tables({"official": found})
    assert isinstance(made[0], Table) and "every column" in made[0].note
    assert not any("paper's models" in each.title for each in made[1:])


def test_columns_of_table_1_align_as_numbers() -> None:
    made = titled(whole({"text": 0.5, "clean": 0.25}))[MAIN]
    assert isinstance(made, Table)
    assert made.head == ("condition", "recognisers", "n", "overall", *TOLD.values())
    assert set(grid(made).numeric[2:]) == {True}


def test_community_irrelevance_counts_in_its_column() -> None:
    kinds = ("irrelevance", "live_irrelevance")
    found = rows([answer(f"{kind}{i}", kind, "clean", kind == kinds[0])
                  for kind in kinds for i in range(10)])  # fmt: skip
    assert table(found, MAIN)["clean"]["irrelevance"].startswith("50.0 ± ")


def test_transcripts_of_one_item_do_not_count_as_items() -> None:
    one = whole({"noisy": 0.5}, ears=("simulated:a",))
    three = whole({"noisy": 0.5}, ears=("simulated:a", "simulated:b", "simulated:c"))
    measures = [partial(speech_report.leaf, name=name) for name in TOLD]
    for measure in (*measures, partial(speech_report.measure, speech_report.OVERALL)):
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
    shares = {"snr=10": 0.3, "snr=40": 0.9, "clean": 0.9, "snr=20": 0.5, "network": 0.7}
    found = whole(shares)
    assert speech_report.conditions(found) == ["clean", "network", "snr=40", "snr=20", "snr=10"]
    charts = [made for made in titled(found).values() if isinstance(made, Chart)]
    bars = next(
        chart for chart in charts if chart.title.startswith("What each condition costs, drawn")
    )
    (bar,) = bars.series
    assert (
        bars.ticks == ("network",) and bars.title.endswith("(simulated)") and round(bar.y[0]) == -20
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
    assert speech_report.conditions(found) == names
    levels = [speech_report.graded(name) for name in ("snr=0:babble", "loss@3", "mu-law", "a@3+b")]
    assert levels == [("snr:babble", 0), ("loss", 3), None, None]


def test_true_audio_has_its_acoustics_told_without_recognisers() -> None:
    found = rows([answer(f"{i}", "multiple", "noisy", True, stoi=0.8 + i / 100, snr_db=12.0)
                  for i in range(9)])  # fmt: skip
    made = titled(found)
    sound = made["The sound, and what recognisers made of it"]
    assert isinstance(sound, Table) and "Word error rate by condition" not in made
    assert sound.rows[0][:5] == ("noisy", "", 9, "–", "–") and str(sound.rows[0][5])[:4] == "0.84"


def test_every_failed_answer_has_one_mode_and_the_control_none() -> None:
    natives = ["FM1", "FM1", "FM6", "other", "4 wrong value", ""]
    found = rows([
        *(answer(f"{i}", "multiple", "noisy", False, mode=mode) for i, mode in enumerate(natives)),
        answer("9", "multiple", "noisy", True), answer("0", "multiple", "text", False),
    ])  # fmt: skip
    lines = table(found, "Failure modes")
    assert list(lines) == ["noisy"]
    told = lines["noisy"]
    assert (told["FM1 intent blending"], told["FM6 named-entity error"]) == (2, 1)
    assert (told["other"], told["all"]) == (3, 6)
    chart = titled(found)["Failure modes, by share of failed answers"]
    assert isinstance(chart, Chart) and chart.kind == "stack"
    assert math.isclose(sum(series.y[0] for series in chart.series), 1)


def test_simulated_recognisers_are_marked_wherever_their_numbers_are() -> None:
    found = whole({"text": 0.9, "clean": 0.7, "noisy": 0.4, "snr=10": 0.3, "snr=20": 0.35})
    for made in titled(found).values():
        if isinstance(made, Chart):
            assert "simulated" in " ".join([made.title, *(series.name for series in made.series)])
            continue
        for row in made.rows:
            told = " ".join(map(str, row))
            heard = any(name in told for name in ("clean", "noisy", "snr="))
            assert "simulated" in told or not heard, made.title
    assert "(simulated)" in speech_report.metrics(found)[0].told
    beside = paper.tables({"official": found})[1]
    assert isinstance(beside, Table) and beside.rows[0][0] == "this run (simulated recognisers)"
    mixed = whole({"clean": 0.5}, ears=EARS)
    assert speech_report.named("clean", mixed) == "clean (2/3 simulated)"
    real = whole({"clean": 0.5}, ears=("pocketsphinx",))
    assert speech_report.named("clean", real) == "clean"
    assert "simulated" not in str(titled(real)).lower()


def test_conditions_that_pocketsphinx_cannot_hear_are_marked() -> None:
    def heard(ear: str, wer: float) -> Columns:
        return rows([answer(f"{i}", "multiple", "snr=10", False, ear, wer=wer) for i in range(4)])

    assert speech_report.named("snr=10", heard("pocketsphinx", 0.86)) == "snr=10 (saturated)"
    assert speech_report.named("snr=10", heard("pocketsphinx", 0.85)) == "snr=10"
    assert speech_report.named("snr=10", heard("whisper:base", 0.99)) == "snr=10"
    assert "above 85 %" in speech_report.main("official", heard("pocketsphinx", 0.9)).note


def test_error_rates_are_told_by_condition_recogniser_and_engine() -> None:
    rng = seeds.of(0, "wer", 0, "test")
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


def test_the_headline_is_the_mean_over_transcripts_with_items_counted() -> None:
    found = whole({"clean": 0.5}, ears=EARS)
    headline, *parts = speech_report.metrics(found)
    told = headline.measure(found)
    assert (headline.name, told.n) == ("accuracy", len(found)) and told.value == 0.5
    names = [metric.name for metric in parts]
    assert names[:4] == ["expert", "community", "multi_turn", "hallucination"]
    assert len(set(names)) == len(names) and {"accuracy/clean", "wer", "entity_wer"} <= set(names)
    for metric in parts:
        assert metric.measure(found).value is not None, metric.name


def test_the_paper_stands_beside_a_whole_run_and_several() -> None:
    found = whole({"text": 0.9, "clean": 0.7})
    beside = paper.tables({"official": found})[1]
    assert isinstance(beside, Table)
    assert beside.rows[0][3] is None and round(float(beside.rows[0][1] or 0), 3) == 0.9
    assert ("GPT-4o-audio (paper)", 0.589, 0.604, 0.509) in beside.rows
    several = paper.across({"official": {"a": found, "b": whole({"noisy": 0.4})}})
    assert isinstance(several[0], Table) and [row[0] for row in several[0].rows] == ["a", "a", "b"]
    assert len(several) == 2 and not paper.across({"official": {"a": found}})


def test_nothing_ran_is_no_table() -> None:
    lost = Score(task="a", item="a", category="multiple", axes={"condition": "clean"}, not_run="x")
    assert not speech_report.tables({"official": rows([lost])})
    assert not paper.tables({"official": rows([lost])})


# --- one episode ------------------------------------------------------------------------

SPEECH: dict[str, Any] = {
    "spoken": "book a flight from austin to new york on july fifth",
    "said": "um book a flight from austin to new york on july fifth please",
    "changes": [["filled pause", 0, "", "um"]],
    "voice": {"engine": "flite", "name": "rms", "accent": "us", "rate": 1.1},
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
    reference = {"written": written, "speech": {"turns": list(turns)},
                 "whitelist": {"origin": "Austin"}, **more}  # fmt: skip
    return Task(id="i@noisy", suite="mfcl-transcripts", reference=reference,
                turns=tuple(Turn(messages=(Message(role="user", parts=(Text(text="x"),)),))
                            for _ in turns))  # fmt: skip


QUIET = Trajectory(task="i@noisy")


def drawings(task: Task) -> dict[str, ElementTree.Element]:
    found = [view for view in speech_views.views(task, QUIET) if isinstance(view, Drawing)]
    return {view.title: ElementTree.fromstring(view.svg) for view in found}


def classed(root: ElementTree.Element, kind: str) -> list[str]:
    words = [e for e in root.iter(f"{SVG}text") if e.get("y") != "16"]  # that is the legend's
    return [str(e.text) for e in words if kind in (e.get("class") or "").split()]


def test_errors_are_told_apart_by_shape() -> None:
    root = drawings(spoken(SPEECH))["What was said, what was heard"]
    assert classed(root, "substitute") == ["boston"] and classed(root, "u") == ["austin"]
    assert classed(root, "delete") == ["new"] and classed(root, "insert") == ["now"]
    right = " ".join(classed(root, "e"))
    assert right == "book a flight from to york on july fifth please"
    assert classed(root, "v") == ["austin"]
    boxes = [e.get("class") for e in root.iter(f"{SVG}rect") if e.get("y") != "3"]
    assert sorted(filter(None, boxes)) == ["insert", "substitute"]
    assert len(list(root.iter(f"{SVG}path"))) == 1, "the gap where a word was not heard"


@pytest.mark.parametrize("text", ["", "one", "a " * 2000, "x" * 10_000, "\x00\ud800</svg>&<b>"])
@pytest.mark.parametrize("side", ["said", "transcript"])
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
    told = [str(e.text) for e in root.iter(f"{SVG}text")]
    assert "1. environment: door slam" in told and "●●●○" in told and "●●●●" in told


def test_the_way_to_the_transcript_is_told_turn_by_turn() -> None:
    made = {view.title: view for view in speech_views.views(spoken(SPEECH, SPEECH), QUIET)
            if isinstance(view, Table)}  # fmt: skip
    told = {(row[0], row[1]): str(row[2]) for row in made["From the written to the heard"].rows}
    assert told["2", "written"] == "Written 1 </svg><script>"
    assert told["1", "recogniser"] == "simulated:a (simulated)"
    assert told["1", "disfluencies"] == "filled pause at word 0: (nothing) → um"
    assert told["1", "voice"] == "flite, rms, us, rate 1.10"
    assert told["1", "word error rate"].startswith("25.0") and told["1", "STOI"] == "0.81"
    effects = made["Effects one by one"].rows
    assert len(effects) == 4 and effects[0][-1] == "snr db 4.5"


def test_a_written_task_shows_the_dialogue_alone() -> None:
    ruling = Ruling(allowed=True, reply="A-U-S-T-I-N", topics=("origin",), reason="spelling",
                    judge="rules")  # fmt: skip
    steps = (Step(reply=Reply(text="How is that spelled?"), ruling=ruling), Step(reply=Reply()))
    task = Task(id="i@text", suite="mfcl-transcripts", turns=(), reference={"written": ["x"]})
    (only,) = speech_views.views(task, Trajectory(task="i@text", steps=steps))
    assert isinstance(only, Table)
    assert only.rows == ((1, "How is that spelled?", "answered", "A-U-S-T-I-N", "origin",
                          "spelling", "rules"),)  # fmt: skip
    assert not speech_views.views(Task(id="a", suite="s", turns=(), reference=None), QUIET)


def test_recordings_behind_transcripts_are_shown_unless_a_message_holds_them() -> None:
    audio = {"sha256": "a" * 64, "mime": "audio/wav", "size_bytes": 10}
    task = spoken({**SPEECH, "audio": audio})
    first = speech_views.views(task, QUIET)[0]
    assert first == Audio(**audio)  # type: ignore[arg-type]
    held = Turn(messages=(Message(role="user", parts=(Audio(**audio),)),))  # type: ignore[arg-type]
    shown = speech_views.views(replace(task, turns=(held,)), QUIET)
    assert not any(isinstance(view, Audio) for view in shown)
