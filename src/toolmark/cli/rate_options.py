"""The options of limits per minute."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from toolmark.cli.command_options import option

RequestsPerMinute: TypeAlias = Annotated[
    int | None,
    option("--requests-per-minute", help="Most requests in a minute, of each model.", min=1),
]
TokensPerMinute: TypeAlias = Annotated[
    int | None,
    option("--tokens-per-minute", help="Most tokens in and out, of each model.", min=1),
]
