"""Edits keep question and answer true, and hang on the seed alone."""

from __future__ import annotations

from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.studio.vision_tuning import tuned_items

from toolmark.core.errors import DataError
from toolmark.core.media import MediaStore
from toolmark.core.records import Task
from toolmark.core.task_data import read_task_data
from toolmark.perturb.image import picture_file
from toolmark.studio.vision_tuning import author_edits, item_edits
from toolmark.studio.vision_tuning.author_edits import AuthorEdit
from toolmark.studio.vision_tuning.unrelated_sentences import unrelated_sentences
from toolmark.suites.mfcl_vision import item_validation, prompts
from toolmark.suites.mfcl_vision.item_records import ItemTruth, SignMark


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> MediaStore:
    return MediaStore(tmp_path_factory.mktemp("media"))


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory, media: MediaStore) -> Task:
    hinted = {0: {"hint": "Begin with the sign.", "request": tuned_items.row(0)["question"]}}
    loaded = tuned_items.suite(tuned_items.items(tmp_path_factory.mktemp("items"), 1, hinted))
    (made,) = loaded.maker.make(iter(loaded.tasks))
    assert loaded.provenance.media is not None
    media.copy_from(loaded.provenance.media, [item_edits.task_picture(made)])
    return made


def question(task: Task) -> str:
    return next(m for m in task.turns[0].messages if m.role == "user").text


@given(st.lists(st.sampled_from(["unhint", "context", "crop"]), max_size=3), st.integers(0, 99))
def test_edits_keep_the_answer_and_never_tell_it(
    task: Task, media: MediaStore, names: list[str], seed: int
) -> None:
    made = task
    for name in names:
        try:
            made = item_edits.apply_edit(name, made, Random(seed), media).task
        except ValueError:
            continue
    old, new = read_task_data(task, ItemTruth), read_task_data(made, ItemTruth)
    assert (new.answers, new.hops, new.question.request) == (
        old.answers,
        old.hops,
        old.question.request,
    )
    assert question(made) == prompts.question_text(new.question)
    assert not any(item_validation.contains_words(question(made), answer) for answer in new.answers)


@given(st.integers(0, 30))
def test_a_crop_shows_the_clue_where_its_box_says(task: Task, media: MediaStore, seed: int) -> None:
    made = item_edits.apply_edit("crop", task, Random(seed), media).task
    truth = read_task_data(made, ItemTruth)
    image = picture_file.decode_picture(media.read(item_edits.task_picture(made)), "crop")
    assert image.size == truth.size != read_task_data(task, ItemTruth).size
    left, top, right, bottom = truth.marks[0].box or (0, 0, 0, 0)
    for x, y in ((left + 4, top + 4), (right - 4, bottom - 4)):
        pixel = image.getpixel((int(x), int(y)))
        assert isinstance(pixel, tuple)
        assert all(abs(a - b) < 30 for a, b in zip(pixel, tuned_items.CLUE, strict=True))


@given(st.integers(0, 30), st.sampled_from(["locate", "select"]))
def test_look_alikes_stay_in_a_crop_whatever_is_asked(
    task: Task, media: MediaStore, seed: int, kind: str
) -> None:
    truth = read_task_data(task, ItemTruth)
    adjacent = SignMark(role="lookalike", text="Inn", box=(4.0, 440.0, 40.0, 490.0))
    marked = msgspec.to_builtins(replace(truth, marks=(*truth.marks, adjacent)))
    asked = replace(task, data=marked, axes={**task.axes, "kind": kind})
    made = read_task_data(item_edits.apply_edit("crop", asked, Random(seed), media).task, ItemTruth)
    assert made.size != truth.size
    assert all(mark.box is not None for mark in made.marks)


@pytest.mark.parametrize("name", ["context", "crop"])
def test_the_same_seed_makes_the_same_edit(task: Task, media: MediaStore, name: str) -> None:
    one, same = (item_edits.apply_edit(name, task, Random(5), media) for _ in range(2))
    others = {
        item_edits.apply_edit(name, task, Random(seed), media).description for seed in range(20)
    }
    assert one == same
    assert len(others) > 1


def test_irrelevant_context_comes_before_the_question_and_adds_up(
    task: Task, media: MediaStore
) -> None:
    once = item_edits.apply_edit("context", task, Random(1), media).task
    twice = item_edits.apply_edit("context", once, Random(1), media).task
    said = read_task_data(twice, ItemTruth).question.context
    assert question(twice).startswith(said)
    assert sum(aside in said for aside in unrelated_sentences()) == 4


def test_hints_go_and_come_but_not_twice(task: Task, media: MediaStore) -> None:
    bare = item_edits.apply_edit("unhint", task, Random(1), media).task
    assert "Begin" not in question(bare)
    with pytest.raises(ValueError, match="no hint"):
        item_edits.apply_edit("unhint", bare, Random(1), media)
    hinted = item_edits.apply_edit("hint", bare, Random(1), media).task
    assert read_task_data(hinted, ItemTruth).question.hint == (
        "The clue in the upper right of the picture tells what to search for."
    )
    with pytest.raises(ValueError, match="a hint already"):
        item_edits.apply_edit("hint", hinted, Random(1), media)


def test_a_place_in_the_question_is_not_contradicted_by_the_hint(
    task: Task, media: MediaStore
) -> None:
    asked = AuthorEdit(id="inn-0", hint="", request="What is the city of the inn on the left?")
    placed = item_edits.apply_author_edit(task, asked).task
    hint = read_task_data(
        item_edits.apply_edit("hint", placed, Random(1), media).task, ItemTruth
    ).question.hint
    assert hint == "The clue in the picture tells what to search for."


def test_where_the_clue_is_unknown_nothing_is_cut(task: Task, media: MediaStore) -> None:
    blind = item_edits.apply_author_edit(task, AuthorEdit(id="inn-0", answer="Rizisk")).task
    truth = read_task_data(blind, ItemTruth)
    assert (truth.answers, truth.hops) == (("Rizisk",), ())
    lost = {**blind.data, "marks": ()}
    with pytest.raises(ValueError, match="not known where the clue is"):
        item_edits.apply_edit("crop", replace(blind, data=lost), Random(1), media)


def test_an_own_question_that_tells_the_answer_is_refused(task: Task) -> None:
    with pytest.raises(ValueError, match="tell the answer 'Koladin'"):
        item_edits.apply_author_edit(task, AuthorEdit(id="inn-0", context="I was in Koladin."))


def test_all_bad_rows_of_own_edits_are_listed_at_once(tmp_path: Path) -> None:
    (tmp_path / author_edits.EDITS_FILE).write_text(
        '{"id": "inn-0", "hint": "Look up."}\n{"id": "inn-9", "hint": "x"}\n{"id": "inn-0"}\n'
        'no json\n{"id": "inn-0", "requst": "x"}\n{"id": "inn-0", "request": " "}\n'
    )
    with pytest.raises(DataError) as error:
        author_edits.read_author_edits(tmp_path, {"inn-0"})
    reported = str(error.value)
    assert "5 bad rows" in reported
    assert [f"line {n}:" in reported for n in range(1, 7)] == [False, True, True, True, True, True]
    assert author_edits.read_author_edits(tmp_path / "none", {"inn-0"}) == {}
