"""Decisions are kept one by one, the last word counts, and references come out of them."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.studio.conftest import Maker, lines

from toolmark.core import json_codec
from toolmark.core.errors import DataError, UsageError
from toolmark.runs.run_store import Run
from toolmark.studio import review_edit_check, review_reference_export, run_review
from toolmark.studio.review_episodes import ReviewEpisodes
from toolmark.studio.review_log import Decision, ReviewLog, utc_now
from toolmark.studio.review_server import ReviewAnswer
from toolmark.studio.run_review import RunReview
from toolmark.suites.m3 import published_tasks

STEPS = [{"step": 1, "calls": [{"name": "ocr/read", "arguments": {"path": "a \ud83d é"}}]}]


@pytest.fixture
def run(make_run: Maker) -> Run:
    return make_run()


def test_episodes_come_in_the_order_of_the_tasks(run: Run) -> None:
    assert RunReview(run, "ada").episodes.keys == [(f"0000{i:04}", 0) for i in range(5)]


def test_ids_choose_and_unknown_ones_are_named(run: Run) -> None:
    desk = RunReview(run, "ada", ["00000003", "00000001"])
    assert [task for task, _ in desk.episodes.keys] == ["00000001", "00000003"]
    with pytest.raises(UsageError, match="no task '00000009'; did you mean: 0000000"):
        RunReview(run, "ada", ["00000009"])


def test_the_last_decision_counts(run: Run) -> None:
    desk = RunReview(run, "ada")
    for choice in ("accept", "reject"):
        desk.record_answer(2, ReviewAnswer(choice))
    RunReview(run, "bob").record_answer(2, ReviewAnswer("edit", steps=json.dumps(STEPS)))
    assert len(lines(desk.log.path)) == 3
    [(key, last)] = desk.log.latest_by_key().items()
    assert key == ("00000001", 0)
    assert (last.decision, last.reviewer) == ("edit", "bob")
    assert desk.summary_lines() == ("0 accepted, 1 edited, 0 rejected, 4 open",)


def test_a_torn_last_line_is_dropped_and_the_rest_goes_on(run: Run) -> None:
    desk = RunReview(run, "ada")
    desk.record_answer(1, ReviewAnswer("accept"))
    with desk.log.path.open("a") as file:
        file.write('{"task":"00000001","rep')
    assert desk.next_open() == "2"
    desk.record_answer(2, ReviewAnswer("accept"))
    assert [line["task"] for line in lines(desk.log.path)] == ["00000000", "00000001"]


def test_decisions_made_at_once_are_all_stored(run: Run, tmp_path: Path) -> None:
    logs = [ReviewLog(tmp_path / "reviews.jsonl", Decision) for _ in range(8)]
    start = threading.Barrier(8)

    def work(who: int) -> None:
        start.wait(10)
        for i in range(12):
            logs[who].append(
                Decision(task=f"{who}-{i}", repeat=0, decision="accept", reviewer="x" * who,
                         time=utc_now(), note="n" * 997 * (i % 3))
            )  # fmt: skip

    threads = [threading.Thread(target=work, args=(who,)) for who in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(logs[0].latest_by_key()) == {
        (f"{who}-{i}", 0) for who in range(8) for i in range(12)
    }
    assert len(lines(tmp_path / "reviews.jsonl")) == 96


def test_decisions_of_several_processes_are_all_stored(run: Run) -> None:
    code = (
        "import sys; from pathlib import Path; from toolmark.studio.review_log import *\n"
        "log = ReviewLog(Path(sys.argv[1]), Decision)\n"
        "for i in range(20): log.append(Decision(task=f'{sys.argv[2]}-{i}', repeat=0,"
        " decision='reject', reviewer='x', time=utc_now(), note='n' * 5000))"
    )
    path = run.path / "reviews.jsonl"
    working = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(who)]) for who in range(3)
    ]
    assert [process.wait() for process in working] == [0, 0, 0]
    assert len(ReviewLog(path, Decision).latest_by_key()) == len(lines(path)) == 60


def test_a_killed_review_keeps_what_was_decided(run: Run) -> None:
    environment = {**os.environ, "TOOLMARK_REVIEWER": "eve", "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "toolmark", "review", str(run.path), "--no-open"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    port = url.split(":")[2].split("/")[0]
    for n in (1, 2):
        request = urllib.request.Request(
            f"{url}{n}", b'{"choice": "accept"}',
            {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"},
        )  # fmt: skip
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request) as reply:
            assert json.load(reply) == {"next": str(n + 1)}
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    desk = RunReview(run, "ada")
    assert desk.next_open() == "3"
    assert {made.reviewer for made in desk.log.latest_by_key().values()} == {"eve"}


# --- edits ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("{}", {"$": "a list of steps, got an object"}),
        ("[1]", {"$[0]": "an object with calls, got a number"}),
        ('[{"calls": {}}]', {"$[0].calls": "a list of calls, got an object"}),
        ('[{"calls": []}]', {"$[0].calls": "at least one call"}),
        ('[{"step": 2, "calls": [null]}]', {"$[0].step": "expected 1", "$[0].calls[0]": "null"}),
        ('[{"calls": [{"name": "", "arguments": []}]}]',
         {"$[0].calls[0].name": "the name of a tool", "$[0].calls[0].arguments": "an object"}),
        ('[{"calls": [{"name": "ocr/read", "arguments": {"a b": [NaN, 99999999999999999999]}}]}]',
         {'$[0].calls[0].arguments["a b"][0]': "finite",
          '$[0].calls[0].arguments["a b"][1]': "64 bits"}),
        ('[{"calls": [{"name": "ocr/raed", "arguments": {}, "result": 1}]}]',
         {"$[0].calls[0].result": "not expected", "$[0].calls[0].name": "did you mean: ocr/read"}),
        ("[", {"$": "not JSON"}),
        ("[]", {"$": "at least one step"}),
    ],
)  # fmt: skip
def test_every_fault_of_an_edit_is_reported_with_its_path(
    text: str, faults: dict[str, str]
) -> None:
    with pytest.raises(review_edit_check.InvalidSteps) as raised:
        review_edit_check.parse_steps(text, ("ocr/read", "shop/search"))
    found = {fault.path: fault.text for fault in raised.value.faults}
    assert found.keys() == faults.keys()
    assert all(faults[path] in found[path] for path in faults)


VALUES: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
CALLS = st.fixed_dictionaries(
    {"name": st.text(min_size=1).filter(str.strip),
     "arguments": st.dictionaries(st.text(), VALUES, max_size=3)}
)  # fmt: skip


@given(
    st.lists(
        st.fixed_dictionaries({"calls": st.lists(CALLS, min_size=1, max_size=3)}),
        min_size=1,
        max_size=3,
    )
)
def test_steps_that_are_sound_come_back_numbered(steps: list[dict[str, object]]) -> None:
    found = review_edit_check.parse_steps(json.dumps(steps))
    assert [step["step"] for step in found] == list(range(1, len(steps) + 1))
    assert [step["calls"] for step in found] == [step["calls"] for step in steps]
    assert review_edit_check.parse_steps(json.dumps(found)) == found


@given(VALUES)
def test_any_json_is_stored_or_refused_with_paths(value: object) -> None:
    try:
        review_edit_check.check_steps(value)
    except review_edit_check.InvalidSteps as error:
        assert error.faults
        assert all(fault.path.startswith("$") and fault.text for fault in error.faults)


def test_an_episode_that_is_no_reference_cannot_be_accepted(make_run: Maker) -> None:
    run = make_run(n=1)
    path = run.path / "trajectories.jsonl"
    path.write_text(path.read_text().replace('{\\"n\\": 3, \\"query\\": \\"cola\\"}', "cola"))
    desk = RunReview(run, "ada")
    with pytest.raises(
        review_edit_check.InvalidSteps, match=r"\$\[1\].calls\[0\].arguments: expected an object"
    ):
        desk.record_answer(1, ReviewAnswer("accept"))
    desk.record_answer(1, ReviewAnswer("reject"))


# --- references -------------------------------------------------------------------------


def test_references_have_the_published_layout(run: Run, tmp_path: Path) -> None:
    desk = RunReview(run, "ada")
    desk.record_answer(1, ReviewAnswer("accept"))
    desk.record_answer(2, ReviewAnswer("edit", steps=json.dumps(STEPS)))
    desk.record_answer(3, ReviewAnswer("reject"))
    reported = run_review.export_references(run, tmp_path / "truth.json")
    assert reported.endswith("2 references, 1 of them edited; left out: 1 rejected, 2 not decided")
    first, second = json.loads((tmp_path / "truth.json").read_text())
    assert list(first) == ["id", "image", "type", "question", "steps", "final_reply"]
    assert (first["id"], first["image"], first["type"]) == (
        "00000000", "images/shelf-0.png", "prices",
    )  # fmt: skip
    assert first["question"].endswith("half a pair \ud83d of surrogates")
    assert [len(step["calls"]) for step in first["steps"]] == [1, 2]
    assert first["steps"][0]["calls"] == [
        {"name": "ocr/read", "arguments": {"path": "images/shelf-0.png"}}
    ]
    assert second["steps"] == STEPS
    assert second["final_reply"] == "Cola 2 €, lemonade 3 €."


def test_references_are_read_as_published_ones_are(run: Run, tmp_path: Path) -> None:
    desk = RunReview(run, "ada")
    for n in range(2, 6):  # the first holds half a pair of surrogates: no Unicode
        desk.record_answer(n, ReviewAnswer("accept"))
    run_review.export_references(run, tmp_path / "truth.json")
    entries, twice = published_tasks.read_task_entries(tmp_path / "truth.json")
    assert [entry.id for entry in entries] == [f"0000{i:04}" for i in range(1, 5)]
    assert not twice
    collected = run.task("00000001").data["steps"]
    made = published_tasks.plain_steps(entries[0].steps)
    assert made == [
        {"calls": [{**call, "arguments": dict(sorted(call["arguments"].items()))}
                   for call in step["calls"]]} for step in collected
    ]  # fmt: skip


def test_the_place_of_the_picture_is_no_part_of_the_question(run: Run, tmp_path: Path) -> None:
    asked = "What do the drinks on shelf 1 cost?"
    path = run.path / "tasks.jsonl"
    reported = json_codec.encode_record(
        published_tasks.question_with_picture(asked, "shelf-1.png")
    ).decode()
    path.write_text(path.read_text().replace(f'"{asked}"', reported))
    with pytest.raises(DataError, match=path.name):
        ReviewEpisodes(run)
    info = json.loads((run.path / "run.json").read_text())
    info["tasks_sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (run.path / "run.json").write_text(json.dumps(info))
    desk = RunReview(Run(run.path), "ada")
    desk.record_answer(2, ReviewAnswer("accept"))
    run_review.export_references(Run(run.path), tmp_path / "truth.json")
    [entry] = json.loads((tmp_path / "truth.json").read_text())
    assert entry["question"] == asked


def test_without_accepted_episodes_nothing_is_written(run: Run, tmp_path: Path) -> None:
    RunReview(run, "ada").record_answer(1, ReviewAnswer("reject"))
    with pytest.raises(UsageError):
        review_reference_export.write_references(
            ReviewEpisodes(run), run_review.open_review_log(run), tmp_path / "truth.json"
        )
    assert not (tmp_path / "truth.json").exists()
    with pytest.raises(DataError, match="cannot write"):
        RunReview(run, "ada").record_answer(2, ReviewAnswer("accept"))
        run_review.export_references(run, tmp_path / "none" / "truth.json")
