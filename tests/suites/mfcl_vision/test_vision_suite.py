"""The vision suite from end to end: made, asked, asked back, kept, made again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolmark as tm
from toolmark.core import json_codec, worker_processes
from toolmark.core.errors import DataError, UsageError
from toolmark.core.media import MediaStore
from toolmark.core.model import Model
from toolmark.core.records import Call, Image, Reply, Request, Task
from toolmark.core.task_data import read_task_data
from toolmark.environments.search_environment import FETCH_TOOL, SEARCH_TOOL
from toolmark.generation.item_maker import ItemMaker
from toolmark.perturb.image.picture_variations import TABLE_2_VARIATIONS
from toolmark.runs import dataset_folder
from toolmark.runs.record_files import read_records
from toolmark.suites.mfcl_vision import item_folder, item_records, prompts, web_environment
from toolmark.suites.mfcl_vision.item_records import ItemTruth

OPTIONS: dict[str, Any] = {
    "items": 4,
    "variations": "base,edges,crop-16:9",
    "seed": 7,
    "hops": "1,2",
}


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOOLMARK_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(
            worker_processes, "available_cores", lambda: 1
        )  # a world is drawn once, in this process
        yield


@pytest.fixture(scope="module")
def made(cache: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("set") / "made"
    dataset_folder.write_dataset(folder, tm.load("mfcl-vision", **OPTIONS))
    return folder


def tasks(made: Path) -> list[Task]:
    return list(read_records(made / "tasks.jsonl", Task))


@pytest.mark.parametrize("tool_format", ["native", "prompt"])
@pytest.mark.parametrize("structured", [False, True])
def test_the_oracle_is_always_right_and_null_never(
    tool_format: str, structured: bool, tmp_path: Path
) -> None:
    few = OPTIONS | {"items": 2, "variations": "base,gray", "structured": structured}
    suite = tm.load("mfcl-vision", **few)
    run = tm.run(suite, "control/oracle", tool_format=tool_format, log_dir=tmp_path)
    assert run.summary()["score"]["value"] == 1 and run.summary()["n_run"] == 4
    null = tm.run(suite, "control/null", tool_format=tool_format, log_dir=tmp_path)
    assert null.summary()["score"]["value"] == 0
    labels = {
        (each.axes["variation"], label.suite_cause)
        for each in null.scores()
        for label in each.verdicts["paper"].labels
        if label.primary
    }
    assert labels == {("base", "2"), ("gray", "other")}, "what base does too is not the damage's"


def test_tasks_are_as_promised(made: Path) -> None:
    asked = tasks(made)
    assert [task.id for task in asked[:3]] == [
        f"{asked[0].item}@{name}" for name in ("base", "edges", "crop-16:9")
    ]
    assert len({task.item for task in asked}) == 4
    assert len({(task.axes["domain"], task.axes["kind"]) for task in asked}) == 4
    for task in asked:
        truth = read_task_data(task, ItemTruth)
        system, user = task.turns[0].messages
        picture = user.parts[0]
        assert system.text == prompts.SYSTEM_PROMPT and isinstance(picture, Image)
        assert user.text == prompts.question_text(truth.question)
        known = {"variation", "domain", "kind", "template", "hops", "clue"}
        assert set(task.axes) == known | {"context", "hint", "form"}
        assert int(task.axes["hops"]) == len(truth.hops) <= 2
        assert {tool.name for tool in task.tools} == {SEARCH_TOOL, FETCH_TOOL}
        assert picture.mime == ("image/png" if truth.variation == "edges" else "image/jpeg")
        said = f"{user.text} {' '.join(f'{mark.text} {mark.symbol}' for mark in truth.marks)}"
        assert not any(answer.lower() in said.lower() for answer in truth.answers)
        assert all(mark.box for mark in truth.marks if mark.role == "clue")


class Asks(Model):
    """Asks back as often as it is answered, then gives up."""

    def __init__(self) -> None:
        self.seen: list[Request] = []

    async def __call__(self, request: Request, /) -> Reply:
        self.seen.append(request)
        return Reply(text="Which of the signs do you mean?")


def test_who_asks_back_gets_one_answer_that_nobody_knows(tmp_path: Path) -> None:
    model = Asks()
    suite = tm.load("mfcl-vision", **OPTIONS | {"items": 1, "variations": "base"})
    run = tm.run(suite, model, log_dir=tmp_path)
    [done] = run.trajectories()
    assert len(done.steps) == 2 and done.ending == "answered"
    assert model.seen[1].messages[-1].text == prompts.USER_REPLY
    assert [step.ruling and step.ruling.allowed for step in done.steps] == [True, False]
    [scored] = run.scores()
    assert scored.verdicts["paper"].parts["asked_back"] == 1


class Loops(Model):
    """Searches for ever."""

    async def __call__(self, request: Request, /) -> Reply:
        return Reply(calls=(Call(name=SEARCH_TOOL, arguments='{"keywords": "something"}'),))


def test_a_model_that_never_ends_is_ended(tmp_path: Path) -> None:
    suite = tm.load("mfcl-vision", **OPTIONS | {"items": 1, "variations": "base"})
    [done] = tm.run(suite, Loops(), log_dir=tmp_path).trajectories()
    assert done.ending == "steps" and len(done.steps) == 20


def test_a_made_set_is_asked_with_its_own_pages(made: Path, tmp_path: Path) -> None:
    card = (made / "README.md").read_text()
    for reported in ("Items by domain and query type", "## Signs", "## Pictures", "Sensitive"):
        assert reported.lower() in card.lower(), reported
    run = tm.run(
        tm.load("mfcl-vision"), "control/oracle", tasks=made, log_dir=tmp_path
    )  # of another seed
    assert run.summary()["score"]["value"] == 1 and run.info.seed == 7
    with pytest.raises(UsageError, match="made with hops"):
        tm.run(tm.load("mfcl-vision", hops="3"), "control/null", tasks=made, log_dir=tmp_path)


@pytest.mark.slow
def test_the_same_seed_makes_the_same_bytes(made: Path, tmp_path: Path) -> None:
    dataset_folder.write_dataset(tmp_path / "again", tm.load("mfcl-vision", **OPTIONS))
    first, second = (dataset_folder.read_manifest(path) for path in (made, tmp_path / "again"))
    assert first is not None and second is not None and first.files == second.files
    other = tm.load("mfcl-vision", **OPTIONS | {"seed": 8})
    [task] = other.maker.make([next(iter(other))])
    assert task.turns != tasks(made)[0].turns


def test_what_is_asked_hangs_on_no_way_to_say_it() -> None:
    """Knobs left at their defaults and spelled out, more items or fewer: equal bytes by id."""
    few, reported, more = (
        tm.load("mfcl-vision", seed=7, **parameters)
        for parameters in (
            {"items": 1},
            {"items": 1, "variations": ",".join(TABLE_2_VARIATIONS), "hops": "1,2,3"},
            {"items": 2},
        )
    )
    lines = [json_codec.encode_record(task) for task in few.maker.make(few)]
    assert lines == [json_codec.encode_record(task) for task in reported.maker.make(reported)]
    assert lines == [json_codec.encode_record(task) for task in more.maker.make(more)][: len(lines)]


@pytest.mark.slow
def test_a_made_set_is_a_folder_of_items_too(made: Path, tmp_path: Path) -> None:
    collected = item_folder.read_item_folder(made)
    own = {
        task.item: read_task_data(task, ItemTruth)
        for task in tasks(made)
        if task.axes["variation"] == "base"
    }
    assert [entry.id for entry in collected.entries] == list(own)
    for entry in collected.entries:
        assert entry.truth.answers == own[entry.id].answers
        assert entry.truth.marks == own[entry.id].marks
    suite = tm.load("mfcl-vision", source=str(made), variations="base,jitter=2")
    run = tm.run(suite, "control/oracle", log_dir=tmp_path)
    assert run.summary()["n_run"] == 8 and suite.provenance.notes == ()
    pictures = {task.item: task.turns for task in tasks(made) if task.axes["variation"] == "base"}
    for task in run.tasks():
        if task.axes["variation"] == "base":
            assert task.turns == pictures[task.item], "the same bytes"
    assert all(score.verdicts["paper"].value == 1 for score in run.scores())


@pytest.mark.long
@pytest.mark.slow
def test_the_pages_of_a_set_answer_as_a_corpus(made: Path, tmp_path: Path) -> None:
    suite = tm.load("mfcl-vision", **OPTIONS, search=f"corpus:{made / 'pages'}")
    run = tm.run(suite, "control/oracle", log_dir=tmp_path, limit=3)
    assert run.summary()["score"]["value"] == 1


@pytest.mark.long
def test_recorded_searches_can_be_replayed_without_the_pages(made: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    for search in (f"record:{tape}@corpus:{made / 'pages'}", f"replay:{tape}"):
        suite = tm.load("mfcl-vision", **OPTIONS, search=search)
        run = tm.run(suite, "control/oracle", log_dir=tmp_path / "runs", limit=3)
        assert run.summary()["score"]["value"] == 1, search


def test_outages_are_seen_by_the_model_and_the_same_for_a_seed(made: Path) -> None:
    suite = tm.load("mfcl-vision", **OPTIONS, outages=0.5)
    task = tasks(made)[0]

    async def asked() -> list[str]:
        async with (
            suite.environment.open(MediaStore(Path())) as opened,
            opened.open_environment(task, {}) as world,
        ):
            calls = [Call(name=SEARCH_TOOL, arguments=json.dumps({"keywords": f"q {n}"})) for n in
                     range(40)]  # fmt: skip
            return [(await world.call(call)).text for call in calls]

    found = asyncio.run(asked())
    assert found == asyncio.run(asked())
    assert 8 <= sum("not available" in text for text in found) <= 32


def test_variations_of_an_item_meet_the_same_outages(made: Path) -> None:
    suite = tm.load("mfcl-vision", **OPTIONS, outages=0.5)

    async def asked(task: Task) -> list[bool]:
        async with (
            suite.environment.open(MediaStore(Path())) as opened,
            opened.open_environment(task, {}) as world,
        ):
            calls = [Call(name=SEARCH_TOOL, arguments=json.dumps({"keywords": f"q {n}"})) for n in
                     range(40)]  # fmt: skip
            return ["not available" in (await world.call(call)).text for call in calls]

    base, edges, crop, other = (asyncio.run(asked(task)) for task in tasks(made)[:4])
    assert base == edges == crop != other


def test_pages_of_another_world_are_noticed(made: Path, tmp_path: Path) -> None:
    changed = tmp_path / "tasks.jsonl"
    lines = (made / "tasks.jsonl").read_text().splitlines()
    changed.write_text(lines[0].replace('"seed":7', '"seed":8') + "\n")
    (tmp_path / "media").symlink_to(made / "media")
    suite = tm.load("mfcl-vision", **OPTIONS)
    run = tm.run(suite, "control/oracle", tasks=changed, log_dir=tmp_path / "runs")
    [attempt] = run.attempts()
    assert "not a page of seed 8" in attempt.failure.message


@pytest.mark.parametrize(
    ("parameters", "reported"),
    [
        ({"variations": "bsae"}, "no variation 'bsae'"),
        ({"variations": ""}, "no variation given"),
        ({"domain": "sprots"}, "no domain 'sprots'"),
        ({"kind": "who"}, "no kind 'who'"),
        ({"hops": "two"}, "hops: expected numbers"),
        ({"hops": "9"}, "hops: 9"),
        ({"lookalikes": "7"}, "lookalikes: 7"),
        ({"clue": "smell"}, "clue: 'smell'"),
        ({"clue_size": "huge"}, "huge"),
        ({"items": "0"}, "parameter items: expected a whole number >= 1"),
        ({"outages": "2"}, "parameter outages: expected a number >= 0 and <= 1"),
        ({"source": "nowhere"}, "nowhere/items.jsonl: cannot read items"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, str], reported: str) -> None:
    with pytest.raises((UsageError, DataError), match=reported):
        tm.load("mfcl-vision", **parameters)


@pytest.mark.parametrize("search", ["serpapi", "brave", "tavily", "serper", "elsewhere"])
def test_a_search_that_cannot_answer_is_reported_before_pictures_are_made(
    search: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SERPAPI_API_KEY", "BRAVE_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    suite = tm.load("mfcl-vision", **OPTIONS, search=search)
    with pytest.raises(UsageError, match="search"):
        tm.run(suite, "control/null", log_dir=tmp_path)


def test_each_variation_hangs_on_itself_alone(made: Path) -> None:
    suite = tm.load("mfcl-vision", **OPTIONS)
    wanted = {task.id: task for task in tasks(made)}
    [alone] = suite.maker.make([task for task in suite if task.id.endswith("crop-16:9")][:1])
    assert json_codec.encode_record(alone) == json_codec.encode_record(wanted[alone.id])
    assert not web_environment.picture_failure(alone) and item_records.BASE_VARIATION in next(
        iter(wanted)
    )


def test_the_bytes_do_not_hang_on_how_many_cores_made_them(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_processes, "available_cores", lambda: 2)
    monkeypatch.setattr(ItemMaker, "min_parallel_items", 2)
    suite = tm.load("mfcl-vision", **OPTIONS)
    assert list(map(json_codec.encode_record, suite.maker.make(suite))) == list(
        map(json_codec.encode_record, tasks(made))
    )
