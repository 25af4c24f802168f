"""Multi-turn: the tasks as published, the world, both readings, what a model cannot do to us."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from toolmark.agents.loop import loop
from toolmark.dialects.native import NATIVE
from toolmark.errors import DataError
from toolmark.stats.columns import columns
from toolmark.suites.bfcl import (
    data,
    execution,
    instruments,
    multi_turn,
    replay,
    simulators,
    turn_tables,
    turns,
)
from toolmark.suites.bfcl import suite as bfcl
from toolmark.types import (
    Call,
    Model,
    Reply,
    Result,
    Sampling,
    Score,
    Step,
    Task,
    Trajectory,
    Verdict,
)

LONG = "multi_turn_long_context"


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    entries, _ = multi_turn.read(data.fetch(), multi_turn.CATEGORIES)
    return {task.id: task for task in entries}


def call(name: str, /, **given: Any) -> Call:
    return Call(name=name, arguments=json.dumps(given))


def judge(task: Task, plays: multi_turn.Plays) -> dict[str, Verdict]:
    return turns.score(task, multi_turn.trajectory(task, plays))


def first(verdict: Verdict) -> tuple[str, str]:
    return next((label.cause, label.native) for label in verdict.labels if label.primary)


def own(classes: list[str], config: dict[str, Any], truth: list[list[str]], **more: Any) -> Task:
    """Return a task of our own over the official simulators."""
    reference = {"classes": classes, "config": config, "truth": truth}
    return Task(id="multi_turn_base_9", suite="bfcl", turns=(), reference=reference, **more)


FILES = {"root": {"w": {"type": "directory", "contents": {"a": {"type": "file", "content": "x"}}}}}


# --- the tasks --------------------------------------------------------------------------


def test_there_are_200_entries_in_each_category(tasks: dict[str, Task]) -> None:
    assert Counter(task.category for task in tasks.values()) == dict.fromkeys(
        multi_turn.CATEGORIES, 200
    )
    assert all(task.limits.steps == 21 for task in tasks.values())
    assert all(len(task.turns) == len(task.reference["truth"]) for task in tasks.values())


def test_held_back_tools_come_with_their_turn_and_its_sentence(tasks: dict[str, Task]) -> None:
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
    _, hashes = multi_turn.read(data.fetch(), ["multi_turn_base"])
    assert "data/BFCL_v4_multi_turn_base.json" in hashes
    assert "possible_answer/BFCL_v4_multi_turn_base.json" in hashes
    assert "multi_turn_func_doc/math_api.json" in hashes


def test_a_wheel_without_simulators_is_a_data_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="fetch the data again"):
        simulators.load(tmp_path)


def test_a_truth_that_is_no_literal_call_is_a_data_error() -> None:
    task = own(["GorillaFileSystem"], {}, [["cd(folder=open('x'))"]])
    with pytest.raises(DataError, match="cannot be read"):
        judge(task, [[]])


# --- the world --------------------------------------------------------------------------


async def play(task: Task, replies: list[Reply]) -> Trajectory:
    async with multi_turn.site() as site, site.world(task, {}) as world:
        return await loop(task, multi_turn.Script(replies), NATIVE, world, Sampling())


@pytest.mark.parametrize("category", multi_turn.CATEGORIES)
def test_the_oracle_plays_through_the_agent_and_passes(
    tasks: dict[str, Task], category: str
) -> None:
    for number in range(0, 200, 10):
        task = tasks[f"{category}_{number}"]
        played = asyncio.run(play(task, multi_turn.script(multi_turn.right(task))))
        assert not any(result.is_error for step in played.steps for result in step.results)
        assert {v.outcome for v in turns.score(task, played).values()} == {"correct"}
        assert set(played.state) == set(task.reference["classes"])
        assert msgspec.json.decode(msgspec.json.encode(played), type=Trajectory) == played


def test_21_steps_are_executed_in_a_turn_and_then_the_episode_ends(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = asyncio.run(play(task, [Reply(calls=(call("pwd"),))] * 50))
    assert (len(played.steps), played.ending) == (21, "steps")
    verdict = turns.score(task, played)["official"]
    assert first(verdict) == ("over_limit", turns.FORCED)


def test_a_forced_stop_in_the_last_turn_is_scored_as_usual(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    plays = multi_turn.right(task)
    last = len(plays) - 1
    replies = multi_turn.script(plays)[:-1] + [Reply(calls=(call("ls"),))] * 30
    played = asyncio.run(play(task, replies))
    assert (played.ending, played.steps[-1].turn) == ("steps", last)
    assert turns.score(task, played)["official"].outcome == "correct"


def test_an_outgrown_conversation_is_over_long(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = multi_turn.trajectory(task, multi_turn.right(task)[:2])
    played = msgspec.structs.replace(played, ending="over_long")
    assert first(turns.score(task, played)["official"]) == ("over_long", turns.INFERENCE)


# --- nothing leaks ----------------------------------------------------------------------


def test_episodes_share_nothing() -> None:
    """Padding records and default arguments are what the official classes would share."""
    config = {"TravelAPI": {"access_token": "t", "token_expires_in": 9}}
    task = own(["TravelAPI", "TwitterAPI"], config, [[]], category=LONG)
    kit = replay.kit()
    card = next(iter(kit.padding["credit_card_list"]))
    booking = next(iter(kit.padding["booking_record"]))
    pay = {"access_token": "t", "insurance_type": "x", "booking_id": booking}

    async def both() -> tuple[Any, Any]:
        opened = multi_turn.Site()
        async with opened.world(task, {}) as one, opened.world(task, {}) as two:
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


def test_only_the_official_reading_lets_the_sides_share_within_a_check() -> None:
    """The model's mention lands in the truth's tweet, too: the official states are one object."""
    config = {"TwitterAPI": {"authenticated": True}}
    task = own(["TwitterAPI"], config, [["post_tweet(content='x')"]])
    mention = call("mention", tweet_id=0, mentioned_usernames=["@a"])
    verdicts = judge(task, [[call("post_tweet", content="x"), mention]])
    assert verdicts["official"].outcome == "incorrect"
    assert first(verdicts["official"]) == ("response", replay.RESPONSE)
    assert first(verdicts["fair"]) == ("state", replay.STATE)


def test_scoring_twice_gives_the_same(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_long_context_150"]
    plays = multi_turn.right(task)
    wrong = [[], *plays[1:]]
    assert judge(task, wrong)["official"].outcome == "incorrect"
    assert judge(task, plays)["official"].outcome == "correct"
    assert judge(task, wrong) == judge(task, wrong)


# --- verdicts ---------------------------------------------------------------------------


def files(truth: list[list[str]]) -> Task:
    return own(["GorillaFileSystem"], {"GorillaFileSystem": FILES}, truth)


def test_each_fault_has_its_cause_and_points_at_the_first_divergent_call() -> None:
    task = files([["mkdir(dir_name='b')"], ["cat('a')"]])
    make, show = call("mkdir", dir_name="b"), call("cat", file_name="a")
    assert judge(task, [[make], [show]])["official"].outcome == "correct"
    empty = judge(task, [[make], []])["official"]
    assert first(empty) == ("no_answer", replay.EMPTY)
    state = judge(task, [[call("mkdir", dir_name="c")], [show]])["official"]
    assert first(state) == ("state", replay.STATE)
    assert "GorillaFileSystem.root" in state.labels[0].evidence
    assert "mkdir(dir_name=c) instead of mkdir(dir_name=b)" in state.labels[0].evidence
    assert state.labels[1].cause == "wrong_value"
    response = judge(task, [[make], [call("ls")]])["official"]
    assert first(response) == ("response", replay.RESPONSE)
    assert response.labels[1].cause == "missing_call"


def test_extra_calls_that_change_nothing_are_free() -> None:
    task = files([["cat('a')"]])
    plays = [[call("ls"), call("pwd"), call("nonsense"), call("cat", file_name="a")]]
    assert {v.outcome for v in judge(task, plays).values()} == {"correct"}


def test_a_result_of_an_earlier_turn_counts_but_only_once() -> None:
    task = files([["ls()"], ["cat('a')"]])
    show = call("cat", file_name="a")
    assert judge(task, [[call("ls"), show], [call("pwd")]])["official"].outcome == "correct"
    twice = files([["cat('a')", "cat('a')"]])
    assert judge(twice, [[show]])["official"].outcome == "incorrect"
    assert judge(twice, [[show, show]])["official"].outcome == "correct"


def test_turns_that_expect_nothing_are_not_checked_and_give_no_credit() -> None:
    task = files([[], ["mkdir(dir_name='b')"]])
    parts = judge(task, [[], []])["official"].parts
    assert (parts["turns"], parts["turns_checked"], parts["first_failed_turn"]) == (0.0, 1.0, 2.0)
    early = judge(task, [[call("mkdir", dir_name="b")], [call("ls")]])
    assert early["official"].outcome == "correct"  # acting early is not itself penalised


def test_partial_credit_is_the_share_of_turns() -> None:
    task = files([["cat('a')"], ["ls()"], ["mkdir(dir_name='b')"]])
    verdict = judge(task, [[call("cat", file_name="a")], [call("ls")], []])["official"]
    assert verdict.value == 0.0
    assert verdict.parts["turns"] == pytest.approx(2 / 3)
    assert verdict.parts["first_failed_turn"] == 3.0


def test_an_unreadable_call_spoils_its_step_in_the_official_reading_only() -> None:
    task = files([["cat('a')"]])
    broken = Call(name="ls", arguments="{")
    verdicts = judge(task, [[call("cat", file_name="a"), broken]])
    assert verdicts["official"].outcome == "incorrect"
    assert verdicts["fair"].outcome == "correct"


def test_words_before_brackets_lose_their_blanks_in_the_official_reading_only() -> None:
    task = own(["MessageAPI"], {"MessageAPI": {"current_user": "USR001"}}, [[
        "send_message(receiver_id='USR002', message='see you(soon)')"
    ]])  # fmt: skip
    plays = [[call("send_message", receiver_id="USR002", message="see you (soon)")]]
    verdicts = judge(task, plays)
    assert verdicts["official"].outcome == "correct"
    assert first(verdicts["fair"]) == ("state", replay.STATE)


def text(task: Task, *said: str) -> Verdict:
    steps = tuple(Step(reply=Reply(text=x), turn=turn) for turn, x in enumerate(said))
    return turns.score(task, Trajectory(task=task.id, dialect="prompt", steps=steps))["official"]


def test_text_is_decoded_as_the_official_evaluator_does() -> None:
    task = files([["mkdir(dir_name='b')"], ["cat('a')"]])
    assert text(task, "[mkdir(dir_name='b')]", "cat(file_name='a')").outcome == "correct"
    assert text(task, "[mkdir(dir_name='b')]", "[cat('a')]").outcome == "incorrect"
    assert text(task, "Sure: [mkdir(dir_name='b')]", "x").outcome == "incorrect"
    nested = "[mkdir(dir_name={'cat': {'file_name': 'a'}})]"
    assert first(text(task, nested, "[cat(file_name='a')]")) == ("state", replay.STATE)


# --- security ---------------------------------------------------------------------------


def hostile(canary: Path) -> list[str]:
    return [
        f"__import__('os').system('touch {canary}')",
        f"mkdir(dir_name=__import__('os').system('touch {canary}'))",
        f"open(file='{canary}', mode='w')",
        f"[cd.__globals__['__builtins__']['open'](file='{canary}', mode='w')]",
        f"mkdir(dir_name=[x for x in open('{canary}', 'w')])",
        f"mkdir(dir_name=open('{canary}', 'w') + 1)",
        f"mkdir(dir_name={{'open': {{'file': '{canary}', 'mode': 'w'}}}})",
        "power(base=9**9**9, exponent=1)",
        "power(base=9, exponent=999999999999)",
        "round_number(number=1, decimal_places=-99999999999)",
        "square_root(number=2, precision=99999999999)",
        "logarithm(value=2, base=3, precision=99999999999)",
        "logarithm(value='1e999999999', base=3, precision=9)",
        "add(a=" + "9" * 10_000 + ", b=1)",
        "cat(file_name='../../../../etc/passwd')",
        "cd(folder='/etc')",
        "mkdir(dir_name=" + "(" * 5000,
    ]


def test_hostile_text_runs_nothing_writes_nothing_and_ends(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    task = own(["GorillaFileSystem", "MathAPI"], {"GorillaFileSystem": FILES}, [["cat('a')"]])
    started = time.monotonic()
    for said in hostile(canary):
        assert text(task, said).outcome == "incorrect"
        name, _, rest = said.partition("(")
        calls = (Call(name=name, arguments=rest), Call(name=said, arguments="{}"))
        keyed = Call(name="cd", arguments=json.dumps({f"folder={said}, x": 1}))
        for made in (*calls, keyed):
            step = Step(reply=Reply(calls=(made,)), calls=(made,))
            verdicts = turns.score(task, Trajectory(task=task.id, steps=(step,)))
            assert {v.outcome for v in verdicts.values()} == {"incorrect"}
    assert time.monotonic() - started < 10
    assert not canary.exists()


@pytest.mark.parametrize(
    "made",
    [
        call("power", base=9, exponent=10**12),
        call("power", base=True, exponent=10**30),
        call("power", base=10**4000, exponent=10**4),
        call("round_number", number=7, decimal_places=-(10**12)),
        call("square_root", number=2, precision=10**12),
        call("logarithm", value=2, base=3, precision=10**12),
    ],
    ids=lambda made: made.name,
)
def test_numbers_without_bound_are_refused_in_no_time(made: Call) -> None:
    task = own(["MathAPI"], {}, [[]])
    started = time.monotonic()
    assert "rror" in played(task, [made])[-1].text
    assert time.monotonic() - started < 2


def played(task: Task, calls: list[Call]) -> list[Result]:
    async def run() -> list[Result]:
        async with multi_turn.site() as site, site.world(task, {}) as world:
            results = [await world.call(made) for made in calls]
            msgspec.json.encode(await world.final_state())
            return results

    return asyncio.run(run())


def test_folders_copied_into_each_other_do_not_hang() -> None:
    task = files([["cat('a')"]])
    loop = [call("mkdir", dir_name="d"), call("cp", source="d", destination="d")]
    grown = [call("mkdir", dir_name="a0")]
    for i in range(40):
        grown += [
            call("cp", source=f"a{i}", destination="t"),
            call("mkdir", dir_name=f"a{i + 1}"),
            call("mv", source=f"a{i}", destination=f"a{i + 1}"),
            call("mv", source="t", destination=f"a{i + 1}"),
        ]
    started = time.monotonic()
    for calls in (loop, grown):
        walks = [call("find"), call("du")]
        assert all(result.is_error for result in played(task, [*calls, *walks])[-2:])
        assert judge(task, [[*calls, *walks]])["official"].outcome == "incorrect"
    assert time.monotonic() - started < 5


# --- test models ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", sorted(multi_turn.FAULTS))
def test_a_broken_play_fails_and_only_by_its_fault(tasks: dict[str, Task], kind: str) -> None:
    found = 0
    for number in range(0, 200, 20):
        task = tasks[f"multi_turn_base_{number}"]
        plays = multi_turn.broken(task, kind)
        if plays is None:
            continue
        found += 1
        assert judge(task, plays)["official"].outcome == "incorrect"
        changed = [a != b for a, b in zip(plays, multi_turn.right(task), strict=True)]
        assert sum(changed) == 1
    assert found or kind == "extra_call"


def test_every_reply_has_a_place_in_its_turn(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    played = multi_turn.trajectory(task, multi_turn.right(task))
    _, made = execution.both(played, replay.check(task).rewriter("model"))
    assert [len(steps) for steps in made] == [1] * len(task.turns)


# --- as part of the suite ---------------------------------------------------------------


def test_one_site_serves_families_side_by_side() -> None:
    suite = bfcl.load(category=("multi_turn_base", "simple_python"))
    assert len(suite) == 600
    first_of: dict[str, Task] = {}
    for task in suite:
        first_of.setdefault(task.category, task)

    async def results() -> dict[str, str]:
        async with suite.site() as site:
            said = {}
            for category, task in first_of.items():
                async with site.world(task, {}) as world:
                    said[category] = (await world.call(call("pwd"))).text
            return said

    said = asyncio.run(results())
    assert said["simple_python"] == ""
    assert said["multi_turn_base"] == '{"current_working_directory": "/workspace"}'


@pytest.mark.parametrize("options", [{}, {"class": "missing_call", "rate": "1"}])
def test_the_test_models_know_multi_turn(tasks: dict[str, Task], options: dict[str, str]) -> None:
    task = tasks["multi_turn_base_0"]
    make = instruments.faulty if options else instruments.oracle
    played = asyncio.run(_asked(task, make(task, 0, options)))
    expected = "incorrect" if options else "correct"
    assert turns.score(task, played)["official"].outcome == expected


async def _asked(task: Task, model: Model) -> Trajectory:
    async with multi_turn.site() as site, site.world(task, {}) as world:
        return await loop(task, model, NATIVE, world, Sampling())


def test_the_report_shows_credit_and_calls_turn_by_turn(tasks: dict[str, Task]) -> None:
    task = tasks["multi_turn_base_0"]
    plays = multi_turn.right(task)
    half = multi_turn.trajectory(task, [*plays[:2], [], []])
    scores = [
        Score(task=str(n), item=str(n), category=task.category, readings=turns.score(task, played))
        for n, played in enumerate((half, multi_turn.trajectory(task, plays)))
    ]
    [credit] = turn_tables.tables("official", columns(scores, "official"))
    assert credit.rows == ((task.category, 2, 0.5, 0.75, 0, 0, 1, 0),)
    [shown] = turn_tables.views(task, half)
    assert [row[0] for row in shown.rows] == [1, 1, 1, 2, 2, 3, 4, 4, 4, 4]
    assert shown.rows[0][1] == shown.rows[0][3] == "cd(folder=document)"
    assert shown.rows[-1][1] is None
