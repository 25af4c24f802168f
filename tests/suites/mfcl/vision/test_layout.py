"""Folders of items: bad rows are all named, bad pictures are their own item's affair."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import toolmark as tm
from toolmark.errors import DataError, UsageError
from toolmark.suites.mfcl.vision import layout, score
from toolmark.suites.mfcl.vision.item import Hop
from toolmark.types import Image as Part

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
        layout.read(folder(tmp_path, *rows))
    told = str(caught.value)
    assert told.startswith(f"{tmp_path / 'items.jsonl'}: {len(bad)} bad rows:")
    for line in bad:
        assert f"line {line}: " in told
    assert "no domain 'cooking'" in told and "stands there twice" in told


def test_a_link_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.png").write_bytes(picture())
    made = folder(tmp_path / "set", {**GOOD, "image": "b.png"})
    (made / "b.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(DataError, match="no file of this folder"):
        layout.read(made)


def test_parts_several_answers_and_a_trace_are_read(tmp_path: Path) -> None:
    row = GOOD | {
        "answer": ["Ada Brun", "A. Brun"], "request": "Who?", "hint": "Read it.", "context": "Hm.",
        "boxes": [[1, 2, 30, 40]], "trace": [{"query": "q", "href": "https://a.b/c", "finds": "x"}],
    }  # fmt: skip
    [entry] = layout.read(folder(tmp_path, row)).entries
    assert entry.truth.answers == ("Ada Brun", "A. Brun")
    assert (entry.truth.asked.request, entry.truth.asked.hint) == ("Who?", "Read it.")
    assert entry.truth.hops == (Hop(query="q", href="https://a.b/c", finds="x"),)
    assert entry.domain == "places"
    assert entry.truth.marks[0].box == pytest.approx((1, 2, 30, 40))
    [free] = layout.read(folder(tmp_path, GOOD | {"trace": ["free", 3]})).entries
    assert free.truth.hops == ()


@pytest.mark.parametrize("rows", [[], ["", ""]])
def test_a_folder_without_items_says_so(rows: list[str], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no item"):
        layout.read(folder(tmp_path, *rows))
    with pytest.raises(UsageError, match="cannot read items"):
        layout.read(tmp_path / "nowhere")


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
    run = tm.run(suite, "test/oracle", log_dir=tmp_path / "runs")
    assert run.summary()["score"]["value"] == 1 and run.summary()["n_run"] == 4
    reasons = {attempt.task: attempt.reason for attempt in run.attempts()}
    bad = ("empty", "torn", "words", "absent")
    assert set(reasons) == {f"{name}@{each}" for name in bad for each in ("base", "crop-4:3")}
    assert all(f"{task.partition('@')[0]}.png" in why for task, why in reasons.items())
    task = run.task("wide@base")
    assert score.truth_of(task).size == (1536, 192)
    assert isinstance(task.turns[0].messages[-1].parts[0], Part)


def test_boxes_follow_the_picture(tmp_path: Path) -> None:
    row = GOOD | {"boxes": [[3000, 100, 3400, 200]]}
    made = folder(tmp_path / "set", row, a=picture((4000, 1000)))
    suite = tm.load("mfcl-vision", source=str(made), variations="base,crop-4:3,resize-4:3",
                    search=f"corpus:{tmp_path}")  # fmt: skip
    boxes = {}
    for task in suite.make(suite):
        truth = score.truth_of(task)
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


def test_what_a_folder_lacks_is_told_before_anything_is_made(tmp_path: Path) -> None:
    made = folder(tmp_path / "set", GOOD)
    suite = tm.load("mfcl-vision", source=str(made))
    with pytest.raises(UsageError, match=r"bring no pages of their own; -T search= can be"):
        tm.run(suite, "test/null", log_dir=tmp_path / "runs")
    with pytest.raises(UsageError, match="hops is of generated items"):
        tm.load("mfcl-vision", source=str(made), hops="2")
    with pytest.raises(UsageError, match="no item of these domains"):
        tm.load("mfcl-vision", source=str(made), domain="sports")
