"""Published predictions come in whole and go out as they came; faults are named by their place."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import published_data
from tests.servers.mcp_fault import PNG
from tests.suites.m3.endpoints import Command

from toolmark.core import json_codec
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Image, Reply, Result, Step, Table, Task, Text, Trajectory
from toolmark.runs.run_store import Run
from toolmark.statistics.estimates import estimate_mean
from toolmark.statistics.score_columns import Columns, gather_columns
from toolmark.studio import m3_prediction_layout
from toolmark.suites.m3 import (
    call_outcomes,
    m3_scoring,
    m3_tables,
    prediction_files,
    published_tasks,
)

MEDIA = MediaStore(Path(mkdtemp(prefix="toolmark-test-")))
ID = "00010000"


def call(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "arguments": {"x": 1}, **more}


def steps(*sizes: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {"step": at, "calls": [call(f"s/t{at}", **more) for _ in range(size)]}
        for at, size in enumerate(sizes, 1)
    ]


def truth(id: str = ID, **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "image": f"images/{id}.png",
        "type": "sights",
        "question": "Where?",
        "steps": steps(2, 1),
        "final_reply": "There.",
        **more,
    }


def prediction(id: str = ID) -> dict[str, Any]:
    """Return a prediction as the published code writes one: a lost round, then two good ones."""
    one = [call("s/t1", why="I must"), call("s/t1", arguments='{"y": 2}')]
    two = [call("s/t2", arguments=None)]
    made = [
        [{**one[0], "result": "fine"}, {**one[1], "result": "[Tool error] Unknown tool: s/t1"}],
        [{**two[0], "result": "Error executing tool t2: not found"}],
    ]
    works = [[], one, two]
    return {
        **truth(id),
        "steps": [{"step": at, "calls": calls} for at, calls in enumerate(made, 1)],
        "num_step": 2,
        "max_num_concurrent": 2,
        "dialogue": [
            {"prepare": f"s/t{at}: yes", "work": {"tool_calls": work}, "end": end}
            for at, (work, end) in enumerate(zip(works, ("no", "No.", "Yes"), strict=True))
        ],
    }


def asked(id: str = ID) -> Task:
    entry = published_tasks.TaskEntry(id=id, question="Where?", image=f"images/{id}.png")
    return published_tasks.make_task(entry, "Where?", MEDIA.folder, MEDIA, similarity="exact")


def through(entry: dict[str, Any]) -> Trajectory:
    """Return the episode as it comes back from the disk."""
    made = m3_prediction_layout.entry_to_trajectory(asked(), entry, MEDIA)
    return json_codec.decode_record(json_codec.encode_record(made), Trajectory)


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def back(made: Trajectory) -> dict[str, Any]:
    return m3_prediction_layout.trajectory_to_entry(asked(), made, MEDIA, imported=True)


# --- one entry --------------------------------------------------------------------------


def test_rounds_become_the_replies_that_they_were() -> None:
    made = through(prediction())
    assert [step.phase for step in made.steps] == [
        "plan", "process",
        "plan", "process", "decide",
        "plan", "process", "decide",
        "final",
    ]  # fmt: skip
    assert made.answer == made.steps[-1].reply.text == "There."
    assert made.state is None, "an entry as the published code writes it is all in the replies"
    said = m3_scoring.executed_calls(made, ())
    assert said.steps == [
        {"calls": [call("s/t1"), call("s/t1", arguments='{"y": 2}')]},
        {"calls": [call("s/t2", arguments=None)]},
    ]  # fmt: skip
    assert said.outcomes == ["success", "unknown_tool", "not_found"]
    assert said.others == ["illegal_format"]


def test_a_marked_error_is_one_and_keeps_its_mark_on_the_way_back() -> None:
    texts = ["[Tool error] gone", "[Tool error]", "[Tool error] [Tool error] x", " [Tool error] x"]
    found = []
    for text in texts:
        entry = truth(steps=steps(1, result=text))
        made = through(entry)
        found.append(made.steps[0].results[0])
        assert canonical(back(made)) == canonical(entry)
    assert [result.is_error for result in found] == [True, True, True, False]
    assert found[0].text == "gone"
    assert [call_outcomes.is_error_result(result) for result in found] == [True] * 4


def test_calls_beyond_the_step_were_not_executed() -> None:
    entry = prediction()
    entry["dialogue"][2]["work"]["tool_calls"].append(call("s/t3"))
    made = through(entry)
    last = [step for step in made.steps if step.calls][-1]
    assert (len(last.calls), len(last.results)) == (2, 1)
    assert m3_scoring.executed_calls(made, ()).others == ["illegal_format", "unknown_tool"]
    assert canonical(back(made)) == canonical(entry)


def test_of_a_dialogue_that_disagrees_the_steps_count() -> None:
    entry = prediction()
    entry["dialogue"][1]["work"]["tool_calls"][0]["name"] = "s/other"
    made = through(entry)
    assert [c["name"] for s in m3_scoring.executed_calls(made, ()).steps for c in s["calls"]] == [
        "s/t1", "s/t1", "s/t2",
    ]  # fmt: skip
    assert m3_scoring.executed_calls(made, ()).others == ["illegal_format"]
    assert canonical(back(made)) == canonical(entry)


def test_pictures_of_results_are_pictures_and_go_back_to_the_letter() -> None:
    collected = base64.b64encode(PNG).decode()
    text = json.dumps(
        {"text_parts": ["ö"], "json_parts": [], "images": [collected]}, ensure_ascii=False
    )
    for said, pictured in (
        (text, True),
        (text.replace(collected, "bm9uZQ=="), False),
        (text.replace(collected, "%"), False),
        (text.replace("[]", "[1]"), False),
        (text + " ", False),
    ):
        entry = truth(steps=steps(1, result=said))
        made = through(entry)
        parts = made.steps[0].results[0].parts
        assert any(isinstance(part, Image) for part in parts) == pictured
        assert canonical(back(made)) == canonical(entry)


TEXTS = st.text(st.characters(), max_size=6) | st.sampled_from(
    ["[Tool error] x", "[Tool error]", "\ud800", '{"tool_calls": []}', "\ufdd0d800", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={"arguments": VALUES, "result": TEXTS | VALUES, "why": VALUES},
)
STEPS = st.lists(
    st.fixed_dictionaries({"calls": st.lists(CALLS, max_size=3)}, optional={"step": VALUES}),
    max_size=3,
)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an entry, mostly with a dialogue that agrees with its steps."""
    stages: Any = draw(STEPS)
    works: list[Any] = [
        [{k: v for k, v in each.items() if k != "result"} for each in stage["calls"]]
        for stage in stages
    ]
    for at in draw(st.lists(st.integers(0, 3), max_size=2)):
        works.insert(at, [])
    if draw(st.booleans()) and works:
        works[-1].append(draw(CALLS))
    rounds = [
        draw(
            st.fixed_dictionaries(
                {"work": st.just({"tool_calls": work})},
                optional={"prepare": TEXTS, "end": TEXTS | st.none(), "more": VALUES},
            )
        )
        for work in works
    ]
    more = st.fixed_dictionaries(
        {"id": st.just(ID), "steps": st.just(stages)},
        optional={
            "dialogue": st.just(rounds),
            "final_reply": TEXTS | st.none(),
            "num_step": VALUES,
            "image": TEXTS,
            "extra": VALUES,
        },
    )
    return draw(more)


@settings(deadline=None)
@given(entries())
def test_every_entry_comes_back_as_it_was(entry: dict[str, Any]) -> None:
    before = deepcopy(entry)
    made = through(entry)
    assert canonical(back(made)) == canonical(before)
    stages = [stage["calls"] for stage in entry["steps"] if stage["calls"]]
    assert [len(step["calls"]) for step in m3_scoring.executed_calls(made, ()).steps] == list(
        map(len, stages)
    )


# --- an episode of our own --------------------------------------------------------------


def said(text: str, *calls: Call, results: Sequence[Result] = (), **more: Any) -> Step:
    return Step(reply=Reply(text=text), calls=calls, results=tuple(results), **more)


def test_an_episode_goes_out_and_comes_back_with_the_same_calls_and_results() -> None:
    shown = MEDIA.add_image(PNG, "image/png")
    made = Trajectory(
        task=ID,
        tool_format="native",
        answer="There.",
        steps=(
            said("I look.", Call(name="s/a", arguments='{"q": "ü"}'), Call(name="s/b"),
                 results=[Result(parts=(Text("1"),)), Result(parts=(Text("2"),), is_error=True)]),
            said("{torn", fault="not JSON"),
            said("", Call(name="s/c", arguments="{torn"), Call(name="s/over"),
                 results=[Result(parts=(Text("see"), shown))]),
            said("There."),
        ),
    )  # fmt: skip
    entry = m3_prediction_layout.trajectory_to_entry(asked(), made, MEDIA)
    assert (entry["num_step"], entry["max_num_concurrent"]) == (2, 2)
    assert [each["prepare"] for each in entry["dialogue"]] == ["I look.", "{torn", ""]
    assert [each["end"] for each in entry["dialogue"]] == ["no", "no", "yes"]
    assert [len(each["work"]["tool_calls"]) for each in entry["dialogue"]] == [2, 0, 2]
    again = through(json.loads(json.dumps(entry)))
    assert [step.results for step in again.steps if step.results] == [
        step.results for step in made.steps if step.results
    ]
    assert m3_scoring.executed_calls(again, ()) == m3_scoring.executed_calls(made, ())
    assert canonical(back(again)) == canonical(entry)


def test_a_call_that_was_asked_for_twice_is_one_round() -> None:
    made = Trajectory(
        task=ID,
        steps=(
            said("s/a: yes", phase="plan"),
            said("sorry", fault="not JSON", phase="process"),
            said('```json\n[{"name": "s/a", "arguments": null}]\n```', Call(name="s/a"),
                 results=[Result(parts=(Text("1"),))], phase="process"),
            said("Yes", phase="decide"),
            said("There.", phase="final"),
        ),
    )  # fmt: skip
    entry = m3_prediction_layout.trajectory_to_entry(asked(), made, MEDIA)
    work = {"tool_calls": [{"name": "s/a", "arguments": {}}]}
    assert entry["dialogue"] == [{"prepare": "s/a: yes", "work": work, "end": "Yes"}]


# --- files ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "reported"),
    [
        (prediction() | {"id": 7}, "$[1].id: expected str, got int; write it as a text"),
        ({"id": "00020000"}, "$[1]: missing field steps"),
        (truth("00020000", steps=[{"calls": [{"name": 1}]}]), "$[1].steps[0].calls[0].name: "),
        (truth("00020000", dialogue=[{"work": []}]), "$[1].dialogue[0].work: expected object"),
        (truth("00020000", final_reply=[]), "$[1].final_reply: "),
        ("text", "$[1]: expected object"),
        (truth("99990000"), "$[1]: no task '99990000' in the truths"),
        (prediction(), f"$[1]: {ID} stands already at $[0]"),
        (truth("00020000", more=json.loads("[" * 300 + "]" * 300)), "$[1]: nested deeper"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(
    wrong: Any, reported: str, toolmark: Command, tmp_path: Path
) -> None:
    truths = _file(tmp_path / "truths.json", [truth(), truth("00020000")])
    results = _file(tmp_path / "m_test_mcp_fuzzy.json", [prediction(), wrong])
    words = ("import", "m3", results, "--truths", truths, "--similarity", "exact",
             "--log-dir", tmp_path / "runs")  # fmt: skip
    strict = toolmark(*words)
    assert strict.code == 2 and reported in strict.err and not (tmp_path / "runs").exists()
    if "stands already" in reported:  # of two entries for one task neither counts
        results.write_text(json.dumps([prediction("00020000"), prediction(), wrong]))
    lenient = toolmark(*words, "--lenient", "--json")
    assert lenient.code == 3
    found = lenient.json
    assert (found["model"], found["n_run"], found["n_not_run"]) == ("m", 1, 1)
    assert found["parts"]["recall"]["value"] is not None


def _file(path: Path, collected: Any) -> Path:
    path.write_text(json.dumps(collected))
    return path


@pytest.mark.parametrize("text", ["", "[{", "7", "null", "[" * 200_000, '"x"', "[NaN", "\xff[]"])
def test_what_is_no_list_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(DataError, match=r"x\.json"):
        prediction_files.read_predictions(path)


def test_missing_predictions_are_listed_and_not_run(toolmark: Command, tmp_path: Path) -> None:
    truths = _file(tmp_path / "truths.json", [truth(), truth("00020000")])
    results = _file(tmp_path / "results.json", {"predictions": [prediction()]})
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs", "--json")  # fmt: skip
    assert said.code == 3 and "no prediction, not run: 00020000" in said.err
    found = said.json
    assert (found["n_run"], found["n_not_run"]) == (1, 1)
    lost = [each.failure for each in Run(Path(found["run_dir"])).attempts()]
    assert [(each.stage, each.kind) for each in lost] == [("import", "not_reached")]
    again = toolmark("score", found["run_dir"], "--json")
    assert again.json["parts"] == found["parts"]
    assert toolmark("report", found["run_dir"]).code == 0
    readings = _columns(found["run_dir"])
    assert {name: rows.run.tolist() for name, rows in readings.items()} == {
        "official": [True, False], "paper": [True, False], "fair": [True, True],
    }  # fmt: skip


def _columns(folder: str) -> dict[str, Columns]:
    return {
        name: gather_columns(Run(Path(folder)).scores(), name) for name in m3_scoring.GRADING_RULES
    }


def test_ten_truths_and_three_right_predictions_are_three_tenths_by_the_fair_rule(
    toolmark: Command, tmp_path: Path
) -> None:
    collected = [truth(f"000{n}0000") for n in range(10)]
    truths = _file(tmp_path / "truths.json", collected)
    results = _file(tmp_path / "results.json", collected[:3])
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs", "--json")  # fmt: skip
    readings = _columns(said.json["run_dir"])
    for name, worth in (("official", 1), ("fair", 0.3)):
        assert estimate_mean(readings[name], name).value == pytest.approx(worth)
        found = {
            part: m3_tables.pooled_measure(readings[name], part).value
            for part in m3_tables.ALIGNMENT_MEASURES
        }
        assert found.pop("precision") == 1, "no call was made that nobody asked for"
        assert found == {part: pytest.approx(worth) for part in found}
    causes = [str(cause) for cause in readings["fair"].cause if cause]
    assert causes == ["no_answer"] * 7


def test_what_is_not_run_for_another_reason_counts_by_no_rule(
    toolmark: Command, tmp_path: Path
) -> None:
    ids = (ID, "00020000", "00030000", "00040000")
    collected = [truth(id) for id in ids[:2]] + [truth(id, steps=[]) for id in ids[2:]]
    truths = _file(tmp_path / "truths.json", collected)
    wrong = truth(ids[1], steps=7)
    results = _file(tmp_path / "results.json", [prediction(), wrong, prediction(ids[2])])
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs", "--lenient", "--json")  # fmt: skip
    assert f"not run: {ids[2]}, {ids[3]}" in said.err, "references without calls"
    kinds = {each.task: each.failure.kind for each in Run(Path(said.json["run_dir"])).attempts()}
    assert kinds == {ids[1]: "torn", ids[2]: "preparation", ids[3]: "preparation"}
    assert all(rows.run.sum() == 1 for rows in _columns(said.json["run_dir"]).values())


def test_what_no_file_holds_is_not_shown_as_measured(toolmark: Command, tmp_path: Path) -> None:
    path = _file(tmp_path / "truths.json", [truth(), truth("00020000")])
    said = toolmark("import", "m3", path, "--truths", path, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs", "--json")  # fmt: skip
    readings = _columns(said.json["run_dir"])
    (work,) = (
        table for table in m3_tables.make_tables(readings)
        if isinstance(table, Table) and table.title.startswith("Tokens")
    )  # fmt: skip
    cells = {row[0]: row[1] for row in work.rows}
    assert cells["calls"] == 3
    for unknown in ("input tokens", "output tokens", "seconds of replies"):
        assert cells[unknown] is None


def test_without_its_encoder_an_import_leaves_nothing(toolmark: Command, tmp_path: Path) -> None:
    truths = _file(tmp_path / "truths.json", [truth()])
    results = _file(tmp_path / "results.json", [prediction()])
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "no_such_encoder",
                    "--log-dir", tmp_path / "runs")  # fmt: skip
    assert said.code == 2
    assert said.err.endswith("or --similarity exact, which needs none\n")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("flag", ["--truths", "results"])
def test_a_pipe_is_no_file_and_is_not_waited_on(
    flag: str, toolmark: Command, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    plain = _file(tmp_path / "plain.json", [truth()])
    results, truths = (
        (tmp_path / "pipe", plain) if flag == "results" else (plain, tmp_path / "pipe")
    )
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs")  # fmt: skip
    assert said.code == 2 and "pipe: not a file" in said.err


def test_predictions_go_out_as_they_came(toolmark: Command, tmp_path: Path) -> None:
    collected = [prediction(), truth("00020000", extra={"any": [1.0, 1, None]})]
    results = _file(tmp_path / "results.json", {each["id"]: each for each in collected})
    truths = _file(tmp_path / "truths.json", [truth(), truth("00020000")])
    said = toolmark("import", "m3", results, "--truths", truths, "--similarity", "exact",
                    "--log-dir", tmp_path / "runs", "-m", "some/model", "--json")  # fmt: skip
    assert said.code == 0, said.err
    found = said.json
    assert found["model"] == "some/model"
    assert toolmark("export", "m3", found["run_dir"], "-o", tmp_path / "back.json").code == 0
    assert canonical(json.loads((tmp_path / "back.json").read_text())) == canonical(collected)


def test_flags_of_the_other_kind_are_refused(toolmark: Command, tmp_path: Path) -> None:
    assert "known: bfcl, m3" in toolmark("import", "m4", tmp_path).err
    assert "--truths" in toolmark("import", "m3", tmp_path).err
    for flag in ("--truths", "--images"):
        assert flag in toolmark("import", "bfcl", tmp_path, flag, tmp_path).err
    said = toolmark("export", "m3", tmp_path, "-o", "x", "-m", "y")
    assert said.code == 2 and "--model" in said.err


def test_published_truths_score_themselves_as_published(toolmark: Command, tmp_path: Path) -> None:
    truths = published_data.unpack(published_data.M3_TRUTHS, tmp_path)
    said = toolmark("import", "m3", truths, "--truths", truths, "--similarity", "exact", "--last",
                    "--log-dir", tmp_path, "--json")  # fmt: skip
    assert said.code == 0, said.err
    found = said.json
    values = {name: part["value"] for name, part in found["parts"].items()}
    assert values.pop("order_consistency_cov") == pytest.approx(0.935055, abs=5e-7)
    assert values.pop("avg6") == pytest.approx((5 + 0.935055) / 6, abs=5e-7)
    assert values and set(values.values()) == {1.0}
    toolmark("export", "m3", found["run_dir"], "-o", tmp_path / "back.json")
    collected = {each["id"]: each for each in json.loads(truths.read_bytes())}
    assert canonical(json.loads((tmp_path / "back.json").read_text())) == canonical(
        list(collected.values())
    )
