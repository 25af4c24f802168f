"""A folder's description of its robot: `dataset.json` next to the data, which is optional.

    {"names": ["x", "y", "gripper"], "environment": "an arm at a sink"}

`names` are the numbers of an action in their order. `environment` is shown to the model. Both may
be left out.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolmark.core import files, json_codec
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.errors import DataError
from toolmark.core.records import Record
from toolmark.suites.multinet.openx.morphologies import MAX_DIMENSIONS
from toolmark.suites.multinet.published_layout import require_inside

DESCRIPTION_FILE = "dataset.json"
_MAX_FILE_BYTES = 2**20
_MAX_NAME_CHARS = 200  # limit for a name, in characters


class DatasetDescription(Record, frozen=True, kw_only=True):
    """The content of the description; `path` is its file, "" if there is none."""

    names: tuple[str, ...] = ()
    environment: str = ""
    path: str = ""


class _DescriptionFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...] = ()
    environment: str = ""


def read_description(folder: Path, root: Path) -> DatasetDescription:
    """Return the description of a folder. Raises DataError for an invalid file.

    No file outside of `root` is read.
    """
    path = folder / DESCRIPTION_FILE
    if not path.exists() and not path.is_symlink():
        return DatasetDescription()
    try:
        parsed = json_codec.decode_record(
            files.read_head(require_inside(root, path), _MAX_FILE_BYTES), _DescriptionFile
        )
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(
            f"{path}: {describe_decode_error(error)[:200]}; names and environment are due"
        ) from None
    bad_names = [name for name in parsed.names if not name.strip() or len(name) > _MAX_NAME_CHARS]
    if bad_names or len(parsed.names) > MAX_DIMENSIONS or len({*parsed.names}) < len(parsed.names):
        raise DataError(
            f"{path}: names are at most {MAX_DIMENSIONS} different ones, none empty or of more "
            f"than {_MAX_NAME_CHARS} characters"
        )
    return DatasetDescription(
        names=parsed.names, environment=parsed.environment.strip(), path=str(path)
    )
