"""Multi-turn: the tasks as published, the world, both readings, what a model cannot do to us."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.suites.bfcl.scripted_agents import call, first, judge, own

import toolmark as tm
from toolmark.agents.tool_loop import run_tool_loop
from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Reply, Sampling, Score, Task, Trajectory
from toolmark.formats.native_format import NATIVE_FORMAT
from toolmark.official_bfcl import (
    bfcl_controls,
    executable_calls,
    multi_turn_scoring,
    multi_turn_tasks,
    official_data,
    simulators,
    truth_replay,
)
from toolmark.statistics.score_columns import gather_columns
from toolmark.suites.bfcl import multi_turn_tables

LONG = "multi_turn_long_context"


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    entries, _ = multi_turn_tasks.read_tasks(
        official_data.fetch_wheel(), multi_turn_tasks.CATEGORIES
    )
    return {task.id: task for task in entries}


# --- the tasks --------------------------------------------------------------------------


def test_there_are_200_entries_in_each_category(tasks: dict[str, Task]) -> None:
    assert Counter(task.category for task in tasks.values()) == dict.fromkeys(
        multi_turn_tasks.CATEGORIES, 200
    )
    assert all(task.limits.steps == 21 for task in tasks.values())
    assert all(len(task.turns) == len(task.data["truth"]) for task in tasks.values())


def test_late_tools_come_with_their_turn_and_its_sentence(tasks: dict[str, Task]) -> None:
    late = Counter[int]()
    for task in tasks.values():
        for turn in task.turns:
            if turn.tools:
                late[len(turn.tools)] += 1
                assert "updated some more functions" in turn.messages[0].text
                assert len(turn.messages) == 1
                assert not {tool.name for tool in turn.tools} & {t.name for t in task.tools}
    assert late == {1: 182, 2: 14, 3: 4}


def test_entries_survive_a_round_trip(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_miss_func_0"]
    assert msgspec.json.decode(msgspec.json.encode(task), type=Task) == task


def test_what_was_read_is_on_record() -> None:
    _, hashes = multi_turn_tasks.read_tasks(official_data.fetch_wheel(), ["multi_turn_base"])
    assert "data/BFCL_v4_multi_turn_base.json" in hashes
    assert "possible_answer/BFCL_v4_multi_turn_base.json" in hashes
    assert "multi_turn_func_doc/math_api.json" in hashes


def test_a_wheel_without_simulators_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fetch the data again"):
        simulators.load_simulators(tmp_path)


def test_a_truth_that_is_no_literal_call_is_a_data_error() -> None:
    task = own(["GorillaFileSystem"], {}, [["cd(folder=open('x'))"]])
    with pytest.raises(DataError, match="cannot be read"):
        judge(task, [[]])


# --- the world --------------------------------------------------------------------------


async def play(task: Task, replies: list[Reply]) -> Trajectory:
    async with (
        multi_turn_tasks.open_environments(MediaStore(Path())) as site,
        site.open_environment(task, {}) as world,
    ):
        return await run_tool_loop(
            task, multi_turn_tasks.ScriptedModel(replies), NATIVE_FORMAT, world, Sampling()
        )


@pytest.mark.parametrize("category", multi_turn_tasks.CATEGORIES)
def test_the_oracle_plays_through_the_agent_and_passes(
    tasks: dict[str, Task], category: str
) -> None:
    for number in range(0, 200, 10):
        task = tasks[f"{category}_{number}"]
        played = asyncio.run(
            play(task, multi_turn_tasks.make_replies(multi_turn_tasks.expected_calls(task)))
        )
        assert not any(result.is_error for step in played.steps for result in step.results)
        assert {v.outcome for v in multi_turn_scoring.score_episode(task, played).values()} == {
            "correct"
        }
        assert set(played.state) == set(task.data["classes"])
        assert msgspec.json.decode(msgspec.json.encode(played), type=Trajectory) == played


def test_21_steps_are_executed_in_a_turn_and_then_the_episode_ends(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = asyncio.run(play(task, [Reply(calls=(call("pwd"),))] * 50))
    assert (len(played.steps), played.ending) == (21, "steps")
    verdict = multi_turn_scoring.score_episode(task, played)["official"]
    assert first(verdict) == ("over_limit", multi_turn_scoring.FORCE_TERMINATED)


def test_a_forced_stop_in_the_last_turn_is_scored_as_usual(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    plays = multi_turn_tasks.expected_calls(task)
    last = len(plays) - 1
    replies = multi_turn_tasks.make_replies(plays)[:-1] + [Reply(calls=(call("ls"),))] * 30
    played = asyncio.run(play(task, replies))
    assert (played.ending, played.steps[-1].turn) == ("steps", last)
    assert multi_turn_scoring.score_episode(task, played)["official"].outcome == "correct"


def test_an_outgrown_conversation_is_over_long(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = multi_turn_tasks.make_trajectory(task, multi_turn_tasks.expected_calls(task)[:2])
    played = msgspec.structs.replace(played, ending="over_long")
    assert first(multi_turn_scoring.score_episode(task, played)["official"]) == (
        "over_long",
        multi_turn_scoring.INFERENCE_ERROR,
    )


# --- nothing leaks ----------------------------------------------------------------------


def test_episodes_share_nothing() -> None:
    """Padding records and default arguments are what the official classes would share."""
    config = {"TravelAPI": {"access_token": "t", "token_expires_in": 9}}
    task = own(["TravelAPI", "TwitterAPI"], config, [[]], category=LONG)
    kit = truth_replay.load_simulators()
    card = next(iter(kit.padding["credit_card_list"]))
    booking = next(iter(kit.padding["booking_record"]))
    pay = {"access_token": "t", "insurance_type": "x", "booking_id": booking}

    async def both() -> tuple[Any, Any]:
        opened = multi_turn_tasks.MultiTurnEnvironments()
        async with (
            opened.open_environment(task, {}) as one,
            opened.open_environment(task, {}) as two,
        ):
            before = await two.final_state()
            spent = call("purchase_insurance", **pay, insurance_cost=5, card_id=card)
            assert not (await one.call(spent)).is_error
            login = call("authenticate_twitter", username="john", password="john123")
            for said in (login, call("post_tweet", content="hi")):
                await one.call(said)
                await two.call(login)
            await one.call(call("mention", tweet_id=0, mentioned_usernames=["@a"]))
            changed = await one.final_state()
            assert changed["TwitterAPI"]["tweets"]["0"]["mentions"] == ["@a"]
            assert changed["TravelAPI"] != before["TravelAPI"]
            await two.call(call("post_tweet", content="hi"))
            after = await two.final_state()
            assert after["TwitterAPI"]["tweets"]["0"]["mentions"] == []
            return before["TravelAPI"], after["TravelAPI"]

    before, after = asyncio.run(both())
    assert before == after


def test_scoring_twice_gives_the_same(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_long_context_150"]
    plays = multi_turn_tasks.expected_calls(task)
    wrong = [[], *plays[1:]]
    assert judge(task, wrong)["official"].outcome == "incorrect"
    assert judge(task, plays)["official"].outcome == "correct"
    assert judge(task, wrong) == judge(task, wrong)


# --- test models ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(multi_turn_tasks.FAULT_MAKERS))
def test_a_broken_play_fails_and_only_by_its_fault(tasks: dict[str, Task], kind: str) -> None:
    found = 0
    for number in range(0, 200, 20):
        task = tasks[f"multi_turn_base_{number}"]
        plays = multi_turn_tasks.find_failing_calls(task, kind)
        if plays is None:
            continue
        found += 1
        assert judge(task, plays)["official"].outcome == "incorrect"
        changed = [
            a != b for a, b in zip(plays, multi_turn_tasks.expected_calls(task), strict=True)
        ]
        assert sum(changed) == 1
    assert found or kind == "extra_call"


def test_every_reply_has_a_place_in_its_turn(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = multi_turn_tasks.make_trajectory(task, multi_turn_tasks.expected_calls(task))
    _, made = executable_calls.decode_both_ways(
        played, truth_replay.find_check(task).make_rewriter("model")
    )
    assert [len(steps) for steps in made] == [1] * len(task.turns)


# --- as part of the suite ---------------------------------------------------------------


def test_one_environment_factory_serves_several_families() -> None:
    suite = tm.load("bfcl", category=("multi_turn_base", "simple_python"))
    assert len(suite) == 600
    first_of: dict[str, Task] = {}
    for task in suite:
        first_of.setdefault(task.category, task)

    async def results() -> dict[str, str]:
        async with suite.environment.open(MediaStore(Path())) as site:
            said = {}
            for category, task in first_of.items():
                async with site.open_environment(task, {}) as world:
                    said[category] = (await world.call(call("pwd"))).text
            return said

    said = asyncio.run(results())
    assert said["simple_python"] == ""
    assert said["multi_turn_base"] == '{"current_working_directory": "/workspace"}'


@pytest.mark.parametrize("options", [{}, {"class": "missing_call", "rate": "1"}])
def test_the_test_models_know_multi_turn(tasks: dict[str, Task], options: dict[str, str]) -> None:
    task = tasks["multi_turn_base_0"]
    make = bfcl_controls.make_faulty if options else bfcl_controls.make_oracle
    played = asyncio.run(_asked(task, make(task, 0, options)))
    expected = "incorrect" if options else "correct"
    assert multi_turn_scoring.score_episode(task, played)["official"].outcome == expected


async def _asked(task: Task, model: Model) -> Trajectory:
    async with (
        multi_turn_tasks.open_environments(MediaStore(Path())) as site,
        site.open_environment(task, {}) as world,
    ):
        return await run_tool_loop(task, model, NATIVE_FORMAT, world, Sampling())


def test_the_report_shows_credit_and_calls_turn_by_turn(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    plays = multi_turn_tasks.expected_calls(task)
    half = multi_turn_tasks.make_trajectory(task, [*plays[:2], [], []])
    scores = [
        Score(
            task=str(n),
            item=str(n),
            category=task.category,
            verdicts=multi_turn_scoring.score_episode(task, played),
        )
        for n, played in enumerate((half, multi_turn_tasks.make_trajectory(task, plays)))
    ]
    [credit] = multi_turn_tables.credit_tables("official", gather_columns(scores, "official"))
    assert credit.rows == ((task.category, 2, 0.5, 0.75, 0, 0, 1, 0),)
    [shown] = multi_turn_tables.episode_tables(task, half)
    assert [row[0] for row in shown.rows] == [1, 1, 1, 2, 2, 3, 4, 4, 4, 4]
    assert shown.rows[0][1] == shown.rows[0][3] == "cd(folder=document)"
    assert shown.rows[-1][1] is None
