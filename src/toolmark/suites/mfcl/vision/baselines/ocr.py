"""The words of a picture: a real recogniser looks at it several ways, and the readings are merged.

Tesseract parts letters from their ground by one threshold for all of a picture or by one for each
place, and looks for a page or for single words: what one way loses, another finds. Shown larger, a
picture yields its small letters. What was read is kept by the picture's content.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol

import msgspec
from PIL import Image, ImageOps

from toolmark import fetch
from toolmark.errors import DataError
from toolmark.files import write_atomically
from toolmark.perturb.image import picture
from toolmark.perturb.image.box import Box, union
from toolmark.perturb.speech.engines import process
from toolmark.types import Record

PACKAGE = "apt-get install tesseract-ocr"
TIMEOUT_S = 60.0
FORMAT = 1
_SURE = 0.5  # words that Tesseract trusts less are noise
_SAME = 0.4  # share of the smaller box that two readings of one line have in common
_LEAST = 12  # pixels of a side, below which there is no room for letters
_GAP = 1.6  # heights between two words of one line, beyond which they are of two signs
_THREADS = {"OMP_THREAD_LIMIT": "1"}
_MARKS = re.compile(r"^[^\w&]+|[^\w&.!?]+$")


class Line(Record, frozen=True, kw_only=True):
    """A line of lettering: `sure` in [0, 1], `box` left, top, right, bottom in pixels."""

    text: str
    sure: float
    box: Box


class Page(Record, frozen=True, kw_only=True):
    """What was read in a picture of `size` (width, height), from top to bottom."""

    size: tuple[int, int]
    lines: tuple[Line, ...] = ()


class Eyes(Protocol):
    """Reads the words of pictures."""

    def read(self, data: bytes, name: str, /) -> Page:
        """Return the lines of a picture file. Raises DataError, naming what cannot be read."""
        ...


class Look(NamedTuple):
    """A way of showing a picture: how much larger, Tesseract's `thresholding_method` and `--psm`.

    psm says how the layout is analysed.
    """

    scale: float
    threshold: int
    psm: int


_ONE, _EACH = 0, 2  # Otsu's threshold, Sauvola's
_PAGE, _SPARSE = 3, 11  # columns and paragraphs, or as much text as there is
LOOKS = (Look(1.5, _ONE, _SPARSE), Look(1, _EACH, _SPARSE), Look(1, _ONE, _PAGE))


class Tesseract:
    """The program, run once for each look. Raises UsageError where it is not installed."""

    def __init__(self, looks: Sequence[Look] = LOOKS, folder: Path | None = None) -> None:
        self._path = process.find("tesseract", PACKAGE)
        self._looks = tuple(looks)
        self._home = fetch.cache() / "ocr" if folder is None else folder

    def read(self, data: bytes, name: str, /) -> Page:
        """Return the lines of a picture file, from the cache where it was read before."""
        path = self._kept(data)
        try:
            return msgspec.json.decode(path.read_bytes(), type=Page)
        except (OSError, msgspec.DecodeError):  # not there, or torn
            page = self._read(data, name)
        write_atomically(path, msgspec.json.encode(page))
        return page

    @cached_property
    def version(self) -> str:
        """What the program says that it is."""
        with TemporaryDirectory() as folder:
            said = process.run([self._path, "--version"], Path(folder))
        return said.partition("\n")[0].strip()

    def _kept(self, data: bytes) -> Path:
        key = f"{FORMAT} {self.version} {self._looks}".encode()
        name = sha256(data).hexdigest()
        return self._home / sha256(key).hexdigest()[:12] / name[:2] / f"{name}.json"

    def _read(self, data: bytes, name: str) -> Page:
        shown = picture.read(data, name)
        if min(shown.size) < _LEAST:
            return Page(size=shown.size)
        grey = ImageOps.autocontrast(shown.convert("L"))
        with TemporaryDirectory() as folder:
            try:
                found = [line for look in self._looks for line in self._seen(grey, look, folder)]
            except DataError as error:
                raise DataError(f"{name}: {error}") from None
        return Page(size=shown.size, lines=merged(found))

    def _seen(self, grey: Image.Image, look: Look, folder: str) -> Iterator[Line]:
        """Go through the lines that one look shows."""
        shown = grey
        if look.scale != 1:
            size = (round(grey.width * look.scale), round(grey.height * look.scale))
            shown = grey.resize(size, Image.Resampling.BICUBIC)
        place = Path(folder)
        shown.save(place / "seen.pgm")
        setting = ("--psm", str(look.psm), "-c", f"thresholding_method={look.threshold}")
        command = [self._path, "seen.pgm", "words", *setting, "tsv"]
        process.run(command, place, timeout_s=TIMEOUT_S, env=_THREADS)
        yield from _lines((place / "words.tsv").read_text(encoding="utf-8"), look.scale)


class _Word(NamedTuple):
    text: str
    sure: float
    box: Box


def _lines(table: str, scale: float) -> Iterator[Line]:
    """Go through the lines of Tesseract's table; words far apart are of two lines."""
    row: list[_Word] = []
    at: tuple[str, ...] = ()
    rows = io.StringIO(table, newline="")  # a word may hold U+2028, which ends no line
    for cells in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
        place = tuple(cells[key] for key in ("block_num", "par_num", "line_num"))
        word = _word(cells, scale)
        if row and (place != at or (word and _apart(row[-1], word))):
            yield _line(row)
            row = []
        at = place
        if word:
            row.append(word)
    if row:
        yield _line(row)


def _word(cells: dict[str, str], scale: float) -> _Word | None:
    """Return what a row of the table holds, None for noise and what is no word."""
    text = _MARKS.sub("", cells["text"] or "")
    sure = float(cells["conf"]) / 100
    if sure < _SURE or not any(map(str.isalnum, text)):
        return None
    left, top, wide, high = (int(cells[key]) / scale for key in ("left", "top", "width", "height"))
    return _Word(text, sure, (left, top, left + wide, top + high))


def _apart(before: _Word, after: _Word) -> bool:
    high = min(word.box[3] - word.box[1] for word in (before, after))
    return after.box[0] - before.box[2] > _GAP * high


def _line(words: Sequence[_Word]) -> Line:
    return Line(
        text=" ".join(word.text for word in words),
        sure=round(sum(word.sure for word in words) / len(words), 3),
        box=union([word.box for word in words]),
    )


def merged(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return one reading of each place, the one with most letters that are trusted."""
    kept: list[Line] = []
    for line in sorted(lines, key=_weight, reverse=True):
        if all(_common(line.box, other.box) < _SAME for other in kept):
            kept.append(line)
    return tuple(sorted(kept, key=lambda line: (line.box[1], line.box[0])))


def _weight(line: Line) -> float:
    # squared: one doubtful letter more is not worth the trust in all the others
    return sum(map(str.isalnum, line.text)) * line.sure**2


def _common(a: Box, b: Box) -> float:
    """Return the area of two boxes' intersection over that of the smaller."""
    wide, high = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if wide <= 0 or high <= 0:
        return 0.0
    least = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return wide * high / least
