"""`toolmark perturb image`: files and folders of pictures, the bad ones named and the rest made."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from tests.servers.planning_endpoint import Command

from toolmark.core.errors import UsageError
from toolmark.perturb.image import picture_folder

FOLDERS = [
    "base", "crop-16x9", "crop-4x3", "edges", "gray", "red-green", "resize-16x9", "resize-4x3",
]  # fmt: skip


def picture(path: Path, size: tuple[int, int] = (90, 60), **more: Any) -> Path:
    image = Image.new("RGB", size, (30, 60, 160))
    ImageDraw.Draw(image).rectangle((10, 10, 29, 19), (250, 240, 30))
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **more)
    return path


def record(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "record.jsonl").read_text().splitlines()]


def test_table_2_is_made_of_one_picture_the_same_for_a_seed(
    toolmark: Command, tmp_path: Path
) -> None:
    source = picture(tmp_path / "shop.png")
    for name in ("a", "b"):
        said = toolmark("perturb", "image", str(source), str(tmp_path / name), "--seed", "4")
        assert said.code == 0, said.err
        assert "8 variations of 1 picture, record.jsonl" in said.out
    one, other = (sorted(path for path in (tmp_path / name).rglob("*.*") if path.is_file())
                  for name in ("a", "b"))  # fmt: skip
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]
    made = record(tmp_path / "a")
    assert sorted(path.name for path in (tmp_path / "a").iterdir() if path.is_dir()) == FOLDERS
    assert [line["variation"] for line in made][:2] == ["base", "crop-16:9"]
    for line in made:
        with Image.open(tmp_path / "a" / line["file"]) as image:
            assert list(image.size) == line["size"]
            assert image.format == ("PNG" if line["variation"] == "edges" else "JPEG")
            assert Path(line["file"]).suffix == (".png" if image.format == "PNG" else ".jpg")


def test_what_cannot_be_read_is_named_and_the_rest_is_made(
    toolmark: Command, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    picture(folder / "good.jpg")
    picture(folder / "deep" / "also.webp", format="PNG")  # its name lies
    whole = (folder / "good.jpg").read_bytes()
    (folder / "cut.jpg").write_bytes(whole[:350])
    (folder / "deep" / "none.png").write_bytes(b"")
    (folder / "words.gif").write_text("no picture")
    (folder / "notes.txt").write_text("not looked at")
    said = toolmark("perturb", "image", str(folder), str(tmp_path / "out"), "--with", "gray")
    assert said.code == 3
    for reported in ("cut.jpg: damaged picture", "deep/none.png: empty file",
                 "words.gif: no picture that can be read"):  # fmt: skip
        assert reported in said.err
    assert "2 variations of 2 pictures, record.jsonl; 3 refused" in said.out
    made = record(tmp_path / "out")
    assert [line["name"] for line in made] == [
        "cut.jpg", "deep/also.webp", "deep/none.png", "good.jpg", "words.gif",
    ]  # fmt: skip
    assert [bool(line.get("failed")) for line in made] == [True, False, True, False, True]
    assert (tmp_path / "out" / "gray" / "deep" / "also.jpg").is_file()


def test_boxes_count_in_the_file_as_it_is_and_move_with_it(
    toolmark: Command, tmp_path: Path
) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned right: stored 3072 x 1000, seen 1000 x 3072
    large = picture(tmp_path / "large.jpg", (3072, 1000), exif=exif)
    boxes = tmp_path / "boxes.json"
    boxes.write_text("[[0, 0, 1000, 100]]")
    said = toolmark(
        "perturb", "image", str(large), str(tmp_path / "out"), "--boxes", str(boxes), "--json",
        "--with", "base", "--with", "occlusion=0.5", "--with", "crop-16:9",
    )  # fmt: skip
    base, covered, cut = json.loads(said.out)
    assert base["size"] == [500, 1536] and base["boxes"] == [[0, 0, 500, 50]]
    assert covered["settings"]["share"] == 0.5
    left, top, right, bottom = cut["boxes"][0]
    assert min(left, top) >= 0 and right <= cut["size"][0] and bottom <= cut["size"][1]
    boxes.write_text('{"large.jpg": [[0, 0, 5, 9000]]}')
    said = toolmark("perturb", "image", str(large), str(tmp_path / "out"), "--boxes", str(boxes))
    assert said.code == 3 and "large.jpg: [0.0, 0.0, 5.0, 9000.0] is not a box" in said.err


def test_equal_names_get_separate_files(toolmark: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in ("a.png", "a.gif", "a.png.jpg"):
        picture(folder / name)
    said = toolmark("perturb", "image", str(folder), str(tmp_path / "out"), "--with", "base")
    assert said.code == 0
    files = [line["file"] for line in record(tmp_path / "out")]
    assert len(set(files)) == 3 and all((tmp_path / "out" / name).is_file() for name in files)


def test_a_folder_can_stand_in_for_that_of_a_suite(toolmark: Command, tmp_path: Path) -> None:
    folder = tmp_path / "images"
    kinds = {"a.jpg": "JPEG", "b.png": "PNG", "c/d.webp": "WEBP"}
    for name in kinds:
        picture(folder / name)
    picture(folder / "a.gif")
    said = toolmark(
        "perturb", "image", str(folder), str(tmp_path / "out"), "--keep-names", "--with", "edges",
        "--with", "gray",
    )  # fmt: skip
    assert said.code == 0
    assert (tmp_path / "out" / "gray" / "a.gif.jpg").is_file()  # it cannot keep its own
    for name, kind in kinds.items():
        for which in ("edges", "gray"):
            with Image.open(tmp_path / "out" / which / name) as image:
                assert image.format == kind


def test_what_is_made_within_the_folder_is_not_made_from_again(
    toolmark: Command, tmp_path: Path
) -> None:
    folder = picture(tmp_path / "in" / "a.jpg").parent
    for seed in "12":
        said = toolmark("perturb", "image", str(folder), str(folder / "out"), "--seed", seed,
                        "--with", "gray")  # fmt: skip
        assert said.code == 0 and "1 variation of 1 picture," in said.out


def test_a_sheet_shows_all_variations(toolmark: Command, tmp_path: Path) -> None:
    source = picture(tmp_path / "shop.png")
    said = toolmark("perturb", "image", str(source), str(tmp_path / "out"), "--sheet")
    assert said.code == 0
    with Image.open(tmp_path / "out" / "sheet" / "shop.jpg") as sheet:
        assert sheet.width > 4 * 320 and sheet.height > 2 * 240
        colours = sheet.convert("RGB").getcolors(1 << 24)
    assert colours is not None and len(colours) > 50


def test_notes_are_counted_and_not_repeated(toolmark: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for n in range(3):
        picture(folder / f"{n}.jpg")
    said = toolmark("perturb", "image", str(folder), str(tmp_path / "out"), "--with", "crop-4:3")
    assert said.code == 0 and "crop-4:3: roi unknown (3 pictures)" in said.err


def test_boxes_of_nothing_are_refused_for_a_file_and_a_folder(
    toolmark: Command, tmp_path: Path
) -> None:
    folder, boxes, out = tmp_path / "in", tmp_path / "boxes.json", tmp_path / "out"
    one, other = picture(folder / "a.jpg"), picture(folder / "b.jpg")
    boxes.write_text('{"b.jpg": [[0, 0, 5, 5]], "c.jpg": [[0, 0, 5, 5]]}')
    for source, reported in (
        (folder, f"boxes of what is not a picture of {folder}: c.jpg"),
        (one, "no boxes of a.jpg; of others: b.jpg, c.jpg"),
    ):
        said = toolmark("perturb", "image", str(source), str(out), "--boxes", str(boxes))
        assert said.code == 2 and reported in said.err and not out.exists()
    # beside one picture others of its folder may have boxes
    said = toolmark("perturb", "image", str(other), str(out), "--boxes", str(boxes))
    assert said.code == 0 and record(out)[0]["boxes"]


def test_what_is_left_out_of_a_folder_is_counted(toolmark: Command, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for name in ("a.jfif", "b.apng", "c.jp2", "d.ppm", "e.jpg"):
        picture(folder / name)
    for name in ("f.heic", "g.txt"):
        (folder / name).write_text("not looked at")
    (folder / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (folder / "round.png").symlink_to(folder / "round.png")
    (folder / "elsewhere").symlink_to(tmp_path)
    said = toolmark("perturb", "image", str(folder), str(tmp_path / "out"), "--with", "gray")
    assert said.code == 3 and "5 variations of 5 pictures, record.jsonl; 2 refused" in said.out
    assert "in: left out, not of a kind that is read: elsewhere, f.heic, g.txt\n" in said.err
    assert "gone.png: cannot read: a link to nothing" in said.err
    assert "round.png: cannot read: Too many levels of symbolic links" in said.err


def test_runs_into_one_folder_share_its_record(toolmark: Command, tmp_path: Path) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    for name in ("a.png", "a.gif"):
        picture(folder / name)
    for asked in (("gray", "--seed", "1"), ("jitter=2", "--seed", "2"), ("gray", "--seed", "3")):
        said = toolmark("perturb", "image", str(folder), str(out), "--with", *asked)
        assert said.code == 0 and "not made again" not in said.err
    made = {(line["name"], line["variation"]): line for line in record(out)}
    assert len(record(out)) == len(made) == 4
    for (name, which), line in made.items():
        assert line["seed"] == (3 if which == "gray" else 2), name
        assert (out / line["file"]).is_file()
    # one of them alone takes no file of another's
    said = toolmark("perturb", "image", str(folder / "a.png"), str(out), "--with", "gray")
    assert said.code == 0 and len({line["file"] for line in record(out)}) == 4


def test_a_record_of_something_else_is_left_alone(toolmark: Command, tmp_path: Path) -> None:
    source, out = picture(tmp_path / "a.jpg"), tmp_path / "out"
    out.mkdir()
    (out / "record.jsonl").write_text('{"said": "book a table"}\n')
    said = toolmark("perturb", "image", str(source), str(out))
    assert said.code == 2 and "record.jsonl: line 1 is of no picture" in said.err
    assert (out / "record.jsonl").read_text() == '{"said": "book a table"}\n'


@pytest.mark.parametrize("sheet", [(), ("--sheet",)])
def test_a_run_that_was_stopped_goes_on_and_ends_as_a_whole_one(
    toolmark: Command, tmp_path: Path, sheet: tuple[str, ...]
) -> None:
    folder = tmp_path / "in"
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        picture(folder / name)
    asked = ("--with", "gray", "--with", "occlusion=0.5", "--seed", "4", *sheet)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for out in (whole, cut):
        assert toolmark("perturb", "image", str(folder), str(out), *asked).code == 0
    lines = (cut / "record.jsonl").read_bytes().splitlines(keepends=True)
    many = len(lines) // 3
    (cut / "record.jsonl").write_bytes(b"".join(lines[: many + 1]) + lines[many + 1][:20])
    (cut / "gray" / "a.jpg").unlink()
    stamps = {path: path.stat().st_mtime_ns for path in (cut / "occlusion-0.5").iterdir()}
    said = toolmark("perturb", "image", str(folder), str(cut), *asked)
    assert said.code == 0 and "6 variations of 3 pictures" in said.out
    again = 0 if sheet else 2  # a sheet is made of all its pictures
    assert (f"{again} of these files were there" in said.err) == bool(again)
    assert sum(path.stat().st_mtime_ns == then for path, then in stamps.items()) == bool(again)
    for path in whole.rglob("*.jpg"):
        assert (cut / path.relative_to(whole)).read_bytes() == path.read_bytes()
    found, wanted = ((out / "record.jsonl").read_bytes().splitlines() for out in (cut, whole))
    assert sorted(found) == sorted(wanted)
    said = toolmark("perturb", "image", str(folder), str(cut), *asked)
    assert f"{len(wanted)} of these files were there" in said.err


@pytest.mark.parametrize("change", ["seed", "boxes", "picture", "format"])
def test_what_was_made_otherwise_is_made_again(
    toolmark: Command, tmp_path: Path, change: str
) -> None:
    source, boxes = picture(tmp_path / "a.png"), tmp_path / "boxes.json"
    boxes.write_text("[[10, 10, 30, 20]]")
    asked = ["perturb", "image", str(source), str(tmp_path / "out"), "--with", "crop-4:3"]
    assert toolmark(*asked, "--boxes", str(boxes)).code == 0
    match change:
        case "picture":
            picture(source, (80, 50))
        case "boxes":
            boxes.write_text("[[10, 10, 30, 21]]")
    more = {"seed": ("--seed", "1"), "format": ("--keep-names",)}.get(change, ())
    said = toolmark(*asked, "--boxes", str(boxes), *more)
    assert said.code == 0 and "not made again" not in said.err
    assert len(record(tmp_path / "out")) == 1


def test_a_picture_that_was_repaired_has_no_failure_left(toolmark: Command, tmp_path: Path) -> None:
    source, out = tmp_path / "a.jpg", tmp_path / "out"
    source.write_bytes(b"")
    assert toolmark("perturb", "image", str(source), str(out), "--with", "gray").code == 3
    assert record(out)[0]["failed"] and record(out)[0]["seed"] == 0
    picture(source)
    assert toolmark("perturb", "image", str(source), str(out), "--with", "gray").code == 0
    assert [line["variation"] for line in record(out)] == ["gray"]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("none.jpg", "out"), "none.jpg: no such file or folder"),
        (("in", "in"), "in: holds the pictures themselves"),
        (("in", "in/a.jpg"), "in/a.jpg: not a folder"),
        (("empty", "out"), "empty: holds no pictures"),
        (("in", "out", "--with", "egdes"), "no variation 'egdes'; did you mean: edges"),
        (("in", "out", "--boxes", "none.json"), "none.json"),
        (("in", "out", "--boxes", "in/a.jpg"), "no boxes of the form"),
        (("in", "out", "--boxes", "bytes.json"), "no boxes of the form"),
        (("in", "out", "--boxes", "list.json"), "a list of boxes is of one picture"),
    ],
)
def test_what_cannot_be_is_reported_before_anything_is_made(
    toolmark: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...], reported: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    picture(Path("in/a.jpg"))
    picture(Path("in/b.jpg"))
    Path("empty").mkdir()
    Path("list.json").write_text("[[0, 0, 5, 5]]")
    Path("bytes.json").write_bytes(b'{"a\xff.jpg": []}')
    said = toolmark("perturb", "image", *words)
    assert said.code == 2 and reported in said.err
    assert not Path("out").exists()


def test_a_name_that_is_not_utf_8_is_refused_and_the_rest_is_made(
    toolmark: Command, tmp_path: Path
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    picture(folder / "a.png")
    picture(Path(os.fsdecode(os.fsencode(folder / "m") + b"\xff.png")))
    for _ in range(2):
        said = toolmark("perturb", "image", str(folder), str(out), "--with", "gray")
        assert said.code == 3 and "its name is not UTF-8: rename it" in said.err
        assert sorted((line["name"], "failed" in line) for line in record(out)) == [
            ("a.png", False), ("m\\udcff.png", True),
        ]  # fmt: skip


@pytest.mark.parametrize(
    "line", [b'{"name": "a\xff"}', b'{"x": ' + b"[" * 9000 + b"]" * 9000 + b"}"]
)
def test_a_record_of_something_else_is_refused(
    toolmark: Command, tmp_path: Path, line: bytes
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "record.jsonl").write_bytes(line + b"\n")
    said = toolmark("perturb", "image", str(picture(tmp_path / "a.png")), str(out))
    assert said.code == 2 and "line 1 is of no picture" in said.err
    assert (out / "record.jsonl").read_bytes() == line + b"\n"


def test_two_runs_into_one_folder_write_every_line(tmp_path: Path) -> None:
    sources = [picture(tmp_path / name) for name in ("a.png", "b.png")]
    order = picture_folder.VariationJob(folder=tmp_path / "out", names=("gray", "edges"))
    first = picture_folder.vary_pictures(sources[0], order)
    next(first)
    with pytest.raises(UsageError, match="another process is making pictures"):
        list(picture_folder.vary_pictures(sources[1], order))
    list(first)
    list(picture_folder.vary_pictures(sources[1], order))
    assert len(record(tmp_path / "out")) == 4
