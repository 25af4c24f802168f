"""Multi-turn verdicts: causes, credit, the two readings, and what a model cannot do to us."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import msgspec
import pytest
from tests.cpu_limit import processor_limit
from tests.suites.bfcl.scripted_agents import call, first, judge, own

from toolmark.core.media import MediaStore
from toolmark.core.records import Call, Reply, Result, Step, Task, Trajectory, Verdict
from toolmark.official_bfcl import multi_turn_scoring, multi_turn_tasks, truth_replay

FILES = {"root": {"w": {"type": "directory", "contents": {"a": {"type": "file", "content": "x"}}}}}


# --- verdicts ---------------------------------------------------------------------------


def files(truth: list[list[str]]) -> Task:
    return own(["GorillaFileSystem"], {"GorillaFileSystem": FILES}, truth)


def test_each_fault_has_its_cause_and_points_at_the_first_divergent_call() -> None:
    task = files([["mkdir(dir_name='b')"], ["cat('a')"]])
    make, show = call("mkdir", dir_name="b"), call("cat", file_name="a")
    assert judge(task, [[make], [show]])["official"].outcome == "correct"
    empty = judge(task, [[make], []])["official"]
    assert first(empty) == ("no_answer", truth_replay.EMPTY_TURN)
    state = judge(task, [[call("mkdir", dir_name="c")], [show]])["official"]
    assert first(state) == ("state", truth_replay.STATE_MISMATCH)
    assert "GorillaFileSystem.root" in state.labels[0].evidence
    assert "mkdir(dir_name=c) instead of mkdir(dir_name=b)" in state.labels[0].evidence
    assert state.labels[1].cause == "wrong_value"
    response = judge(task, [[make], [call("ls")]])["official"]
    assert first(response) == ("response", truth_replay.RESPONSE_MISMATCH)
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


def test_an_unreadable_call_spoils_its_step_by_the_official_rule_only() -> None:
    task = files([["cat('a')"]])
    broken = Call(name="ls", arguments="{")
    verdicts = judge(task, [[call("cat", file_name="a"), broken]])
    assert verdicts["official"].outcome == "incorrect"
    assert verdicts["fair"].outcome == "correct"


def test_blanks_before_brackets_are_removed_by_the_official_rule_only() -> None:
    task = own(["MessageAPI"], {"MessageAPI": {"current_user": "USR001"}}, [[
        "send_message(receiver_id='USR002', message='see you(soon)')"
    ]])  # fmt: skip
    plays = [[call("send_message", receiver_id="USR002", message="see you (soon)")]]
    verdicts = judge(task, plays)
    assert verdicts["official"].outcome == "correct"
    assert first(verdicts["fair"]) == ("state", truth_replay.STATE_MISMATCH)


def text(task: Task, *said: str) -> Verdict:
    steps = tuple(Step(reply=Reply(text=x), turn=turn) for turn, x in enumerate(said))
    return multi_turn_scoring.score_episode(
        task, Trajectory(task=task.id, tool_format="prompt", steps=steps)
    )["official"]


def test_text_is_decoded_as_the_official_evaluator_does() -> None:
    task = files([["mkdir(dir_name='b')"], ["cat('a')"]])
    assert text(task, "[mkdir(dir_name='b')]", "cat(file_name='a')").outcome == "correct"
    assert text(task, "[mkdir(dir_name='b')]", "[cat('a')]").outcome == "incorrect"
    assert text(task, "Sure: [mkdir(dir_name='b')]", "x").outcome == "incorrect"
    nested = "[mkdir(dir_name={'cat': {'file_name': 'a'}})]"
    assert first(text(task, nested, "[cat(file_name='a')]")) == (
        "state",
        truth_replay.STATE_MISMATCH,
    )


def test_only_the_official_rule_lets_the_sides_share_within_a_check() -> None:
    """The model's mention lands in the truth's tweet, too: the official states are one object."""
    config = {"TwitterAPI": {"authenticated": True}}
    task = own(["TwitterAPI"], config, [["post_tweet(content='x')"]])
    mention = call("mention", tweet_id=0, mentioned_usernames=["@a"])
    verdicts = judge(task, [[call("post_tweet", content="x"), mention]])
    assert verdicts["official"].outcome == "incorrect"
    assert first(verdicts["official"]) == ("response", truth_replay.RESPONSE_MISMATCH)
    assert first(verdicts["fair"]) == ("state", truth_replay.STATE_MISMATCH)


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
    for said in hostile(canary):
        with processor_limit():
            assert text(task, said).outcome == "incorrect"
        name, _, rest = said.partition("(")
        calls = (Call(name=name, arguments=rest), Call(name=said, arguments="{}"))
        keyed = Call(name="cd", arguments=json.dumps({f"folder={said}, x": 1}))
        for made in (*calls, keyed):
            step = Step(reply=Reply(calls=(made,)), calls=(made,))
            with processor_limit():
                verdicts = multi_turn_scoring.score_episode(
                    task, Trajectory(task=task.id, steps=(step,))
                )
            assert {v.outcome for v in verdicts.values()} == {"incorrect"}
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
def test_numbers_without_bound_are_refused_before_they_are_computed(made: Call) -> None:
    task = own(["MathAPI"], {}, [[]])
    with processor_limit():
        assert "rror" in played(task, [made])[-1].text


def played(task: Task, calls: list[Call]) -> list[Result]:
    async def run() -> list[Result]:
        async with (
            multi_turn_tasks.open_environments(MediaStore(Path())) as site,
            site.open_environment(task, {}) as world,
        ):
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
    for calls in (loop, grown):
        walks = [call("find"), call("du")]
        with processor_limit():
            assert all(result.is_error for result in played(task, [*calls, *walks])[-2:])
            assert judge(task, [[*calls, *walks]])["official"].outcome == "incorrect"
