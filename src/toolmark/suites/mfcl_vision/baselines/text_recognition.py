"""Text recognition in pictures: Tesseract reads a picture in several ways; results are merged.

Tesseract separates letters from their background by one threshold for the complete picture or by
local thresholds, and looks for a page or for single words. Each way finds text that others miss. In
an enlarged picture it finds small letters. Results are cached by the picture's content.
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

from toolmark.core import external_commands, files
from toolmark.core.errors import DataError
from toolmark.core.files import write_atomically
from toolmark.core.records import Record
from toolmark.perturb.image import picture_file
from toolmark.perturb.image.box_geometry import Box, union_box

PACKAGE = "apt-get install tesseract-ocr"
TIMEOUT_S = 60.0
CACHE_FORMAT = 1
# Words with a lower Tesseract confidence are noise.
_MIN_CONFIDENCE = 0.5
# Share of the smaller box that two results for one line have in common, at least.
_MIN_OVERLAP = 0.4
# Pixels of a side; smaller pictures have no room for letters.
_MIN_SIDE_PX = 12
# Line heights between two words; a wider gap separates two signs.
_MAX_WORD_GAP = 1.6
_THREAD_ENVIRONMENT = {"OMP_THREAD_LIMIT": "1"}
_OUTER_MARKS = re.compile(r"^[^\w&]+|[^\w&.!?]+$")


class TextLine(Record, frozen=True, kw_only=True):
    """A line of lettering: `sure` is the confidence in [0, 1], `box` is left, top, right, bottom.

    Boxes are in pixels.
    """

    text: str
    sure: float
    box: Box


class RecognisedText(Record, frozen=True, kw_only=True):
    """The text read in a picture of `size` (width, height), from top to bottom."""

    size: tuple[int, int]
    lines: tuple[TextLine, ...] = ()


class TextRecogniser(Protocol):
    """Reads the words of pictures."""

    def read(self, data: bytes, name: str, /) -> RecognisedText:
        """Return the lines of a picture file. Raises DataError that names it if unreadable."""
        ...


class RecognitionPass(NamedTuple):
    """One pass over a picture: its enlargement, and two Tesseract options.

    The options are `thresholding_method` and `--psm`, which sets the layout analysis.
    """

    scale: float
    threshold: int
    psm: int


# Otsu's threshold, Sauvola's threshold.
_GLOBAL_THRESHOLD, _LOCAL_THRESHOLD = 0, 2
# Columns and paragraphs, or as much text as possible.
_PAGE_LAYOUT, _SPARSE_LAYOUT = 3, 11
RECOGNITION_PASSES = (
    RecognitionPass(1.5, _GLOBAL_THRESHOLD, _SPARSE_LAYOUT),
    RecognitionPass(1, _LOCAL_THRESHOLD, _SPARSE_LAYOUT),
    RecognitionPass(1, _GLOBAL_THRESHOLD, _PAGE_LAYOUT),
)


class Tesseract:
    """The Tesseract program, run once per pass. Raises UsageError if it is not installed."""

    def __init__(
        self, looks: Sequence[RecognitionPass] = RECOGNITION_PASSES, folder: Path | None = None
    ) -> None:
        self._path = external_commands.find_command("tesseract", PACKAGE)
        self._passes = tuple(looks)
        self._cache_folder = files.cache_folder() / "ocr" if folder is None else folder

    def read(self, data: bytes, name: str, /) -> RecognisedText:
        """Return the lines of a picture file, from the cache if it was read before."""
        path = self._cache_path(data)
        try:
            return msgspec.json.decode(path.read_bytes(), type=RecognisedText)
        except (OSError, msgspec.DecodeError):
            # The cache entry is missing or damaged.
            page = self._recognise(data, name)
        write_atomically(path, msgspec.json.encode(page))
        return page

    @cached_property
    def version(self) -> str:
        """The version that the program reports."""
        with TemporaryDirectory() as folder:
            output = external_commands.run_command([self._path, "--version"], Path(folder))
        return output.partition("\n")[0].strip()

    def _cache_path(self, data: bytes) -> Path:
        key = f"{CACHE_FORMAT} {self.version} {self._passes}".encode()
        name = sha256(data).hexdigest()
        return self._cache_folder / sha256(key).hexdigest()[:12] / name[:2] / f"{name}.json"

    def _recognise(self, data: bytes, name: str) -> RecognisedText:
        image = picture_file.decode_picture(data, name)
        if min(image.size) < _MIN_SIDE_PX:
            return RecognisedText(size=image.size)
        grey = ImageOps.autocontrast(image.convert("L"))
        with TemporaryDirectory() as folder:
            try:
                found = [
                    line
                    for recognition_pass in self._passes
                    for line in self._run_pass(grey, recognition_pass, folder)
                ]
            except DataError as error:
                raise DataError(f"{name}: {error}") from None
        return RecognisedText(size=image.size, lines=merge_lines(found))

    def _run_pass(
        self, grey: Image.Image, recognition_pass: RecognitionPass, folder: str
    ) -> Iterator[TextLine]:
        """Yield the lines that one pass finds."""
        scaled = grey
        if recognition_pass.scale != 1:
            size = (
                round(grey.width * recognition_pass.scale),
                round(grey.height * recognition_pass.scale),
            )
            scaled = grey.resize(size, Image.Resampling.BICUBIC)
        folder_path = Path(folder)
        scaled.save(folder_path / "seen.pgm")
        setting = (
            "--psm",
            str(recognition_pass.psm),
            "-c",
            f"thresholding_method={recognition_pass.threshold}",
        )
        command = [self._path, "seen.pgm", "words", *setting, "tsv"]
        external_commands.run_command(
            command, folder_path, timeout_s=TIMEOUT_S, env=_THREAD_ENVIRONMENT
        )
        yield from _parse_lines(
            (folder_path / "words.tsv").read_text(encoding="utf-8"), recognition_pass.scale
        )


class _RecognisedWord(NamedTuple):
    text: str
    confidence: float
    box: Box


def _parse_lines(table: str, scale: float) -> Iterator[TextLine]:
    """Yield the lines of Tesseract's table; words far apart are on two lines."""
    row: list[_RecognisedWord] = []
    current_line: tuple[str, ...] = ()
    # A word may contain U+2028, which does not end a row.
    rows = io.StringIO(table, newline="")
    for cells in csv.DictReader(rows, delimiter="\t", quoting=csv.QUOTE_NONE):
        line_key = tuple(cells[key] for key in ("block_num", "par_num", "line_num"))
        word = _parse_word(cells, scale)
        if row and (line_key != current_line or (word and _is_far_apart(row[-1], word))):
            yield _make_line(row)
            row = []
        current_line = line_key
        if word:
            row.append(word)
    if row:
        yield _make_line(row)


def _parse_word(cells: dict[str, str], scale: float) -> _RecognisedWord | None:
    """Return the word in a row of the table, None for noise and for rows without a word."""
    text = _OUTER_MARKS.sub("", cells["text"] or "")
    confidence = float(cells["conf"]) / 100
    if confidence < _MIN_CONFIDENCE or not any(map(str.isalnum, text)):
        return None
    left_edge, top, width, height = (
        int(cells[key]) / scale for key in ("left", "top", "width", "height")
    )
    return _RecognisedWord(text, confidence, (left_edge, top, left_edge + width, top + height))


def _is_far_apart(before: _RecognisedWord, after: _RecognisedWord) -> bool:
    height = min(word.box[3] - word.box[1] for word in (before, after))
    return after.box[0] - before.box[2] > _MAX_WORD_GAP * height


def _make_line(line_words: Sequence[_RecognisedWord]) -> TextLine:
    return TextLine(
        text=" ".join(word.text for word in line_words),
        sure=round(sum(word.confidence for word in line_words) / len(line_words), 3),
        box=union_box([word.box for word in line_words]),
    )


def merge_lines(lines: Sequence[TextLine]) -> tuple[TextLine, ...]:
    """Return one line for each place: the one with the most letters, weighted by confidence."""
    accepted_lines: list[TextLine] = []
    for line in sorted(lines, key=_line_weight, reverse=True):
        if all(_overlap(line.box, accepted.box) < _MIN_OVERLAP for accepted in accepted_lines):
            accepted_lines.append(line)
    return tuple(sorted(accepted_lines, key=lambda line: (line.box[1], line.box[0])))


def _line_weight(line: TextLine) -> float:
    # Squared: one more doubtful letter must not outweigh a better confidence in the others.
    return sum(map(str.isalnum, line.text)) * line.sure**2


def _overlap(a: Box, b: Box) -> float:
    """Return the area of two boxes' intersection over that of the smaller box."""
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    smaller_area = min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    return width * height / smaller_area
