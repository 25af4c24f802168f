"""Memory and web search: sessions come first, states are handed on, verdicts say why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import toolmark as tm
from toolmark.cli import run_command
from toolmark.core import sentence_encoder
from toolmark.core.errors import UsageError
from toolmark.core.media import MediaStore
from toolmark.core.records import (
    Call,
    Message,
    Reply,
    Result,
    Step,
    Task,
    Text,
    Tool,
    Trajectory,
    Verdict,
)
from toolmark.environments.memory_environment import MEMORY_PLACEHOLDER
from toolmark.official_bfcl import agentic_scoring, bfcl_controls, multi_turn_tasks, official_data
from toolmark.suites.bfcl import agentic_tasks


@pytest.fixture(scope="module")
def tasks() -> dict[str, Task]:
    root = official_data.fetch_wheel()
    found = (
        task
        for name in agentic_tasks.CATEGORIES
        for task in agentic_tasks.read_tasks(root, name)[0]
    )
    return {task.id: task for task in found}


# --- entries ----------------------------------------------------------------------------


def test_every_category_has_its_entries_and_sessions(tasks: dict[str, Task]) -> None:
    def count(category: str, kind: str) -> int:
        return sum(t.category == category and t.kind == kind for t in tasks.values())

    assert [count(name, "scored") for name in agentic_tasks.CATEGORIES] == [100, 100, 155, 155, 155]
    assert [count(name, "setup") for name in agentic_tasks.CATEGORIES] == [0, 0, 37, 37, 37]
    assert len(tm.load("bfcl", category=("agentic",))) == len(tasks) == 665 + 3 * 37


def test_a_test_needs_all_sessions_of_its_scenario_in_order(tasks: dict[str, Task]) -> None:
    before: dict[tuple[str, str], list[str]] = {}
    for task in tasks.values():
        if task.category in agentic_scoring.WEB_CATEGORIES:
            assert not task.needs
            continue
        sessions = before.setdefault((task.category, task.id.split("-")[1]), [])
        assert list(task.needs) == sessions
        if task.kind == "setup":
            sessions.append(task.id)
    assert sorted(map(len, before.values())) == sorted([10, 10, 7, 5, 5] * 3)


def test_only_memory_shows_a_memory_and_only_tests_ask_for_the_format(
    tasks: dict[str, Task],
) -> None:
    for task in tasks.values():
        opening = task.turns[0].messages[0]
        assert opening.role == "system"
        assert (MEMORY_PLACEHOLDER in opening.text) is (
            task.category in agentic_scoring.MEMORY_CATEGORIES
        )
        assert ("'answer'" in opening.text) is (task.kind == "scored")


# --- runs -------------------------------------------------------------------------------


def test_the_oracle_passes_and_its_notes_are_handed_on(tmp_path: Path) -> None:
    suite = tm.load("bfcl", category=("memory_kv", "memory_rec_sum"))
    run = tm.run(suite, model="control/oracle", log_dir=tmp_path)
    scores = list(run.scores())
    assert len(scores) == 310
    for score in scores:
        assert {v.outcome for v in score.verdicts.values()} == {"correct"}, score.task
        assert set(score.verdicts) == {"official", "fair"}
    states = {t.task: t.state for t in run.trajectories()}
    saved = states["memory_kv_0-customer-0"]["archival_memory"]
    assert any("Michael" in text for text in saved.values())
    assert "Michael" in states["memory_rec_sum_0-customer-0"]["memory"]
    assert states["memory_kv_0-customer-0"] == states["memory_kv_prereq_9-customer-9"]


def test_the_model_is_shown_what_it_remembers(tmp_path: Path) -> None:
    suite = tm.load("bfcl", category=("memory_rec_sum",))
    run = tm.run(
        suite, model="control/oracle", ids=("memory_rec_sum_0-customer-0",), log_dir=tmp_path
    )
    shown = {t.task: t.steps[0].new_messages[0].text for t in run.trajectories()}
    assert len(shown) == 11 and not any(MEMORY_PLACEHOLDER in text for text in shown.values())
    assert "There is no content" in shown["memory_rec_sum_prereq_0-customer-0"]
    assert "Michael" in shown["memory_rec_sum_0-customer-0"]


def test_null_scores_zero_and_dead_scores_nothing(tmp_path: Path) -> None:
    ids = ("memory_rec_sum_154-notetaker-24",)
    suite = tm.load("bfcl", category=("memory_rec_sum",))
    run = tm.run(suite, model="control/null", ids=ids, log_dir=tmp_path)
    (score,) = run.scores()
    assert score.verdicts["official"].labels[0].suite_cause == agentic_scoring.NO_LAST_MESSAGE
    assert score.verdicts["official"].labels[0].cause == "no_answer"
    dead = tm.run(suite, model="control/dead", ids=ids, log_dir=tmp_path)
    (score,) = dead.scores()
    assert not score.verdicts and score.failure is not None
    assert score.failure.kind == "needs" and "memory_rec_sum_prereq" in score.failure.message


SPOILT = ("memory_kv_45-healthcare-15", "memory_rec_sum_154-notetaker-24", "web_search_base_3")


@pytest.mark.parametrize("fault", list(bfcl_controls.FAULT_MAKERS))
def test_an_injected_fault_fails_the_question_and_spares_the_sessions(
    tmp_path: Path, fault: str
) -> None:
    for name in ("bs4", "markdownify"):
        pytest.importorskip(name, reason="needs toolmark[bfcl]")
    pages = tmp_path / "pages" / "a.example"
    pages.mkdir(parents=True)
    (pages / "tea.html").write_text("<title>Tea</title>")
    categories = ("memory_kv", "memory_rec_sum", "web_search_base")
    suite = tm.load("bfcl", category=categories, search=f"corpus:{pages.parent}")
    model = f"control/faulty?class={fault}&rate=1"
    run = tm.run(suite, model=model, ids=SPOILT, log_dir=tmp_path / "a")
    assert run.summary()["n_run"] == 3
    for score in run.scores():
        assert {v.outcome for v in score.verdicts.values()} == {"incorrect"}, score
        label = score.verdicts["fair"].labels[0]
        assert (label.cause == "over_limit") == (fault == "extra_call")
    for reported in run.trajectories():
        results = [result for step in reported.steps for result in step.results]
        erring = fault not in ("wrong_value", "missing_call", "extra_call")
        if reported.task not in SPOILT:
            assert not any(result.is_error for result in results)
        elif fault == "format":  # nothing of it is executed
            assert results == []
            assert any("not JSON" in step.fault for step in reported.steps)
        elif erring:
            # a memory answers a wrong type with a text of its own
            assert [result.is_error or fault == "wrong_type" for result in results] == [True]
        else:
            assert bool(results) == (fault == "extra_call")
    spared = tm.run(suite, model=f"{model[:-1]}0", ids=SPOILT, log_dir=tmp_path / "b")
    assert spared.summary()["parts"]["memory_kv"]["value"] == 1.0


def test_a_share_of_the_questions_is_spoilt(tasks: dict[str, Task]) -> None:
    options = {"class": "wrong_value", "rate": "0.2"}
    asked = [task for task in tasks.values() if task.kind == "scored"]
    spoilt = sum(
        isinstance(bfcl_controls.make_faulty(x, 0, options), multi_turn_tasks.ScriptedModel)
        for x in asked
    )
    assert abs(spoilt / len(asked) - 0.2) < 2.6 * (0.2 * 0.8 / len(asked)) ** 0.5


def test_the_web_is_played_from_a_folder(tmp_path: Path) -> None:
    for name in ("bs4", "markdownify"):
        pytest.importorskip(name, reason="needs toolmark[bfcl]")
    pages = tmp_path / "pages" / "a.example"
    pages.mkdir(parents=True)
    (pages / "tea.html").write_text("<title>Tea</title><p>Zhang Yiming likes tea.</p>")
    suite = tm.load("bfcl", category=("web_search",), search=f"corpus:{pages.parent}")
    run = tm.run(suite, model="control/oracle", log_dir=tmp_path, sample=20)
    assert {v.outcome for s in run.scores() for v in s.verdicts.values()} == {"correct"}

    async def asked(id: str) -> str:
        task = next(task for task in suite if task.id == id)
        call = Call(name="search_engine_query", arguments='{"keywords": "tea"}')
        async with (
            suite.environment.open(MediaStore(Path())) as site,
            site.open_environment(task, {}) as world,
        ):
            return (await world.call(call)).text

    assert "likes tea" in asyncio.run(asked("web_search_base_0"))
    assert "likes tea" not in asyncio.run(asked("web_search_no_snippet_0"))


@pytest.mark.parametrize(
    "search",
    ["serpapi", "record:new.jsonl", "corpus:/no/such", "replay:/no/such", "corpus", "bing"],
)
def test_a_web_without_an_engine_is_refused_before_any_episode(
    search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    with pytest.raises(UsageError, match=r"SERPAPI_API_KEY.*corpus:FOLDER.*replay:FILE"):
        asyncio.run(
            opened(agentic_tasks.AgenticSettings(frozenset({"web_search_base"}), True, search))
        )
    without = frozenset(agentic_scoring.MEMORY_CATEGORIES) - {"memory_vector"}
    asyncio.run(opened(agentic_tasks.AgenticSettings(without, True, search)))


async def opened(setting: agentic_tasks.AgenticSettings) -> None:
    async with agentic_tasks.open_environments(setting, MediaStore(Path())):
        pass


def test_what_cannot_be_played_is_not_run_and_the_rest_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPAPI_API_KEY", raising=False)
    suite = tm.load("bfcl", category=("live_parallel", "web_search_base"))
    run = tm.run(suite, model="control/oracle", log_dir=tmp_path)
    assert run.summary()["n_run"] == 16
    assert {a.failure.stage for a in run.attempts()} == {"environment"}
    assert all("SERPAPI_API_KEY" in a.failure.message for a in run.attempts())


class Unloaded:
    """Stands in for an encoder that cannot be had, or whose files prove broken; counts asking."""

    def __init__(self, *, late: bool) -> None:
        self.late = late
        self.asked = 0

    def load(self, name: str) -> sentence_encoder.Encoder:
        self.asked += 1
        if self.late:
            return self.fail
        raise UsageError(f"no encoder {name!r}: it cannot be loaded")

    def fail(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise UsageError(f"no weights for {len(texts)} texts: they cannot be loaded")


@pytest.fixture(params=["there is none", "it is broken"])
def unloaded(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Unloaded:
    found = Unloaded(late=request.param == "it is broken")
    monkeypatch.setattr(sentence_encoder, "is_installed", lambda: True)
    monkeypatch.setattr(sentence_encoder, "load_encoder", found.load)
    return found


@pytest.mark.parametrize("other", ["live_parallel", "memory_kv"])
def test_an_encoder_that_cannot_be_loaded_spares_the_other_categories(
    tmp_path: Path, unloaded: Unloaded, other: str
) -> None:
    ids = {"live_parallel": "live_parallel_0-0-0", "memory_kv": "memory_kv_154-notetaker-24"}
    suite = tm.load("bfcl", category=(other, "memory_vector"))
    asked = (ids[other], "memory_vector_154-notetaker-24")
    run = tm.run(suite, model="control/oracle", ids=asked, log_dir=tmp_path)
    assert (run.summary()["n_run"], run.summary()["n_not_run"]) == (1, 1)
    assert any("cannot be loaded" in each.failure.message for each in run.attempts())
    assert unloaded.asked == 1


def test_a_run_refused_before_its_first_episode_leaves_no_folder(
    tmp_path: Path, unloaded: Unloaded
) -> None:
    for category, given, named in (
        ("memory_vector", {}, "encoder|weights"),
        ("web_search", {"search": "corpus:/nope"}, "/nope"),
    ):
        suite = tm.load("bfcl", category=category, **given)
        with pytest.raises(UsageError, match=named):
            tm.run(suite, model="control/oracle", log_dir=tmp_path)
    assert not [each for each in tmp_path.iterdir() if each.is_dir()]  # the logbook is a file


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    rows = np.array([[1e-3 + t.count(chr(97 + i)) for i in range(26)] for t in texts], np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_an_environment_continues_from_the_last_session_and_shows_it(
    tasks: dict[str, Task],
) -> None:
    async def play() -> tuple[tuple[Message, ...], Any, str]:
        site = agentic_tasks.AgenticEnvironments(None, letters)
        task = tasks["memory_vector_0-customer-0"]
        needed: dict[str, Any] = dict.fromkeys(task.needs)
        async with site.open_environment(tasks[task.needs[0]], {}) as world:
            await world.call(Call(name="core_memory_add", arguments='{"text": "Name: Ann"}'))
            needed[task.needs[-1]] = await world.final_state()
        async with site.open_environment(task, needed) as world:
            opening = await world.opening(task.turns[0].messages)
            found = await world.call(
                Call(name="core_memory_retrieve", arguments='{"query": "name"}')
            )
            return opening, await world.final_state(), found.text

    opening, state, found = asyncio.run(play())
    assert '"0": "Name: Ann"' in opening[0].text and MEMORY_PLACEHOLDER not in opening[0].text
    assert opening[1:] == tasks["memory_vector_0-customer-0"].turns[0].messages[1:]
    assert state["core_memory"] == {"next_id": 1, "store": {"0": "Name: Ann"}}
    assert json.loads(found)["result"][0]["text"] == "Name: Ann"


# --- verdicts ---------------------------------------------------------------------------


def judged(truth: list[str], *steps: Step, **given: Any) -> dict[str, Verdict]:
    tools = (Tool(name="memory_append"),)
    task = Task(id="t", suite="bfcl", turns=(), data={"truth": truth}, tools=tools)
    return agentic_scoring.score_episode(task, Trajectory(task="t", steps=steps, **given))


def said(text: str) -> Step:
    return Step(reply=Reply(text=text))


def saw(text: str) -> Step:
    call = Call(name="core_memory_retrieve")
    return Step(reply=Reply(calls=(call,)), calls=(call,), results=(Result(parts=(Text(text),)),))


@pytest.mark.parametrize(
    ("truth", "text", "official", "rule"),
    [
        ("$50", "{'answer': '$50', 'context': 'said so'}", False, "whole_words"),
        ("50%", "{'answer': '50%', 'context': 'said so'}", False, "whole_words"),
        ("Ann", "{'answer': 'Bo', 'context': 'not Ann'}", True, "answer_field"),
        ("Ann", "{'answer': 'I do not know', 'context': 'Ann?'}", True, "answer_field"),
        ("12", "{'answer': '1.2', 'context': ''}", True, "whole_words"),
        ("Ann", "It is Ann.", True, ""),
        ("Ann", '{"answer": "Ann", "context": "said so"}', True, ""),
        ("Ann", "{'answer': 'Bo', 'context': ''}", False, ""),
    ],
)
def test_where_the_verdicts_differ_the_rule_is_named(
    truth: str, text: str, official: bool, rule: str
) -> None:
    verdicts = judged([truth], said(text))
    assert (verdicts["official"].outcome == "correct") is official
    assert (verdicts["fair"].outcome == "correct") is (official is not bool(rule))
    assert verdicts["fair"].parts == ({f"fair:{rule}": 1.0} if rule else {})
    assert not rule or rule in agentic_scoring.CORRECTIONS


BROKEN = Call(name="memory_append", arguments='{"text": "Ann"')


@pytest.mark.parametrize(
    ("steps", "tool_format"),
    [
        ((Step(reply=Reply(calls=(BROKEN,)), calls=(BROKEN,)),), "native"),
        ((said("f(x='Ann"),), "prompt"),
        ((said("```python\n[memory_append('Ann', "),), "prompt"),
        ((said("It is Ann."), saw("nothing")), "native"),
    ],
)
def test_only_words_in_the_last_reply_are_an_answer_fairly(
    steps: tuple[Step, ...], tool_format: str
) -> None:
    verdicts = judged(["Ann"], *steps, tool_format=tool_format)
    assert verdicts["official"].outcome == "correct"
    assert verdicts["fair"].outcome == "incorrect"
    assert verdicts["fair"].parts == {"fair:last_reply": 1.0}


@pytest.mark.parametrize("text", ["Answer(s): Ann", "Ann (born 1970)", "[1] Ann", "Ann() = 1"])
def test_words_with_brackets_are_still_words(text: str) -> None:
    for tool_format in ("native", "prompt"):
        verdicts = judged(["Ann"], said(text), tool_format=tool_format)
        assert {verdict.outcome for verdict in verdicts.values()} == {"correct"}


def test_two_turns_answer_no_question_by_either_rule() -> None:
    again = Step(reply=Reply(text="Ann"), turn=1)
    verdicts = judged(["Ann"], said("Ann"), again)
    assert {verdict.labels[0].suite_cause for verdict in verdicts.values()} == {
        agentic_scoring.INFERENCE_ERROR
    }
    assert not verdicts["fair"].parts


@pytest.mark.parametrize(
    ("steps", "given", "cause", "evidence"),
    [
        ((saw("Name: Ann"), said("Bo")), {"state": {"memory": "Ann"}}, "wrong_answer", "'Ann' was"),
        ((saw("no"), said("Bo")), {"state": {"memory": "Ann"}}, "retrieval", "not retrieved"),
        ((saw("no"), said("Bo")), {"state": {"memory": "x"}}, "state", "holds no answer"),
        ((saw("no"), said("Bo")), {}, "retrieval", "no result contained"),
        ((saw("Ann"), said("{'answer': 'I do not know'}")), {}, "no_answer", "'Ann' was"),
        ((said(""),), {}, "no_answer", "''"),
        ((saw("Ann"),), {"ending": "steps"}, "over_limit", "steps"),
        ((said("Bo"),), {"ending": "refused"}, "refused", "refused"),
        ((), {}, "format", "0 replies"),
    ],
)
def test_a_failure_names_its_cause(
    steps: tuple[Step, ...], given: dict[str, Any], cause: str, evidence: str
) -> None:
    label = judged(["Ann"], *steps, **given)["official"].labels[0]
    assert label.primary and label.cause == cause and evidence in label.evidence


def test_an_answer_seen_in_the_memory_shown_counts_as_seen() -> None:
    opening = Message(role="system", parts=(Text("You know: Ann"),))
    first = Step(reply=Reply(text="Bo"), new_messages=(opening,))
    label = judged(["Ann"], first, state={"memory": "Ann"})["official"].labels[0]
    assert label.cause == "wrong_answer" and "shown at the start" in label.evidence


def test_hostile_answers_are_judged_as_text() -> None:
    hostile = (
        "__import__('os').system('touch canary')",
        "{'answer': __import__('os')}" * 50,
        "[" * 50_000,
        "{'answer': " + "{" * 50_000,
        "9**9**9**9",
    )
    for text in hostile:
        for tool_format in ("native", "prompt"):
            verdict = judged(["Ann"], said(text), tool_format=tool_format)["official"]
            assert verdict.outcome == "incorrect"
    assert not Path("canary").exists()


def test_the_report_shows_what_was_accepted_and_seen(tasks: dict[str, Task]) -> None:
    task = tasks["memory_kv_0-customer-0"]
    played = Trajectory(task=task.id, steps=(saw("Michael"), said("{'answer': 'Bo'}")))
    rows = {row[0]: row[1] for row in agentic_scoring.episode_table(task, played).rows}
    assert rows["accepted"] == "Michael" and rows["answer field"] == "Bo"
    assert "reply 1" in str(rows["seen"])


def test_the_command_tells_first_why_what_others_needed_was_not_run(
    tmp_path: Path, unloaded: Unloaded, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tm.load("bfcl", category=("live_parallel", "memory_vector"))
    done = tm.run(suite, model="control/oracle", log_dir=tmp_path)
    run_command._print_after_run(done, done.summary())
    reported = [line for line in capsys.readouterr().out.splitlines() if "not run, " in line]
    assert (
        len(reported) > 1 and "environment: no " in reported[0]
    )  # the line may be broken after it
