"""Readers from file bytes to JSON values, one per kind of file, within a read budget."""

from __future__ import annotations

import datetime
import hashlib
import io
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.worksheet.formula import ArrayFormula, DataTableFormula
from PIL import Image, ImageChops, ImageStat
from pptx import Presentation
from pptx.shapes.picture import Picture

from toolmark.core import json_codec
from toolmark.suites.m3.local.workspace_state.read_budget import ReadBudget, Unreadable

MAX_ROWS = 10_000
# Parts of a workbook or a presentation.
MAX_PARTS = 2_000
MAX_TEXT_BYTES = 2**18
MAX_PIXELS = 2**24
# Tiles along each side in the coarse view of a picture.
TILES_PER_SIDE = 6
# Instructions of SQLite's virtual machine, per database.
MAX_SQLITE_INSTRUCTIONS = 2_000_000
DATABASE_SUFFIXES = frozenset({".db", ".sqlite", ".sqlite3"})
SQLITE_HEADER = b"SQLite format 3\0"

_WORKBOOK_SUFFIXES = frozenset({".xlsx", ".xlsm"})
_PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"})
_PICTURE_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
# The length unit of presentations.
EMU_PER_INCH = 914_400
_CHART_PATH = re.compile(r"xl/charts/chart\d+\.xml")


def read_file(kind: str, data: bytes, budget: ReadBudget) -> dict[str, Any]:
    """Read a file that is not a database; `kind` is its suffix.

    Raises Unreadable for a file that is too large. Errors that the libraries raise on a damaged
    file propagate.
    """
    if kind in _WORKBOOK_SUFFIXES:
        return _read_workbook(data, budget)
    if kind == ".pptx":
        return _read_slides(data, budget)
    if kind in _PICTURE_SUFFIXES:
        return _read_picture(data, budget)
    return _read_text(kind, data, budget)


def _archive_names(data: bytes, budget: ReadBudget) -> list[str]:
    """Return the names in an archive, after spending its unpacked size from the budget.

    Python's zipfile stops at the size given in the directory of the archive, so no part is larger
    than stated there.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    if len(parts) > MAX_PARTS:
        raise Unreadable(f"{len(parts)} parts; at most {MAX_PARTS} are read")
    budget.spend_bytes(sum(part.file_size for part in parts))
    return [part.filename for part in parts]


def _read_workbook(data: bytes, budget: ReadBudget) -> dict[str, Any]:
    charts = sum(bool(_CHART_PATH.fullmatch(name)) for name in _archive_names(data, budget))
    sheets: dict[str, dict[str, Any]] = {}
    formulas: dict[str, dict[str, str]] = {}
    for name, cells in _read_sheets(data, budget, cached=False):
        sheets[name] = {at: _cell_value(cell.value) for at, cell in cells.items()}
        formula_cells = {
            at: sheets[name][at] for at, cell in cells.items() if cell.data_type == "f"
        }
        if formula_cells:
            formulas[name] = formula_cells
    found: dict[str, Any] = {"sheets": sheets, "charts": charts}
    if not formulas:
        return found
    for name, cells in _read_sheets(data, budget, cached=True):
        # A formula without a stored result is represented by its own text.
        sheets[name] |= {at: _cell_value(cell.value) for at, cell in cells.items()}
    return found | {"formulas": formulas}


def _read_sheets(
    data: bytes, budget: ReadBudget, *, cached: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each sheet's name and its cells with content, by coordinate.

    Sheets are read row by row: openpyxl's other mode visits every cell that a merge or a link
    claims to cover. With `cached`, formulas are read as their last results instead of their text.
    """
    book = openpyxl.load_workbook(
        io.BytesIO(data), read_only=True, data_only=cached, keep_links=False
    )
    for sheet in book.worksheets:
        # The size that a sheet claims may be wrong.
        sheet.reset_dimensions()
        cells = {}
        rows = sheet.iter_rows()
        for row in islice(rows, MAX_ROWS):
            budget.spend_bytes(8 * len(row))
            for cell in row:
                if cell.value is not None:
                    budget.spend_bytes(len(str(cell.value)))
                    cells[cell.coordinate] = cell
        if next(rows, None) is not None:
            raise Unreadable(f"more than {MAX_ROWS} rows")
        yield sheet.title, cells


def _cell_value(value: Any) -> Any:
    match value:
        case ArrayFormula():
            return str(value.text)
        case DataTableFormula():
            return str(value.ref)
        case datetime.datetime() | datetime.date() | datetime.time():
            return value.isoformat()
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _read_slides(data: bytes, budget: ReadBudget) -> dict[str, Any]:
    _archive_names(data, budget)
    texts: list[list[str]] = []
    pictures: list[int] = []
    placed: list[list[dict[str, Any]]] = []
    for slide in Presentation(io.BytesIO(data)).slides:
        shapes = list(_all_shapes(slide.shapes))
        texts.append([text for shape in shapes for text in _shape_texts(shape)])
        picture_shapes = [shape for shape in shapes if isinstance(shape, Picture)]
        pictures.append(len(picture_shapes))
        placed.append([_placed_picture(shape, budget) for shape in picture_shapes])
        budget.spend_bytes(64 * len(shapes) + sum(map(len, texts[-1])))
    return {"slides": texts, "pictures": pictures, "placed": placed}


def _placed_picture(shape: Picture, budget: ReadBudget) -> dict[str, Any]:
    """Return a picture on a slide: the digest of its file, and its size there in inches."""
    size = [round(side / EMU_PER_INCH, 3) for side in (shape.width or 0, shape.height or 0)]
    try:
        data = shape.image.blob
    except (ValueError, LookupError, AttributeError):
        # The picture is linked, or missing from the file.
        return {"size_in": size}
    budget.spend_bytes(len(data))
    return {"sha256": hashlib.sha256(data).hexdigest(), "size_in": size}


def _all_shapes(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        # Only a group has this attribute.
        if hasattr(shape, "shapes"):
            yield from _all_shapes(shape.shapes)
        else:
            yield shape


def _shape_texts(shape: Any) -> Iterator[str]:
    """Yield the non-empty texts of a shape, without blank lines; of a table cell by cell."""
    if shape.has_text_frame:
        lines = [line for line in shape.text_frame.text.split("\n") if line.strip()]
        yield from ["\n".join(lines)] if lines else []
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            yield from (cell.text for cell in row.cells if cell.text.strip())


def read_database(data: bytes, log: bytes, budget: ReadBudget) -> dict[str, Any]:
    """Read the tables of an SQLite database and its write-ahead log, from a copy.

    Views are not run. The cost of a computed column is limited in length and steps. Raises
    Unreadable for more than 10,000 rows, and sqlite3.Error.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(data)
        if log:
            copy.with_name("copy.db-wal").write_bytes(log)
        connection = sqlite3.connect(copy)
        try:
            _restrict_connection(connection)
            names = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            tables = {
                str(name): _read_table(connection, str(name), str(sql), budget)
                for name, sql in names.fetchmany(MAX_ROWS)
                if not str(name).startswith("sqlite_")
            }
        finally:
            connection.close()
    return {"tables": tables}


def _restrict_connection(connection: sqlite3.Connection) -> None:
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
    connection.execute("PRAGMA trusted_schema = OFF")
    ticks = iter(range(MAX_SQLITE_INSTRUCTIONS // 1000))
    connection.set_progress_handler(lambda: next(ticks, None) is None, 1000)
    harmless = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in harmless else sqlite3.SQLITE_DENY
    )


def _read_table(
    connection: sqlite3.Connection, name: str, sql: str, budget: ReadBudget
) -> dict[str, Any]:
    if sql.lstrip().upper().startswith("CREATE VIRTUAL"):
        return {"unreadable": "a virtual table"}
    quoted = name.replace('"', '""')
    cursor = connection.execute(f'SELECT * FROM "{quoted}"')
    rows: list[list[Any]] = []
    for row in cursor:
        if len(rows) == MAX_ROWS:
            raise Unreadable(f"more than {MAX_ROWS} rows in {name[:60]!r}")
        budget.spend_bytes(sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row))
        rows.append(
            [{"size_bytes": len(cell)} if isinstance(cell, bytes) else cell for cell in row]
        )
    return {"columns": [column[0] for column in cursor.description], "rows": rows}


def _read_picture(data: bytes, budget: ReadBudget) -> dict[str, Any]:
    with Image.open(io.BytesIO(data), formats=_PICTURE_FORMATS) as image:
        size = image.size
        if size[0] * size[1] > MAX_PIXELS:
            raise Unreadable(f"{size[0]} x {size[1]} pixels; at most {MAX_PIXELS} are read")
        budget.spend_bytes(size[0] * size[1] // 4)
        rgb = image.convert("RGB")
    red, green, blue = rgb.split()
    grey = not any(ImageChops.difference(red, other).getbbox() for other in (green, blue))
    mean = [round(value, 3) for value in ImageStat.Stat(rgb).mean]
    digest = hashlib.sha256(data).hexdigest()
    return {
        "size": list(size),
        "grey": grey,
        "mean": mean,
        "tiles": tile_colours(rgb),
        "sha256": digest,
    }


def tile_colours(image: Image.Image) -> list[list[int]]:
    """Return a coarse view of a picture: the mean colours of 6 x 6 equal tiles, row by row."""
    small = image.convert("RGB").resize((TILES_PER_SIDE, TILES_PER_SIDE), Image.Resampling.BOX)
    data = small.tobytes()
    return [list(data[at : at + 3]) for at in range(0, len(data), 3)]


def _read_text(kind: str, data: bytes, budget: ReadBudget) -> dict[str, Any]:
    """Read UTF-8 text, and JSON (or one JSON value per line) as its value."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return {"size_bytes": len(data)}
    if "\0" in text:
        return {"size_bytes": len(data)}
    if len(data) > MAX_TEXT_BYTES:
        raise Unreadable(f"{len(data)} bytes of text; at most {MAX_TEXT_BYTES} are read")
    budget.spend_bytes(len(data))
    try:
        match kind:
            case ".json":
                return {"text": text, "json": json_codec.parse_json(text)}
            case ".jsonl":
                lines = [json_codec.parse_json(line) for line in text.split("\n") if line.strip()]
                return {"text": text, "json": lines}
    except json_codec.InvalidJson:
        # A file with invalid JSON is still text.
        pass
    return {"text": text}
