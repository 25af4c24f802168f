"""Calls of the reference trajectories that several families make; paths are below the workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, dict[str, Any]]

HOME = "/workspace"


def read(path: str) -> Call:
    """Read a text file."""
    return "filesystem/read_text_file", {"path": f"{HOME}/{path}"}


def write(path: str, text: str) -> Call:
    """Write a text file."""
    return "filesystem/write_file", {"path": f"{HOME}/{path}", "content": text}


def edit(path: str, old: str, new: str) -> Call:
    """Put one text for another in a file."""
    edits = [{"oldText": old, "newText": new}]
    return "filesystem/edit_file", {"path": f"{HOME}/{path}", "edits": edits}


def search(query: str) -> Call:
    """Find what is remembered with this text in it."""
    return "memory/search_nodes", {"query": query}


def select(query: str) -> Call:
    """Read from the database."""
    return "sqlite/read_query", {"query": query}


def update(query: str) -> Call:
    """Write to the database."""
    return "sqlite/write_query", {"query": query}


def workbook(path: str, sheets: Sequence[str]) -> Call:
    """Make an Excel file with empty sheets."""
    return "excel/create_workbook", {"path": f"{HOME}/{path}", "sheets": list(sheets)}


def fill(path: str, sheet: str, rows: Sequence[Sequence[Any]]) -> Call:
    """Write rows to a sheet, from A1 on."""
    held = [list(row) for row in rows]
    given = {"path": f"{HOME}/{path}", "sheet": sheet, "at": "A1", "rows": held}
    return "excel/write_range", given


def crop(path: str, box: tuple[int, int, int, int], out: str) -> Call:
    """Cut a piece (left, top, width, height) out of a picture."""
    sides = dict(zip(("x", "y", "width", "height"), box, strict=True))
    given = {"path": f"{HOME}/{path}", **sides, "output_path": f"{HOME}/{out}"}
    return "image/crop_image", given


def resize(path: str, size: tuple[int, int], out: str) -> Call:
    """Bring a picture to exactly this width and height."""
    return "image/resize_image", {
        "path": f"{HOME}/{path}",
        "width": size[0],
        "height": size[1],
        "keep_aspect": False,
        "output_path": f"{HOME}/{out}",
    }


def filtered(path: str, kind: str, out: str) -> Call:
    """Change the look of a picture."""
    given = {"path": f"{HOME}/{path}", "filter_type": kind, "output_path": f"{HOME}/{out}"}
    return "image/apply_filter", given


def collage(paths: Sequence[str], gap: int, out: str) -> Call:
    """Put pictures side by side."""
    return "image/create_collage", {
        "image_paths": [f"{HOME}/{path}" for path in paths],
        "layout": "horizontal",
        "spacing": gap,
        "output_path": f"{HOME}/{out}",
    }
