"""Folders of items: bad rows are all named, bad pictures are their own item's affair."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import toolmark as tm
from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Image as Part
from toolmark.core.task_data import read_task_data
from toolmark.environments.cassette import Cassette
from toolmark.environments.search_environment import SEARCH_TOOL
from toolmark.runs import dataset_folder
from toolmark.suites.mfcl_vision import item_folder, prompts, web_environment
from toolmark.suites.mfcl_vision.item_records import Hop, ItemTruth, SignMark

GOOD: dict[str, Any] = {
    "id": "a", "image": "a.png", "question": "Who built it?", "answer": "Ada Brun",
    "domain": "Places", "query_type": "Identify",
}  # fmt: skip


def picture(size: tuple[int, int] = (320, 200), **more: Any) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(out, "PNG", **more)
    return out.getvalue()


def folder(path: Path, *rows: dict[str, Any] | str, **files: bytes) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    (path / "items.jsonl").write_text("\n".join(lines) + "\n")
    for name, data in (files or {"a": picture()}).items():
        (path / f"{name}.png").write_bytes(data)
    return path


def test_every_bad_row_is_named_with_its_line_at_once(tmp_path: Path) -> None:
    bad = {
        3: "{", 4: {**GOOD, "answer": ""}, 5: {**GOOD, "id": "c", "domain": "cooking"},
        6: {**GOOD, "id": "d", "image": "../../etc/passwd"}, 7: GOOD,
        8: {**GOOD, "id": "e", "boxes": [[5, 5, 1, 1]]}, 9: {"id": "f"}, 10: "[]",
        11: {**GOOD, "id": "g", "image": "/etc/passwd"}, 12: {**GOOD, "id": " "},
        13: {**GOOD, "id": "h", "answer": []}, 14: {**GOOD, "id": "i", "query_type": "who"},
    }  # fmt: skip
    rows: list[Any] = [GOOD, "", *bad.values()]
    with pytest.raises(DataError) as caught:
        item_folder.read_item_folder(folder(tmp_path, *rows))
    reported = str(caught.value)
    assert reported.startswith(f"{tmp_path / 'items.jsonl'}: {len(bad)} bad rows:")
    for line in bad:
        assert f"line {line}: " in reported
    assert "no domain 'cooking'" in reported and "stands there twice" in reported


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    made = folder(tmp_path / "set", {**GOOD, "image": "b.png"})
    (made / "b.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match=r"line 1: .*b\.png"):
        item_folder.read_item_folder(made)


def test_parts_several_answers_and_a_trace_are_read(tmp_path: Path) -> None:
    row = GOOD | {
        "answer": ["Ada Brun", "A. Brun"], "request": "Who?", "hint": "Read it.", "context": "Hm.",
        "boxes": [[1, 2, 30, 40]], "trace": [{"query": "q", "href": "https://a.b/c", "finds": "x"}],
    }  # fmt: skip
    [entry] = item_folder.read_item_folder(folder(tmp_path, row)).entries
    assert entry.truth.answers == ("Ada Brun", "A. Brun")
    assert (entry.truth.question.request, entry.truth.question.hint) == ("Who?", "Read it.")
    assert entry.truth.hops == (Hop(query="q", href="https://a.b/c", finds="x"),)
    assert entry.domain == "places"
    assert entry.truth.marks[0].box == pytest.approx((1, 2, 30, 40))
    [free] = item_folder.read_item_folder(folder(tmp_path, GOOD | {"trace": ["free", 3]})).entries
    assert free.truth.hops == ()


@pytest.mark.parametrize("rows", [[], ["", ""]])
def test_a_folder_without_items_says_so(rows: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no item"):
        item_folder.read_item_folder(folder(tmp_path, *rows))
    with pytest.raises(UsageError, match="cannot read items"):
        item_folder.read_item_folder(tmp_path / "nowhere")


def test_bad_pictures_are_named_and_the_run_goes_on(tmp_path: Path) -> None:
    files = {
        "good": picture(), "empty": b"", "torn": picture((900, 900))[:500], "words": b"no picture",
        "wide": picture((4000, 500)),
    }  # fmt: skip
    names = [*files, "absent"]
    rows = [GOOD | {"id": name, "image": f"{name}.png"} for name in names]
    made = folder(tmp_path / "set", *rows, **files)
    (made / "pages" / "a.b").mkdir(parents=True)
    (made / "pages" / "a.b" / "one.html").write_text("<p>Who built it: Ada Brun</p>")
    suite = tm.load("mfcl-vision", source=str(made), variations="base,crop-4:3")
    run = tm.run(suite, "control/oracle", log_dir=tmp_path / "runs")
    assert run.summary()["score"]["value"] == 1 and run.summary()["n_run"] == 4
    reasons = {attempt.task: attempt.failure.message for attempt in run.attempts()}
    bad = ("empty", "torn", "words", "absent")
    assert set(reasons) == {f"{name}@{each}" for name in bad for each in ("base", "crop-4:3")}
    assert all(f"{task.partition('@')[0]}.png" in why for task, why in reasons.items())
    task = run.task("wide@base")
    assert read_task_data(task, ItemTruth).size == (1536, 192)
    assert isinstance(task.turns[0].messages[-1].parts[0], Part)


def test_boxes_follow_the_picture(tmp_path: Path) -> None:
    row = GOOD | {"boxes": [[3000, 100, 3400, 200]]}
    made = folder(tmp_path / "set", row, a=picture((4000, 1000)))
    suite = tm.load("mfcl-vision", source=str(made), variations="base,crop-4:3,resize-4:3",
                    search=f"corpus:{tmp_path}")  # fmt: skip
    boxes = {}
    for task in suite.maker.make(suite):
        truth = read_task_data(task, ItemTruth)
        [mark] = truth.marks
        assert mark.box is not None
        boxes[truth.variation] = (*mark.box, *truth.size)
    scale = 1536 / 4000
    assert boxes["base"] == pytest.approx(
        (3000 * scale, 100 * scale, 3400 * scale, 200 * scale, 1536, 384), abs=0.01
    )
    left, _, right, _, width, height = boxes["crop-4:3"]
    assert 0 <= left < right <= width and right - left == pytest.approx(400 * scale, abs=0.01)
    left, _, right, _, width, height = boxes["resize-4:3"]
    assert (left / width, right / width) == pytest.approx((0.75, 0.85), abs=0.001)
    assert width / height == pytest.approx(4 / 3, abs=0.01)


def test_what_a_folder_lacks_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    made = folder(tmp_path / "set", GOOD)
    suite = tm.load("mfcl-vision", source=str(made))
    with pytest.raises(UsageError, match=r"bring no pages of their own; -T search= can be"):
        tm.run(suite, "control/null", log_dir=tmp_path / "runs")
    with pytest.raises(UsageError, match="hops"):
        tm.load("mfcl-vision", source=str(made), hops="2")
    with pytest.raises(UsageError, match="no item of these domains"):
        tm.load("mfcl-vision", source=str(made), domain="sports")


@pytest.mark.parametrize("name", ["x" * 300 + ".png", "x" * 5000, "loop.png", "a.png/b.png", "."])
def test_no_name_of_a_picture_ends_the_run(name: str, tmp_path: Path) -> None:
    made = folder(tmp_path / "set", GOOD, GOOD | {"id": "odd", "image": name})
    (made / "loop.png").symlink_to("loop.png")
    try:
        suite = tm.load("mfcl-vision", source=str(made), variations="base")
    except DataError as error:
        assert f"line 2: image '{name}' is not a file of this folder" in str(error)
        return
    good, odd = suite.maker.make(suite)
    assert (
        read_task_data(good, ItemTruth).size == (320, 200)
        and len(web_environment.picture_failure(odd)) < 300
    )
    assert web_environment.picture_failure(odd).startswith(
        name[:200].rpartition("/")[2] if name != "." else "set"
    )


def test_a_run_goes_on_only_with_the_same_items(tmp_path: Path) -> None:
    made = folder(tmp_path / "set", GOOD, GOOD | {"id": "lost", "image": "lost.png"})
    (made / "pages").mkdir()
    (made / "pages" / "one.html").write_text("<p>Who built it: Ada Brun</p>")

    def asked() -> tm.Run:
        suite = tm.load("mfcl-vision", source=str(made), variations="base")
        return tm.run(suite, "control/null", log_dir=tmp_path / "runs")

    first = asked()
    assert first.summary()["n_not_run"] == 1
    assert asked().path == first.path
    folder(made, GOOD | {"question": "Who owns it?"}, GOOD | {"id": "b"})
    second = asked()
    assert second.path != first.path and {task.item for task in second.tasks()} == {"a", "b"}


@pytest.mark.parametrize("search", ["pages", "corpus:{}/pages", "replay:{}/tape.jsonl"])
def test_a_run_goes_on_only_with_what_answered_before(search: str, tmp_path: Path) -> None:
    made = folder(tmp_path / "set", GOOD, GOOD | {"id": "lost", "image": "lost.png"})
    (made / "pages").mkdir()
    page, tape = made / "pages" / "one.html", made / "tape.jsonl"
    page.write_text("<p>Who built it: Ada Brun</p>")
    Cassette(tape).record_answer(SEARCH_TOOL, {"keywords": "one"}, {})

    def asked() -> Path:
        suite = tm.load("mfcl-vision", source=str(made), variations="base",
                        search=search.format(made))  # fmt: skip
        return Path(tm.run(suite, "control/null", log_dir=tmp_path / "runs").path)

    first = asked()
    (made / "pages" / "note.bin").write_text("no page")
    assert asked() == first
    page.write_text("<p>Who built it: Lev Orn</p>")
    Cassette(tape).record_answer(SEARCH_TOOL, {"keywords": "two"}, {})
    assert asked() != first


def test_a_set_of_a_folder_brings_its_pages_along(tmp_path: Path) -> None:
    source, made = folder(tmp_path / "source", GOOD), tmp_path / "made"
    page = source / "pages" / "a.b" / "one.html"
    page.parent.mkdir(parents=True)
    page.write_text("<p>Who built it: Ada Brun</p>")
    (page.parent / "key.txt").symlink_to("/etc/passwd")
    dataset_folder.write_dataset(
        made, tm.load("mfcl-vision", source=str(source), variations="base")
    )
    copy = made / "pages" / "a.b" / "one.html"
    assert copy.read_text() == page.read_text() and list(copy.parent.iterdir()) == [copy]
    page.write_text("changed")
    assert "Ada Brun" in copy.read_text(), "a file of its own"
    page.unlink()
    run = tm.run(tm.load("mfcl-vision"), "control/oracle", tasks=made, log_dir=tmp_path / "runs")
    assert run.summary()["n_run"] == 1 and run.summary()["score"]["value"] == 1


def test_clues_of_marks_get_the_boxes_of_the_row(tmp_path: Path) -> None:
    clue: dict[str, Any] = {"role": "clue", "text": "Tulden"}
    lookalike = {"role": "lookalike", "box": [9, 9, 20, 20]}
    row = GOOD | {"marks": [lookalike, clue], "boxes": [[1, 2, 30, 40], [50, 2, 80, 40]]}
    [entry] = item_folder.read_item_folder(folder(tmp_path, row)).entries
    assert entry.truth.marks == (
        SignMark(role="lookalike", box=(9, 9, 20, 20)),
        SignMark(role="clue", text="Tulden", box=(1, 2, 30, 40)),
        SignMark(role="clue", box=(50, 2, 80, 40)),
    )
    bad: list[dict[str, Any]] = [
        {"marks": [clue | {"box": [5, 5, 1, 1]}]},
        {"marks": [clue], "boxes": [[5, 5, 5, 9]]},
    ]
    with pytest.raises(
        DataError, match=r"(?s)line 2: \[5, 5, 1, 1\] is.*line 3: \[5, 5, 5, 9\] is"
    ):
        item_folder.read_item_folder(
            folder(tmp_path, GOOD, *(GOOD | {"id": str(n)} | b for n, b in enumerate(bad)))
        )


def test_a_box_is_cut_to_the_picture_and_one_outside_is_reported_with_the_file(
    tmp_path: Path,
) -> None:
    rows = [
        GOOD | {"boxes": [[-3, 20, 100, 203.5]]},
        GOOD | {"id": "b", "boxes": [[320, 20, 400, 40]]},
    ]
    suite = tm.load("mfcl-vision", source=str(folder(tmp_path, *rows)))
    made = list(suite.maker.make(suite))
    inside, adjacent = made[:8], made[8:]
    assert not any(map(web_environment.picture_failure, inside))
    assert read_task_data(inside[0], ItemTruth).marks[0].box == pytest.approx((0, 20, 100, 200))
    reported = "a.png: the box [320, 20, 400, 40] of a clue lies outside the picture"
    assert set(map(web_environment.picture_failure, adjacent)) == {reported}


def test_a_byte_order_mark_is_no_part_of_a_row(tmp_path: Path) -> None:
    made = folder(tmp_path, GOOD)
    path = made / "items.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [entry.id for entry in item_folder.read_item_folder(made).entries] == ["a"]


@pytest.mark.parametrize("answer", ["...", "I do not know", "i do not know.", ["Ada", "-"]])
def test_an_answer_that_can_never_be_right_is_a_bad_row(answer: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: answer"):
        item_folder.read_item_folder(folder(tmp_path, GOOD | {"answer": answer}))


def test_a_question_that_holds_its_parts_is_asked_once(tmp_path: Path) -> None:
    parts = {"context": "Seen in May.", "hint": "Read it.", "form": "Give a name."}
    whole = "Seen in May. Who built it? Read it. Give a name."
    [entry] = item_folder.read_item_folder(
        folder(tmp_path, GOOD | parts | {"question": whole})
    ).entries
    assert entry.truth.question.request == "Who built it?"
    assert prompts.question_text(entry.truth.question) == whole
    [entry] = item_folder.read_item_folder(folder(tmp_path, GOOD | parts)).entries
    assert prompts.question_text(entry.truth.question) == whole, (
        "parts that do not stand there are added"
    )
    mixed = GOOD | parts | {"question": "Who, Seen in May. built it?"}
    with pytest.raises(DataError, match="line 1: question"):
        item_folder.read_item_folder(folder(tmp_path, mixed))


def test_what_is_not_read_is_reported_with_its_lines(tmp_path: Path) -> None:
    hop = {"query": "q", "href": "https://a.b/c", "finds": "x"}
    rows = [
        GOOD | {"boxs": [[1, 2, 30, 40]], "trace": [hop]},
        GOOD | {"id": "b", "boxs": [], "trace": [hop, {"query": "q"}]},
    ]
    collected = item_folder.read_item_folder(folder(tmp_path / "set", *rows))
    field, trace = collected.notes
    assert field == "items.jsonl, line 1 and 1 more: field 'boxs' is not read; did you mean: boxes"
    assert trace.startswith("items.jsonl, line 2: the trace is not read: ") and "href" in trace
    many = item_folder.read_item_folder(
        folder(tmp_path / "many", GOOD | {f"odd{n}": n for n in range(50)})
    )
    assert len(many.notes) == 21 and many.notes[-1] == "items.jsonl: and 30 more such notes"
    (collected.path / "pages").mkdir()
    (collected.path / "pages" / "one.html").write_text("<p>Who built it: Ada Brun</p>")
    suite = tm.load("mfcl-vision", source=str(collected.path), variations="base")
    run = tm.run(suite, "control/null", log_dir=tmp_path / "runs")
    assert run.info.notes["data"] == collected.notes


def jpeg(size: tuple[int, int] = (320, 200), **more: Any) -> bytes:
    out = io.BytesIO()
    Image.linear_gradient("L").resize(size).convert("RGB").save(out, "JPEG", **more)
    return out.getvalue()


def test_a_bare_small_jpeg_is_shown_as_it_is_and_no_other(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x010E] = "who was where"
    saved = {"kept": jpeg(), "steps": jpeg(progressive=True)}
    files = saved | {
        "wide": jpeg((1600, 20)), "exif": jpeg(exif=exif), "comment": jpeg(comment=b"words"),
        "profile": jpeg(icc_profile=b"p" * 200), "behind": jpeg() + b"words" + jpeg(),
        "png": picture(),
    }  # fmt: skip
    rows = [GOOD | {"id": name, "image": f"{name}.png"} for name in files]
    suite = tm.load("mfcl-vision", source=str(folder(tmp_path, *rows, **files)),
                    variations="base,gray")  # fmt: skip
    assert suite.provenance.media is not None
    for task in suite.maker.make(suite):
        part = task.turns[0].messages[-1].parts[0]
        assert isinstance(part, Part) and part.mime == "image/jpeg"
        same = suite.provenance.media.read(part) == files[task.item]
        assert same == (task.item in saved and task.axes["variation"] == "base"), task.id
