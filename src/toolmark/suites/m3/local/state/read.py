"""Files of one kind each, from their bytes to JSON values, within what the purse holds."""

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

from toolmark import codec
from toolmark.suites.m3.local.state.purse import Purse, Unreadable

ROWS = 10_000
PARTS = 2_000  # in a workbook or a presentation
TEXT_BYTES = 2**18
PIXELS = 2**24
TILES = 6  # to a side of the coarse view of a picture
INSTRUCTIONS = 2_000_000  # of SQLite's machine, per database
DATABASES = frozenset({".db", ".sqlite", ".sqlite3"})
SQLITE = b"SQLite format 3\0"

_WORKBOOKS = frozenset({".xlsx", ".xlsm"})
_PICTURES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff"})
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
EMU_PER_INCH = 914_400  # the unit of a presentation's lengths
_CHART = re.compile(r"xl/charts/chart\d+\.xml")


def file(kind: str, data: bytes, purse: Purse) -> dict[str, Any]:
    """Read a file that is not a database; `kind` is its suffix.

    Raises Unreadable for what is too large, and whatever the libraries raise on a damaged file.
    """
    if kind in _WORKBOOKS:
        return _workbook(data, purse)
    if kind == ".pptx":
        return _slides(data, purse)
    if kind in _PICTURES:
        return _picture(data, purse)
    return _text(kind, data, purse)


def _parts(data: bytes, purse: Purse) -> list[str]:
    """Return the names in an archive; its unpacked size is paid for. No part is larger than said.

    (Python's zipfile stops at the size that the directory of the archive says.)
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = archive.infolist()
    if len(parts) > PARTS:
        raise Unreadable(f"{len(parts)} parts; at most {PARTS} are read")
    purse.pay(sum(part.file_size for part in parts))
    return [part.filename for part in parts]


def _workbook(data: bytes, purse: Purse) -> dict[str, Any]:
    charts = sum(bool(_CHART.fullmatch(name)) for name in _parts(data, purse))
    sheets: dict[str, dict[str, Any]] = {}
    formulas: dict[str, dict[str, str]] = {}
    for name, cells in _sheets(data, purse, cached=False):
        sheets[name] = {at: _value(cell.value) for at, cell in cells.items()}
        held = {at: sheets[name][at] for at, cell in cells.items() if cell.data_type == "f"}
        if held:
            formulas[name] = held
    found: dict[str, Any] = {"sheets": sheets, "charts": charts}
    if not formulas:
        return found
    for name, cells in _sheets(data, purse, cached=True):
        # a formula that was never worked out stands for itself
        sheets[name] |= {at: _value(cell.value) for at, cell in cells.items()}
    return found | {"formulas": formulas}


def _sheets(data: bytes, purse: Purse, *, cached: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each sheet's name and its cells that hold something, by coordinate.

    Row by row: openpyxl's other way of reading walks through every cell that a merge or a link
    claims to span. `cached` asks for what formulas last came to, not for their text.
    """
    book = openpyxl.load_workbook(
        io.BytesIO(data), read_only=True, data_only=cached, keep_links=False
    )
    for sheet in book.worksheets:
        sheet.reset_dimensions()  # the size that a sheet claims may be anything
        cells = {}
        rows = sheet.iter_rows()
        for row in islice(rows, ROWS):
            purse.pay(8 * len(row))
            for cell in row:
                if cell.value is not None:
                    purse.pay(len(str(cell.value)))
                    cells[cell.coordinate] = cell
        if next(rows, None) is not None:
            raise Unreadable(f"more than {ROWS} rows")
        yield sheet.title, cells


def _value(value: Any) -> Any:
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


def _slides(data: bytes, purse: Purse) -> dict[str, Any]:
    _parts(data, purse)
    texts: list[list[str]] = []
    pictures: list[int] = []
    placed: list[list[dict[str, Any]]] = []
    for slide in Presentation(io.BytesIO(data)).slides:
        shapes = list(_shapes(slide.shapes))
        texts.append([text for shape in shapes for text in _said(shape)])
        shown = [shape for shape in shapes if isinstance(shape, Picture)]
        pictures.append(len(shown))
        placed.append([_placed(shape, purse) for shape in shown])
        purse.pay(64 * len(shapes) + sum(map(len, texts[-1])))
    return {"slides": texts, "pictures": pictures, "placed": placed}


def _placed(shape: Picture, purse: Purse) -> dict[str, Any]:
    """Return a picture on a slide: the digest of its file, and its size there, in inches."""
    size = [round(side / EMU_PER_INCH, 3) for side in (shape.width or 0, shape.height or 0)]
    try:
        data = shape.image.blob
    except (ValueError, LookupError, AttributeError):  # linked, or missing from the file
        return {"size_in": size}
    purse.pay(len(data))
    return {"sha256": hashlib.sha256(data).hexdigest(), "size_in": size}


def _shapes(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _said(shape: Any) -> Iterator[str]:
    """Yield the texts of a shape that are not empty, no blank lines; a table's cell by cell."""
    if shape.has_text_frame:
        lines = [line for line in shape.text_frame.text.split("\n") if line.strip()]
        yield from ["\n".join(lines)] if lines else []
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            yield from (cell.text for cell in row.cells if cell.text.strip())


def database(data: bytes, log: bytes, purse: Purse) -> dict[str, Any]:
    """Read the tables of an SQLite database and its write-ahead log, from a copy.

    Views are not run, and what a computed column may cost is bounded in length and steps.
    Raises Unreadable for more than 10,000 rows, and sqlite3.Error.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        copy.write_bytes(data)
        if log:
            copy.with_name("copy.db-wal").write_bytes(log)
        connection = sqlite3.connect(copy)
        try:
            _guarded(connection)
            names = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
            tables = {
                str(name): _table(connection, str(name), str(sql), purse)
                for name, sql in names.fetchmany(ROWS)
                if not str(name).startswith("sqlite_")
            }
        finally:
            connection.close()
    return {"tables": tables}


def _guarded(connection: sqlite3.Connection) -> None:
    connection.text_factory = lambda text: text.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**20)
    connection.execute("PRAGMA trusted_schema = OFF")
    ticks = iter(range(INSTRUCTIONS // 1000))
    connection.set_progress_handler(lambda: next(ticks, None) is None, 1000)
    harmless = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ}
    connection.set_authorizer(
        lambda action, *_: sqlite3.SQLITE_OK if action in harmless else sqlite3.SQLITE_DENY
    )


def _table(connection: sqlite3.Connection, name: str, sql: str, purse: Purse) -> dict[str, Any]:
    if sql.lstrip().upper().startswith("CREATE VIRTUAL"):
        return {"unreadable": "a virtual table"}
    quoted = name.replace('"', '""')
    cursor = connection.execute(f'SELECT * FROM "{quoted}"')
    rows: list[list[Any]] = []
    for row in cursor:
        if len(rows) == ROWS:
            raise Unreadable(f"more than {ROWS} rows in {name[:60]!r}")
        purse.pay(sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row))
        rows.append(
            [{"size_bytes": len(cell)} if isinstance(cell, bytes) else cell for cell in row]
        )
    return {"columns": [column[0] for column in cursor.description], "rows": rows}


def _picture(data: bytes, purse: Purse) -> dict[str, Any]:
    with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        size = image.size
        if size[0] * size[1] > PIXELS:
            raise Unreadable(f"{size[0]} x {size[1]} pixels; at most {PIXELS} are read")
        purse.pay(size[0] * size[1] // 4)
        seen = image.convert("RGB")
    red, green, blue = seen.split()
    grey = not any(ImageChops.difference(red, other).getbbox() for other in (green, blue))
    mean = [round(value, 3) for value in ImageStat.Stat(seen).mean]
    digest = hashlib.sha256(data).hexdigest()
    return {
        "size": list(size), "grey": grey, "mean": mean, "tiles": tiles(seen), "sha256": digest,
    }  # fmt: skip


def tiles(image: Image.Image) -> list[list[int]]:
    """Return a picture seen coarsely: the mean colours of 6 x 6 equal tiles, row by row."""
    seen = image.convert("RGB").resize((TILES, TILES), Image.Resampling.BOX)
    data = seen.tobytes()
    return [list(data[at : at + 3]) for at in range(0, len(data), 3)]


def _text(kind: str, data: bytes, purse: Purse) -> dict[str, Any]:
    """Read UTF-8 text, and JSON (or a JSON value per line) as what it means."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return {"size_bytes": len(data)}
    if "\0" in text:
        return {"size_bytes": len(data)}
    if len(data) > TEXT_BYTES:
        raise Unreadable(f"{len(data)} bytes of text; at most {TEXT_BYTES} are read")
    purse.pay(len(data))
    try:
        match kind:
            case ".json":
                return {"text": text, "json": codec.loads(text)}
            case ".jsonl":
                lines = [codec.loads(line) for line in text.split("\n") if line.strip()]
                return {"text": text, "json": lines}
    except codec.BadJson:
        pass  # it is text all the same
    return {"text": text}
