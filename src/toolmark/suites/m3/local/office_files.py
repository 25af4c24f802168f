"""Files that tasks start from: workbooks, presentations, databases, equal to the byte."""

from __future__ import annotations

import io
import re
import sqlite3
import zipfile
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from openpyxl import Workbook
from pptx import Presentation

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = Sequence[Cell]
Sheets: TypeAlias = Mapping[str, Sequence[Row]]
Tables: TypeAlias = Mapping[str, tuple[str, Sequence[Row]]]

_FIXED_TIME = (2026, 1, 5, 9, 0, 0)
_TIMESTAMP_PATTERN = re.compile(rb'(xsi:type="dcterms:W3CDTF">)[^<]*')


def make_workbook(sheets: Sheets) -> bytes:
    """Return an Excel file with these sheets, row by row; the first row of each is its header."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    buffer = io.BytesIO()
    book.save(buffer)
    return _remove_timestamps(buffer.getvalue())


def make_presentation(slides: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    """Return a presentation: a title and bullet points for each slide."""
    presentation = Presentation()
    for title, points in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text_frame.text = title
        slide.placeholders[1].text_frame.text = "\n".join(points)
    # The library's template names its author.
    presentation.core_properties.last_modified_by = ""
    buffer = io.BytesIO()
    presentation.save(buffer)
    return _remove_timestamps(buffer.getvalue())


def make_database(tables: Tables) -> bytes:
    """Return a SQLite file; each table has its columns as declared in SQL, and its rows."""
    with sqlite3.connect(":memory:") as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"CREATE TABLE {name} ({columns})")
            for row in rows:
                connection.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
        connection.commit()
        content = connection.serialize()
    connection.close()
    return content


def _remove_timestamps(archive: bytes) -> bytes:
    """Repack an Office file without the time of its creation."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            text = _TIMESTAMP_PATTERN.sub(rb"\g<1>2026-01-05T09:00:00Z", old.read(entry))
            new.writestr(zipfile.ZipInfo(entry.filename, _FIXED_TIME), text, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
