"""Variations: the same task asked otherwise, judged by the suite's own names, paired with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace as replace_fields
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
import pytest
from msgspec.structs import replace

import toolmark as tm
from toolmark.cli import console_output
from toolmark.core.errors import UsageError
from toolmark.core.records import Call, Reply, Request, Step, Table, Task, Trajectory
from toolmark.reports import markdown_summary
from toolmark.reports.episode_outcomes import read_scored_run
from toolmark.runs.floors.floor_records import read_floors
from toolmark.runs.planning import study_plan, study_planning
from toolmark.runs.planning.pilot_runs import read_pilot
from toolmark.runs.planning.study_plan import StudyGoal
from toolmark.runs.planning.study_planning import StudyRequest
from toolmark.runs.run_store import Run
from toolmark.runs.stored_presentation import read_presentation
from toolmark.runs.variations.own_names import UNOFFERED, restore_trajectory, show_reply
from toolmark.runs.variations.task_variations import vary_suite
from toolmark.runs.variations.tool_variations import vary_names
from toolmark.runs.variations.variation_kinds import KINDS, parse_kinds
from toolmark.suites.mfcl_speech import speech_scoring
from toolmark.suites.mfcl_vision import episode_scoring

TOOL_KINDS = ("tool_order", "names", "descriptions", "distractors", "strict", "wording")


def describe_tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {
        each: {"type": "string", "description": f"What {each[:2]} is."} for each in parameters
    }
    return {
        "name": name,
        "description": f"Do what is asked with {parameters[0][:3]}. Returns a text.",
        "parameters": {"type": "object", "properties": properties, "required": [*parameters]},
    }


ROWS = [
    {
        "id": f"row{n}",
        "question": f"What is the weather in town {n} this evening?",
        "tools": [describe_tool("get_weather", "town_name"), describe_tool("sendMail", "to")],
        "expected": [{"name": "get_weather", "arguments": {"town_name": f"town {n}"}}],
    }
    for n in range(6)
] + [
    {
        "id": f"other{n}",
        "question": f"Enter payment number {n}",
        "tools": [describe_tool("ledger.enter", "entryNumber"), describe_tool("brew", "cups")],
        "expected": [{"name": "ledger.enter", "arguments": {"entryNumber": str(n)}}],
    }
    for n in range(6)
]


def suite_of_rows() -> tm.Suite:
    return tm.expected_calls(ROWS)


def run_varied(tmp_path: Path, model: Any = "control/oracle", **settings: Any) -> Run:
    return tm.run(suite_of_rows(), model, log_dir=tmp_path, **settings)


def outcomes(run: Run) -> dict[str, bool]:
    return {s.task: all(v.outcome == "correct" for v in s.verdicts.values()) for s in run.scores()}


class Calendar(tm.Environment):
    """A calendar."""

    def __init__(self) -> None:
        self.events: list[list[Any]] = []

    @tm.tool
    def add_event(self, day_name: str, hour: int) -> str:
        """Add an event. It is stored.

        Args:
            day_name: Weekday.
            hour: Full hour.
        """
        self.events.append([day_name, hour])
        return "added"

    @tm.tool
    def clear_all(self) -> str:
        """Remove all events."""
        self.events.clear()
        return "cleared"

    def final_state(self) -> Any:
        return self.events


@tm.suite
def calendar() -> tm.Suite:
    """Appointments."""
    rows = [
        {"id": f"at{hour}", "question": f"Enter lunch on Monday at {hour}.",
         "expected": [["Monday", hour]],
         "solution": [{"name": "add_event", "arguments": {"day_name": "Monday", "hour": hour}}]}
        for hour in range(9, 13)
    ]  # fmt: skip
    return tm.Suite(
        tasks=tm.read_tasks(rows), environment=Calendar, scorer=tm.state_equals("expected")
    )


# --- the varied task is the same task ----------------------------------------------------


@pytest.mark.parametrize("tool_format", ["native", "prompt", "hermes", "qwen3_coder"])
def test_the_oracle_solves_every_variation_in_every_tool_format(
    tmp_path: Path, tool_format: str
) -> None:
    done = run_varied(tmp_path, vary=TOOL_KINDS, tool_format=tool_format)
    found = outcomes(done)
    assert all(found.values())
    assert {name.partition("@")[2] for name in found} == {"", *TOOL_KINDS}
    effects = done.summary()["variations"]
    assert {each["kind"]: each["difference"] for each in effects} == dict.fromkeys(TOOL_KINDS, 0)


def test_tools_of_a_class_of_environments_vary_too(tmp_path: Path) -> None:
    kinds = ("tool_order", "names", "descriptions", "strict")
    done = tm.run(calendar(), "control/oracle", log_dir=tmp_path, vary=kinds)
    assert all(outcomes(done).values()) and len(outcomes(done)) == 4 * 5
    states = {each.task: each.state for each in done.trajectories()}
    assert states["at9"] == states["at9@names"] == [["Monday", 9]]
    called = {t.task: t.steps[0].calls[0].name for t in done.trajectories()}
    assert called["at9"] == "add_event" != called["at9@names"], "stored as the model called it"


def test_a_funcbench_graph_is_solved_under_other_names(tmp_path: Path) -> None:
    loaded = tm.load("funcbench", core=4, depth=2, graphs=3, seed=1)
    done = tm.run(loaded, "control/oracle", log_dir=tmp_path, vary="names,tool_order,wording")
    assert all(outcomes(done).values()) and done.summary()["score"]["n"] == 3


def test_the_headline_and_its_parts_are_those_of_a_run_without_variations(tmp_path: Path) -> None:
    plain = run_varied(tmp_path, take_first_tool)
    varied = run_varied(tmp_path, take_first_tool, vary=TOOL_KINDS)
    assert plain.path != varied.path
    for name in ("score", "parts"):
        assert plain.summary()[name] == varied.summary()[name]
    counts = [console_output._episode_counts_text(each.summary()) for each in (plain, varied)]
    assert counts[0] == counts[1] == "n=12"
    tables = []
    for each in (plain, varied):
        shown = read_presentation(each)
        assert shown is not None
        tables.append({table.title for table in shown.tables if isinstance(table, Table)})
    assert tables[1] - tables[0] == {"Effect of variations"}
    assert {s.task for s in plain.scores()} < {s.task for s in varied.scores()}


# --- what a variation changes -------------------------------------------------------------


def varied_tasks(kind: str, suite: tm.Suite | None = None) -> dict[str, tuple[Task, Task]]:
    found = vary_suite(suite or suite_of_rows(), [kind])
    tasks = {task.id: task for task in found.maker.vary(found.tasks)}
    return {
        name: (task, tasks[f"{name}@{kind}"])
        for name, task in tasks.items()
        if f"{name}@{kind}" in tasks
    }


@pytest.mark.parametrize("kind", TOOL_KINDS)
def test_a_variation_changes_what_it_says_and_nothing_else(kind: str) -> None:
    pairs = varied_tasks(kind)
    assert len(pairs) == len(ROWS)
    for own, varied in pairs.values():
        assert (varied.category, varied.data) == (own.category, own.data)
        assert varied.item == (own.item or own.id)
        assert (varied.turns != own.turns) == (kind == "wording")
        assert (varied.tools != own.tools) == (kind != "wording")
        names = [[tool.name for tool in each.tools] for each in (own, varied)]
        match kind:
            case "tool_order":
                assert names[0] != names[1]
                assert sorted(own.tools, key=repr) == sorted(varied.tools, key=repr)
            case "names":
                assert not {*names[0]} & {*names[1]}
                assert [t.description for t in own.tools] == [t.description for t in varied.tools]
            case "distractors":
                assert varied.variation is not None
                assert {*names[0]} < {*names[1]} and len(varied.variation.distractors) == 2
            case "descriptions":
                text = json.dumps(msgspec.to_builtins([tool.parameters for tool in varied.tools]))
                assert "What" not in text and "Returns" not in varied.tools[0].description
                assert names[0] == names[1]
            case "strict":
                assert all(tool.extra_fields["strict"] for tool in varied.tools)
            case "wording":
                assert own.turns[0].messages[0].text in varied.turns[0].messages[0].text


def test_equal_seeds_vary_equally_and_other_seeds_otherwise() -> None:
    task = next(iter(suite_of_rows().tasks))
    assert vary_names(task, 1) == vary_names(task, 1)
    orders = [varied_tasks("distractors=1") for _ in range(2)]
    assert orders[0] == orders[1]


def test_a_name_that_a_user_says_stays() -> None:
    row = {**ROWS[0], "question": "Call get_weather for town 0."}
    (task,) = tm.expected_calls([row]).tasks
    assert vary_names(task, 0) == "a user's message names a tool"


def test_strict_applies_only_where_it_asks_for_nothing_else() -> None:
    optional = json.loads(json.dumps(ROWS[0]))
    optional["tools"][0]["parameters"]["required"] = []
    loaded = vary_suite(tm.expected_calls([optional, ROWS[1]]), ["strict"])
    assert [task.id for task in loaded.maker.vary(loaded.tasks)] == ["row0", "row1", "row1@strict"]


# --- how it is judged ---------------------------------------------------------------------


async def call_by_memory(request: Request) -> Reply:
    """Call the tool that the model knows, whatever is offered."""
    said = request.messages[-1].text
    town = said.partition("town ")[2].partition(" ")[0]
    arguments = json.dumps({"town_name": f"town {town}"})
    return Reply(calls=(Call(name="get_weather", arguments=arguments),))


async def take_first_tool(request: Request) -> Reply:
    said = request.messages[-1].text
    number = "".join(filter(str.isdigit, said))
    tool = request.tools[0]
    (name,) = tool.parameters["properties"]
    value = number if "ntry" in name else f"town {number}"
    return Reply(calls=(Call(name=tool.name, arguments=json.dumps({name: value})),))


def test_a_model_that_calls_by_memory_fails_under_other_names_alone(tmp_path: Path) -> None:
    done = run_varied(tmp_path, call_by_memory, ids=[f"row{n}" for n in range(6)], vary=TOOL_KINDS)
    effects = {each["kind"]: each["difference"] for each in done.summary()["variations"]}
    assert effects == {**dict.fromkeys(TOOL_KINDS, 0.0), "names": 1.0}
    assert done.summary()["score"]["value"] == 1


def test_a_model_that_takes_the_first_tool_shows_in_the_order(tmp_path: Path) -> None:
    done = run_varied(tmp_path, take_first_tool, vary="tool_order,descriptions")
    effects = {each["kind"]: each for each in done.summary()["variations"]}
    assert effects["tool_order"]["difference"] == 1 and effects["tool_order"]["low"] > 0
    assert effects["descriptions"]["difference"] == 0
    assert effects["tool_order"]["n"] == len(ROWS)


def test_a_call_of_a_distractor_is_an_error_and_reaches_no_environment(tmp_path: Path) -> None:
    loaded = vary_suite(suite_of_rows(), ["distractors"])
    varied = next(t for t in loaded.maker.vary(loaded.tasks) if t.variation)

    assert varied.variation is not None
    (name, *_) = varied.variation.distractors

    async def call_distractor(request: Request) -> Reply:
        return Reply(calls=(Call(name=name, arguments="{}"),))

    done = run_varied(tmp_path, call_distractor, ids=["row0"], vary="distractors")
    assert outcomes(done) == {"row0": False, "row0@distractors": False}


@pytest.mark.parametrize("task", [*suite_of_rows().tasks], ids=lambda task: task.id)
def test_names_are_restored_as_they_were_shown(task: Task) -> None:
    varied = vary_names(task, 0)
    assert isinstance(varied, Task) and varied.variation is not None
    for tool in task.tools:
        (parameter,) = tool.parameters["properties"]
        own = Call(name=tool.name, arguments=json.dumps({parameter: parameter}))
        shown = show_reply(varied.variation, Reply(calls=(own,)))
        texts = [f"[{c.name}({p}='x')]" for c in shown.calls for p in json.loads(c.arguments)]
        step = Step(reply=Reply(text=texts[0]), calls=shown.calls)
        asked = Trajectory(task=task.id, steps=(step,))
        restored = restore_trajectory(varied, asked).steps[0]
        assert restored.calls == (own,)
        assert restored.reply.text == f"[{tool.name}({parameter}='x')]"
        # some handlers send dots as underscores, and get them back so
        dotless = Call(
            name=shown.calls[0].name.replace(".", "_"), arguments=shown.calls[0].arguments
        )
        step = Step(reply=Reply(calls=(dotless,)), calls=(dotless,))
        restored = restore_trajectory(varied, Trajectory(task=task.id, steps=(step,))).steps[0]
        assert restored.calls[0].name == tool.name.replace(".", "_")
        assert restored.calls[0].arguments == own.arguments
        by_memory = Step(reply=Reply(text=f"[{tool.name}(x=1)]"), calls=(own,))
        marked = restore_trajectory(varied, Trajectory(task=task.id, steps=(by_memory,)))
        assert marked.steps[0].calls[0].name == UNOFFERED + tool.name
        assert marked.steps[0].reply.text == f"[{UNOFFERED}{tool.name}(x=1)]"


# --- variations count nowhere else --------------------------------------------------------


def test_another_number_of_distractors_changes_no_task_of_a_comparison(tmp_path: Path) -> None:
    one, two = (run_varied(tmp_path, take_first_tool, vary=f"distractors={n}") for n in (1, 2))
    found = tm.compare(one, two)
    assert found.n_changed == 0 and found.paired.p is not None


async def write_calls_as_text(request: Request) -> Reply:
    call = json.dumps({"name": request.tools[0].name, "arguments": {"town_name": "town 1"}})
    return Reply(text=f"<tool_call>\n{call}\n</tool_call>")


def test_calls_as_text_and_causes_are_counted_as_without_variations(tmp_path: Path) -> None:
    plain, varied = (
        run_varied(tmp_path, write_calls_as_text, vary=kinds) for kinds in ((), ("wording",))
    )
    assert "12 of 12 episodes" in plain.summary()["caution"]
    for name in ("caution", "foreign_calls"):
        assert varied.summary()[name] == plain.summary()[name]
    causes = []
    for run in (plain, varied):
        path = tmp_path / f"{run.path.name}.md"
        markdown_summary.append_markdown(read_scored_run(run), path)
        lines = path.read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if "cause of failure" in line)
        causes.append(lines[at : lines.index("To see more:")])
    assert causes[0] == causes[1]


def test_floors_are_not_played_on_variations(tmp_path: Path) -> None:
    done = run_varied(tmp_path, take_first_tool, vary=TOOL_KINDS)
    found = read_floors(done.path)
    assert found is not None and found.floors
    for floor in found.floors:
        assert {score.task for score in floor.scores} == {row["id"] for row in ROWS}


@pytest.mark.parametrize(
    ("name", "parameters", "make"),
    [
        ("mfcl-transcripts", {"items": 1, "conditions": ("said",)}, speech_scoring.make_scoring),
        ("mfcl-vision", {"items": 2, "variations": ("base",)}, episode_scoring.make_scoring),
    ],
)
def test_answers_to_variations_say_nothing_of_an_item_in_other_conditions(
    name: str, parameters: dict[str, Any], make: Callable[[Any], Any]
) -> None:
    loaded = vary_suite(tm.load(name, **parameters, seed=1), ["tool_order"])
    tasks = {task.id: task for task in loaded.maker.vary(loaded.tasks)}
    asked = [task for task in tasks.values() if task.variation is None]
    varied = [task for task in tasks.values() if task.variation is not None]
    assert asked and varied

    def controls(played: Sequence[Task]) -> Any:
        run = mock.Mock()
        run.trajectories.return_value = [Trajectory(task=task.id) for task in played]
        run.task = tasks.__getitem__
        return make(run).keywords["controls"]

    assert controls([*asked, *varied]) == controls(asked) != controls([])
    assert controls(varied) == controls([])


def test_an_axis_of_the_name_of_variations_is_refused(tmp_path: Path) -> None:
    tasks = [replace(task, axes={"vary": "x"}) for task in suite_of_rows().tasks]
    with pytest.raises(UsageError, match=r"the axis 'vary'.*next: another name"):
        tm.run(replace_fields(suite_of_rows(), tasks=tasks), "control/oracle", log_dir=tmp_path)


# --- what a user says ---------------------------------------------------------------------


async def err_at_half(request: Request) -> Reply:
    """Answer the tasks of one kind alone."""
    text = request.messages[-1].text
    town = text.partition("town ")[2].partition(" ")[0]
    call = Call(name="get_weather", arguments=json.dumps({"town_name": f"town {town}"}))
    return Reply(calls=(call,) if town else ())


def test_variations_are_of_the_items_that_a_plan_draws(tmp_path: Path) -> None:
    """The pilot's items leave the varied tasks too, and a varied pilot plans as a plain one."""
    plans = {}
    for name, kinds in {"plain": (), "varied": ("names",)}.items():
        suite = suite_of_rows()
        pilot = tm.run(suite, err_at_half, log_dir=tmp_path / name, sample=6, vary=kinds)
        request = StudyRequest(StudyGoal(half_width=0.3), (read_pilot(pilot.path, suite),))
        plans[name] = study_planning.plan_study(suite, request).plan
    assert plans["plain"].n_items == plans["varied"].n_items
    path = tmp_path / "plan.json"
    study_plan.write_study_plan(path, plans["varied"])
    run = run_varied(tmp_path / "study", plan=path, vary="names,tool_order")
    own = [task for task in run.tasks() if task.variation is None]
    assert len(own) == plans["varied"].n_items
    items = {task.item or task.id for task in own}
    assert items and not items & set(plans["varied"].excluded_items)
    for kind in ("names", "tool_order"):
        assert {task.item for task in run.tasks() if task.axes.get("vary") == kind} == items


def test_tasks_of_an_earlier_run_are_varied_once(tmp_path: Path) -> None:
    """`--tasks` takes the tasks of a run as the suite asked them; `--vary` varies these."""
    first = run_varied(tmp_path / "first", vary="names", sample=5)
    again = run_varied(tmp_path / "again", tasks=first.path, vary="names,tool_order")
    own = {task.id for task in first.tasks() if task.variation is None}
    assert {task.id for task in again.tasks() if task.variation is None} == own
    assert {task.id for task in again.tasks() if task.variation is not None} == {
        f"{name}@{kind}" for name in own for kind in ("names", "tool_order")
    }
    assert all(outcomes(again).values())
    plain = run_varied(tmp_path / "plain", tasks=first.path)
    assert {task.id for task in plain.tasks()} == own


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["name"], "no kind of variation 'name'; did you mean: names"),
        (["names", "names"], "twice"),
        (["names=3"], "only distractors takes a number"),
        (["distractors=0"], "1 to 500"),
        (["distractors="], "1 to 500"),
        ([""], "no kind of variation ''"),
    ],
)
def test_a_wrong_kind_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_kinds(words)


@pytest.mark.parametrize("kind", ["values", "tool_order"])
def test_a_kind_that_applies_to_no_task_is_refused_before_anything_is_asked(
    tmp_path: Path, kind: str
) -> None:
    one = [{**ROWS[0], "tools": ROWS[0]["tools"][:1]}]
    with pytest.raises(UsageError, match=f"--vary {kind} applies to no task of this run: "):
        tm.run(tm.expected_calls(one), "control/oracle", log_dir=tmp_path, vary=kind)
    assert [*tmp_path.iterdir()] == []


def test_the_run_says_how_many_tasks_a_kind_applies_to(tmp_path: Path) -> None:
    rows = [{**ROWS[0], "tools": ROWS[0]["tools"][:1]}, *ROWS[1:]]
    done = tm.run(tm.expected_calls(rows), "control/oracle", log_dir=tmp_path, vary="tool_order")
    message = "varied by tool_order: 11 tasks; not 1 (it offers one tool)"
    assert done.info.notes["variations"] == (message,)


def test_a_run_with_variations_continues_and_is_scored_again(tmp_path: Path) -> None:
    first = run_varied(tmp_path, vary="names")
    before = first.summary()
    tm.rescore(first, suite_of_rows().scorer)
    assert first.summary() == before
    (first.path / "summary.json").unlink()
    again = run_varied(tmp_path, vary="names")
    assert again.path == first.path and again.summary() == before


def test_every_kind_is_described() -> None:
    assert {*TOOL_KINDS, "values"} == {*KINDS}
