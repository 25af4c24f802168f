"""Calls that the reference trajectories of several families share; paths are in the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]

WORKSPACE = "/workspace"


def read_file(path: str) -> Call:
    """Return a call that reads a text file."""
    return "filesystem/read_text_file", {"path": f"{WORKSPACE}/{path}"}


def write_file(path: str, text: str) -> Call:
    """Return a call that writes a text file."""
    return "filesystem/write_file", {"path": f"{WORKSPACE}/{path}", "content": text}


def edit_file(path: str, old: str, new: str) -> Call:
    """Return a call that replaces one text by another in a file."""
    edits = [{"oldText": old, "newText": new}]
    return "filesystem/edit_file", {"path": f"{WORKSPACE}/{path}", "edits": edits}


def search_memory(query: str) -> Call:
    """Return a call that finds this text in the memory graph."""
    return "memory/search_nodes", {"query": query}


def query_database(query: str) -> Call:
    """Return a call that reads from the database."""
    return "sqlite/read_query", {"query": query}


def update_database(query: str) -> Call:
    """Return a call that writes to the database."""
    return "sqlite/write_query", {"query": query}


def create_workbook(path: str, sheets: Sequence[str]) -> Call:
    """Return a call that makes an Excel file with empty sheets."""
    return "excel/create_workbook", {"path": f"{WORKSPACE}/{path}", "sheets": list(sheets)}


def write_rows(path: str, sheet: str, rows: Sequence[Sequence[Any]]) -> Call:
    """Return a call that writes rows to a sheet, from A1 on."""
    cells = [list(row) for row in rows]
    arguments = {"path": f"{WORKSPACE}/{path}", "sheet": sheet, "at": "A1", "rows": cells}
    return "excel/write_range", arguments


def crop_image(path: str, box: tuple[int, int, int, int], out: str) -> Call:
    """Return a call that cuts a piece (left, top, width, height) out of a picture."""
    sides = dict(zip(("x", "y", "width", "height"), box, strict=True))
    arguments = {"path": f"{WORKSPACE}/{path}", **sides, "output_path": f"{WORKSPACE}/{out}"}
    return "image/crop_image", arguments


def resize_image(path: str, size: tuple[int, int], out: str) -> Call:
    """Return a call that resizes a picture to exactly this width and height."""
    return "image/resize_image", {
        "path": f"{WORKSPACE}/{path}",
        "width": size[0],
        "height": size[1],
        "keep_aspect": False,
        "output_path": f"{WORKSPACE}/{out}",
    }


def filter_image(path: str, kind: str, out: str) -> Call:
    """Return a call that applies a filter to a picture."""
    arguments = {
        "path": f"{WORKSPACE}/{path}",
        "filter_type": kind,
        "output_path": f"{WORKSPACE}/{out}",
    }
    return "image/apply_filter", arguments


def create_collage(paths: Sequence[str], gap: int, out: str) -> Call:
    """Return a call that puts pictures side by side."""
    return "image/create_collage", {
        "image_paths": [f"{WORKSPACE}/{path}" for path in paths],
        "layout": "horizontal",
        "spacing": gap,
        "output_path": f"{WORKSPACE}/{out}",
    }
