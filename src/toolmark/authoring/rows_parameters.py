"""The parameters of a suite that is a file of rows."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolmark.runs.suite_parameters import SuiteParameters


class RowsParameters(SuiteParameters, frozen=True, kw_only=True):
    """Calls that the rows of a file expect: one reply for each question, nothing is executed."""

    order: Annotated[
        Literal["free", "strict"],
        Meta(description="Whether calls may come in any order or in that of the row."),
    ] = "free"
    ignore: Annotated[
        tuple[str, ...],
        Meta(description="Arguments that never count: ARGUMENT or TOOL.ARGUMENT."),
    ] = ()
    tools: Annotated[
        str, Meta(description="A JSON file with the tools of rows that name none.")
    ] = ""
    shape: Annotated[
        str,
        Meta(
            description="How the rows are written: toolmark, OpenAI, BFCL or K2. Without it the "
            "first row shows it."
        ),
    ] = ""
