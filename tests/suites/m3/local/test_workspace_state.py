"""A snapshot tells what a workspace holds, whatever it holds; a check finds every difference."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import re
import shutil
import sqlite3
import struct
import subprocess
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.chart import BarChart, Reference
from PIL import Image
from pptx import Presentation
from pptx.util import Inches

from toolmark.core import json_codec
from toolmark.suites.m3.local.workspace_state import (
    file_readers,
    find_differences,
    take_snapshot,
    workspace_snapshot,
)

# --- what is there -------------------------------------------------------------------------


def _workbook(path: Path) -> None:
    book = Workbook()
    sheet = book.active
    sheet.title = "March"
    for row in (["Item", "Price", "Sold"], ["Tea", 3.25, True], ["Oats", 4, False]):
        sheet.append(row)
    sheet["B5"] = "=SUM(B2:B3)"
    chart = BarChart()
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "E2")
    book.create_sheet("Empty")
    book.save(path)


def _deck(path: Path, picture: Path) -> None:
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Plan"
    slide.placeholders[1].text = "Open\nBuild"
    slide = deck.slides.add_slide(deck.slide_layouts[6])
    slide.shapes.add_picture(str(picture), Inches(1), Inches(1))
    table = slide.shapes.add_table(1, 2, Inches(1), Inches(3), Inches(4), Inches(1)).table
    table.cell(0, 0).text, table.cell(0, 1).text = "left", "right"
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(1)).text_frame.text = "deep"
    group.shapes.add_picture(str(picture), Inches(4), Inches(5))
    deck.save(str(path))


def _git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Robin Example", "-c", "user.email=robin@example.org"]
    subprocess.run(
        ["git", *who, *arguments], cwd=folder, check=True, capture_output=True, timeout=60
    )


def _repository(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main")
    for n, text in enumerate(("one\n", "two\n")):
        (folder / "notes.md").write_text(text)
        (folder / "sub").mkdir(exist_ok=True)
        (folder / "sub" / "é.bin").write_bytes(b"\xff\x00")
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", f"Change {n}\n\nBecause.")
    _git(folder, "branch", "side")
    return folder


def test_workbook_gives_cells_formulas_and_charts(tmp_path: Path) -> None:
    _workbook(tmp_path / "w.xlsx")
    found = take_snapshot(tmp_path)["w.xlsx"]
    cells = {"A1": "Item", "B1": "Price", "C1": "Sold", "A2": "Tea", "B2": 3.25, "C2": True}
    cells |= {"A3": "Oats", "B3": 4, "C3": False, "B5": "=SUM(B2:B3)"}
    assert found["sheets"] == {"March": cells, "Empty": {}}
    assert found["formulas"] == {"March": {"B5": "=SUM(B2:B3)"}}
    assert found["charts"] == 1


def test_formula_that_was_worked_out_gives_its_value(tmp_path: Path) -> None:
    _workbook(tmp_path / "w.xlsx")
    _rewritten(
        tmp_path / "w.xlsx",
        "xl/worksheets/sheet1.xml",
        lambda text: text.replace("</f><v></v>", "</f><v>7.25</v>").replace(
            "</f><v/>", "</f><v>7.25</v>"
        ),
    )
    found = take_snapshot(tmp_path)["w.xlsx"]
    assert found["sheets"]["March"]["B5"] == 7.25
    assert found["formulas"] == {"March": {"B5": "=SUM(B2:B3)"}}


def test_deck_gives_texts_and_pictures_of_each_slide(tmp_path: Path) -> None:
    Image.new("RGB", (20, 10), "red").save(tmp_path / "p.png")
    _deck(tmp_path / "d.pptx", tmp_path / "p.png")
    digest = hashlib.sha256((tmp_path / "p.png").read_bytes()).hexdigest()
    size = [round(20 / 72, 3), round(10 / 72, 3)]  # a pixel is a point where nothing else is said
    assert take_snapshot(tmp_path)["d.pptx"] == {
        "slides": [["Plan", "Open\nBuild"], ["left", "right", "deep"]],
        "pictures": [0, 2],
        "placed": [[], [{"sha256": digest, "size_in": size}] * 2],
    }


def test_database_gives_columns_and_rows(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "data.db") as connection:
        connection.execute("CREATE TABLE stock (item TEXT, n INTEGER, price REAL, raw BLOB)")
        connection.execute(
            "INSERT INTO stock VALUES ('Tea', 3, 2.5, x'00ff'), (NULL, 0, 1e999, '')"
        )
        connection.execute("CREATE VIEW seen AS SELECT * FROM stock")
    connection.close()
    assert take_snapshot(tmp_path)["data.db"]["tables"] == {
        "stock": {
            "columns": ["item", "n", "price", "raw"],
            "rows": [["Tea", 3, 2.5, {"size_bytes": 2}], [None, 0, "inf", ""]],
        }
    }


def test_what_is_still_in_the_write_ahead_log_counts(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "data.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    connection.execute("INSERT INTO t VALUES (7)")
    try:
        before = sorted(path.name for path in tmp_path.iterdir())
        found = take_snapshot(tmp_path)
        assert before == sorted(path.name for path in tmp_path.iterdir())
        assert len(before) == 3
    finally:
        connection.close()
    assert found == {"data.db": {"tables": {"t": {"columns": ["a"], "rows": [[7]]}}}}


def test_repository_gives_history_branches_files_and_what_is_dirty(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "repo")
    (repo / "notes.md").write_text("three\n")
    (repo / "new.txt").write_text("new")
    found = take_snapshot(tmp_path)
    assert found["repo"] == {
        "log": ["Change 1", "Change 0"],
        "branch": "main",
        "branches": ["main", "side"],
        "tips": {"main": "Change 1", "side": "Change 1"},
        "files": {"notes.md": "two\n", "sub/é.bin": {"size_bytes": 2}},
        "dirty": ["new.txt", "notes.md"],
    }
    assert found["repo/notes.md"] == {"text": "three\n"}
    assert not any(".git" in path for path in found)


def test_change_of_equal_length_in_the_same_moment_is_dirty(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "repo")
    before = (repo / "notes.md").stat()
    (repo / "notes.md").write_text("owt\n")
    os.utime(repo / "notes.md", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert take_snapshot(tmp_path)["repo"]["dirty"] == ["notes.md"]


def test_repository_without_commits_and_the_workspace_itself_as_one(tmp_path: Path) -> None:
    _git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "a.txt").write_text("a")
    empty = {"log": [], "branch": "main", "branches": [], "tips": {}, "files": {}}
    assert take_snapshot(tmp_path)["."] == {**empty, "dirty": ["a.txt"]}


def test_texts_json_and_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Größe\n", encoding="utf-8")
    (tmp_path / "b.json").write_text('{"n": [1, 2.5, 99999999999999999999]}')
    (tmp_path / "c.jsonl").write_text('{"n": 1}\n\n{"n": 2}\n')
    (tmp_path / "d.json").write_text("{not json")
    (tmp_path / "e.csv").write_bytes(b"\xef\xbb\xbfa,b\r\n")
    (tmp_path / "f.bin").write_bytes(b"a\0b")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "g.txt").write_bytes(b"\xe9")
    found = take_snapshot(tmp_path)
    assert found == {
        "a.md": {"text": "# Größe\n"},
        "b.json": {
            "text": '{"n": [1, 2.5, 99999999999999999999]}',
            "json": {"n": [1, 2.5, "99999999999999999999"]},
        },
        "c.jsonl": {"text": '{"n": 1}\n\n{"n": 2}\n', "json": [{"n": 1}, {"n": 2}]},
        "d.json": {"text": "{not json"},
        "e.csv": {"text": "a,b\r\n"},
        "f.bin": {"size_bytes": 3},
        "sub/g.txt": {"size_bytes": 1},
    }


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "gif", "bmp"])
def test_picture_gives_size_colour_and_hash(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"p.{kind}"
    Image.new("RGB", (40, 30), (200, 40, 40)).save(path)
    found = take_snapshot(tmp_path)[path.name]
    assert found["size"] == [40, 30]
    assert not found["grey"]
    assert found["mean"] == pytest.approx([200, 40, 40], abs=6)
    assert len(found["tiles"]) == 36
    assert all(tile == pytest.approx([200, 40, 40], abs=6) for tile in found["tiles"])
    assert found["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    Image.new("L", (40, 30), 90).save(path)
    assert take_snapshot(tmp_path)[path.name]["grey"]


# --- what is hostile -----------------------------------------------------------------------


def _rewritten(path: Path, part: str, change: Any) -> None:
    """Change the text of one part of an archive."""
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info) for info in archive.infolist()}
    assert part in parts
    parts[part] = change(parts[part].decode()).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def _shared(path: Path, text: str, n: int) -> None:
    """Write a workbook of `n` rows that share one text, as spreadsheet programs store it."""
    _workbook(path)
    kind = "officedocument/2006/relationships/sharedStrings"
    rows = "".join(f'<row r="{r}"><c r="A{r}" t="s"><v>0</v></c></row>' for r in range(1, n + 1))
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    relation = f'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/{kind}" '
    relation = relation.replace("officedocument", "officeDocument") + 'Target="sharedStrings.xml"/>'
    part = '<Override PartName="/xl/sharedStrings.xml" ContentType="application/vnd.openxmlformats-'
    part += 'officedocument.spreadsheetml.sharedStrings+xml"/>'
    new = {
        "xl/worksheets/sheet1.xml": f"<worksheet {space}><sheetData>{rows}</sheetData></worksheet>",
        "xl/sharedStrings.xml": f"<sst {space}><si><t>{text}</t></si></sst>",
    }
    with zipfile.ZipFile(path) as archive:
        parts = {info.filename: archive.read(info).decode() for info in archive.infolist()}
    types, relations = "[Content_Types].xml", "xl/_rels/workbook.xml.rels"
    parts[types] = parts[types].replace("</Types>", f"{part}</Types>")
    parts[relations] = parts[relations].replace("</Relationships>", f"{relation}</Relationships>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (parts | new).items():
            archive.writestr(name, data)
    if n < 10:
        assert take_snapshot(path.parent)[path.name]["sheets"]["March"]["A3"] == text


def _why(folder: Path, path: str) -> str:
    found = take_snapshot(folder)
    assert json_codec.encode_record(found)
    assert set(found[path]) == {"unreadable"}, found[path]
    return str(found[path]["unreadable"])


def test_links_and_pipes_are_recorded_and_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "key.txt").write_text("hidden")
    work = tmp_path / "work"
    work.mkdir()
    (work / "link.txt").symlink_to(secret / "key.txt")
    (work / "dangling.xlsx").symlink_to("nowhere")
    (work / "folder").symlink_to(secret)
    (work / "loop").symlink_to(work)
    os.mkfifo(work / "pipe.json")
    found = take_snapshot(work)
    assert set(found) == {"link.txt", "dangling.xlsx", "folder", "loop", "pipe.json"}
    assert all(set(entry) == {"unreadable"} for entry in found.values())
    assert "hidden" not in json.dumps(found)


@pytest.mark.parametrize("name", ["b.xlsx", "b.pptx"])
def test_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for part in range(8):
            archive.writestr(f"xl/part{part}.xml", bytes(10 * 2**20))
    assert (tmp_path / name).stat().st_size < 2**20
    assert "too large" in _why(tmp_path, name)


def test_archive_that_lies_about_its_size_is_refused(tmp_path: Path) -> None:
    _workbook(tmp_path / "w.xlsx")
    _rewritten(tmp_path / "w.xlsx", "xl/workbook.xml", lambda text: text + " " * 2**20)
    data = bytearray((tmp_path / "w.xlsx").read_bytes())
    with zipfile.ZipFile(tmp_path / "w.xlsx") as archive:
        real = archive.getinfo("xl/workbook.xml").file_size
    lie = data.replace(real.to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lie != data
    (tmp_path / "w.xlsx").write_bytes(lie)
    assert _why(tmp_path, "w.xlsx")


@pytest.mark.parametrize(
    "hostile",
    [
        # a cell at the far end, a merge and a link over everything, rows in a hurry
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="999999999999"><c r="A999999999999"><v>1</v></c></row>',
    ],
)
def test_sheet_of_immense_extent_is_refused(tmp_path: Path, hostile: str) -> None:
    _workbook(tmp_path / "w.xlsx")
    sheet = "xl/worksheets/sheet1.xml"
    _rewritten(
        tmp_path / "w.xlsx",
        sheet,
        lambda text: text.replace("</sheetData>", hostile + "</sheetData>"),
    )
    assert "more than 10000 rows" in _why(tmp_path, "w.xlsx")


def test_merge_and_link_over_every_cell_are_not_walked_through(tmp_path: Path) -> None:
    _workbook(tmp_path / "w.xlsx")
    every = 'ref="A1:XFD1048576"'
    spans = f'<mergeCells count="1"><mergeCell {every}/></mergeCells>'
    spans += f'<hyperlinks><hyperlink {every} location="A1"/></hyperlinks>'
    _rewritten(
        tmp_path / "w.xlsx",
        "xl/worksheets/sheet1.xml",
        lambda text: re.sub('<dimension ref="[^"]*"', f"<dimension {every}", text).replace(
            "</sheetData>", "</sheetData>" + spans
        ),
    )
    assert take_snapshot(tmp_path)["w.xlsx"]["sheets"]["March"]["B2"] == 3.25


LAUGHS = "<!DOCTYPE x [<!ENTITY a0 'ha'>{}]>".format(
    "".join(f"<!ENTITY a{n + 1} '{f'&a{n};' * 10}'>" for n in range(12))
)
SECRET = "<!DOCTYPE x [<!ENTITY a12 SYSTEM 'file://{}'>]>"


@pytest.mark.parametrize("trick", ["laughs", "outside"])
@pytest.mark.parametrize(
    ("name", "part", "old"),
    [
        ("s.xlsx", "xl/sharedStrings.xml", "Item"),
        ("w.xlsx", "xl/worksheets/sheet1.xml", "SUM(B2:B3)"),
        ("w.xlsx", "xl/workbook.xml", "March"),
        ("d.pptx", "ppt/slides/slide1.xml", "Plan"),
    ],
)
def test_entities_are_not_resolved(
    tmp_path: Path, name: str, part: str, old: str, trick: str
) -> None:
    (tmp_path / "key").write_text("hidden")
    work = tmp_path / "work"
    work.mkdir()
    Image.new("RGB", (20, 10), "red").save(tmp_path / "p.png")
    _workbook(work / "w.xlsx")
    _shared(work / "s.xlsx", "Item", 3)
    _deck(work / "d.pptx", tmp_path / "p.png")
    head = LAUGHS if trick == "laughs" else SECRET.format(tmp_path / "key")

    def change(text: str) -> str:
        assert old in text
        start = text.index("?>") + 2 if text.startswith("<?xml") else 0
        return text[:start] + head + text[start:].replace(old, "&a12;")

    _rewritten(work / name, part, change)
    found = json.dumps(take_snapshot(work)[name])
    assert "hidden" not in found
    assert "hahaha" not in found
    assert len(found) < 10_000


def test_one_text_shared_by_many_cells_cannot_fill_the_memory(tmp_path: Path) -> None:
    _shared(tmp_path / "w.xlsx", "x" * 30_000, 9_000)
    assert (tmp_path / "w.xlsx").stat().st_size < 2**20
    assert "too large" in _why(tmp_path, "w.xlsx")


def test_database_whose_columns_compute_to_much_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "data.db")
    connection.execute("CREATE TABLE t (a, b AS (hex(zeroblob(2000000))))")
    connection.execute("INSERT INTO t (a) VALUES (1)")
    connection.commit()
    connection.close()
    assert "Error" in _why(tmp_path, "data.db")


def test_database_with_too_many_rows_or_amid_a_transaction_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "many.db")
    connection.execute("CREATE TABLE t (a)")
    connection.executemany(
        "INSERT INTO t VALUES (?)", [(n,) for n in range(file_readers.MAX_ROWS + 1)]
    )
    connection.commit()
    connection.close()
    assert "more than 10000 rows" in _why(tmp_path, "many.db")
    shutil.copy(tmp_path / "many.db", tmp_path / "amid.db")
    (tmp_path / "amid.db-journal").write_bytes(b"\xd9\xd5\x05\xf9 \xa1c\xd7")
    assert "not finished" in _why(tmp_path, "amid.db")


def test_git_runs_nothing_that_the_repository_names(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "work")
    mark = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "filter.x.clean",
        "filter.x.process",
        "diff.x.textconv",
    ):
        _git(repo, "config", key, str(script))
    _git(repo, "config", "core.worktree", "/")
    _git(repo, "config", "log.showSignature", "true")
    for hook in ("post-index-change", "pre-commit"):
        (repo / ".git" / "hooks" / hook).write_text(script.read_text())
        (repo / ".git" / "hooks" / hook).chmod(0o755)
    (repo / ".gitattributes").write_text("* filter=x diff=x\n")
    (repo / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "objects" / "info" / "alternates").write_text("/\n")
    found = take_snapshot(repo)["."]
    assert found["dirty"] == [".gitattributes"]
    assert not mark.exists()


def test_git_file_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    _repository(tmp_path / "other")
    work = tmp_path / "work"
    work.mkdir()
    (work / ".git").write_text(f"gitdir: {tmp_path / 'other' / '.git'}\n")
    assert "elsewhere" in _why(work, ".")
    (work / ".git").unlink()
    (work / ".git").symlink_to(tmp_path / "other" / ".git")
    assert "Change" not in json.dumps(take_snapshot(work))


def test_broken_repository_is_unreadable(tmp_path: Path) -> None:
    repo = _repository(tmp_path / "repo")
    for path in (repo / ".git" / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            path.write_bytes(b"junk")
    assert take_snapshot(tmp_path)["repo"].get("log", []) == []
    (repo / ".git" / "HEAD").unlink()
    assert _why(tmp_path, "repo")


def test_picture_of_immense_size_is_refused(tmp_path: Path) -> None:
    for side in (9_000, 30_000, 2**31 - 1):
        head = b"IHDR" + struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        data = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + head
        data += struct.pack(">I", zlib.crc32(head)) + b"\0\0\0\0IDAT"
        (tmp_path / "p.png").write_bytes(data)
        assert re.search("pixel|Bomb", _why(tmp_path, "p.png"))


def test_other_formats_under_a_picture_name_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / "p.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    assert "UnidentifiedImageError" in _why(tmp_path, "p.png")


def test_too_many_files_and_folders_are_left_out_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workspace_snapshot, "MAX_FILES", 20)
    for n in range(30):
        (tmp_path / f"{n:02}.txt").write_text("x")
    found = take_snapshot(tmp_path)
    assert len(found) == 21
    assert "more than 20 files" in found["*"]["unreadable"]
    assert find_differences({"99.txt": {"absent": True}}, found)
    assert not find_differences({"99.txt": {"absent": True}}, {})


def test_deep_folders_and_odd_names_and_large_files(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(40):
        deep /= "d"
    deep.mkdir(parents=True)
    (deep / "x.txt").write_text("x")
    (tmp_path / os.fsdecode(b"\xff\xfe.txt")).write_text("odd")
    (tmp_path / "large.txt").write_text("x" * (2**18 + 1))
    (tmp_path / "huge.bin").touch()
    os.truncate(tmp_path / "huge.bin", 2**40)
    (tmp_path / "deep.json").write_text("[" * 100_000)
    found = take_snapshot(tmp_path)
    assert set(found) == {"*", "\\xff\\xfe.txt", "large.txt", "huge.bin", "deep.json"}
    assert "deep" in found["*"]["unreadable"]
    assert "at most" in found["large.txt"]["unreadable"]
    assert "at most" in found["huge.bin"]["unreadable"]
    assert "json" not in found["deep.json"]
    assert json_codec.encode_record(found)


def test_missing_folder_is_reported(tmp_path: Path) -> None:
    assert "unreadable" in take_snapshot(tmp_path / "none")["*"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One sound file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    picture = Image.effect_noise((60, 40), 60).convert("RGB")
    for name in ("p.png", "p.jpg", "p.gif", "p.webp", "p.bmp", "p.tif"):
        picture.save(folder / name)
    _workbook(folder / "w.xlsx")
    _deck(folder / "d.pptx", folder / "p.png")
    with sqlite3.connect(folder / "d.db") as connection:
        connection.execute("CREATE TABLE t (a TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * n,) for n in range(50)])
    connection.close()
    (folder / "j.json").write_text('{"a": [1, 2, {"b": null}]}')
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("seed", range(25))
def test_damaged_files_never_raise(whole: dict[str, bytes], tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    for name, sound in whole.items():
        data = bytearray(sound)
        for _ in range(rng.choice((1, 8, 60))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (tmp_path / name).write_bytes(data[: rng.choice((len(data), rng.randrange(len(data))))])
        other = sorted(whole)[rng.randrange(len(whole))]
        (tmp_path / f"x{Path(name).suffix}").write_bytes(whole[other])
    assert len(take_snapshot(tmp_path)) == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("seed", range(25))
def test_archives_with_damaged_parts_never_raise(
    whole: dict[str, bytes], tmp_path: Path, seed: int
) -> None:
    rng = random.Random(seed)
    for name in ("w.xlsx", "d.pptx"):
        with zipfile.ZipFile(io.BytesIO(whole[name])) as archive:
            parts = {info.filename: archive.read(info) for info in archive.infolist()}
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for part, data in parts.items():
                if rng.random() < 0.15:
                    continue
                text = bytearray(data)
                for _ in range(rng.choice((0, 0, 1, 20))):
                    spot = rng.randrange(len(text))
                    text[spot : spot + rng.randrange(6)] = rng.choice((b"9", b"", b"<a/>", b"x"))
                archive.writestr(part, bytes(text))
    assert set(take_snapshot(tmp_path)) == {"w.xlsx", "d.pptx"}


# --- what is expected ----------------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_everything_equals_itself(found: dict[str, Any]) -> None:
    found = {path: value for path, value in found.items() if path != "*"}
    assert (
        find_differences(found, found) == [] or "contains" in repr(found) or "absent" in repr(found)
    )


FOUND: dict[str, Any] = {
    "w.xlsx": {
        "sheets": {"March": {"A1": "Tea", "B1": 3.25, "C1": "12.50", "D1": True}},
        "charts": 2,
    },
    "repo": {"log": ["Add notes", "Start"], "dirty": []},
    "note.md": {"text": "Order 7731 is paid\n"},
    "bad.xlsx": {"unreadable": "BadZipFile"},
    "deck.pptx": {"slides": [["Plan", "Open\nBuild"]]},
    "data.db": {"tables": {"t": {"rows": [["Tea", 3], ["Oats", 4]]}}},
}


@pytest.mark.parametrize(
    "expected_state",
    [
        {},
        {"w.xlsx": {}},
        {"w.xlsx": {"sheets": {"March": {"A1": "Tea"}}, "charts": 2}},
        {"w.xlsx": {"sheets": {"March": {"B1": "3.25", "C1": 12.5}}}},
        {"w.xlsx": {"sheets": {"March": {"B1": 3.2500001, "E1": {"absent": True}}}}},
        {"repo": {"log": ["Add notes", "Start"], "dirty": []}},
        {"repo": {"log": {"contains": ["Start"]}}},
        {"note.md": {"text": {"contains": ["7731", "paid"]}}, "gone.txt": {"absent": True}},
        {"deck.pptx": {"slides": [{"contains": ["Plan", "Build"]}]}},
        {"data.db": {"tables": {"t": {"rows": {"contains": [["Oats", "4"]]}}}}},
    ],
)
def test_what_is_there_is_found(expected_state: dict[str, Any]) -> None:
    assert find_differences(expected_state, FOUND) == []


@pytest.mark.parametrize(
    ("expected_state", "said"),
    [
        ({"gone.txt": {}}, "gone.txt: is not there"),
        ({"note.md": {"absent": True}}, "note.md: should not be there"),
        (
            {"w.xlsx": {"sheets": {"March": {"A1": "tea"}}}},
            "March, A1: expected 'tea', found 'Tea'",
        ),
        ({"w.xlsx": {"sheets": {"March": {"B1": 3.26}}}}, "March, B1: expected 3.26, found 3.25"),
        ({"w.xlsx": {"sheets": {"March": {"B1": 3.250002}}}}, "expected 3.250002"),
        ({"w.xlsx": {"sheets": {"March": {"C1": "12.5"}}}}, "expected '12.5', found '12.50'"),
        ({"w.xlsx": {"sheets": {"March": {"D1": 1}}}}, "expected 1, found True"),
        ({"w.xlsx": {"sheets": {"April": {}}}}, "w.xlsx, sheets, April: is not there"),
        ({"repo": {"log": ["Add notes"]}}, "repo, log: expected ['Add notes']"),
        ({"repo": {"log": ["Start", "Start"]}}, "repo, log, item 1: expected 'Start'"),
        ({"repo": {"log": {"contains": ["Stop"]}}}, "'Stop' is not in"),
        ({"note.md": {"text": {"contains": ["7732"]}}}, "'7732' is not in"),
        ({"bad.xlsx": {"sheets": {}}}, "could not be read: 'BadZipFile'"),
        ({"data.db": {"tables": {"t": {"rows": {"contains": [["Oats", 5]]}}}}}, "is not in"),
        ({"w.xlsx": {"charts": {"contains": ["2"]}}}, "is not in"),
    ],
)
def test_what_is_not_there_is_reported(expected_state: dict[str, Any], said: str) -> None:
    (difference,) = find_differences(expected_state, FOUND)
    assert said in difference


def test_long_codes_differ_in_their_last_digit() -> None:
    assert find_differences({"a": 4006381333931}, {"a": "4006381333932"})
    assert not find_differences({"a": 4006381333931}, {"a": "4006381333931"})
    assert find_differences({"a": 1}, {"a": "1e999999999"})
    assert find_differences({"a": 0}, {"a": "NaN"})
    assert find_differences({"a": 1}, {"a": 10**5000})


@given(st.permutations(["a", "b", "b", {"n": 1}, ["x"]]))
def test_without_an_order_the_same_items_are_wanted_and_no_others(found: list[Any]) -> None:
    wanted = {"a": {"unordered": ["b", {}, "a", "b", ["x"]]}}
    assert find_differences(wanted, {"a": found}) == []
    assert find_differences(wanted, {"a": [*found, "c"]})
    assert find_differences(wanted, {"a": found[1:]})
    assert find_differences(wanted, {"a": ["c" if one == "b" else one for one in found]})
    assert find_differences(wanted, {"a": "abb"})


@pytest.mark.parametrize(
    ("found", "right"),
    [
        ([[1, 2], [3, 4]], True),
        ([[3, 0], [3, "5.9"]], True),
        ([[1, 2], [3, 6.1]], False),
        ([[1, 2]], False),
        ([[1, 2], [3, None]], False),
        ([[1, 2], [3, True]], False),
        ([1, 2, 3, 4], False),
        ("1234", False),
    ],
)
def test_what_is_near_is_no_further_off_than_is_said(found: Any, right: bool) -> None:
    wanted = {"a": {"near": [[1, 2], [3, 4]], "within": 2}}
    assert (find_differences(wanted, {"a": found}) == []) is right
