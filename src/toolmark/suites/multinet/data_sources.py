"""Where the data of each family come from (`data_sources.toml`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from toolmark.core.data_files import DataRecord, placeholders, read_table
from toolmark.suites.multinet.multinet_families import Family


class DataSource(DataRecord, frozen=True):
    """A family's data.

    `origin` is what an exported set says, {version} is that of BFCL's package. `expected_files` is
    what a folder in the published layout holds. `download` says where the data are available and
    under which licence, where nothing here fetches them.
    """

    origin: Annotated[str, Meta(pattern=placeholders("version"))]
    expected_files: str
    download: str = ""


def data_sources() -> Mapping[Family, DataSource]:
    """Return the sources by family."""
    return read_table(__file__, "data_sources.toml", dict[Family, DataSource])
