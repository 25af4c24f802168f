"""A draft from a folder of pictures: one row each, none lost, what cannot be used is named."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from PIL import Image

from toolmark.core.errors import DataError, UsageError
from toolmark.perturb.image import picture_file
from toolmark.studio.vision_tuning import item_drafts
from toolmark.suites.mfcl_vision import item_folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "pictures"
    (made / "trip").mkdir(parents=True)
    for n, name in enumerate(("b.png", "trip/a.jpg", "trip/b.png")):
        Image.new("RGB", (300 + n, 240), (n, 90, 30)).save(made / name)
    return made


def rows(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in (folder / item_folder.ITEMS_FILE).read_text().splitlines()]


def test_each_picture_gets_a_row_with_an_id_of_its_own(folder: Path) -> None:
    made = item_drafts.draft_items(folder)
    assert (made.n_added, made.n_existing, dict(made.rejected)) == (3, 0, {})
    assert [row["image"] for row in rows(folder)] == ["b.png", "trip/a.jpg", "trip/b.png"]
    assert len({row["id"] for row in rows(folder)}) == 3


def test_given_again_it_adds_nothing_and_keeps_what_was_filled_in(folder: Path) -> None:
    item_drafts.draft_items(folder)
    path = folder / item_folder.ITEMS_FILE
    path.write_text(path.read_text().replace('"question":""', '"question":"Where?"', 1))
    before = path.read_bytes()
    assert item_drafts.draft_items(folder)[1:3] == (0, 3)
    assert path.read_bytes() == before
    Image.new("RGB", (400, 400)).save(folder / "new.png")
    assert item_drafts.draft_items(folder)[1:3] == (1, 3)
    assert path.read_bytes().startswith(before)


def test_a_filled_draft_is_read_as_items(folder: Path) -> None:
    item_drafts.draft_items(folder)
    filled = {"question": "Where?", "answer": "Rizisk", "domain": "places", "query_type": "locate"}
    lines = [json.dumps(row | filled) for row in rows(folder)]
    (folder / item_folder.ITEMS_FILE).write_text("\n".join(lines))
    assert len(item_folder.read_item_folder(folder).entries) == 3


def test_what_cannot_be_used_is_left_out_with_the_reason(folder: Path) -> None:
    whole = (folder / "trip" / "a.jpg").read_bytes()
    (folder / "torn.jpg").write_bytes(whole[:300])
    (folder / "zero.png").write_bytes(b"")
    (folder / "again.jpg").write_bytes(whole)
    Image.new("RGB", (20, 900)).save(folder / "thin.png")
    os.symlink("/etc/passwd", folder / "out.png")
    made = item_drafts.draft_items(folder)
    assert made.n_added == 3
    assert set(made.rejected) == {"torn.jpg", "zero.png", "trip/a.jpg", "thin.png"}
    assert "shows the same as again.jpg" in made.rejected["trip/a.jpg"]
    assert "20 x 900 pixels: too small" in made.rejected["thin.png"]


def test_no_name_or_link_fails_the_draft(folder: Path) -> None:
    os.symlink("loop.png", folder / "loop.png")
    os.mkfifo(folder / "pipe.png")
    odd = Path(os.fsdecode(os.fsencode(folder / "m") + b"\xff.png"))
    odd.write_bytes((folder / "b.png").read_bytes() + b"more")
    made = item_drafts.draft_items(folder)
    assert made.n_added == 3
    assert list(made.rejected.values()) == ["m\\udcff.png: its name is not UTF-8: rename it"]


def test_a_picture_too_large_to_be_read_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_file, "MAX_BYTES", (folder / "b.png").stat().st_size - 1)
    reported = item_drafts.draft_items(folder).rejected["b.png"]
    assert "larger than" in reported and "damaged" not in reported


def test_folders_without_pictures_and_damaged_drafts_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="no folder"):
        item_drafts.draft_items(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="no pictures"):
        item_drafts.draft_items(tmp_path / "empty")
    (folder / item_folder.ITEMS_FILE).write_text('{"id": "a"}\nno json\n')
    with pytest.raises(DataError, match="line 2"):
        item_drafts.draft_items(folder)
    assert (folder / item_folder.ITEMS_FILE).read_text() == '{"id": "a"}\nno json\n'
