"""What the words mean by which Gemini's generateContent says how a reply ended."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table

GeminiEnding: TypeAlias = Literal["stop", "length", "refused", "malformed", "again", "fault"]
FinishReason: TypeAlias = Annotated[str, Meta(pattern="^[A-Z][A-Z_]*$")]


class FinishTable(DataRecord, frozen=True):
    """The data file: endings by the reason that a candidate finished."""

    endings: dict[FinishReason, GeminiEnding]


def ending_by_reason(reason: str) -> GeminiEnding:
    """Return what a reason means; one that the table lacks is the end of a usual reply."""
    table = read_table(__file__, "gemini_finish.toml", FinishTable)
    return table.endings.get(reason, "stop")
