"""The loop: what is solved is edited, what fails and is solvable is kept, nothing asked twice."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.studio.vision_tuning import tuned_items
from tests.studio.vision_tuning.tuned_items import Scripted

from toolmark.core.errors import DataError, ToolEnvironmentError, UsageError
from toolmark.core.records import Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments import provider_circuit_breaker
from toolmark.runs import dataset_folder, runner
from toolmark.studio.vision_tuning import tuned_set_export
from toolmark.studio.vision_tuning.tuned_set_export import ItemHistory
from toolmark.studio.vision_tuning.tuning_folder import TuningFolder
from toolmark.suites.mfcl_vision import generation_parameters, item_folder, web_environment
from toolmark.suites.mfcl_vision.item_records import Hop, ItemTruth


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return tuned_items.items(tmp_path / "items")


def statuses(tuning: TuningFolder) -> list[str]:
    return [item.status(tuning.request) for item in tuning.items.values()]


def edited(tuning: TuningFolder) -> list[list[str]]:
    return [[v.edit for v in item.versions[1:]] for item in tuning.items.values()]


def test_what_most_of_the_panel_fails_is_left_as_it_is(tmp_path: Path, source: Path) -> None:
    models = {"a": Scripted(tuned_items.always), "b": Scripted(tuned_items.always), "c": Scripted()}
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    assert statuses(tuning) == ["waiting"] * 3
    assert edited(tuning) == [[], [], []]
    # wrong repeatedly: every attempt; who solves is asked once
    assert [len(model.asked) for model in models.values()] == [6, 6, 3]


def test_what_is_solved_is_edited_until_most_fail(tmp_path: Path, source: Path) -> None:
    models = {
        "a": Scripted(tuned_items.chatted),
        "b": Scripted(tuned_items.chatted),
        "c": Scripted(),
    }
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    assert edited(tuning) == [["context"]] * 3
    assert statuses(tuning) == ["waiting"] * 3


def test_edits_come_in_their_order_each_once_and_end(tmp_path: Path, source: Path) -> None:
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, edits=("crop", "context"))
    assert edited(tuning) == [["crop", "context"]] * 3
    assert statuses(tuning) == ["easy"] * 3


@pytest.mark.parametrize("rounds", [0, 1])
def test_no_more_edits_than_rounds(tmp_path: Path, source: Path, rounds: int) -> None:
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, rounds=rounds)
    assert [len(made) for made in edited(tuning)] == [rounds] * 3


def test_half_is_not_most(tmp_path: Path, source: Path) -> None:
    models = {"a": Scripted(tuned_items.always), "b": Scripted()}
    assert statuses(tuned_items.tuned(tmp_path / "t", source, models, rounds=0)) == ["easy"] * 3


def test_a_further_hop_is_another_question_and_edits_begin_anew(
    tmp_path: Path, source: Path
) -> None:
    def further(suite: Any, item: str, hops: int) -> Task | None:
        drafts = (task for task in suite.tasks if task.item == item)
        (task,) = suite.maker.make(drafts)
        if hops > 3:
            return None
        way = tuple(Hop(query="q", href="https://www.guide.example/inn-0", finds="x")
                    for _ in range(hops))  # fmt: skip
        truth = replace(read_task_data(task, ItemTruth), hops=way)
        made: Task = replace(task, data=msgspec.to_builtins(truth))
        return made

    tuning = tuned_items.tuned(
        tmp_path / "t", source, {"a": Scripted()}, further=further, edits=("context", "hops"),
        rounds=9,
    )  # fmt: skip
    assert edited(tuning) == [["context", "hops", "context", "hops", "context"]] * 3


def test_what_allows_no_edit_is_not_tried_again_and_again(tmp_path: Path, source: Path) -> None:
    tried: list[str] = []

    def further(suite: Any, item: str, hops: int) -> Task | None:
        tried.append(item)
        return None

    rows = [{"id": "inn-0", "hint": "Look up."}, {"id": "inn-0", "hint": "Look down."}]
    (source / "edits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, further=further, edits=("hops",))
    assert Counter(tried) == {"inn-0": 1, "inn-1": 1, "inn-2": 1}


@pytest.mark.parametrize("solvable", ["solvable", "unsolvable", "unclear", None])
@pytest.mark.parametrize("hard", [True, False])
def test_accepted_is_what_a_person_finds_solvable_and_most_of_the_panel_fails(
    tmp_path: Path, source: Path, solvable: str | None, hard: bool
) -> None:
    models = {"a": Scripted(tuned_items.always if hard else lambda question: False)}
    tuning = tuned_items.tuned(tmp_path / "t", source, models, rounds=0)
    if solvable:
        tuned_items.mark(tuning, "inn-1", solvable)
    tuning = TuningFolder(tmp_path / "t")
    made = tuned_set_export.publish_set(tuning, tuned_items.suite(source))
    assert (made is not None) == (hard and solvable == "solvable")
    if made is not None:
        assert [entry.id for entry in item_folder.read_item_folder(made).entries] == ["inn-1"]


def test_a_set_is_in_the_published_layout_with_pages_card_and_the_history_of_every_item(
    tmp_path: Path, source: Path
) -> None:
    models = {
        "a": Scripted(tuned_items.chatted, "I do not know"),
        "b": Scripted(tuned_items.chatted),
    }
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    tuned_items.mark(tuning, "inn-2", "solvable")
    tuned_items.mark(tuning, "inn-0", "unsolvable")
    made = tuned_set_export.publish_set(TuningFolder(tmp_path / "t"), tuned_items.suite(source))
    assert made is not None
    (task,) = tuned_items.suite(made).maker.make(iter(tuned_items.suite(made).tasks))
    assert read_task_data(task, ItemTruth).answers == (tuned_items.CITIES[2],)
    assert (
        read_task_data(task, ItemTruth).question
        == read_task_data(tuning.items["inn-2"].latest_version.task, ItemTruth).question
    )
    assert (made / "pages" / "www.guide.example" / "inn-2.html").is_file()
    assert dataset_folder.verify_dataset(made) is not None
    lines = (made / tuned_set_export.HISTORY_FILE).read_bytes().splitlines()
    histories = {h.id: h for h in (msgspec.json.decode(line, type=ItemHistory) for line in lines)}
    assert {id: h.status for id, h in histories.items()} == {
        "inn-0": "unsolvable", "inn-1": "waiting", "inn-2": "accepted",
    }  # fmt: skip
    first, second = histories["inn-2"].versions
    assert (first.edit, second.edit) == ("", "context")
    assert [tried.outcomes for tried in first.panel] == [("solved",), ("solved",)]
    assert [tried.outcomes for tried in second.panel] == [("refused",) * 2, ("wrong",) * 2]
    assert [said.verdict for said in second.decisions] == ["solvable"]


def test_what_is_unclear_gets_a_hint_and_is_asked_and_marked_anew(
    tmp_path: Path, source: Path
) -> None:
    models = {"a": Scripted(tuned_items.always)}
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    tuned_items.mark(tuning, "inn-0", "unclear")
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    assert edited(tuning) == [["hint"], [], []]
    assert statuses(tuning) == ["waiting"] * 3
    assert "upper right" in models["a"].asked[-1]
    tuned_items.mark(tuning, "inn-0", "unclear")  # there is nothing more to say
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    assert (edited(tuning)[0], statuses(tuning)[0]) == (["hint"], "unclear")


def test_own_edits_are_tried_first_and_in_order(tmp_path: Path, source: Path) -> None:
    rows = [{"id": "inn-0", "context": "By the river."}, {"id": "inn-0", "hint": "Look up."}]
    (source / "edits.jsonl").write_text("\n".join(map(json.dumps, rows)))
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, edits=("context",))
    assert edited(tuning) == [["own", "own", "context"], ["context"], ["context"]]
    said = read_task_data(tuning.items["inn-0"].latest_version.task, ItemTruth).question
    assert said.context.startswith("By the river. ")
    assert said.hint == "Look up."


def test_a_dead_model_leaves_items_open_and_only_what_is_missing_is_asked_again(
    tmp_path: Path, source: Path
) -> None:
    alive, dead = Scripted(tuned_items.always), Scripted(tuned_items.always, dead=True)
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": alive, "b": dead})
    assert statuses(tuning) == ["open"] * 3
    assert Counter(alive.asked).most_common(1)[0][1] == 2
    asked = len(alive.asked)
    trials = [t for item in tuning.items.values() for t in item.attempts("b", 0)]
    kinds = {t.failure and t.failure.kind for t in trials}
    assert kinds == {"unavailable"}
    dead.dead = False
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": alive, "b": dead})
    assert statuses(tuning) == ["waiting"] * 3
    assert (len(alive.asked), len(dead.asked)) == (asked, 6)


def test_a_model_that_cannot_turn_the_ruling_need_not_answer(tmp_path: Path, source: Path) -> None:
    models = {
        "a": Scripted(tuned_items.always),
        "b": Scripted(tuned_items.always),
        "c": Scripted(dead=True),
    }
    assert statuses(tuned_items.tuned(tmp_path / "t", source, models)) == ["waiting"] * 3


def test_a_torn_line_costs_one_trial_only(tmp_path: Path, source: Path) -> None:
    models = {"a": Scripted(tuned_items.always)}
    tuned_items.tuned(tmp_path / "t", source, models)
    path = tmp_path / "t" / "trials.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    assert len(models["a"].asked) == 6
    tuning = tuned_items.tuned(tmp_path / "t", source, models)
    assert len(models["a"].asked) == 7
    assert statuses(tuning) == ["waiting"] * 3


def test_a_bad_picture_is_its_own_items_affair(tmp_path: Path, source: Path) -> None:
    (source / "inn-1.png").write_bytes(b"no picture")
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted(tuned_items.always)})
    assert statuses(tuning) == ["waiting", "broken", "waiting"]
    assert "inn-1.png" in tuning.items["inn-1"].latest_version.failure


def test_the_pages_on_the_way_are_stored_for_marking(tmp_path: Path, source: Path) -> None:
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted(tuned_items.always)})
    (leaf,) = tuning.items["inn-1"].pages
    assert f"stands in {tuned_items.CITIES[1]}" in leaf.text


def test_outages_are_for_who_is_tested_and_not_for_who_marks(tmp_path: Path, source: Path) -> None:
    models = {"a": Scripted(tuned_items.always)}
    tuning = tuned_items.tuned(tmp_path / "t", source, models, parameters={"outages": 1.0})
    for n, item in enumerate(tuning.items.values()):
        (leaf,) = item.pages
        assert f"stands in {tuned_items.CITIES[n]}" in leaf.text


def test_what_is_no_page_is_not_stored_as_one(tmp_path: Path, source: Path) -> None:
    (source / "pages" / "www.guide.example" / "inn-1.html").unlink()
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted(tuned_items.always)})
    assert [len(item.pages) for item in tuning.items.values()] == [1, 0, 1]


def test_a_fault_is_its_own_attempts_affair(tmp_path: Path, source: Path) -> None:
    def faulty(question: str) -> bool:
        if "number 2 of" in question:
            raise RecursionError("too deep")
        return True

    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted(faulty)})
    assert statuses(tuning) == ["waiting", "open", "waiting"]
    (trial,) = tuning.items["inn-1"].trials
    assert trial.outcome == "not_run" and trial.failure is not None
    assert trial.failure.kind == "agent" and "RecursionError" in trial.failure.message


def test_who_watches_sees_what_is_waited_for(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PROGRESS_INTERVAL_S", 0.01)
    waited = provider_circuit_breaker.ProviderCircuitBreaker("desk")

    class Waiting(Scripted):
        async def __call__(self, request: Request, /) -> Reply:
            with suppress(ToolEnvironmentError):
                await waited.wait_before_retry(0, 60.0, "no answer")
            return await super().__call__(request)

    seen: set[str] = set()

    def watch(progress: runner.Progress) -> None:
        seen.update(progress.wait_reasons)
        if progress.wait_reasons:
            for _ in range(provider_circuit_breaker.MAX_FAILED_QUESTIONS):
                waited.record_failure("seen")

    tuned_items.tuned(tmp_path / "t", source, {"a": Waiting()}, rounds=0, watch=watch)
    assert seen == {"desk, no answer"}


def test_what_is_said_of_an_item_without_a_version_is_refused_by_file_and_item(
    tmp_path: Path, source: Path
) -> None:
    tuning = tuned_items.tuned(tmp_path / "t", source, {"a": Scripted(tuned_items.always)})
    versions = tuning.path / "versions.jsonl"
    collected = versions.read_bytes().splitlines(keepends=True)
    versions.write_bytes(b"".join(collected[:2]))
    with pytest.raises(DataError, match=r"trials\.jsonl: .*'inn-2'"):
        TuningFolder(tuning.path)
    versions.write_bytes(b"".join(collected))
    for name in ("marks.jsonl", "pages.jsonl"):
        lines = (tuning.path / name).read_bytes() if (tuning.path / name).exists() else b""
        said = {"item": "inn-9", "version": 0, "verdict": "unclear", "reviewer": "ada", "time": "",
                "hop": {"query": "", "href": "", "finds": ""}, "text": ""}  # fmt: skip
        (tuning.path / name).write_bytes(lines + json.dumps(said).encode() + b"\n")
        with pytest.raises(DataError, match=rf"{name}: .*'inn-9'"):
            TuningFolder(tuning.path)
        (tuning.path / name).write_bytes(lines)


def test_attempts_of_an_older_format_are_refused_with_how_to_begin_anew(
    tmp_path: Path, source: Path
) -> None:
    tuning = tuned_items.tuned(
        tmp_path / "t", source, {"a": Scripted(tuned_items.always)}, rounds=0
    )
    trials = tuning.path / "trials.jsonl"
    lines = list(map(json.loads, trials.read_text().splitlines()))
    for reason in ("", "no answer in 120 s"):
        lines[-1] |= {"outcome": "not_run", "reason": reason}
        trials.write_text("".join(json.dumps(line) + "\n" for line in lines))
        if not reason:
            TuningFolder(tuning.path)
    with pytest.raises(DataError, match=r"trials\.jsonl: written by an older version .* -o FOLDER"):
        TuningFolder(tuning.path)


@pytest.mark.parametrize("search", ["pages", "corpus:{}", "record:tape.jsonl@corpus:{}"])
def test_pages_that_are_searched_are_the_corpus_behind_the_name(
    tmp_path: Path, search: str
) -> None:
    pages = tuned_items.items(tmp_path / "items") / "pages"
    corpus = web_environment.WebOpener(search.format(pages), pages).corpus(0)
    assert asyncio.run(corpus.find("Stimada", "")).hits
    with pytest.raises(UsageError, match="no pages of their own"):
        web_environment.WebOpener("brave", pages).corpus(0)


def test_generated_items_come_from_no_folder_of_that_name() -> None:
    assert generation_parameters.source_folder("generated") is None
    assert generation_parameters.source_folder("hard/set") == Path("hard/set")


def test_the_same_seed_makes_the_same_versions(tmp_path: Path, source: Path) -> None:
    models = {"a": Scripted()}
    made = []
    for name in ("one", "two"):
        tuned_items.tuned(tmp_path / name, source, models)
        made.append((tmp_path / name / "versions.jsonl").read_bytes())
    assert made[0] == made[1]


@pytest.mark.parametrize("other", [{"edits": ("crop",)}, {"rounds": 1}, {"attempts": 3}])
def test_another_request_needs_another_folder(
    tmp_path: Path, source: Path, other: dict[str, Any]
) -> None:
    tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, rounds=0)
    with pytest.raises(UsageError, match="made with another"):
        tuned_items.tuned(tmp_path / "t", source, {"a": Scripted()}, **({"rounds": 0} | other))


def test_foreign_and_damaged_folders_are_refused(tmp_path: Path, source: Path) -> None:
    with pytest.raises(UsageError, match="not empty"):
        tuned_items.tuned(source, source, {"a": Scripted()})
    with pytest.raises(UsageError, match="no folder of `toolmark tune`"):
        TuningFolder(tmp_path)
    (tmp_path / "tune.json").write_text("{")
    with pytest.raises(DataError, match=r"tune\.json: cannot be read"):
        TuningFolder(tmp_path)
