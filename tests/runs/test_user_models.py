"""A run whose suite has a simulated user: who speaks, what is recorded, and whose fault is what."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.reports.page_reader import read_page
from tests.runs.calendars import (
    ADDED,
    DONE,
    Clerk,
    Speaker,
    answers_well,
    make_suite,
    make_task,
    says,
)
from tests.servers import fake

import toolmark as tm
from toolmark.agents.executor import Executor
from toolmark.agents.user_audit import FAULT_PART
from toolmark.agents.user_wording import user_wording
from toolmark.core.canary import make_canary
from toolmark.core.environment import EnvironmentWithUser
from toolmark.core.errors import DataError, Rejected, Unavailable, UsageError
from toolmark.core.model import Model
from toolmark.core.records import Call, Reply, Request, Usage
from toolmark.runs.run_plan import plan_differences
from toolmark.runs.run_store import Run
from toolmark.runs.suite import Defaults


def run_suite(folder: Path, speaker: Any = None, model: Any = None, **settings: Any) -> Run:
    suite = settings.pop("suite", None) or make_suite()
    settings = dict[str, Any](log_dir=folder, max_retries=0) | settings
    return tm.run(suite, model or Clerk(), user_model=speaker, **settings)


def conversations(run: Run) -> list[Any]:
    return [
        [(step.reply.text, step.ruling, step.opening) for step in trajectory.steps]
        for trajectory in run.trajectories()
    ]


def failures(run: Run) -> list[tuple[str, str, int]]:
    found = (attempt.failure for attempt in run.attempts())
    return [(each.stage, each.kind, each.status) for each in found]


# --- a whole run ----------------------------------------------------------------------------


def test_a_stateful_suite_with_a_user(tmp_path: Path) -> None:
    clerk, speaker = Clerk(), answers_well()
    run = run_suite(tmp_path, speaker, clerk)
    summary = run.summary()
    assert summary["score"]["value"] == 1.0
    assert summary["parts"]["accuracy without user faults"]["n"] == 2
    assert summary["parts"]["user messages"]["value"] == 2.0
    (first, _) = run.trajectories()
    assert [bool(step.calls) for step in first.steps] == [False, True, False]
    assert first.steps[1].new_messages[0].text == "event 1, at 9"
    ending = first.steps[2].ruling
    assert ending is not None and (ending.ending, ending.reply) == ("done", "Thank you.")
    assert run.info.plan.user["model"] == "speaker"


def test_turns_of_the_user_are_charged_apart(tmp_path: Path) -> None:
    spent = run_suite(tmp_path, answers_well()).summary()["spent"]
    assert (spent["tokens"]["input"], spent["tokens"]["output"]) == (60, 6)
    assert (spent["user"]["input"], spent["user"]["output"]) == (400, 28)
    assert spent["n_requests"] == 6


def test_the_user_never_sees_tools_results_prompts_or_answers(tmp_path: Path) -> None:
    speaker = answers_well()
    tasks = [make_task(1, expected=[["Monday", 9, "secret answer"]])]
    run_suite(tmp_path, speaker, suite=make_suite(tasks))
    seen = repr(speaker.requests)
    assert "At which hour?" in seen and len(speaker.requests) == 2
    assert "secret" not in seen and "add_event" not in seen and ADDED not in seen
    assert all(request.tools == () for request in speaker.requests)


def test_an_answer_key_in_the_conversation_stops_the_user_too(tmp_path: Path) -> None:
    task = make_task(1)
    leak = make_canary(task)

    async def leaking(request: Request, /) -> Reply:
        return Reply(text=f"Look: {leak}")

    run = run_suite(tmp_path, says("never"), leaking, suite=make_suite([task]))
    assert failures(run) == [("user", "sandbox", 0)]


def test_the_user_opens_where_a_task_has_only_a_goal(tmp_path: Path) -> None:
    clerk = Clerk()
    speaker = Speaker(lambda request, n: ["Event 1, please: event 1.", "at 9", DONE][n])
    run = run_suite(tmp_path, speaker, clerk, suite=make_suite([make_task(1, "")]))
    (lines,) = conversations(run)
    assert lines[0][2].reply == "Event 1, please: event 1." and lines[1][2] is None
    assert [message.role for message in clerk.requests[0].messages] == ["system", "user"]
    assert run.summary()["score"]["value"] == 1.0
    assert run.summary()["spent"]["user"]["input"] == 300
    assert [message.role for message in speaker.requests[0].messages] == ["system", "user"]


def test_equal_replies_make_equal_trajectories(tmp_path: Path) -> None:
    one, two = (run_suite(tmp_path / name, answers_well(), max_connections=1) for name in "ab")
    assert one.path != two.path
    assert conversations(one) == conversations(two)


def test_the_tool_format_may_be_any(tmp_path: Path) -> None:
    async def talker(request: Request, /) -> Reply:
        return Reply(text="At which hour?")

    run = run_suite(tmp_path, says("At 9.", DONE), talker, tool_format="prompt")
    assert [len(lines) for lines in conversations(run)] == [2, 2]


# --- resuming -------------------------------------------------------------------------------


def test_resuming_does_not_ask_again(tmp_path: Path) -> None:
    well = answers_well()

    def say(request: Request, n_said: int) -> str | Reply | Exception:
        is_second = "event 2" in request.messages[0].text
        return Unavailable("down") if is_second and not repaired else well.say(request, n_said)

    repaired: list[bool] = []
    speaker = Speaker(say)
    first = run_suite(tmp_path, speaker)
    assert failures(first) == [("user", "user", 0)]
    repaired.append(True)
    speaker.requests.clear()
    again = run_suite(tmp_path, speaker)
    assert again.path == first.path and again.summary()["n_run"] == 2
    assert all("event 2" in request.messages[0].text for request in speaker.requests)
    assert len(speaker.requests) == 2


def test_another_user_model_or_goal_is_another_run(tmp_path: Path) -> None:
    class Other(Speaker):
        name = "other"

    down: Callable[[Request, int], Exception] = lambda request, n: Unavailable("down")  # noqa: E731
    one = run_suite(tmp_path, Speaker(down))
    assert run_suite(tmp_path, Speaker(down)).path == one.path
    two = run_suite(tmp_path, Other(down))
    goal = tm.simulated_user("Have {title} put on {day}, soon.")
    three = run_suite(tmp_path, Speaker(down), suite=make_suite(user=goal))
    assert len({one.path, two.path, three.path}) == 3
    line = plan_differences(one.info.plan, two.info.plan)[0]
    assert "simulated user's model differs (speaker -> other)" in line
    (line,) = plan_differences(one.info.plan, three.info.plan)
    assert "simulated user's description" in line


def test_a_user_model_without_identity_never_shares_a_run(tmp_path: Path) -> None:
    async def down(request: Request, /) -> Reply:
        raise Unavailable("down")

    one, two = (run_suite(tmp_path, lambda request: down(request)) for _ in range(2))
    assert one.path != two.path


# --- failures -------------------------------------------------------------------------------


def test_a_failure_of_the_user_is_not_the_models(tmp_path: Path) -> None:
    run = run_suite(tmp_path, Speaker(lambda request, n: Unavailable("down", status=503)))
    assert failures(run) == [("user", "user", 503)] * 2
    summary = run.summary()
    assert summary["failures"] == {"user": 2} and summary["score"]["value"] is None
    assert summary["spent"]["not_run"]["input"] == 20  # what the model was asked is not lost


def test_code_of_the_user_that_raises_is_the_users_failure(tmp_path: Path) -> None:
    run = run_suite(tmp_path, Speaker(lambda request, n: KeyError("in the user")))
    assert failures(run) == [("user", "user", 0)] * 2


def test_a_slow_user_is_named_by_the_stage(tmp_path: Path) -> None:
    class Slow(Model):
        name = "slow"

        async def __call__(self, request: Request, /) -> Reply:
            await asyncio.sleep(60)
            return Reply()

    run = run_suite(tmp_path, Slow(), time_limit_s=0.05)
    assert failures(run) == [("user", "time_limit", 0)] * 2


def test_a_refused_key_of_the_user_stops_the_run(tmp_path: Path) -> None:
    tasks = [make_task(n) for n in range(1, 30)]
    speaker = Speaker(lambda request, n: Rejected("no such key", 401))
    with pytest.raises(Rejected, match="speaker: no such key"):
        run_suite(tmp_path, speaker, suite=make_suite(tasks), max_connections=1)
    assert len(speaker.requests) == 1


def test_retries_of_the_user_are_its_own(tmp_path: Path) -> None:
    asked: list[int] = []
    well = answers_well()

    def say(request: Request, n_said: int) -> str | Reply | Exception:
        asked.append(n_said)
        return Unavailable("once", wait_s=0.0) if len(asked) == 1 else well.say(request, n_said)

    clerk = Clerk()
    run = run_suite(tmp_path, Speaker(say), clerk, max_retries=1)
    assert run.summary()["n_run"] == 2
    assert (len(asked), len(clerk.requests)) == (5, 6)


def test_a_watcher_reads_why_the_user_waits(tmp_path: Path) -> None:
    asked: list[int] = []
    well = answers_well()

    def say(request: Request, n_said: int) -> str | Reply | Exception:
        asked.append(n_said)
        is_first = len(asked) <= 2
        return (
            Unavailable("the user is busy", wait_s=1.5) if is_first else well.say(request, n_said)
        )

    reasons: set[str] = set()
    run_suite(
        tmp_path,
        Speaker(say),
        max_retries=1,
        watch=lambda progress: reasons.update(progress.wait_reasons),
    )
    assert reasons == {"the user is busy"}


# --- who speaks -----------------------------------------------------------------------------


def test_a_run_without_a_user_model_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        run_suite(tmp_path)
    assert "--user-model" in str(error.value) and "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_suite_without_a_user_takes_no_user_model(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no simulated user"):
        run_suite(tmp_path, says("x"), suite=make_suite(user=None))


@pytest.mark.parametrize(
    "name", ["control/null", "baseline/eager", "no/such", "nonsense", "openai/x", 7]
)
def test_what_cannot_speak_for_a_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: Any
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(UsageError):
        run_suite(tmp_path, name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["null", "always-call"])
def test_controls_talk_to_the_scripted_user(tmp_path: Path, name: str) -> None:
    run = run_suite(tmp_path, model=f"control/{name}")
    assert run.info.plan.user["model"] == "scripted"
    assert run.summary()["score"]["value"] == 0.0
    assert "user" not in run.summary()["spent"]


def test_a_script_of_a_row_is_said(tmp_path: Path) -> None:
    tasks = [make_task(1, user_script=["event 1, at 9"]), make_task(2)]
    run = run_suite(tmp_path, "scripted", suite=make_suite(tasks))
    scripted, neutral = conversations(run)
    assert [ruling.ending for _, ruling, _ in scripted if ruling] == ["", "done"]
    assert [ruling.reply for _, ruling, _ in neutral] == [user_wording().neutral_answer] * 3 + [""]
    assert neutral[-1][1].ending == "max_turns"
    assert run.summary()["score"]["value"] == 0.5


def test_a_suite_can_name_a_model_that_a_run_replaces(tmp_path: Path) -> None:
    user = tm.simulated_user("{title}", model="tests.runs.test_user_models:polite_user")
    default = run_suite(tmp_path, suite=make_suite(user=user))
    assert default.info.plan.user["model"].endswith(":polite_user")
    assert "tests.runs.test_user_models" in default.info.plan.user_modules
    other = run_suite(tmp_path, "scripted", suite=make_suite(user=user))
    assert other.info.plan.user["model"] == "scripted"


async def polite_user(request: Request, /) -> Reply:
    return Reply(text=DONE)


@pytest.mark.parametrize("goal", ["Have {titel} put on {day}.", "{expected_day}"])
def test_a_field_that_a_task_lacks_is_named_before_anything_is_asked(
    tmp_path: Path, goal: str
) -> None:
    clerk = Clerk()
    suite = make_suite(user=tm.simulated_user(goal))
    with pytest.raises(DataError, match="event-1"):
        run_suite(tmp_path, says("x"), clerk, suite=suite)
    assert clerk.requests == [] and not list(tmp_path.iterdir())


def test_an_agent_that_hears_no_user_is_refused() -> None:
    with pytest.raises(UsageError, match="Executor"):
        make_suite(defaults=Defaults(agent=Executor()))


def test_a_user_is_a_description() -> None:
    user: Any = EnvironmentWithUser
    with pytest.raises(UsageError, match="simulated_user"):
        make_suite(user=user)


# --- endpoints ------------------------------------------------------------------------------


def strict_endpoint(asked: fake.Asked) -> dict[str, Any]:
    """Answer as a server does that knows no tools, and wants the sides to alternate."""
    body = asked.json
    roles = [message["role"] for message in body["messages"]]
    expected = ["system", *["user", "assistant"] * len(roles)][: len(roles)]
    assert roles == expected and roles[-1] == "user", roles
    assert not {"tools", "tool_choice"} & body.keys()
    assert all(isinstance(message["content"], str) for message in body["messages"])
    assert body["temperature"] == 0.0
    n_said = roles.count("assistant")
    title = "event 1" if "event 1" in body["messages"][0]["content"] else "event 2"
    return fake.says(f"{title}, at 9" if n_said == 1 else f"Thanks.\n{DONE}")


async def behave(asked: fake.Asked, writer: asyncio.StreamWriter) -> None:
    try:
        status, body = 200, strict_endpoint(asked)
    except AssertionError as error:
        status, body = 400, {"error": {"message": str(error)}}
    writer.write(fake.raw(status, json.dumps(body).encode()))
    await writer.drain()


def test_a_strict_endpoint_speaks_for_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLMARK_API_KEY", "key-of-both")
    with fake.in_thread(behave) as server:
        settings = {"headers": {"X-Secret": "of the model"}, "base_url": "http://127.0.0.1:9/v1"}
        run = run_suite(tmp_path, f"{server.url}#speaker-1", **settings)
        assert run.summary()["score"]["value"] == 1.0
        assert run.summary()["spent"]["user"] == {
            "input": 28, "output": 20, "reasoning": 0, "cached": 0, "cache_written": 0,
        }  # fmt: skip
        assert run.info.plan.user["address"] == server.url
        assert len(server.asked) == 4
        assert all("x-secret" not in asked.headers for asked in server.asked)
        assert all(asked.json["model"] == "speaker-1" for asked in server.asked)


# --- what readers see -----------------------------------------------------------------------


def faulty(title: str) -> Speaker:
    """Return a speaker that writes a call for one task, and answers well otherwise."""
    well = answers_well()

    def say(request: Request, n_said: int) -> str | Reply | Exception:
        said = well.say(request, n_said)
        is_faulty = title in request.messages[0].text and n_said == 1
        return f"{said} add_event(9)" if is_faulty else said

    return Speaker(say)


def test_the_report_shows_the_user_its_tokens_and_its_faults(tmp_path: Path) -> None:
    run = run_suite(tmp_path, faulty("event 2"))
    parts = run.summary()["parts"]
    assert parts["user faults"]["value"] == 0.5
    assert parts["accuracy without user faults"]["n"] == 1
    page = read_page(tm.write_report(run))
    assert page.settings["simulated user"] == "speaker"
    result = page.root.text
    for words in (
        "without a fault of the user",
        "wrote a call of a tool",
        "simulated user: tokens",
    ):
        assert words in result


def test_two_user_models_are_compared_in_pairs(tmp_path: Path) -> None:
    class Other(Speaker):
        name = "silent"

    good = run_suite(tmp_path, answers_well())
    bad = run_suite(tmp_path, Other(lambda request, n: DONE))
    compared = tm.compare(good, bad)
    assert compared.paired.n_pairs == 2
    assert (compared.paired.value_a, compared.paired.value_b) == (1.0, 0.0)
    assert ("simulated user's model", "speaker", "silent") in compared.settings
    assert compared.warnings == ()


def test_a_comparison_warns_of_users_that_differ_too(tmp_path: Path) -> None:
    goal = tm.simulated_user("Have {title} put on {day}, soon.")
    scripted = run_suite(tmp_path, model="control/null")
    clerk = run_suite(tmp_path, answers_well())
    other = run_suite(tmp_path, answers_well(), suite=make_suite(user=goal))
    assert any("scripted and speaker" in each for each in tm.compare(scripted, clerk).warnings)
    assert any("goal" in each for each in tm.compare(clerk, other).warnings)


def test_rescoring_finds_the_faults_again(tmp_path: Path) -> None:
    run = run_suite(tmp_path, faulty("event 2"))
    before = run.summary()["parts"]
    tm.rescore(run, make_suite().scorer)
    assert run.summary()["parts"] == before
    faults = {score.task: score.verdicts["score"].parts[FAULT_PART] for score in run.scores()}
    assert faults == {"event-1": 0.0, "event-2": 1.0}


def test_max_turns_holds_whatever_is_said(tmp_path: Path) -> None:
    async def asks_for_ever(request: Request, /) -> Reply:
        return Reply(text="And then?", usage=Usage(input=1))

    for n in (1, 2, 7):
        user = tm.simulated_user("x", max_turns=n)
        run = run_suite(tmp_path, says("So."), asks_for_ever, suite=make_suite(user=user))
        assert run.summary()["parts"]["user messages"]["value"] == n
        assert all(len(trajectory.steps) == n for trajectory in run.trajectories())
        assert run.summary()["parts"]["user faults"]["value"] == 0.0


def test_a_call_is_no_reply_to_the_user(tmp_path: Path) -> None:
    async def calls_for_ever(request: Request, /) -> Reply:
        return Reply(text="Wait", calls=(Call(name="add_event", id="c"),))

    speaker = says("never")
    run = run_suite(tmp_path, speaker, calls_for_ever)
    assert speaker.requests == []
    assert {trajectory.ending for trajectory in run.trajectories()} == {"steps"}
