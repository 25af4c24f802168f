"""Words around a request that leave its meaning as it is."""

from __future__ import annotations

from toolmark.core import seeds
from toolmark.core.data_files import DataRecord, read_table

MIN_ASCII_SHARE = 0.9  # of the letters; the frames are in English


class RequestFrame(DataRecord, frozen=True):
    """What is said before and after a request."""

    before: str = ""
    after: str = ""


class RequestFrames(DataRecord, frozen=True):
    """The known frames."""

    frames: tuple[RequestFrame, ...]


def frame_request(text: str, seed: int) -> str:
    """Return a request with other words around it; one that is not in English as it is."""
    letters = [each for each in text if each.isalpha()]
    if not letters or sum(each.isascii() for each in letters) < MIN_ASCII_SHARE * len(letters):
        return text
    frames = read_table(__file__, "request_frames.toml", RequestFrames).frames
    frame = seeds.draw_one(seeds.make_rng(seed, text, 0, "request frame"), frames)
    return f"{frame.before}{text}{frame.after}"
