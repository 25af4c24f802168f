"""Files that tasks start from: workbooks, slides, databases; equal ones are equal to the byte."""

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

_MOMENT = (2026, 1, 5, 9, 0, 0)
_STAMP = re.compile(rb'(xsi:type="dcterms:W3CDTF">)[^<]*')


def workbook(sheets: Sheets) -> bytes:
    """Return an Excel file with these sheets, row by row; the first row of each is its head."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    made = io.BytesIO()
    book.save(made)
    return _timeless(made.getvalue())


def deck(slides: Sequence[tuple[str, Sequence[str]]]) -> bytes:
    """Return a presentation: a title and bullet points for each slide."""
    shown = Presentation()
    for title, points in slides:
        slide = shown.slides.add_slide(shown.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text_frame.text = title
        slide.placeholders[1].text_frame.text = "\n".join(points)
    shown.core_properties.last_modified_by = ""  # the library's template names its author
    made = io.BytesIO()
    shown.save(made)
    return _timeless(made.getvalue())


def database(tables: Tables) -> bytes:
    """Return a SQLite file; by table its columns as SQL declares them, and its rows."""
    with sqlite3.connect(":memory:") as link:
        for name, (columns, rows) in tables.items():
            link.execute(f"CREATE TABLE {name} ({columns})")
            for row in rows:
                link.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
        link.commit()
        made = link.serialize()
    link.close()
    return made


def _timeless(archive: bytes) -> bytes:
    """Pack an Office file again without the moment at which it was made."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(archive)) as old,
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            text = _STAMP.sub(rb"\g<1>2026-01-05T09:00:00Z", old.read(entry))
            new.writestr(zipfile.ZipInfo(entry.filename, _MOMENT), text, zipfile.ZIP_DEFLATED)
    return made.getvalue()
