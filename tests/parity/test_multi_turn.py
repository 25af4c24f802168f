"""The official multi-turn evaluator and ours, side by side on damaged trajectories."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from tests.parity import damaged_replies
from tests.parity.process import asker

from toolmark.core import json_codec, seeds
from toolmark.core.records import Call, Reply, Step, Task, Trajectory
from toolmark.official_bfcl import (
    executable_calls,
    minimal_mpmath,
    multi_turn_scoring,
    multi_turn_tasks,
    official_data,
    simulators,
    truth_replay,
)

Made = tuple[str, Any]  # a call: name, and arguments or (native) their raw text
Played = list[list[list[Made]]]  # turn, step, call

ask = asker("official_turns.py")

NATIVE, TEXT = 4, 2  # trajectories per entry

WORDS = ("call cd(x)", "sort (file)", "a (b)", "f(", "mean(1)", "it's\n(ls)", '"x" (y)', "\\cd(")


@pytest.fixture(scope="module")
def tasks() -> list[tuple[Task, int]]:
    entries, _ = multi_turn_tasks.read_tasks(
        official_data.fetch_wheel(), multi_turn_tasks.CATEGORIES
    )
    return [(task, row % 200) for row, task in enumerate(entries)]


# --- damage -----------------------------------------------------------------------------


def played(task: Task, rng: Random) -> Played:
    """Return the truth, each turn in one step or in a step per call."""
    acts = truth_replay.TruthCheck(task).plain_truth
    one = seeds.draw_below(rng, 2) == 0
    made = []
    for turn in acts:
        calls: list[Made] = [(act.name, copy.deepcopy(dict(act.arguments))) for act in turn]
        made.append([calls] if one and calls else [[call] for call in calls])
    return made


def damage(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    steps = (drop, drop, value, value, value, keyword, rename, again, order, insert, turn, odd)
    for _ in range(seeds.draw_below(rng, 4)):
        made = seeds.draw_one(rng, steps)(made, task, others, rng)
    return made


def spot(made: Played, rng: Random) -> tuple[list[Made], int]:
    """Return a step and the place of one of its calls; an empty step where there is none."""
    steps = [step for turn in made for step in turn if step]
    if not steps:
        return [], 0
    step = seeds.draw_one(rng, steps)
    return step, seeds.draw_below(rng, len(step))


def drop(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    step, at = spot(made, rng)
    del step[at : at + 1]
    return made


def value(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    step, at = spot(made, rng)
    if step and step[at][1]:
        given = step[at][1]
        key = seeds.draw_one(rng, list(given))
        new = damaged_replies.value(given[key], rng)
        if seeds.draw_below(rng, 6) == 0:
            new = seeds.draw_one(rng, WORDS)
        given[key] = new
    return made


def keyword(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    step, at = spot(made, rng)
    if not step:
        return made
    name, given = step[at]
    keys = list(given)
    match seeds.draw_below(rng, 5):
        case 0 if keys:
            given.pop(seeds.draw_one(rng, keys))
        case 1:
            given["unasked"] = 1
        case 2 if keys:
            key = seeds.draw_one(rng, keys)
            given[f" {key}\n"] = given.pop(key)
        case 3 if keys:
            key = seeds.draw_one(rng, keys)
            given[seeds.draw_one(rng, ("class", "a b", "", key.upper()))] = given.pop(key)
        case _:
            step[at] = (name, dict(reversed(given.items())))
    return made


def rename(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    step, at = spot(made, rng)
    if step:
        name, given = step[at]
        tool = seeds.draw_one(rng, task.tools).name
        wild = (tool, tool, tool, f"{name}_v2", name.upper(), f"{name} ", f" {name}", "", "kill",
                f"x.{name}", "_load_scenario", "GorillaFileSystem.ls")  # fmt: skip
        step[at] = (seeds.draw_one(rng, wild), given)
    return made


def again(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    step, at = spot(made, rng)
    step[at:at] = copy.deepcopy(step[at : at + 1])
    return made


def order(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    turn = seeds.draw_one(rng, made)
    step, _ = spot(made, rng)
    if seeds.draw_below(rng, 2):
        seeds.shuffle_items(rng, turn)
    else:
        seeds.shuffle_items(rng, step)
    return made


def insert(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    """Put in a call: of another entry, or one that touches what the simulators share."""
    call = foreign(others, rng) if seeds.draw_below(rng, 2) else sharing(task, rng)
    if call is not None:
        turn = seeds.draw_one(rng, made)
        turn.insert(seeds.draw_below(rng, len(turn) + 1), [call])
    return made


def foreign(others: Sequence[Played], rng: Random) -> Made | None:
    step, at = spot(seeds.draw_one(rng, others), rng)
    return copy.deepcopy(step[at]) if step else None


def sharing(task: Task, rng: Random) -> Made | None:
    """Return a call that reaches padding records or a default argument, or draws a number."""
    classes = task.data["classes"]
    token = task.data["config"].get("TravelAPI", {}).get("access_token")
    padding = truth_replay.load_simulators().padding
    card = seeds.draw_one(rng, list(padding["credit_card_list"]))
    booking = seeds.draw_one(rng, list(padding["booking_record"]))
    pay = {"access_token": token, "insurance_type": "x", "booking_id": booking,
           "insurance_cost": 10, "card_id": card}  # fmt: skip
    ready: dict[str, tuple[Made, ...]] = {
        "TravelAPI": (
            ("purchase_insurance", pay),
            ("cancel_booking", {"access_token": token, "booking_id": booking}),
            ("get_all_credit_cards", {}),
        ),
        "TwitterAPI": (
            ("post_tweet", {"content": "x"}),
            ("mention", {"tweet_id": seeds.draw_below(rng, 12), "mentioned_usernames": ["@a"]}),
            ("get_user_tweets", {"username": "john"}),
        ),
        "VehicleControlAPI": (
            ("get_outside_temperature_from_google", {}),
            ("get_current_speed", {}),
        ),
        "GorillaFileSystem": (
            ("cp", {"source": "temp", "destination": "temp"}),
            ("cd", {"folder": ".."}),
            ("find", {"path": "."}),
        ),
    }
    found = [call for name in classes for call in ready.get(name, ())]
    return copy.deepcopy(seeds.draw_one(rng, found)) if found else None


def turn(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    at = seeds.draw_below(rng, len(made))
    match seeds.draw_below(rng, 6):
        case 0:
            return made[:-1] if len(made) > 1 else made
        case 1:
            return [*made, copy.deepcopy(made[at])]
        case 2:
            made[at].append([])
        case 3:
            made[at], made[at - 1] = made[at - 1], made[at]
        case _:
            made[at] = []
    return made


def odd(made: Played, task: Task, others: Sequence[Played], rng: Random) -> Played:
    """Make arguments that are not a JSON object."""
    step, at = spot(made, rng)
    if step:
        wild = ("{", "[1]", "null", '"{}"', "", '{"a": NaN}', '{"a": 1e999}', "{}x")
        step[at] = (step[at][0], {"": seeds.draw_one(rng, wild)})
    return made


# --- the two forms ----------------------------------------------------------------------


def raw(given: Any) -> str:
    """Return arguments as raw JSON text; Python values that JSON lacks become text."""
    if set(given) == {""} and isinstance(given[""], str):
        return str(given[""])
    return json.dumps({str(key): x for key, x in given.items()}, default=repr, ensure_ascii=False)


def native(made: Played) -> tuple[list[Any], list[tuple[int, Reply]]]:
    result: list[Any] = []
    replies: list[tuple[int, Reply]] = []
    for at, steps in enumerate(made):
        reported: list[Any] = []
        for step in steps:
            reported.append([{name: raw(given)} for name, given in step])
            calls = tuple(Call(name=name, arguments=raw(given)) for name, given in step)
            replies.append((at, Reply(calls=calls)))
        reported.append("Done.")
        replies.append((at, Reply(text="Done.")))
        result.append(reported)
    return result, replies


def text(made: Played, rng: Random) -> tuple[list[Any], list[tuple[int, Reply]]]:
    result: list[Any] = []
    replies: list[tuple[int, Reply]] = []
    for at, steps in enumerate(made):
        reported = [written(step, rng) for step in steps] + ["Done."]
        replies += [(at, Reply(text=json_codec.escape_surrogates(said))) for said in reported]
        result.append(reported)
    return result, replies


def written(step: list[Made], rng: Random) -> str:
    calls = []
    for name, given in step:
        parts = [f"{key}={x!r}" for key, x in given.items()]
        if parts and seeds.draw_below(rng, 12) == 0:
            parts[0] = repr(next(iter(given.values())))
        calls.append(f"{name}({', '.join(parts)})")
    line = f"[{', '.join(calls)}]"
    wrap = ("{}", "{}", "{}", "{}", "```{}```", "Sure: {}", "```python\n{}\n```", "{}\n")
    return str(seeds.draw_one(rng, wrap)).replace("{}", line)


def judged(task: Task, tool_format: str, replies: list[tuple[int, Reply]]) -> list[Any]:
    steps = tuple(Step(reply=reply, turn=at, calls=reply.calls) for at, reply in replies)
    verdict = multi_turn_scoring.score_episode(
        task, Trajectory(task=task.id, tool_format=tool_format, steps=steps)
    )["official"]
    primary = [label.suite_cause for label in verdict.labels if label.primary]
    return [verdict.outcome == "correct", primary[0] if primary else ""]


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.long)])
def test_official_verdicts_and_error_types_are_equal(
    tasks: list[tuple[Task, int]], capsys: pytest.CaptureFixture[str], every: int
) -> None:
    jobs: list[Any] = []
    ours: list[Any] = []
    chosen = tasks[::every]
    truths = [played(task, seeds.make_rng(0, task.id, 0, "truth")) for task, _ in chosen]
    for task, row in chosen:
        for repeat in range(NATIVE + TEXT):
            rng = seeds.make_rng(0, task.id, repeat, "damage")
            made = damage(played(task, rng), task, truths, rng)
            form = "native" if repeat < NATIVE else "text"
            result, replies = native(made) if form == "native" else text(made, rng)
            jobs.append(["judge", task.category, row, form, result])
            ours.append(judged(task, "native" if form == "native" else "prompt", replies))
    theirs = ask(jobs)
    apart = Counter(x[0] for x in theirs if isinstance(x[0], str))
    pairs = [(j, a, b) for j, a, b in zip(jobs, ours, theirs, strict=True) if b[0] in (True, False)]
    unequal = [pair for pair in pairs if pair[1] != pair[2]]
    with capsys.disabled():
        kinds = Counter(str(b[1]) for _, _, b in pairs)
        print(f"\nmulti-turn: {len(pairs)} trajectories compared, apart {dict(apart)}, {kinds}")
    assert not unequal, unequal[:3]
    assert len(pairs) >= 4000 / every
    assert min(Counter(job[1] for job, _, _ in pairs).values()) >= 1000 / every
    assert sum(apart.values()) < 0.05 * len(jobs)


def test_truths_pass_by_both_rules_and_silence_fails(tasks: list[tuple[Task, int]]) -> None:
    for task, _ in tasks:
        right = multi_turn_scoring.score_episode(
            task, multi_turn_tasks.make_trajectory(task, multi_turn_tasks.expected_calls(task))
        )
        assert {verdict.value for verdict in right.values()} == {1.0}, task.id
        null = multi_turn_scoring.score_episode(
            task, multi_turn_tasks.make_trajectory(task, [[] for _ in task.turns])
        )
        assert {verdict.value for verdict in null.values()} == {0.0}, task.id


def test_source_is_rewritten_as_the_official_executor_does(tasks: list[tuple[Task, int]]) -> None:
    rng = seeds.make_rng(0, "source", 0, "test")
    jobs: list[Any] = []
    ours: list[str] = []
    for task, _ in tasks[::5]:
        rewrite = truth_replay.TruthCheck(task).make_rewriter("model")
        names = {name: rewrite.qualify_method(name).rpartition(".")[0] for name in rewrite.methods}
        for _ in range(20):
            said = damaged_replies.text(
                f"{seeds.draw_one(rng, WORDS)} {seeds.draw_one(rng, list(names))} (", rng
            )
            method = seeds.draw_one(rng, list(names))
            source = f"{method}(a={said!r}, b=[{seeds.draw_one(rng, WORDS)!r}])"
            jobs.append(["source", source, names])
            ours.append(rewrite(source))
    assert ours == ask(jobs)


def test_logarithms_are_those_of_the_library() -> None:
    mpmath = pytest.importorskip("mpmath")
    module: Any = minimal_mpmath.make_mpmath_module()
    rng = seeds.make_rng(0, "logarithm", 0, "test")
    sizes: tuple[Any, ...] = (0, 1, 2, 3, 4, 5, 10, 14, 15, 16, 30, 100, -3, 2.0, "7")
    numbers: list[Any] = [20, 10, 3287.0, 6.0, 36.0, 630.0, 980.0, "20", 1, 10**25, 1e-7, 2**40]
    for odd in (None, [1], {"a": 1.5}, "A b", ""):
        assert _log(module, 3, odd, 2) == _log(mpmath, 3, odd, 2)
    for _ in range(3000):
        numbers_now = [*numbers, rng.random() * 1000, seeds.draw_between(rng, 1, 5000)]
        case = [seeds.draw_one(rng, x) for x in (sizes, numbers_now, numbers_now)]
        assert _log(module, *case) == _log(mpmath, *case), case


def _log(module: Any, digits: Any, value: Any, base: Any) -> str:
    module.mp.dps = digits
    try:
        return repr(module.log(value) / module.log(base))
    except ZeroDivisionError:
        return "zero"
    except TypeError as error:
        return str(error)


def test_tools_are_the_official_docs_with_their_hints(tasks: list[tuple[Task, int]]) -> None:
    for task, _ in tasks:
        late = [tool for turn in task.turns for tool in turn.tools]
        names = {tool.name for tool in (*task.tools, *late)}
        kinds = simulators.load_simulators(official_data.fetch_wheel()).classes
        methods = {m for name in task.data["classes"] for m in kinds[name].methods}
        assert names == methods
        assert not any("Python 3" in tool.description for tool in late)
        assert all("Python 3" in tool.description for tool in task.tools)


def test_truths_call_known_methods_with_literals(tasks: list[tuple[Task, int]]) -> None:
    assert all(
        executable_calls.parse_literal_call(call.strip())[0]
        in truth_replay.TruthCheck(task).methods
        for task, _ in tasks
        for turn in task.data["truth"]
        for call in turn
    )
