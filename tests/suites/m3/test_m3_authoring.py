"""References by models: played, judged, condensed, kept, and taken up where it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.environments.mcp.mcp_episodes import fault
from tests.servers import fake
from tests.suites.m3 import endpoints
from tests.suites.m3.endpoints import Command, Said

from toolmark.runs.run_store import Run
from toolmark.studio import m3_authoring, review_reference_export
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import Decision, ReviewLog
from toolmark.suites.m3 import published_tasks

pytestmark = pytest.mark.servers

SUITE = "tests.suites.m3.endpoints:load"
ROOT = Path(__file__).parents[3]
ACCEPT = '{"accept": true, "reason": "It is borne out."}'
REJECT = 'No.\n```json\n{"accept": false, "reason": "Look the price up."}\n```'


def player(body: dict[str, Any]) -> dict[str, Any]:
    """Read the shelf, ping, look up a wrong and the right price, then answer."""
    asked = endpoints.said({"messages": body["messages"][:1]})
    index = "0" if "shelf 0" in asked else "1"
    code = {"0": "7714", "1": "8823"}[index]
    replies: list[dict[str, Any]] = [
        fake.calls(("ocr_read", json.dumps({"path": f"shelf-{index}.png"}))),
        fake.calls(("shop_ping", "{}"), ("shop_price", '{"code": "1111"}')),
        fake.calls(("shop_price", json.dumps({"code": code}))),
        fake.says(f"It costs {endpoints.PRICES[code]}."),
    ]
    n_said = len([m for m in body["messages"] if m["role"] == "assistant"])
    return replies[n_said]


def shortest(body: dict[str, Any]) -> str:
    """Keep the reading and the price, as a model should."""
    steps = endpoints.material(body)["steps"]
    saved = [
        {"calls": [{"name": c["name"], "arguments": c["arguments"]} for c in step["calls"]]}
        for step in steps
        if step["calls"][0]["name"] != "shop/ping"
    ]
    return "Here it is:\n" + json.dumps({"steps": saved})


def condensing(body: dict[str, Any]) -> bool:
    return "shortest trajectory" in body["messages"][0]["content"]


def judge(
    decide: Callable[[dict[str, Any]], str | int] = lambda body: ACCEPT,
    shorten: endpoints.Answer = shortest,
) -> endpoints.Answer:
    return lambda body: shorten(body) if condensing(body) else decide(body)


def command(folder: Path, served: endpoints.Endpoint, *more: object) -> list[str]:
    words = ["author", SUITE, "-m", served["p"], "--judge-model", served["j"], "-o", folder]
    return [*map(str, words), "--max-retries", "0", *map(str, more)]


def run(toolmark: Command, folder: Path, served: endpoints.Endpoint, *more: object) -> Said:
    return toolmark(*command(folder, served, *more))


REFERENCE = [
    {"step": 1, "calls": [{"name": "ocr/read", "arguments": {"path": "shelf-0.png"}}]},
    {"step": 2, "calls": [{"name": "shop/price", "arguments": {"code": "7714"}}]},
]


def test_what_is_accepted_becomes_a_reference_in_the_published_layout(
    tmp_path: Path, toolmark: Command
) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge()) as served:
        said = run(toolmark, folder, served)
    assert said.code == 0, said.err
    assert "2 tasks accepted (0 condensed by rule), 0 turned down" in said.text
    assert f"toolmark review {folder}" in said.text
    first, second = json.loads((folder / m3_authoring.TRUTHS_FILE).read_text())
    assert first == {
        "id": "00000000",
        "image": "images/shelf-0.png",
        "type": "prices",
        "question": "What does the drink on shelf 0 cost?",
        "steps": REFERENCE,
        "final_reply": "It costs 2 euros.",
    }
    entries, twice = published_tasks.read_task_entries(folder / m3_authoring.TRUTHS_FILE)
    assert [entry.id for entry in entries] == ["00000000", "00000001"]
    assert not twice
    assert second["final_reply"] == "It costs 3 euros."


def test_every_decision_is_stored_with_what_was_played(tmp_path: Path, toolmark: Command) -> None:
    folder = tmp_path / "made"
    verdicts = iter([REJECT, ACCEPT])
    with endpoints.serving(p=player, j=judge(lambda body: next(verdicts))) as served:
        run(toolmark, folder, served, "--limit", 1)
    first, second = m3_authoring.read_decisions(folder)["00000000"]
    assert (first.outcome, first.reason, first.round) == ("rejected", "Look the price up.", 0)
    assert (second.outcome, second.condensed_by, second.round) == ("accepted", "model", 1)
    assert second.trajectory is not None
    assert sum(len(step.calls) for step in second.trajectory.steps) == 4
    assert second.usage.input == 14  # a decision and a proposal


def test_an_attempt_that_was_turned_down_is_made_again_with_the_reason(
    tmp_path: Path, toolmark: Command
) -> None:
    verdicts = iter([REJECT, ACCEPT])
    with endpoints.serving(p=player, j=judge(lambda body: next(verdicts))) as served:
        assert run(toolmark, tmp_path / "made", served, "--limit", 1).code == 0
    opening = [endpoints.said({"messages": body["messages"][:1]}) for body in served.asked["p"]]
    assert ["Look the price up." in text for text in opening] == [False] * 4 + [True] * 4
    judged = [endpoints.material(b) for b in served.asked["j"] if not condensing(b)]
    assert [found["final_reply"] for found in judged] == ["It costs 2 euros."] * 2
    assert not any("turned down" in json.dumps(found) for found in judged)


def test_what_is_turned_down_every_time_is_no_reference(tmp_path: Path, toolmark: Command) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge(lambda body: REJECT)) as served:
        said = run(toolmark, folder, served, "--limit", 1, "--rounds", 2, "--json")
        assert said.code == 3 and "every task was turned down" in said.err
        assert said.json["rejected"] == 1 and said.json["truths"] == ""
        assert not (folder / m3_authoring.TRUTHS_FILE).exists()
        n = len(served.asked["p"])
        run(toolmark, folder, served, "--limit", 1, "--rounds", 2)
        assert len(served.asked["p"]) == n == 8
        run(toolmark, folder, served, "--limit", 1, "--rounds", 3)
        assert len(served.asked["p"]) == n + 4
    (attempt, *_) = Run(folder).attempts()
    assert "turned down 2 times" in attempt.failure.message


@pytest.mark.parametrize(
    ("proposed", "why"),
    [
        ("no", "not JSON"),
        ('{"steps": []}', "no call"),
        ('{"steps": [{"calls": [{"name": "shop/price", "arguments": {"code": "7714"}}]}]}',
         "only ocr/read returned"),
        ('{"steps": [{"calls": [{"name": "shop/steal", "arguments": {}}]}]}', "not made"),
    ],
)  # fmt: skip
def test_a_proposal_that_cannot_be_taken_is_asked_again_then_the_rule_stands_in(
    tmp_path: Path, toolmark: Command, proposed: str, why: str
) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge(shorten=lambda body: proposed)) as served:
        assert run(toolmark, folder, served, "--limit", 1).code == 0
    asked = [body for body in served.asked["j"] if condensing(body)]
    assert len(asked) == 2
    assert why in endpoints.said(asked[1])
    (decided,) = m3_authoring.read_decisions(folder)["00000000"]
    assert decided.condensed_by == "rule" and why in decided.proposal_fault
    (entry,) = json.loads((folder / m3_authoring.TRUTHS_FILE).read_text())
    called = [[call["name"] for call in step["calls"]] for step in entry["steps"]]
    assert called == [["ocr/read"], ["shop/ping"], ["shop/price"]]


def test_a_second_proposal_may_be_better(tmp_path: Path, toolmark: Command) -> None:
    n = 0

    def improves(body: dict[str, Any]) -> Any:
        nonlocal n
        n += 1
        return "hm" if n == 1 else shortest(body)

    with endpoints.serving(p=player, j=judge(shorten=improves)) as served:
        assert run(toolmark, tmp_path / "made", served, "--limit", 1).code == 0
    (decided,) = m3_authoring.read_decisions(tmp_path / "made")["00000000"]
    assert decided.condensed_by == "model" and list(decided.steps) == REFERENCE


@pytest.mark.parametrize("broken", [500, "What?", '{"accept": "yes"}', '{"accept": 1}', "{" * 500])
def test_a_judge_that_says_nothing_is_not_run_and_the_attempt_is_stored(
    tmp_path: Path, toolmark: Command, broken: str | int
) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge(lambda body: broken)) as served:
        said = run(toolmark, folder, served, "--limit", 1)
        assert said.code == 3
        assert "1 not run" in said.text and "same command again" in said.text
        (reason,) = [each.failure.message for each in Run(folder).attempts()]
        assert broken == 500 or "the judge j gave no decision" in reason
        assert not isinstance(broken, str) or broken[:5] in reason
        n = len(served.asked["p"])
        served.models["j"] = judge()
        assert run(toolmark, folder, served, "--limit", 1).code == 0
        assert len(served.asked["p"]) == n == 4
    assert [d.outcome for d in m3_authoring.read_decisions(folder)["00000000"]] == [
        "not_run",
        "accepted",
    ]


def test_a_player_that_is_down_or_an_environment_that_ends_is_not_run(
    tmp_path: Path, toolmark: Command
) -> None:
    with endpoints.serving(p=lambda body: 500, j=judge()) as served:
        said = run(toolmark, tmp_path / "down", served, "--json")
        assert said.code == 3 and said.json["not_run"] == 2
        assert "j" not in served.asked
        served.models["p"] = player
        said = run(toolmark, tmp_path / "down", served, "--json")
        assert said.code == 0 and said.json["accepted"] == 2
        said = run(toolmark, tmp_path / "lost", served, "-T", "lost=00000001", "--json")
    assert said.json["accepted"] == 1 and said.json["not_run"] == 1
    assert any("the shop is closed" in a.failure.message for a in Run(tmp_path / "lost").attempts())


def test_the_reason_outlives_the_command(tmp_path: Path, toolmark: Command) -> None:
    n = 0

    def tires(body: dict[str, Any]) -> Any:
        nonlocal n
        n += 1
        return player(body) if n <= 4 else 500

    with endpoints.serving(p=tires, j=judge(lambda body: REJECT)) as served:
        assert run(toolmark, tmp_path / "made", served, "--limit", 1).code == 3
        served.models |= {"p": player, "j": judge()}
        served.asked.clear()
        assert run(toolmark, tmp_path / "made", served, "--limit", 1).code == 0
    assert "Look the price up." in endpoints.said(served.asked["p"][0])
    reported = [d.outcome for d in m3_authoring.read_decisions(tmp_path / "made")["00000000"]]
    assert reported == ["rejected", "not_run", "accepted"]


def test_a_refused_key_stops_the_work(tmp_path: Path, toolmark: Command) -> None:
    with endpoints.serving(p=player, j=judge(lambda body: 401)) as served:
        said = run(toolmark, tmp_path / "made", served, "--max-connections", 1, "--json")
    assert said.json["not_run"] == 2
    assert len(served.asked["p"]) == 4 and len(served.asked["j"]) == 1


def test_an_attempt_without_a_call_or_an_answer_is_turned_down_unasked(
    tmp_path: Path, toolmark: Command
) -> None:
    with endpoints.serving(p=lambda body: "It costs 2 euros.", j=judge()) as served:
        said = run(toolmark, tmp_path / "made", served, "--limit", 1, "--json")
    assert said.json["rejected"] == 1
    assert "j" not in served.asked
    assert len(served.asked["p"]) == 3
    reasons = {d.reason for d in m3_authoring.read_decisions(tmp_path / "made")["00000000"]}
    assert reasons == {m3_authoring._NO_CALL_REASON}


def test_people_review_what_models_made(tmp_path: Path, toolmark: Command) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge()) as served:
        run(toolmark, folder, served)
    found = ReviewEpisodes(Run(folder))
    log = ReviewLog(folder / "reviews.jsonl", Decision)
    for task, repeat in found.keys:
        log.append(
            Decision(task=task, repeat=repeat, decision="accept", reviewer="ada", time="now")
        )
    reported = review_reference_export.write_references(found, log, tmp_path / "kept.json")
    assert reported.n_accepted == 2
    saved = json.loads((tmp_path / "kept.json").read_text())
    assert saved == json.loads((folder / m3_authoring.TRUTHS_FILE).read_text())


def test_a_kill_between_a_decision_and_its_reference_is_repaired(
    tmp_path: Path, toolmark: Command
) -> None:
    folder = tmp_path / "made"
    with endpoints.serving(p=player, j=judge()) as served:
        run(toolmark, folder, served)
        before = (folder / m3_authoring.TRUTHS_FILE).read_text()
        lines = (folder / "trajectories.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "trajectories.jsonl").write_bytes(lines[0] + lines[1][:50])
        (folder / m3_authoring.TRUTHS_FILE).unlink()
        served.asked.clear()
        assert run(toolmark, folder, served).code == 0
    assert not served.asked
    assert (folder / m3_authoring.TRUTHS_FILE).read_text() == before


def test_a_killed_author_goes_on_where_it_was(tmp_path: Path, toolmark: Command) -> None:
    folder = tmp_path / "made"
    child: list[subprocess.Popen[bytes]] = []

    def kills(body: dict[str, Any]) -> str:
        if '"00000001"' in endpoints.said(body):
            child[0].send_signal(signal.SIGKILL)
        return ACCEPT

    with endpoints.serving(p=player, j=judge(kills)) as served:
        words = command(folder, served, "--max-connections", 1)
        plain = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        child.append(subprocess.Popen(
            [sys.executable, "-m", "toolmark", *words], env=plain, cwd=ROOT,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        ))  # fmt: skip
        assert child[0].wait(60) == -signal.SIGKILL
        assert list(m3_authoring.read_decisions(folder)) == ["00000000"]
        served.models["j"] = judge()
        served.asked.clear()
        assert run(toolmark, folder, served, "--max-connections", 1).code == 0
    assert len(served.asked["p"]) == 4
    assert len(json.loads((folder / m3_authoring.TRUTHS_FILE).read_text())) == 2


def test_another_request_or_a_full_folder_is_refused(tmp_path: Path, toolmark: Command) -> None:
    with endpoints.serving(p=player, j=judge()) as served:
        run(toolmark, tmp_path / "made", served, "--limit", 1)
        said = run(toolmark, tmp_path / "made", served)
        assert said.code == 2 and "another request" in said.err
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "thesis.txt").write_text("mine")
        said = run(toolmark, tmp_path / "full", served)
        assert said.code == 2 and "not empty" in said.err
        said = toolmark("author", SUITE, "-m", "control/always-call", "--judge-model", served["j"],
                        "-o", tmp_path / "new")  # fmt: skip
        assert said.code == 2 and "control" in said.err
    assert not (tmp_path / "new").exists()


def test_references_are_made_where_there_are_none_and_no_encoder_is_asked_for(
    tmp_path: Path, toolmark: Command
) -> None:
    def calls(body: dict[str, Any]) -> dict[str, Any]:
        done = any(message["role"] == "tool" for message in body["messages"])
        return fake.says("It is hi.") if done else fake.calls(("one_echo", '{"text": "hi"}'))

    tasks, servers = tmp_path / "tasks.json", tmp_path / "mcp.json"
    tasks.write_text('[{"id": "a", "question": "What comes back?"}]')
    servers.write_text(json.dumps({"mcpServers": {"one": fault()}}))
    made = tmp_path / "made"
    with endpoints.serving(p=calls, j=judge(shorten=lambda body: "no")) as served:
        words = ["author", "m3", "-m", served["p"], "--judge-model", served["j"], "-o", str(made)]
        words += ["-T", f"truths={tasks}", "-T", f"servers={servers}", "-T", "agent=loop"]
        assert toolmark(*words).code == 0
    (entry,) = json.loads((made / m3_authoring.TRUTHS_FILE).read_text())
    assert entry["steps"][0]["calls"] == [{"name": "one/echo", "arguments": {"text": "hi"}}]
    assert Run(made).info.plan.parameters["similarity"] == "exact"
    assert Run(made).info.plan.environment_hashes["servers"]


def test_a_task_without_a_reference_is_played_among_all_servers() -> None:
    bare = endpoints._asked(0)
    assert "servers" not in m3_authoring.without_reference(bare).data
    known = endpoints.task(0)
    assert m3_authoring.without_reference(known) == known
