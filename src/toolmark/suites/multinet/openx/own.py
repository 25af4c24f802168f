"""What a folder says of its robot: `dataset.json` beside the data, which may lack.

    {"names": ["x", "y", "gripper"], "environment": "an arm at a sink; it is told where to go"}

`names` are the action's numbers in their order, `environment` is told to the model; each may be
left out.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolmark import codec, files
from toolmark.errors import DataError
from toolmark.suites.multinet.layout import inside
from toolmark.suites.multinet.openx.morphology import MOST
from toolmark.types import Record

FILE = "dataset.json"
_MOST_BYTES = 2**20
_LONGEST = 200  # characters of a name


class Own(Record, frozen=True, kw_only=True):
    """What it says; `path` is where, "" where there is no such file."""

    names: tuple[str, ...] = ()
    environment: str = ""
    path: str = ""


class _Told(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    names: tuple[str, ...] = ()
    environment: str = ""


def read(home: Path, root: Path) -> Own:
    """Return what a folder says. Raises DataError for a file that says it otherwise.

    Nor is anything read that lies outside of `root`.
    """
    path = home / FILE
    if not path.exists() and not path.is_symlink():
        return Own()
    try:
        told = codec.decode(files.head(inside(root, path), _MOST_BYTES), _Told)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: {str(error)[:200]}; names and environment are due") from None
    odd = [name for name in told.names if not name.strip() or len(name) > _LONGEST]
    if odd or len(told.names) > MOST or len({*told.names}) < len(told.names):
        raise DataError(
            f"{path}: names are at most {MOST} different ones, none empty or of more than "
            f"{_LONGEST} characters"
        )
    return Own(names=told.names, environment=told.environment.strip(), path=str(path))
