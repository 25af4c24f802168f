"""Prompt formats: their names and tasks, how they are missed, and what the report says."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.core.records import (
    Call,
    Chart,
    Message,
    Reply,
    Result,
    Score,
    Step,
    Table,
    Task,
    Text,
    Tool,
    Trajectory,
    Verdict,
)
from toolmark.formats.parse.reply_parser import CallForm
from toolmark.formats.prompt_format import PromptLayout, PromptStyle, PromptVariant, default_wording
from toolmark.formats.render.tool_docs import ToolDocForm
from toolmark.formats.syntax_format import syntax_formats
from toolmark.official_bfcl import (
    bfcl_controls,
    format_failure_modes,
    official_data,
    prompt_formats,
    tool_schemas,
)
from toolmark.runs.run_scoring import score_episode
from toolmark.runs.suite import Suite
from toolmark.scoring.episode import Episode
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.suites.bfcl import format_sensitivity_tables

Judge = Callable[[Task, str], Verdict]
ITEM = "simple_python_58"  # text, text and a truth value


@pytest.fixture(scope="module")
def asked() -> Suite:
    return tm.load("bfcl", category=("format_sensitivity",))


@pytest.fixture(scope="module")
def variants(asked: Suite) -> dict[str, Task]:
    return {task.tool_format: task for task in asked if task.item == ITEM}


@pytest.fixture(scope="module")
def judge(asked: Suite) -> Judge:
    def one(task: Task, text: str) -> Verdict:
        step = Step(reply=Reply(text=text))
        played = Trajectory(task=task.id, tool_format=task.tool_format, steps=(step,))
        return asked.scorer.score(Episode(task, played))["official"]

    return one


def calls(task: Task) -> list[Call]:
    return [
        Call(name=n, arguments=json.dumps(given)) for n, given in bfcl_controls.expected_calls(task)
    ]


def right(asked: Suite, task: Task) -> str:
    return asked.tool_formats[task.tool_format].render_calls(calls(task)).text


def name(**axes: object) -> str:
    return prompt_formats.format_name(PromptVariant(**axes))  # type: ignore[arg-type]


# --- names and tasks --------------------------------------------------------------------


def test_there_are_26_published_formats_of_96() -> None:
    assert len(prompt_formats.official_format_names()) == 26
    assert len(prompt_formats.all_variants()) == 96
    assert set(prompt_formats.official_format_names()) < set(prompt_formats.all_variants())
    assert (
        prompt_formats.select_format_names(("official", name()))
        == prompt_formats.official_format_names()
    )
    assert set(prompt_formats.select_format_names(("all",))) == set(prompt_formats.all_variants())


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("offical", "did you mean: official;"),
        (name().replace("python", "pyton"), "'pyton'; did you mean: python"),
        (name().replace("classic", "clasic"), "'clasic'; did you mean: classic"),
        (name() + "x", "'classicx'"),
    ],
)
def test_a_wrong_name_says_what_is_wrong(word: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        prompt_formats.select_format_names((word,))


def test_the_formats_are_a_closed_list_whatever_else_can_be_rendered() -> None:
    """A further form of docs or calls elsewhere must add no format to BFCL's 96."""
    source = Path(prompt_formats.__file__).read_text("utf-8")
    assert "get_args" not in source
    levels = (prompt_formats.CALL_FORMS, (True, False), prompt_formats.DOC_FORMS,
              prompt_formats.LAYOUTS, prompt_formats.STYLES)  # fmt: skip
    assert [len(each) for each in levels] == [4, 2, 3, 2, 2]
    assert set(prompt_formats.CALL_FORMS) <= set(get_args(CallForm))
    assert set(prompt_formats.DOC_FORMS) <= set(get_args(ToolDocForm))
    assert set(prompt_formats.LAYOUTS) <= set(get_args(PromptLayout))
    assert set(prompt_formats.STYLES) <= set(get_args(PromptStyle))


def test_native_is_no_prompt_format_and_an_unknown_one_is_an_error() -> None:
    assert prompt_formats.variant_of_format("native") is None
    assert prompt_formats.variant_of_format("hermes") is None
    assert prompt_formats.variant_of_format("prompt") == PromptVariant()
    for unknown in ("opena", "prompt:x", "", "Native"):
        with pytest.raises(UsageError, match=f"no tool format '{unknown}'"):
            prompt_formats.variant_of_format(unknown)


def test_a_reply_in_an_unknown_format_is_not_scored_as_native() -> None:
    suite = tm.load("bfcl", category=("simple_python",))
    task = next(iter(suite))
    step = Step(reply=Reply(calls=(Call(name="f", arguments="{}"),)))
    for name, unscored in (("native", False), ("own", True)):
        episode = Trajectory(task=task.id, tool_format=name, steps=(step,), ending="answered")
        scored = score_episode(suite.scorer, task, episode)
        assert (scored.failure is not None) is unscored
        assert bool(scored.verdicts) is not unscored


def test_the_default_text_is_that_of_the_default_prompt_alone() -> None:
    assert prompt_formats.is_default_text("prompt")
    assert not prompt_formats.is_default_text("native")
    assert not prompt_formats.is_default_text(name(call_form="json"))


def test_every_tool_format_says_whether_its_calls_are_text() -> None:
    for loaded in (tm.load("bfcl"), tm.load("funcbench", graphs=1)):
        for tool_format in loaded.tool_formats.values():
            written = tool_format.render_calls((Call(name="f", arguments="{}"),))
            assert tool_format.calls_in_text is not bool(written.calls)


def test_the_published_tasks_have_the_published_ids_and_axes(asked: Suite) -> None:
    tasks = list(asked)
    assert len(tasks) == len(asked) == 5200
    assert len({task.id for task in tasks}) == 5200
    for index, task in enumerate(tasks):
        config = prompt_formats.official_format_names()[index % 26]
        assert task.id == f"format_sensitivity_{index}:{config}:{task.item}"
        assert (task.tool_format, task.axes["format"]) == (config, config)
        assert prompt_formats.all_variants()[config] == prompt_formats.variant_of_format(config)
        assert set(task.axes) == {"format", *prompt_formats.AXES}
        assert all(tool.description.endswith(2 * tool_schemas.PYTHON_HINT) for tool in task.tools)
    kinds = Counter(task.item.rpartition("_")[0] for task in tasks[::26])
    assert kinds["live_multiple"] == 86 and kinds["live_parallel"] == 6


def test_all_entries_are_those_with_calls_in_python_as_truth() -> None:
    every, _ = prompt_formats.read_tasks(
        official_data.fetch_wheel(), (name(), name(has_tag=True)), "all"
    )
    assert len(every) == 2 * 2351
    tasks = list(every)
    assert len(tasks) == len(every)
    assert sum(task.axes["subset"] == "yes" for task in tasks) == 2 * 200
    assert {task.item.rpartition("_")[0] for task in tasks} == set(prompt_formats.PARENT_CATEGORIES)


def test_formats_wording_and_entries_are_parameters() -> None:
    one = tm.load("bfcl", category=("format_sensitivity",), formats=(name(layout="markdown"),))
    assert len(one) == 200
    named = ["native", "prompt", name(layout="markdown")]
    assert list(one.tool_formats) == [*named, *syntax_formats()]
    own = tm.load("bfcl", category=("multiple",), wording="own")
    (message,), _ = own.tool_formats["prompt"].render_opening((), ())
    assert message.text.startswith(default_wording().styles["classic"]["persona"])
    wrong: dict[str, Any] = {"wording": "loud", "entries": "20", "formats": ()}
    for key, value in wrong.items():
        with pytest.raises(UsageError, match=key.removesuffix("s")):
            tm.load("bfcl", category=("format_sensitivity",), **{key: value})


def test_entries_are_judged_as_their_own_category_judges_them(asked: Suite, judge: Judge) -> None:
    wrong = [task for task in asked if judge(task, right(asked, task)).outcome == "incorrect"]
    # the official JSON decoder cuts this entry's list of objects short
    assert {(task.item, task.axes["call_form"]) for task in wrong} == {("simple_python_96", "json")}
    assert len(wrong) == 6


# --- the official conversation ----------------------------------------------------------


def test_what_cannot_be_executed_ends_the_turn(asked: Suite) -> None:
    prompt = asked.tool_formats["prompt"]
    reading = prompt.parse_reply(Reply(text="[f(a={})]"), ())
    assert reading.fault and not reading.calls
    assert prompt.parse_reply(Reply(text="[f(a={'b': 1})]"), ()).calls


def test_results_are_one_message_in_python(asked: Suite) -> None:
    prompt = asked.tool_formats["prompt"]
    said = Reply(text="[f(a='x'), g()]")
    found = prompt.parse_reply(said, ()).calls
    _, heard = prompt.render_results(said, found, (Result(parts=(Text("it's"),)), Result()))
    assert heard.text == (
        "[{'role': 'tool', 'name': \"f(a='x')\", 'content': \"it's\"}, "
        "{'role': 'tool', 'name': 'g()', 'content': ''}]"
    )
    assert len(prompt.render_results(Reply(text="Done."), (), ())) == 1


def test_late_tools_are_one_message_in_python(asked: Suite) -> None:
    tool = Tool(name="f", description="Does it.", source={"name": "f", "x": True})
    said = Message(role="user", parts=(Text("Go on."),))
    (message,), offered = asked.tool_formats["prompt"].render_turn((said,), (tool,))
    assert offered == ()
    assert message.text == "[{'name': 'f', 'x': True, 'description': 'Does it.'}]\nGo on."
    assert asked.tool_formats["prompt"].render_turn((said,), ()) == ((said,), ())


# --- modes ------------------------------------------------------------------------------

VERBOSE, CONCISE = name(call_form="verbose_xml"), name(call_form="concise_xml")


@pytest.mark.parametrize(
    ("config", "spoil", "mode", "said"),
    [
        (CONCISE, lambda t: t.replace('"boolean"', '"bool"'), "type_label", "'bool'"),
        (name(has_tag=True), lambda t: t.replace("</TOOLCALL>", ""), "unclosed_tag", "<TOOLCALL>"),
        (VERBOSE, lambda t: t.replace("</functions>", ""), "unclosed_tag", "<functions>"),
        (VERBOSE, lambda t: t.replace("</params>", ""), "unclosed_tag", "<params>"),
        (name(call_form="json"), lambda t: "[f(a=1)]", "other_format", "reads as python"),
        (name(), lambda t: '[{"function": "f", "parameters": {}}]', "other_format", "json"),
        (name(has_tag=True), lambda t: t[10:-11], "other_format", "python without a tag"),
        (CONCISE, lambda t: "<functions><cell_biology.function_lookup/></functions>",
         "invented_tag", "<cell_biology.function_lookup>"),
        (name(has_tag=True), lambda t: t.replace("TOOLCALL", "tool_call"),
         "invented_tag", "tool_call"),
        (name(call_form="json"), lambda t: t.replace('"', "'"), "quoting", "JSON quotes"),
        (name(), lambda t: t.replace("'", "\\'"), "quoting", "backslashes"),
        (name(), lambda t: t.replace("'ATP", "“ATP").replace("ase'", "ase”"), "quoting", "plain"),
        (VERBOSE, lambda t: t.replace("ATP ", "ATP & "), "quoting", "& and < escaped"),
        (CONCISE, lambda t: t.replace("ATP ", "ATP < "), "quoting", "& and < escaped"),
    ],
)  # fmt: skip
def test_each_mode_is_found_with_its_evidence(
    asked: Suite,
    variants: dict[str, Task],
    judge: Judge,
    config: str,
    spoil: Callable[[str], str],
    mode: str,
    said: str,
) -> None:
    task = variants[config]
    verdict = judge(task, spoil(right(asked, task)))
    assert verdict.outcome == "incorrect"
    first, *others = verdict.labels
    assert first.primary and first.cause == "format"
    assert not first.suite_cause.startswith("format:")  # the official error type stays
    label = next(label for label in others if label.suite_cause == f"format:{mode}")
    assert said in label.evidence and not label.primary
    assert verdict.parts[f"format:{mode}"] == 1.0


def test_calls_in_invented_tags_are_found(asked: Suite, judge: Judge) -> None:
    task = next(
        t for t in asked if t.item.startswith("parallel_") and t.tool_format == name(has_tag=True)
    )
    prompt = asked.tool_formats[task.tool_format]
    verdict = judge(task, "\n".join(prompt.render_calls([call]).text for call in calls(task)))
    assert verdict.parts == {"format:tag_per_call": 1.0}
    assert (verdict.labels[0].cause, verdict.outcome) == ("format", "incorrect")
    assert "one is due" in verdict.labels[1].evidence


def test_a_wrong_value_in_the_right_format_has_no_mode(
    asked: Suite, variants: dict[str, Task], judge: Judge
) -> None:
    for task in variants.values():
        verdict = judge(task, right(asked, task).replace("ATP", "DNA"))
        assert (verdict.outcome, verdict.parts) == ("incorrect", {})
        assert verdict.labels[0].cause == "wrong_value"


def test_words_and_right_answers_have_no_mode(
    asked: Suite, variants: dict[str, Task], judge: Judge
) -> None:
    for task in variants.values():
        assert judge(task, "None of these tools fits.").parts == {}
        assert judge(task, right(asked, task)).parts == {}


def test_calls_of_the_endpoints_own_are_another_format(variants: dict[str, Task]) -> None:
    (label,) = format_failure_modes.find_failure_modes(
        variants[name()], PromptVariant(), Reply(calls=(Call(name="f"),))
    )
    assert label.suite_cause == "format:other_format"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["<functions>" * 20_000, "<param " * 20_000, "[{" * 20_000, "“" * 99_999, "&" * 99_999,
             '<param type="' * 20_000, "\\" * 99_999, '="' * 20_000, "<param>" * 20_000,
             "<functions>" + '<param name="a">&' * 20_000 + "</functions>", "<function " * 20_000],
)  # fmt: skip
def test_hostile_text_is_diagnosed_in_little_time(
    variants: dict[str, Task], judge: Judge, text: str
) -> None:
    for config in (name(), name(call_form="json", has_tag=True), VERBOSE, CONCISE):
        assert judge(variants[config], text).outcome == "incorrect"


# --- the numbers ------------------------------------------------------------------------


def scored(wrong: Callable[[int, PromptVariant], bool], subset: bool = False) -> Columns:
    scores = []
    for index in range(40):
        for config in prompt_formats.official_format_names():
            form = prompt_formats.all_variants()[config]
            bad = wrong(index, form)
            axes = {"format": config, **prompt_formats.axis_levels(form)}
            axes |= {"subset": "yes" if index % 4 == 0 else "no"} if subset else {}
            verdict = Verdict(
                outcome="incorrect" if bad else "correct",
                value=float(not bad),
                parts={"format:quoting": 1.0} if bad else {},
            )
            scores.append(
                Score(
                    task=f"{config}:{index}",
                    item=f"i_{index}",
                    category=prompt_formats.CATEGORY,
                    axes=axes,
                    verdicts={"official": verdict},
                )
            )
    return gather_columns(scores, "official")


def half_wrong_in_json(index: int, form: PromptVariant) -> bool:
    return form.call_form == "json" and index % 2 == 0


def test_spread_is_the_official_one() -> None:
    measured = {
        m.name: m.measure for m in prompt_formats.format_metrics(scored(half_wrong_in_json))
    }
    table = scored(half_wrong_in_json)
    values = [1.0] * 20 + [0.5] * 6
    assert measured["format_max_delta"](table).value == 0.5
    assert measured["format_std"](table).value == pytest.approx(statistics.stdev(values))
    assert measured["json, tag, xml docs"](table).value == 0.5
    assert len(measured) == 28


def test_one_format_alone_has_no_spread() -> None:
    table = scored(half_wrong_in_json)
    one = table.where(table.axis("format") == name())
    assert [metric.name for metric in prompt_formats.format_metrics(one)] == [
        prompt_formats.short_label(name())
    ]
    assert prompt_formats.format_metrics(one.where(np.zeros(len(one), dtype=bool))) == []
    assert (
        format_sensitivity_tables.format_tables(
            {"official": one.where(np.zeros(len(one), dtype=bool))}
        )
        == []
    )


def test_an_axis_that_costs_is_found_and_one_that_does_not_is_not() -> None:
    found = {
        (axis, level): x
        for axis, level, _, x in format_sensitivity_tables.paired_drops(scored(half_wrong_in_json))
    }
    assert found["call_form", "json"].difference.value == pytest.approx(-0.5)
    assert found["call_form", "json"].p is not None and found["call_form", "json"].p < 1e-4
    assert found["call_form", "json"].n_items == 40
    for key in (
        ("call_form", "verbose_xml"),
        ("has_tag", "True"),
        ("tool_doc_form", "xml"),
        ("layout", "markdown"),
    ):
        assert found[key].difference.value == 0
    assert len(found) == 8


def test_only_twins_are_compared() -> None:
    """Markdown is asked with one format only: its twin is that format in plain text."""
    table = scored(lambda index, form: form.has_tag or form.tool_doc_form == "xml")
    found = {
        (axis, level): x for axis, level, _, x in format_sensitivity_tables.paired_drops(table)
    }
    assert found["layout", "markdown"].difference.value == 0
    assert found["has_tag", "True"].difference.value == pytest.approx(-2 / 3)


def test_chance_alone_makes_some_spread_and_a_real_one_exceeds_it() -> None:
    rng = np.random.default_rng(1)
    noise = (rng.random((200, 26)) < 0.7).astype(float)
    means = noise.mean(axis=0)
    limit, p = format_sensitivity_tables.shuffle_test(noise, float(means.max() - means.min()))
    assert 0.05 < limit < 0.3 and p > 0.05
    noise[:, 0] = 0.0
    limit, p = format_sensitivity_tables.shuffle_test(noise, 0.7)
    assert limit < 0.7 and p < 0.01


def test_the_report_tells_heat_spread_drops_flips_and_modes() -> None:
    made = format_sensitivity_tables.format_tables({"official": scored(half_wrong_in_json)})
    tables = {table.title: table for table in made if isinstance(table, Table)}
    heat = tables["Accuracy by prompt format"]
    assert len(heat.rows) == 26
    assert [row[-1] for row in heat.rows if str(row[0]).startswith("json")] == [0.5] * 6
    assert heat.n_shaded_columns == 1
    assert tables["Spread over prompt formats"].rows[0][1] == 50.0
    flips = tables["Items that flip with the prompt format (official)"]
    assert flips.head == ("item", "all", *format_sensitivity_tables.CALL_FORMS, "tag", "no tag")
    assert len(flips.rows) == 20
    assert flips.rows[0][1:4] == ("20 of 26", "8 of 8", "0 of 6")
    missed = tables["How replies missed their format (official)"]
    assert missed.rows == (("quoting", 0, 120, 0, 0, 120),)


def test_figure_1_needs_all_entries() -> None:
    def rising(index: int, form: PromptVariant) -> bool:
        return (
            index
            < 3
            * prompt_formats.official_format_names().index(prompt_formats.format_name(form))
            // 2
        )

    made = format_sensitivity_tables.format_tables({"official": scored(rising, subset=True)})
    (chart,) = (item for item in made if isinstance(item, Chart))
    assert chart.kind == "scatter"
    assert len(chart.series[0].x) == len(chart.series[0].y) == 26
    (table,) = (x for x in made if isinstance(x, Table) and x.title.startswith("Subset"))
    assert "r = 0.9" in table.note
    assert not any(
        isinstance(x, Chart) for x in format_sensitivity_tables.format_tables({"o": scored(rising)})
    )


def rising(index: int, form: PromptVariant) -> bool:
    return (
        index
        < 3 * prompt_formats.official_format_names().index(prompt_formats.format_name(form)) // 2
    )


def never(index: int, form: PromptVariant) -> bool:
    return False


def test_several_runs_share_one_heat_map() -> None:
    runs = {"a": scored(half_wrong_in_json), "b": scored(never), "c": scored(never)}
    runs["c"] = runs["c"].where(np.zeros(len(runs["c"]), dtype=bool))
    heat, spread = format_sensitivity_tables.tables_across_runs({"official": runs})
    assert isinstance(heat, Table) and isinstance(spread, Table)
    assert heat.head == ("format", "a", "b") and heat.n_shaded_columns == 2
    assert [row[1:] for row in heat.rows if str(row[0]).startswith("json")] == [(0.5, 1.0)] * 6
    assert "Without results here: c." in heat.note
    assert "same entries" not in heat.note
    assert [row[:2] for row in spread.rows] == [("a", 50.0), ("b", 0.0)]
    del runs["b"]
    assert format_sensitivity_tables.tables_across_runs({"official": runs}) == []


def test_a_format_that_a_run_was_not_asked_in_is_no_number() -> None:
    whole = scored(half_wrong_in_json)
    few = whole.where((whole.axis("call_form") == "json") & (whole.item != "i_0"))
    heat = format_sensitivity_tables.tables_across_runs({"official": {"a": whole, "b": few}})[0]
    assert isinstance(heat, Table)
    assert [row[2] is None for row in heat.rows].count(True) == 20
    assert "Not over the same entries" in heat.note and "a 40, b 39." in heat.note


def test_figure_1_over_several_runs_correlates_each_and_all() -> None:
    runs = {"a": scored(rising, subset=True), "b": scored(never, subset=True)}
    runs["c"] = scored(rising)
    made = format_sensitivity_tables.tables_across_runs({"official": runs})
    (chart,) = (item for item in made if isinstance(item, Chart))
    assert [(line.name, len(line.x)) for line in chart.series] == [("a", 26), ("b", 26)]
    table = made[-1]
    assert isinstance(table, Table)
    x = np.array([*chart.series[0].x, *chart.series[1].x])
    y = np.array([*chart.series[0].y, *chart.series[1].y])
    rows = {row[0]: row[1:] for row in table.rows}
    assert rows["a"][1] == pytest.approx(np.corrcoef(x[:26], y[:26])[0, 1])
    assert rows["b"] == (26, None, "0.0", 0.0)
    assert rows["all runs"][0] == 52
    assert rows["all runs"][1] == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert rows["all runs"][3] == pytest.approx(100 * abs(x - y).max(), abs=0.05)
    del runs["b"]
    assert not any(
        isinstance(x, Chart)
        for x in format_sensitivity_tables.tables_across_runs({"official": runs})
    )
