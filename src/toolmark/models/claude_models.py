"""What models take on the Anthropic Messages wire, by name (`claude_models.toml`)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated, Literal

from msgspec import Meta

from toolmark.core.data_files import DataRecord, read_table

ApiVersion = Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
DEFAULT_VERSION = "2023-06-01"


class ClaudeModel(DataRecord, frozen=True, kw_only=True):
    """What the models with these names take; the fields are described in the data file."""

    names: Annotated[tuple[str, ...], Meta(min_length=1)]
    max_tokens: Annotated[int, Meta(ge=1)]
    thinking: Literal["adaptive", "enabled"]
    thinks_unasked: bool = False
    off: Literal["", "disabled", "between_tools"]
    binds_thoughts: bool = False


class Binding(DataRecord, frozen=True):
    """How an endpoint is asked to drop thoughts whose prefix has changed."""

    beta: str
    behavior: str


class ClaudeTable(DataRecord, frozen=True, kw_only=True):
    """The data file: models in order, budgets by effort, what versions of the API refuse."""

    budgets: dict[str, Annotated[int, Meta(ge=1024)]]
    versions: dict[ApiVersion, frozenset[Literal["temperature", "top_p"]]]
    binding: Binding
    models: tuple[ClaudeModel, ...]


def claude_table() -> ClaudeTable:
    """Return the content of the data file."""
    return read_table(__file__, "claude_models.toml", ClaudeTable)


def model_by_name(name: str) -> ClaudeModel:
    """Return what is known of a model; the last entry fits every name."""
    return next(
        model
        for model in claude_table().models
        if any(fnmatchcase(name, pattern) for pattern in model.names)
    )


def refused_by_version(version: str) -> frozenset[str]:
    """Return the settings of Sampling that a version of the API refuses.

    A version that the table lacks refuses what the one before it refused.
    """
    versions = claude_table().versions
    known = [each for each in sorted(versions) if each <= version]
    return frozenset(versions[known[-1]]) if known else frozenset()
