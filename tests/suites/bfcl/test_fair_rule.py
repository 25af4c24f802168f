"""The fair rule: where it differs from the official one, and where it must not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from toolmark.core.records import Call, Reply, Step, StopReason, Task, Trajectory, Verdict
from toolmark.formats.call_syntaxes import CallSyntax, call_syntaxes
from toolmark.formats.prompt_format import PromptVariant
from toolmark.official_bfcl import (
    bfcl_controls,
    errata,
    fair_rule,
    official_data,
    prompt_formats,
    reply_decoding,
    tool_schemas,
)
from toolmark.official_bfcl.bfcl_scoring import score_episode
from toolmark.official_bfcl.foreign_literals import spell_value
from toolmark.runs.run_scoring import score_episode as scored
from toolmark.runs.suite import Suite
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites.bfcl import rule_differences

Both = Callable[..., Mapping[str, Verdict]]
JSON = prompt_formats.format_name(PromptVariant(call_form="json"))


def played(task: Task, reply: Reply, tool_format: str) -> Trajectory:
    return Trajectory(task=task.id, tool_format=tool_format, steps=(Step(reply=reply),))


@pytest.fixture
def said(tasks: dict[str, Task]) -> Both:
    """Return both verdicts on a text."""

    def one(id_: str, text: str, tool_format: str = "prompt", stop: StopReason = "stop") -> Any:
        return score_episode(
            tasks[id_], played(tasks[id_], Reply(text=text, stop=stop), tool_format)
        )

    return one


@pytest.fixture
def called(tasks: dict[str, Task]) -> Both:
    """Return both verdicts on structured calls."""

    def one(id_: str, *calls: tuple[str, dict[str, Any]]) -> Any:
        made = tuple(Call(name=name, arguments=json.dumps(given)) for name, given in calls)
        return score_episode(tasks[id_], played(tasks[id_], Reply(calls=made), "native"))

    return one


def rules(verdicts: Mapping[str, Verdict]) -> tuple[str, str, set[str]]:
    found = {name.removeprefix("fair:") for name in verdicts["fair"].parts if "fair:" in name}
    return verdicts["official"].outcome, verdicts["fair"].outcome, found


AMENDED = "incorrect", "correct"
LOST = "correct", "incorrect"
AREA = "calculate_triangle_area"


def test_positional_arguments_take_the_schemas_names(said: Both) -> None:
    found = said("simple_python_0", f"[{AREA}(10, 5)]")
    assert rules(found) == (*AMENDED, {"positional"})
    (note,) = found["fair"].labels
    assert not note.primary and "missing_required" in note.evidence
    assert rules(said("simple_python_0", f"[{AREA}(10, height=5)]")) == (*AMENDED, {"positional"})
    assert rules(said("simple_python_0", f"[{AREA}(5, 10)]")) == ("incorrect", "incorrect", set())


@pytest.mark.parametrize("given", ["10, 5, 'units', 4", "10, base=10", "*[10], height=5"])
def test_positional_arguments_without_a_place_stay_wrong(said: Both, given: str) -> None:
    found = said("simple_python_0", f"[{AREA}({given})]")
    assert rules(found) == ("incorrect", "incorrect", set())


@pytest.mark.parametrize(
    "text",
    ["[f(1)]", "[f (a=1)]", "[f(g(1), a=2)]", "[f(1, a='f(b=1)')]", "[f (1, a='f(b=1)')]",
     "[f(a=1), f(2)]", "[f(\n1)]", "[f(*x)]", "[f(a=not 1)]", "[f(a=+1)]", "[f(a=~1)]",
     "[f(**x)]", "[f(a==1)]", "[f('a=1')]"],
)  # fmt: skip
@pytest.mark.parametrize("n_calls", [1, 2])
def test_what_may_have_been_misread_is_read_again(text: str, n_calls: int) -> None:
    said = played(Task(id="t", suite="bfcl", turns=()), Reply(text=text), "prompt")
    assert not reply_decoding.is_lossless(
        said, reply_decoding.DecodedReply([("f", {"a": 1})] * n_calls)
    )


def test_what_cannot_have_been_misread_is_not_read_again() -> None:
    task = Task(id="t", suite="bfcl", turns=())
    calls = [("a.f", {"b": "-"}), ("g", {})]
    said = played(task, Reply(text="[a.f(b='-'), g()]"), "prompt")
    assert reply_decoding.is_lossless(said, reply_decoding.DecodedReply(calls))
    assert (
        reply_decoding.decode_without_losses(task, said, reply_decoding.DecodedReply(calls)).calls
        == calls
    )


def test_an_argument_too_many_is_not_overlooked(said: Both) -> None:
    right = "base=10, height=5, unit='units'"
    assert said("simple_python_0", f"[{AREA}({right})]")["fair"].outcome == "correct"
    found = said("simple_python_7", "[math.hypot(4, 5, 6, x=4, y=5)]")
    assert found["fair"].outcome == found["official"].outcome


def test_signs_mean_what_python_says(said: Both) -> None:
    assert rules(said("simple_python_0", f"[{AREA}(base=+10, height=5)]")) == (*AMENDED, {"sign"})
    assert rules(said("simple_python_0", f"[{AREA}(base=~-11, height=5)]")) == (*AMENDED, {"sign"})
    assert rules(said("simple_python_0", f"[{AREA}(base=-10, height=5)]"))[1] == "incorrect"


def test_a_sign_that_is_officially_misread_into_the_truth_is_wrong(
    tasks: dict[str, Task], said: Both
) -> None:
    """+7 is not -7, although the official decoder reads it so."""
    for task in tasks.values():
        if task.category != "simple_python":
            continue
        ((name, given),) = bfcl_controls.expected_calls(task)
        low = next((k for k, v in given.items() if type(v) in (int, float) and v < 0), None)
        if low is None:
            continue
        shown = [f"{k}={'+' if k == low else ''}{abs(v) if k == low else v!r}"
                 for k, v in given.items()]  # fmt: skip
        assert rules(said(task.id, f"[{name}({', '.join(shown)})]")) == (*LOST, {"sign"})
        return
    pytest.fail("no truth holds a negative number")


def test_a_list_of_objects_is_read_to_its_end(tasks: dict[str, Task], said: Both) -> None:
    task = tasks["simple_python_96"]
    ((name, given),) = bfcl_controls.expected_calls(task)
    text = json.dumps([{"function": name, "parameters": given}])
    assert "}]" in text[:-2]
    assert rules(said(task.id, text, JSON)) == (*AMENDED, {"object_list"})


def test_parallel_calls_are_paired_as_well_as_possible(tasks: dict[str, Task]) -> None:
    first = tasks["simple_python_0"]
    task = Task(
        id="parallel_x", item="parallel_x", suite="bfcl", category="parallel", turns=(),
        tools=first.tools,
        data={"truth": [
            {AREA: {"base": [1, 2], "height": [5], "unit": [""]}},
            {AREA: {"base": [1], "height": [5], "unit": [""]}},
        ]},
    )  # fmt: skip
    calls = [Call(name=AREA, arguments=json.dumps({"base": b, "height": 5})) for b in (1, 2)]
    for order, expected in ((calls, (*AMENDED, {"best_match"})),
                            (calls[::-1], ("correct", "correct", set()))):  # fmt: skip
        found = score_episode(task, played(task, Reply(calls=tuple(order)), "native"))
        assert rules(found) == expected
    found = score_episode(task, played(task, Reply(calls=(calls[1], calls[1])), "native"))
    assert rules(found) == ("incorrect", "incorrect", set())


@pytest.mark.parametrize(
    ("id_", "key", "value"),
    [
        ("simple_java_85", "argv", 'new String[]{"/path/to/classes", "60"}'),
        ("simple_java_85", "argv", 'new String[] { "/path/to/classes", "60", }'),
        ("simple_java_22", "ids", "List.of(101L, 202L, 303L)"),
        ("simple_java_22", "ids", "new ArrayList<Long>(List.of(101L, 202L, 303L))"),
        ("simple_java_22", "ids", "java.util.Arrays.asList(101L, 202L, 303L)"),
        ("simple_java_81", "shouldContain", 'new ArrayList<String>(){ { this.add("GC pause"); } }'),
        ("simple_java_81", "shouldContain", 'java.util.Collections.singletonList("GC pause")'),
        ("simple_java_36", "parts",
         'Arrays.asList("userID", 42, "username", "johndoe", "isActive", true)'),
        ("simple_java_1", "params", 'Map.of("limit", 50, "schemaFilter", "public")'),
        ("simple_java_1", "params",
         'new HashMap<>(Map.ofEntries(Map.entry("limit", 50), '
         'Map.entry("schemaFilter", "public")))'),
        ("simple_java_64", "meta",
         'new HashMap<String, Object>() {{ put("format", "epoch_millis"); }}'),
    ],
)  # fmt: skip
def test_java_collections_mean_what_their_java_means(
    tasks: dict[str, Task], called: Both, id_: str, key: str, value: str
) -> None:
    ((name, given),) = bfcl_controls.expected_calls(tasks[id_])
    official, fairly, found = rules(called(id_, (name, {**given, key: value})))
    assert (official, fairly) == AMENDED
    assert found == {"amended" if id_ == "simple_java_64" else "java_collection"}
    bad = value.replace("101", "102").replace("path", "pat").replace("user", "use")
    bad = bad.replace("50", "51").replace("epoch", "epic").replace("pause", "")
    assert bad != value
    assert rules(called(id_, (name, {**given, key: bad})))[1] == "incorrect"


def test_a_letter_of_the_accepted_text_is_not_the_text(
    tasks: dict[str, Task], called: Both
) -> None:
    ((name, given),) = bfcl_controls.expected_calls(tasks["simple_java_64"])
    for meta in ("new HashMap<>()", 'new HashMap<>() {{ put("format", "e"); }}'):
        assert rules(called("simple_java_64", (name, {**given, "meta": meta}))) == (
            *LOST, {"amended"},
        )  # fmt: skip


def test_java_text_keeps_the_body_of_a_map(said: Both) -> None:
    text = (
        "[SQLCompletionAnalyzer.makeProposalsFromObject(object=Customers, useShortName=true, "
        'params=new HashMap<String, Object>() {{ put("limit", 50); put("schemaFilter", "public"); '
        "}})]"
    )
    assert rules(said("simple_java_1", text)) == (*AMENDED, {"foreign_text"})


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("[find_roots(a=1", "broken_call"),
        ("```python\n[get(x='\n```", "broken_call"),
        ("I will call [determine_body_mass_index(weight=, height=)].", "broken_call"),
        ("I cannot: determine_body_mass_index(weight, height) does not do that.", ""),
        ("[Note] none of the tools fits (sorry).", ""),
        ("No.", ""),
        ("", ""),
    ],
)
def test_a_broken_call_is_not_the_absence_of_calls(said: Both, text: str, rule: str) -> None:
    expected = (*LOST, {rule}) if rule else ("correct", "correct", set())
    assert rules(said("irrelevance_0", text)) == expected


@pytest.mark.parametrize(
    ("stop", "cause"),
    [("length", "over_limit"), ("malformed", "format"), ("over_long", "over_long"), ("stop", ""),
     ("refused", "")],
)  # fmt: skip
def test_a_reply_that_was_cut_is_not_the_absence_of_calls(
    said: Both, stop: StopReason, cause: str
) -> None:
    for tool_format in ("prompt", "native"):
        found = said("irrelevance_0", "Well", tool_format, stop)
        assert rules(found) == ((*LOST, {"cut_off"}) if cause else ("correct", "correct", set()))
        if cause:
            assert [x.cause for x in found["fair"].labels if x.primary] == [cause]


@pytest.mark.parametrize("syntax", call_syntaxes().syntaxes, ids=lambda each: each.name)
@pytest.mark.parametrize("tool_format", ["native", "prompt"])
@pytest.mark.parametrize("id_", ["irrelevance_0", "live_relevance_0-0-0"])
def test_a_call_of_an_offered_tool_counts_in_any_syntax(
    said: Both, tasks: dict[str, Task], syntax: CallSyntax, tool_format: str, id_: str
) -> None:
    text = re.sub(r"\bf\b", tasks[id_].tools[0].name, syntax.example)
    is_asked_for = tool_format == "prompt" and syntax.name == "pythonic"
    changed = LOST if id_ == "irrelevance_0" else AMENDED
    if not is_asked_for:
        assert rules(said(id_, text, tool_format)) == (*changed, {"foreign_call"})
    assert "foreign_call" not in rules(said(id_, syntax.example, tool_format))[2]


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
def test_a_call_that_is_only_thought_of_before_an_answer_is_no_call(
    said: Both, tasks: dict[str, Task], tool_format: str
) -> None:
    name = tasks["irrelevance_0"].tools[0].name
    call = f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>'
    considered = said("irrelevance_0", f"<think>{call}?</think>None fits.", tool_format)
    assert rules(considered) == ("correct", "correct", set())
    for swallowed in (f"<think>{call}", f"<think>{call}</think>\n"):
        assert rules(said("irrelevance_0", swallowed, tool_format)) == (*LOST, {"foreign_call"})


@pytest.mark.parametrize(
    "text", ["[no_function()]", "out_of_domain(user_query='Why?')", "[]", "None"]
)
def test_a_call_that_says_that_no_tool_fits_is_no_call(said: Both, text: str) -> None:
    found = said("irrelevance_0", text)
    assert found["fair"].outcome == "correct"
    assert rules(found)[2] <= {"abstention"}
    assert said("live_relevance_0-0-0", text)["fair"].outcome == "incorrect"


def test_unreadable_structured_calls_are_calls(tasks: dict[str, Task]) -> None:
    task = tasks["irrelevance_0"]
    for arguments in ("{", "[1]"):
        reply = Reply(calls=(Call(name="f", arguments=arguments),))
        assert rules(score_episode(task, played(task, reply, "native"))) == (*LOST, {"broken_call"})


BOTH = {"official", "fair"}


def test_entries_of_the_errata_are_set_aside_and_no_others(suite: Suite) -> None:
    aside = {
        task.id for task in suite if set(score_episode(task, Trajectory(task=task.id))) != BOTH
    }
    assert aside == set(errata.set_aside())
    assert all(errata.set_aside().values())


def test_right_answers_are_right_by_both_rules(suite: Suite) -> None:
    for task in suite:
        reply = bfcl_controls.make_oracle(task, 0, {}).reply  # type: ignore[attr-defined]
        verdicts = score_episode(task, played(task, reply, "native"))
        if "fair" not in verdicts or task.id in errata.errata().amended:
            continue
        assert verdicts["fair"].outcome == "correct", task.id
        agrees = verdicts["official"].outcome == "correct"
        assert agrees == (task.id not in errata.errata().satisfiable_with_collections)
        assert agrees == (verdicts["fair"] == verdicts["official"])


def natural(task: Task) -> tuple[str, dict[str, str]]:
    """Return the accepted call as a Java or JavaScript programmer would write its values."""
    (doc,), (truth,) = tool_schemas.published_docs(task), task.data["truth"]
    specs = doc["parameters"]["properties"]
    firsts = {
        key: next((x for x in options if x != ""), None)
        for key, options in next(iter(truth.values())).items()
    }
    built = {key: bfcl_controls._build_value(x) for key, x in firsts.items() if x is not None}
    return doc["name"], {
        key: spell_value(value, specs[key], task.category)[0] for key, value in built.items()
    }


def test_natural_java_and_javascript_pass_by_the_fair_rule(suite: Suite, called: Both) -> None:
    n_official = 0
    for task in suite:
        if task.category not in official_data.NON_PYTHON:
            continue
        verdicts = called(task.id, natural(task))
        n_official += verdicts["official"].outcome == "correct"
        if task.id not in errata.set_aside():
            assert verdicts["fair"].outcome == "correct", task.id
    assert n_official == 89 + 50  # as measured with the official checker


def test_the_tables_list_every_item_that_differs_with_its_reason(
    suite: Suite, tasks: dict[str, Task]
) -> None:
    texts = {
        "simple_python_0": f"[{AREA}(10, 5)]",
        "simple_python_1": "[f(",
        "irrelevance_0": "[f(",
        "live_simple_106-63-0": "[f()]",
    }
    rows = [
        scored(suite.scorer, tasks[id_], played(tasks[id_], Reply(text=text), "prompt"))
        for id_, text in texts.items()
    ]
    collected = {name: gather_columns(rows, name) for name in suite.scorer.rules}
    why, items = rule_differences.difference_tables(collected)
    assert items.rows == (
        ("simple_python_0", 0, "simple_function_checker:missing_required", "correct",
         fair_rule.CORRECTIONS["positional"]),
        ("irrelevance_0", 0, "correct", "irrelevance_error:broken_call",
         fair_rule.CORRECTIONS["broken_call"]),
        ("live_simple_106-63-0", 0, "simple_function_checker:wrong_func_name", "set aside",
         errata.set_aside()["live_simple_106-63-0"]),
    )  # fmt: skip
    assert sum(int(row[-1] or 0) for row in why.rows) == len(items.rows)
    assert [why.title, items.title] == [
        x.title for x in suite.scorer.presentation.tables(collected)
    ][-2:]
    assert rule_differences.difference_tables({"official": collected["official"]}) == []
